package lsp

import (
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/lsp/protocol"
	"github.com/command-dialect/dialect/lang/routing"
)

// TestMatrixKeys completes and hovers each key of each table, in a matrix that is being typed.
func TestMatrixKeys(t *testing.T) {
	c := newClient(t, map[string]string{"routing.toml": testMatrix}, "", Options{})
	for _, place := range routing.Places() {
		header := "[" + strings.ReplaceAll(place.Path(), "NAME", "x") + "]\n"
		if place == routing.InFile {
			header = "# file\n"
		}
		c.open("routing.toml", header+"\n")
		var list protocol.CompletionList
		c.call("textDocument/completion", at(c, "routing.toml", 1, 0), &list)
		for _, k := range routing.KeysIn(place) {
			if place == routing.InFile && k.Sub != 0 {
				continue // a header, below
			}
			i := slices.IndexFunc(list.Items, func(i protocol.CompletionItem) bool { return i.Label == k.Name })
			if i < 0 {
				t.Errorf("%s: %s is not offered", header, k.Name)
				continue
			}
			item := list.Items[i]
			if *item.TextEdit != (protocol.TextEdit{Range: protocol.Between(protocol.Pos(1, 0), protocol.Pos(1, 0)), NewText: k.Name + " = "}) || item.Kind != kindProperty || item.Detail == "" || !strings.Contains(item.Documentation.Value, k.Name) {
				t.Errorf("%s: %+v", header, item)
			}
			var h protocol.Hover
			c.open("routing.toml", header+k.Name+" = ")
			c.call("textDocument/hover", at(c, "routing.toml", 1, 1), &h)
			if !strings.Contains(h.Contents.Value, "**"+k.Name+"**") || h.Range != protocol.Between(protocol.Pos(1, 0), protocol.Pos(1, len(k.Name))) {
				t.Errorf("%s: hover over %s: %+v", header, k.Name, h)
			}
			c.open("routing.toml", header+"\n")
		}
	}
}

func TestMatrixCompletion(t *testing.T) {
	c := newClient(t, map[string]string{"routing.toml": testMatrix}, "", Options{})
	for _, tt := range []struct {
		text  string // up to the cursor
		label string
		edit  string // what the last line becomes
	}{
		{testMatrix + "[commands.x]\neffect = ", "read", `effect = "read"`},
		{testMatrix + "[commands.x]\neffect = \"w", "write", `effect = "write`},
		{testMatrix + "[commands.x]\nshell = t", "true", "shell = true"},
		{testMatrix + "[commands.x]\ncomposite = [\"", "test_go", `composite = ["test_go`},
		{testMatrix + "[commands.x]\nexpect = { min", "min_tests", "expect = { min_tests = "},
		{testMatrix + "[def", "defaults", "[defaults"},
		{testMatrix + "[", "commands.NAME", "[commands."},
	} {
		c.open("routing.toml", tt.text)
		lines := strings.Split(tt.text, "\n")
		last := lines[len(lines)-1]
		var list protocol.CompletionList
		c.call("textDocument/completion", at(c, "routing.toml", len(lines)-1, len(last)), &list)
		i := slices.IndexFunc(list.Items, func(i protocol.CompletionItem) bool { return i.Label == tt.label })
		if i < 0 {
			t.Errorf("%q: no %s in %+v", last, tt.label, list.Items)
			continue
		}
		e := list.Items[i].TextEdit
		if got := last[:e.Range.Start.Character] + e.NewText; got != tt.edit {
			t.Errorf("%q: %q, want %q", last, got, tt.edit)
		}
	}
	// Another TOML file is not a matrix.
	c.open("Cargo.toml", "[run]\n")
	var list protocol.CompletionList
	c.call("textDocument/completion", at(c, "Cargo.toml", 1, 0), &list)
	if len(list.Items) > 0 {
		t.Errorf("keys of a matrix are offered in Cargo.toml: %+v", list.Items)
	}
}

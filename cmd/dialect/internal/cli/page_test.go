package cli

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/command-dialect/dialect/lang/diag"
)

// codesInSource are the codes that package diag declares.
func codesInSource(t *testing.T) (codes []diag.Code) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../../../lang/diag/code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if lit, ok := v.Values[0].(*ast.BasicLit); ok {
				text, _ := strconv.Unquote(lit.Value)
				codes = append(codes, diag.Code(text))
			}
		}
		return true
	})
	return codes
}

// Every code has a page, whose bad example is found to have the fault, and whose good one is
// not. Those without an example are named here, with the test that makes them.
func TestPages(t *testing.T) {
	without := map[diag.Code]string{
		diag.LineTooLong: "lang, TestParse", diag.FileTooLarge: "lang, TestParse",
		diag.UnusedBinding: "check.txtar", diag.TooManyFindings: "check.txtar", diag.MCPCall: "mcp.txtar", diag.NotOneLine: "input.txtar", diag.RunsItself: "itself.txtar",
	}
	matrix, err := os.ReadFile("../../../../examples/faulty/routing.toml")
	if err != nil {
		t.Fatal(err)
	}
	codes := codesInSource(t)
	if len(codes) < 50 {
		t.Fatalf("%d codes", len(codes))
	}
	if of := diag.Codes("lang", "lang/routing", "lang/resolve"); len(of)+1 != len(codes) { // too-many-findings is of each stage
		t.Errorf("%d codes, of which %d are of a stage", len(codes), len(of))
	}
	for _, code := range diag.Codes() {
		if !slices.Contains(codes, code) {
			t.Errorf("a page of %s, which is not a code", code)
		}
	}
	for _, code := range codes {
		p, ok := diag.PageOf(code)
		if !ok || p.Text == "" {
			t.Errorf("%s has no page", code)
			continue
		}
		if (p.Bad == "") != (without[code] != "") || (p.Bad == "") != (p.Good == "") {
			t.Errorf("%s: examples %q and %q", code, p.Bad, p.Good)
		}
		if p.Bad == "" {
			continue
		}
		for _, bad := range []bool{true, false} {
			dir := t.TempDir()
			text, name := p.Good, "s.dlct"
			if bad {
				text = p.Bad
			}
			toml := string(matrix)
			if p.Matrix {
				toml, name = text, "routing.toml"
			} else if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "routing.toml"), []byte(toml), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			f := checkFlags{format: "json"}
			_ = f.run(&ui{In: os.Stdin, Out: &out, Err: &out}, []string{filepath.Join(dir, name)})
			var doc struct{ Diagnostics []struct{ Code diag.Code } }
			if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
				t.Errorf("%s: %v: %s", code, err, out.String())
				continue
			}
			found := slices.ContainsFunc(doc.Diagnostics, func(d struct{ Code diag.Code }) bool { return d.Code == code })
			if found != bad {
				t.Errorf("%s: of the bad example (%t) it is found: %t\n%s\n%s", code, bad, found, text, out.String())
			}
		}
	}
}

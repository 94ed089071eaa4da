package routing_test

import (
	"crypto/sha256"
	"io/fs"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/routing"
)

const callsServer = "[commands.x]\nverb = \"search\"\nnoun = \"issues\"\ntool = \"mcp:the-tracker:find\"\n"

// loadWith loads a matrix that calls a server, beside files.
func loadWith(t testing.TB, matrix string, files map[string]string) (*routing.Matrix, diag.List) {
	t.Helper()
	return routing.Load("/p/routing.toml", "routing.toml", routing.Options{ReadFile: func(path string) ([]byte, error) {
		if path == filepath.FromSlash("/p/routing.toml") {
			return []byte(matrix), nil
		}
		rel, _ := filepath.Rel("/p", path)
		if text, ok := files[filepath.ToSlash(rel)]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}})
}

func TestServerFiles(t *testing.T) {
	m, list := loadWith(t, callsServer, map[string]string{
		".mcp.json":        `{"mcpServers": {"the_tracker": {"command": "x", "args": ["a"], "env": {"T": "${T}"}}}}`,
		".vscode/mcp.json": `{"servers": {"the_tracker": {"command": "late"}, "web": {"type": "http", "url": "https://h/mcp", "headers": {"A": "b"}}, "off": {"command": "y", "disabled": true}}}`,
	})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	want := map[string]plan.Server{
		"the_tracker": {Argv: []string{"x", "a"}, Env: map[string]string{"T": "${T}"}, Origin: ".mcp.json"},
		"web":         {URL: "https://h/mcp", Headers: map[string]string{"A": "b"}, Origin: ".vscode/mcp.json"},
		"off":         {Argv: []string{"y"}, Disabled: true, Origin: ".vscode/mcp.json"},
	}
	if !reflect.DeepEqual(m.Servers, want) {
		t.Errorf("servers %+v", m.Servers)
	}
	if m.Server("the-tracker:find") != "the_tracker" {
		t.Error("the server is not found")
	}
	// What was looked for and is not there is known, so that one that is deleted is a change.
	got := make(map[string]bool)
	for _, f := range m.Read {
		got[f.Name] = f.Absent
		if f.Absent != (f.Content == nil) || !f.Absent && f.SHA256 != sha256.Sum256(f.Content) || f.Pin || f.Problem != "" {
			t.Errorf("%+v", f)
		}
	}
	if want := map[string]bool{"routing.toml": false, ".mcp.json": false, ".kilocode/mcp.json": true, ".cursor/mcp.json": true, ".vscode/mcp.json": false}; !reflect.DeepEqual(got, want) {
		t.Errorf("read %v", got)
	}
	// The files count for the digest, where a binding needs them and only there.
	other, _ := loadWith(t, callsServer, map[string]string{".mcp.json": `{"mcpServers": {"the_tracker": {"command": "y"}}}`})
	if other.SHA256 == m.SHA256 {
		t.Error("another server, and the same digest")
	}
	declared := callsServer + "[servers.the-tracker]\ncommand = \"x\"\n"
	a, _ := loadWith(t, declared, nil)
	b, _ := loadWith(t, declared, map[string]string{".mcp.json": "{"})
	if a.SHA256 != b.SHA256 || len(b.Read) != 1 {
		t.Error("a file that nobody needs was read")
	}
	if _, list := loadWith(t, callsServer, map[string]string{".mcp.json": "{\n \"mcpServers\": [}"}); list.Err() == nil || list[0].File != ".mcp.json" || list[0].Span.Start.Line != 2 {
		t.Errorf("broken JSON: %v", list)
	}
}

func FuzzServerFiles(f *testing.F) {
	f.Add(`{"mcpServers": {"the-tracker": {"command": "x", "args": ["a"], "env": {"T": "${T}"}}}}`)
	f.Add(`{"mcpServers": {"a": {"url": "u", "enabled": false}, "b": {}, "c": 1, "": null}}`)
	f.Add(`[1`)
	f.Fuzz(func(t *testing.T, text string) {
		m, list := loadWith(t, callsServer, map[string]string{".mcp.json": text})
		for _, d := range list {
			if src := m.Source(d.File); d.Span.IsValid() && (src == nil || d.Span.End.Offset > len(src.Text)) {
				t.Fatalf("%q: a span that is not there: %+v", text, d)
			}
		}
		for name, s := range m.Servers {
			if len(s.Argv) == 0 && s.URL == "" || s.Origin == "" {
				t.Fatalf("%q: the server %q can not be reached: %+v", text, name, s)
			}
		}
	})
}

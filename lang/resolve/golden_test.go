package resolve

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/routing"
)

var update = flag.Bool("update", false, "rewrite the want sections of testdata/cases")

// matrix loads the text of a routing matrix that lies in /project and fails on
// any error of it.
func matrix(t testing.TB, text []byte) *routing.Matrix {
	t.Helper()
	path := filepath.FromSlash("/project/routing.toml")
	m, list := routing.Load(path, "routing.toml", routing.Options{ReadFile: func(name string) ([]byte, error) {
		if name == path {
			return text, nil
		}
		return nil, fs.ErrNotExist
	}})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return m
}

// resolveText parses and resolves a script.
func resolveText(m *routing.Matrix, script string, o Options) (*diag.Source, *plan.Plan, diag.List) {
	src := diag.NewSource("script.dlct", []byte(script))
	f, parsed := lang.Parse(src)
	o.Parsed = parsed
	p, list := Resolve(f, m, o)
	return src, p, list
}

// A testCase is an archive of routing.toml, script.dlct, want and, if need be,
// options: lines "line N" and "set NAME=VALUE",
// where VALUE may be quoted as in Go.
type testCase struct {
	archive *txtar.Archive
	matrix  []byte
	script  string
	options Options
	want    *txtar.File
}

func readCase(t testing.TB, name string) testCase {
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	c := testCase{archive: a}
	for i, f := range a.Files {
		switch f.Name {
		case "routing.toml":
			c.matrix = f.Data
		case "script.dlct":
			c.script = string(f.Data)
		case "want":
			c.want = &a.Files[i]
		case "options":
			for line := range strings.Lines(string(f.Data)) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
				switch key {
				case "line":
					if c.options.Line, err = strconv.Atoi(value); err != nil {
						t.Fatal(err)
					}
				case "set":
					name, value, _ := strings.Cut(value, "=")
					if c.options.Vars == nil {
						c.options.Vars = make(map[string]string)
					}
					if unquoted, err := strconv.Unquote(value); err == nil {
						value = unquoted
					}
					c.options.Vars[name] = value
				default:
					t.Fatalf("%s: unknown option %q", name, key)
				}
			}
		default:
			t.Fatalf("%s: unknown file %q", name, f.Name)
		}
	}
	if c.want == nil || c.matrix == nil {
		t.Fatalf("%s: want or routing.toml is missing", name)
	}
	return c
}

func caseFiles(t testing.TB) []string {
	files, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in testdata/cases: %v", err)
	}
	return files
}

// render writes the findings and, if there is no error, the plan.
func render(src *diag.Source, p *plan.Plan, list diag.List) []byte {
	var b bytes.Buffer
	for _, d := range list {
		fmt.Fprintln(&b, d)
		if d.File == src.Name && d.Span.IsValid() {
			fmt.Fprintf(&b, "\tat %s\n", strconv.Quote(string(src.Text[d.Span.Start.Offset:d.Span.End.Offset])))
		}
		for line := range strings.Lines(d.Hint) {
			fmt.Fprintf(&b, "\thint: %s\n", strings.TrimSuffix(line, "\n"))
		}
		for _, r := range d.Related {
			fmt.Fprintf(&b, "\tsee %s:%d:%d: %s\n", r.File, r.Span.Start.Line, r.Span.Start.Column, r.Message)
		}
	}
	if list.Err() != nil {
		return b.Bytes()
	}
	plan.Walk(p.Steps, func(s *plan.Step) {
		fmt.Fprintf(&b, "%s line %d: %s %s", s.ID, s.Line.Number, s.Kind, s.Binding)
		if s.Target != "" {
			fmt.Fprintf(&b, " %s", s.Target)
		}
		if s.Argv != nil {
			fmt.Fprintf(&b, " %q", s.Argv)
		}
		if s.Arguments != "" {
			fmt.Fprintf(&b, " %s", s.Arguments)
		}
		for _, v := range s.Values {
			fmt.Fprintf(&b, " %s=%q", v.Name, v.Text)
		}
		fmt.Fprintf(&b, " %s", s.Effect)
		if s.Preposition != "" {
			fmt.Fprintf(&b, " prep=%s", s.Preposition)
		}
		if s.ReceiptRequired {
			b.WriteString(" receipt")
		}
		if s.Parallel {
			b.WriteString(" parallel")
		}
		if s.WhenFailure {
			b.WriteString(" when=failure")
		}
		b.WriteByte('\n')
	})
	return b.Bytes()
}

func TestCases(t *testing.T) {
	for _, name := range caseFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			c := readCase(t, name)
			got := render(resolveText(matrix(t, c.matrix), c.script, c.options))
			if bytes.Equal(got, c.want.Data) {
				return
			}
			if !*update {
				t.Fatalf("%s: differs; -update rewrites it\ngot:\n%s\nwant:\n%s", name, got, c.want.Data)
			}
			c.want.Data = got
			if err := os.WriteFile(name, txtar.Format(c.archive), 0o666); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestEveryCodeIsEmitted(t *testing.T) {
	emitted := make(map[diag.Code]bool)
	for _, name := range caseFiles(t) {
		c := readCase(t, name)
		_, _, list := resolveText(matrix(t, c.matrix), c.script, c.options)
		for _, d := range list {
			emitted[d.Code] = true
		}
	}
	for _, code := range append(diag.Codes("lang/resolve"), diag.DeprecatedLine, diag.ForbiddenCharacter) {
		if code == diag.MCPCall || code == diag.RunsItself {
			continue // it takes a server, or files: see mcp.txtar and itself.txtar of the command line
		}
		if !emitted[code] {
			t.Errorf("no case emits %s; those that do: %q", code, slices.Sorted(maps.Keys(emitted)))
		}
	}
}

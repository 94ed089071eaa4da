package routing_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/lint"
)

var update = flag.Bool("update", false, "rewrite the want sections of testdata/cases")

// loadArchive loads the file routing.toml of a.
func loadArchive(a *txtar.Archive) (*routing.Matrix, diag.List) {
	root := filepath.FromSlash("/project")
	read := func(path string) ([]byte, error) {
		for _, f := range a.Files {
			if filepath.Join(root, filepath.FromSlash(f.Name)) == path {
				return f.Data, nil
			}
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return routing.Load(filepath.Join(root, routing.FileName), routing.FileName, routing.Options{ReadFile: read})
}

// programs is the LookPath of the cases: what has "absent" in its name is not there.
func programs(program, root string) error {
	if strings.Contains(program, "absent") {
		return errors.New("not found")
	}
	return nil
}

// render writes a list with the text under each span, hints and relations.
func render(m *routing.Matrix, list diag.List) []byte {
	var b bytes.Buffer
	for _, d := range list {
		fmt.Fprintln(&b, d)
		if src := m.Source(d.File); src != nil && d.Span.IsValid() {
			text := string(src.Text[d.Span.Start.Offset:d.Span.End.Offset])
			fmt.Fprintf(&b, "\tat %s\n", strconv.Quote(text))
		}
		for _, line := range strings.Split(d.Hint, "\n") {
			if line != "" {
				fmt.Fprintf(&b, "\thint: %s\n", line)
			}
		}
		for _, r := range d.Related {
			fmt.Fprintf(&b, "\tsee %s:%d:%d: %s\n", r.File, r.Span.Start.Line, r.Span.Start.Column, r.Message)
		}
	}
	return b.Bytes()
}

func caseFiles(t testing.TB) []string {
	files, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in testdata/cases: %v", err)
	}
	return files
}

// caseList runs routing.Load and Check on a case. A file called "used" holds names of
// bindings that scripts use, and asks for a report of the others.
func caseList(a *txtar.Archive) (*routing.Matrix, diag.List) {
	m, list := loadArchive(a)
	o := lint.Options{LookPath: programs, Stat: func(path string) error { return programs(path, "") }}
	for _, f := range a.Files {
		if f.Name == "used" {
			o.Used, o.Unused = strings.Fields(string(f.Data)), true
		}
	}
	list = append(list, lint.Check(m, o)...)
	list.Sort()
	return m, list
}

func TestCases(t *testing.T) {
	for _, name := range caseFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := render(caseList(a))
			for i, f := range a.Files {
				if f.Name != "want" {
					continue
				}
				if bytes.Equal(f.Data, got) {
					return
				}
				if !*update {
					t.Fatalf("%s: findings differ; -update rewrites them\ngot:\n%s\nwant:\n%s", name, got, f.Data)
				}
				a.Files[i].Data = got
				if err := os.WriteFile(name, txtar.Format(a), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Fatalf("%s has no file \"want\"", name)
		})
	}
}

// elsewhere are the codes of the block that package resolve emits.
var elsewhere = map[diag.Code]bool{diag.DeprecatedLine: true}

func TestEveryCodeIsEmitted(t *testing.T) {
	emitted := make(map[diag.Code]bool)
	for _, name := range caseFiles(t) {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, list := caseList(a)
		for _, d := range list {
			emitted[d.Code] = true
		}
	}
	for _, code := range diag.Codes("lang/routing") {
		if !emitted[code] && !elsewhere[code] {
			t.Errorf("no case emits %s", code)
		}
	}
}

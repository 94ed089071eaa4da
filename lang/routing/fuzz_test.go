package routing_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/lint"
)

func FuzzLoad(f *testing.F) {
	for _, name := range caseFiles(f) {
		a, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range a.Files {
			if filepath.Ext(file.Name) == ".toml" {
				f.Add(file.Data)
			}
		}
	}
	seed, err := os.ReadFile("testdata/seed.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, text []byte) {
		m, list := routing.Load("/project/routing.toml", routing.FileName, routing.Options{ReadFile: func(path string) ([]byte, error) {
			if path == "/project/routing.toml" {
				return text, nil
			}
			return nil, os.ErrNotExist
		}})
		list = append(list, lint.Check(m, lint.Options{LookPath: programs, Unused: true})...)
		for _, d := range list {
			if d.Message == "" || d.Code == "" || d.Span.Start.Offset > d.Span.End.Offset || d.Span.End.Offset > len(text)+1 && d.File == routing.FileName {
				t.Fatalf("%#v", d)
			}
		}
		for _, b := range m.Bindings {
			if m.Lookup(b.Verb, b.Noun) != b || m.ByName(b.Name) != b || b.Usage() == "" {
				t.Fatalf("%q is not found by its names", b.Name)
			}
		}
	})
}

package explain_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/explain"
)

// wordSets are the typed sets of words.
var wordSets = []struct {
	dir   string
	types string // of the constants; a prefix of their names where they have no type
	least int
}{
	{"receipts", "Reason StopReason Status", 45},
	{"receipts", "Policy*", 4},
	{"receipts/verify", "Verdict", 9},
	{"runtime/schedule", "Verdict Reason", 11},
	{"runtime/attempt", "GateVerdict", 6},
	{"cmd/dialect/internal/inquiry/why", "State", 6},
}

// TestWords explains each word of the typed sets that reports, verdicts and receipts take their words from, as
// the sources declare them: a new word without an explanation fails here.
func TestWords(t *testing.T) {
	for _, set := range wordSets {
		n := 0
		for _, word := range constants(t, filepath.Join("../../../..", filepath.FromSlash(set.dir)), strings.Fields(set.types)) {
			n++
			if !explained(word) {
				t.Errorf("%s: dialect explain %q says nothing", set.dir, word)
			}
		}
		if n < set.least {
			t.Errorf("%s, %s: %d words were found", set.dir, set.types, n)
		}
	}
	for _, word := range []string{"L0", "L1", "recorded by itself", "log kept", "nothing required", "flaky", "VERIFIED", "interrupted"} {
		if !explained(word) {
			t.Errorf("dialect explain %q says nothing", word)
		}
	}
	for _, word := range []string{"", " ", "L3", "flak"} {
		if explained(word) {
			t.Errorf("%q is explained", word)
		}
	}
}

func explained(word string) bool {
	for _, d := range explain.Word(word) {
		if term, ok := d.(explain.Entry); ok && len(term.Text) > 20 && strings.HasSuffix(term.Text, ".") {
			return true
		}
	}
	return false
}

// constants returns the texts of the constants of those types in the package of a folder. A type with a "*" is
// the beginning of the names of constants without a type.
func constants(t *testing.T, dir string, types []string) (texts []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources in %s: %v", dir, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				of, _ := v.Type.(*ast.Ident)
				for i, id := range v.Names {
					wanted := false
					for _, name := range types {
						prefix, untyped := strings.CutSuffix(name, "*")
						wanted = wanted || untyped && v.Type == nil && strings.HasPrefix(id.Name, prefix) || of != nil && of.Name == name
					}
					if !wanted || i >= len(v.Values) {
						continue
					}
					if lit, ok := v.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
						text, err := strconv.Unquote(lit.Value)
						if err != nil {
							t.Fatal(err)
						}
						texts = append(texts, text)
					}
				}
			}
		}
	}
	return texts
}

// What a matrix says cannot act on the terminal of who lists it.
func TestVocabularyIsPrintable(t *testing.T) {
	var b strings.Builder
	v := explain.Vocabulary{Lines: []explain.Line{{Usage: "Check with \x1b[31ma", Binding: "b\a", Runs: "sh \x1b]0;t\a", File: "a\nb"}}}
	if err := v.WriteText(&b); err != nil || strings.ContainsAny(b.String(), "\x1b\a") || strings.Count(b.String(), "\n") != 1 {
		t.Errorf("%v: %q", err, b.String())
	}
}

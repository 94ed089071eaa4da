package lang_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
)

var update = flag.Bool("update", false, "write testdata/messages.txt anew")

// wordings are turns of phrase that a reader has to read twice, and what to write instead. They are looked for in
// messages, comments and documentation, in any case.
var wordings = []struct{ Pattern, Instead string }{
	{`h[eo]ld\w* (\w+ ){0,3}against`, "compared with, checked against"},
	{`(?-i)\bis none\b|\bare none\b`, "does not exist; is not a X; not"},
	{`\bwhoever\b`, "the caller, the user, anyone who"},
	{`\b(is|are|be|was|were) told\b`, "say who tells: the report says, the run prints; or: is known"},
	{`\b(is|are|be) said\b`, "say who says it: the verdict names, the report lists"},
	{`\b(is|are) believed\b|\bat its word\b`, "counts, is accepted, is trusted"},
	{`\byardsticks?\b`, "baseline"},
	{`\binquest\b`, "audit"},
	{`\bmend(s|ed|ing)?\b`, "fix"},
	{`\bof one's own\b`, "own: a pack of your own, its own copy"},
	{`\bspoken against\b|\bspeaks? against\b`, "contradicts"},
	{`\bsign of life\b`, "a progress line"},
	{`\bbehind (the|a|an|its|it|each|every) (\w+ )?(line|noun|name|value|command|verb|word|comment)\b`, "after"},
	{`\bwhat it came to\b`, "its result"},
	{`\bis there already\b`, "exists already"},
	{`\bwhere no (\w+ )?is\b`, "where there is no X, without X"},
	{`\bwaved away\b`, "accepted"},
	{`\b(is|are) no [a-zA-Z%]`, "is not a X"},
}

const root = ".."

// A place is where a text was found.
type place struct {
	file string
	line int
}

// texts calls f with each message (a string of a Go file), comment and line of documentation of the tree, where it
// begins, and what it is.
func texts(t *testing.T, f func(at place, kind, text string)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, name)
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == ".dialect" || rel == "bin"):
			return fs.SkipDir
		case d.IsDir() || rel == "lang/wording_test.go":
			return nil
		}
		switch path.Ext(rel) {
		case ".go":
			src, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			files++
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, rel, src, parser.ParseComments)
			if err != nil {
				return err
			}
			for _, group := range file.Comments {
				for _, c := range group.List {
					f(place{rel, set.Position(c.Pos()).Line}, "comment", c.Text)
				}
			}
			if strings.HasSuffix(rel, "_test.go") {
				return nil // its strings are input
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ImportSpec:
					return false
				case *ast.Field: // whose tag is no message
					return n.Tag == nil
				case *ast.BasicLit:
					if n.Kind == token.STRING {
						if text, err := strconv.Unquote(n.Value); err == nil && strings.Contains(text, " ") {
							f(place{rel, set.Position(n.Pos()).Line}, "message", text)
						}
					}
				}
				return true
			})
		case ".md", ".toml", ".txt", ".dlct":
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			files++
			n := 0
			for line := range strings.Lines(string(text)) {
				n++
				f(place{rel, n}, "documentation", strings.TrimSuffix(line, "\n"))
			}
		}
		return nil
	})
	if err != nil || files < 200 {
		t.Fatalf("%v, %d files", err, files)
	}
}

// TestWording finds wordings in messages, comments and documentation.
func TestWording(t *testing.T) {
	plain := regexp.MustCompile(`(?i)\b(there|here) (is|are|was|were) (none|no)\b|(is|are) no (longer|more|other|way|use|need)\b|\btold apart\b`) // these read well
	var list []*regexp.Regexp
	for _, w := range wordings {
		list = append(list, regexp.MustCompile("(?i)"+w.Pattern))
	}
	texts(t, func(at place, kind, text string) {
		text = plain.ReplaceAllStringFunc(text, func(m string) string { return strings.Repeat("-", len(m)) })
		for i, re := range list {
			for _, m := range re.FindAllStringIndex(text, -1) {
				line := at.line + strings.Count(text[:m[0]], "\n")
				t.Errorf("%s:%d: a %s has %q: write %s", at.file, line, kind, text[m[0]:m[1]], wordings[i].Instead)
			}
		}
	})
}

// TestReferences: a test or a Go file that a comment or ARCHITECTURE.md names is there. What a reader is sent to would
// otherwise go with a rename, and a promise with its test.
func TestReferences(t *testing.T) {
	tests, files := make(map[string]bool), make(map[string]bool)
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".go" {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		for rel = filepath.ToSlash(rel); rel != ""; _, rel, _ = strings.Cut(rel, "/") {
			files[rel] = true
		}
		if strings.HasSuffix(name, "_test.go") {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
				tests[m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named, file := regexp.MustCompile(`(?:^|[^"\w])((?:Test|Fuzz)[A-Z][a-z]\w+)`), regexp.MustCompile("`([\\w/]+\\.go)`")
	texts(t, func(at place, kind, text string) {
		if kind != "comment" && at.file != "ARCHITECTURE.md" {
			return
		}
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if !tests[m[1]] {
				t.Errorf("%s:%d: there is no %s", at.file, at.line, m[1])
			}
		}
		for _, m := range file.FindAllStringSubmatch(text, -1) {
			if kind != "comment" && !files[m[1]] {
				t.Errorf("%s:%d: there is no file %s", at.file, at.line, m[1])
			}
		}
	})
}

// TestMessages compares the messages of the program, gathered by package, with testdata/messages.txt: so that a change of
// one is read as text, beside the others of its stage.
func TestMessages(t *testing.T) {
	const golden = "testdata/messages.txt"
	byPackage := make(map[string][]string)
	texts(t, func(at place, kind, text string) {
		dir := path.Dir(at.file)
		if kind != "message" || !sentence.MatchString(text) || strings.Contains(dir, "/bench") || strings.HasPrefix(dir, "receipts/vectors") {
			return
		}
		byPackage[dir] = append(byPackage[dir], strconv.Quote(text))
	})
	var b bytes.Buffer
	b.WriteString("The messages of dialect by package, written by `make golden`.\n")
	dirs := slices.Sorted(func(yield func(string) bool) {
		for dir := range byPackage {
			if !yield(dir) {
				return
			}
		}
	})
	for _, dir := range dirs {
		list := byPackage[dir]
		slices.Sort(list)
		fmt.Fprintf(&b, "\n== %s\n%s\n", dir, strings.Join(slices.Compact(list), "\n"))
	}
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("%s has other messages (make golden, if the new ones read well)\n%s", golden, diff.Diff("want", want, "got", b.Bytes()))
	}
}

// sentence tells a message from other strings: it has words of letters with a space between them.
var sentence = regexp.MustCompile(`[a-z]{2,} [a-z"%]`)

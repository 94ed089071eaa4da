package routing_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
)

// inner loads /p/routing.toml, whose one line has the keys that are given, from files below /p.
func inner(t *testing.T, keys string, files map[string]string) *routing.Matrix {
	t.Helper()
	m, list := routing.Load("/p/routing.toml", "routing.toml", routing.Options{ReadFile: func(path string) ([]byte, error) {
		rel, err := filepath.Rel("/p", path)
		if err != nil {
			t.Fatal(err)
		}
		text, ok := files[filepath.ToSlash(rel)]
		switch {
		case rel == "routing.toml":
			return []byte("[commands.test_it]\nverb = \"test\"\nnoun = \"it\"\n" + keys), nil
		case strings.HasPrefix(rel, ".."):
			t.Errorf("it reads %s", path)
		case ok:
			return []byte(text), nil
		}
		return nil, os.ErrNotExist
	}})
	if n := list.Count(diag.Error); n > 0 {
		t.Fatalf("%s: %s", keys, list[0].Message)
	}
	return m
}

// What decides a line that dialect itself runs is a part of the rules: the script, its matrix, and what that is made of.
func TestInnerRules(t *testing.T) {
	const line = "[commands.check_a]\nverb = \"check\"\nnoun = \"a\"\n"
	files := map[string]string{
		"a/routing.toml": "extends = [\"../shared.toml\"]\n[run]\ndefault = \"own.dlct\"\n" + line + "tool = \"sh t.sh\"\npins = [\"t.sh\"]\n",
		"a/quality.dlct": "Check with a\n", "a/own.dlct": "Check with a\n", "a/t.sh": "true\n", "shared.toml": "# shared\n",
		"a/sub/x.dlct":   "Check with a\n",
		"b/routing.toml": line + "tool = \"dialect run ../a/quality.dlct\"\n", "b/quality.dlct": "Check with a\n",
		"c/routing.toml": line + "tool = \"dialect run quality.dlct ../c/quality.dlct\"\n", "c/quality.dlct": "Check with a\n",
		"other.dlct": "Test with it\n", "other.toml": line + "tool = \"sh t.sh\"\n",
	}
	a := []string{"a/routing.toml", "a/t.sh", "shared.toml"}
	quality := append([]string{"a/quality.dlct"}, a...)
	for keys, want := range map[string][]string{
		`tool = "dialect run a/quality.dlct"`:                                      quality,
		`tool = "dialect run -j 2 --keep-going a/quality.dlct:1.2"`:                quality,
		`tool = "./bin/dialect prove --base HEAD ./a/../a/quality.dlct"`:           quality,
		`tool = "timeout 60 dialect run a/quality.dlct"`:                           quality,
		`tool = "dialect guard -- dialect run a/quality.dlct"`:                     quality,
		`tool = "sh -c 'cd a && dialect run quality.dlct'"`:                        quality,
		"tool = \"cd b; cd ../a; dialect run \\\"quality.dlct\\\"\"\nshell = true": quality,
		"tool = \"dialect run quality.dlct\"\ncwd = \"a\"":                         quality,
		"tool = \"dialect run\"\ncwd = \"a\"":                                      append([]string{"a/own.dlct"}, a...),
		"tool = \"dialect run -e 'Check with a'\"\ncwd = \"a/sub\"":                append([]string{"a/own.dlct"}, a...),
		`tool = "dialect run a/sub/x.dlct"`:                                        append([]string{"a/sub/x.dlct"}, a...),
		`tool = "dialect run b/quality.dlct"`:                                      append([]string{"b/quality.dlct", "b/routing.toml"}, quality...),
		`tool = "dialect run c/quality.dlct"`:                                      {"c/quality.dlct", "c/routing.toml"}, // which runs itself
		`tool = "dialect run other.dlct"`:                                          {"other.dlct"},
		`tool = "dialect run --routing other.toml other.dlct"`:                     {"other.dlct", "other.toml"},
		`tool = "dialect run --routing=other.toml other.dlct"`:                     {"other.dlct", "other.toml"},
		`tool = "dialect run ../a/quality.dlct /etc/quality.dlct"`:                 nil, // not ours: see the doc
		`tool = "dialect run {object}/quality.dlct"`:                               nil,
		`tool = "sh run a/quality.dlct"`:                                           nil,
		`tool = "dialect verify"`:                                                  nil,
		`tool = "dialect check a/quality.dlct"`:                                    nil, // nothing of it is run
		`tool = "sh -c 'dialect fmt a/quality.dlct; dialect run -h'"`:              nil,
		`tool = "sh -c 'dialect run a/quality.dlct; dialect fmt other.dlct'"`:      quality,
	} {
		m := inner(t, keys, files)
		var got []string
		for _, f := range m.Read {
			if f.Pin && !f.Absent {
				got = append(got, f.Name)
			}
		}
		slices.Sort(got)
		want = slices.Sorted(slices.Values(want))
		if strings.Contains(keys, "cd b; cd") || strings.Contains(keys, "cd a &&") { // where it changes to is followed from two folders
			got = slices.DeleteFunc(got, func(name string) bool { return strings.HasPrefix(name, "b/") })
			want = slices.DeleteFunc(want, func(name string) bool { return strings.HasPrefix(name, "b/") })
		}
		if strings.HasPrefix(keys, `tool = "dialect run b/`) { // a's own script is not what is run
			want = slices.Compact(want)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", keys, got, want)
		}
		for _, name := range want { // each decides the digest
			old := files[name]
			files[name] = old + "\n# more\n"
			if inner(t, keys, files).SHA256 == m.SHA256 {
				t.Errorf("%s: %s changed, and the digest did not", keys, name)
			}
			files[name] = old
		}
	}
	// A matrix that is nearer, and does not exist yet, is looked for.
	before := inner(t, `tool = "dialect run a/sub/x.dlct"`, files)
	files["a/sub/routing.toml"] = ""
	if inner(t, `tool = "dialect run a/sub/x.dlct"`, files).SHA256 == before.SHA256 {
		t.Error("a nearer matrix gives the same digest")
	}
}

// However many matrices and words there are, each file is read once, and the number of matrices is bounded.
func TestInnerBounds(t *testing.T) {
	reads := make(map[string]int)
	text := func(path string) string {
		var n int
		if _, err := fmt.Sscanf(filepath.ToSlash(path), "/p/%d/routing.toml", &n); err != nil {
			n = -1
		}
		return fmt.Sprintf("[commands.test_it]\nverb = \"test\"\nnoun = \"it\"\ntool = \"dialect run %d/quality.dlct ../%d/quality.dlct %s\"\n", n+1, n+1, strings.Repeat("cd dialect x.dlct ", 20))
	}
	_, list := routing.Load("/p/routing.toml", "routing.toml", routing.Options{ReadFile: func(path string) ([]byte, error) {
		if reads[path]++; reads[path] > 1 {
			t.Errorf("%s is read again", path)
		}
		if filepath.Base(path) == "routing.toml" && strings.Count(filepath.ToSlash(path), "/") <= 3 {
			return []byte(text(path)), nil
		}
		return nil, os.ErrNotExist
	}})
	if len(reads) > 20_000 {
		t.Errorf("%d files are read", len(reads))
	}
	if !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return strings.Contains(d.Message, "more than 100 matrices") }) {
		t.Errorf("nothing says that there are too many: %d matrices, %v", len(reads), list)
	}
}

// The words of a tool lead to a bounded number of files, in all tools together, and more of them are an error.
func TestInnerWordsBound(t *testing.T) {
	var words strings.Builder
	for i := range 100 {
		fmt.Fprintf(&words, "cd d%d; ", i)
	}
	words.WriteString("dialect run")
	for i := range 20_000 {
		fmt.Fprintf(&words, " %x.dlct", i)
	}
	for name, text := range map[string]string{
		"one tool": fmt.Sprintf("[commands.test_it]\nverb = \"test\"\nnoun = \"it\"\nshell = true\ntool = \"%s\"\n", words.String()),
		"many tools": func() string {
			var b strings.Builder
			for i := range 5000 {
				fmt.Fprintf(&b, "[commands.test_%d]\nverb = \"test\"\nnoun = \"n%d\"\ntool = \"dialect run %d/x.dlct\"\n", i, i, i)
			}
			return b.String()
		}(),
	} {
		reads := 0
		m, list := routing.Load("/p/routing.toml", "routing.toml", routing.Options{ReadFile: func(path string) ([]byte, error) {
			if path == "/p/routing.toml" {
				return []byte(text), nil
			}
			reads++
			return nil, os.ErrNotExist
		}})
		if reads > 3000 || len(m.Read) > 3000 {
			t.Errorf("%s: %d files are looked for, %d kept", name, reads, len(m.Read))
		}
		if !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return strings.Contains(d.Message, "more than 2000 files") }) {
			t.Errorf("%s: nothing says that there are too many: %d read, %v", name, reads, list)
		}
	}
}

// Folders that lie deep have the most of the way to their matrix in common.
func TestInnerDeep(t *testing.T) {
	deep := strings.Repeat("a/", 900)
	var words []string
	for i := range 400 {
		words = append(words, fmt.Sprintf("%sx%d/quality.dlct", deep, i))
	}
	reads := 0
	n := testing.AllocsPerRun(1, func() {
		reads = 0
		routing.Load("/p/routing.toml", "routing.toml", routing.Options{ReadFile: func(path string) ([]byte, error) {
			if reads++; path == "/p/routing.toml" {
				return []byte("[commands.test_it]\nverb = \"test\"\nnoun = \"it\"\ntool = \"dialect run " + strings.Join(words, " ") + "\"\n"), nil
			}
			return nil, os.ErrNotExist
		}})
	})
	if reads < 1500 || n > 200_000 { // each of the folders on the way has been looked at
		t.Errorf("%d files are read, %.0f allocations", reads, n)
	}
}

// TestInnerNamedRoot: the nearest routing.toml for an inner script decides where the tools of the matrix run that is named for it, and what its pins
// are relative to.
func TestInnerNamedRoot(t *testing.T) {
	const tool = `tool = "dialect run --routing ci/checks.toml ci/q.dlct"`
	files := map[string]string{
		"ci/q.dlct": "Check with a\n", "ci/checks.toml": "[commands.check_a]\nverb = \"check\"\nnoun = \"a\"\ntool = \"sh t.sh\"\npins = [\"t.sh\"]\n",
		"t.sh": "true\n", "ci/t.sh": "true\n",
	}
	pinned := func(m *routing.Matrix) (names []string) {
		for _, f := range m.Read {
			if f.Pin && !f.Absent {
				names = append(names, f.Name)
			}
		}
		slices.Sort(names)
		return names
	}
	before := inner(t, tool, files)
	if got, want := pinned(before), []string{"ci/checks.toml", "ci/q.dlct", "t.sh"}; !slices.Equal(got, want) {
		t.Errorf("at the root: %q, want %q", got, want)
	}
	files["ci/routing.toml"] = ""
	after := inner(t, tool, files)
	if got, want := pinned(after), []string{"ci/checks.toml", "ci/q.dlct", "ci/routing.toml", "ci/t.sh"}; !slices.Equal(got, want) {
		t.Errorf("with a root of its own: %q, want %q", got, want)
	}
	if before.SHA256 == after.SHA256 {
		t.Error("another root gives the same digest")
	}
}

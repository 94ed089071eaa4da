package lang_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
)

func TestFix(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"Test with go\n", "Test with go\n"},
		{"\ufeff1. `Test` `with` go.\n```\n", "Test with go\n"},
		{"- - Test with go\n", "- - Test with go\n"}, // no command, and no fix makes it one
		{"- `\n* `` # why\nTest with go\n", "# why\nTest with go\n"},
		{"  * Test with go # and so on.\n", "  Test with go # and so on.\n"},
		{"```", ""},
		{"Close issue \"a\".", "Close issue \"a\""},
		{"- Test with go # dialect: ignore list-marker\n", "- Test with go # dialect: ignore list-marker\n"},
		{"Close issue “a”\n", "Close issue “a”\n"}, // a guess
	} {
		got, n := lang.Fix(diag.NewSource("t.dlct", []byte(tt.text)))
		if string(got) != tt.want || (n > 0) != (tt.text != tt.want) {
			t.Errorf("%q: %d fixes made %q, want %q", tt.text, n, got, tt.want)
		}
	}
}

// The guesses too, each by itself, must be edits of the text that end in less to say or at
// least in a text that can be read.
func TestFixesOfFaults(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"Close issue “BD 12” note=‘x’", `Close issue "BD 12" note="x"`},
		{`Close issue "BD-12  `, `Close issue "BD-12"  `},
		{`Close issue "a\d"`, `Close issue "a\\d"`},
		{"Move big issue to issue todo", `Move "big issue" to issue todo`},
		{"Format with ruff in src", `Format with ruff "in" src`},
		{"Close issue id=", `Close issue id=""`},
		{"Close issue {", "Close issue {{"},
		{"Test\u00a0with\u200b pytest", "Test with pytest"},
		{"Тest with pytest", "Test with pytest"},
	} {
		src := diag.NewSource("t.dlct", []byte(tt.text))
		_, list := lang.Parse(src)
		if len(list) == 0 || len(list[0].Fixes) == 0 {
			t.Errorf("%q: no fix in %v", tt.text, list)
			continue
		}
		if f := list[0].Fixes[0]; f.Applicability != diag.MaybeIncorrect {
			t.Errorf("%q: the fix is %s", tt.text, f.Applicability)
		}
		if got := apply(t, src, list[0].Fixes[0]); got != tt.want {
			t.Errorf("%q became %q, want %q", tt.text, got, tt.want)
		}
	}
}

// apply makes the edits of a fix, which must not overlap and must be in order.
func apply(t *testing.T, src *diag.Source, f diag.Fix) string {
	t.Helper()
	var b strings.Builder
	at := 0
	for _, e := range f.Edits {
		start, end := e.Span.Start, e.Span.End
		if e.File != src.Name || start.Offset < at || end.Offset < start.Offset || end.Offset > len(src.Text) ||
			src.Pos(start.Offset) != start || src.Pos(end.Offset) != end && end.Offset != len(src.Text) {
			t.Fatalf("%q: a bad edit in %q: %+v", src.Text, f.Message, e)
		}
		b.Write(src.Text[at:start.Offset])
		b.WriteString(e.New)
		at = end.Offset
	}
	b.Write(src.Text[at:])
	return b.String()
}

// FuzzFix holds the fixes that claim to be certain to it: the text means the same after them.
func FuzzFix(f *testing.F) {
	scripts, _ := filepath.Glob("../examples/*/*.dlct")
	if len(scripts) == 0 {
		f.Fatal("no seeds")
	}
	for _, name := range append(scripts, "testdata/faults.dlct") {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, s := range []string{"\ufeff- `Test` with `go`.\r\n```\n", "* [x] 1) x y. `", "“a” b", "a \"b\".`", "`` ` # x", "Test with all `#` a", "Test `#` with all #. # c", "Test with all a=`#` `#`."} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		src := diag.NewSource("t.dlct", text)
		fixed, _ := lang.Fix(src)
		if before, after := meaning(text), meaning(fixed); !reflect.DeepEqual(before, after) {
			t.Errorf("%q became %q:\n%v\n%v", text, fixed, before, after)
		}
		_, list := lang.Parse(src)
		for _, d := range list {
			for _, fix := range d.Fixes {
				got := apply(t, src, fix)
				if fix.Applicability != diag.Certain {
					continue
				}
				if before, after := meaning(text), meaning([]byte(got)); !reflect.DeepEqual(before, after) {
					t.Errorf("%q became %q by %q:\n%v\n%v", text, got, fix.Message, before, after)
				}
			}
		}
	})
}

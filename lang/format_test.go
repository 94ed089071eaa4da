package lang_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
)

func TestFormat(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"\n\n", ""},
		{"Test with pytest\n", "Test with pytest\n"},
		{"  tEST   WITH\tPyTest  ", "Test with pytest\n"},
		{"test pytest", "Test pytest\n"},
		{"- Test with pytest.\n* Check with mypy\n1. Lint with ruff\n2) [ ] Format with `black`\n", "Test with pytest\nCheck with mypy\nLint with ruff\nFormat with black\n"},
		{"```dlct\nTest with pytest\n```\n", "Test with pytest\n"},
		{"\ufeffTest with pytest\r\nCheck with mypy\r\n", "Test with pytest\nCheck with mypy\n"},
		{"\n\n# a comment  \n\n\nTest with pytest   # why\n\n", "# a comment\n\n\nTest with pytest # why\n"},
		{"Close issue   \"x; touch  pwned\"  reason=\"all done\"  BD-12", "Close issue \"x; touch  pwned\" reason=\"all done\" BD-12\n"},
		{"Spawn gate-check AS Subtask", "Spawn gate-check as subtask\n"},
		{"Set {x} to VALUE Y={{1}}", "Set {x} to value Y={{1}}\n"},
		{"1 + 1 = 2; it stays.  \nTest with pytest\n", "1 + 1 = 2; it stays.\nTest with pytest\n"},
		{"- # only a comment\n", "# only a comment\n"},
		{"Test with pytest. # done", "Test with pytest # done\n"},
		{"Close issue a#b # c", "Close issue a#b # c\n"},
	} {
		got, _ := lang.Format(diag.NewSource("t.dlct", []byte(c.in)))
		if string(got) != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
		again, _ := lang.Format(diag.NewSource("t.dlct", got))
		if string(again) != string(got) {
			t.Errorf("%q: formatted %q, and again %q", c.in, got, again)
		}
	}
}

// meaning is what binding sees of a script.
func meaning(src []byte) (list []any) {
	f, _ := lang.Parse(diag.NewSource("t.dlct", src))
	for _, c := range f.Commands {
		if c.Bad {
			list = append(list, "bad")
			continue
		}
		m := []any{c.Verb.Key(), c.Prep.Key(), c.Noun.Key()}
		if c.Object != nil {
			m = append(m, c.Object.Text, c.Object.Quoted)
		}
		for _, a := range c.Arguments {
			m = append(m, a.Name.Text, a.Value.Text, a.Value.Quoted)
		}
		list = append(list, m)
	}
	return list
}

func FuzzFormat(f *testing.F) {
	scripts, _ := filepath.Glob("../examples/*/*.dlct")
	if len(scripts) == 0 {
		f.Fatal("no seeds")
	}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, s := range []string{"- `Test` with `pytest`.\r\n", "\ufeff```\n1. tEST WITH x a=\"b \\\" c\" # d\n", "Set a to b. # c", "*\t[x] # y", "\"a\" b", "x y...", "Test with `a b`", "1. ``` # x", "Test with all `#` a", "Test `#` with all #. # c", "Test with all a=`#` `#`.", "\ufeff\ufeffTest with go", "Test with go\n\ufeff```\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		once, _ := lang.Format(diag.NewSource("t.dlct", text))
		if before, after := meaning(text), meaning(once); !reflect.DeepEqual(before, after) {
			t.Errorf("%q became %q:\n%v\n%v", text, once, before, after)
		}
		twice, _ := lang.Format(diag.NewSource("t.dlct", once))
		if string(once) != string(twice) {
			t.Errorf("%q became %q, and then %q", text, once, twice)
		}
	})
}

package edit_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/edit"
)

// Each case has its cursor at ‸.
func TestAt(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string // word, and what it stands for; empty where nothing known stands
	}{
		{"‸", `"" key of `},
		{"ext‸ = []", `"ext" key of `},
		{"extends = [\"py‸\"]", `"py" in the array extends of `},
		{"extends = [\"py\"] ‸", ""},
		{"[def‸", `"def" header`},
		{"[def‸]\n", `"def" header`},
		{"[[def‸", `"def" header`},
		{"[commands.te‸st]\n", `"commands.test" header`},
		{"[commands.test]\n‸", `"" key of commands.NAME`},
		{"[commands.test]\nverb = \"a\"\n  no‸un", `"noun" key of commands.NAME after verb`},
		{"[commands.test]\nno‸\nverb = \"a\"\n[defaults]\nenv = {}\n", `"no" key of commands.NAME after verb`},
		{"[commands.\"a.b\"]\nno‸", `"no" key of commands.NAME`},
		{"[commands.a.expect]\nmin‸", `"min" key of commands.NAME.expect`},
		{"[commands.a]\nexpect = { min‸", `"min" key of commands.NAME.expect`},
		{"[commands.a]\nexpect = { min_tests = 1, ex‸ }", `"ex" key of commands.NAME.expect after min_tests`},
		{"[commands.a]\nexpect.min‸", `"min" key of commands.NAME.expect`},
		{"[commands.a]\nexpect.min_tests = 1‸", `"1" in min_tests of commands.NAME.expect`},
		{"[commands.a]\nexpect = { min_tests = 1\nno‸", `"no" key of commands.NAME after expect`},
		{"[commands]\na = { no‸", `"no" key of commands.NAME`},
		{"commands.a.no‸", `"no" key of commands.NAME`},
		{"[commands.a]\neffect = ‸", `"" in effect of commands.NAME`},
		{"[commands.a]\neffect = \"re‸\"", `"re" in effect of commands.NAME`},
		{"[commands.a]\neffect = \"re‸\nverb = 'x'", `"re" in effect of commands.NAME`},
		{"[commands.a]\neffect = \"re\nver‸b = 'x'", `"verb" key of commands.NAME after effect`},
		{"[commands.a]\ncomposite = [\n  \"a\",\n  \"b‸\"", `"b" in the array composite of commands.NAME`},
		{"[commands.a]\ncomposite = [\n\"a\",\n‸", `"" in the array composite of commands.NAME`},
		{"[commands.a]\ncomposite = [\n\"a\",\n[defaults]\nti‸", `"ti" key of defaults`},
		{"[commands.a]\ntool = \"\"\"\n[defaults]\n\"\"\"\nno‸", `"no" key of commands.NAME after tool`},
		{"[commands.a]\nnotes = '''a ‸ b'''", `"a  b" in notes of commands.NAME`},
		{"[commands.a]\nshell = tr‸ # x", `"tr" in shell of commands.NAME`},
		{"[commands.a]\nshell = true # x‸", ""},
		{"[commands.a]\nshell = true # x\nno‸", `"no" key of commands.NAME after shell`},
		{"[commands.a]\n\"no‸\" = 1", `"no" key of commands.NAME`},
		{"[commands.a]\nverb noun‸", ""},
		{"[commands.a.env]\nPA‸", ""},
		{"[meta]\nx‸", ""},
		{"[servers.a]\nenv = { X‸", ""},
	} {
		before, after, _ := strings.Cut(tt.text, "‸")
		text := []byte(before + after)
		s, ok := edit.At(text, len(before))
		got := ""
		if ok {
			got = `"` + string(text[s.Start:s.End]) + `"`
			switch {
			case s.Header:
				got += " header"
			case s.Key != "":
				got += " in "
				if s.Array {
					got += "the array "
				}
				got += s.Key + " of " + s.Place.Path()
			default:
				got += " key of " + s.Place.Path()
				if len(s.Taken) > 0 {
					got += " after " + strings.Join(s.Taken, " ")
				}
			}
		}
		if got != tt.want {
			t.Errorf("%q:\n got %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

func TestComplete(t *testing.T) {
	m, _ := routing.Load("/p/routing.toml", routing.FileName, routing.Options{ReadFile: func(string) ([]byte, error) {
		return []byte("[commands.test_it]\nverb = \"test\"\nnoun = \"it\"\ntool = \"go\"\n"), nil
	}})
	for _, tt := range []struct{ text, want, not string }{
		{"[commands.a]\n‸", "verb = |effect = |timeout = ", "min_tests"},
		{"[commands.a]\nverb = \"x\"\n‸\nnoun = \"y\"\n", "effect = ", "verb = |noun = "},
		{"[commands.a]\ne‸ = 1", "effect|expect", "effect = "},
		{"[commands.a]\neffect = ‸", `"read"|"write"`, "true"},
		{"[commands.a]\neffect = \"‸\"", "read|write", `"read"`},
		{"[commands.a]\nshell = ‸", "true|false", `"true"`},
		{"[commands.a]\nprepositions = ‸", `["with"]`, `"with"`},
		{"[commands.a]\nprepositions = [‸", `"with"`, "with"},
		{"[commands.a]\ncomposite = [\"‸\"]", "test_it", ""},
		{"[verify]\nrequire = ‸", `["test_it"]`, ""},
		{"[agents.a]\nrequire = ‸", `"test_it"`, ""},
		{"[defaults]\n‸", "timeout = |caches = ", "verb = "},
		{"[‸", "defaults|commands.|servers.", "commands.NAME.expect"},
		{"‸", "extends = |environment = ", "defaults = |commands = "},
	} {
		before, after, _ := strings.Cut(tt.text, "‸")
		text := []byte(before + after)
		s, ok := edit.At(text, len(before))
		if !ok {
			t.Errorf("%q: nothing stands there", tt.text)
			continue
		}
		var got []string
		for _, item := range edit.Complete(m, text, s) {
			got = append(got, item.Text)
		}
		list := "|" + strings.Join(got, "|") + "|"
		for _, want := range strings.Split(tt.want, "|") {
			if !strings.Contains(list, "|"+want+"|") {
				t.Errorf("%q: %q is not offered: %s", tt.text, want, list)
			}
		}
		for _, not := range strings.Split(tt.not, "|") {
			if not != "" && strings.Contains(list, "|"+not+"|") {
				t.Errorf("%q: %q is offered: %s", tt.text, not, list)
			}
		}
	}
}

// TestAtIsBounded has what would nest, if it were followed: an editor asks at each keystroke.
func TestAtIsBounded(t *testing.T) {
	for _, unit := range []string{"a={", "[", "{", "a.", `"`, "'''", "[a.", "a=\n", "a=[{", `"".`, "#", "a,", "a=]"} {
		text := []byte(strings.Repeat(unit, 1<<20/len(unit)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		if s, ok := edit.At(text, len(text)); ok {
			edit.Complete(nil, text, s)
		}
		d := time.Since(start)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; d > time.Minute || n > 256<<20 { // what is not linear takes hours
			t.Errorf("1 MiB of %q: %s, %d MiB", unit, d, n>>20)
		}
	}
}

// FuzzAt holds that the word at a cursor is one of the text around it, whatever is typed.
func FuzzAt(f *testing.F) {
	for _, text := range []string{"[a]\nb = \"c\" # d", "[commands.a]\nexpect = { min_tests = 1 }", "a = [\n'''x'''\n]", "[[\"", "a.\"b.c\".d = {", "\\", "\"\\", "=[{,}]#\n"} {
		for i := range len(text) + 1 {
			f.Add(text, i)
		}
	}
	f.Fuzz(func(t *testing.T, text string, offset int) {
		s, ok := edit.At([]byte(text), offset)
		if !ok {
			return
		}
		offset = min(max(offset, 0), len(text))
		if s.Start > offset || s.End < offset || s.Start < 0 || s.End > len(text) {
			t.Fatalf("%q at %d: the word is at %d to %d", text, offset, s.Start, s.End)
		}
		for _, item := range edit.Complete(nil, []byte(text), s) {
			if item.Label == "" || item.Text == "" {
				t.Fatalf("%q at %d: %+v", text, offset, item)
			}
		}
		_, _, _, _ = edit.KeyAt([]byte(text), offset)
	})
}

package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// states returns "state name" of each check.
func states(r *Report) string {
	var list []string
	for _, c := range r.Checks {
		list = append(list, c.State+" "+c.Name)
	}
	return strings.Join(list, ", ")
}

func TestExamine(t *testing.T) {
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for name, c := range map[string]struct {
		matrix, store string
		want          string // a part of the states
		broken        bool
	}{
		"no matrix":           {"", "", "broken matrix", true},
		"no TOML":             {"[", "", "broken matrix", true},
		"a tool is missing":   {"[commands.check_a]\nverb = \"check\"\nnoun = \"a\"\ntool = \"no-such-program-here\"\n", "", "ok matrix, broken tool", true},
		"a store is no store": {"[commands.check_a]\nverb = \"check\"\nnoun = \"a\"\ntool = \"true\"\n", "text", "ok tools, broken store", true},
		"all is there":        {"[commands.check_a]\nverb = \"check\"\nnoun = \"a\"\ntool = \"true\"\n", "", "ok matrix, warning cannot-fail, ok tools, ok store, ok key, warning git, warning trust", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := Options{Dir: dir, Store: filepath.Join(dir, "s.db")}
			if c.matrix != "" {
				write(filepath.Join(dir, "routing.toml"), c.matrix)
			}
			if c.store != "" {
				write(o.Store, c.store)
			}
			r := Examine(o)
			if got := states(r); !strings.Contains(got, c.want) || r.Broken() != c.broken {
				t.Errorf("%s, broken %v; want %s", got, r.Broken(), c.want)
			}
			if entries, _ := os.ReadDir(dir); len(entries) > 2 {
				t.Errorf("it left %v", entries)
			}
		})
	}
}

func TestText(t *testing.T) {
	r := new(Report)
	r.say(broken, "tool", "install it", "a\x1b[2J")
	var b strings.Builder
	if err := r.WriteText(&b); err != nil || b.String() != "broken  tool  a\ufffd[2J\n              -> install it\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

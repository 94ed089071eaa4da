package inquiry

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// What is not a comment among the remedies is a command of that system.
func TestRemediesOfSystems(t *testing.T) {
	words := []string{"dialect", "run", "--key-fd", "3", "a.dlct"}
	for _, c := range []struct {
		goos     string
		keyed    string
		commands int // of those about a level
	}{
		{"linux", "dialect run --key-fd 3 a.dlct 3< <(cat KEYFILE)", 1},
		{"darwin", "dialect run --key-fd 3 a.dlct 3< <(cat KEYFILE)", 0},
		{"windows", "# hand the key over by a descriptor, on a system where a shell can: dialect run --key-fd 3 a.dlct", 0},
	} {
		if got := keyed(c.goos, slices.Clone(words)); got != c.keyed {
			t.Errorf("%s: %s", c.goos, got)
		}
		commands := 0
		for _, l := range nextOfLevel(c.goos, "", "WHOLE") {
			if !strings.HasPrefix(l, "# ") {
				commands++
			}
		}
		if commands != c.commands {
			t.Errorf("%s: %d commands, want %d", c.goos, commands, c.commands)
		}
	}
	if got := nextOfLevel("linux", "commands run as root: start dialect as an ordinary user", "WHOLE"); len(got) != 1 ||
		got[0] != "# a run from here would not count for its key (commands run as root): start dialect as an ordinary user, as `dialect doctor` says, and then: WHOLE" {
		t.Errorf("%q", got)
	}
}

// TestLike: a line with a value of the environment is met by a command that differs in that alone, as far as it is recorded.
func TestLike(t *testing.T) {
	whole := func(s string) receipts.Datum { return receipts.Text(s) }
	for _, c := range []struct {
		word string
		was  receipts.Datum
		want bool
	}{
		{"a", whole("a"), true}, {"a", whole("b"), false},
		{"x" + fromRun + "y", whole("x1y"), true}, {"x" + fromRun + "y", whole("x1z"), false}, {"x" + fromRun + "x", whole("x"), false},
		{"x" + fromRun + "-" + fromRun + "y", whole("x1-2y"), true}, {fromRun, whole(""), true},
		{"[secret]", receipts.Redacted("[redacted:00112233]"), true}, {fromRun, receipts.Redacted("[redacted:00112233]"), true},
		{"full", receipts.Redacted("[redacted:00112233]"), false},
		{"a", receipts.Datum{SHA256: sha256.Sum256([]byte("a")), Bytes: 1}, true}, {"b", receipts.Datum{SHA256: sha256.Sum256([]byte("a")), Bytes: 1}, false},
	} {
		if got := like(c.word, c.was); got != c.want {
			t.Errorf("%q, %+v: %v", c.word, c.was, got)
		}
	}
}

// TestDiffer: of alternatives in one folder those count that are there; a folder that is gone stands for all in it.
func TestDiffer(t *testing.T) {
	q := asked(t)
	for _, c := range []struct {
		inputs, there []string
		want          string
	}{
		{[]string{"node_modules/.package-lock.json", "node_modules/.yarn-integrity"}, nil, "not there: node_modules"},
		{[]string{"node_modules/.package-lock.json", "node_modules/.yarn-integrity"}, []string{"node_modules/.package-lock.json"}, "node_modules/.package-lock.json"},
		{[]string{".venv/cfg", ".venv/*/RECORD", "lock"}, []string{".venv/x"}, "not there: .venv/cfg, .venv/*/RECORD, lock"},
		{[]string{".venv/cfg", "lock"}, []string{"lock"}, "lock; not there: .venv"},
		{[]string{"**/*.lock", "*/x"}, nil, "**/*.lock; not there: */x"},
	} {
		if err := errors.Join(os.RemoveAll("node_modules"), os.RemoveAll(".venv"), os.RemoveAll("lock")); err != nil {
			t.Fatal(err)
		}
		for _, name := range c.there {
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		q.matrix.Inputs = map[string][]string{"a": c.inputs}
		if got := q.differ("a"); got != c.want {
			t.Errorf("%q with %q: %s, want %s", c.inputs, c.there, got, c.want)
		}
	}
}

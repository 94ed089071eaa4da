package inquiry

import (
	"slices"
	"strings"
	"testing"
)

// What is not a comment among the remedies is a command of that system.
func TestRemediesOfSystems(t *testing.T) {
	words := []string{"dialect", "run", "--key-fd", "3", "a.dlct"}
	for _, c := range []struct {
		goos     string
		keyed    string
		commands int // of those about a level
	}{
		{"linux", "dialect run --key-fd 3 a.dlct 3< <(cat boss.key)", 1},
		{"darwin", "dialect run --key-fd 3 a.dlct 3< <(cat boss.key)", 0},
		{"windows", "# hand the key over by a descriptor, on a system where a shell can: dialect run --key-fd 3 a.dlct", 0},
	} {
		if got := keyed(c.goos, slices.Clone(words)); got != c.keyed {
			t.Errorf("%s: %s", c.goos, got)
		}
		commands := 0
		for _, l := range nextOfLevel(c.goos, "WHOLE") {
			if !strings.HasPrefix(l, "# ") {
				commands++
			}
		}
		if commands != c.commands {
			t.Errorf("%s: %d commands, want %d", c.goos, commands, c.commands)
		}
	}
}

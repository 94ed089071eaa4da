package suggest

import (
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	names := []string{"pytest", "mypy", "ruff", "format", "go", "issue", "issues"}
	for word, want := range map[string]string{
		"pytset": "pytest", "PYTEST": "pytest", "fromat": "format", "ruf": "ruff", "issus": "issue",
		"g": "", "x": "", "": "", "deploy": "", "goo": "go", "mpyy": "mypy", "py": "",
	} {
		if got := Near(word, names); got != want {
			t.Errorf("Near(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistanceIsSymmetric(t *testing.T) {
	words := []string{"", "a", "ab", "ba", "abc", "acb", "pytest", "pytset", "ünï", "uni"}
	for _, a := range words {
		for _, b := range words {
			x, y := distance(a, b, 100), distance(b, a, 100)
			if x != y || (x == 0) != (a == b) {
				t.Errorf("distance(%q, %q) = %d, the other way %d", a, b, x, y)
			}
		}
	}
}

// TestLongWordsAreNotCompared: the edit distance takes the product of the lengths of two words.
func TestLongWordsAreNotCompared(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	if got := Near(long+"b", []string{long}); got != "" {
		t.Errorf("a word of %d bytes is suggested", len(got))
	}
	if got := Near(strings.Repeat("a", maxWord-1)+"b", []string{strings.Repeat("a", maxWord)}); got == "" {
		t.Errorf("nothing is suggested for a word of %d letters", maxWord)
	}
}

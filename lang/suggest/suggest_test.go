package suggest

import (
	"fmt"
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
			x, _ := distance(a, b, 100)
			y, _ := distance(b, a, 100)
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

// TestFinderIsBounded: the names that many words are compared with are bounded all together, not for each word.
func TestFinderIsBounded(t *testing.T) {
	names := make([]string, 4000)
	for i := range names {
		names[i] = fmt.Sprintf("%s%04d", strings.Repeat("n", maxWord-4), i)
	}
	var f Finder
	found := 0
	const words = 1000
	for i := range words {
		if f.Near(fmt.Sprintf("%sx%03d", strings.Repeat("n", maxWord-4), i), names) != "" {
			found++
		}
	}
	if found == 0 || found == words {
		t.Errorf("%d of %d words have a suggestion", found, words)
	}
	if most := work + len(names)*maxWord*(maxWord+1); f.cells > most {
		t.Errorf("%d cells were compared, want at most %d", f.cells, most)
	}
	if f.Near("pytset", []string{"pytest"}) != "" || f.Spend(1) {
		t.Error("there is work left")
	}
}

package routing

import "testing"

func TestSuggest(t *testing.T) {
	names := []string{"pytest", "mypy", "ruff", "format", "go", "issue", "issues"}
	for word, want := range map[string]string{
		"pytset": "pytest", "PYTEST": "pytest", "fromat": "format", "ruf": "ruff", "issus": "issue",
		"g": "", "x": "", "": "", "deploy": "", "goo": "go", "mpyy": "mypy", "py": "",
	} {
		if got := Suggest(word, names); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", word, got, want)
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

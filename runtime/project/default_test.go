package project

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDefaultScript looks upwards, up to the matrix and no further.
func TestDefaultScript(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   string // beside routing.toml
		def     string // of [run]
		in      string
		want    string
		several int
	}{
		{"the quality script", "top/a.dlct top/quality.dlct", "", "top", "top/quality.dlct", 0},
		{"the only one", "top/a.dlct", "", "top", "top/a.dlct", 0},
		{"one above", "top/quality.dlct", "", "top/in/side", "top/quality.dlct", 0},
		{"that goes before others", "top/quality.dlct top/in/b.dlct", "", "top/in/side", "top/quality.dlct", 0},
		{"the nearest", "top/a.dlct top/in/b.dlct", "", "top/in/side", "top/in/b.dlct", 0},
		{"one above the matrix", "quality.dlct", "", "top/in", "", 0},
		{"several", "top/a.dlct top/b.dlct", "", "top/in", "", 2},
		{"the one that the matrix names", "top/quality.dlct top/ci/all.dlct", "ci/all.dlct", "top/in", "top/ci/all.dlct", 0},
		{"from outside", "top/quality.dlct", "", "other", "top/quality.dlct", 0},
		{"outside, where the matrix has none", "other/quality.dlct", "", "other", "other/quality.dlct", 0},
		{"outside, and one of the matrix", "top/a.dlct other/quality.dlct", "", "other", "top/a.dlct", 0},
		{"several outside", "other/a.dlct other/b.dlct", "", "other", "", 2},
		{"a folder of that name", "top/a.dlct/x", "", "top", "", 0},
		{"none", "", "", "top", "", 0},
	} {
		files := map[string]string{"top/routing.toml": matrix, "top/in/side/x": "", "other/x": ""}
		if c.def != "" {
			files["top/routing.toml"] = matrix + "\n[run]\ndefault = \"" + c.def + "\"\n"
		}
		for _, f := range strings.Fields(c.files) {
			files[f] = "Test with go\n"
		}
		dir := folder(t, files)
		m, _, err := LoadMatrix(filepath.Join(dir, "top"), "")
		if err != nil {
			t.Fatal(err)
		}
		got, several := DefaultScript(filepath.Join(dir, filepath.FromSlash(c.in)), m)
		if c.want != "" {
			c.want = filepath.Join(dir, filepath.FromSlash(c.want))
		}
		if got != c.want || len(several) != c.several || !slices.IsSorted(several) {
			t.Errorf("%s: %q, %q; want %q", c.name, got, several, c.want)
		}
	}
}

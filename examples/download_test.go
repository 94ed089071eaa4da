package examples_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocDownload plays a download, and the lines of ci.md that compare sums or bytes, against who wrote all of the release: the first asks
// whether the archive is listed, the last whether it is what the source makes. make is played by the file that it would make.
func TestDocDownload(t *testing.T) {
	const archive, other = "dialect_TAG_linux_amd64.tar.gz", "release.bundle.json"
	var recipe []string
	for _, d := range docs(t) {
		for _, b := range d.blocks(t) {
			if lines := d.lines[b.from:b.to]; strings.HasSuffix(d.path, "/ci.md") && strings.Contains(strings.Join(lines, "\n"), "SHA256SUMS") {
				recipe = lines
			}
		}
	}
	if len(recipe) == 0 {
		t.Fatal("ci.md has no such block")
	}
	first, last := command(recipe[0]), command(recipe[len(recipe)-1])
	sum := func(name, content string) string {
		return fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), name)
	}
	const good, evil = "archive", "another"
	for name, c := range map[string]struct {
		content, sums string
		listed, same  bool
	}{
		"honest":                {good, sum(archive, good) + sum(other, other), true, true},
		"another archive":       {evil, sum(archive, good) + sum(other, other), false, false},
		"its line is another's": {evil, sum(archive, evil) + sum(other, other), true, false},
		"its line is left out":  {evil, sum("dialect_TAG_darwin_arm64.tar.gz", good) + sum(other, other), false, false},
		"nothing is listed":     {evil, "", false, false},
	} {
		dir := t.TempDir()
		dist := filepath.Join(dir, "source", "bin", "dist")
		if err := os.MkdirAll(dist, 0o700); err != nil {
			t.Fatal(err)
		}
		for path, content := range map[string]string{
			filepath.Join(dir, archive): c.content, filepath.Join(dir, other): other, filepath.Join(dir, "SHA256SUMS"): c.sums,
			filepath.Join(dist, archive): good, filepath.Join(dist, "dialect_TAG_darwin_arm64.tar.gz"): good,
		} {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []struct {
			dir, line string
			want      bool
		}{{dir, first, c.listed}, {filepath.Dir(filepath.Dir(dist)), last, c.same}} {
			cmd := exec.Command("bash", "-c", "make() { :; }\n"+step.line)
			cmd.Dir = step.dir
			if out, err := cmd.CombinedOutput(); (err == nil) != step.want {
				t.Errorf("%s: %s: %v, want a pass: %t\n%s", name, step.line, err, step.want, out)
			}
		}
	}
}

//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/diag"
)

// TestNames runs commands on a script whose name has lines and terminal controls of its own: none of them
// reaches the output, and no line of the output is one of the name.
func TestNames(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := "q\npassed: 3 lines, 0.10 s\n::error::x\nnext: curl evil\x1b]0;owned\a\u009b31m.dlct"
	for file, text := range map[string]string{
		"routing.toml": "[commands.test_it]\nverb = \"test\"\nnoun = \"it\"\ntool = \"false\"\n",
		name:           "Test with it\n", "b" + name: "- Tset with it\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct {
		args   []string
		github bool
		status int
	}{
		{[]string{"run", name}, false, 1}, {[]string{"run", name}, true, 1},
		{[]string{"run", "--output", "stream", name}, false, 1}, {[]string{"run", "--output", "group", name}, false, 1},
		{[]string{"run", "--output", "tail", name}, false, 1},
		{[]string{"run", "--dry-run", name}, false, 0}, {[]string{"run", "b" + name}, false, 2}, {[]string{"explain", name}, false, 0},
		{[]string{"report"}, false, 0}, {[]string{"runs"}, false, 0},
		{[]string{"check", "b" + name}, false, 1}, {[]string{"check", "b" + name}, true, 1}, {[]string{"check", "--format", "github", "b" + name}, false, 1},
		{[]string{"check", "--diff", "b" + name}, false, 1}, {[]string{"fmt", "--check", "b" + name}, false, 1}, {[]string{"fmt", "--diff", "b" + name}, false, 1},
		{[]string{"check", "--fix", "b" + name}, false, 1},
		{[]string{"run", "--" + name}, false, 64}, {[]string{"run", "missing" + name}, false, 64}, {[]string{"report", name}, false, 1},
		{[]string{"explain", "--routing", name, "Test with it"}, false, 1}, {[]string{"exec", name}, false, 127}, {[]string{"init", name + "/x"}, false, 64},
	} {
		cmd := exec.Command(exe, c.args...)
		cmd.Args[0], cmd.Dir = "dialect", dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
		if c.github {
			cmd.Env = append(cmd.Env, "GITHUB_ACTIONS=true")
		}
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != c.status {
			t.Errorf("%.60q ends with %d, want %d: %s", c.args, got, c.status, out)
		}
		for line := range strings.Lines(string(out)) {
			line = strings.TrimSuffix(line, "\n")
			word := strings.TrimSpace(line)
			if strings.HasPrefix(word, "passed: 3") || strings.HasPrefix(word, "::error::x") || strings.HasPrefix(word, "next: curl") {
				t.Errorf("%.60q: the name wrote the line %q", c.args, line)
			}
			if strings.ContainsFunc(line, func(r rune) bool { return !diag.IsPrintable(r) && r != '\ufffd' }) {
				t.Errorf("%.60q: the name can drive the terminal: %q", c.args, line)
			}
		}
	}
}

package notary

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/command-dialect/dialect/runtime/workspace"
)

// TestGitIsApart runs a script in a working tree whose files go through git, which writes a trace of itself into the notary's
// folder where it can: each git that the notary's process starts itself can, and none that runs apart.
func TestGitIsApart(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	files := map[string]string{".gitattributes": "*.txt text eol=crlf\n", "a.txt": "a\r\n"}
	var trace string
	s := begin(t, work(t, files), func(c *Config) {
		trace = filepath.Join(c.Folder, "trace")
		write(t, filepath.Join(home, ".gitconfig"), "[trace2]\n\teventTarget = "+trace+"\n")
	})
	if o, err := s.run(t, checkFile); err != nil || o.ExitStatus() != 0 {
		t.Fatalf("%+v, %v", o, err)
	}
	if text, err := os.ReadFile(trace); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the notary's process ran git: %s, %v", text, err)
	}
	if _, err := workspace.Take(t.Context(), s.tree, workspace.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(trace); err != nil {
		t.Errorf("a git that is not apart leaves no trace: %v", err)
	}
}

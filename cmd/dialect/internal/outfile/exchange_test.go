//go:build unix

package outfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestExchanged has somebody exchange what was settled: nothing is removed or written elsewhere, and nothing waits for a FIFO.
func TestExchanged(t *testing.T) {
	text := []byte("is")
	for _, what := range []string{"the folder", "the file for a FIFO", "the text"} {
		dir, victim := in(t), t.TempDir()
		path, mine := filepath.Join(dir, "sub", "file"), filepath.Join(victim, "file")
		if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600), os.WriteFile(mine, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		files := []*File{{Name: path, Edits: true, Was: text}, {Name: path, Edits: true, Was: text}}
		if err := errors.Join(Settle(InUse{}, files[0]), Settle(InUse{}, files[1])); err != nil {
			t.Fatal(err)
		}
		var err error
		switch what {
		case "the folder":
			err = errors.Join(os.Rename(filepath.Dir(path), filepath.Join(dir, "away")), os.Symlink(victim, filepath.Dir(path)))
		case "the file for a FIFO":
			err = errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600))
		default:
			err = os.WriteFile(path, []byte("other"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := files[0].Remove(); err == nil {
			t.Errorf("%s: removed", what)
		}
		if err := files[1].Replace([]byte("new"), 0o600); err == nil {
			t.Errorf("%s: replaced", what)
		}
		if got, err := os.ReadFile(mine); err != nil || string(got) != string(text) {
			t.Errorf("%s: elsewhere %q, %v", what, got, err)
		}
	}
	dir := in(t)
	path := filepath.Join(dir, "file")
	f := File{Name: path, Edits: true, Was: text}
	err := errors.Join(os.WriteFile(path, text, 0o600), Settle(InUse{}, &f))
	if err = errors.Join(err, f.Remove()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("it is still there")
	}
}

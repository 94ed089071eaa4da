//go:build unix

package archive

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestExchanged has somebody exchange folders of an archive for links once they were looked at: what is written and removed is so in the archive, or nowhere.
func TestExchanged(t *testing.T) {
	mark := []byte(`{"run": "r-1", "script": "a.dlct"}`)
	for _, folder := range []string{"", "sha256", "runs", "runs/live"} {
		root, victim := t.TempDir(), t.TempDir()
		if err := Make(root); err != nil {
			t.Fatal(err)
		}
		a := Of(Store(root))
		live := filepath.Join("runs", "live")
		for _, dir := range []string{string(a), victim} {
			err := errors.Join(os.MkdirAll(filepath.Join(dir, live), 0o700), os.MkdirAll(filepath.Join(dir, "sha256"), 0o700),
				os.WriteFile(filepath.Join(dir, live, "r-1"), mark, 0o600), os.WriteFile(filepath.Join(dir, live, "r-2"), []byte("a key"), 0o600))
			if err != nil {
				t.Fatal(err)
			}
		}
		exchange := func() {
			path := filepath.Join(string(a), filepath.FromSlash(folder))
			if err := errors.Join(os.Rename(path, path+"-away"), os.Symlink(filepath.Join(victim, filepath.FromSlash(folder)), path)); err != nil {
				t.Error(err)
			}
		}
		back := func() {
			path := filepath.Join(string(a), filepath.FromSlash(folder))
			if err := errors.Join(os.Remove(path), os.Rename(path+"-away", path)); err != nil {
				t.Error(err)
			}
		}
		text := []byte("text")
		a.Keep(sha256.Sum256(text), func() []byte { exchange(); return text })
		back()
		a.killed(func(m Mark) bool {
			exchange()
			return true
		})
		for _, name := range []string{"r-1", "r-2"} {
			want := mark
			if name == "r-2" {
				want = []byte("a key")
			}
			if got, err := os.ReadFile(filepath.Join(victim, live, name)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%q: %s of the victim: %q, %v", folder, name, got, err)
			}
		}
		if left, err := os.ReadDir(filepath.Join(victim, "sha256")); err != nil || len(left) > 0 {
			t.Errorf("%q: written for the victim: %v, %v", folder, left, err)
		}
	}
}

// TestKeepForAnother has root keep something in another user's archive: nothing of root's is there then.
func TestKeepForAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root acts in folders of others")
	}
	root := t.TempDir()
	if err := Make(root); err != nil {
		t.Fatal(err)
	}
	a := Of(Store(root))
	text := []byte("text")
	keep := func() (kept bool) {
		a.Keep(sha256.Sum256(text), func() []byte { return text })
		_, err := os.Stat(filepath.Join(string(a), "sha256"))
		return err == nil
	}
	if err := os.Chown(string(a), 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if keep() {
		t.Error("root keeps it in another user's archive")
	}
	if err := os.Chown(string(a), 0, 0); err != nil || !keep() {
		t.Errorf("root does not keep it in its own: %v", err)
	}
}

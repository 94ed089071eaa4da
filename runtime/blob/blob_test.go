package blob

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestWriteOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log") // which is not there yet
	text := []byte("ok\n")
	sum := sha256.Sum256(text)
	if _, _, err := Open(dir, sum); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("before it is written: %v", err)
	}
	if err := Write(Path(dir, sum), text); err != nil {
		t.Fatal(err)
	}
	f, size, err := Open(dir, sum)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); string(got) != "ok\n" || size != 3 || err != nil {
		t.Errorf("%q, %d bytes, %v", got, size, err)
	}
	rel, err := filepath.Rel(dir, Path(dir, sum))
	if err != nil || !Is(filepath.ToSlash(rel)) {
		t.Errorf("%s is not taken for a blob, %v", rel, err)
	}
	if err := os.WriteFile(Path(dir, sum), []byte("no\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(dir, sum); !errors.Is(err, ErrChanged) {
		t.Errorf("after it was changed: %v", err)
	}
	if err := os.Remove(Path(dir, sum)); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other")
	if err := errors.Join(os.WriteFile(other, text, 0o600), os.Symlink(other, Path(dir, sum))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(dir, sum); err == nil {
		t.Error("a link in its place is followed")
	}
}

// TestPlaceFails leaves nothing behind where a file cannot get its name.
func TestPlaceFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "taken"), []byte("x")); err == nil {
		t.Error("a folder is replaced")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestIs(t *testing.T) {
	hex62 := "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd"
	for name, want := range map[string]bool{
		"sha256/00/" + hex62:            true,
		"sha256/0g/" + hex62:            false,
		"sha256/000/" + hex62[1:]:       false,
		"sha256/00/" + hex62 + "00":     false,
		"sha256/" + hex62:               false,
		"other/00/" + hex62:             false,
		"runs/sha256/00/" + hex62:       false,
		"sha256/00/../00/" + hex62:      false,
		"sha256/00/" + hex62[:61]:       false,
		"sha256/00/" + hex62[:61] + "/": false,
	} {
		if Is(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

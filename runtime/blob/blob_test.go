package blob

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log") // which is not there yet
	text := []byte("ok\n")
	sum := sha256.Sum256(text)
	if _, _, err := Open(t.Context(), dir, sum, 1<<20); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("before it is written: %v", err)
	}
	if err := Write(Path(dir, sum), text, 0o600); err != nil {
		t.Fatal(err)
	}
	f, size, err := Open(t.Context(), dir, sum, 1<<20)
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
	ended, end := context.WithCancel(t.Context())
	end()
	if _, _, err := Open(t.Context(), dir, sum, 1<<20); !errors.Is(err, ErrChanged) {
		t.Errorf("after it was changed: %v", err)
	}
	for _, ctx := range []context.Context{t.Context(), ended} {
		if err := os.Truncate(Path(dir, sum), 1<<50); err != nil { // no byte of it is on the disk
			t.Logf("no such file here: %v", err)
			break
		}
		most := int64(1 << 20)
		if ctx == ended {
			most = 1 << 60
		}
		if _, _, err := Open(ctx, dir, sum, most); err == nil || !errors.Is(err, cmp.Or(ctx.Err(), ErrChanged)) {
			t.Errorf("of a huge file: %v", err)
		}
	}
	if err := os.Remove(Path(dir, sum)); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other")
	if err := errors.Join(os.WriteFile(other, text, 0o600), os.Symlink(other, Path(dir, sum))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(t.Context(), dir, sum, 1<<20); err == nil {
		t.Error("a link in its place is followed")
	}
}

// TestPlaceFails leaves nothing behind where a file cannot get its name.
func TestPlaceFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "taken"), []byte("x"), 0o600); err == nil {
		t.Error("a folder is replaced")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// Who reads the error knows the file that was to be written, and no other.
func TestWriteFails(t *testing.T) {
	at := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(at, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "b")
	if err := os.MkdirAll(filepath.Join(folder, "c"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(at, "d"), folder} {
		var file *fs.PathError
		if err := Write(path, nil, 0o600); !errors.As(err, &file) || file.Path != path || strings.Contains(err.Error(), ".log-") {
			t.Errorf("%s: %v", path, err)
		}
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

// TestSeekTail holds the search for the last lines against splitting the text.
func TestSeekTail(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	for _, text := range []string{"", "a", "a\n", "a\nb", "a\nb\n", "\n\n\n", long + "\n" + long + "\nend\n", long} {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		for n := 1; n <= 4; n++ {
			if err := SeekTail(f, n); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(f)
			if want := strings.Join(lines[max(0, len(lines)-n):], ""); string(got) != want || err != nil {
				t.Errorf("%.20q, %d lines: %.20q of %d bytes, %v; want %d bytes", text, n, got, len(got), err, len(want))
			}
		}
	}
}

package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

func TestManifest(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.txt", "one")
	write("b\n.txt", "two")
	if err := os.Symlink("a.txt", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	s, err := Take(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseManifest(s.Manifest())
	if err != nil || m.Bytes != s.Bytes || m.Files != s.Files {
		t.Fatalf("%v, %v; want %v", m, err, s)
	}
	write("a.txt", "three")
	write("c.txt", "new")
	now, err := Take(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := Diff(m, now)
	if len(got) != 2 || got[0] != (Change{"a.txt", Changed, false}) || got[1].Path != "c.txt" || got[1].Kind != Added {
		t.Errorf("%v", got)
	}
}

func FuzzParseManifest(f *testing.F) {
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("x"), 0o755); err != nil {
		f.Fatal(err)
	}
	if s, err := Take(f.Context(), dir, Options{}); err == nil {
		f.Add(s.Manifest())
	}
	f.Add([]byte(manifestLine))
	f.Add([]byte(manifestLine + "p\x00\x00\x00\x00\x00\x00\x00\x01a"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseManifest(text)
		if err != nil {
			return
		}
		if again := s.Manifest(); string(again) != string(text) {
			t.Errorf("%q reads as %q", text, again)
		}
	})
}

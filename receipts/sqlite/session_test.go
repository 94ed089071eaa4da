package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/command-dialect/dialect/receipts/verify"
)

// reads returns how many records a question to s makes it read.
func reads(t *testing.T, s *Store) int64 {
	t.Helper()
	res, err := s.Ask(ctx, verify.Query{Outside: true, Now: at(100).Time}, "")
	if err != nil {
		t.Fatal(err)
	}
	return res.Records - res.Remembered
}

// TestSessionGoesOn asks a store with keys, for which no memory counts, more than once.
func TestSessionGoesOn(t *testing.T) {
	_, o := newKey(t, "boss")
	s := openWith(t, filepath.Join(t.TempDir(), "s.db"), o)
	fill(t, s, "r-1", 3)
	for i, want := range []int64{3, 0} {
		if n := reads(t, s); n != want {
			t.Errorf("question %d: %d records were read, want %d", i+1, n, want)
		}
	}
	fill(t, s, "r-2", 2)
	if n := reads(t, s); n != 2 {
		t.Errorf("%d records were read; 2 are new", n)
	}
}

// TestMemoryOfOne has two processes ask one store: the one that came first keeps the memory.
func TestMemoryOfOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	first, second := openAt(t, path), openAt(t, path)
	kept := func() []byte {
		t.Helper()
		text, err := os.ReadFile(path + MemorySuffix)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	fill(t, first, "r-1", 3)
	reads(t, first)
	before := kept()
	fill(t, second, "r-2", 2)
	if n := reads(t, second); n != 2 || !bytes.Equal(kept(), before) {
		t.Errorf("the second read %d records, and wrote what the first one keeps: %v", n, !bytes.Equal(kept(), before))
	}
	if reads(t, first); bytes.Equal(kept(), before) {
		t.Error("the first did not keep what it read")
	}
}

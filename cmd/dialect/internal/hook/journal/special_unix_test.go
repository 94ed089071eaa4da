//go:build unix

package journal

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestSpecialFiles puts a FIFO in the place of each file that a journal keeps: nothing waits for it.
func TestSpecialFiles(t *testing.T) {
	j := open(t)
	use := func() {
		j.Log(Entry{Rule: "x"})
		j.Entries()
		j.Wrote("codex", "1", "/x")
		j.KeepFiles([]byte("x"))
		j.Files()
		j.OffUntil(time.Now())
		if s, err := j.Session(t.Context(), "codex", "1"); err == nil {
			s.Foreign([]string{"/x"})
			s.Close()
		}
	}
	use()
	names, err := filepath.Glob(filepath.Join(j.dir, "*"))
	lock := filepath.Join(j.dir, "s-"+short("codex\x001")+".lock")
	if err != nil || len(names) < 3 {
		t.Fatal(names, err)
	}
	for _, name := range append(names, lock, filepath.Join(j.dir, "off.json")) {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
		done := make(chan bool)
		go func() { use(); close(done) }()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("it waits for %s", filepath.Base(name))
		}
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
}

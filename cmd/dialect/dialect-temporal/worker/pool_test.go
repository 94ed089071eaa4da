package worker

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/command-dialect/dialect/runtime/remote"
)

// Two runs whose scripts resolve otherwise have no checkout in common.
func TestKeys(t *testing.T) {
	specs := []remote.Spec{
		{Name: "run1", Line: 2}, {Name: "run", Line: 12},
		{Script: "a", Name: "bc"}, {Script: "ab", Name: "c"},
		{Vars: map[string]string{"a": "b c:d"}}, {Vars: map[string]string{"a": "b", "c": "d"}},
		{}, {Lines: []int{}},
	}
	seen := make(map[string]int)
	for i := range specs {
		key := keyOf(&specs[i])
		if other, ok := seen[key]; ok {
			t.Errorf("%+v and %+v have one key: %s", specs[other], specs[i], key)
		}
		seen[key] = i
	}
}

// A step that puts a FIFO in the place of a file of git has changed the history, and holds nobody.
func TestPastFIFO(t *testing.T) {
	c := &checkout{dir: t.TempDir()}
	head := filepath.Join(c.dir, ".git", "HEAD")
	if err := os.Mkdir(filepath.Dir(head), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(head, []byte("ref: refs/heads/run\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := c.past()
	if os.Remove(head) != nil || syscall.Mkfifo(head, 0o600) != nil {
		t.Fatal("no FIFO")
	}
	after := make(chan string, 1)
	go func() { after <- c.past() }()
	select {
	case past := <-after:
		if past == before {
			t.Error("it is as before")
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for who writes to it")
	}
}

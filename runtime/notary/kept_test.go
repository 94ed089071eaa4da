//go:build linux

package notary

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// smallDisk mounts a file system of a few megabytes.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=16m,mode=0700", "none", dir).CombinedOutput(); err != nil {
		t.Skipf("no small disk can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return dir
}

// fill takes all that is free on a disk, and goes on to, until free is called.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "fill")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		block := bytes.Repeat([]byte("x"), 64<<10)
		for size := len(block); ; {
			_, err := f.Write(block[:size])
			if err != nil && size > 1 {
				size /= 2
				continue
			}
			select {
			case <-stop:
				return
			default:
			}
			if err != nil {
				size = len(block)
				time.Sleep(time.Millisecond)
			}
		}
	}()
	return func() {
		close(stop)
		<-done
		if err := errors.Join(f.Close(), os.Remove(name)); err != nil {
			t.Error(err)
		}
	}
}

// redOnFull is a script whose line fails once the disk is full that the notary writes to, and of another one that passes.
const redOnFull = `[commands.test_red]
verb = "test"
noun = "red"
tool = "sh red.sh"
effect = "read"

[commands.check_file]
verb = "check"
noun = "file"
tool = "grep -q good state"
effect = "read"
`

// onSmallDisk begins a session whose notary keeps all on a small disk, and has a line fail there while that is full. What the line came to
// is on no disk then; free gives the space back.
func onSmallDisk(t *testing.T) (s *session, o *engine.Outcome, free func()) {
	disk := smallDisk(t)
	s = begin(t, work(t, map[string]string{"routing.toml": redOnFull, "red.sh": "echo up; until [ \"$(stat -f -c %a .)\" = 0 ]; do sleep 0.01; done; exit 1\n"}), func(c *Config) {
		c.Folder = filepath.Join(disk, "folder")
	})
	p, spec := bound(t, s.tree, "Test with red\nGate against results\n")
	spec.Output = true
	r, err := s.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for e := range told(t, r, p) {
		if _, ok := e.(attempt.Output); ok && free == nil {
			free = fill(t, disk)
		}
	}
	if o = r.Outcome(); free == nil || o.Degraded == "" || o.Results[0].Verdict != schedule.Failed {
		t.Fatalf("%+v", o)
	}
	return s, o, free
}

// A line failed while nothing could be recorded. Nothing runs before that is made up for, nor is there a proof; then the receipt is in it.
func TestFullDiskIsMadeUpFor(t *testing.T) {
	s, red, free := onSmallDisk(t)
	if _, err := s.run(t, checkFile); err == nil || !strings.Contains(err.Error(), "could not be recorded") {
		t.Errorf("another run: %v", err)
	}
	if err := s.Client.Bundle(t.Context(), new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "could not be recorded") {
		t.Errorf("a bundle: %v", err)
	}
	if err := s.Client.Store(t.Context(), new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "could not be recorded") {
		t.Errorf("a copy of the store: %v", err)
	}
	if status, err := s.Client.Status(t.Context()); err != nil || status.Lost == "" || !strings.Contains(status.Runs[0].Why, "recorded") {
		t.Errorf("%v %+v", err, status)
	}
	free()
	green, err := s.run(t, checkFile)
	if err != nil || green.ExitStatus() != 0 {
		t.Fatalf("%v %+v", err, green)
	}
	if status, err := s.Client.Status(t.Context()); err != nil || status.Lost != "" {
		t.Errorf("%v %q", err, status.Lost)
	}
	failed := 0
	for _, rec := range s.proof(t).Records {
		if rec.Kind == receipts.KindReceipt && strings.Contains(rec.Body, red.Run) && strings.Contains(rec.Body, `"failed"`) {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("the proof has %d receipts of the line that failed", failed)
	}
}

// A session that ends while nothing can be recorded says so, and has no closing record: its proof was cut.
func TestFullDiskCutsTheProof(t *testing.T) {
	s, _, free := onSmallDisk(t)
	status, err := s.Notary.Close(context.Background())
	if err == nil || status.Lost == "" || !strings.Contains(err.Error(), "could not be recorded") {
		t.Errorf("%v %+v", err, status)
	}
	free()
	var text bytes.Buffer
	if err := s.Notary.Bundle(t.Context(), &text); err == nil {
		t.Error("a bundle of the session, as if all were in it")
	}
}

// Where it cannot be recorded that a run began, no line of it runs.
func TestFullDiskRunsNothing(t *testing.T) {
	disk := smallDisk(t)
	s := begin(t, work(t, nil), func(c *Config) { c.Folder = filepath.Join(disk, "folder") })
	free := fill(t, disk)
	for range 20 { // the files of the store may have room for some
		o, err := s.run(t, checkFile)
		switch {
		case err != nil: // refused, as of then
			free()
			return
		case o.Degraded != "" && o.Results[0].Process != nil: // there was room for the beginning, and none for the receipt
			free()
			if _, err := s.run(t, checkFile); err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(s.proof(t).Records, func(rec receipts.BundleRecord) bool {
				return rec.Kind == receipts.KindRun && strings.Contains(rec.Body, o.Run)
			}) {
				t.Errorf("a line ran (%s), and not even that it began is recorded: %s", o.Results[0].Verdict, o.Degraded)
			}
			return
		}
	}
	free()
	t.Error("20 runs on a full disk")
}

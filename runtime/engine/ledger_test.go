package engine_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// A slowDisk is a store whose commits take until they are let go, and whose disk has
// room for so many records. What was committed is in the store below it, and nothing else.
type slowDisk struct {
	*sqlite.Store
	room  int64
	begun chan struct{} // a commit is under way
	let   chan struct{} // closed when commits may end

	mu        sync.Mutex
	submitted []receipts.Record
	durable   int64
}

func newSlowDisk(t *testing.T, room int64) *slowDisk {
	return &slowDisk{Store: open(t, t.TempDir()), room: room, begun: make(chan struct{}, 100), let: make(chan struct{})}
}

func (d *slowDisk) Submit(r receipts.Record) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.submitted = append(d.submitted, r)
	return int64(len(d.submitted))
}

// Durable commits what was submitted when it was called.
func (d *slowDisk) Durable(ctx context.Context, ticket int64) error {
	d.mu.Lock()
	batch := min(int64(len(d.submitted)), d.room)
	d.mu.Unlock()
	d.begun <- struct{}{}
	<-d.let
	d.mu.Lock()
	defer d.mu.Unlock()
	if batch > d.durable {
		if err := d.Store.Append(ctx, d.submitted[d.durable:batch]...); err != nil {
			return err
		}
		d.durable = batch
	}
	if ticket > d.durable {
		return errFull
	}
	return nil
}

// What is submitted while a commit is under way is not in that commit: it is not
// acknowledged with it, a line that writes does not take it for kept, and the report
// marks it, and no other, once it turns out that it cannot be kept.
func TestSubmittedDuringCommit(t *testing.T) {
	b := newBuilder(t)
	d := newSlowDisk(t, 1)
	started, begun := filepath.Join(b.dir, "started"), filepath.Join(b.dir, "begun")
	// The first line is on its way to the disk, for the sake of the first member that
	// writes, when that member's sibling ends: the sibling's receipt is not on that way.
	// The second member that writes gets the slot of the sibling, and comes after the
	// commit.
	p := b.plan(b.sh("first", "exit 0"), group(true,
		b.sh("write", "exit 0"),
		b.sh("sibling", "until test -e "+begun+"; do sleep 0.01; done"),
		b.sh("write late", "touch "+started),
	))
	go func() {
		<-d.begun
		if err := os.WriteFile(begun, nil, 0o600); err != nil {
			t.Error(err)
		}
	}()
	var once sync.Once
	o := run(t, p, engine.Options{Options: attempt.Options{Store: d, Jobs: 2, DeferGate: true, Listen: func(e engine.Event) {
		if e, ok := e.(engine.StepFinished); ok && e.Result.Step.ID == "2.2" {
			once.Do(func() { close(d.let) })
			time.Sleep(200 * time.Millisecond) // the slot is not free yet; the commit ends
		}
	}}})
	if _, err := os.Stat(started); err == nil {
		t.Error("a line that writes ran without evidence of what was before it")
	}
	if o.Degraded == "" || o.Gate.Verdict != attempt.GateRefusal || o.ExitStatus() != 3 {
		t.Errorf("degraded %q, gate %s, exit status %d", o.Degraded, o.Gate.Verdict, o.ExitStatus())
	}
	kept, lost := 0, 0
	engine.Leaves(o.Results, func(r *engine.Result) {
		if r.Receipt.IsZero() {
			return
		}
		_, err := d.Get(context.Background(), r.Receipt.String())
		if there := err == nil; there == r.Degraded {
			t.Errorf("step %s: degraded %v, and in the store: %v", r.Step.ID, r.Degraded, there)
		}
		if r.Degraded {
			lost++
		} else {
			kept++
		}
	})
	if kept != 1 || lost < 1 {
		t.Errorf("%d receipts were kept and %d lost: %s", kept, lost, verdicts(o.Results))
	}
}

// A line that writes starts when what was before it is durable, and not earlier.
func TestWriterWaits(t *testing.T) {
	b := newBuilder(t)
	d := newSlowDisk(t, 100)
	started := filepath.Join(b.dir, "started")
	early := make(chan bool, 1)
	go func() {
		<-d.begun
		time.Sleep(200 * time.Millisecond)
		_, err := os.Stat(started)
		early <- err == nil
		close(d.let)
	}()
	o := run(t, b.plan(b.sh("a", "exit 0"), b.sh("write", "touch "+started)), engine.Options{Options: attempt.Options{Store: d, DeferGate: true}})
	if <-early {
		t.Error("the line ran before the receipt above it was durable")
	}
	if o.Degraded != "" || fmt.Sprint(verdicts(o.Results)) != "passed passed" {
		t.Errorf("%s, degraded %q", verdicts(o.Results), o.Degraded)
	}
}

// On a disk that runs full on the way, each result says whether its receipt is there.
func TestDiskRunsFull(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "none", dir).CombinedOutput(); err != nil {
		t.Skipf("no small disk can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	store, err := sqlite.Open(context.Background(), filepath.Join(dir, "receipts.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := newBuilder(t)
	var steps []*plan.Step
	for i := range 100 {
		name := "a"
		if i%10 == 9 {
			name = "write"
		}
		steps = append(steps, b.sh(name, "exit 0 # "+strings.Repeat("x", 20_000)))
	}
	o := run(t, b.plan(steps...), engine.Options{Options: attempt.Options{Store: store, DeferGate: true}})
	if err := store.Close(); err == nil {
		t.Error("the store closes as if it had kept all")
	}
	if o.Degraded == "" || o.Gate.Verdict != attempt.GateRefusal || o.ExitStatus() != 3 {
		t.Errorf("degraded %q, gate %s, exit status %d", o.Degraded, o.Gate.Verdict, o.ExitStatus())
	}
	again, err := sqlite.Open(context.Background(), filepath.Join(dir, "receipts.db"), sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	kept, lost, skipped := 0, 0, 0
	for _, r := range o.Results {
		if r.Reason == schedule.NoStore {
			skipped++
			continue
		}
		_, err := again.Get(context.Background(), r.Receipt.String())
		if there := err == nil; there == r.Degraded {
			t.Errorf("step %s: degraded %v, and found with %v", r.Step.ID, r.Degraded, err)
		}
		if r.Degraded {
			lost++
		} else {
			kept++
		}
	}
	if kept == 0 || lost == 0 || skipped == 0 {
		t.Errorf("%d receipts kept, %d lost, %d lines that write not run", kept, lost, skipped)
	}
	if a, err := again.Audit(context.Background()); err != nil || !a.Consistent() {
		t.Errorf("%v: %+v", err, a)
	}
}

package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
)

// A receipt is named once it is in the store: never before, soon after, and never if it is
// lost. The steps before it do not wait.
func TestReceiptsAreNamedOnceDurable(t *testing.T) {
	b := newBuilder(t)
	d := newSlowDisk(t, 2)
	var mu sync.Mutex
	named := make(map[receipts.Hash]bool)
	finished, last := 0, false
	o := run(t, b.plan(b.sh("a", "exit 0"), b.sh("b", "exit 0"), b.sh("c", "exit 0")), engine.Options{Options: attempt.Options{Store: d, DeferGate: true, Listen: func(e engine.Event) {
		mu.Lock()
		defer mu.Unlock()
		switch e := e.(type) {
		case engine.StepFinished:
			if len(named) > 0 {
				t.Error("a receipt is named while the disk holds it back")
			}
			if finished++; finished == 3 {
				time.AfterFunc(100*time.Millisecond, func() { close(d.let) })
			}
		case attempt.Durable:
			if _, err := d.Get(context.Background(), e.Receipt.String()); err != nil {
				t.Errorf("step %s: %v", e.Step.ID, err)
			}
			if e.Attempt != 1 || named[e.Receipt] || last {
				t.Errorf("%+v, named before %v, after the end %v", e, named[e.Receipt], last)
			}
			named[e.Receipt] = true
		case engine.RunFinished:
			last = true
		}
	}}})
	if finished != 3 || len(named) != 2 {
		t.Errorf("%d steps finished, %d receipts named", finished, len(named))
	}
	for i, r := range o.Results {
		if named[r.Receipt] != (i < 2) || r.Degraded != (i == 2) {
			t.Errorf("step %s: named %v, degraded %v", r.Step.ID, named[r.Receipt], r.Degraded)
		}
	}
}

// A name does not wait for the end of the run, and each attempt has one.
func TestReceiptsAreNamedSoon(t *testing.T) {
	b := newBuilder(t)
	again := b.sh("again", "test -e there && exit 0; touch there; exit 1")
	again.Budget.Retries = 1
	var at []string
	// The second step ends once both are named.
	run(t, b.plan(again, b.sh("slow", until("named"))), engine.Options{Options: attempt.Options{Store: open(t, t.TempDir()), Listen: func(e engine.Event) {
		switch e := e.(type) {
		case attempt.Durable:
			if at = append(at, e.Step.ID+"/"+string(rune('0'+e.Attempt))); len(at) == 2 {
				if err := os.WriteFile(filepath.Join(b.dir, "named"), nil, 0o600); err != nil {
					t.Error(err)
				}
			}
		case engine.StepFinished:
			if e.Result.Step.ID == "2" {
				at = append(at, "finished 2")
			}
		}
	}}})
	if len(at) != 4 || at[0] != "1/1" || at[1] != "1/2" || at[2] != "finished 2" && at[3] != "finished 2" {
		t.Error(at)
	}
}

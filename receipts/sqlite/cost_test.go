package sqlite

import (
	"context"
	"errors"
	"runtime/metrics"
	"testing"

	"github.com/command-dialect/dialect/receipts/verify"
)

// goroutines returns how many goroutines f starts.
func goroutines(f func()) uint64 {
	sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	f()
	metrics.Read(sample)
	return sample[0].Value.Uint64() - before
}

// A gate costs no goroutine for each of its statements, of which it has dozens: a call that can be cancelled
// starts hardly more than one that cannot.
func TestGateStartsNoGoroutines(t *testing.T) {
	s := tempStore(t)
	hs := fill(t, s, "r-1", 5)
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	n := goroutines(func() {
		if d, err := s.Gate(bounded, request("r-1", hs)); err != nil || !d.Passed() {
			t.Errorf("%+v, %v", d, err)
		}
	})
	if n > 10 {
		t.Errorf("a gate over 5 receipts started %d goroutines", n)
	}
	if n = goroutines(func() { reads(t, s) }); n > 10 {
		t.Errorf("a question started %d goroutines", n)
	}
}

// Reading ends between two records where the context of the caller does.
func TestReadingEnds(t *testing.T) {
	s := tempStore(t)
	fill(t, s, "r-1", 5)
	bounded, cancel := context.WithCancel(ctx)
	read := 0
	err := s.snapshot(ctx, func() error {
		return sqlLog{s}.Records(bounded, 0, func(verify.Raw) bool {
			read++
			cancel()
			return true
		})
	})
	if !errors.Is(err, context.Canceled) || read != 1 {
		t.Errorf("%d records were read, and then: %v", read, err)
	}
}

// A gate that its caller has given up meanwhile is not committed.
func TestGateGivenUp(t *testing.T) {
	s := tempStore(t)
	hs := fill(t, s, "r-1", 2)
	bounded, cancel := context.WithCancel(ctx)
	s.between = func(step string) {
		if step == "authenticated" {
			cancel()
		}
	}
	if d, err := s.Gate(bounded, request("r-1", hs)); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", d, err)
	}
	wantConsistent(t, s, 2)
}

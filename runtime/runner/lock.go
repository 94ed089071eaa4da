package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
)

// A step with exclusive = "name" holds the lock of that name while it and its members
// run, against the other steps of the run and against other processes: a lock is an
// advisory lock of the system on a file below Options.LockDir, which ends with the
// process that holds it. It is taken before a slot is, so that nothing that could run
// waits for a step that cannot. What a step holds its members hold too, and the runs
// that they start: LocksVariable tells them.

// LocksVariable names the variable by which a command knows the locks that its run holds
// for it, separated by commas.
const LocksVariable = "DIALECT_LOCKS"

const (
	// lockPatience is how long a lock is waited for by a step without a timeout.
	lockPatience = 10 * time.Minute
	// lockPause is the time between two tries, at most; the system has no call that
	// waits and can be called off.
	lockPause = 50 * time.Millisecond
)

// lock takes the lock that s asks for, unless a composite above it has it. A nil
// release with a nil error says that there was nothing to take.
func (r *run) lock(ctx context.Context, s *plan.Step, in scope) (release func(), waited time.Duration, err error) {
	if s.Exclusive == "" || slices.Contains(in.held, s.Exclusive) {
		return nil, 0, nil
	}
	if r.opt.LockDir == "" {
		return nil, 0, errors.New("there is no directory for locks")
	}
	// A link in the place of the directory, or of the one that it is in, leads elsewhere.
	for _, dir := range []string{filepath.Dir(r.opt.LockDir), r.opt.LockDir} {
		if err := regular.Folder(dir); err != nil {
			return nil, 0, err
		}
	}
	if err := os.MkdirAll(r.opt.LockDir, 0o700); err != nil {
		return nil, 0, err
	}
	l := flock.New(filepath.Join(r.opt.LockDir, s.Exclusive), flock.SetFlag(os.O_CREATE|os.O_RDWR|openFlags), flock.SetPermissions(0o600))
	patience := lockPatience
	if s.Budget.Timeout > 0 {
		patience = s.Budget.Timeout
	}
	began := time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, lockPause) {
		ok, err := l.TryLock()
		if ok {
			return func() { _ = l.Unlock() }, waited, nil
		}
		if err != nil {
			return nil, waited, err
		}
		if waited == 0 {
			r.emit(StepWaiting{Step: s, Lock: s.Exclusive, At: r.opt.Now()})
		}
		waited = max(time.Since(began), 1)
		if in.always != nil && r.ctx.Err() != nil {
			// The run is over: what cleans up does not wait for long, nor against a second signal.
			patience = min(patience, finallyGrace)
		}
		if waited > patience || r.opt.Control.ended() {
			return nil, waited, fmt.Errorf("it is still held by another after %v", waited.Round(time.Millisecond))
		}
		select {
		case <-ctx.Done():
			return nil, waited, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// heldBy is held with the lock of s.
func heldBy(s *plan.Step, held []string) []string {
	if s.Exclusive == "" || slices.Contains(held, s.Exclusive) {
		return held
	}
	return append(slices.Clone(held), s.Exclusive)
}

// ParseLocks reads the value of [LocksVariable].
func ParseLocks(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
}

// refuse ends s and its members without a start.
func (r *run) refuse(s *plan.Step, in scope, why error, waited time.Duration) *Result {
	res := &Result{Step: s, Waited: waited, grouped: in.grouped}
	if s.Kind == plan.Composite {
		for _, m := range s.Members {
			res.Members = append(res.Members, r.refuse(m, in, why, 0))
		}
		sumUp(res)
	} else if !r.givenUp(res) {
		res.Verdict, res.Reason, res.Detail = Fault, Locked, fmt.Sprintf("the lock %q cannot be had: %v", lockOf(s, r.plan), why)
		r.record(res, func() *receipts.Receipt { return r.receipt(res) })
	}
	r.finish(res)
	return res
}

// lockOf names the lock that s was waiting for: its own, or that of a composite above it.
func lockOf(s *plan.Step, p *plan.Plan) (name string) {
	plan.Walk(p.Steps, func(above *plan.Step) {
		if above.Exclusive != "" && (above.ID == s.ID || strings.HasPrefix(s.ID, above.ID+".")) {
			name = above.Exclusive
		}
	})
	return name
}

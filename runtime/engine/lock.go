package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// A step with exclusive = "name" holds the lock of that name while it and its members
// run, against the other steps of the run and against other processes: a lock is an
// advisory lock of the system on a file below Options.LockDir, which ends with the
// process that holds it.

const (
	// lockPatience is how long a lock is waited for by a step without a timeout.
	lockPatience = 10 * time.Minute
	// lockPause is the time between two tries, at most; the system has no call that
	// waits and can be called off.
	lockPause = 50 * time.Millisecond
)

// patience is how long a step waits for its lock, at most.
func patience(s *plan.Step) time.Duration {
	if s.Budget.Timeout > 0 {
		return s.Budget.Timeout
	}
	return lockPatience
}

// lock takes the lock that an action asks for.
func (r *run) lock(ctx context.Context, a schedule.Action) (release func(), waited time.Duration, err error) {
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
	s := r.nodes[a.ID].Step
	l := flock.New(filepath.Join(r.opt.LockDir, a.Lock), flock.SetFlag(os.O_CREATE|os.O_RDWR|regular.OwnFlags), flock.SetPermissions(0o600))
	patience := patience(s)
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
			r.emit(StepWaiting{Step: s, Lock: a.Lock, At: r.opt.Now()})
		}
		waited = max(time.Since(began), 1)
		if a.Always != "" && r.ctx.Err() != nil {
			// The run is over: what cleans up does not wait for long, nor against a second signal.
			patience = min(patience, r.opt.grace)
		}
		if waited > patience || r.killed.Err() != nil {
			return nil, waited, fmt.Errorf("it is still held by another after %v", waited.Round(time.Millisecond))
		}
		select {
		case <-ctx.Done():
			return nil, waited, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

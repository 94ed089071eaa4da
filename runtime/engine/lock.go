package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// A step with exclusive = "name" holds the lock of that name while it and its members
// run, against the other steps of the run and against other processes: a lock is an
// advisory lock of the system on a file below Options.LockDir, which ends with the
// process that holds it. The file says who that is, for those who wait: it is what a
// process of the same user wrote, and decides nothing.
//
// A command that holds a lock may start a run that waits for another, whose holder waits
// for the first. Neither sees that of the other, so such a wait is bounded.

const (
	// lockPatience is how long a lock is waited for by a step without a timeout.
	lockPatience = 10 * time.Minute
	// lockPause is the time between two tries, at most; the system has no call that
	// waits and can be called off.
	lockPause = 50 * time.Millisecond
	// innerPatience is how long a run waits for a lock, at most, where another is held for it by
	// the step that started it.
	innerPatience = 2 * time.Minute
	// maxHolder bounds what is read of who holds a lock, in bytes.
	maxHolder = 500
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
	name := filepath.Join(r.opt.LockDir, a.Lock)
	l := flock.New(name, flock.SetFlag(os.O_CREATE|os.O_RDWR|regular.OwnFlags), flock.SetPermissions(0o600))
	patience := patience(s)
	if len(r.opt.Locks) > 0 {
		patience = min(patience, r.opt.inner)
	}
	began := time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, lockPause) {
		ok, err := l.TryLock()
		if ok {
			say(name, fmt.Sprintf("%s:%d of %s", s.Line.File, s.Line.Number, r.opt.Run))
			return func() { say(name, ""); _ = l.Unlock() }, waited, nil
		}
		if err != nil {
			return nil, waited, err
		}
		if waited == 0 {
			r.emit(StepWaiting{Step: s, Lock: a.Lock, Holder: holder(name), At: r.opt.Now()})
		}
		waited = max(time.Since(began), 1)
		if a.Always != "" && r.ctx.Err() != nil {
			// The run is over: what cleans up does not wait for long, nor against a second signal.
			patience = min(patience, r.opt.grace)
		}
		if waited > patience || r.killed.Err() != nil {
			text := fmt.Sprintf("%s still holds it after %v", cmp.Or(holder(name), "another"), waited.Round(time.Millisecond))
			if len(r.opt.Locks) > 0 {
				text += fmt.Sprintf("; the line that started this run holds %s, which the other may wait for: let one lock stand for all of these", quoted(r.opt.Locks))
			}
			return nil, waited, errors.New(text)
		}
		select {
		case <-ctx.Done():
			return nil, waited, &interruptedError{holder(name), context.Cause(ctx)}
		case <-time.After(pause):
		}
	}
}

// An interruptedError is the end of a wait that the run did not live to see the end of.
type interruptedError struct {
	holder string
	err    error
}

func (e *interruptedError) Error() string { return e.err.Error() }
func (e *interruptedError) Unwrap() error { return e.err }

// say writes into the file of a lock who holds it. Where that cannot be written, those who wait know less.
func say(name, holder string) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC|regular.OwnFlags, 0)
	if err != nil {
		return
	}
	_, _ = f.WriteString(holder)
	_ = f.Close()
}

// holder returns what the file of a lock says of who holds it; empty where that is not known.
func holder(name string) string {
	text, err := regular.ReadOwn(name, maxHolder)
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(text), "")
}

func quoted(names []string) string {
	var list []string
	for _, n := range names {
		list = append(list, strconv.Quote(n))
	}
	return strings.Join(list, ", ")
}

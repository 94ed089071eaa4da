// Package interrupt turns the signals of this process into what they mean for a run: the
// first that ends it ends it gently, within the grace of its processes; the second kills
// them at once; the third does not wait for anything. A stop stops its processes too.
package interrupt

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/view"
)

// A Catcher catches the signals of this process.
type Catcher struct {
	// Context ends with the first signal that ends a run, a [engine.Signal] as its cause.
	Context    context.Context
	JobControl *engine.JobControl // of the run
	// Hide takes a drawing away from the terminal; nil for none.
	Hide atomic.Pointer[func()]

	cancel context.CancelCauseFunc
	ch     chan os.Signal
	asked  requests
}

// Catch begins to catch signals, until Stop is called.
func Catch() *Catcher {
	i := &Catcher{JobControl: new(engine.JobControl), ch: make(chan os.Signal, 8)}
	i.Context, i.cancel = context.WithCancelCause(context.Background())
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		list = append(list, syscall.SIGHUP)
	}
	signal.Notify(i.ch, append(list, moreSignals()...)...)
	go i.loop()
	return i
}

// echo is how long after the first signal the same one again is the same request: timeout(1) sends one to
// its child, and then one to the whole group.
const echo = 200 * time.Millisecond

// Requests are the signals that have asked a run to end.
type requests struct {
	n     int
	first os.Signal
	at    time.Time // of the first
}

// add counts the signal sig, which came at a time, and returns which request it is, 1-based; 0 for an echo of the first.
func (r *requests) add(sig os.Signal, at time.Time) int {
	if r.n == 1 && sig == r.first && at.Sub(r.at) < echo {
		return 0
	}
	if r.n++; r.n == 1 {
		r.first, r.at = sig, at
	}
	return r.n
}

func (i *Catcher) loop() {
	for sig := range i.ch {
		if isStop(sig) {
			i.suspend()
			continue
		}
		if isHarmless(sig) {
			continue
		}
		name := "SIGINT"
		switch sig {
		case syscall.SIGTERM:
			name = "SIGTERM"
		case syscall.SIGHUP:
			name = "SIGHUP"
		}
		switch i.asked.add(sig, time.Now()) {
		case 0:
		case 1:
			i.cancel(engine.Signal{Name: name})
		case 2:
			i.JobControl.Kill()
		default:
			i.drawnAway()
			os.Exit(process.SignalStatus(name))
		}
	}
}

func (i *Catcher) drawnAway() {
	if hide := i.Hide.Load(); hide != nil {
		(*hide)()
	}
}

// Stop ends the catching.
func (i *Catcher) Stop() {
	signal.Stop(i.ch)
	close(i.ch)
	i.cancel(nil)
}

// Cancel ends the run as the signal would.
func (i *Catcher) Cancel(s engine.Signal) { i.cancel(s) }

// Status is the exit status of a command whose context a signal has ended.
func Status(ctx context.Context) int {
	sig, _ := context.Cause(ctx).(engine.Signal)
	return process.SignalStatus(cmp.Or(sig.Name, "SIGINT"))
}

// Bound ends this process with status if a signal has ended the run, or ends it now, and what
// is left to print does not get read. before is called then.
func (i *Catcher) Bound(status int, before func()) {
	context.AfterFunc(i.Context, func() {
		s, ok := context.Cause(i.Context).(engine.Signal)
		if !ok {
			return
		}
		if status == 0 {
			status = process.SignalStatus(s.Name)
		}
		time.AfterFunc(view.Patience, func() {
			before()
			os.Exit(status)
		})
	})
}

// Context returns a context that the signals that end a run cancel, with the signal as
// its cause.
func Context() (ctx context.Context, stop func()) {
	i := Catch()
	return i.Context, i.Stop
}

// Reader returns a reader of in, such as standard input, that ctx ends: a read that nobody answers holds no command that
// was interrupted. Its error then is the exit status, which the command is to return as it is.
func Reader(ctx context.Context, in io.Reader) io.Reader { return &reader{ctx: ctx, in: in} }

type reader struct {
	ctx context.Context
	in  io.Reader
}

type chunk struct {
	text []byte
	err  error
}

func (r *reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, exit.Status(Status(r.ctx))
	}
	got := make(chan chunk, 1)
	text := make([]byte, len(p)) // p is the caller's again once this returns
	go func() {
		n, err := r.in.Read(text)
		got <- chunk{text[:n], err}
	}()
	select {
	case c := <-got:
		return copy(p, c.text), c.err
	case <-r.ctx.Done():
		return 0, exit.Status(Status(r.ctx))
	}
}

// Await returns what f returns, which works on a store. After an interruption it waits no longer
// than a grace: SQLite waits for other writers whatever the context says.
func Await(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return Ended(ctx, err)
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return Ended(ctx, err)
	case <-time.After(storeGrace):
		return exit.Failf(Status(ctx), "interrupted while the store was busy")
	}
}

// Ended returns err, or the exit status of an interruption where that is what err is of.
func Ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return exit.Status(Status(ctx))
	}
	return err
}

// storeGrace is how long a command that was interrupted waits for the store.
const storeGrace = 2 * time.Second

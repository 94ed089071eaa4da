package cli

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/command-dialect/dialect/runtime/runner"
	"github.com/command-dialect/dialect/runtime/view"
)

// An interrupts turns the signals of this process into what they mean for a run: the
// first that ends it ends it gently, within the grace of its processes; the second kills
// them at once; the third does not wait for anything. A stop stops its processes too.
type interrupts struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	control *runner.Control
	hide    atomic.Pointer[func()] // what takes a drawing away; nil for none
	ch      chan os.Signal
}

// catchSignals begins to catch signals, until stop is called.
func catchSignals() *interrupts {
	i := &interrupts{control: new(runner.Control), ch: make(chan os.Signal, 8)}
	i.ctx, i.cancel = context.WithCancelCause(context.Background())
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		list = append(list, syscall.SIGHUP)
	}
	signal.Notify(i.ch, append(list, moreSignals()...)...)
	go i.loop()
	return i
}

func (i *interrupts) loop() {
	ends := 0
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
		switch ends++; ends {
		case 1:
			i.cancel(runner.Signal{Name: name})
		case 2:
			i.control.Kill()
		default:
			i.drawnAway()
			os.Exit(signalStatus(name))
		}
	}
}

func (i *interrupts) drawnAway() {
	if hide := i.hide.Load(); hide != nil {
		(*hide)()
	}
}

func (i *interrupts) stop() {
	signal.Stop(i.ch)
	close(i.ch)
	i.cancel(nil)
}

// interruptStatus is the exit status of a command whose context a signal has ended.
func interruptStatus(ctx context.Context) int {
	sig, _ := context.Cause(ctx).(runner.Signal)
	return signalStatus(sig.Name)
}

// bound ends this process with status if a signal has ended the run, or ends it now, and what
// is left to print does not get read. before is called then.
func (i *interrupts) bound(status int, before func()) {
	context.AfterFunc(i.ctx, func() {
		s, ok := context.Cause(i.ctx).(runner.Signal)
		if !ok {
			return
		}
		if status == 0 {
			status = signalStatus(s.Name)
		}
		time.AfterFunc(view.Patience, func() {
			before()
			os.Exit(status)
		})
	})
}

func signalStatus(name string) int {
	switch name {
	case "SIGTERM":
		return 143
	case "SIGHUP":
		return 129
	}
	return 130
}

// signals returns a context that the signals that end a run cancel, with the signal as
// its cause.
func signals() (ctx context.Context, stop func()) {
	i := catchSignals()
	return i.ctx, i.stop
}

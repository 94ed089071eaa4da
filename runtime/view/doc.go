// Package view shows a run while it happens. What comes in are the events of a run; what
// goes out is text on one stream, for people: a region at the end of a terminal that is
// drawn anew, or lines as they come. It keeps nothing, decides nothing, and what tools
// print cannot drive the terminal through it.
package view

import (
	"io"
	"sync"
	"time"

	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/report"
)

// A Mode is how a run is shown.
type Mode string

// The modes.
const (
	Live   Mode = "live"   // what runs now, drawn anew as it changes; for a terminal
	Group  Mode = "group"  // the output of each step in one piece, when it has ended
	Stream Mode = "stream" // each line of output as it comes, after the name of its step
	Tail   Mode = "tail"   // how each step ended, and the last lines of its output
	Beat   Mode = "beat"   // every half minute that it is alive, and what runs
	None   Mode = "none"   // nothing
)

// A View is a listener of a run.
type View interface {
	Listen(engine.Event)
	// Print writes a message of the program itself, between two drawings.
	Print(text string)
	// Hide takes what is drawn away, until the next event or tick.
	Hide()
	// Close takes what is drawn away for good.
	Close()
}

// Options say how to show a run.
type Options struct {
	Out    io.Writer // must not block: see [Queue]
	Color  bool
	Redact *redact.Redactor
	// Size returns the columns and rows of the terminal; nil, or an answer that is not
	// positive, means 80 and 24.
	Size func() (columns, rows int)
	// Busy, if set, reports whether what was written is still under way: then nothing is
	// drawn anew.
	Busy func() bool

	// every is the time between two drawings, or two progress lines; 0 means 100 ms for a
	// live view and 30 s otherwise. A test sets it.
	every time.Duration
}

// plain makes text of others fit for one line, without the secrets that it has before or after.
func (o Options) plain(text string) string { return o.Redact.Text(report.Plain(o.Redact.Text(text))) }

// New returns a view that shows a run in mode m.
func New(m Mode, o Options) View {
	if m == Live {
		return newLive(o)
	}
	return newLines(m, o)
}

// ticks calls a function again and again, until stop.
type ticks struct {
	quit chan struct{}
	idle sync.WaitGroup
}

func (t *ticks) start(every time.Duration, f func()) {
	t.quit = make(chan struct{})
	t.idle.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				f()
			case <-t.quit:
				return
			}
		}
	})
}

// stop returns when no call is under way any more. It may be called once.
func (t *ticks) stop() {
	if t.quit != nil {
		close(t.quit)
	}
	t.idle.Wait()
}

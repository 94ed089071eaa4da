package voice

import (
	"context"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/command-dialect/dialect/runtime/environ"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/view"
)

// A Watch shows a run on standard error while it lasts.
type Watch struct {
	view.View
	Mode view.Mode

	voice *Voice
	queue *view.Queue
}

// Watch begins to show a run on standard error. By itself it is live on a terminal, plain
// lines on one that can do no more, and off a terminal a progress line now and then.
func (v *Voice) Watch(output string, json bool, secret *redact.Redactor) *Watch {
	w := &Watch{Mode: v.mode(output, json), voice: v, queue: view.NewQueue(view.QueueOptions{Patience: view.Patience})}
	w.View = view.New(w.Mode, view.Options{Out: w.queue.To(v.Err), Busy: w.queue.Busy, Color: Color(v.ErrTTY), Redact: secret, Size: terminalSize})
	v.mu.Lock()
	defer v.mu.Unlock()
	v.view = w.View
	return w
}

// mode is how a run is shown for --output.
func (v *Voice) mode(output string, json bool) view.Mode {
	dumb := os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == "" || InCI()
	switch {
	case output == "live" && (!v.ErrTTY || dumb):
		v.Notef("--output live needs a terminal on standard error: tail instead")
		return view.Tail
	case output != "auto":
		return view.Mode(output)
	case !v.ErrTTY || !v.OutTTY || json:
		return view.Beat
	case dumb:
		return view.Tail
	}
	return view.Live
}

// Streams reports whether what commands write is shown as it comes.
func (w *Watch) Streams() bool { return w.Mode == view.Live || w.Mode == view.Stream }

// hideGrace is how long a terminal may take to have a drawing taken away.
const hideGrace = 300 * time.Millisecond

// Hide takes what is drawn away, until the next event or tick. A terminal that does not read is not waited for.
func (w *Watch) Hide() {
	w.View.Hide()
	ctx, cancel := context.WithTimeout(context.Background(), hideGrace)
	defer cancel()
	w.queue.Wait(ctx)
}

// Hold returns what a run waits for before it goes on, nil for nothing: see [view.Queue.Hold].
func (w *Watch) Hold() <-chan struct{} { return w.queue.Hold() }

// Close ends the show. From then on messages go to standard error themselves.
func (w *Watch) Close() {
	w.View.Close()
	w.queue.Flush(context.Background())
	w.voice.mu.Lock()
	defer w.voice.mu.Unlock()
	w.voice.view = nil
}

func terminalSize() (columns, rows int) {
	columns, rows, _ = term.GetSize(int(os.Stderr.Fd()))
	return columns, rows
}

// InCI reports whether dialect runs under continuous integration, and not for an agent that has its environment.
func InCI() bool {
	return environ.InCI() && os.Getenv(report.AgentVariable) == ""
}

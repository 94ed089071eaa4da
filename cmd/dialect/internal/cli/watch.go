package cli

import (
	"context"
	"os"

	"golang.org/x/term"

	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/view"
)

// watch begins to show a run on standard error. By itself it is live on a terminal, plain
// lines on one that can do no more, and off a terminal a progress line now and then.
func (u *ui) watch(output string, json bool, secret *redact.Redactor) (view.View, view.Mode) {
	dumb := os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == "" || inCI()
	mode := view.Mode(output)
	switch {
	case output == "live" && (!u.errTTY || dumb):
		u.notef("--output live needs a terminal on standard error: tail instead")
		mode = view.Tail
	case output != "auto":
	case !u.errTTY || !u.outTTY || json:
		mode = view.Beat
	case dumb:
		mode = view.Tail
	default:
		mode = view.Live
	}
	q := view.NewQueue(view.QueueOptions{Patience: view.Patience})
	v := view.New(mode, view.Options{Out: q.To(u.err), Busy: q.Busy, Color: color(u.errTTY), Redact: secret, Size: terminalSize})
	u.mu.Lock()
	defer u.mu.Unlock()
	u.view, u.queue = v, q
	return v, mode
}

func (u *ui) unwatch(v view.View) {
	v.Close()
	u.queue.Flush(context.Background())
	u.mu.Lock()
	defer u.mu.Unlock()
	u.view, u.queue = nil, nil
}

func terminalSize() (columns, rows int) {
	columns, rows, _ = term.GetSize(int(os.Stderr.Fd()))
	return columns, rows
}

func inCI() bool {
	return os.Getenv("CI") != "" && os.Getenv("CI") != "false" && os.Getenv(report.AgentVariable) == ""
}

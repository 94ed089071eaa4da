package run

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/cmd/dialect/internal/voice"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/recording"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/view"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// maxPatience is how long a run waits for a store that another process holds.
const maxPatience = 20 * time.Second

// execute runs a program that binds, and reports it. The store is closed before the report is made: only then is it known whether all
// was kept. Where it returns early, what is open is closed in the reverse order: the file of --events, the mark of the run, the helper
// that hands it out, the signals and, last, the store.
func (o *Options) execute(v *voice.Voice, p *project.Program) error {
	if o.Notary != "" {
		return o.notarize(v, p)
	}
	m, recorded := p.Plan.Matrix, o.Recorded
	if o.Far.On() {
		if err := o.Far.Fill(p); err != nil {
			return err
		}
		recorded.Workers, _ = o.Far.Workers()
	}
	store, _ := o.Paths(m.Root)
	events := outfile.File{Flag: "--events", Name: o.Events, Stream: true}
	junit, html := outfile.File{Flag: "--junit", Name: o.JUnit}, outfile.File{Flag: "--html", Name: o.HTML}
	if err := outfile.Settle(outfile.InUse{Files: append(project.Rules(m), p.Script.Path), Store: store}, &events, &junit, &html); err != nil {
		return err
	}
	if t := o.Budget.Timeout; t > 0 && t < maxPatience {
		recorded.Patience = t
	}
	recorded.Writing = events.Path
	recorded.Clean = o.Clean || m.Clean.Run && !o.InPlace
	recorded.Share = m.Clean.Share
	if !o.DeferGate { // else no gate will say it
		recorded.First = func(s *workspace.Snapshot) {
			if s.Unmerged {
				ctx, cancel := context.WithTimeout(context.Background(), workspace.Slow)
				defer cancel()
				v.Note(inquiry.Unmerged(ctx, m.Root))
			}
		}
	}
	rec, err := recorded.Open(v, m.Root, m.Caches)
	if err != nil {
		return err
	}
	defer rec.Close(nil)
	caught := make(chan *interrupt.Catcher, 1)
	go func() { caught <- interrupt.Catch() }() // which starts a thread
	opt := recorded.Engine(rec, p.Plan)
	sig := <-caught
	defer sig.Stop()
	opt.Jobs, opt.FailFast, opt.KeepGoing, opt.DeferGate = o.Jobs, o.FailFast, o.KeepGoing, o.DeferGate
	opt.AcceptFlaky, opt.Reuse, opt.Budget, opt.Spent, opt.JobControl = rec.Secret.Text(o.AcceptFlaky), o.Reuse, o.Budget, o.spent[p], sig.JobControl
	if opt.Reuse && opt.Parent != "" {
		why := rec.Repeats(sig.Context, opt.Parent)
		if o.DeferGate {
			why = "--defer-gate leaves it no gate"
		}
		if opt.Reuse = why == ""; !opt.Reuse {
			v.Note("--reuse repeats nothing: a line of another run started this one, whose verdict could not count it: " + why)
		}
	}
	if opt.Store != nil && !o.DeferGate { // else no gate will say it
		if opt.Policy, err = recording.Policy(sig.Context, m, o.Base, o.Budget.Timeout); err != nil {
			return inquiry.NoCommit(sig.Context, "--base", m.Root, o.Base, err)
		}
	}
	if o.Far.On() {
		c, err := o.Far.Conduct(sig.Context, p, rec, &opt, v.Err)
		if err != nil {
			return err
		}
		defer c.Close()
	}
	for _, text := range rec.Begin(opt.Run, p.Script.Name) {
		v.Note(text)
	}
	defer rec.End()
	log, err := openEvents(&events, rec.Secret)
	if err != nil {
		return err
	}
	defer log.close()
	shown := v.Watch(o.Output, o.JSON, rec.Secret)
	hide := shown.Hide
	sig.Hide.Store(&hide)
	opt.Output = shown.Streams() || log != nil
	opt.Listen, opt.Hold = shown.Listen, shown.Hold
	if log != nil {
		opt.Listen = func(e engine.Event) { shown.Listen(e); log.Listen(e) }
		opt.Hold = func() <-chan struct{} {
			if ch := shown.Hold(); ch != nil {
				return ch
			}
			return log.queue.Hold()
		}
	}
	out := engine.Run(sig.Context, p.Plan, opt)
	rec.Close(out)
	sig.Bound(out.ExitStatus(), rec.End)
	shown.Close()
	lost := log.flush(sig.Context)
	doc := report.NewDocument(out, p.Findings, rec.Path)
	doc.Checkpoint = rec.Left()
	rec.Keep(doc)
	v.Stands()
	path, _ := o.Paths(p.Matrix.Root)
	if err := rec.Secret.Through(v.Out, report.Syntax(o.JSON), func(w io.Writer) error { return o.print(v, w, doc, path) }); err != nil {
		return err
	}
	if err := o.files(v, doc, p, rec, &junit, &html); err != nil {
		return err
	}
	if lost != nil {
		return exit.Failf(exit.Internal, "--events: %v", lost)
	}
	return exit.Of(out.ExitStatus())
}

// An eventLog is the file of --events. It is written in the background, and nothing of it is left out: a run waits
// for who reads it. A nil one writes nothing.
type eventLog struct {
	*report.Events
	file  io.WriteCloser
	queue *view.Queue
}

// openEvents opens the file of --events; nil for none.
func openEvents(f *outfile.File, secret *redact.Redactor) (*eventLog, error) {
	if f.Name == "" {
		return nil, nil
	}
	file, err := f.Open()
	if err != nil {
		return nil, exit.Usagef("--events %s: %v", f.Name, err)
	}
	q := view.NewQueue(view.QueueOptions{Patience: view.Patience, Whole: true})
	return &eventLog{Events: report.NewEvents(q.To(file), secret, nil), file: file, queue: q}, nil
}

// flush waits until all is written, and returns why something was not.
func (l *eventLog) flush(ctx context.Context) error {
	if l == nil {
		return nil
	}
	read := l.queue.Flush(ctx)
	if err := cmp.Or(l.Err(), l.queue.Err()); err != nil || read {
		return err
	}
	return view.ErrUnread
}

func (l *eventLog) close() {
	if l != nil {
		_ = l.file.Close()
	}
}

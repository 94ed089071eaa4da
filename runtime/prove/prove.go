// Package prove tests the checks of a script: it runs its lines in a clean checkout, and each line that passed again with
// something broken that it looked at. In come a bound program and the options of its runs; out goes a [Document]. What
// is broken, and whether a line noticed, package runtime/control says; package engine runs the lines, and leaves the
// receipts.
package prove

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/cleanroom"
	"github.com/command-dialect/dialect/runtime/control"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// Options say what is tested, and how.
type Options struct {
	Program *project.Program
	Room    *cleanroom.Room
	Run     func(*plan.Plan) engine.Options // the options of one run, with a new id
	Secret  *redact.Redactor                // takes secrets out of what lines print

	Timeout time.Duration     // for all of it; 0 for none
	Note    func(text string) // gets what happens, a line each
}

// maxOutput is how much of the output of a run is looked at: its begin and its end, in bytes.
const maxOutput = 2 << 20

// An output keeps the begin and the end of what a line prints, without its secrets: a judgement repeats lines of it.
type output struct {
	clean      *redact.Streams
	head, tail []byte
}

func newOutput(secret *redact.Redactor) *output {
	o := new(output)
	o.clean = secret.Streams(func(_ int, p []byte) { o.write(p) })
	return o
}

func (o *output) add(e attempt.Output) {
	o.clean.Write(int(e.Stream), e.Data)
	if e.Cut {
		o.clean.Cut(int(e.Stream))
	}
}

func (o *output) write(p []byte) {
	n := min(len(p), maxOutput-len(o.head))
	o.head = append(o.head, p[:n]...)
	if o.tail = append(o.tail, p[n:]...); len(o.tail) > 2*maxOutput {
		o.tail = slices.Clone(o.tail[len(o.tail)-maxOutput:])
	}
}

// bytes ends the output.
func (o *output) bytes() []byte {
	o.clean.Close()
	return append(o.head, o.tail[max(0, len(o.tail)-maxOutput):]...)
}

// A line is one that is tested.
type line struct {
	doc    *Line
	step   *plan.Step
	output *output
	trial  *control.Trial // nil where there is no control
	said   control.Judgement
}

type session struct {
	o        Options
	doc      *Document
	lines    map[string]*line // by the ID of the step
	deadline time.Time
}

// Run tests the checks of a plan. The error says that nothing could be tested; what was interrupted is in the document.
func Run(ctx context.Context, o Options) (*Document, error) {
	s := &session{o: o, lines: make(map[string]*line), doc: &Document{Schema: "dialect.prove/1", Script: o.Program.Plan.Script.Name, Nonce: control.Nonce(), Lines: []*Line{}}}
	if o.Timeout > 0 {
		s.deadline = time.Now().Add(o.Timeout)
	}
	plan.Walk(o.Program.Plan.Steps, func(st *plan.Step) {
		if st.Kind == plan.Composite || attempt.IsGate(st) {
			return
		}
		l := &line{step: st, output: newOutput(o.Secret), doc: &Line{
			Line: st.Line.Number, Step: st.ID, Text: o.Secret.Text(st.Line.Text), Binding: st.Binding,
			Required: st.ReceiptRequired, Outcome: string(control.None),
		}}
		for _, a := range st.Command() {
			l.doc.Command = append(l.doc.Command, o.Secret.Text(a))
		}
		l.doc.Detail = untestable(st)
		s.doc.Lines = append(s.doc.Lines, l.doc)
		s.lines[st.ID] = l
	})
	if s.subset(func(l *line) bool { return l.doc.Detail == "" }) == nil {
		return s.end(), nil
	}
	if err := s.green(ctx); err != nil || s.doc.cut() {
		return s.end(), err
	}
	s.choose()
	for try := 1; try <= control.MaxTries && !s.doc.cut(); try++ {
		if more, err := s.round(ctx, try); err != nil || !more {
			return s.end(), err
		}
	}
	return s.end(), nil
}

// untestable says why a line is not tested, whatever breaks; empty if it may be.
func untestable(st *plan.Step) string {
	switch {
	case st.Kind != plan.Process:
		return "it runs no program of its own"
	case st.WhenFailure:
		return "it runs only after a failure"
	case st.Effect == plan.Write:
		return "it changes state: only what reads is run with something broken"
	}
	return ""
}

// subset is the plan with the lines alone that are wanted; nil if there are none. Nothing is tried twice in it.
func (s *session) subset(want func(*line) bool) *plan.Plan {
	p := *s.o.Program.Plan
	var of func(steps []*plan.Step) []*plan.Step
	of = func(steps []*plan.Step) (some []*plan.Step) {
		for _, st := range steps {
			c := *st
			if st.Kind == plan.Composite {
				if c.Members = of(st.Members); len(c.Members) > 0 {
					some = append(some, &c)
				}
			} else if l := s.lines[st.ID]; l != nil && want(l) {
				c.Budget.Retries, c.Reuse = 0, false
				some = append(some, &c)
			}
		}
		return some
	}
	p.Steps = of(p.Steps)
	p.Script.Part = true
	if len(p.Steps) == 0 {
		return nil
	}
	return &p
}

// run runs a plan in the clean checkout.
func (s *session) run(ctx context.Context, p *plan.Plan, controls map[string]*attempt.Control, listen func(engine.Event)) (*engine.Outcome, error) {
	opt := s.o.Run(p)
	opt.Controls, opt.DeferGate, opt.KeepGoing, opt.EndLeft = controls, true, true, true
	if controls == nil {
		opt.Output = true
		opt.Store = new(attempt.Catcher) // without the lines that write, and where a run is not: no evidence of the lines
	}
	if s.o.Room.Unconfined() != "" {
		opt.Jobs = 1 // the files are broken where they are
	}
	if !s.deadline.IsZero() {
		if opt.Budget.Timeout = time.Until(s.deadline); opt.Budget.Timeout <= 0 {
			s.doc.Cut = s.late()
			return nil, nil
		}
	}
	show := opt.Listen
	opt.Listen = func(e engine.Event) {
		if listen != nil {
			listen(e)
		}
		if show != nil {
			show(e)
		}
	}
	out := engine.Run(ctx, p, opt)
	if out.Degraded != "" {
		s.doc.Degraded = out.Degraded
	}
	switch {
	case out.Signal != "":
		s.doc.Signal, s.doc.Cut = out.Signal, "interrupted by "+out.Signal
	case out.Limit != "" && !s.deadline.IsZero():
		s.doc.Cut = s.late()
	case out.Limit != "":
		s.doc.Cut = out.Limit
	case out.NoTree != "":
		return out, fmt.Errorf("there is nothing to break: %s", out.NoTree)
	}
	return out, nil
}

func (s *session) late() string { return fmt.Sprintf("the timeout of %v is over", s.o.Timeout) }

// green runs all lines that can be tested as they are. Nothing of that is recorded.
func (s *session) green(ctx context.Context) error {
	p := s.subset(func(l *line) bool { return l.doc.Detail == "" })
	s.o.Note("running " + diag.Number(leaves(p), "line") + " in a clean checkout")
	out, err := s.run(ctx, p, nil, func(e engine.Event) {
		if o, ok := e.(attempt.Output); ok {
			s.lines[o.Step.ID].output.add(o)
		}
	})
	if err != nil || out == nil {
		return err
	}
	s.doc.Place = receipts.InClean.Name()
	if s.o.Room.Unconfined() != "" {
		s.doc.Place = receipts.Unconfined.Name()
	}
	if t, err := s.o.Room.Take(ctx); err == nil && t != nil {
		s.doc.Tree = &report.DocTree{Tree: t.Tree, Bytes: receipts.Hash(t.Bytes).String(), Exact: t.Exact}
	}
	engine.Leaves(out.Results, func(r *engine.Result) {
		switch l := s.lines[r.Step.ID]; {
		case r.Verdict == schedule.Passed:
		case s.doc.cut() && r.Verdict != schedule.Failed:
			l.doc.Outcome, l.doc.Detail = string(control.Unfinished), "it did not come to an end, with nothing broken"
		default:
			l.doc.Outcome, l.doc.Detail = NotPassed, "it does not pass as it is: "+s.o.Secret.Text(r.Detail)
		}
	})
	return nil
}

func leaves(p *plan.Plan) (n int) {
	plan.Walk(p.Steps, func(st *plan.Step) {
		if st.Kind != plan.Composite {
			n++
		}
	})
	return n
}

// choose finds out for each line that passed how it is broken, and where.
func (s *session) choose() {
	var tools []control.Tool
	for _, b := range s.o.Program.Matrix.Controls() {
		tools = append(tools, control.Tool{Verb: b.Verb, Nouns: append([]string{b.Noun}, b.Aliases...), Control: b.Control})
	}
	files := control.Files{Place: s.o.Room.Place(), Roots: s.o.Room.Roots(), List: s.o.Room.Files(), Read: s.o.Room.ReadFile}
	for _, d := range s.doc.Lines {
		l := s.lines[d.Step]
		if d.Detail != "" {
			continue
		}
		c, ok := control.Find(l.step, tools, files, s.doc.Nonce)
		if !ok {
			d.Detail = "nothing says how to break what it checks: give its binding control = { file = \"...\", text = \"...\" }"
			continue
		}
		d.Control = fmt.Sprintf("%s:%d", c.Origin.File, c.Origin.Line)
		l.trial = control.New(l.step, c, l.output.bytes(), files, s.doc.Nonce)
		if l.trial.Empty() {
			l.trial, d.Detail = nil, "no file has what its control breaks: "+strings.Join(c.Files, ", ")
		}
	}
}

// round runs each line whose trial goes on with something broken. More says that there may be a next round.
func (s *session) round(ctx context.Context, try int) (more bool, err error) {
	controls := make(map[string]*attempt.Control)
	for _, d := range s.doc.Lines {
		l := s.lines[d.Step]
		if l.trial == nil {
			continue
		}
		edits := l.trial.Next()
		if len(edits) == 0 {
			l.trial = nil
			continue
		}
		d.Tries++
		c := &attempt.Control{}
		for _, e := range edits {
			c.Edits = append(c.Edits, cleanroom.Edit(e))
		}
		l.output = newOutput(s.o.Secret)
		c.Output, c.Judge = l.output.add, func(r *attempt.Report) (receipts.Control, string) { return l.judge(r, s.doc.Nonce, len(edits)) }
		controls[d.Step] = c
	}
	if len(controls) == 0 {
		return false, nil
	}
	what := "breaking what " + diag.Number(len(controls), "line") + " looked at"
	if try > 1 {
		what = fmt.Sprintf("try %d: %s", try, what)
	}
	s.o.Note(what)
	p := s.subset(func(l *line) bool { return controls[l.step.ID] != nil })
	out, err := s.run(ctx, p, controls, nil)
	if err != nil || out == nil {
		return false, err
	}
	engine.Leaves(out.Results, func(r *engine.Result) {
		l := s.lines[r.Step.ID]
		if l.said.Outcome == "" { // it did not begin
			l.said.Outcome, l.said.Text = control.Unfinished, r.Detail
		}
		j, d := l.said, l.doc
		d.Outcome, d.Detail, d.Named = string(j.Outcome), s.o.Secret.Text(j.Text), s.o.Secret.Text(j.Named)
		if d.Broke = nil; j.Place.Path != "" {
			d.Broke = &Broke{File: j.Place.Path, Line: j.Place.Line, Test: j.Place.Test}
		}
		if d.Receipt = nil; !r.Receipt.IsZero() && !r.Degraded {
			d.Receipt = &r.Receipt
		}
	})
	return true, nil
}

// judge judges how a line ended, for its receipt.
func (l *line) judge(r *attempt.Report, nonce string, places int) (receipts.Control, string) {
	l.said = l.trial.Judge(control.Ending{
		Passed: r.Verdict == schedule.Passed, Refused: r.Verdict == schedule.Failed, Why: r.Detail, Output: l.output.bytes(),
	})
	rec := receipts.Control{
		Path: receipts.Text(l.said.Place.Path), Line: l.said.Place.Line, Nonce: nonce, Outcome: string(l.said.Outcome),
	}
	if l.said.Place.Test != "" {
		rec.Test = receipts.Text(l.said.Place.Test)
	}
	if places > 1 {
		rec.Places = places
	}
	return rec, l.said.Text
}

// end counts. What was never broken because all ended early is not done: it may have a control.
func (s *session) end() *Document {
	d := s.doc
	for _, l := range d.Lines {
		if d.cut() && l.Outcome == string(control.None) && l.Detail == "" {
			l.Outcome, l.Detail = string(control.Unfinished), "nothing that it looks at was broken"
		}
		d.Of++
		if l.Outcome == string(control.Noticed) {
			d.Tested++
		}
	}
	return d
}

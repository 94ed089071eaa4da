package report

import (
	"strings"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/runner"
)

// Outcome makes of a document what [Text] needs of the outcome it was made of. It is not
// that outcome: whoever can write the document can make it say anything.
func (d *Document) Outcome() *runner.Outcome {
	started, _ := time.Parse(time.RFC3339Nano, d.Started)
	o := &runner.Outcome{
		Plan: &plan.Plan{Script: plan.Script{Name: d.Script.Name, Path: d.Script.Path, SHA256: d.Script.SHA256, Part: d.Script.Part}},
		Run:  d.Run, Session: d.Session, Nonce: d.Nonce, Started: started, Duration: span(d.Elapsed),
		Signal: d.Signal, Limit: d.Limit, KeepGoing: d.KeepGoing, Degraded: d.Degraded, Gate: &runner.Gate{Verdict: runner.GateNotRun},
	}
	if d.Gate != nil {
		o.Gate = restoreGate(d.Gate)
	}
	for _, l := range d.Lines {
		if l != nil {
			o.Results = append(o.Results, restore(l))
		}
	}
	return o
}

func span(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

func restore(l *DocResult) *runner.Result {
	s := &plan.Step{
		ID: l.ID, Binding: l.Binding, Verb: l.Verb, Noun: l.Noun, Kind: plan.Kind(l.Kind), Effect: plan.Effect(l.Effect), Argv: l.Argv,
		Line: plan.Line{File: l.File, Number: l.Line, Text: l.Text}, Budget: plan.Budget{TailLines: 20},
	}
	r := &runner.Result{
		Step: s, Verdict: runner.Verdict(l.Verdict), Reason: runner.Reason(l.Reason), Detail: l.Detail, By: l.By,
		Duration: span(l.Elapsed), Attempts: l.Attempts, Waited: span(l.Waited), Degraded: l.Degraded,
	}
	r.Started, _ = time.Parse(time.RFC3339Nano, l.Started)
	r.Receipt, _ = receipts.ParseHash(l.Receipt)
	if t := l.Tests; t != nil {
		r.Tests = &receipts.Tests{Passed: t.Passed, Failed: t.Failed, Skipped: t.Skipped}
	}
	if b := l.Baseline; b != nil && l.Tests != nil {
		r.Baseline = &runner.Baseline{Passed: b.Passed, Run: b.Run}
	}
	if e := l.Error; e != nil {
		r.Finding = &diagnose.Finding{File: e.File, Line: e.Line, Column: e.Column, Message: e.Message}
	}
	if l.Stdout != nil || l.Stderr != nil || l.Fault != nil {
		r.Process = &process.Result{ExitCode: -1, Signal: l.Signal, Notes: l.Notes}
		if l.ExitCode != nil {
			r.Process.ExitCode = *l.ExitCode
		}
		if l.Stdout != nil {
			r.Process.Stdout = process.Output{Bytes: l.Stdout.Bytes, Log: l.Stdout.Log}
		}
		if l.Stderr != nil {
			r.Process.Stderr = process.Output{Bytes: l.Stderr.Bytes, Log: l.Stderr.Log}
		}
	}
	if f := l.Fault; f != nil {
		r.Process.Tail = []byte(strings.Join(f.LastOutput, "\n"))
		if len(f.ReproHints) > 1 {
			s.Hint = f.ReproHints[1]
		}
	}
	if l.Gate != nil {
		r.Gate = restoreGate(l.Gate)
	}
	for _, m := range l.Members {
		if m != nil {
			r.Members = append(r.Members, restore(m))
		}
	}
	return r
}

func restoreGate(d *DocGate) *runner.Gate {
	g := &runner.Gate{
		Verdict: runner.GateVerdict(d.Verdict), ID: d.ID, Final: d.Final, Members: d.Members, Required: d.Required,
		Reused: d.Reused, Policy: d.Rules, Failures: d.Failures, Early: d.Early, Noted: d.New, Beyond: d.Beyond, Detail: d.Detail,
	}
	g.SHA, _ = receipts.ParseHash(d.SHA256)
	if len(d.Level) == 2 && d.Level[0] == 'L' && d.Level[1] >= '0' && d.Level[1] <= '9' {
		g.Level = int(d.Level[1] - '0')
	}
	for _, r := range d.Refusals {
		g.Refusals = append(g.Refusals, receipts.Refusal{Reason: receipts.Reason(r.Reason), Step: r.Step, Message: r.Message})
	}
	return g
}

package notary

import (
	"errors"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/prove"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// A Spec says what to run: a script, and the folder of the project in which the search for its matrix begins. It has neither
// commands nor expectations.
type Spec struct {
	Script []byte            `json:"script"`
	Name   string            `json:"name"`             // as the user named it
	Path   string            `json:"path,omitempty"`   // of the script, absolute; empty for what was piped in
	Folder string            `json:"folder"`           // where the asker is, absolute
	Line   int               `json:"line,omitempty"`   // see project.Script
	Member []int             `json:"member,omitempty"` // likewise
	Part   bool              `json:"part,omitempty"`   // likewise
	Lines  []int             `json:"lines,omitempty"`  // the only ones that are meant
	Vars   map[string]string `json:"vars,omitempty"`
	Flags  []string          `json:"flags,omitempty"` // of the command line, that a run of a line again needs

	Session string `json:"session,omitempty"`
	Nonce   string `json:"nonce,omitempty"`

	// What can make the run stricter than the matrix has it.
	Jobs      int           `json:"jobs,omitempty"`
	FailFast  bool          `json:"fail_fast,omitempty"`
	DeferGate bool          `json:"defer_gate,omitempty"`
	Timeout   time.Duration `json:"timeout,omitempty"`
	Stall     time.Duration `json:"stall,omitempty"`
	MaxOutput int64         `json:"max_output,omitempty"`

	Prove  bool `json:"prove,omitempty"` // test the checks instead: see package prove
	Reuse  bool `json:"reuse,omitempty"`
	Output bool `json:"output,omitempty"` // what commands write is wanted as it comes
}

// A request is what a client sends: the hello first, then one with one other member.
type request struct {
	Hello    int        `json:"hello,omitempty"`
	Folder   string     `json:"folder,omitempty"` // in the working tree that is asked about, of a service; absolute
	Start    *Spec      `json:"start,omitempty"`
	Events   *eventsOf  `json:"events,omitempty"`
	Cut      *cutOf     `json:"cut,omitempty"`
	Pause    *pauseOf   `json:"pause,omitempty"`
	Status   *struct{}  `json:"status,omitempty"`
	Bundle   *struct{}  `json:"bundle,omitempty"`
	Store    *struct{}  `json:"store,omitempty"`
	Document *documents `json:"document,omitempty"`
	Output   *outputOf  `json:"output,omitempty"`
}

type eventsOf struct {
	Run  string `json:"run"`
	From int    `json:"from"` // the number of the first event that is wanted, 0-based
}

type cutOf struct {
	Run    string `json:"run"`
	Signal string `json:"signal,omitempty"` // that the client got; empty for none
	Kill   bool   `json:"kill,omitempty"`   // at once
}

type pauseOf struct {
	Run string `json:"run"`
	On  bool   `json:"on"`
}

type documents struct {
	Run string `json:"run,omitempty"` // empty for the list of all
}

type outputOf struct {
	SHA256 receipts.Hash `json:"sha256"`
}

// An answer is what the notary sends.
type answer struct {
	Hello   *greeting `json:"hello,omitempty"`
	Refused *Refused  `json:"refused,omitempty"` // the last one
	Event   *event    `json:"event,omitempty"`
	Status  *Status   `json:"status,omitempty"`
	Chunk   []byte    `json:"chunk,omitempty"` // of a bundle, a document or an output
	Names   []string  `json:"names,omitempty"` // of documents
	Done    bool      `json:"done,omitempty"`  // the last one
}

type greeting struct {
	Version int    `json:"version"`
	Key     string `json:"key"` // the public key of the session
}

// A Refused is why a notary does not do what it was asked for.
type Refused struct {
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
	// Rules says that the rules are not those of the baseline; Busy that it is worth trying again later.
	Rules bool `json:"rules,omitempty"`
	Busy  bool `json:"busy,omitempty"`
}

func (r *Refused) Error() string { return r.Text }

// An event is one [engine.Event], or what else a client learns of a run. Steps are named by their ID: the client has
// bound the script itself.
type event struct {
	Kind    string          `json:"kind"` // run, note, begun, waiting, started, output, finished, durable, result, outcome, proof
	Run     string          `json:"run,omitempty"`
	Session string          `json:"session,omitempty"`
	At      time.Time       `json:"at,omitzero"`
	Text    string          `json:"text,omitempty"` // of note
	Step    string          `json:"step,omitempty"`
	Lock    string          `json:"lock,omitempty"`
	Holder  string          `json:"holder,omitempty"`
	Attempt int             `json:"attempt,omitempty"`
	Stream  process.Stream  `json:"stream,omitempty"`
	Data    []byte          `json:"data,omitempty"`
	Receipt receipts.Hash   `json:"receipt,omitzero"`
	Result  *result         `json:"result,omitempty"`
	Outcome *outcome        `json:"outcome,omitempty"`
	Proof   *prove.Document `json:"proof,omitempty"`
}

// A result is an [engine.Result] without its step, its members and what a receipt alone is made of.
type result struct {
	Step     string            `json:"step"`
	Verdict  schedule.Verdict  `json:"verdict"`
	Reason   schedule.Reason   `json:"reason,omitempty"`
	Detail   string            `json:"detail,omitempty"`
	By       string            `json:"by,omitempty"`
	Attempts int               `json:"attempts,omitempty"`
	Started  time.Time         `json:"started,omitzero"`
	Duration time.Duration     `json:"duration,omitempty"`
	Process  *process.Result   `json:"process,omitempty"`
	Err      string            `json:"err,omitempty"` // of Process
	Tests    *receipts.Tests   `json:"tests,omitempty"`
	Failures diagnose.Failures `json:"failures,omitzero"`
	Cases    []diagnose.Case   `json:"cases,omitempty"`
	Receipt  receipts.Hash     `json:"receipt,omitzero"`
	Reused   receipts.Hash     `json:"reused,omitzero"`
	Waited   time.Duration     `json:"waited,omitempty"`
	Holder   string            `json:"holder,omitempty"`
	Baseline *attempt.Baseline `json:"baseline,omitempty"`
	Earlier  []receipts.Hash   `json:"earlier,omitempty"`
	Degraded bool              `json:"degraded,omitempty"`
	Gate     *attempt.Decision `json:"gate,omitempty"`
}

func wireResult(r *engine.Result) *result {
	w := &result{
		Step: r.Step.ID, Verdict: r.Verdict, Reason: r.Reason, Detail: r.Detail, By: r.By, Attempts: r.Attempts, Started: r.Started,
		Duration: r.Duration, Tests: r.Tests, Failures: r.Failures, Cases: r.Cases, Receipt: r.Receipt, Reused: r.Reused, Waited: r.Waited, Holder: r.Holder,
		Baseline: r.Baseline, Earlier: r.Earlier, Degraded: r.Degraded, Gate: r.Gate,
	}
	if p := r.Process; p != nil {
		c := *p
		if c.Err != nil {
			w.Err, c.Err = c.Err.Error(), nil
		}
		c.Stdout.Head, c.Stderr.Head = nil, nil
		if !r.Verdict.Bad() {
			c.Tail = nil
		}
		w.Process = &c
	}
	return w
}

// into fills in what came of a result.
func (w *result) into(r *engine.Result) {
	r.Verdict, r.Reason, r.Detail, r.By, r.Attempts, r.Started = w.Verdict, w.Reason, w.Detail, w.By, w.Attempts, w.Started
	r.Duration, r.Tests, r.Failures, r.Cases, r.Receipt, r.Reused, r.Waited, r.Holder = w.Duration, w.Tests, w.Failures, w.Cases, w.Receipt, w.Reused, w.Waited, w.Holder
	r.Baseline, r.Earlier, r.Degraded, r.Gate, r.Process = w.Baseline, w.Earlier, w.Degraded, w.Gate, w.Process
	if r.Process != nil && w.Err != "" {
		r.Process.Err = errors.New(w.Err)
	}
}

// An outcome is an [engine.Outcome] without its plan and its results. The results come before it, once more.
type outcome struct {
	Run       string            `json:"run"`
	Session   string            `json:"session"`
	Nonce     string            `json:"nonce,omitempty"`
	Started   time.Time         `json:"started"`
	Duration  time.Duration     `json:"duration"`
	Gate      *attempt.Decision `json:"gate"`
	Degraded  string            `json:"degraded,omitempty"`
	Signal    string            `json:"signal,omitempty"`
	Limit     string            `json:"limit,omitempty"`
	NoTree    string            `json:"no_tree,omitempty"`
	Removed   []string          `json:"removed,omitempty"`
	Clean     bool              `json:"clean,omitempty"`
	KeepGoing bool              `json:"keep_going,omitempty"`
}

func wireOutcome(o *engine.Outcome) *outcome {
	return &outcome{
		Run: o.Run, Session: o.Session, Nonce: o.Nonce, Started: o.Started, Duration: o.Duration, Gate: o.Gate, Degraded: o.Degraded, Signal: o.Signal,
		Limit: o.Limit, NoTree: o.NoTree, Removed: o.Removed, Clean: o.Clean, KeepGoing: o.KeepGoing,
	}
}

func (w *outcome) outcome(p *plan.Plan, results []*engine.Result) *engine.Outcome {
	return &engine.Outcome{
		Plan: p, Run: w.Run, Session: w.Session, Nonce: w.Nonce, Started: w.Started, Duration: w.Duration, Results: results, Gate: w.Gate, Degraded: w.Degraded,
		Signal: w.Signal, Limit: w.Limit, NoTree: w.NoTree, Removed: w.Removed, Clean: w.Clean, KeepGoing: w.KeepGoing,
	}
}

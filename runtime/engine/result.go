package engine

import (
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// A Result is what became of one step: the report of its last attempt, with the verdict of the
// step, the start of its first attempt, and the duration of all.
type Result struct {
	attempt.Report
	Waited   time.Duration     // for a lock, before it started
	Holder   string            // of that lock, where the run was over first: "FILE:LINE of RUN"; empty where it is not known
	Baseline *attempt.Baseline // of Tests, where an earlier run had more
	Earlier  []receipts.Hash   // durable receipts of the attempts before the last one; set when the run is over
	Degraded bool              // the receipt is not durable in a store
	Gate     *attempt.Decision // of a gate step
	Members  []*Result         // of a composite, in order
}

// Leaves calls f for each leaf below results, in order.
func Leaves(results []*Result, f func(*Result)) {
	for _, r := range results {
		if r.Step.Kind == plan.Composite {
			Leaves(r.Members, f)
		} else {
			f(r)
		}
	}
}

// An Event is something that happened during a run: one of [RunStarted], [StepWaiting],
// [attempt.Started], [attempt.Output], [StepFinished], [attempt.Durable], [RunFinished]. Events
// reach a listener one at a time, in the order in which they happened.
type Event = attempt.Event

// RunStarted is the first event.
type RunStarted struct {
	Plan    *plan.Plan
	Run     string
	Session string
	At      time.Time
}

// StepWaiting says that a step waits for a lock that another holds.
type StepWaiting struct {
	Step   *plan.Step
	Lock   string
	Holder string // what is known of who holds it: "FILE:LINE of RUN"; text of another process
	At     time.Time
}

// StepFinished says that a step, leaf or composite, has its verdict. Its receipt need not
// be durable yet: see [attempt.Durable].
type StepFinished struct{ Result *Result }

// RunFinished is the last event.
type RunFinished struct{ Outcome *Outcome }

// Event marks an event.
func (RunStarted) Event() {}

// Event marks an event.
func (StepWaiting) Event() {}

// Event marks an event.
func (StepFinished) Event() {}

// Event marks an event.
func (RunFinished) Event() {}

// An Outcome is what became of a run.
type Outcome struct {
	Plan      *plan.Plan
	Run       string
	Session   string
	Nonce     string
	Started   time.Time
	Duration  time.Duration
	Results   []*Result         // one a line, in the order of the script
	Gate      *attempt.Decision // the gate that ended the run; never nil
	Degraded  string            // why not all could be recorded; empty if it was
	Signal    string            // the signal that ended the run, "SIGTERM"; empty if none did
	Limit     string            // why the run's own budget ended it; empty if it did not
	KeepGoing bool
	Clean     bool // commands ran in a clean checkout
	// NoTree says why the receipts do not name the files that they are about, where a
	// workspace was given; empty if they do.
	NoTree string
	// Removed names the variables of the environment that commands did not get,
	// because they would change what a check does.
	Removed []string
}

// Count returns the number of lines with verdict v.
func (o *Outcome) Count(v schedule.Verdict) int {
	n := 0
	for _, r := range o.Results {
		if r.Verdict == v {
			n++
		}
	}
	return n
}

// Tests is the sum of the tests that the lines counted; nil if none did.
func (o *Outcome) Tests() (sum *receipts.Tests) {
	Leaves(o.Results, func(r *Result) {
		if t := r.Tests; t != nil {
			if sum == nil {
				sum = new(receipts.Tests)
			}
			sum.Passed, sum.Failed, sum.Skipped = sum.Passed+t.Passed, sum.Failed+t.Failed, sum.Skipped+t.Skipped
		}
	})
	return sum
}

// Verdict is the verdict of the run as a whole: "passed", "failed", "fault" or
// "refused", or "interrupted".
func (o *Outcome) Verdict() string {
	switch {
	case o.Signal != "":
		return "interrupted"
	case o.Limit != "" || o.Gate.Verdict == attempt.GateVacuous || o.Count(schedule.Fault) > 0:
		return "fault"
	case o.anyLeaf(func(r *Result) bool { return r.Verdict == schedule.Failed && r.Reason != receipts.StopGateRefused }):
		return "failed"
	case o.refused() || o.Gate.Verdict == attempt.GateNotRun: // without a gate nothing has passed
		return "refused"
	default:
		return "passed"
	}
}

// ExitStatus maps the outcome to the exit status of the command
// (`dialect help exit` has the table): a signal first, then 2 for a fault, 1 for a failure, 3 for a refused gate.
func (o *Outcome) ExitStatus() int {
	switch o.Verdict() {
	case "interrupted":
		return process.SignalStatus(o.Signal)
	case "fault":
		return 2
	case "failed":
		return 1
	case "refused":
		return 3
	default:
		return 0
	}
}

func (o *Outcome) refused() bool {
	return o.Gate.Verdict == attempt.GateRefusal ||
		o.anyLeaf(func(r *Result) bool { return r.Gate != nil && r.Gate.Verdict == attempt.GateRefusal })
}

func (o *Outcome) anyLeaf(f func(*Result) bool) bool {
	found := false
	Leaves(o.Results, func(r *Result) { found = found || f(r) })
	return found
}

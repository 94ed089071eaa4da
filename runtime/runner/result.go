package runner

import (
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/doctrine"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/process"
)

// A Verdict is how a step ended. Every step ends in exactly one.
type Verdict string

// The verdicts.
const (
	Passed    Verdict = "passed"
	Failed    Verdict = "failed"    // the tool ran to its end and said no
	Fault     Verdict = "fault"     // it could not be completed; Reason says why
	Flaky     Verdict = "flaky"     // passed only on a retry
	Skipped   Verdict = "skipped"   // never started; Reason says why
	Cancelled Verdict = "cancelled" // never started, or killed, because of By
)

// Bad reports whether v is a failure or a fault: something that the barrier and
// the gate hold against the lines that follow.
func (v Verdict) Bad() bool { return v == Failed || v == Fault }

// A Reason refines a verdict. Those that a receipt can carry are [receipts.StopReason];
// the others belong to steps that never started.
type Reason = receipts.StopReason

// Reasons of a fault, named as in the line-fault contract.
const (
	EnvMissing    = receipts.StopEnvMissing
	Timeout       = receipts.StopTimeout
	Stall         = receipts.StopStall
	OutputLimit   = receipts.StopOutputLimit
	Interrupted   = receipts.StopInterrupted
	Killed        = receipts.StopKilled  // by a signal from outside, which was not ours
	Crashed       = receipts.StopCrashed // by a signal that programs send themselves
	NotConfigured = receipts.StopNotConfigured
	Vacuous       = receipts.StopVacuous // nothing was tested
	StartFailed   = receipts.StopStartFailed
	MCPError      = receipts.StopMCPError // an MCP server refused the call, or does not speak the protocol
	Locked        = receipts.StopLocked   // what it may not share with others was not to be had
	Unrecordable  = receipts.StopUnrecordable
)

// Reasons of a failure.
const (
	ExitCode    = receipts.StopExitCode
	ToolError   = receipts.StopToolError   // an MCP tool says that it failed
	Expectation = receipts.StopExpectation // exit status as wanted, output not
	GateRefused = receipts.StopGateRefused
	Invalid     = receipts.StopInvalid // a receipt that does not validate
)

// Reasons of a skipped or cancelled step.
const (
	Barrier   Reason = "barrier"             // it changes state, and By did not pass
	FailFast         = receipts.StopFailFast // --fail-fast, and By did not pass
	NoFailure Reason = "no_failure"          // it runs only after a failure
	NotNeeded Reason = "not_needed"          // it cleans up, and nothing before it was started
	Refused   Reason = "refused"             // the gate By refused
	NoStore   Reason = "degraded"            // it changes state, and nothing can be recorded
)

// A Result is what became of one step.
type Result struct {
	Step    *plan.Step
	Verdict Verdict
	Reason  Reason
	Detail  string // one line for people: why, and what to do; may be empty
	By      string // ID of the step that a skipped or cancelled one was given up for

	Started  time.Time // zero if it never started
	Duration time.Duration
	Process  *process.Result // nil if no process was started
	Attempts int
	Waited   time.Duration // for a lock, before it started

	Tests    *receipts.Tests   // as the tool counted them; nil if it did not
	Baseline *Baseline         // of Tests, where an earlier run had more
	Finding  *diagnose.Finding // the first error of what did not pass; nil if none was found

	Receipt  receipts.Hash   // of the last attempt; zero if there is none
	Earlier  []receipts.Hash // of the attempts before it
	Degraded bool            // the receipt is not durable in a store

	Gate    *Gate     // of a gate step
	Members []*Result // of a composite, in order

	Claim *doctrine.Result // what the command says of itself; nil if nothing

	Reused receipts.Hash // the receipt whose result stands for a run; zero if it ran

	ticket  int64         // of Receipt
	tickets []int64       // of Earlier
	inputs  receipts.Hash // digest of the binding's inputs before the last attempt; zero for none
	epoch   *epoch        // that it ran in; nil without a workspace
	grouped bool          // a member of a parallel composite, however deep
	always  bool          // it runs in any case
	share   int           // of the run's jobs, for a script that it runs itself; 0 for all
	held    []string

	// Of a task: what is run instead of the step's own argv, what it reads, and what is
	// called once it has been judged.
	argv  []string
	stdin []byte
	after func()
}

// A Baseline is the last green run of a command in which more tests passed.
type Baseline struct {
	Passed int
	Run    string
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

// A GateVerdict is how a gate ended.
type GateVerdict string

// The gate verdicts.
const (
	GatePassed   GateVerdict = "passed"
	GateRefusal  GateVerdict = "refused"
	GateNotRun   GateVerdict = "not_run"  // a line above did not pass
	GateDeferred GateVerdict = "deferred" // --defer-gate
	GateDegraded GateVerdict = "degraded" // no store, and no line required a receipt
	GateVacuous  GateVerdict = "vacuous"  // no line was carried out
)

// A Gate is the decision of one gate.
type Gate struct {
	Verdict  GateVerdict
	ID       string        // "g-" and 12 hex digits; empty unless passed
	SHA      receipts.Hash // of the gate receipt
	Final    bool          // the gate at the end of a whole script
	Level    int           // trust level, 0 for L0
	Members  int           // receipts consumed
	Required int           // of them, required ones
	Reused   int           // of them, those that repeat an earlier result
	Policy   string        // see [receipts.Gate]
	Failures int           // of the commands on exactly these files, in this run or an earlier one
	Early    int           // ends of them before an answer
	Tree     *receipts.Tree
	Beyond   []string // why Tree is not exact: "PATH: reason", the first of them
	Noted    []string // new files that git does not track, which are beyond Tree: nothing has tested them
	Refusals []receipts.Refusal
	Detail   string
}

// An Outcome is what became of a run.
type Outcome struct {
	Plan      *plan.Plan
	Run       string
	Session   string
	Nonce     string
	Started   time.Time
	Duration  time.Duration
	Results   []*Result // one a line, in the order of the script
	Gate      *Gate     // the gate that ended the run; never nil
	Degraded  string    // why not all could be recorded; empty if it was
	Signal    string    // the signal that ended the run, "SIGTERM"; empty if none did
	Limit     string    // why the run's own budget ended it; empty if it did not
	KeepGoing bool
	// NoTree says why the receipts do not name the files that they are about, where a
	// workspace was given; empty if they do.
	NoTree string
	// Removed names the variables of the environment that commands did not get,
	// because they would change what a check does.
	Removed []string
}

// Count returns the number of lines with verdict v.
func (o *Outcome) Count(v Verdict) int {
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
	case o.Limit != "" || o.Gate.Verdict == GateVacuous || o.Count(Fault) > 0:
		return "fault"
	case o.anyLeaf(func(r *Result) bool { return r.Verdict == Failed && r.Reason != GateRefused }):
		return "failed"
	case o.refused():
		return "refused"
	default:
		return "passed"
	}
}

// ExitStatus maps the outcome to the exit status of the command
// (README has the table): a signal first, then 2 for a fault, 1 for a failure, 3 for a refused gate.
func (o *Outcome) ExitStatus() int {
	switch o.Verdict() {
	case "interrupted":
		switch o.Signal {
		case "SIGHUP":
			return 129
		case "SIGPIPE":
			return 141
		case "SIGTERM":
			return 143
		default:
			return 130
		}
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
	return o.Gate.Verdict == GateRefusal ||
		o.anyLeaf(func(r *Result) bool { return r.Gate != nil && r.Gate.Verdict == GateRefusal })
}

func (o *Outcome) anyLeaf(f func(*Result) bool) bool {
	found := false
	Leaves(o.Results, func(r *Result) { found = found || f(r) })
	return found
}

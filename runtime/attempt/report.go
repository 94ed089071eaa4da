package attempt

import (
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/doctrine"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// A Report is what became of one attempt at a step.
type Report struct {
	Step    *plan.Step
	Verdict schedule.Verdict
	Reason  schedule.Reason
	Detail  string // one line for people: why, and what to do; may be empty
	By      string // ID of the step that it was given up for

	Attempts int       // the number of this one, 1-based; 0 if it never started
	Started  time.Time // zero if it never started
	Duration time.Duration
	Process  *process.Result // nil if no process was started

	Tests    *receipts.Tests   // as the tool counted them; nil if it did not
	Failures diagnose.Failures // of what did not pass, as the tool tells them; none if nothing was recognised
	Cases    []diagnose.Case   // all that Tests counts, by the files of test results that the tool wrote; nil without such files
	Claim    *doctrine.Result  // what the command says of itself; nil if nothing
	Receipt  receipts.Hash     // zero if there is none
	Reused   receipts.Hash     // the receipt whose result stands for a run; zero if it ran

	action   schedule.Action // that it answers
	dispatch int             // of a worker, 1-based; 0 where it was made here
	before   *Report         // of the attempt before; nil for the first
	ticket   int64           // of Receipt
	inputs   receipts.Hash   // digest of the binding's inputs before the attempt; zero for none

	inputsAfter receipts.Hash // and after one that may write, where it differs
	epoch       *epoch        // that it ran in; nil without a workspace

	clean      *receipts.Clean // of the room that it ran in; nil for the working tree
	left       *receipts.Tree  // what another machine says that the files were after it
	changed    []string        // files that changed while it ran, of a step that only reads: in its room, or where they were looked at when it had ended
	handedBack receipts.Hash   // the gate that its agent handed back and that was consumed; zero for none
	moved      string          // its inputs, where they changed while it ran and it only reads
	fresh      bool            // files that git does not track came while it ran
	still      bool            // the files were looked at when it had ended, and neither they nor its inputs had changed
}

// Brief is what the order of steps needs to know.
func (r *Report) Brief() schedule.Brief {
	return schedule.Brief{Verdict: r.Verdict, Reason: r.Reason, By: r.By, Text: r.Detail}
}

// end sets how the attempt ended.
func (r *Report) end(v schedule.Verdict, why schedule.Reason, detail string) {
	r.Verdict, r.Reason, r.Detail = v, why, detail
}

// Trim lets go of the output in memory: all of it, or, of what did not pass, all but the last
// bytes.
func (r *Report) Trim(last int) {
	p := r.Process
	if p == nil {
		return
	}
	p.Stdout.Head, p.Stderr.Head = nil, nil
	if !r.Verdict.Bad() || last == 0 {
		p.Tail = nil
	} else if len(p.Tail) > last {
		p.Tail = append([]byte(nil), p.Tail[len(p.Tail)-last:]...)
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

// A Decision is what became of one gate.
type Decision struct {
	Verdict  GateVerdict
	ID       string          // "g-" and 12 hex digits; empty unless passed
	SHA      receipts.Hash   // of the gate receipt
	Final    bool            // the gate at the end of a whole script
	Level    int             // trust level, 0 for L0
	Members  int             // receipts consumed
	Required int             // of them, required ones
	Reused   int             // of them, those that repeat an earlier result
	Policy   string          // see [receipts.Gate]
	Failures int             // of the commands on exactly these files, in this run or an earlier one
	Early    int             // ends of them before an answer
	Ground   receipts.Ground // the least of where the members ran
	Tree     *receipts.Tree
	Beyond   []string // why Tree is not exact: "PATH: reason", the first of them
	Noted    []string // new files that git does not track, which are or were beyond Tree: lines may have read them, and no clone has them
	Refusals []receipts.Refusal
	Detail   string
}

// Brief is the verdict of the step of a gate.
func (g *Decision) Brief() schedule.Brief {
	switch g.Verdict {
	case GatePassed:
		return schedule.Brief{Verdict: schedule.Passed, Text: "gate " + g.ID}
	case GateDeferred:
		return schedule.Brief{Verdict: schedule.Passed, Text: "deferred"}
	case GateRefusal:
		return schedule.Brief{Verdict: schedule.Failed, Reason: receipts.StopGateRefused, Text: g.Detail}
	case GateVacuous:
		return schedule.Brief{Verdict: schedule.Fault, Reason: receipts.StopVacuous, Text: g.Detail}
	case GateDegraded:
		return schedule.Brief{Verdict: schedule.Skipped, Reason: schedule.NoStore, Text: g.Detail}
	}
	return schedule.Brief{Verdict: schedule.Skipped, Reason: schedule.Barrier, Text: g.Detail}
}

// A Cut is the cancellation cause of an attempt that is ended for a reason of the run: its brief
// is then that of the attempt, "killed: " before the text.
type Cut struct{ schedule.Brief }

func (c Cut) Error() string { return c.Text }

// An Event is something that happened during a run. Those of attempts are here, the others
// are of package engine.
type Event interface{ Event() }

// Started says that an attempt at a leaf step began.
type Started struct {
	Step    *plan.Step
	Attempt int // 1-based
	At      time.Time
}

// Output carries bytes as a step wrote them. Data is reused when the listener returns.
type Output struct {
	Step   *plan.Step
	Stream process.Stream
	Data   []byte
	Cut    bool // the rest of the stream is thrown away, so that what came last may be the beginning of a secret
}

// Durable says that the receipt of an attempt at a step is durable in the store. It
// comes within some milliseconds of the end of the attempt, before or after the end of the
// step, and before that of the run; of a receipt that is lost it never comes. Gates have none:
// theirs is durable when their step is finished.
type Durable struct {
	Step    *plan.Step
	Attempt int // 1-based
	Receipt receipts.Hash
}

// Event marks an event.
func (Started) Event() {}

// Event marks an event.
func (Output) Event() {}

// Event marks an event.
func (Durable) Event() {}

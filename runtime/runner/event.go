package runner

import (
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/process"
)

// An Event is something that happened during a run: one of [RunStarted],
// [StepWaiting], [StepStarted], [StepOutput], [StepFinished], [ReceiptDurable], [RunFinished]. Events reach a
// listener one at a time, in the order in which they happened.
type Event interface{ event() }

// RunStarted is the first event.
type RunStarted struct {
	Plan    *plan.Plan
	Run     string
	Session string
	At      time.Time
}

// StepWaiting says that a step waits for a lock that another holds.
type StepWaiting struct {
	Step *plan.Step
	Lock string
	At   time.Time
}

// StepStarted says that an attempt at a leaf step began.
type StepStarted struct {
	Step    *plan.Step
	Attempt int // 1-based
	At      time.Time
}

// StepOutput carries bytes as a step wrote them. Data is reused when the
// listener returns.
type StepOutput struct {
	Step   *plan.Step
	Stream process.Stream
	Data   []byte
}

// StepFinished says that a step, leaf or composite, has its verdict. Its receipt need not
// be durable yet: see [ReceiptDurable].
type StepFinished struct{ Result *Result }

// ReceiptDurable says that the receipt of an attempt at a step is durable in the store. It
// comes within some milliseconds of the end of the attempt, before or after StepFinished,
// and before RunFinished; of a receipt that is lost it never comes. Gates have none: theirs
// is durable when their step is finished.
type ReceiptDurable struct {
	Step    *plan.Step
	Attempt int // 1-based
	Receipt receipts.Hash
}

// RunFinished is the last event.
type RunFinished struct{ Outcome *Outcome }

func (RunStarted) event()     {}
func (StepWaiting) event()    {}
func (StepStarted) event()    {}
func (StepOutput) event()     {}
func (StepFinished) event()   {}
func (ReceiptDurable) event() {}
func (RunFinished) event()    {}

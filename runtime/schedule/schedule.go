// Package schedule decides in which order the steps of a plan are carried out. It is pure: no
// clock, no goroutine, no I/O, and the same events give the same actions. What comes in is a
// [Shape], which is what order depends on and nothing else of a plan, and then one [Event] after
// another; what goes out are [Action]s, which a driver carries out and answers. Between two events
// the [State] can be saved, and loaded elsewhere.
//
// # Order
//
// Lines come one after the other; with [Rules.Parallel], adjacent lines that only read come at once, as the
// members of a parallel composite do. The members of a composite come in order, or, if it is
// parallel, at once. Leaves take one of the slots that [Rules.Slots] limits, first come, first
// served; a composite holds none while it waits for its members, so that nested composites cannot
// starve each other. A lock is asked for before a slot. A leaf with Apart gets its slot once no other leaf of
// that name has one; what comes after it in the queue does not wait with it.
//
// # The barrier
//
// A leaf that reads comes whatever happened before it, so that one run reports every problem. A leaf
// that writes does not come once a leaf before it has not passed, and not before all receipts so far
// are durable. [Rules.FailFast] stops at the first failure; [Rules.KeepGoing] lifts the barrier. What has
// OnFailure comes only after a failure, and then also if it writes, once all receipts are durable.
//
// # Clean-up
//
// A member with Always comes after the other members of its composite, whatever became of them and
// even if the run is cut short, if one of them was started at all; a line with it comes at its place
// in any case. What cannot have its lock counts as not started: it is a fault, and the clean-up of a
// composite that is denied its lock is not needed.
//
// # Gates
//
// A gate is a leaf. The gate that ends the run comes last; it is that of the last line, if that
// line is a gate.
package schedule

import (
	"fmt"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// A Shape is what the order of a plan depends on.
type Shape struct {
	Nodes []Node `json:"nodes"` // the lines, in order
}

// What a shape from outside may have: steps, and levels of them. No script comes near.
const (
	maxSteps = 1 << 14
	maxDepth = 64
)

// Check returns an error where a shape has more than what anybody is to carry out for others.
func (s Shape) Check() error {
	left := maxSteps
	var check func(list []Node, depth int) error
	check = func(list []Node, depth int) error {
		if left -= len(list); left < 0 {
			return fmt.Errorf("schedule: more than %d steps", maxSteps)
		}
		for i := range list {
			if m := list[i].Members; len(m) > 0 && depth == maxDepth {
				return fmt.Errorf("schedule: steps of more than %d levels", maxDepth)
			} else if err := check(m, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return check(s.Nodes, 1)
}

// A Node is a step.
type Node struct {
	ID      string `json:"id"`
	Group   bool   `json:"group,omitempty"` // a composite: its members are carried out, and it is not
	Members []Node `json:"members,omitempty"`

	Parallel  bool          `json:"parallel,omitempty"`   // of a composite: its members come at once
	Writes    bool          `json:"writes,omitempty"`     // of a leaf: it may change files
	Always    bool          `json:"always,omitempty"`     // it comes in any case; as a member, after the others
	OnFailure bool          `json:"on_failure,omitempty"` // it, or each of its members, comes only after a failure
	Gate      bool          `json:"gate,omitempty"`       // of a leaf
	Here      bool          `json:"here,omitempty"`       // of a leaf: it asks the store, and so is carried out beside it
	Lock      string        `json:"lock,omitempty"`       // that it and its members hold; empty for none
	Apart     string        `json:"apart,omitempty"`      // of a leaf: no other leaf of that name is carried out meanwhile; empty for none
	Queue     string        `json:"queue,omitempty"`      // of a leaf: of the workers that carry it out; empty for that of the run
	Wait      time.Duration `json:"wait,omitempty"`       // for the lock, at most
	Retries   int           `json:"retries,omitempty"`    // further attempts after a failure
}

// Rules say how a shape is carried out.
type Rules struct {
	Slots     int      `json:"slots"` // leaves at the same time; at least 1
	FailFast  bool     `json:"fail_fast,omitempty"`
	KeepGoing bool     `json:"keep_going,omitempty"`
	Parallel  bool     `json:"parallel,omitempty"` // adjacent lines that only read come at once
	Held      []string `json:"held,omitempty"`     // locks that the run's starter holds for it
}

// An Op is a kind of action.
type Op string

// The actions. Those with an asterisk are answered by one event with their Seq.
const (
	Start    Op = "start"    // * carry out an attempt at a leaf; with Why, record that it cannot be started
	Gate     Op = "gate"     // * decide a gate
	Acquire  Op = "acquire"  // * take a lock
	Snapshot Op = "snapshot" // * a group begins, or, with After, has ended: look at the files if need be
	Sync     Op = "sync"     // * wait until all receipts so far are durable
	Release  Op = "release"  // give a lock back
	Kill     Op = "kill"     // end all attempts and waits but those with Always
	Finish   Op = "finish"   // a step, leaf or composite, has its verdict
)

// An Action is what a driver has to do.
type Action struct {
	Seq int    `json:"seq,omitempty"` // 1-based; 0 if no answer is wanted
	Op  Op     `json:"op"`
	ID  string `json:"id,omitempty"` // of the step; empty for Kill, and for a gate that no line asks for; of Snapshot also "FIRST-LAST", of lines that come at once

	Attempt int      `json:"attempt,omitempty"` // of Start, 1-based
	Alone   bool     `json:"alone,omitempty"`   // of Start: no other step runs meanwhile
	Share   int      `json:"share,omitempty"`   // of Start: of the slots, for a run that it starts itself; 0 for all
	Locks   []string `json:"locks,omitempty"`   // of Start: those that it holds

	// Always is the outermost step above this one, or this one, that comes in any case; empty
	// for none. Kill does not concern what has it.
	Always string `json:"always,omitempty"`

	Lock   string `json:"lock,omitempty"`   // of Acquire and Release
	Writes bool   `json:"writes,omitempty"` // of Snapshot: a member of the group may change files
	After  bool   `json:"after,omitempty"`  // of Snapshot
	Why    string `json:"why,omitempty"`    // of Start, and of a gate that is not to be decided

	Final bool    `json:"final,omitempty"` // of Gate: it ends the run
	Ended []Ended `json:"ended,omitempty"` // of Gate: the leaves of the lines before it, in order

	Brief Brief `json:"brief,omitzero"` // of Finish, and of Kill: the reason
}

// An Ended is a leaf that has its verdict.
type Ended struct {
	ID      string  `json:"id"`
	Verdict Verdict `json:"verdict"`
	Reason  Reason  `json:"reason,omitempty"`
}

// An Event answers an action, or, with Seq 0, says that the run is cut short.
type Event struct {
	Seq int `json:"seq,omitempty"`
	// Op and ID are those of the action that it answers. Where Op is not empty, it answers no other one.
	Op Op     `json:"op,omitempty"`
	ID string `json:"id,omitempty"`
	// Brief is what became of an attempt or a gate. Of a run that is cut short it has the
	// reason and the text.
	Brief Brief `json:"brief,omitzero"`
	// Last says that a failed attempt is not repeated: the time of its step is over.
	Last bool `json:"last,omitempty"`
	// Why says why a lock cannot be had, or why receipts are not durable; empty if all is well.
	Why string `json:"why,omitempty"`
}

// A Brief is what the order of steps needs to know of what became of one.
type Brief struct {
	Verdict Verdict `json:"verdict,omitempty"`
	Reason  Reason  `json:"reason,omitempty"`
	By      string  `json:"by,omitempty"`   // ID of the step that this one was given up for
	Text    string  `json:"text,omitempty"` // one line for people
}

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
// the gate count against the lines that follow.
func (v Verdict) Bad() bool { return v == Failed || v == Fault }

// A Reason refines a verdict. Those that a receipt can carry are [receipts.StopReason];
// the others belong to steps that never started.
type Reason = receipts.StopReason

// Reasons of a step that never started.
const (
	Barrier   Reason = "barrier"    // it changes state, and By did not pass
	NoFailure Reason = "no_failure" // it runs only after a failure
	NotNeeded Reason = "not_needed" // it cleans up, and nothing before it was started
	Refused   Reason = "refused"    // the gate By refused
	NoStore   Reason = "degraded"   // it changes state, and nothing can be recorded
)

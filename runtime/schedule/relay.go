package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// A Relay carries out a shape whose attempts are made elsewhere, and whose events come in by way of a history that several
// processes read: each of them has a Relay, and all of them come to the same state, because [Relay.Take] puts what arrived
// together into one order. It says nothing that depends on who asks.
//
// A snapshot before or after steps that only read is nothing to wait for: a Relay answers it itself, and the action comes
// with Seq 0.
type Relay struct {
	state    *State
	dispatch map[int]int // of an open Start, by Seq: how often it was handed out, where that is more than once
}

// MaxDispatch is how many workers an attempt at a step that only reads is handed to, one after the other.
const MaxDispatch = 3

// An Arrival is something that a history says. Exactly one of Cut, Lost and the event is meant.
type Arrival struct {
	Event
	Dispatch int    `json:"dispatch,omitempty"` // of an attempt: which one reports; 0 for what the orchestrator answers itself
	Lost     string `json:"lost,omitempty"`     // of an attempt: why its worker will not report
	Cut      bool   `json:"cut,omitempty"`      // the run is cut short
}

// NewRelay returns the relay of a shape that nothing is carried out of yet.
func NewRelay(shape Shape, rules Rules) *Relay {
	return &Relay{state: New(shape, rules), dispatch: make(map[int]int)}
}

// LoadRelay returns the relay of a state that [Relay.Save] wrote. No attempt was under way then.
func LoadRelay(text []byte) (*Relay, error) {
	s, err := Load(text)
	if err != nil {
		return nil, err
	}
	return &Relay{state: s, dispatch: make(map[int]int)}, nil
}

// Save returns the state of a relay none of whose attempts is under way.
func (r *Relay) Save() ([]byte, error) { return r.state.Save() }

// Begin returns the first actions.
func (r *Relay) Begin() []Action { return r.settle(r.state.Begin()) }

// Over reports whether every step has its verdict, and the last gate was decided.
func (r *Relay) Over() bool { return r.state.Over() }

// Pending returns the actions that wait for an arrival.
func (r *Relay) Pending() []Action { return r.state.Pending() }

// Sort puts what arrived together into the order in which it is taken: what cuts the run short comes first, so that
// what was killed starts nothing, then by the numbers of the actions.
func Sort(list []Arrival) {
	slices.SortStableFunc(list, func(a, b Arrival) int {
		if a.Cut != b.Cut {
			if a.Cut {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Dispatch, b.Dispatch))
	})
}

// Take takes in one arrival, in the order of [Sort], and returns what is to be done. An arrival that answers no open
// action is nothing: one that comes twice, or late, changes nothing; taken says whether it did. An attempt whose worker
// is lost is handed out again, as the same action with the next number of dispatch, unless it stays on one worker.
func (r *Relay) Take(a Arrival) (actions []Action, taken bool) {
	if a.Cut {
		a.Seq = 0
		actions, _ = r.state.Apply(a.Event)
		return r.settle(actions), true
	}
	i := slices.IndexFunc(r.state.Open, func(o Action) bool { return o.Seq == a.Seq })
	if i < 0 {
		return nil, false
	}
	open := r.state.Open[i]
	if a.Dispatch > 0 != r.Remote(open) || a.Dispatch > 0 && (open.Op != Start || a.Dispatch != r.Dispatch(a.Seq)) {
		return nil, false
	}
	if a.Lost != "" {
		again := a.Dispatch < MaxDispatch && !r.Stays(open.ID) && (r.state.Stop == nil || open.Always != "")
		if again {
			r.dispatch[a.Seq] = a.Dispatch + 1
			return []Action{open}, true
		}
		a.Event = Event{Seq: a.Seq, Last: true, Brief: LostBrief(a)}
	}
	delete(r.dispatch, a.Seq)
	if stop := r.state.Stop; stop != nil && stop.Reason == receipts.StopFailFast && a.Brief.Verdict == Fault && a.Brief.Reason == receipts.StopInterrupted {
		a.Brief = Brief{Verdict: Cancelled, Reason: stop.Reason, By: stop.By, Text: "killed: cancelled because " + stop.By + " did not pass"}
	}
	actions, err := r.state.Apply(a.Event)
	if err != nil {
		return nil, false
	}
	return r.settle(actions), true
}

// LostBrief is what became of an attempt that is not handed out again.
func LostBrief(a Arrival) Brief {
	return Brief{Verdict: Fault, Reason: receipts.StopWorkerLost, Text: fmt.Sprintf("its worker is lost (dispatch %d): %s", a.Dispatch, a.Lost)}
}

// Remote reports whether an action is carried out on another machine.
func (r *Relay) Remote(a Action) bool {
	n := r.state.byID[a.ID]
	return a.Op == Start && a.Why == "" && n != nil && !n.Here
}

// Dispatch is the number of the dispatch of an open attempt, 1-based.
func (r *Relay) Dispatch(seq int) int { return max(r.dispatch[seq], 1) }

// Queue is that of the workers that carry out a leaf; empty for that of the run.
func (r *Relay) Queue(id string) string {
	if n := r.state.byID[id]; n != nil {
		return n.Queue
	}
	return ""
}

// Wait is how long a step waits for its lock, at most.
func (r *Relay) Wait(id string) time.Duration {
	if n := r.state.byID[id]; n != nil {
		return n.Wait
	}
	return 0
}

// GateBefore is the last gate that is decided before a leaf starts; empty if there is none, or the leaf comes in any case. A gate that comes
// only after a failure is not among them. Gates are lines: no composite has one.
func (r *Relay) GateBefore(id string) (gate string) {
	line := r.state.byID[id]
	if line == nil || r.state.always(line) != "" {
		return ""
	}
	for line.parent != nil && !line.parent.batch {
		line = line.parent
	}
	for _, n := range r.state.lines {
		if n == line {
			break
		}
		if n.Gate && !n.OnFailure {
			gate = n.ID
		}
	}
	return gate
}

// Bars reports whether what became of a gate keeps a leaf after it from starting.
func (r *Relay) Bars(b Brief, id string) bool {
	n := r.state.byID[id]
	return b.Verdict != Passed && (n == nil || b.Reason == receipts.StopGateRefused || n.Writes && !r.state.rules.KeepGoing && !onFailure(n))
}

// Writes reports whether a leaf may change files.
func (r *Relay) Writes(id string) bool {
	n := r.state.byID[id]
	return n != nil && n.Writes && !n.Gate && !n.Group
}

// Stays reports whether a leaf is carried out on the one worker that the run has for what changes files, and what comes
// after that: what such a step leaves, files that no snapshot has among it, is on that worker alone.
func (r *Relay) Stays(id string) bool {
	return r.Writes(id) || slices.ContainsFunc(r.state.all, func(n *node) bool { return n.Attempt > 0 && !n.Here && r.Writes(n.ID) })
}

// settle answers what is nothing to wait for.
func (r *Relay) settle(actions []Action) []Action {
	for i := 0; i < len(actions); i++ {
		if a := actions[i]; a.Op == Snapshot && !a.Writes {
			more, err := r.state.Apply(Event{Seq: a.Seq})
			if err != nil {
				continue // it is open: the state has just handed it out
			}
			actions[i].Seq = 0
			actions = append(actions, more...)
		}
	}
	return actions
}

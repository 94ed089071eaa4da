package schedule

import (
	"fmt"
	"slices"

	"github.com/command-dialect/dialect/receipts"
)

// A State is how far a shape has been carried out. Its methods are not for several goroutines at
// once.
type State struct {
	rules Rules
	lines []*node
	all   []*node // parents before their members, and batches last
	byID  map[string]*node
	out   []Action // of the call that runs
	turn  turn     // of nextLine
	progress
}

// A progress is what of a State changes.
type progress struct {
	Open    []Action `json:"open"`    // that were not answered yet, in order
	Seq     int      `json:"seq"`     // of the last action
	Free    int      `json:"free"`    // slots
	Queue   []string `json:"queue"`   // leaves that wait for a slot
	Line    int      `json:"line"`    // the index of the one that is carried out
	First   string   `json:"first"`   // the first leaf that did not pass
	Refusal string   `json:"refusal"` // the first gate that refused
	Stop    *Brief   `json:"stop"`    // why nothing starts any more but what comes in any case; nil if it does
	Done    bool     `json:"done"`
}

type node struct {
	*Node
	parent  *node
	members []*node
	batch   bool // see [State.batch]
	turn    turn // of advance
	status
}

// A status is what of a node changes.
type status struct {
	Next    int    `json:"next,omitempty"`    // of a composite: the index of the member to enter
	Left    int    `json:"left,omitempty"`    // of a composite: members that have begun and not ended
	Final   bool   `json:"final,omitempty"`   // of a composite: its clean-up has begun
	Outer   bool   `json:"outer,omitempty"`   // of a composite: the outermost parallel one, which has snapshots
	Locked  bool   `json:"locked,omitempty"`  // it has a lock to give back
	Denied  string `json:"denied,omitempty"`  // why it, or a composite above it, cannot be started
	Attempt int    `json:"attempt,omitempty"` // of a leaf: the last one
	Started bool   `json:"started,omitempty"` // it, or a member, was started
	Ended   bool   `json:"ended,omitempty"`
	Brief   Brief  `json:"brief,omitzero"`
}

// New returns the state of a shape that nothing is carried out of yet.
func New(shape Shape, rules Rules) *State {
	rules.Slots = max(rules.Slots, 1)
	s := &State{rules: rules, byID: make(map[string]*node)}
	s.Free = rules.Slots
	s.lines = s.nodes(shape.Nodes, nil)
	if rules.Parallel {
		s.batch()
	}
	return s
}

// batch puts adjacent lines that only read below a parallel composite of their own, which has no verdict: its
// end is that of the lines.
func (s *State) batch() {
	for i := 0; i < len(s.lines); i++ {
		from := i
		for i < len(s.lines) && onlyReads(s.lines[i]) {
			i++
		}
		if i-from < 2 {
			continue
		}
		b := &node{batch: true, Node: &Node{ID: s.lines[from].ID + "-" + s.lines[i-1].ID, Group: true, Parallel: true}, members: slices.Clone(s.lines[from:i])}
		for _, n := range b.members {
			n.parent = b
		}
		s.all, s.byID[b.ID] = append(s.all, b), b
	}
}

// Together returns the lines that come at once under [Rules.Parallel], each with the name that all of them have in common.
func Together(shape Shape, rules Rules) map[string]string {
	groups := make(map[string]string)
	for _, n := range New(shape, rules).all {
		if n.batch {
			for _, m := range n.members {
				groups[m.ID] = n.ID
			}
		}
	}
	return groups
}

// onlyReads reports whether a line and all its members only read, and depend on no line before it.
func onlyReads(n *node) bool {
	return !n.Gate && !n.OnFailure && (n.Group || !n.Writes) && (n.parent != nil || !n.Always) &&
		!slices.ContainsFunc(n.members, func(m *node) bool { return !onlyReads(m) })
}

func (s *State) nodes(list []Node, parent *node) (nodes []*node) {
	for i := range list {
		n := &node{Node: &list[i], parent: parent}
		s.all, s.byID[n.ID] = append(s.all, n), n
		n.members = s.nodes(n.Node.Members, n)
		nodes = append(nodes, n)
	}
	return nodes
}

// Begin returns the first actions. It is called once, and before [State.Apply] but for a run that is
// cut short before it begins.
func (s *State) Begin() []Action {
	s.nextLine()
	return s.flush()
}

// Apply takes in an event and returns what is to be done, each action once. An event that answers
// no open action is an error, and changes nothing.
func (s *State) Apply(e Event) ([]Action, error) {
	if e.Seq == 0 {
		if s.Stop == nil && !s.Done {
			s.stop(e.Brief)
		}
		return s.flush(), nil
	}
	i := slices.IndexFunc(s.Open, func(a Action) bool { return a.Seq == e.Seq })
	if i < 0 {
		return nil, fmt.Errorf("schedule: no action %d waits for an answer", e.Seq)
	}
	a := s.Open[i]
	if e.Op != "" && (e.Op != a.Op || e.ID != a.ID) {
		return nil, fmt.Errorf("schedule: action %d is not to %s %q", e.Seq, e.Op, e.ID)
	}
	s.Open = slices.Delete(s.Open, i, i+1)
	n := s.byID[a.ID]
	switch a.Op {
	case Acquire:
		if n.Locked = e.Why == ""; !n.Locked {
			n.Denied = fmt.Sprintf("cannot take the lock %q: %s", n.Lock, e.Why)
		}
		s.unlocked(n)
	case Snapshot:
		if a.After {
			s.sumUp(n)
		} else {
			s.spread(n)
		}
	case Sync:
		brief, up := s.givenUp(n)
		switch {
		case up:
		case e.Why != "" && s.always(n) == "":
			brief, up = Brief{Verdict: Skipped, Reason: NoStore, Text: "changes state, and no receipt can be kept: " + e.Why}, true
		}
		if up {
			s.leave(n, brief)
		} else {
			s.start(n)
		}
	case Start:
		s.reported(n, e.Brief, e.Last)
	case Gate:
		s.decided(n, a.Final, e.Brief)
	}
	return s.flush(), nil
}

// Pending returns the actions that wait for an answer: after a Load they are to be carried out
// again.
func (s *State) Pending() []Action { return slices.Clone(s.Open) }

// Over reports whether every step has its verdict, and the last gate was decided.
func (s *State) Over() bool { return s.Done }

// flush gives the slots away, and returns what has to be done since the last time.
func (s *State) flush() []Action {
	for s.Free > 0 {
		i := s.ready()
		if i < 0 {
			break
		}
		n := s.byID[s.Queue[i]]
		copy(s.Queue[1:], s.Queue[:i])
		s.Queue = s.Queue[1:]
		s.Free--
		if brief, up := s.givenUp(n); up {
			s.leave(n, brief)
		} else if s.always(n) != "" || n.Writes && !s.rules.KeepGoing {
			s.do(Action{Op: Sync, ID: n.ID}) // state is changed only on durable evidence of what came before
		} else {
			s.start(n)
		}
	}
	out := s.out
	s.out = nil
	return out
}

// ready returns the index of the first leaf in the queue that a slot may be given to; -1 if there is none.
func (s *State) ready() int {
	var busy map[string]bool
	for i, id := range s.Queue {
		n := s.byID[id]
		if n.Apart != "" && busy == nil {
			busy = make(map[string]bool)
			for _, a := range s.Open {
				if a.Op == Start || a.Op == Sync { // the leaf has a slot
					busy[s.byID[a.ID].Apart] = true
				}
			}
		}
		if n.Apart == "" || !busy[n.Apart] {
			return i
		}
	}
	return -1
}

// do hands out an action.
func (s *State) do(a Action) {
	switch a.Op {
	case Release, Kill, Finish:
	default:
		s.Seq++
		a.Seq = s.Seq
		s.Open = append(s.Open, a)
	}
	s.out = append(s.out, a)
}

// A turn has what would call itself come once more after it has returned instead: the stack does not grow with the number of steps
// that end as soon as they are entered.
type turn struct{ on, more bool }

func (t *turn) take(do func()) {
	if t.more = true; t.on {
		return
	}
	for t.on = true; t.more; {
		t.more = false
		do()
	}
	t.on = false
}

// nextLine enters the next line, or asks for the gate that ends the run.
func (s *State) nextLine() { s.turn.take(s.enterLine) }

func (s *State) enterLine() {
	last := len(s.lines) - 1
	switch {
	case s.Line < last || s.Line == last && !s.lines[last].Gate:
		n := s.lines[s.Line]
		if n.parent != nil {
			n = n.parent
		}
		s.enter(n)
		return
	case s.Line > last:
		s.gate("", true)
	default:
		s.gate(s.lines[last].ID, true)
	}
}

// gate asks for the decision of a gate.
func (s *State) gate(id string, final bool) {
	a := Action{Op: Gate, ID: id, Final: final}
	if final && s.Refusal != "" {
		a.Why = "the gate of step " + s.Refusal + " refused"
	}
	var leaves func(nodes []*node)
	leaves = func(nodes []*node) {
		for _, n := range nodes {
			if n.Group {
				leaves(n.members)
			} else {
				a.Ended = append(a.Ended, Ended{n.ID, n.Brief.Verdict, n.Brief.Reason})
			}
		}
	}
	leaves(s.lines[:min(s.Line, len(s.lines))])
	s.do(a)
}

// enter begins a step.
func (s *State) enter(n *node) {
	if n.parent != nil {
		n.Denied = n.parent.Denied
	}
	stopped := s.Stop != nil && s.always(n) == ""
	if n.Lock != "" && n.Denied == "" && !stopped && !slices.Contains(s.held(n.parent), n.Lock) {
		s.do(Action{Op: Acquire, ID: n.ID, Lock: n.Lock, Always: s.always(n)})
		return
	}
	s.unlocked(n)
}

// unlocked goes on with a step that has its lock, or will never have it.
func (s *State) unlocked(n *node) {
	switch {
	case !n.Group:
		s.Queue = append(s.Queue, n.ID)
	case !n.Parallel:
		s.advance(n)
	case s.grouped(n) || n.Denied != "" || s.Stop != nil && s.always(n) == "":
		s.spread(n)
	default:
		n.Outer = true
		s.do(Action{Op: Snapshot, ID: n.ID, Writes: writes(n)})
	}
}

// spread enters the members of a parallel composite.
func (s *State) spread(n *node) {
	for _, m := range n.members {
		if !m.Always {
			n.Left++
		}
	}
	n.Left++ // keeps n from ending in the loop
	for _, m := range n.members {
		if !m.Always {
			s.enter(m)
		}
	}
	n.Left--
	s.advance(n)
}

// advance goes on with a composite none of whose members is being carried out.
func (s *State) advance(n *node) { n.turn.take(func() { s.enterMember(n) }) }

func (s *State) enterMember(n *node) {
	if n.Left > 0 {
		return
	}
	for ; n.Next < len(n.members); n.Next++ {
		m := n.members[n.Next]
		switch {
		case m.Ended || m.Always != n.Final:
		case !n.Final:
			n.Left++
			s.enter(m)
			return // m goes on with n
		case !n.Started:
			s.unneeded(m)
		default:
			n.Left++
			s.enter(m)
			return
		}
	}
	switch {
	case !n.Final:
		n.Final, n.Next = true, 0
		s.advance(n)
	case n.Outer && writes(n):
		s.do(Action{Op: Snapshot, ID: n.ID, Writes: true, After: true})
	default:
		s.sumUp(n)
	}
}

// unneeded ends a step, and its members, as not needed.
func (s *State) unneeded(n *node) {
	for _, m := range n.members {
		s.unneeded(m)
	}
	n.Ended, n.Brief = true, Brief{Verdict: Skipped, Reason: NotNeeded, Text: "nothing before it was started"}
	s.do(Action{Op: Finish, ID: n.ID, Brief: n.Brief})
}

// givenUp decides whether a leaf is not to be started.
func (s *State) givenUp(n *node) (b Brief, up bool) {
	skip := func(why Reason, by, text string) (Brief, bool) {
		return Brief{Verdict: Skipped, Reason: why, By: by, Text: text}, true
	}
	switch {
	case s.always(n) != "":
		return Brief{}, false
	case s.Stop != nil && s.Stop.Reason == receipts.StopFailFast:
		return skip(s.Stop.Reason, s.Stop.By, s.Stop.Text)
	case s.Stop != nil:
		return Brief{Verdict: Cancelled, Reason: s.Stop.Reason, Text: s.Stop.Text}, true
	case s.Refusal != "":
		return skip(Refused, s.Refusal, "the gate of step "+s.Refusal+" refused")
	case onFailure(n) && s.First == "":
		return skip(NoFailure, "", "runs only after a failure")
	case onFailure(n), s.rules.KeepGoing, !n.Writes:
		return Brief{}, false
	case s.First != "":
		return skip(Barrier, s.First, "changes state, and step "+s.First+" did not pass")
	}
	return Brief{}, false
}

// start asks for the next attempt at a leaf.
func (s *State) start(n *node) {
	n.Attempt++
	if n.Denied == "" {
		for up := n; up != nil; up = up.parent {
			up.Started = true
		}
	}
	if n.Gate && n.Denied == "" {
		s.gate(n.ID, false)
		return
	}
	s.do(Action{
		Op: Start, ID: n.ID, Attempt: n.Attempt, Alone: !s.grouped(n.parent), Share: s.share(n), Locks: s.held(n), Always: s.always(n), Why: n.Denied,
	})
}

// reported takes in what became of an attempt.
func (s *State) reported(n *node, b Brief, last bool) {
	_, up := s.givenUp(n) // what it waits for may have failed meanwhile
	switch {
	case b.Verdict == Failed && !last && n.Attempt <= n.Retries && !up:
		s.start(n)
		return
	case b.Verdict == Passed && n.Attempt > 1:
		b.Verdict, b.Text = Flaky, fmt.Sprintf("passed at attempt %d of %d", n.Attempt, n.Retries+1)
	}
	s.leave(n, b)
}

// decided takes in the decision of a gate.
func (s *State) decided(n *node, final bool, b Brief) {
	if b.Reason == Barrier {
		b.By = s.First
	}
	switch {
	case !final:
		s.leave(n, b)
	case n != nil:
		s.finish(n, b)
	}
	s.Done = final
}

// leave ends a leaf that has a slot.
func (s *State) leave(n *node, b Brief) {
	s.Free++
	s.finish(n, b)
}

// finish gives a step its verdict, and goes on with what waits for it.
func (s *State) finish(n *node, b Brief) {
	n.Ended, n.Brief = true, b
	if !n.Group && b.Verdict.Bad() {
		switch {
		case b.Reason == receipts.StopGateRefused:
			if s.Refusal == "" {
				s.Refusal = n.ID
			}
		case s.First == "":
			s.First = n.ID
		}
	}
	s.do(Action{Op: Finish, ID: n.ID, Brief: b})
	if s.rules.FailFast && s.First == n.ID && s.Stop == nil {
		s.stop(Brief{Reason: receipts.StopFailFast, By: n.ID, Text: "--fail-fast: step " + n.ID + " did not pass"})
	}
	if n.Locked {
		n.Locked = false
		s.do(Action{Op: Release, ID: n.ID, Lock: n.Lock})
	}
	switch p := n.parent; {
	case p != nil:
		p.Left--
		s.advance(p)
	case !(n.Gate && s.Line == len(s.lines)-1):
		s.Line++
		s.nextLine()
	}
}

// stop keeps from starting whatever does not come in any case, and ends what runs.
func (s *State) stop(why Brief) {
	s.Stop = &why
	s.do(Action{Op: Kill, Brief: why})
}

// sumUp gives a composite the verdict of its members: the gravest counts.
func (s *State) sumUp(n *node) {
	if n.batch {
		s.Line += len(n.members)
		s.nextLine()
		return
	}
	rank := func(b Brief) int {
		switch {
		case b.Verdict == Fault:
			return 6
		case b.Verdict == Failed:
			return 5
		case b.Verdict == Cancelled:
			return 4
		case b.Verdict == Skipped && b.Reason != NoFailure && b.Reason != NotNeeded:
			return 3
		case b.Verdict == Flaky:
			return 2
		case b.Verdict == Passed:
			return 1
		}
		return 0
	}
	if len(n.members) == 0 {
		s.finish(n, Brief{Verdict: Fault, Reason: receipts.StopVacuous, Text: "the composite has no members"})
		return
	}
	worst := n.members[0].Brief
	for _, m := range n.members[1:] {
		if rank(m.Brief) > rank(worst) {
			worst = m.Brief
		}
	}
	s.finish(n, worst)
}

// always returns the outermost step, n or above it, that comes in any case.
func (s *State) always(n *node) (id string) {
	for ; n != nil; n = n.parent {
		if n.Always {
			id = n.ID
		}
	}
	return id
}

// onFailure reports whether n, or a composite above it, comes only after a failure.
func onFailure(n *node) bool {
	for ; n != nil; n = n.parent {
		if n.OnFailure {
			return true
		}
	}
	return false
}

// grouped reports whether n, or a composite above it, is a parallel one.
func (s *State) grouped(n *node) bool {
	for ; n != nil; n = n.parent {
		if n.Outer {
			return true
		}
	}
	return false
}

// share is what the run of a leaf may take of the slots: below a parallel composite each of
// those that can run at the same time has as much.
func (s *State) share(n *node) int {
	for p := n.parent; p != nil; p = p.parent {
		if p.Outer {
			return max(1, s.rules.Slots/min(s.rules.Slots, width(p)))
		}
	}
	return 0
}

// held lists the locks that a step holds, those of the composites above it too.
func (s *State) held(n *node) []string {
	held := slices.Clone(s.rules.Held)
	var path []*node
	for ; n != nil; n = n.parent {
		path = append(path, n)
	}
	for _, n := range slices.Backward(path) {
		if n.Lock != "" && !slices.Contains(held, n.Lock) {
			held = append(held, n.Lock)
		}
	}
	return held
}

// width counts the leaves below a composite that may run at the same time.
func width(n *node) (sum int) {
	for _, m := range n.members {
		switch {
		case m.Always:
		case m.Group && m.Parallel:
			sum += width(m)
		default:
			sum++
		}
	}
	return max(sum, 1)
}

// writes reports whether n or a member of it may change files.
func writes(n *node) bool {
	return !n.Group && n.Writes && !n.Gate || slices.ContainsFunc(n.members, writes)
}

package schedule

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// random makes a shape of some lines.
func random(r *rand.Rand) Shape {
	var make func(id string, depth int) Node
	make = func(id string, depth int) Node {
		n := Node{ID: id, Always: r.IntN(8) == 0}
		if r.IntN(6) == 0 {
			n.Lock = string(rune('x' + r.IntN(2)))
		}
		if depth < 4 && r.IntN(3) == 0 {
			n.Group, n.Parallel, n.OnFailure = true, r.IntN(2) == 0, r.IntN(8) == 0
			for i := range r.IntN(5) {
				n.Members = append(n.Members, make(fmt.Sprintf("%s.%d", id, i+1), depth+1))
			}
			return n
		}
		switch n.Writes = r.IntN(3) == 0; {
		case r.IntN(8) == 0:
			n.Gate, n.Writes = true, false
		case r.IntN(6) == 0:
			n.OnFailure = true
		case r.IntN(5) == 0:
			n.Retries = 1 + r.IntN(2)
		}
		if !n.Gate && strings.Contains("13", id[len(id)-1:]) { // not by a number of r: the shapes without are those of before
			n.Apart = "a"
		}
		return n
	}
	var s Shape
	for i := range r.IntN(7) {
		s.Nodes = append(s.Nodes, make(fmt.Sprint(i+1), 0))
	}
	return s
}

// answer makes up what became of an action.
func answer(r *rand.Rand, a Action) Event {
	e := Event{Seq: a.Seq}
	switch a.Op {
	case Start:
		e.Brief.Verdict = []Verdict{Passed, Passed, Passed, Failed, Fault}[r.IntN(5)]
		if a.Why != "" {
			e.Brief = Brief{Verdict: Fault, Reason: receipts.StopLocked, Text: a.Why}
		}
	case Gate:
		e.Brief = []Brief{{Verdict: Passed}, {Verdict: Passed}, {Verdict: Failed, Reason: receipts.StopGateRefused}, {Verdict: Skipped, Reason: Barrier}}[r.IntN(4)]
	case Acquire, Sync:
		if r.IntN(8) == 0 {
			e.Why = "no"
		}
	}
	return e
}

// A model is what the rules of the package say, kept apart from how it does what it does.
type model struct {
	t       *testing.T
	shape   map[string]*Node
	up      map[string]string // the step above
	rules   Rules
	open    []Action
	runs    map[string]bool // leaves that an attempt, a gate or a wait for the disk is open of
	locks   map[string]bool
	ended   map[string]Brief
	started map[string]bool
	bad     bool // a leaf did not pass
	stopped bool
	final   bool
}

func newModel(t *testing.T, shape Shape, rules Rules) *model {
	m := &model{t: t, shape: make(map[string]*Node), up: make(map[string]string), rules: rules, runs: make(map[string]bool), locks: make(map[string]bool), ended: make(map[string]Brief), started: make(map[string]bool)}
	var walk func(list []Node, up string)
	walk = func(list []Node, up string) {
		for i := range list {
			n := &list[i]
			m.shape[n.ID], m.up[n.ID] = n, up
			walk(n.Members, n.ID)
		}
	}
	walk(shape.Nodes, "")
	return m
}

func (m *model) always(id string) bool {
	for ; id != ""; id = m.up[id] {
		if m.shape[id].Always {
			return true
		}
	}
	return false
}

func (m *model) onFailure(id string) bool {
	for ; id != ""; id = m.up[id] {
		if m.shape[id].OnFailure {
			return true
		}
	}
	return false
}

// did takes in an action, and says where it is against the rules.
func (m *model) did(a Action) {
	t, n := m.t, m.shape[a.ID]
	if a.Seq != 0 {
		m.open = append(m.open, a)
	}
	if n != nil && a.Op != Release && a.Op != Snapshot {
		if _, over := m.ended[a.ID]; over {
			t.Errorf("%s of %s, which has its verdict", a.Op, a.ID)
		}
	}
	switch a.Op {
	case Start, Sync:
		m.runs[a.ID] = true
		if len(m.runs) > m.rules.Slots {
			t.Errorf("%d leaves at once, on %d slots", len(m.runs), m.rules.Slots)
		}
		for other := range m.runs {
			if n.Apart != "" && other != a.ID && m.shape[other].Apart == n.Apart {
				t.Errorf("%s and %s at once, which are to be apart", a.ID, other)
			}
			if a, b := lineOf(a.ID), lineOf(other); a != b && (!m.rules.Parallel || !m.reads(min(a, b), max(a, b))) {
				t.Errorf("lines %d and %d at once", a, b)
			}
		}
		if a.Op == Sync {
			return
		}
		if m.stopped && !m.always(a.ID) {
			t.Errorf("%s is started after the end", a.ID)
		}
		if n.Writes && !m.onFailure(a.ID) && m.bad && !m.rules.KeepGoing && !m.always(a.ID) {
			t.Errorf("%s writes after a failure", a.ID)
		}
		if m.onFailure(a.ID) && !m.bad && !m.always(a.ID) {
			t.Errorf("%s comes without a failure", a.ID)
		}
		for lock := range m.held(a.ID) {
			if a.Why == "" && !slices.Contains(a.Locks, lock) {
				t.Errorf("%s lacks the lock %s", a.ID, lock)
			}
		}
		if a.Alone && a.Why == "" && len(m.runs) > 1 {
			t.Errorf("%s is called alone, and is not: %v", a.ID, m.runs)
		}
		m.started[a.ID] = m.started[a.ID] || a.Why == ""
		if want := n.Retries + 1; a.Attempt > want {
			t.Errorf("attempt %d at %s, of %d", a.Attempt, a.ID, want)
		}
	case Gate:
		if m.final {
			t.Error("a gate after the last")
		}
		m.final = a.Final
		if len(m.runs) > 0 && a.Final {
			t.Errorf("the last gate while %v run", m.runs)
		}
		if !a.Final {
			m.runs[a.ID] = true
			m.started[a.ID] = true
		}
		for _, e := range a.Ended {
			if m.ended[e.ID].Verdict != e.Verdict {
				t.Errorf("the gate hears %v", e)
			}
		}
	case Acquire:
		if m.runs[a.ID] {
			t.Errorf("%s waits for a lock with a slot", a.ID)
		}
	case Release:
		if !m.locks[a.ID] {
			t.Errorf("%s gives back a lock that it does not have", a.ID)
		}
		delete(m.locks, a.ID)
	case Kill:
		m.stopped = true
	case Finish:
		delete(m.runs, a.ID)
		m.ended[a.ID] = a.Brief
		if a.Brief.Verdict == "" {
			t.Errorf("%s ends without a verdict", a.ID)
		}
		for _, member := range n.Members {
			if _, ok := m.ended[member.ID]; !ok {
				t.Errorf("%s ends before %s", a.ID, member.ID)
			}
		}
		if !n.Group && a.Brief.Verdict.Bad() && a.Brief.Reason != receipts.StopGateRefused {
			m.bad = true
		}
		// Clean-up comes in any case, if there is something to clean up.
		if n.Always && !n.Group && !n.Gate && !m.started[a.ID] && a.Brief.Reason != receipts.StopLocked && m.siblingStarted(a.ID) {
			t.Errorf("%s cleans up, and was not started: %v", a.ID, a.Brief)
		}
	}
}

// lineOf returns the number of the line that a step is of.
func lineOf(id string) (n int) {
	fmt.Sscan(strings.Split(id, ".")[0], &n)
	return n
}

// reads reports whether the lines from a to b, and their members, all only read, and none of them waits for
// another.
func (m *model) reads(a, b int) bool {
	for id, n := range m.shape {
		if l := lineOf(id); l >= a && l <= b && (n.Gate || n.OnFailure || n.Writes && !n.Group || n.Always && m.up[id] == "") {
			return false
		}
	}
	return true
}

// held are the locks of a step and of what is above it.
func (m *model) held(id string) map[string]bool {
	held := make(map[string]bool)
	for ; id != ""; id = m.up[id] {
		if l := m.shape[id].Lock; l != "" {
			held[l] = true
		}
	}
	return held
}

// siblingStarted reports whether a step that cleans up has something to do.
func (m *model) siblingStarted(id string) bool {
	for ; m.up[id] != ""; id = m.up[id] {
		if !m.shape[id].Always {
			continue
		}
		found := false
		for other := range m.started {
			for _, sibling := range m.shape[m.up[id]].Members {
				found = found || !sibling.Always && m.started[other] && (other == sibling.ID || strings.HasPrefix(other, sibling.ID+"."))
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// answered is called before the event goes to the schedule.
func (m *model) answered(a Action, e Event) {
	i := slices.IndexFunc(m.open, func(o Action) bool { return o.Seq == a.Seq })
	m.open = slices.Delete(m.open, i, i+1)
	switch a.Op {
	case Acquire:
		if e.Why == "" {
			m.locks[a.ID] = true
		}
	case Start:
		// The slot is kept for the next attempt.
		delete(m.runs, a.ID)
	case Sync, Gate:
		delete(m.runs, a.ID)
	}
}

// TestModel carries random shapes out with random answers in random order, cuts some short, and
// holds the rules of order. A second schedule hears the same and is saved and loaded between any
// two events: it must do the same.
func TestModel(t *testing.T) {
	for seed := range uint64(6000) {
		r := rand.New(rand.NewPCG(seed, 1))
		shape := random(r)
		rules := Rules{Slots: 1 + r.IntN(3), FailFast: r.IntN(5) == 0, KeepGoing: r.IntN(5) == 0, Parallel: r.IntN(2) == 0}
		cut := -1
		if r.IntN(4) == 0 {
			cut = r.IntN(12)
		}
		m, s, twin := newModel(t, shape, rules), New(shape, rules), New(shape, rules)
		todo := s.Begin()
		again := twin.Begin()
		for n := 0; ; n++ {
			if !reflect.DeepEqual(todo, again) {
				t.Fatalf("seed %d: %v, and after a load %v", seed, todo, again)
			}
			for _, a := range todo {
				m.did(a)
			}
			if got := s.Pending(); !reflect.DeepEqual(got, m.open) && len(got)+len(m.open) > 0 {
				t.Fatalf("seed %d: pending %v, want %v", seed, got, m.open)
			}
			var e Event
			switch {
			case n == cut:
				e = Event{Brief: Brief{Reason: receipts.StopInterrupted, Text: "cut"}}
			case len(m.open) == 0:
				if !s.Over() {
					t.Fatalf("seed %d: nothing is to be done, and it is not over", seed)
				}
				for id, n := range m.shape {
					if _, ok := m.ended[id]; !ok {
						t.Errorf("seed %d: %s (%+v) has no verdict", seed, id, n)
					}
				}
				if len(m.locks) > 0 || !m.final {
					t.Errorf("seed %d: locks %v are left, last gate %v", seed, m.locks, m.final)
				}
			default:
				a := m.open[r.IntN(len(m.open))]
				e = answer(r, a)
				m.answered(a, e)
			}
			if t.Failed() {
				text, _ := json.Marshal(shape)
				t.Fatalf("seed %d, rules %+v, shape %s", seed, rules, text)
			}
			if s.Over() && e == (Event{}) {
				break
			}
			var err error
			if todo, err = s.Apply(e); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if twin, err = saveAndLoad(twin); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if again, err = twin.Apply(e); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

func saveAndLoad(s *State) (*State, error) {
	text, err := s.Save()
	if err != nil {
		return nil, err
	}
	loaded, err := Load(text)
	if err != nil {
		return nil, err
	}
	if again, err := loaded.Save(); err != nil || !bytes.Equal(text, again) {
		return nil, fmt.Errorf("what was loaded is saved as %s, %v; it was %s", again, err, text)
	}
	return loaded, nil
}

// TestUnknownAnswer answers what nobody asked, and the same thing twice.
func TestUnknownAnswer(t *testing.T) {
	s := New(Shape{Nodes: []Node{{ID: "1"}, {ID: "2"}}}, Rules{Slots: 1})
	first := s.Begin()
	if len(first) != 1 || first[0].Op != Start || first[0].ID != "1" {
		t.Fatal(first)
	}
	if _, err := s.Apply(Event{Seq: first[0].Seq + 1}); err == nil {
		t.Error("an action that was not asked for is answered")
	}
	e := Event{Seq: first[0].Seq, Brief: Brief{Verdict: Passed}}
	if _, err := s.Apply(e); err != nil {
		t.Error(err)
	}
	if acts, err := s.Apply(e); err == nil {
		t.Errorf("an answer is taken twice: %v", acts)
	}
}

// TestDamaged changes one thing in states that were saved in the middle of a run: with it a slot would be
// lost or given twice, a leaf started twice, or the run ended early.
func TestDamaged(t *testing.T) {
	damage := map[string]func(v *saved) bool{
		"a slot more": func(v *saved) bool { v.Progress.Free++; return true },
		"a slot less": func(v *saved) bool { v.Progress.Free--; return true },
		"queued twice": func(v *saved) bool {
			q := v.Progress.Queue
			v.Progress.Queue = append(q, q...)
			return len(q) > 0
		},
		"queued and ended": func(v *saved) bool {
			if len(v.Progress.Queue) == 0 {
				return false
			}
			i := slices.IndexFunc(v.Nodes, func(n status) bool { return n.Ended })
			if i < 0 {
				return false
			}
			var ids []string
			var walk func([]Node)
			walk = func(nodes []Node) {
				for _, n := range nodes {
					ids = append(ids, n.ID)
					walk(n.Members)
				}
			}
			walk(v.Shape.Nodes)
			v.Progress.Queue = append(v.Progress.Queue, ids[i])
			return true
		},
		"started twice": func(v *saved) bool {
			i := slices.IndexFunc(v.Progress.Open, func(a Action) bool { return a.Op == Start })
			if i < 0 || v.Progress.Free == 0 {
				return false
			}
			twice := v.Progress.Open[i]
			v.Progress.Seq++
			twice.Seq = v.Progress.Seq
			v.Progress.Open = append(v.Progress.Open, twice)
			v.Progress.Free--
			return true
		},
		"an early end": func(v *saved) bool {
			i := slices.IndexFunc(v.Progress.Open, func(a Action) bool { return a.Op == Start })
			if i < 0 {
				return false
			}
			v.Progress.Open[i] = Action{Seq: v.Progress.Open[i].Seq, Op: Gate, Final: true}
			v.Progress.Free++
			return true
		},
	}
	tried := make(map[string]int)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 4))
		s := New(random(r), Rules{Slots: 1 + r.IntN(3)})
		s.Begin()
		for n := r.IntN(8); n > 0 && !s.Over(); n-- {
			if _, err := s.Apply(answer(r, s.Pending()[0])); err != nil {
				t.Fatal(err)
			}
		}
		if s.Over() {
			continue
		}
		text, err := s.Save()
		if err != nil {
			t.Fatal(err)
		}
		for name, change := range damage {
			var v saved
			if err := json.Unmarshal(text, &v); err != nil {
				t.Fatal(err)
			}
			if !change(&v) {
				continue
			}
			tried[name]++
			changed, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Load(changed); err == nil {
				t.Errorf("seed %d, %s: loaded\n%s", seed, name, changed)
			}
		}
	}
	for name := range damage {
		if tried[name] < 3 {
			t.Errorf("%s: tried %d times", name, tried[name])
		}
	}
}

// TestParallel starts adjacent lines that only read at once, as many as there are slots, and the rest one by one.
func TestParallel(t *testing.T) {
	group := Node{ID: "3", Group: true, Members: []Node{{ID: "3.1"}, {ID: "3.2"}}}
	shape := Shape{Nodes: []Node{{ID: "1"}, {ID: "2"}, group, {ID: "4", Writes: true}, {ID: "5"}, {ID: "6", OnFailure: true}, {ID: "7"}, {ID: "8"}, {ID: "9", Gate: true}}}
	for _, c := range []struct {
		rules Rules
		want  string // the leaves that run, after each answer to the first of them
	}{
		{Rules{Slots: 8, Parallel: true}, "1 2 3.1; 2 3.1; 3.1; 3.2; 4; 5; 7 8; 8"},
		{Rules{Slots: 2, Parallel: true}, "1 2; 2 3.1; 3.1; 3.2; 4; 5; 7 8; 8"},
		{Rules{Slots: 8}, "1; 2; 3.1; 3.2; 4; 5; 7; 8"},
	} {
		s := New(shape, c.rules)
		var got []string
		for s.Begin(); !s.Over(); {
			var runs []string
			p := s.Pending()
			for _, a := range p {
				if a.Op == Start {
					runs = append(runs, a.ID)
				}
			}
			if len(runs) == len(p) {
				got = append(got, strings.Join(runs, " "))
			}
			i := max(0, slices.IndexFunc(p, func(a Action) bool { return a.Op != Start }))
			if _, err := s.Apply(Event{Seq: p[i].Seq, Brief: Brief{Verdict: Passed}}); err != nil {
				t.Fatal(err)
			}
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%+v: %s; want %s", c.rules, text, c.want)
		}
	}
}

// FuzzLoad loads any text, and answers what the state that it makes asks for.
func FuzzLoad(f *testing.F) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := New(random(r), Rules{Slots: 2})
		s.Begin()
		for range seed {
			if p := s.Pending(); len(p) > 0 {
				if _, err := s.Apply(answer(r, p[0])); err != nil {
					f.Fatal(err)
				}
			}
		}
		text, err := s.Save()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, nodes := range [][]Node{{nested(maxDepth)}, {nested(maxDepth + 1)}, groups(200), {{ID: "all", Group: true, Members: groups(200)}}} {
		s := New(Shape{Nodes: append([]Node{{ID: "first", Gate: true}}, nodes...)}, Rules{Slots: 1})
		s.Begin()
		text, err := s.Save()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Load(text)
		if err != nil {
			return
		}
		for range 1000 {
			p := s.Pending()
			if len(p) == 0 {
				return
			}
			if _, err := s.Apply(Event{Seq: p[0].Seq, Brief: Brief{Verdict: Passed}}); err != nil {
				return
			}
		}
	})
}

// A run that is cut short before it begins starts only what comes in any case.
func TestCutBeforeBegin(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := New(random(r), Rules{Slots: 1 + r.IntN(4)})
		todo, err := s.Apply(Event{Brief: Brief{Reason: receipts.StopInterrupted, Text: "cut"}})
		if err != nil {
			t.Fatal(err)
		}
		todo = append(todo, s.Begin()...)
		finished := 0
		for ; len(todo) > 0; todo = todo[1:] {
			a := todo[0]
			switch {
			case a.Op == Finish:
				finished++
			case a.Op == Start && a.Always == "":
				t.Fatalf("seed %d: %+v", seed, a)
			}
			if a.Seq > 0 {
				more, err := s.Apply(answer(r, a))
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				todo = append(todo, more...)
			}
		}
		if !s.Over() || finished != len(s.all) {
			t.Fatalf("seed %d: over %v, %d of %d steps have a verdict", seed, s.Over(), finished, len(s.all))
		}
	}
}

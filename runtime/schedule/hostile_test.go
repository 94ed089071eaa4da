package schedule

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
)

// nested is one composite in another, so many levels with the leaf.
func nested(levels int) Node {
	n := Node{ID: "leaf"}
	for i := range levels - 1 {
		n = Node{ID: fmt.Sprint("g", i), Group: true, Members: []Node{n}}
	}
	return n
}

func groups(n int) (list []Node) {
	for i := range n {
		list = append(list, Node{ID: fmt.Sprint(i), Group: true})
	}
	return list
}

// Steps that end as soon as they are entered, as lines or as members, take no stack each.
func TestManyEmpty(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	for _, nodes := range [][]Node{groups(100_000), {{ID: "all", Group: true, Members: groups(100_000)}}, {{ID: "all", Group: true, Parallel: true, Members: groups(100_000)}}} {
		r := NewRelay(Shape{Nodes: nodes}, Rules{Slots: 1})
		r.Begin()
		if p := r.Pending(); len(p) != 1 || p[0].Op != Gate || !p[0].Final {
			t.Errorf("%d pending: %+v", len(p), p)
		}
	}
}

// A shape from outside that is deeper, or has more steps, than anybody is to carry out is refused, by itself and in a state.
func TestTooMuch(t *testing.T) {
	for name, tt := range map[string]struct {
		nodes []Node
		want  string
	}{
		"deep enough":   {[]Node{nested(maxDepth)}, ""},
		"too deep":      {[]Node{nested(maxDepth + 1)}, "levels"},
		"far too deep":  {[]Node{nested(1000)}, "levels"},
		"many enough":   {groups(maxSteps), ""},
		"too many":      {groups(maxSteps + 1), "steps"},
		"too many deep": {[]Node{{ID: "all", Group: true, Members: groups(maxSteps)}}, "steps"},
	} {
		s := Shape{Nodes: tt.nodes}
		state := New(s, Rules{Slots: 1})
		state.Begin()
		text, err := state.Save()
		if err != nil {
			t.Fatal(err)
		}
		_, loaded := Load(text)
		for what, err := range map[string]error{"itself": s.Check(), "in a state": loaded} {
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

// An answer to another action than the one of its number does not count, and changes nothing.
func TestAnswerOfAnother(t *testing.T) {
	r := NewRelay(Shape{Nodes: []Node{{ID: "1", Gate: true}, {ID: "2", Writes: true}, {ID: "3", Gate: true}}}, Rules{Slots: 1})
	r.Begin()
	gate := r.Pending()[0]
	for _, other := range []Event{{Op: Sync, ID: "1"}, {Op: Gate, ID: "3"}, {Op: Gate}} {
		other.Seq, other.Brief.Verdict = gate.Seq, Passed
		if actions, taken := r.Take(Arrival{Event: other}); taken || len(actions) > 0 {
			t.Errorf("%+v is taken: %+v", other, actions)
		}
	}
	if p := r.Pending(); len(p) != 1 || p[0].Seq != gate.Seq {
		t.Fatalf("pending: %+v", p)
	}
	if _, taken := r.Take(Arrival{Event: Event{Seq: gate.Seq, Op: Gate, ID: "1", Brief: Brief{Verdict: Passed}}}); !taken {
		t.Error("its own answer is not taken")
	}
}

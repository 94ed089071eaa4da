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

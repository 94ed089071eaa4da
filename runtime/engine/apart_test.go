package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// Steps whose test results may be the same files are apart, also members of different composites; others are not.
func TestApart(t *testing.T) {
	id := 0
	results := func(dir, pattern string) *plan.Step {
		id++
		return &plan.Step{ID: fmt.Sprint(id), Kind: plan.Process, Dir: dir, Effect: plan.Read, Expect: plan.Expect{JUnit: pattern}}
	}
	a, b := results("/p", "*/build/*.xml"), results("/p", "*/build/*.xml")
	c, d := results("/p", "a/build/r.xml"), results("/p", "other.xml")
	e, f, g := results("/q", "x.xml"), results("/q", "x.xml"), results("/q", "")
	inner, outer := group(true, a, c), group(true, b, d, g)
	all := group(true, inner, outer)
	inner.ID, outer.ID, all.ID = "inner", "outer", "all"
	var got []string
	var walk func([]schedule.Node)
	walk = func(nodes []schedule.Node) {
		for _, n := range nodes {
			got = append(got, n.ID+":"+n.Apart)
			walk(n.Members)
		}
	}
	walk(engine.Shape(&plan.Plan{Steps: []*plan.Step{all, e, f}}).Nodes)
	if got, want := strings.Join(got, " "), "all: inner: 1:1 3:1 outer: 2:1 4: 7: 5:5 6:5"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

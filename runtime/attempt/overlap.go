package attempt

import (
	"slices"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/glob"
)

// Overlap returns the steps that are not to be carried out at the same time, each with the name that those which exclude it have, too: what
// is new below the pattern of a step's test results counts as its own, so that nothing else may write there meanwhile. Steps are of one
// name also where a third one joins them.
func Overlap(steps []*plan.Step) map[*plan.Step]string {
	var all []*plan.Step // with results
	var walk func([]*plan.Step)
	walk = func(steps []*plan.Step) {
		for _, s := range steps {
			if s.Expect.JUnit != "" && s.Kind != plan.Composite {
				all = append(all, s)
			}
			walk(s.Members)
		}
	}
	walk(steps)
	names := make(map[*plan.Step]string)
	for len(all) > 0 {
		first := all[0]
		all = all[1:]
		for group := []*plan.Step{first}; len(group) > 0; group = group[1:] {
			s := group[0]
			all = slices.DeleteFunc(all, func(o *plan.Step) bool {
				if !glob.Meet(s.Dir, s.Expect.JUnit, o.Dir, o.Expect.JUnit) {
					return false
				}
				names[first], names[o] = first.ID, first.ID
				group = append(group, o)
				return true
			})
		}
	}
	return names
}

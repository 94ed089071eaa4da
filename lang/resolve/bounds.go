package resolve

import (
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
)

// maxPlan bounds what the lines of a script may become, in bytes. A line can be bound to 10,000 steps, each with arguments of megabytes:
// what a matrix multiplies is not bounded by the sizes of the two files. It is room for more than a million plain lines.
const maxPlan = 512 << 20

// copies is how often what a variable puts into a line is there until the line is bound, and while its text grows.
const copies = 8

// About what a step, and an argument, take by themselves.
const (
	stepBytes = 256
	argBytes  = 16
)

// A cost is what each line of a binding becomes, whatever its values are.
type cost struct {
	steps int
	bytes int
	fills int // places that take a value
}

// weigh sets the cost of d, once its members have theirs.
func (d *bound) weigh(r *resolver) {
	if d.source.Kind == plan.Composite {
		d.cost = cost{steps: 1, bytes: stepBytes}
		for _, m := range d.members {
			d.cost.steps += m.cost.steps
			d.cost.bytes = min(d.cost.bytes+m.cost.bytes, maxPlan+1)
			d.cost.fills = min(d.cost.fills+m.cost.fills, maxPlan+1) // and no product overflows
		}
		return
	}
	s, v := d.step, new(filled)
	r.carries(d, &s, v)
	d.cost = cost{steps: 1, bytes: stepBytes + len(s.Arguments), fills: v.fills}
	for _, arg := range s.Argv {
		d.cost.bytes += argBytes + len(arg)
	}
}

// afford takes what c costs from what the plan may become, and reports whether that is not too much. Each place is taken to hold all the
// values, and each step to have a copy of the line, which is what a line without its secrets is.
func (r *resolver) afford(c cost, line *lang.Command, values []input) bool {
	text := len(line.Text)
	for _, in := range values {
		text += argBytes + len(in.text)
	}
	r.spend(c.bytes + c.fills*(argBytes+text) + c.steps*(argBytes*len(values)+len(line.Text)))
	return r.fits(line)
}

// spend takes n from what the plan may become.
func (r *resolver) spend(n int) { r.spent = min(r.spent+n, maxPlan+1) }

// fits reports whether the plan is not too large yet; the line with which it is has an error.
func (r *resolver) fits(c *lang.Command) bool {
	if r.spent <= maxPlan {
		return true
	}
	if !r.over {
		r.over = true
		d := r.errorf(diag.FileTooLarge, c.Span, "with this line the script becomes a plan of more than %d MiB: neither it nor the lines behind it were looked at", maxPlan>>20)
		d.Hint = "use fewer lines, or fewer members, arguments and placeholders in what they are bound to"
	}
	return false
}

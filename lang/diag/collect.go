package diag

import "fmt"

// MaxFindings is how many errors, and how many warnings, of one file are kept. Nobody reads
// more, and a file of a million bad lines must not take a gigabyte to say so.
const MaxFindings = 1000

// A Collector gathers the findings of one file and counts what is beyond [MaxFindings].
// The zero Collector is ready to use.
type Collector struct {
	list  List
	count [Note + 1]int
	last  [Note + 1]Diagnostic // beyond the bound
}

// Add takes up findings.
func (c *Collector) Add(l ...Diagnostic) {
	for i := range l {
		s := l[i].Severity
		if c.count[s]++; c.count[s] <= MaxFindings {
			c.list = append(c.list, l[i])
		} else {
			c.last[s] = l[i]
		}
	}
}

// Full reports whether a further finding of severity s would only be counted.
func (c *Collector) Full(s Severity) bool { return c.count[s] >= MaxFindings }

// List returns what was gathered, in source order. Where something is left out, a finding
// of the same severity says how much.
func (c *Collector) List() List {
	l := c.list
	for s, n := range c.count {
		if n <= MaxFindings {
			continue
		}
		what, are := Severity(s).String(), "is"
		if n > MaxFindings+1 {
			what, are = what+"s", "are"
		}
		l = append(l, Diagnostic{
			Code: TooManyFindings, Severity: Severity(s), File: c.last[s].File, Span: c.last[s].Span,
			Message: fmt.Sprintf("%d more %s, of which this is the last, %s not shown", n-MaxFindings, what, are),
			Hint:    "fix those above first: most often they have one cause",
		})
	}
	l.Sort()
	return l
}

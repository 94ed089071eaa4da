package diagnose

import "bytes"

// prefixed counts a line that stands after a prefix. Nobody announced the prefix, and a program can begin the lines of its log like that:
// what stands there counts only where the lines without one say nothing, and a command is told apart from its first line on that can be one
// of a test runner.
func (c *Counter) prefixed(l []byte) {
	if c.guess || c.forks.inner || c.sum.Ran() > 0 || c.found&(goPlain|someRan) != 0 {
		return
	}
	name, own, ok := prefixed(l)
	if !ok {
		return
	}
	x := c.guessed[name]
	if x == nil {
		if len(c.guessed) == maxForks || !promising(own) {
			return
		}
		if c.guessed == nil {
			c.guessed = make(map[string]*Counter)
		}
		x = &Counter{guess: true, forks: forks{inner: true}}
		c.guessed[name] = x
	}
	c.lend(x, own)
}

// lend has x, which reads a part of the output, read a line within the bounds of c.
func (c *Counter) lend(x *Counter, l []byte) {
	before := x.spent
	x.seen = c.seen
	x.line(l)
	if c.seen >= scanned {
		before++ // the line itself is counted by c
	}
	c.spent += x.spent - before
	c.stream = c.stream || x.stream
}

// promising reports whether l has what a line of a test runner has.
func promising(l []byte) bool {
	if len(l) < 4 {
		return false
	}
	for _, begin := range [...]string{"=== RUN", "--- ", "ok ", "not ok ", "1..", "TAP version ", "FAIL", "PASS"} {
		if bytes.HasPrefix(l, []byte(begin)) {
			return true
		}
	}
	for _, s := range sums()[l[0]] {
		if !s.plain && s.has(l) {
			return true
		}
	}
	return false
}

// silent reports whether the lines without a prefix say nothing of tests that ran.
func (c *Counter) silent() bool {
	if len(c.guessed) == 0 {
		return false
	}
	for _, x := range c.counters() {
		t, ok := x.own()
		_, denied := x.ownDenied()
		if denied || t.Ran() > 0 || !ok && x.found&(goPlain|someRan) != 0 {
			return false
		}
	}
	return true
}

// addGuesses adds what stands after prefixes to t. That no test ran is not taken from there.
func (c *Counter) addGuesses(t Tests, ok bool) (Tests, bool) {
	for _, x := range c.guessed {
		own, said := x.own()
		if !said && x.found&(goPlain|someRan) != 0 {
			return Tests{}, false
		}
		if own.Ran() > 0 {
			t.add(own)
			ok = true
		}
	}
	return t, ok
}

// guessDenied is Denied of what stands after prefixes, all of which is one output.
func (c *Counter) guessDenied() (failed int, denied bool) {
	for _, x := range c.guessed {
		t, ok := x.own()
		n, d := x.ownDenied()
		if !d && (t.Ran() > 0 || !ok && x.found&(goPlain|someRan) != 0) {
			return 0, false
		}
		failed, denied = failed+n, denied || d
	}
	return failed, denied
}

package diagnose

import "bytes"

// maxBrowsers bounds how many browsers of karma are told apart.
const maxBrowsers = 64

// karma has what each browser ran. A reporter prints the line of a browser anew after each test, and again while the others run; the sum of
// all of them, if it has one, at the end.
type karma struct {
	runs  map[string]karmaRun // the last line of each
	total bool                // there was a sum of all
}

type karmaRun struct {
	executed int
	Tests
}

// executed reads the line of a browser.
func executed(c *Counter, _ *sum, m [][]byte) {
	r := karmaRun{number(m[2]), Tests{Failed: amount(m[3]), Skipped: amount(m[4])}}
	ended := bytes.HasSuffix(m[5], []byte("SUCCESS")) || len(m[5]) == 0
	if !ended && r.executed > 0 {
		r.Failed = max(r.Failed, 1)
	}
	r.Passed = max(r.executed-r.Failed, 0)
	k, name := &c.karma, string(m[1])
	last, has := k.runs[name]
	if !has && len(k.runs) == maxBrowsers {
		return
	}
	if has && (r.executed < last.executed || r.executed == last.executed && r.Tests != last.Tests && ended) { // another run
		c.later[ofKarma].sum(last.Tests)
	}
	if k.runs == nil {
		k.runs = make(map[string]karmaRun)
	}
	k.runs[name] = r
}

// all returns the sum of all browsers, with the tests that were skipped, which it does not name.
func (k *karma) all(t Tests) Tests {
	k.total = true
	for _, r := range k.runs {
		t.Skipped += r.Skipped
	}
	return t
}

// settle adds what all browsers ran to d, which has their runs before it.
func (k *karma) settle(d *deferred) {
	if k.total {
		*d = deferred{}
		return
	}
	var all Tests
	for _, r := range k.runs {
		all.add(r.Tests)
	}
	if len(k.runs) > 0 {
		d.sum(all)
	}
}

// above reads a line of Playwright's sum that lists tests below it. Where the line that begins a run is cut off, the first of those tests
// tells whose sum it is.
func above(c *Counter, _ *sum, m [][]byte) {
	c.above, c.aboveAt = Tests{Failed: amount(m[1])}, c.lines
	if string(m[2]) == "flaky" {
		c.above = Tests{Passed: number(m[1])}
	}
}

// headed reads the line of such a test.
func headed(c *Counter, s *sum, m [][]byte) {
	if c.under == ofPlaywright || c.aboveAt == 0 || c.aboveAt != c.lines-1 {
		return
	}
	announces(ofPlaywright)(c, s, m[:1])
	if t := c.above; t.Failed > 0 {
		c.halve(t.Failed, true)
	} else {
		c.halve(t.Passed, false)
	}
}

// flaky reads the line of tests that passed at last, which stands between those of the tests that failed and that passed.
func flaky(c *Counter, _ *sum, m [][]byte) {
	if c.half.has && c.half.failed && c.half.n > 0 {
		c.sum.Passed += group(m)
		return
	}
	c.halve(group(m), false)
}

// notice reads Playwright's sum in an annotation of GitHub, whose lines stand between the names of the tests. It repeats the one that is
// printed before it, where that was not cut off.
func notice(c *Counter, _ *sum, m [][]byte) {
	if c.under == ofPlaywright {
		return
	}
	var t Tests
	for l := range bytes.SplitSeq(m[1], []byte("%0A")) {
		l, ok := bytes.CutPrefix(l, []byte("  "))
		n := digits(l)
		if !ok || n == 0 {
			continue
		}
		word, _, _ := bytes.Cut(bytes.TrimSpace(l[n:]), []byte(" "))
		switch string(word) {
		case "passed", "flaky":
			t.Passed += number(l[:n])
		case "failed", "interrupted":
			t.Failed += amount(l[:n])
		case "skipped", "did":
			t.Skipped += amount(l[:n])
		}
	}
	if t.Total() > 0 {
		c.whole(t)
	}
}

package diagnose

import (
	"bytes"
	"regexp"
	"strconv"
	"sync"
)

// Tests says how many tests ran. A test that ended in an error counts as failed; one that
// failed as it was expected to, as skipped.
type Tests struct{ Passed, Failed, Skipped int }

// Ran is the number of tests that came to a result.
func (t Tests) Ran() int { return t.Passed + t.Failed }

// Total is the number of tests that there are.
func (t Tests) Total() int { return t.Passed + t.Failed + t.Skipped }

func (t *Tests) add(o Tests) {
	t.Passed += o.Passed
	t.Failed += o.Failed
	t.Skipped += o.Skipped
}

// Bounds of what a Counter looks at, in bytes. Past scanned, an output that showed no
// format with a line a test is looked at again at the end of each stream alone, where summaries are.
const (
	scanned = 64 << 10
	summary = 64 << 10
	maxLine = 4 << 10 // the rest of a longer line is not looked at

	maxPackages = 10_000 // that failed
)

// A Counter counts tests in an output as it is written. The zero Counter is ready. Its
// cost is bounded for an output that is not a test runner's, however long.
type Counter struct {
	part   partial
	seen   int64
	stream bool    // lines of single tests were seen: all of the output counts
	last   [2]tail // of what was not looked at, by stream
	done   bool

	found    format
	verbose  Tests // of go test -v
	events   Tests // of go test -json
	tap      Tests
	tapPlan  bool
	node     Tests
	sum      Tests // of all that print a summary
	outcomes bool  // of automake or meson: how many tests ended in which way
	unit     int   // of unittest: the tests that no line said anything else of
	ctest    int   // of ctest: the tests that it said passed, and did not name as skipped so far
	half     half  // a summary of two lines, of which one was read
	word     half  // likewise, in words that mean a summary only where both lines stand together
	wordAt   int   // the line of word
	lines    int   // that were read
	denied   denial
}

// A half is one line of a summary of two: how many tests passed, and how many failed, of which either stands first. A tool
// that says that some failed has not succeeded by those that passed.
type half struct {
	has    bool
	failed bool // it is the line of those that failed
	n      int
}

// halve counts a line of a summary of two lines.
func (c *Counter) halve(n int, failed bool) {
	if h := c.half; h.has && h.failed && !failed {
		c.half = half{}
		c.found |= anySummary
		c.sum.Passed += n
		if h.n == 0 {
			c.denied.add(n, 0)
		}
		return
	}
	c.half = half{has: !c.half.has || c.half.failed == failed, failed: failed, n: n}
	if failed {
		c.total(Tests{Failed: n})
	} else {
		c.total(Tests{Passed: n})
	}
}

// bare counts "PASSED: 3" and "FAILED: 1", in either order, where one stands right below the other.
func (c *Counter) bare(n int, failed bool) {
	if w := c.word; w.has && w.failed != failed && c.wordAt == c.lines-1 {
		c.word = half{}
		c.halve(w.n, w.failed)
		c.halve(n, failed)
		return
	}
	c.word, c.wordAt = half{has: true, failed: failed, n: n}, c.lines
}

// A denial is what the summaries of an output say of failures.
type denial struct {
	open     bool            // a summary began, and tells of no failure so far
	green    bool            // a summary was without a failure
	failed   int             // in the summaries that have some
	goFailed bool            // the last line of go test that says how packages ended is one of a failure
	goSeen   bool            // there was a line of a package that failed
	plans    int             // of TAP
	planned  int             // tests, by the last plan
	packages map[string]bool // of go test -json: those of which the last event is a failure
}

// begin notes that a summary begins.
func (d *denial) begin() {
	d.green = d.green || d.open
	d.open = true
}

// add notes what a summary, or a line of one, says of the tests that came to a result.
func (d *denial) add(passed, failed int) {
	switch {
	case failed > 0 && passed > 0: // all in one line
		d.begin()
		fallthrough
	case failed > 0:
		d.open = false
		d.failed += failed
	case passed > 0:
		d.begin()
	}
}

// Denied reports whether the output tells of failed tests and nothing in it speaks for a success: each of its summaries has
// failures. A tool says so and exits 0 where a script around it drops its exit status. failed is 0 if the output does not say
// how many. One summary without a failure is enough for false, since it may be that of a second try, or of the tests around a failure that was wanted.
func (c *Counter) Denied() (failed int, denied bool) {
	counted, _ := c.Tests()
	d := c.denied // what only this function closes
	switch {
	case c.found&(goJSON|goVerbose|goPlain) == 0:
	case len(d.packages) > 0 || d.goFailed:
		denied = true
		d.failed += c.events.Failed + c.verbose.Failed
	case counted.Ran() > 0 || c.found&goPlain != 0:
		d.green = true
	}
	if c.found&nodeSummary == 0 && c.found&tapLines != 0 && c.tapPlan {
		if c.tap.Failed > 0 && d.plans == 1 && d.planned == c.tap.Total() {
			d.add(0, c.tap.Failed)
		} else {
			d.green = true
		}
	}
	if d.green || d.open || !denied && d.failed == 0 {
		return 0, false
	}
	return d.failed, true
}

// A format is a set of what was recognised.
type format uint16

const (
	goJSON format = 1 << iota
	goVerbose
	goPlain // a package with tests, of which the number is not known
	goEmpty // a package without
	tapLines
	nodeSummary
	anySummary
	unitSummary
)

// Write looks at p, bytes of stream 0 or 1 in order of arrival.
func (c *Counter) Write(stream int, p []byte) {
	if !c.stream && c.seen >= scanned {
		if len(c.part[stream]) > 0 { // a line that was begun is looked at whole
			end := bytes.IndexByte(p, '\n') + 1
			if end == 0 {
				end = len(p)
			}
			c.part.cut(stream, p[:end], maxLine, c.line)
			p = p[end:]
		}
		c.last[stream].keep(p)
		return
	}
	c.seen += int64(len(p))
	c.part.cut(stream, p, maxLine, c.line)
}

// A tail is the end of a stream, at most four times as much as is looked at.
type tail struct {
	text []byte
	cut  bool // it is not all
	mid  bool // it begins in the middle of a line
}

// keep adds p, and lets go of the beginning.
func (t *tail) keep(p []byte) {
	if len(t.text)+len(p) > 4*summary {
		from := len(t.text) + len(p) - summary // of both
		if n := len(t.text); from >= n {
			t.lose(p, from-n, t.text)
			t.text = append(t.text[:0], p[from-n:]...)
			return
		}
		t.lose(t.text, from, nil)
		t.text = append(t.text[:0], t.text[from:]...)
	}
	t.text = append(t.text, p...)
}

// lose notes that text before from is let go of, and what stands before text.
func (t *tail) lose(text []byte, from int, before []byte) {
	if from == 0 {
		text, from = before, len(before)
	}
	if from > 0 {
		t.cut, t.mid = true, text[from-1] != '\n'
	}
}

// lines returns the whole lines among what is looked at.
func (t *tail) lines() []byte {
	text := t.text
	if from := len(text) - summary; from > 0 {
		t.lose(text, from, nil)
		text = text[from:]
	}
	if t.mid {
		_, text, _ = bytes.Cut(text, []byte{'\n'})
	}
	return text
}

// Tests returns what was counted. ok is false if the output does not say how many tests
// ran. Nothing may be written any more.
func (c *Counter) Tests() (t Tests, ok bool) {
	if !c.done {
		c.done = true
		for s := range c.part {
			c.line(c.part[s])
		}
		for i := range c.last {
			lines := c.last[i].lines()
			c.denied.green = c.denied.green || c.last[i].cut && c.denied.failed > 0 // what came between may have passed
			for line := range bytes.Lines(lines) {
				c.line(line)
			}
			c.last[i].text = nil
		}
	}
	switch f := c.found; {
	case f&goJSON != 0:
		t.add(c.events)
		ok = true
	case f&goVerbose != 0:
		t.add(c.verbose)
		ok = true
	case f&goPlain != 0:
		return Tests{}, false // it ran some, and does not say how many
	case f&goEmpty != 0:
		ok = true
	}
	switch {
	case c.found&nodeSummary != 0:
		t.add(c.node)
		ok = true
	case c.found&tapLines != 0 && c.tapPlan:
		t.add(c.tap)
		ok = true
	}
	if c.found&anySummary != 0 {
		t.add(c.sum)
		ok = true
	}
	if c.found&unitSummary != 0 {
		t.add(Tests{Passed: c.unit})
		ok = true
	}
	return t, ok
}

// line looks at one line. Most of them are told apart by their first byte.
func (c *Counter) line(l []byte) {
	c.lines++
	if len(l) > maxLine {
		l = l[:maxLine]
	}
	if bytes.IndexByte(l, 0x1b) >= 0 {
		l = escapes().ReplaceAll(l, nil)
	}
	l = bytes.TrimRight(l, "\r\n\t ")
	if len(l) < 4 {
		return
	}
	switch l[0] {
	case '{':
		c.goEvent(l)
		return
	case '=':
		if bytes.HasPrefix(l, []byte("=== RUN")) {
			c.found |= goVerbose
			c.stream = true
			return
		}
	case '-', ' ', '\t':
		if t := bytes.TrimLeft(l, " \t"); bytes.HasPrefix(t, []byte("--- ")) {
			c.goTest(t[4:])
			return
		}
	case 'o', 'n', 'F', '?':
		if c.goPackage(l) || c.tapTest(l) {
			return
		}
	case '1', 'T':
		if bytes.HasPrefix(l, []byte("1..")) || bytes.HasPrefix(l, []byte("TAP version ")) {
			c.found |= tapLines
			c.stream = true
			if w := bytes.Fields(l[3:]); l[0] == '1' && isNumber(w) {
				c.tapPlan = true
				c.denied.plans++
				c.denied.planned = number(w[0])
			}
			return
		}
	case 'N':
		switch string(l) {
		case "No tests were found!!!", "No tests executed!": // ctest; PHPUnit
			c.total(Tests{})
			return
		}
	}
	c.summary(l)
}

func isNumber(words [][]byte) bool {
	if len(words) == 0 {
		return false
	}
	_, err := strconv.Atoi(string(words[0]))
	return err == nil
}

// goEvent counts an event of go test -json. They are written by one encoder, whose keys
// stand in one order; what a test prints is quoted in them.
func (c *Counter) goEvent(l []byte) {
	if !bytes.Contains(l, []byte(`"Action":"`)) || !bytes.Contains(l, []byte(`"Package":"`)) {
		return
	}
	c.found |= goJSON
	c.stream = true
	if !bytes.Contains(l, []byte(`"Test":"`)) {
		c.denied.goEvent(l)
		return
	}
	t := &c.events
	switch {
	case bytes.Contains(l, []byte(`"Action":"pass"`)):
		t.Passed++
	case bytes.Contains(l, []byte(`"Action":"fail"`)):
		t.Failed++
	case bytes.Contains(l, []byte(`"Action":"skip"`)):
		t.Skipped++
	}
}

// goEvent notes how a package ended, by an event of go test -json.
func (d *denial) goEvent(l []byte) {
	fail := bytes.Contains(l, []byte(`"Action":"fail"`))
	if !fail && !bytes.Contains(l, []byte(`"Action":"pass"`)) {
		return
	}
	_, name, _ := bytes.Cut(l, []byte(`"Package":"`))
	name, _, _ = bytes.Cut(name, []byte(`"`))
	switch {
	case !fail:
		delete(d.packages, string(name))
	case d.packages == nil:
		d.packages = map[string]bool{string(name): true}
	case len(d.packages) < maxPackages:
		d.packages[string(name)] = true
	}
}

// goTest counts "PASS: TestX (0.00s)", as go test prints it after "--- ".
func (c *Counter) goTest(l []byte) {
	t := &c.verbose
	switch {
	case bytes.HasPrefix(l, []byte("PASS: ")):
		t.Passed++
	case bytes.HasPrefix(l, []byte("FAIL: ")):
		t.Failed++
	case bytes.HasPrefix(l, []byte("SKIP: ")):
		t.Skipped++
	}
}

// goPackage notes the line of a package: "ok  \texample.com/m\t0.01s".
func (c *Counter) goPackage(l []byte) bool {
	if string(l) == "FAIL" { // the last line, where a package failed
		c.denied.goFailed = c.denied.goSeen
		return true
	}
	empty := bytes.HasSuffix(l, []byte("[no test files]")) || bytes.HasSuffix(l, []byte("[no tests to run]"))
	switch {
	case bytes.HasPrefix(l, []byte("ok  \t")), bytes.HasPrefix(l, []byte("?   \t")), bytes.HasPrefix(l, []byte("FAIL\t")):
		if empty {
			c.found |= goEmpty
		} else {
			c.found |= goPlain
			fail := l[0] == 'F' && (bytes.Count(l, []byte("\t")) == 2 && l[len(l)-1] == 's' || bytes.HasSuffix(l, []byte(" failed]")))
			c.denied.goFailed, c.denied.goSeen = fail, c.denied.goSeen || fail
		}
		return true
	}
	return false
}

func (c *Counter) tapTest(l []byte) bool {
	not := bytes.HasPrefix(l, []byte("not "))
	rest, ok := bytes.CutPrefix(bytes.TrimPrefix(l, []byte("not ")), []byte("ok"))
	if !ok || len(rest) > 0 && rest[0] != ' ' {
		return false
	}
	// Many tools print "ok" alone; a number, or a dash, makes it a test.
	if w := bytes.Fields(rest); len(w) == 0 || !isNumber(w) && w[0][0] != '-' && !c.tapPlan {
		return false
	}
	c.found |= tapLines
	c.stream = true
	_, directive, _ := bytes.Cut(bytes.ToUpper(rest), []byte("# "))
	switch {
	case bytes.HasPrefix(directive, []byte("SKIP")), bytes.HasPrefix(directive, []byte("TODO")):
		c.tap.Skipped++
	case not:
		c.tap.Failed++
	default:
		c.tap.Passed++
	}
	return true
}

// A kind of summary: the text that its lines have, and what reads them.
type summaryKind struct {
	has  []byte
	re   *regexp.Regexp
	read func(c *Counter, m [][]byte)
}

var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;:?]*[A-Za-z]`) })

// counted reads "3 passed, 1 failed" in any order and with any separator.
var counted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d+) ([a-z]+)`) })

func (c *Counter) words(l []byte) {
	var t Tests
	for _, m := range counted().FindAllSubmatch(l, -1) {
		n := number(m[1])
		switch string(m[2]) {
		case "passed", "pass", "passing", "xpassed":
			t.Passed += n
		case "failed", "fail", "failing", "failures", "failure", "error", "errors":
			t.Failed += n
		case "skipped", "skip", "xfailed", "ignored", "pending", "todo":
			t.Skipped += n
		}
	}
	c.total(t)
}

func (c *Counter) total(t Tests) {
	c.found |= anySummary
	c.sum.add(t)
	c.denied.add(t.Passed, t.Failed)
}

var summaries = sync.OnceValue(func() []summaryKind {
	words := func(c *Counter, m [][]byte) { c.words(m[0]) }
	one := func(f func(c *Counter, n int)) func(*Counter, [][]byte) {
		return func(c *Counter, m [][]byte) { f(c, number(m[1])) }
	}
	return []summaryKind{
		// tap-spec
		{[]byte("passing: "), regexp.MustCompile(`^  passing: +(\d+)$`), one(func(c *Counter, n int) { c.total(Tests{Passed: n}) })},
		{[]byte("failing: "), regexp.MustCompile(`^  failing: +(\d+)$`), one(func(c *Counter, n int) { c.total(Tests{Failed: n}) })},
		// cargo, one a crate; nextest
		{[]byte("test result: "), regexp.MustCompile(`^test result: \w+\. \d+ passed; \d+ failed; \d+ ignored`), words},
		{[]byte("tests run: "), regexp.MustCompile(`^ *Summary \[.*\] +\d+ tests? run: (.*)`), func(c *Counter, m [][]byte) { c.words(m[1]) }},
		// pytest, with and without its frame
		{[]byte("no tests ran"), regexp.MustCompile(`^(=+ )?no tests ran in [\d.]+s`), func(c *Counter, _ [][]byte) { c.total(Tests{}) }},
		{[]byte(" in "), regexp.MustCompile(`^(=+ )?\d+ (passed|failed|skipped|errors?|xfailed|xpassed|deselected)\b.* in [\d.]+s`), words},
		// unittest: the failures come in a line of their own
		{[]byte("Ran "), regexp.MustCompile(`^Ran (\d+) tests? in `), one(func(c *Counter, n int) {
			c.unit += n
			c.found |= unitSummary
			c.denied.begin()
		})},
		{[]byte(" ("), regexp.MustCompile(`^(?:OK|FAILED) \((.*=\d+.*)\)$`), func(c *Counter, m [][]byte) {
			var t Tests
			for _, w := range bytes.Split(m[1], []byte(", ")) {
				name, n, _ := bytes.Cut(w, []byte("="))
				switch string(name) {
				case "failures", "errors", "unexpected successes":
					t.Failed += number(n)
				case "skipped", "expected failures":
					t.Skipped += number(n)
				}
			}
			if c.found&unitSummary != 0 {
				c.unit = max(c.unit-t.Total(), 0)
				c.total(t)
			}
		}},
		// jest; vitest; deno; bun; mocha
		{[]byte("Tests:"), regexp.MustCompile(`^Tests: +(?:\d+ \w+, )*\d+ total$`), words},
		{[]byte("Tests "), regexp.MustCompile(`^ +Tests  (?:\d+ \w+ ?\|? ?)+\(\d+\)`), func(c *Counter, m [][]byte) {
			text, _, _ := bytes.Cut(m[0], []byte("("))
			c.words(text)
		}},
		{[]byte(" | "), regexp.MustCompile(`^(?:ok|FAILED) \| \d+ passed.*?\| \d+ failed(?: \| \d+ ignored)?`), words},
		{[]byte("pass"), regexp.MustCompile(`^ +\d+ pass(?:ing \(\w+\))?$`), words},
		{[]byte("fail"), regexp.MustCompile(`^ +\d+ fail(?:ing)?$`), words},
		{[]byte("skip"), regexp.MustCompile(`^ +\d+ skip$`), words},
		{[]byte("pending"), regexp.MustCompile(`^ +\d+ pending$`), words},
		// ava says how many passed where none failed, and then what else there was
		{[]byte(" passed"), regexp.MustCompile(`^  (\d+) tests? passed$`), one(func(c *Counter, n int) { c.total(Tests{Passed: n}) })},
		{[]byte("  "), regexp.MustCompile(`^  (\d+) (?:known failures?|tests? skipped|tests? todo)$`), one(func(c *Counter, n int) {
			if c.found&anySummary != 0 {
				c.total(Tests{Skipped: n})
			}
		})},
		// node
		{[]byte("tests "), regexp.MustCompile(`^(?:#|ℹ) tests (\d+)$`), one(func(c *Counter, n int) {
			c.found |= nodeSummary
			c.denied.begin()
		})},
		{[]byte("pass "), regexp.MustCompile(`^(?:#|ℹ) pass (\d+)$`), one(func(c *Counter, n int) { c.node.Passed += n })},
		{[]byte("fail "), regexp.MustCompile(`^(?:#|ℹ) fail (\d+)$`), one(func(c *Counter, n int) {
			c.node.Failed += n
			c.denied.add(0, n)
		})},
		{[]byte("cancelled "), regexp.MustCompile(`^(?:#|ℹ) cancelled (\d+)$`), one(func(c *Counter, n int) {
			c.node.Failed += n
			c.denied.add(0, n)
		})},
		{[]byte("skipped "), regexp.MustCompile(`^(?:#|ℹ) skipped (\d+)$`), one(func(c *Counter, n int) { c.node.Skipped += n })},
		{[]byte("todo "), regexp.MustCompile(`^(?:#|ℹ) todo (\d+)$`), one(func(c *Counter, n int) { c.node.Skipped += n })},
		// RSpec
		{[]byte(" example"), regexp.MustCompile(`^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?`), func(c *Counter, m [][]byte) {
			all, failed, pending := number(m[1]), number(m[2]), number(m[3])
			c.total(Tests{max(all-failed-pending, 0), failed, pending})
		}},
		// Surefire: one a class, with its time, and one of all
		{[]byte("Tests run: "), regexp.MustCompile(`^(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)$`), func(c *Counter, m [][]byte) {
			failed, skipped := number(m[2])+number(m[3]), number(m[4])
			c.total(Tests{max(number(m[1])-failed-skipped, 0), failed, skipped})
		}},
		// PHPUnit
		{[]byte("OK ("), regexp.MustCompile(`^OK \((\d+) tests?, \d+ assertions?\)$`), one(func(c *Counter, n int) { c.total(Tests{Passed: n}) })},
		{[]byte("Assertions: "), regexp.MustCompile(`^Tests: (\d+), Assertions: \d+(.*)\.$`), func(c *Counter, m [][]byte) {
			var t Tests
			for _, x := range phpCounts().FindAllSubmatch(m[2], -1) {
				switch string(x[1]) {
				case "Errors", "Failures":
					t.Failed += number(x[2])
				case "Skipped", "Incomplete":
					t.Skipped += number(x[2])
				}
			}
			t.Passed = max(number(m[1])-t.Total(), 0)
			c.total(t)
		}},
		// GoogleTest and cmocka
		{[]byte("[  PASSED  ]"), regexp.MustCompile(`^\[  PASSED  \] (\d+) test(?:s|\(s\))?\.$`), one(func(c *Counter, n int) { c.total(Tests{Passed: n}) })},
		{[]byte("[  FAILED  ]"), regexp.MustCompile(`^\[  FAILED  \] (\d+) test(?:s|\(s\))?, listed below:$`), one(func(c *Counter, n int) { c.total(Tests{Failed: n}) })},
		{[]byte("[  SKIPPED ]"), regexp.MustCompile(`^\[  SKIPPED \] (\d+) test(?:s|\(s\))?, listed below:$`), one(func(c *Counter, n int) { c.total(Tests{Skipped: n}) })},
		// automake and meson: a line for each outcome, of which one that is always there begins them
		{[]byte("# "), regexp.MustCompile(`^# (TOTAL|PASS|SKIP|XFAIL|FAIL|XPASS|ERROR): +(\d+)$`), (*Counter).outcome},
		{[]byte(":  "), regexp.MustCompile(`^(Ok|Expected Fail|Fail|Unexpected Pass|Skipped|Timeout): +(\d+)$`), (*Counter).outcome},
		// what projects print of runners of their own
		{[]byte("ass"), regexp.MustCompile(`^[Pp]ass(?:ed)?:? (\d+), [Ff]ail(?:ed)?:? (\d+)$`), func(c *Counter, m [][]byte) {
			c.total(Tests{Passed: number(m[1]), Failed: number(m[2])})
		}},
		{[]byte("Tests passed: "), regexp.MustCompile(`^Tests passed: +(\d+)$`), one(func(c *Counter, n int) { c.halve(n, false) })},
		{[]byte("Tests failed: "), regexp.MustCompile(`^Tests failed: +(\d+)$`), one(func(c *Counter, n int) { c.halve(n, true) })},
		{[]byte("PASSED: "), regexp.MustCompile(`^PASSED: +(\d+)$`), one(func(c *Counter, n int) { c.bare(n, false) })},
		{[]byte("FAILED: "), regexp.MustCompile(`^FAILED: +(\d+)$`), one(func(c *Counter, n int) { c.bare(n, true) })},
		// prove, where all files were skipped, or there is none; of others it does not say how many tests were skipped
		{[]byte("Tests=0,"), regexp.MustCompile(`^Files=\d+, Tests=0, `), func(c *Counter, _ [][]byte) { c.total(Tests{}) }},
		// minitest and test-unit; ExUnit, and bats on a terminal
		{[]byte(" assertions, "), regexp.MustCompile(`^(\d+) (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors(?:, \d+ \w+)*$`), (*Counter).of},
		{[]byte(" failure"), regexp.MustCompile(`^(?:\d+ \w+, )*?(\d+) tests?, \d+ failures?(?:, \d+ (?:excluded|invalid|skipped))*$`), (*Counter).of},
		// dotnet; ctest
		{[]byte("Passed:"), regexp.MustCompile(`^(?:Passed|Failed|Skipped)! +- Failed: +(\d+), Passed: +(\d+), Skipped: +(\d+)`), func(c *Counter, m [][]byte) {
			c.total(Tests{number(m[2]), number(m[1]), number(m[3])})
		}},
		{[]byte("tests passed"), regexp.MustCompile(`^\d+% tests passed, (\d+) tests failed out of (\d+)$`), func(c *Counter, m [][]byte) {
			failed := number(m[1])
			c.ctest = max(number(m[2])-failed, 0)
			c.total(Tests{Passed: c.ctest, Failed: failed})
		}},
		// ctest counts what was skipped as passed, and lists it later; what is disabled it does not count
		{[]byte(" (Skipped)"), regexp.MustCompile(`^\s+\d+ - .+ \(Skipped\)$`), func(c *Counter, _ [][]byte) {
			if c.ctest > 0 {
				c.ctest--
				c.sum.add(Tests{Passed: -1, Skipped: 1})
			}
		}},
		{[]byte("***Not Run (Disabled)"), regexp.MustCompile(`^ *\d+/\d+ Test +#\d+: .*\*\*\*Not Run \(Disabled\)`), func(c *Counter, _ [][]byte) { c.total(Tests{Skipped: 1}) }},
	}
})

// of counts a line that says how many tests there were, and how many of them ended in which other way than passed.
func (c *Counter) of(m [][]byte) {
	t := Tests{Passed: number(m[1])}
	for _, x := range counted().FindAllSubmatch(m[0], -1) {
		n := number(x[1])
		switch string(x[2]) {
		case "doctest", "doctests", "property", "properties":
			t.Passed += n
		case "failures", "failure", "errors", "invalid":
			t.Passed, t.Failed = t.Passed-n, t.Failed+n
		case "skips", "skipped", "excluded", "pendings", "omissions":
			t.Passed, t.Skipped = t.Passed-n, t.Skipped+n
		}
	}
	t.Passed = max(t.Passed, 0)
	c.total(t)
}

// outcome counts the tests of a line that says how they ended.
func (c *Counter) outcome(m [][]byte) {
	switch n := number(m[2]); string(m[1]) {
	case "TOTAL":
		c.outcomes = true
	case "Ok":
		c.outcomes = true
		c.total(Tests{Passed: n})
	case "PASS":
		c.ended(Tests{Passed: n})
	case "FAIL", "XPASS", "ERROR", "Fail", "Unexpected Pass", "Timeout":
		c.ended(Tests{Failed: n})
	default:
		c.ended(Tests{Skipped: n})
	}
}

// ended counts tests where a list of outcomes has begun.
func (c *Counter) ended(t Tests) {
	if c.outcomes {
		c.total(t)
	}
}

var phpCounts = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\w+): (\d+)`) })

// digit reports whether l has one: no summary is without.
func digit(l []byte) bool {
	for _, b := range l {
		if b >= '0' && b <= '9' {
			return true
		}
	}
	return false
}

func (c *Counter) summary(l []byte) {
	if len(l) > 400 || !digit(l) {
		return
	}
	for _, s := range summaries() {
		if bytes.Contains(l, s.has) {
			if m := s.re.FindSubmatch(l); m != nil {
				s.read(c, m)
				return
			}
		}
	}
}

package diagnose

import (
	"bytes"
	"strconv"
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

// Bounds of what a Counter looks at. An output that shows no format with a line a test is looked at for its first bytes, then for a
// number of lines, where one that only looks like a sum counts as many; then at the end of each stream alone.
const (
	scanned = 64 << 10 // bytes
	further = 1 << 18  // lines after those
	pattern = 32       // lines that one costs for each pattern that was tried in vain
	summary = 64 << 10 // bytes of the end
	maxLine = 4 << 10  // bytes; the rest of a longer line is not looked at

	maxPackages = 10_000 // that failed
)

// A Counter counts tests in an output as it is written. The zero Counter is ready. Its
// cost is bounded for an output that is not a test runner's, however long.
type Counter struct {
	part   partial
	seen   int64   // bytes
	spent  int     // of further
	stream bool    // lines of single tests were seen: all of the output counts
	last   [2]tail // of what was not looked at, by stream
	done   bool

	found     format
	verbose   Tests // of go test -v
	events    Tests // of go test -json
	tap       Tests
	tapPlan   bool
	node      Tests
	sum       Tests // of all that print a summary
	outcomes  bool  // of automake or meson: how many tests ended in which way
	unit      int   // of unittest: the tests that no line said failed or were skipped
	ctest     int   // of ctest: the tests that it said passed, and did not name as skipped so far
	half      half  // a summary of two lines, of which one was read
	word      half  // likewise, in words that mean a summary only where both lines stand together
	wordRest  Tests // of the lines of other words around it
	wordAt    int   // the last line of word
	lines     int   // that were read
	under     head  // the lines that were last announced
	all       int   // the number of tests that under came with
	single    Tests // of single tests, which a sum does not tell apart
	proved    int   // the tests of prove, those that were skipped among them
	later     [kindsDeferred]deferred
	sumAt     int  // the last line of a summary
	bailed    bool // of TAP, and no plan came after that
	emptyAt   int  // the line that said that there are no scenarios
	files     int  // of tests that failed, by the line above that of their tests
	idle      bool // a build tool had no tests to run
	aggregate bool // sbt had none in a project, and may have had some in others
	built     bool // a build tool did something other than tests
	denied    denial
	forks     forks
	forked    []*Counter
	guessed   map[string]*Counter // what stands after prefixes, by the name in them
	guess     bool                // it is one of those
	karma     karma
	above     Tests // of the line aboveAt, if the next one is that of a test
	aboveAt   int
}

// A deferred sum counts once the output is complete: another of its kind may replace it, or it replaces the lines of another tool.
type deferred struct {
	has   bool
	green bool // one was without a failure
	Tests
}

// sum adds one that is not replaced.
func (d *deferred) sum(t Tests) {
	d.has, d.green = true, d.green || t.Failed == 0 && t.Passed > 0
	d.add(t)
}

// Kinds of deferred sums.
const (
	ofLast      = iota // one a suite, and a last one of all suites, which replaces the others
	ofGotestsum        // replaces what go test prints
	ofGinkgo           // is replaced by what go test prints
	ofKarma            // one a browser, of which the last counts, and which a sum of all replaces
	kindsDeferred
)

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

// bare counts "PASSED: 3" and "FAILED: 1", in either order, where one stands right below the other, or only others of the same kind
// are between them.
func (c *Counter) bare(n int, failed bool) {
	w := c.word
	switch near := w.has && c.wordAt == c.lines-1; {
	case near && w.failed != failed:
		t := c.wordRest
		t.Passed, t.Failed = t.Passed+n, t.Failed+w.n
		if failed {
			t = Tests{w.n, c.wordRest.Failed + n, t.Skipped}
		}
		c.word = half{}
		c.whole(t)
		return
	case !near:
		c.wordRest = Tests{}
	}
	c.word, c.wordAt = half{has: true, failed: failed, n: n}, c.lines
}

// A denial is what the summaries of an output say of failures.
type denial struct {
	open     bool            // a summary began, and tells of no failure so far
	green    bool            // a summary was without a failure
	before   bool            // green, before the last summary of one line
	failed   int             // in the summaries that have some
	goFailed bool            // the last line of go test, or of a test binary, that says how it ended is one of a failure
	goSeen   bool            // there was a line of a package that failed
	said     bool            // a tool said so, and not how many
	plans    int             // of TAP
	planned  int             // tests, by the last plan
	packages map[string]bool // of go test -json: those of which the last event is a failure
}

// begin notes that a summary begins.
func (d *denial) begin() {
	d.close()
	d.open = true
}

// close notes that what the next line says is of no summary before it.
func (d *denial) close() {
	d.green, d.open = d.green || d.open, false
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

// Denied reports whether the output tells of failed tests, and each of its summaries does: of a workspace, those of one command. A tool that
// exits 0 prints that if a script around it drops its exit status. failed is 0 if the output does not say how many. One summary without a
// failure is enough for false: it may be that of a second try, or the failure may be one that a test wanted. A summary in a part of a long
// output that is not looked at does not count.
func (c *Counter) Denied() (failed int, denied bool) {
	for _, x := range c.counters() {
		n, d := x.ownDenied()
		failed, denied = failed+n, denied || d
	}
	if !denied && c.silent() {
		return c.guessDenied()
	}
	return failed, denied
}

// ownDenied is Denied without the commands of a workspace.
func (c *Counter) ownDenied() (failed int, denied bool) {
	counted, _ := c.own()
	d := c.denied // a copy: the result is the same when it is asked again
	denied = d.said || c.bailed
	switch {
	case c.found&(goJSON|goVerbose|goPlain) == 0 && !d.goFailed:
	case len(d.packages) > 0 || d.goFailed:
		denied = true
		d.failed += c.events.Failed + c.verbose.Failed
	case counted.Ran() > 0 || c.found&goPlain != 0:
		d.green = true
	}
	provesOwn := c.proved > 0 && c.proved == c.tap.Total() // the lines are those of prove -v, which said how it ended
	if c.found&nodeSummary == 0 && c.found&tapLines != 0 && !provesOwn && !c.bailed {
		switch total := c.tap.Total(); {
		case !c.tapPlan:
			if c.tap.Failed > 0 { // it ended before its plan came
				d.add(0, c.tap.Failed)
			}
		case d.plans != 1, total == 0, c.tap.Failed == 0 && d.planned <= total, d.planned < total:
			d.green = true
		case c.tap.Failed > 0:
			d.add(0, c.tap.Failed)
		default: // it ended before all tests of the plan did: a failure by the specification of TAP
			denied = true
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
	someRan // of another tool that does not say how many
)

// Write looks at p, bytes of stream 0 or 1 in order of arrival.
func (c *Counter) Write(stream int, p []byte) {
	if !c.stream && c.seen >= scanned && c.spent >= further {
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
	if t, ok = c.told(); !ok && c.silent() { // not where a runner says that no test ran
		t, ok = c.addGuesses(t, ok)
	}
	return t, ok || c.aggregate
}

// told is Tests without what stands after prefixes.
func (c *Counter) told() (t Tests, ok bool) {
	for _, x := range c.counters() {
		own, said := x.own()
		if !said && x.found&(goPlain|someRan) != 0 {
			return Tests{}, false // it ran some, and does not say how many
		}
		t.add(own)
		ok = ok || said
	}
	return t, ok
}

// counters returns c and those of the commands of a workspace, all complete.
func (c *Counter) counters() []*Counter {
	if !c.done {
		c.done = true
		for s := range c.part {
			c.line(c.part[s])
		}
		for i := range c.last {
			lines := c.last[i].lines()
			for line := range bytes.Lines(lines) {
				c.line(line)
			}
			c.last[i].text = nil
		}
		c.settle()
		for _, x := range c.forked {
			x.last = c.last // the lines that were not looked at may be those of x
			x.settle()
		}
		for _, x := range c.guessed {
			x.last = c.last
			x.settle()
		}
	}
	return append([]*Counter{c}, c.forked...)
}

// own is Tests without the commands of a workspace. c is complete.
func (c *Counter) own() (t Tests, ok bool) {
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
	if t.Ran() == 0 && c.found&someRan != 0 {
		return Tests{}, false
	}
	return t, ok
}

// settle counts what only the whole of an output says.
func (c *Counter) settle() {
	c.karma.settle(&c.later[ofKarma])
	const goFormats = goJSON | goVerbose | goPlain | goEmpty
	if c.later[ofGotestsum].has {
		c.found &^= goFormats
		c.denied.packages, c.denied.goFailed = nil, false
	}
	for i, a := range c.later {
		if a.has && (i != ofGinkgo || c.found&goFormats == 0) {
			c.whole(a.Tests)
			c.denied.green = c.denied.green || a.green
		}
	}
	if c.idle && !c.built && !c.last[0].cut && !c.last[1].cut {
		c.whole(Tests{})
	}
}

// line looks at one line. Most of them are told apart by their first byte.
func (c *Counter) line(l []byte) {
	c.lines++
	if c.seen >= scanned {
		c.spent++
	}
	if len(l) > maxLine {
		l = l[:maxLine]
	}
	if bytes.IndexByte(l, 0x1b) >= 0 {
		l = escapes().ReplaceAll(l, nil)
	}
	l = bytes.TrimRight(l, "\r\n\t ")
	if len(l) < 4 || c.fork(l) {
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
	case 'P':
		if string(l) == "PASS" { // of a test binary
			c.denied.goFailed = false
			return
		}
	case 'B':
		if c.found&tapLines != 0 && bytes.HasPrefix(l, []byte("Bail out!")) {
			c.bailed = true
			return
		}
	case '1', 'T':
		if bytes.HasPrefix(l, []byte("1..")) || bytes.HasPrefix(l, []byte("TAP version ")) {
			c.found |= tapLines
			c.stream = true
			if w := bytes.Fields(l[3:]); l[0] == '1' && isNumber(w) {
				c.tapPlan, c.bailed = true, false
				c.denied.plans++
				c.denied.planned = number(w[0])
			}
			return
		}
	}
	if !c.summary(l) {
		c.prefixed(l)
	}
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
	if string(l) == "FAIL" { // the last line, where a package failed, and that of a test binary
		c.denied.goFailed = c.denied.goSeen || c.verbose.Failed > 0
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

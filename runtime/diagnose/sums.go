package diagnose

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A sum is a kind of line that says how many tests there were.
//
// The first letter of a group of its pattern says what the number counts: p, f and s are tests that passed, failed and did not run, n is all
// of these, and e are failures that n does not include. If read is nil, the line is a whole summary.
type sum struct {
	re    string // begins with ^
	under head   // the last announcement must be this one; 0 if it needs none
	plain bool   // its words are those of many logs: it counts only at the beginning of a line
	read  func(c *Counter, s *sum, m [][]byte)

	look    sync.Once // of texts
	texts   [][]byte  // of which each of its lines has one: they are looked for first
	once    sync.Once // of what follows
	pattern *regexp.Regexp
	groups  []byte // the first letter of each group's name; 0 for none
}

// match returns the groups of a line of this kind; nil for another line. A pattern is compiled where a line has one of its texts: an output has
// the sums of few runners, and to compile all of them takes longer than most commands of a script.
func (s *sum) match(l []byte) [][]byte {
	s.once.Do(func() {
		s.pattern = regexp.MustCompile(s.re)
		for _, name := range s.pattern.SubexpNames() {
			s.groups = append(s.groups, (name + "\x00")[0])
		}
	})
	return s.pattern.FindSubmatch(l)
}

// A head is a line that gives the lines below it their meaning.
type head uint8

const (
	_ head = iota
	ofBoost
	ofClojure
	ofCTest
	ofHeft
	ofHurl
	ofJulia
	ofKarmaMocha
	ofLit
	ofPlatform // of Microsoft, or JUnit
	ofPlaywright
	ofProve
	ofStestr
	ofUVU
	ofVSTest
	ofXCTest
)

// sums returns, for each byte, the kinds of which a line can begin with it.
var sums = sync.OnceValue(func() (by [256][]*sum) {
	kinds := sumKinds()
	for i := range kinds {
		s := &kinds[i]
		if firsts := first(s.re); firsts != "" {
			for _, b := range []byte(firsts) {
				by[b] = append(by[b], s)
			}
			continue
		}
		var can [256]bool
		begins(s.tree(), &can)
		for b, can := range can {
			if can {
				by[b] = append(by[b], s)
			}
		}
	}
	return by
})

// tree is the pattern, read.
func (s *sum) tree() *syntax.Regexp {
	tree, err := syntax.Parse(s.re, syntax.Perl)
	if err != nil {
		panic(err)
	}
	return tree
}

// first returns the bytes with which a match of re can begin, where re begins with one or with digits; "" for another pattern. Most are such,
// and need not be read before a line begins like that: to read all takes half a millisecond.
func first(re string) string {
	re = re[1:]
	if group, ok := strings.CutPrefix(re, "("); ok {
		if _, inner, named := strings.Cut(group, ">"); named && strings.HasPrefix(group, "?P<") {
			group = inner
		}
		if strings.HasPrefix(group, `\d+)`) {
			re = group
		}
	}
	const meta = `\.+*?()|[]{}^$`
	switch {
	case strings.HasPrefix(re, `\d`) && strings.IndexByte("*?{", re[2]) < 0:
		return "0123456789"
	case re[0] == '\\' && strings.IndexByte(meta, re[1]) >= 0:
		re = re[1:]
	case re[0] >= utf8.RuneSelf || strings.IndexByte(meta, re[0]) >= 0:
		return ""
	}
	if strings.IndexByte("*+?{|", re[1]) >= 0 {
		return ""
	}
	return re[:1]
}

// begins adds to can the bytes with which a match of re can begin. empty reports whether re matches the empty text, so that a match can
// also begin with what follows it.
func begins(re *syntax.Regexp, can *[256]bool) (empty bool) {
	add := func(from, to rune) {
		for b := range can {
			can[b] = can[b] || from <= rune(b) && rune(b) <= to || b >= 0x80 && to >= 0x80 // one of several bytes
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		r := re.Rune[0]
		add(r, r)
		if re.Flags&syntax.FoldCase != 0 { // of [Pp]
			r = unicode.SimpleFold(r)
			add(r, r)
		}
	case syntax.OpCharClass:
		for pair := range slices.Chunk(re.Rune, 2) {
			add(pair[0], pair[1])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !begins(sub, can) {
				return false
			}
		}
		return true
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			empty = begins(sub, can) || empty
		}
	case syntax.OpCapture, syntax.OpPlus:
		return begins(re.Sub[0], can)
	case syntax.OpStar, syntax.OpQuest:
		begins(re.Sub[0], can)
		return true
	case syntax.OpBeginText:
		return true
	default:
		panic("diagnose: " + re.String() + " at the beginning of a pattern")
	}
	return empty
}

// contains returns texts of which each match of re has one; none if there are no such texts. Each part of a concatenation has its own: those
// whose shortest text is longest are taken, since they are in the fewest lines.
func contains(re *syntax.Regexp) (texts []string) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []string{string(re.Rune)}
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			of := contains(sub)
			if of == nil {
				return nil
			}
			texts = append(texts, of...)
		}
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range re.Sub {
			if of := contains(sub); shortest(of) > shortest(texts) {
				texts = of
			}
		}
	}
	return texts
}

func shortest(texts []string) int {
	if len(texts) == 0 {
		return 0
	}
	return len(slices.MinFunc(texts, func(a, b string) int { return len(a) - len(b) }))
}

// has reports whether a line has one of the texts of s.
func (s *sum) has(l []byte) bool {
	s.look.Do(func() {
		for _, text := range contains(s.tree()) {
			s.texts = append(s.texts, []byte(text))
		}
	})
	return len(s.texts) == 0 || slices.ContainsFunc(s.texts, func(text []byte) bool { return bytes.Contains(l, text) })
}

// summary looks for a sum in a line, and reports whether it is one.
func (c *Counter) summary(l []byte) bool {
	if len(l) > 400 && l[0] != ':' { // an annotation names all tests that failed
		return false
	}
	for _, s := range sums()[l[0]] {
		if s.under != 0 && s.under != c.under || s.plain && c.guess || !s.has(l) {
			continue
		}
		if m := s.match(l); m != nil {
			if s.read == nil {
				c.whole(s.tests(m))
			} else {
				s.read(c, s, m)
			}
			return true
		}
		if c.seen >= scanned {
			c.spent += pattern
		}
	}
	return false
}

// tests reads the groups of a line.
func (s *sum) tests(m [][]byte) (t Tests) {
	all := 0
	for i, group := range s.groups {
		switch group {
		case 'p':
			t.Passed += number(m[i])
		case 'f':
			t.Failed += amount(m[i])
		case 's':
			t.Skipped += amount(m[i])
		case 'n':
			all += number(m[i])
		}
	}
	t.Passed += max(all-t.Total(), 0)
	for i, group := range s.groups {
		if group == 'e' {
			t.Failed += amount(m[i])
		}
	}
	return t
}

// amount reads a count of tests that failed or were skipped. A number that is too large stays large, where [number], which reads counts of
// tests that passed, makes it 0: either way no test passes by it.
func amount(text []byte) int {
	if n, err := strconv.Atoi(string(text)); err == nil {
		return min(n, 1<<40)
	}
	return min(len(text), 1) << 40
}

// group returns the number of the first group of a line.
func group(m [][]byte) int { return number(m[1]) }

// whole counts a summary.
func (c *Counter) whole(t Tests) {
	c.found |= anySummary
	c.sum.add(t)
	c.denied.close()
	c.sumAt, c.denied.before = c.lines, c.denied.green
	c.denied.failed += t.Failed
	c.denied.green = c.denied.green || t.Failed == 0 && t.Passed > 0
}

// total counts a line of a summary.
func (c *Counter) total(t Tests) {
	c.found |= anySummary
	c.sum.add(t)
	c.sumAt = c.lines
	c.denied.add(t.Passed, t.Failed)
}

// refuted is a line right below a summary that says how many errors there were outside of tests: what vitest, bun and ava print where a run
// is red and no test of it failed.
func refuted(c *Counter, _ *sum, m [][]byte) {
	if c.sumAt != c.lines-1 || amount(m[1]) == 0 {
		return
	}
	c.sumAt = c.lines // ava has a line for each kind
	c.refute()
}

// refute notes that the last summary is not one of a success, though it tells of no test that failed.
func (c *Counter) refute() {
	d := &c.denied
	if d.said = true; d.open {
		d.open = false
		return
	}
	d.green = d.before
}

var asides = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\([^)]*\)`) })

// nextest reads how many tests ran, of how many where not all did, and what became of them; what is in parentheses is about those before it.
// It leaves tests out only where the run has failed.
func nextest(c *Counter, _ *sum, m [][]byte) {
	text := asides().ReplaceAll(m[3], nil)
	t := tally(text)
	for _, x := range counted().FindAllSubmatch(text, -1) {
		switch string(x[2]) {
		case "timed", "exec":
			t.Failed += amount(x[1])
		}
	}
	c.whole(t)
	if t.Failed == 0 && len(m[2]) > 0 && number(m[1]) < number(m[2]) {
		c.refute()
	}
}

// part is one line of a summary in which each line is of one outcome.
func part(c *Counter, s *sum, m [][]byte) { c.total(s.tests(m)) }

// side is one line of a summary in which the tests that failed may come before those that passed.
func side(c *Counter, s *sum, m [][]byte) {
	t := s.tests(m)
	for _, group := range s.groups {
		switch group {
		case 'p':
			c.halve(t.Passed, false)
			return
		case 'f', 'e':
			c.halve(t.Failed, true)
			return
		}
	}
	c.total(t)
}

// words reads "3 passed, 1 failed" in any order and with any separator.
func words(c *Counter, _ *sum, m [][]byte) { c.whole(tally(m[0])) }

// failedFiles is the line above that of the tests: how many of their files failed.
func failedFiles(c *Counter, _ *sum, m [][]byte) { c.files = amount(m[1]) }

// ofFiles is the line of the tests below failedFiles. Where files failed and none of their tests did, the files did not load, and each counts
// as a test that failed.
func ofFiles(c *Counter, _ *sum, m [][]byte) {
	t := tally(m[0])
	if t.Failed == 0 {
		t.Failed = c.files
	}
	c.files = 0
	c.whole(t)
}

// none is a line that says that no test ran.
func none(c *Counter, _ *sum, _ [][]byte) { c.whole(Tests{}) }

// announces is the line of h, to which lines below belong.
func announces(h head) func(*Counter, *sum, [][]byte) {
	return func(c *Counter, _ *sum, m [][]byte) {
		c.under, c.half, c.all = h, half{}, 0
		c.denied.close()
		if len(m) > 1 {
			c.all = group(m)
		}
	}
}

// remain counts the announced tests: those that the line does not name have passed.
func remain(c *Counter, s *sum, m [][]byte) {
	t := s.tests(m)
	t.Passed = max(c.all-t.Failed-t.Skipped, 0)
	c.whole(t)
}

// later keeps a sum for the end.
func later(kind int) func(*Counter, *sum, [][]byte) {
	return func(c *Counter, s *sum, m [][]byte) {
		a, t := &c.later[kind], s.tests(m)
		if kind == ofLast {
			*a = deferred{}
		}
		a.sum(t)
	}
}

var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b(?:\[[0-9;:?]*[A-Za-z]|[ -/]+[0-~])`) })

// counted finds "3 passed".
var counted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d+) ([a-z]+)`) })

// tally adds up the counts of a line by their words.
func tally(l []byte) (t Tests) {
	for _, m := range counted().FindAllSubmatch(l, -1) {
		n := amount(m[1])
		switch string(m[2]) {
		case "passed", "pass", "passing", "xpassed":
			t.Passed += number(m[1])
		case "failed", "fail", "failing", "failures", "failure", "error", "errors", "ambiguous":
			t.Failed += n
		case "skipped", "skip", "xfailed", "ignored", "pending", "todo", "todos", "incomplete", "undefined":
			t.Skipped += n
		}
	}
	return t
}

// of counts a line that says how many tests there were, and how many of them ended in which other way than passed.
func of(c *Counter, _ *sum, m [][]byte) {
	t := Tests{Passed: group(m)}
	for _, x := range counted().FindAllSubmatch(m[0], -1) {
		n := amount(x[1])
		switch string(x[2]) {
		case "doctest", "doctests", "property", "properties":
			t.Passed += number(x[1])
		case "failures", "failure", "errors", "invalid", "cancelled", "timed":
			t.Passed, t.Failed = t.Passed-n, t.Failed+n
		case "skips", "skipped", "excluded", "pendings", "omissions", "not":
			t.Passed, t.Skipped = t.Passed-n, t.Skipped+n
		}
	}
	t.Passed = max(t.Passed, 0)
	c.whole(t)
}

// unit counts the tests of unittest and its like: the failures come in a line of their own.
func unit(c *Counter, _ *sum, m [][]byte) {
	c.unit += group(m)
	c.found |= unitSummary
	c.denied.begin()
}

func unitEnd(c *Counter, _ *sum, m [][]byte) {
	if c.found&unitSummary == 0 {
		return
	}
	var t Tests
	for w := range bytes.SplitSeq(m[1], []byte(", ")) {
		name, n, _ := bytes.Cut(w, []byte("="))
		switch string(name) {
		case "failures", "errors", "unexpected successes", "unexpectedSuccesses":
			t.Failed += amount(n)
		case "skipped", "expected failures", "skips", "expectedFailures", "todos":
			t.Skipped += amount(n)
		}
	}
	c.unitRest(t)
}

// unitRest counts tests that unit counted, and that have not passed.
func (c *Counter) unitRest(t Tests) {
	c.unit = max(c.unit-t.Total(), 0)
	c.total(t)
}

// outcome counts the tests of a line that says how they ended.
func outcome(c *Counter, _ *sum, m [][]byte) {
	n, t := amount(m[2]), Tests{}
	switch string(m[1]) {
	case "TOTAL", "Ok":
		c.outcomes = true
		if m[1][0] == 'T' {
			return
		}
		t.Passed = number(m[2])
	case "PASS":
		t.Passed = number(m[2])
	case "FAIL", "XPASS", "ERROR", "Fail", "Unexpected Pass", "Timeout":
		t.Failed = n
	default:
		t.Skipped = n
	}
	if c.outcomes { // a list of them has begun
		c.total(t)
	}
}

var phpCounts = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\w+): (\d+)`) })

func phpUnit(c *Counter, _ *sum, m [][]byte) {
	var t Tests
	for _, x := range phpCounts().FindAllSubmatch(m[2], -1) {
		switch string(x[1]) {
		case "Errors", "Failures":
			t.Failed += amount(x[2])
		case "Skipped", "Incomplete":
			t.Skipped += amount(x[2])
		}
	}
	t.Passed = max(group(m)-t.Total(), 0)
	c.whole(t)
}

// sbt reads its own sum, which is that of a failure also where no test failed: a suite did not load, or its process died.
func sbt(c *Counter, s *sum, m [][]byte) {
	t := s.tests(m)
	if string(m[1]) == "Passed" || t.Failed > 0 {
		c.whole(t)
		return
	}
	c.found |= anySummary
	c.sum.add(t)
	c.denied.close()
	c.denied.said = true
}

// bareRest counts a line of other outcomes if it stands among those of bare.
func bareRest(c *Counter, s *sum, m [][]byte) {
	if c.word.has && c.wordAt == c.lines-1 {
		c.wordRest.add(s.tests(m))
		c.wordAt = c.lines
	}
}

// proved reads how prove ended, which does not say how many tests were skipped.
func proved(c *Counter, _ *sum, m [][]byte) {
	c.proved += c.all
	switch {
	case string(m[1]) == "PASS":
		c.denied.green = true
	case c.single.Failed > 0:
		c.denied.failed += c.single.Failed
	default:
		c.denied.said = true
	}
	c.under, c.single = 0, Tests{}
}

// gradle reads how a task ended. Gradle counts tests only if some of them failed.
func gradle(c *Counter, _ *sum, m [][]byte) {
	name, became := string(m[1]), string(m[2])
	switch {
	case (name == "assemble" || name == "build") && became != "SKIPPED":
		c.built = true // the tests are what it does on its way
	case (became == "" || became == "UP-TO-DATE" || became == "FROM-CACHE") && otherChecks().MatchString(name) && !plumbing().MatchString(name):
		c.built = true
	case !strings.HasSuffix(strings.ToLower(name), "test") && name != "allTests":
	case notTests().MatchString(name):
	case became == "NO-SOURCE" || became == "SKIPPED":
		c.idle = true
	default:
		c.found |= someRan
	}
}

// otherChecks matches tasks that check something without tests.
var otherChecks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)lint|detekt|pmd|spotbugs|spotless|style|verif|.check|check.`)
})

// plumbing matches those of them that plugins put before the tests of every project: Android's and Kotlin's.
var plumbing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^check(?:Kotlin[A-Z].*|.*(?:AarMetadata|DuplicateClasses|Classpath|Libraries|Manifest|Obfuscation))$`)
})

// notTests matches tasks whose name ends in Test, and that run none.
var notTests = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:assemble|bundle|clean|compile|generate|lint|merge|package|pre|prepare|process)[A-Z]`)
})

// bazelCounts finds "2 tests pass" and "1 was skipped".
var bazelCounts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\d+) (?:tests? (pass)|(?:was|were) skipped)`)
})

// bazel counts programs that are tests: what neither passed nor was skipped has failed, or was not built.
func bazel(c *Counter, _ *sum, m [][]byte) {
	var t Tests
	for _, x := range bazelCounts().FindAllSubmatch(m[0], -1) {
		if len(x[2]) > 0 {
			t.Passed += number(x[1])
		} else {
			t.Skipped += amount(x[1])
		}
	}
	t.Failed = max(group(m)-t.Total(), 0)
	c.whole(t)
}

// swift counts the sum of swift-testing, in which tests that were skipped are, too.
func swift(c *Counter, s *sum, m [][]byte) {
	t := c.single
	if string(m[2]) == "failed" {
		t.Failed = max(t.Failed, 1)
	} else {
		t.Failed = 0
	}
	t.Passed = max(group(m)-t.Failed-t.Skipped, 0)
	c.single = Tests{}
	c.whole(t)
}

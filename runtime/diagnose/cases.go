package diagnose

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// MaxCases bounds how many tests of one command are named.
const MaxCases = 50_000

// MaxCaseBytes bounds what names the tests of one run, and says how they failed, in bytes: see [Case.Size].
const MaxCaseBytes = 64 << 20

// A Case is one test that a tool names.
type Case struct {
	Class   string // what it belongs to: a package, a file, a class; may be empty
	Name    string
	State   CaseState
	Elapsed float64  // seconds; 0 where the tool does not say
	Failure *Failure // what a file of test results says of one that failed; nil if nothing
}

// A CaseState is how a test ended.
type CaseState uint8

const (
	CasePassed CaseState = iota
	CaseFailed
	CaseSkipped
)

// Size returns how many bytes keep the case, at least.
func (c Case) Size() int {
	n := 100 + len(c.Class) + len(c.Name)
	if f := c.Failure; f != nil {
		n += 100 + len(f.File) + len(f.Message) + len(f.Test)
		for _, l := range f.Detail {
			n += 16 + len(l)
		}
	}
	return n
}

// count adds the case to the counts.
func (c Case) count(t *Tests) {
	switch c.State {
	case CaseFailed:
		t.Failed++
	case CaseSkipped:
		t.Skipped++
	default:
		t.Passed++
	}
}

// Cases returns the tests that outputs of one command name: of go test with -json and -v, the Test Anything Protocol, node,
// pytest and unittest with -v, and cargo. They are all that were counted, or none: an output that was cut, or
// that names only some of its tests, has no cases.
func Cases(counted Tests, outputs ...io.Reader) []Case {
	var c caseReader
	for _, r := range outputs {
		lines := bufio.NewReaderSize(r, maxEvent)
		for {
			l, err := lines.ReadSlice('\n')
			for tail := err; tail == bufio.ErrBufferFull; { // the rest of a longer line
				_, tail = lines.ReadSlice('\n')
				if tail != bufio.ErrBufferFull {
					err = tail
				}
			}
			c.line(l)
			if err != nil {
				break
			}
		}
		c.ended()
	}
	var t Tests
	for _, x := range c.list {
		x.count(&t)
	}
	if t != counted || len(c.list) > MaxCases {
		return nil
	}
	return c.list
}

type casePatterns struct {
	goResult, goStatus, tap, spec, pytest, xdist, unittest, unittestName, cargo, duration *regexp.Regexp
}

var casesOf = sync.OnceValue(func() (p casePatterns) {
	c := regexp.MustCompile
	p.goResult = c(`^\s*--- (FAIL|PASS|SKIP): (\S+) \((\d[\d.]*)s\)$`)
	p.goStatus = c(`^(?:ok  |FAIL)\t(\S+)\t`)
	p.tap = c(`^( *)(not )?ok \d+(?: -)?(?: ([^#]*?))?(?:\s*# *(\w+).*)?$`)
	p.spec = c(`^( *)([✖✔﹣▶]) (.*?)(?: \((\d[\d.]*)ms\))?( # (?:TODO|SKIP).*)?$`)
	p.pytest = c(`^(\S+?\.\w+)::(.+?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?: \(.*\)?)?(?: +\[ *\d+%\])?$`)
	p.xdist = c(`^\[gw\d+\] \[ *\d+%\] (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (\S+?\.\w+)::(.+?)$`)
	p.unittest = c(`^(?:(\w+) \((\S+)\)|.*) \.\.\. (ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$`)
	p.unittestName = c(`^(\w+) \((\S+)\)$`)
	p.cargo = c(`^test (\S+(?: - .*)?) \.\.\. (ok|FAILED|ignored)(?:, .*| <.*>)?$`)
	p.duration = c(`^ +(duration_ms|type): '?([\w.]+)'?$`)
	return p
})

// A caseReader reads lines that name a test and how it ended.
type caseReader struct {
	list    []Case
	section int       // where the present package of go test -v, or output, begins in list
	events  bool      // of go test -json
	tap     bool      // the last line was a test of TAP, whose properties may follow
	again   bool      // node lists what failed once more
	open    []nodeRow // suites of node that are open
	name    [2]string // of unittest: the class and the test that a description follows
}

type nodeRow struct {
	indent int
	name   string
}

func (c *caseReader) add(x Case) {
	if len(c.list) <= MaxCases {
		x.Name, x.Class = short(x.Name), short(x.Class)
		c.list = append(c.list, x)
	}
}

// ended ends an output.
func (c *caseReader) ended() {
	c.section, c.tap, c.again, c.open, c.name = len(c.list), false, false, nil, [2]string{}
}

func seconds(text string) float64 {
	f, _ := strconv.ParseFloat(text, 64)
	return f
}

func (c *caseReader) line(raw []byte) {
	if len(raw) > 0 && raw[0] == '{' && c.event(raw) {
		return
	}
	if bytes.IndexByte(raw, 0x1b) >= 0 {
		raw = escapes().ReplaceAll(raw, nil)
	}
	if len(raw) > maxLine {
		return
	}
	l := strings.TrimRight(string(raw), "\r\n\t ")
	p := casesOf()
	state := func(word string) CaseState {
		switch word {
		case "PASS", "PASSED", "XPASS", "ok":
			return CasePassed
		case "SKIP", "SKIPPED", "XFAIL", "ignored", "expected failure":
			return CaseSkipped
		}
		if strings.HasPrefix(word, "skipped") {
			return CaseSkipped
		}
		return CaseFailed
	}
	tap := c.tap
	c.tap = false
	switch {
	case c.events || l == "":
	case strings.Contains(l, "--- "):
		if m := p.goResult.FindStringSubmatch(l); m != nil {
			c.add(Case{Name: m[2], State: state(m[1]), Elapsed: seconds(m[3])})
		}
	case strings.HasPrefix(l, "ok  \t") || strings.HasPrefix(l, "FAIL\t"):
		if m := p.goStatus.FindStringSubmatch(l); m != nil {
			for i := range c.list[c.section:] {
				c.list[c.section+i].Class = m[1]
			}
			c.section = len(c.list)
		}
	case strings.HasPrefix(l, "[gw"):
		if m := p.xdist.FindStringSubmatch(l); m != nil {
			c.add(Case{Class: m[2], Name: m[3], State: state(m[1])})
		}
	case strings.HasPrefix(l, "test ") && p.cargo.MatchString(l):
		m := p.cargo.FindStringSubmatch(l)
		c.add(Case{Name: m[1], State: state(m[2])})
	case strings.Contains(l, "::"):
		if m := p.pytest.FindStringSubmatch(l); m != nil {
			c.add(Case{Class: m[1], Name: m[2], State: state(m[3])})
		}
	case strings.Contains(l, " ... "):
		m := p.unittest.FindStringSubmatch(l)
		if m == nil {
			break
		}
		if m[1] != "" {
			c.name = [2]string{m[2], m[1]}
		}
		if c.name[1] != "" {
			c.add(Case{Class: c.name[0], Name: c.name[1], State: state(m[3])})
		}
		c.name = [2]string{}
	case strings.ContainsAny(l, "✖✔﹣▶"):
		c.node(p.spec.FindStringSubmatch(l))
	case strings.Contains(l, "ok "):
		m := p.tap.FindStringSubmatch(l)
		if m == nil {
			break
		}
		x := Case{Name: strings.ReplaceAll(cmp.Or(m[3], "unnamed"), `\#`, "#")}
		switch d := strings.ToUpper(m[4]); {
		case d == "SKIP" || d == "TODO":
			x.State = CaseSkipped
		case m[2] != "":
			x.State = CaseFailed
		}
		c.add(x)
		c.tap = true
	case tap && strings.TrimSpace(l) == "---":
		c.tap = true
	case tap && strings.TrimSpace(l) != "...":
		c.tap = true
		if m := p.duration.FindStringSubmatch(l); m != nil && len(c.list) > 0 && len(c.list) <= MaxCases {
			switch last := len(c.list) - 1; {
			case m[1] == "duration_ms":
				c.list[last].Elapsed = seconds(m[2]) / 1000
			case m[2] == "suite": // not a test
				c.list, c.tap = c.list[:last], false
			}
		}
	case p.unittestName.MatchString(l):
		m := p.unittestName.FindStringSubmatch(l)
		c.name = [2]string{m[2], m[1]}
	}
}

// node reads a line of a test, or of a suite, that node prints for people.
func (c *caseReader) node(m []string) {
	if m == nil || c.again {
		return
	}
	row := nodeRow{len(m[1]), m[3]}
	if m[2] == "✖" && m[3] == "failing tests:" {
		c.again = true
		return
	}
	for n := len(c.open); n > 0; n-- {
		if c.open[n-1] == row { // it ends
			c.open = c.open[:n-1]
			return
		}
	}
	if m[2] == "▶" {
		if len(c.open) < 1000 {
			c.open = append(c.open, row)
		}
		return
	}
	x := Case{Name: m[3], Elapsed: seconds(m[4]) / 1000}
	switch {
	case m[2] == "﹣" || m[5] != "":
		x.State = CaseSkipped
	case m[2] == "✖":
		x.State = CaseFailed
	}
	if n := len(c.open); n > 0 {
		x.Class = c.open[n-1].name
	}
	c.add(x)
}

// event reads an event of go test -json.
func (c *caseReader) event(l []byte) bool {
	if !bytes.Contains(l, []byte(`"Action":"`)) || !bytes.Contains(l, []byte(`"Package":"`)) {
		return false
	}
	c.events = true
	if !bytes.Contains(l, []byte(`"Test":"`)) || bytes.Contains(l, []byte(`"Action":"output"`)) {
		return true
	}
	var e struct {
		Action, Package, Test string
		Elapsed               float64
	}
	if json.Unmarshal(l, &e) != nil {
		return true
	}
	x := Case{Class: e.Package, Name: e.Test, Elapsed: e.Elapsed}
	switch e.Action {
	case "pass":
	case "fail":
		x.State = CaseFailed
	case "skip":
		x.State = CaseSkipped
	default:
		return true
	}
	c.add(x)
	return true
}

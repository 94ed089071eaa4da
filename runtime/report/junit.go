package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/command-dialect/dialect/runtime/diagnose"
)

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	junitCounts
	Suites []junitSuite `xml:"testsuite"`
}

type junitCounts struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr"`
}

type junitSuite struct {
	junitCounts
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name    string      `xml:"name,attr"`
	Class   string      `xml:"classname,attr"`
	File    string      `xml:"file,attr,omitempty"`
	Line    int         `xml:"line,attr,omitempty"`
	Time    string      `xml:"time,attr"`
	Failure *junitFault `xml:"failure"`
	Error   *junitFault `xml:"error"`
	Skipped *junitFault `xml:"skipped"`
	Output  string      `xml:"system-out,omitempty"`
}

type junitFault struct {
	Message string `xml:"message,attr,omitempty"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnitOptions say where JUnit finds what a document does not hold.
type JUnitOptions struct {
	// Output opens what is kept of a stream, "stdout" or "stderr", of a line; nil where that is nothing.
	Output func(l *DocResult, stream string) io.ReadCloser
}

// JUnit writes a document as JUnit XML. A line whose tool names all of the tests that it counts is a suite of its own, with one
// case a test; the other lines and members are the cases of the first suite. So is a line whose tests would make those of the report
// larger than [diagnose.MaxCaseBytes]. A line that could not be completed is an error, one that failed a failure, also beside its
// tests where none of them failed; the gate is a case of its own.
func JUnit(w io.Writer, d *Document, o JUnitOptions) error {
	var properties []junitProperty
	for _, p := range [][2]string{{"run", d.Run}, {"session", d.Session}, {"verdict", d.Verdict}} {
		if p[1] != "" {
			properties = append(properties, junitProperty{p[0], printableXML(p[1])})
		}
	}
	suite := func(name string, elapsed float64) *junitSuite {
		return &junitSuite{junitCounts: junitCounts{Name: printableXML(name), Time: seconds3(elapsed)}, Timestamp: strings.TrimSuffix(d.Started, "Z"), Properties: properties}
	}
	s := suite(d.Script.Name, d.Elapsed)
	var named []*junitSuite
	left := diagnose.MaxCaseBytes
	d.leaves(func(l *DocResult) {
		if cases := l.cases(o); len(cases) > 0 {
			of := suite(fmt.Sprintf("%s %s", l.ID, l.Title()), l.Elapsed)
			size := 0
			for _, x := range cases {
				c := testCase(d, l, x)
				if size += c.size(); size > left { // also where many cases have the message of one error
					break
				}
				of.add(c)
			}
			if size > left {
				s.add(lineCase(d, l))
				return
			}
			left -= size
			if named = append(named, of); l.Verdict == "passed" || l.Verdict == "failed" && of.Failures > 0 {
				return
			}
		}
		s.add(lineCase(d, l))
	})
	if g := d.Gate; g != nil && g.Verdict == "refused" {
		c := junitCase{Name: "gate", Class: printableXML(d.Script.Name), Time: "0.000", Failure: &junitFault{Message: printableXML(g.Detail), Type: "gate_refused"}}
		for _, r := range g.Refusals {
			c.Failure.Text += printableXML(r.Message) + "\n"
		}
		s.add(c)
	}
	bad := s.Failures + s.Errors
	for _, of := range named {
		bad += of.Failures + of.Errors
	}
	if d.Verdict != "passed" && bad == 0 { // no line says so: none was carried out, for one
		why := cmp.Or(d.Limit, d.gateText())
		s.add(junitCase{Name: "run", Class: printableXML(d.Script.Name), Time: "0.000", Error: &junitFault{Message: printableXML(why), Type: printableXML(d.Verdict)}})
	}
	all := junitSuites{junitCounts: junitCounts{Name: "dialect", Time: s.Time}}
	if len(s.Cases) > 0 || len(named) == 0 {
		all.Suites = append(all.Suites, *s)
	}
	for _, of := range named {
		all.Suites = append(all.Suites, *of)
	}
	for _, of := range all.Suites {
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+of.Tests, all.Failures+of.Failures, all.Errors+of.Errors, all.Skipped+of.Skipped
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// size returns how many bytes the case is written in, at least.
func (c *junitCase) size() int {
	n := 100 + len(c.Name) + len(c.Class) + len(c.File)
	if f := c.Failure; f != nil {
		n += len(f.Message) + len(f.Text)
	}
	return n
}

// add adds a case, and counts it.
func (s *junitSuite) add(c junitCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

// lineCase is the case of a line.
func lineCase(d *Document, l *DocResult) junitCase {
	c := junitCase{
		Name: printableXML(fmt.Sprintf("%s %s", l.ID, l.Title())), Class: printableXML(d.Script.Name),
		File: printableXML(l.File), Line: l.Line, Time: seconds3(l.Elapsed),
	}
	x := &junitFault{Message: printableXML(l.How()), Type: l.Reason}
	if l.Error != nil {
		x.Message = printableXML(l.Error.String())
	}
	if f := l.Fault; f != nil {
		x.Text = printableXML("$ " + f.Invocation + "\n" + strings.Join(f.LastOutput, "\n"))
	}
	switch l.Verdict {
	case "failed":
		c.Failure = x
	case "fault":
		c.Error = x
	case "skipped", "cancelled":
		x.Text = ""
		c.Skipped = x
	}
	return c
}

// cases returns the tests of a line by name: those of the files that its tool wrote, else of what it printed, as far as
// that is kept; none unless they are all.
func (l *DocResult) cases(o JUnitOptions) []diagnose.Case {
	if l.live != nil && len(l.live.Cases) > 0 {
		return l.live.Cases
	}
	if l.Tests == nil || o.Output == nil {
		return nil
	}
	var outputs []io.Reader
	for _, stream := range []string{"stdout", "stderr"} {
		if r := o.Output(l, stream); r != nil {
			defer r.Close()
			outputs = append(outputs, r)
		}
	}
	return diagnose.Cases(diagnose.Tests(*l.Tests), outputs...)
}

// testCase is the case of one test of a line.
func testCase(d *Document, l *DocResult, x diagnose.Case) junitCase {
	c := junitCase{Name: printableXML(x.Name), Class: printableXML(cmp.Or(x.Class, d.Script.Name)), Time: seconds3(x.Elapsed)}
	switch x.State {
	case diagnose.CaseSkipped:
		c.Skipped = &junitFault{}
	case diagnose.CaseFailed:
		c.Failure = &junitFault{Message: "failed"}
		if f := x.Failure; f != nil {
			c.File, c.Line = printableXML(f.File), f.Line
			c.Failure.Message, c.Failure.Text = printableXML(f.Message), printableXML(strings.Join(f.Detail, "\n"))
			break
		}
		for _, e := range l.Errors {
			if e.Test != "" && (e.Package == "" || e.Package == x.Class) && sameTest(e.Test, x) {
				c.File, c.Line = printableXML(e.File), e.Line
				c.Failure.Message, c.Failure.Text = printableXML(e.Message), printableXML(strings.Join(e.Detail, "\n"))
				break
			}
		}
	}
	return c
}

// sameTest reports whether a failure names the test of a case: by its name, or with what it belongs to.
func sameTest(name string, x diagnose.Case) bool {
	return name == x.Name || x.Class != "" && strings.HasSuffix(name, x.Name) && strings.Contains(name, x.Class)
}

func seconds3(s float64) string { return fmt.Sprintf("%.3f", s) }

// printableXML leaves out what XML 1.0 cannot hold, not even escaped.
func printableXML(s string) string {
	ok := func(r rune) bool {
		return r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r != 0xfffe && r != 0xffff && r != utf8.RuneError
	}
	return strings.Map(func(r rune) rune {
		if ok(r) {
			return r
		}
		return '?'
	}, s)
}

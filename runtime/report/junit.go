package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
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

// JUnit writes a document as JUnit XML: one suite, one case a line or member. A line that
// could not be completed is an error, one that failed a failure; the gate is a case of
// its own.
func JUnit(w io.Writer, d *Document) error {
	s := junitSuite{junitCounts: junitCounts{Name: printableXML(d.Script.Name), Time: seconds3(d.Elapsed)}, Timestamp: strings.TrimSuffix(d.Started, "Z")}
	for _, p := range [][2]string{{"run", d.Run}, {"session", d.Session}, {"verdict", d.Verdict}} {
		if p[1] != "" {
			s.Properties = append(s.Properties, junitProperty{p[0], printableXML(p[1])})
		}
	}
	d.Leaves(func(l *DocResult) {
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
			s.Failures++
		case "fault":
			c.Error = x
			s.Errors++
		case "skipped", "cancelled":
			x.Text = ""
			c.Skipped = x
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	})
	if g := d.Gate; g != nil && g.Verdict == "refused" {
		c := junitCase{Name: "gate", Class: printableXML(d.Script.Name), Time: "0.000", Failure: &junitFault{Message: printableXML(g.Detail), Type: "gate_refused"}}
		for _, r := range g.Refusals {
			c.Failure.Text += printableXML(r.Message) + "\n"
		}
		s.Failures++
		s.Cases = append(s.Cases, c)
	}
	s.Tests = len(s.Cases)
	all := junitSuites{junitCounts: s.junitCounts, Suites: []junitSuite{s}}
	all.Name = "dialect"
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

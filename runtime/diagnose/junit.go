package diagnose

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxJUnit bounds how much of one JUnit XML file is read, in bytes.
const maxJUnit = 64 << 20

// JUnit reads a file of test results in the format that Ant's JUnit task began and that
// nearly all test runners can write. It returns the counts of its test cases and those
// that failed, and calls each for every test. The attributes of the suites
// are not believed where they say that tests passed: the cases are counted. A suite that says that something in it failed, or
// has a failure of its own, such as of its fixture, and names no case for it, failed as one test.
func JUnit(r io.Reader, each func(Case)) (t Tests, f Failures, err error) {
	d := xml.NewDecoder(io.LimitReader(r, maxJUnit))
	d.Strict = true
	d.CharsetReader = func(string, io.Reader) (io.Reader, error) {
		return nil, errors.New("its text is not UTF-8")
	}
	var in struct {
		open, bad, skipped bool
		status             string // that says that it failed; empty for none
		place              Finding
		test               Case
	}
	suites, depth := false, 0
	var within []suite
	fail := func(x Failure) {
		f.add(x)
		c := Case{Name: x.Test, State: CaseFailed}
		x = x.tidy()
		c.Failure = &x
		c.count(&t)
		each(c)
	}
	end := func() { // of a test
		in.open = false
		switch {
		case !in.bad && in.status != "":
			x := Failure{Finding: in.place, Test: in.test.Name}
			x.Message = "its status is " + in.status
			f.add(x)
			x = x.tidy()
			in.test.State, in.test.Failure = CaseFailed, &x
		case in.bad:
			in.test.State = CaseFailed
		case in.skipped:
			in.test.State = CaseSkipped
		}
		in.test.count(&t)
		each(in.test)
	}
	attr := func(e xml.StartElement, name string) string {
		for _, a := range e.Attr {
			if a.Name.Local == name {
				return strings.TrimSpace(a.Value)
			}
		}
		return ""
	}
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return t, f, fmt.Errorf("it is not JUnit XML: %w", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if depth++; depth > 1000 {
				return t, f, errors.New("it is not JUnit XML: more than 1000 elements in each other")
			}
			switch e.Name.Local {
			case "testsuite", "testsuites":
				suites = true
				within = append(within, suite{depth, attr(e, "name"), number(attr(e, "errors")) + number(attr(e, "failures")), t.Failed})
			case "testcase":
				if in.open { // of one in another, each counts
					end()
				}
				in.open, in.bad = true, false
				in.status, in.skipped = "", false
				for _, said := range []string{attr(e, "status"), attr(e, "result")} {
					switch said = strings.ToLower(said); said {
					case "fail", "failed", "failure", "error":
						in.status = said
					case "disabled", "notrun", "suppressed", "skipped", "ignored": // of ctest and GoogleTest without another word
						in.skipped = true
					}
				}
				in.place, in.test = Finding{File: attr(e, "file"), Line: number(attr(e, "line"))}, Case{Class: attr(e, "classname"), Name: attr(e, "name"), Elapsed: seconds(attr(e, "time"))}
			case "failure", "error":
				if !in.open && len(within) == 0 {
					break
				}
				in.bad = in.open
				x := Failure{Finding: in.place, Test: in.test.Name}
				x.Message = attr(e, "message")
				var text string
				if err := d.DecodeElement(&text, &e); err != nil {
					return t, f, fmt.Errorf("it is not JUnit XML: %w", err)
				}
				depth--
				if len(f.List) < maxFailures && x.File == "" {
					var r Reader
					r.Write(0, []byte(text))
					if found, ok := r.Failures(); ok && found.List[0].File != "" {
						at := found.List[0]
						x.File, x.Line, x.Column = at.File, at.Line, at.Column
						x.Message = cmp.Or(x.Message, at.Message)
					}
				}
				if !in.open {
					x = Failure{Test: within[len(within)-1].name}
					x.Message = attr(e, "message")
				}
				lines := strings.Split(cmp.Or(strings.TrimSpace(x.Message), strings.TrimSpace(text), "failed"), "\n")
				x.Message, x.Detail = lines[0], lines[1:]
				if !in.open {
					fail(x)
					break
				}
				f.add(x)
				if in.test.Failure == nil {
					x = x.tidy()
					in.test.Failure = &x
				}
			case "skipped":
				in.skipped = in.open
			}
		case xml.EndElement:
			if last := len(within) - 1; last >= 0 && within[last].depth == depth {
				if s := within[last]; s.bad > 0 && t.Failed == s.failed {
					x := Failure{Test: s.name}
					x.Message = fmt.Sprintf("the suite says that %d failed, and names none of them", s.bad)
					fail(x)
				}
				within = within[:last]
			}
			depth--
			if e.Name.Local != "testcase" || !in.open {
				break
			}
			end()
		}
	}
	if !suites {
		return t, f, errors.New("it is not JUnit XML: it has no testsuite")
	}
	return t, f, nil
}

// A suite is one that is open.
type suite struct {
	depth  int
	name   string
	bad    int // errors and failures, as its attributes say
	failed int // cases before it
}

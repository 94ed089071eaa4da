package diagnose

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxJUnit bounds how much of one JUnit XML file is read, in bytes.
const MaxJUnit = 64 << 20

// JUnit reads a file of test results in the format that Ant's JUnit task began and that
// nearly all test runners can write. It returns the counts of its test cases and those
// that failed. The attributes of the suites
// are not believed: the cases are counted.
func JUnit(r io.Reader) (t Tests, f Failures, err error) { return EachJUnit(r, func(Case) {}) }

// EachJUnit is [JUnit], which also calls each for every test.
func EachJUnit(r io.Reader, each func(Case)) (t Tests, f Failures, err error) {
	d := xml.NewDecoder(io.LimitReader(r, MaxJUnit))
	d.Strict = true
	d.CharsetReader = func(string, io.Reader) (io.Reader, error) {
		return nil, errors.New("its text is not UTF-8")
	}
	var in struct {
		open, bad, skipped bool
		place              Finding
		test               Case
	}
	suites, depth := false, 0
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
			case "testcase":
				in.open, in.bad, in.skipped = true, false, false
				in.place, in.test = Finding{File: attr(e, "file"), Line: number(attr(e, "line"))}, Case{Class: attr(e, "classname"), Name: attr(e, "name"), Elapsed: seconds(attr(e, "time"))}
			case "failure", "error":
				if !in.open {
					break
				}
				in.bad = true
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
				lines := strings.Split(cmp.Or(strings.TrimSpace(x.Message), strings.TrimSpace(text), "failed"), "\n")
				x.Message, x.Detail = lines[0], lines[1:]
				f.add(x)
				if in.test.Failure == nil {
					x = x.tidy()
					in.test.Failure = &x
				}
			case "skipped":
				in.skipped = in.open
			}
		case xml.EndElement:
			depth--
			if e.Name.Local != "testcase" || !in.open {
				break
			}
			in.open = false
			switch {
			case in.bad:
				in.test.State = CaseFailed
			case in.skipped:
				in.test.State = CaseSkipped
			}
			in.test.count(&t)
			each(in.test)
		}
	}
	if !suites {
		return t, f, errors.New("it is not JUnit XML: it has no testsuite")
	}
	return t, f, nil
}

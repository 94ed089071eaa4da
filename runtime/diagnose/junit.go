package diagnose

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/encoding/charmap"
)

// maxJUnit bounds how much of one JUnit XML file is read, in bytes.
const maxJUnit = 64 << 20

// decoded reads a text in the encoding that its declaration names: UTF-8, or one of a byte for each character. Where a declaration that is
// readable says UTF-16, a program that writes strings of UTF-16 wrote it, as those of .NET do, and the file is UTF-8.
func decoded(name string, text io.Reader) (io.Reader, error) {
	plain := func(name string) string {
		return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	}
	switch name := plain(name); name {
	case "utf8", "utf16", "ascii", "usascii": // the decoder refuses what is not UTF-8
		return text, nil
	case "latin1":
		return charmap.ISO8859_1.NewDecoder().Reader(text), nil
	default:
		for _, e := range charmap.All {
			if m, ok := e.(*charmap.Charmap); ok && (plain(m.String()) == name || plain(m.String()) == strings.Replace(name, "cp", "windows", 1)) {
				return m.NewDecoder().Reader(text), nil
			}
		}
	}
	return nil, fmt.Errorf("its text is in %s; write UTF-8", name)
}

// JUnit reads a file of test results in the format that Ant's JUnit task began and that
// nearly all test runners can write. It returns the counts of its test cases and those
// that failed, and calls each for every test. The attributes of the suites
// are not believed where they say that tests passed: the cases are counted. A suite that says that something in it failed, or
// has a failure of its own, such as of its fixture, and names no case for it, failed as one test. If a suite says that more cases were
// skipped than it marks, others of its cases count as skipped. A case whose status is an unknown word has failed.
//
// clean takes out of names and messages what nobody may see, while they are whole and as they stand in the file. Of each, and of an error, at most
// maxMessage bytes are kept: a few bytes of a file may say the longest of its names once more.
func JUnit(r io.Reader, clean func(string) string, each func(Case)) (t Tests, f Failures, err error) {
	defer func() {
		if err != nil {
			err = &unread{short(clean(unquoted(err))), err}
		}
	}()
	d := xml.NewDecoder(io.LimitReader(r, maxJUnit))
	d.Strict = true
	d.CharsetReader = decoded
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
	raw := func(e xml.StartElement, name string) string {
		for _, a := range e.Attr {
			if a.Name.Local == name {
				return a.Value
			}
		}
		return ""
	}
	read := func(e xml.StartElement, name string) string { return strings.TrimSpace(raw(e, name)) }
	shown := func(e xml.StartElement, name string) string { return strings.TrimSpace(clean(raw(e, name))) }
	said := func(e xml.StartElement, name string) string { return short(shown(e, name)) }
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
				s := suite{depth: depth, name: said(e, "name"), before: t}
				for _, of := range []struct {
					name string
					to   *int
				}{{"errors", &s.bad}, {"failures", &s.bad}, {"skipped", &s.skipped}, {"disabled", &s.disabled}, {"tests", &s.tests}} {
					n, ok := declared(read(e, of.name))
					if !ok && of.to == &s.bad {
						return t, f, fmt.Errorf("it is not JUnit XML: %s=%q of a suite is not a number", of.name, shown(e, of.name))
					}
					*of.to += n
				}
				within = append(within, s)
			case "testcase":
				if in.open { // of one in another, each counts
					end()
				}
				in.open, in.bad = true, false
				in.status, in.skipped = "", false
				for _, of := range []string{"status", "result"} {
					switch outcomeOf(raw(e, of)) {
					case CaseFailed:
						in.status = strings.ToLower(said(e, of))
					case CaseSkipped:
						in.skipped = true
					}
				}
				in.place, in.test = Finding{File: shown(e, "file"), Line: number(read(e, "line"))}, Case{Class: said(e, "classname"), Name: said(e, "name"), Elapsed: seconds(read(e, "time"))}
			case "failure", "error":
				if !in.open && len(within) == 0 {
					break
				}
				in.bad = in.open
				x := Failure{Finding: in.place, Test: in.test.Name}
				message := shown(e, "message")
				x.Message = message
				var text string
				if err := d.DecodeElement(&text, &e); err != nil {
					return t, f, fmt.Errorf("it is not JUnit XML: %w", err)
				}
				text = clean(text)
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
					x.Message = message
				}
				lines := strings.SplitN(cmp.Or(strings.TrimSpace(x.Message), strings.TrimSpace(text), "failed"), "\n", maxDetail+2) // the last is the rest
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
				s := within[last]
				if missing := s.missing(t); missing > 0 {
					t.Passed, t.Skipped = t.Passed-missing, t.Skipped+missing
				}
				if s.bad > 0 && t.Failed == s.before.Failed {
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

// unquoted returns what err says, without the pieces of the file that the decoder quotes: one can be a part of a secret, which nothing finds then.
func unquoted(err error) string {
	text := err.Error()
	if syntax := (*xml.SyntaxError)(nil); errors.As(err, &syntax) {
		head, _, _ := strings.Cut(text, syntax.Msg)
		return head + strings.TrimRight(syntax.Msg[:min(len(syntax.Msg), strings.IndexAny(syntax.Msg+"<", "<&:\"'"))], " ")
	}
	for _, quoting := range []string{"xml: opening charset", "xml: unsupported version"} {
		if i := strings.Index(text, quoting); i >= 0 {
			return text[:i] + quoting
		}
	}
	return text
}

// An unread error says in few words why a file is not read.
type unread struct {
	text string
	err  error
}

func (e *unread) Error() string { return e.text }
func (e *unread) Unwrap() error { return e.err }

// A suite is a <testsuite>, or <testsuites>, that is open.
type suite struct {
	depth  int
	name   string
	before Tests // the counts before it

	// what its attributes say
	bad               int // errors and failures
	skipped, disabled int
	tests             int
}

// missing returns how many cases that count as passed were skipped: the suite says so, and does not mark them. A skipped case may also be one
// that it does not list at all.
func (s *suite) missing(now Tests) int {
	unlisted := max(s.tests-(now.Total()-s.before.Total()), 0)
	skipped := max(s.skipped, s.disabled) - (now.Skipped - s.before.Skipped) - unlisted
	return max(min(skipped, now.Passed-s.before.Passed), 0)
}

// declared reads the count in an attribute; "" is 0. ok is false if it is not a number.
func declared(text string) (n int, ok bool) {
	if text == "" {
		return 0, true
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || !(x >= 0) { // NaN
		return 0, false
	}
	return int(math.Ceil(min(x, 1<<40))), true
}

// outcomeOf returns what the status of a case means, for which writers have many words. A case without a status, or with a number for it,
// has passed: it says no more than that it is there.
func outcomeOf(status string) CaseState {
	words := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, status)
	switch words {
	case "", "run", "ran", "executed", "complete", "completed", "done", "finished", "pass", "passed", "passing", "success", "successful", "succeeded", "ok", "good",
		"fixed", "flaky", "warning", "warned", "true", "expected", "xfail", "xfailed", "expectedfailure", "bpass", "bxfail":
		return CasePassed
	case "disabled", "notrun", "notexecuted", "suppressed", "skip", "skipped", "bskip", "ignore", "ignored", "pending", "todo", "undefined", "untested", "inconclusive",
		"incomplete", "excluded", "filtered", "deselected", "omitted":
		return CaseSkipped
	}
	return CaseFailed
}

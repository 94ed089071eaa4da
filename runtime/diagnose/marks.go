package diagnose

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

type markPatterns struct{ bracket, ctest, meson, automake, took, google, cassert, shunit, status *regexp.Regexp }

var markForms = sync.OnceValue(func() (p markPatterns) {
	c := regexp.MustCompile
	p.bracket = c(`^\[ *([A-Za-z]+) *\] (.+)$`)
	p.ctest = c(`^ *\d+/\d+ Test +#\d+: (\S+) \.*(?: +Passed|([A-Za-z ]*)\*\*\*([A-Za-z][A-Za-z :]*?):?) +[\d.]+ sec$`)
	p.meson = c(`^ *\d+/\d+ (\S.*?) +(OK|FAIL|TIMEOUT|SKIP|ERROR|EXPECTEDFAIL|UNEXPECTEDPASS|INTERRUPT) +[\d.]+s(?: +(\S.*))?$`)
	p.automake = c(`^(FAIL|XPASS): ([^\d\s].*)$`)
	p.took = c(` \(\d+ ?[mnu]s\)$`)
	p.google = c(`^(?:unknown file|(\S[^:]*|[A-Za-z]:[^:]*)[:(](\d+)\)?): (?:Failure|error:.*)$`)
	p.cassert = c(`^(?:\S+: )?([^\s:]+):(\d+): (?:.*: )?(Assertion .*failed\.?)$`)
	p.shunit = c(`^test\w*$`)
	p.status = c(`^shunit2:ERROR (\w+)\(\) (returned non-zero .*?)\.?$`)
	return p
})

// markTests reads the runners that write a line for each test, which says how it ended: ctest, meson, GoogleTest, utest.h, cmocka,
// automake, and what projects write for themselves ("[fail] a list of two"). What a test wrote stands before that line where another one
// said that it began, and after it otherwise. shunit2 writes the name of a test before it, and a line for each failure in it. Where the
// output is of a runner that blockTests, tapTests or another one reads, or a compiler's, that is taken and this is not.
type markTests struct {
	Failures
	name   string    // of the test whose text is read; empty for none
	ended  string    // how it ended, where its text comes after that
	before int       // Total when it began: tests that it ran itself stand for it
	told   bool      // what follows repeats itself
	shell  string    // the last line that may be the name of a test of shunit2
	status []Failure // tests of shunit2 with a status other than 0: mostly that of an assertion that failed, and was reported
	lines  kept
}

// line reads one line; it reports whether a runner is known by it.
func (k *markTests) line(l string) (known bool) {
	if l == "" {
		return false
	}
	switch c := l[0]; {
	case c == '[':
		if m := markForms().bracket.FindStringSubmatch(l); m != nil {
			return k.bracket(m[1], m[2])
		}
	case c == ' ' && (strings.HasPrefix(l, "    Start ") || strings.HasPrefix(l, "      Start ")), strings.HasPrefix(l, "Summary of Failures:"), strings.HasPrefix(l, "Ok: "), strings.Contains(l, "% tests passed, "):
		k.flush()
		k.told = k.told || c == 'S'
		return false
	case c == ' ' || c >= '0' && c <= '9':
		if m := markForms().ctest.FindStringSubmatch(l); m != nil {
			k.flush()
			if how := strings.TrimSpace(m[2]); m[3] != "" && m[3] != "Skipped" && !k.told {
				k.after(m[1], strings.ToLower(cmp.Or(how, strings.TrimPrefix(m[3], "Exception: "))))
			}
			return true
		}
		if m := markForms().meson.FindStringSubmatch(l); m != nil {
			k.flush()
			switch m[2] {
			case "FAIL", "TIMEOUT", "ERROR", "UNEXPECTEDPASS":
				if !k.told {
					k.after(m[1], strings.TrimSuffix(strings.ToLower(m[2])+", "+m[3], ", "))
				}
			}
			return true
		}
	case c == 't':
		if markForms().shunit.MatchString(l) {
			k.shell = l
		}
	case c == 'A' && k.shell != "":
		if text, ok := strings.CutPrefix(l, "ASSERT:"); ok && text != "" {
			k.add(Failure{Test: k.shell, Finding: Finding{Message: text}})
			return true
		}
	case c == 's':
		if m := markForms().status.FindStringSubmatch(l); m != nil {
			if len(k.status) < maxFailures {
				k.status = append(k.status, Failure{Test: m[1], Finding: Finding{Message: m[2]}})
			}
			return true
		}
	case c == 'F' || c == 'X':
		if m := markForms().automake.FindStringSubmatch(l); m != nil {
			k.flush()
			k.add(Failure{Test: m[2], Finding: Finding{Message: map[string]string{"FAIL": "failed", "XPASS": "passed, and should have failed"}[m[1]]}})
			return true
		}
	}
	if k.name != "" {
		k.lines.add(l, k.lines.n >= keptFirst && hasPlace(l))
	}
	return false
}

// bracket reads "[WORD] rest".
func (k *markTests) bracket(word, rest string) (known bool) {
	name := markForms().took.ReplaceAllString(rest, "")
	switch strings.ToUpper(word) {
	case "RUN":
		k.flush()
		k.name, k.before, k.told = name, k.Total, false
		return true
	case "OK", "PASS", "PASSED", "SKIP", "SKIPPED":
		k.name, k.ended, k.lines = "", "", kept{}
		k.told = k.told || strings.HasSuffix(rest, "listed below:")
		return true
	case "FAIL", "FAILED":
		switch {
		case strings.HasSuffix(rest, "listed below:"):
			k.told = true
		case k.told:
		case k.name != "" && k.ended == "": // GoogleTest adds the parameter to the name
			k.name, k.ended = name, "failed"
			k.flush()
		default:
			k.flush()
			k.add(Failure{Test: name, Finding: Finding{Message: "failed"}})
		}
		return true
	case "ERROR", "LINE": // of cmocka: the message, and then the place
		if text, ok := strings.CutPrefix(rest, "--- "); ok && k.name != "" {
			k.lines.add(text, true)
			return true
		}
	}
	return false
}

// after begins the text of a test that has ended.
func (k *markTests) after(name, ended string) { k.name, k.ended, k.before = name, ended, k.Total }

// flush ends the text of a test.
func (k *markTests) flush() {
	name, ended, lines := k.name, k.ended, k.lines.lines()
	k.name, k.ended, k.lines = "", "", kept{}
	if name == "" || ended == "" || k.Total > k.before {
		return // it did not fail, or it told of its own tests
	}
	f := ofGoogle(lines)
	if f.Message == "" {
		f = ofMarked(lines)
	}
	f.Test, f.Message = name, cmp.Or(f.Message, ended)
	k.add(f)
}

func (k *markTests) end() *Failures {
	k.flush()
	for _, x := range k.status {
		if !slices.ContainsFunc(k.List, func(o Failure) bool { return o.Test == x.Test }) {
			k.add(x)
		}
	}
	k.status = nil
	return &k.Failures
}

// ofMarked reads the text of a test of any kind: the first line that names a place, else the first that reads like an error.
func ofMarked(lines []string) (f Failure) {
	var s scan
	for _, l := range lines {
		s.line(l)
	}
	if found, sure := s.end(); sure && found.Total > 0 {
		f = found.List[0]
	}
	if f.Message == "Failure!" && len(lines) > 1 { // of cmocka
		f.Message = lines[0]
	}
	return f
}

// ofGoogle reads what GoogleTest writes of the expectations that a test did not meet: each has its place, and then lines.
func ofGoogle(lines []string) (f Failure) {
	var all []Failure
	for _, l := range lines {
		if m := markForms().google.FindStringSubmatch(l); m != nil {
			all = append(all, Failure{Finding: Finding{File: m[1], Line: number(m[2])}})
			continue
		}
		if t := strings.TrimSpace(l); len(all) > 0 && t != "" {
			x := &all[len(all)-1]
			switch {
			case x.Message == "":
				x.Message = t
			case strings.HasSuffix(x.Message, ":"):
				x.Message += " " + t
			default:
				x.Message += ", " + t
			}
		}
	}
	if len(all) == 0 {
		return f
	}
	f = all[0]
	for _, x := range all[1:] {
		f.Detail = append(f.Detail, x.String())
	}
	return f
}

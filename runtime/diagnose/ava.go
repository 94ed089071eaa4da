package diagnose

import (
	"regexp"
	"strings"
	"sync"
)

type avaPatterns struct{ failed, uncaught, place, quoted, changed *regexp.Regexp }

var avaForms = sync.OnceValue(func() (p avaPatterns) {
	c := regexp.MustCompile
	p.failed = c(`^  ✘ \[fail\]: (.+)$`)
	p.uncaught = c(`^  (Uncaught exception|Unhandled rejection) in (\S.*)$`)
	p.place = c(`^  (\S.*):(\d+)$`)
	p.quoted = c(`^ {2,}\d+:(?: |$)`)
	p.changed = c(`^\s*[-+] `)
	return p
})

// The lines of ava's report.
const (
	avaRule = "  ─"
	avaDiff = "Difference (- actual, + expected):"
)

// avaTests reads the report of ava: while the tests run a line for each, with the name of a test that failed and a message
// behind it, and what is uncaught in a file; then, between two rules, a block for each test that failed. Blank lines
// part a block, and three of them two blocks.
type avaTests struct {
	Failures
	heads  []string // the lines of tests that failed: the titles of blocks begin them
	inside bool     // between the rules
	blanks int      // before this line
	title  string   // of the present block, or
	file   string   // whose exception was not caught
	lines  kept
}

// line reads one line; it reports whether ava is known by it.
func (a *avaTests) line(l string) bool {
	blanks := a.blanks
	if a.blanks = 0; l == "" {
		a.blanks = blanks + 1
	}
	if !a.inside && strings.HasPrefix(l, "  ") && l != avaRule {
		if m := avaForms().failed.FindStringSubmatch(l); m != nil {
			a.flush()
			if len(a.heads) < maxFailures {
				a.heads = append(a.heads, m[1])
			}
			return true
		}
		if m := avaForms().uncaught.FindStringSubmatch(l); m != nil {
			a.flush()
			a.file = m[2]
			return true
		}
		if strings.HasPrefix(l, "  ✔ ") || strings.HasPrefix(l, "  ✘ ") {
			a.flush()
			return false
		}
	}
	switch {
	case l == avaRule && (a.inside || len(a.heads) > 0 || a.file != ""):
		a.flush()
		a.inside = !a.inside && len(a.heads) > 0
		a.blanks = 2 // the first block comes after the rule
		return true
	case a.inside && blanks > 2 && a.begins(l):
		a.flush()
		a.title = l[2:]
		return true
	case a.title == "" && a.file == "":
		return a.inside
	}
	a.lines.add(l, false)
	return true
}

// begins reports whether l is the title of a block. Of more tests than are kept by name each may be one.
func (a *avaTests) begins(l string) bool {
	if len(l) < 3 || l[:2] != "  " || l[2] == ' ' {
		return false
	}
	for _, head := range a.heads {
		if strings.HasPrefix(head, l[2:]) {
			return true
		}
	}
	return len(a.heads) == maxFailures
}

// flush ends the present block.
func (a *avaTests) flush() {
	if a.title == "" && a.file == "" {
		return
	}
	f := ofAva(a.lines.lines())
	if f.Test = a.title; f.File == "" {
		f.File = a.file
	}
	a.title, a.file, a.lines = "", "", kept{}
	a.add(f)
}

func (a *avaTests) end() *Failures {
	a.flush()
	return &a.Failures
}

// ofAva reads a block: the place, the source around it, the message with the values, the frames. Of a difference
// the lines that differ are kept.
func ofAva(lines []string) (f Failure) {
	var said []string
	diff := false
	for _, l := range lines {
		t := strings.TrimSpace(l)
		if diff && len(t) > 2 {
			t = t[:2] + strings.TrimLeft(t[2:], " ")
		}
		m := avaForms().place.FindStringSubmatch(l)
		switch {
		case f.File == "" && len(said) == 0 && m != nil && isPath(m[1]):
			f.File, f.Line = m[1], number(m[2])
		case t == "", t == "}", strings.HasPrefix(t, "› "), strings.HasPrefix(t, "at "), avaForms().quoted.MatchString(l):
		case diff && !avaForms().changed.MatchString(l):
		case len(said) > 0 && strings.HasSuffix(said[len(said)-1], ":"):
			said[len(said)-1] += " " + t
		default:
			diff = diff || t == avaDiff
			said = append(said, t)
		}
	}
	if len(said) == 2 && strings.HasPrefix(said[0], avaDiff) { // one value for another
		said = []string{said[0] + " " + said[1]}
	}
	if f.Message = "failed"; len(said) > 0 {
		f.Message, f.Detail = said[0], said[1:]
	}
	return f
}

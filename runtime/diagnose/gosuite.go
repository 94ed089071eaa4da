package diagnose

import (
	"regexp"
	"strings"
	"sync"

	"github.com/command-dialect/dialect/lang/diag"
)

type suitePatterns struct{ spec, why, at, check, place *regexp.Regexp }

var suiteForms = sync.OnceValue(func() (p suitePatterns) {
	c := regexp.MustCompile
	const bad = `\[(?:FAILED|PANICKED|TIMEDOUT|INTERRUPTED)\]`
	p.spec = c(`^• ` + bad + ` \[[\d.]+ seconds\]$`)
	p.why = c(`^  ` + bad + ` (.+)$`)
	p.at = c(`^  In \[[^\]]+\] at: (\S+):(\d+)\b`)
	p.check = c(`^(?:FAIL|PANIC): (\S+\.go):(\d+): (\S+)$`)
	p.place = c(`^(\S+\.go):(\d+):$`)
	return p
})

// A goSuite reads what a test of Go prints that runs a suite of its own: the specs of Ginkgo, the methods of gocheck. go test takes
// each suite for one test.
type goSuite struct {
	list  []Failure
	begun bool     // a block began, and its title has not come yet
	open  *Failure // the block that is read
	specs bool     // it is Ginkgo's
	why   []string // its message
}

// line reads a line that the test printed.
func (g *goSuite) line(l string) {
	if strings.IndexByte(l, 0x1b) >= 0 {
		l = escapes().ReplaceAllString(l, "")
	}
	begins := strings.HasPrefix(l, "• [") || strings.HasPrefix(l, "FAIL: ") || strings.HasPrefix(l, "PANIC: ")
	if !begins && !g.begun && g.open == nil {
		return
	}
	l = diag.ClipBytes(l, maxText)
	p := suiteForms()
	switch {
	case strings.HasPrefix(l, "• [") && p.spec.MatchString(l):
		g.end()
		g.begun = true
	case g.begun:
		g.begun = l == ""
		if !g.begun {
			g.open, g.specs = &Failure{Test: strings.Replace(l, "[It] ", "", 1)}, true
		}
	case strings.HasPrefix(l, "FAIL: ") || strings.HasPrefix(l, "PANIC: "):
		if m := p.check.FindStringSubmatch(l); m != nil {
			g.end()
			g.open, g.specs = &Failure{Test: m[3], Finding: Finding{File: m[1], Line: number(m[2])}}, false
		}
	case g.open == nil:
	case g.specs:
		if m := p.at.FindStringSubmatch(l); m != nil {
			g.open.File, g.open.Line = m[1], number(m[2])
			g.end()
		} else if m := p.why.FindStringSubmatch(l); m != nil {
			g.why = []string{m[1]}
		} else if len(g.why) > 0 && len(g.why) < maxDetail && l != "" {
			g.why = append(g.why, strings.TrimPrefix(l, "  "))
		}
	case strings.HasPrefix(l, "... "):
		if len(g.why) < maxDetail {
			g.why = append(g.why, strings.TrimPrefix(l, "... "))
		}
	case strings.HasPrefix(l, "OOPS: ") || strings.HasPrefix(l, "----------"):
		g.end()
	default:
		if m := p.place.FindStringSubmatch(l); m != nil && len(g.why) == 0 {
			g.open.File, g.open.Line = m[1], number(m[2]) // the last is that of the check
		}
	}
}

// end ends a block, and returns what failed.
func (g *goSuite) end() []Failure {
	if f := g.open; f != nil && len(g.list) < maxFailures {
		switch text := squash(g.why); {
		case text == "":
			f.Message = "failed"
		case len(text) > maxMessage/2:
			f.Message, f.Detail = g.why[0], g.why[1:]
		case g.specs:
			f.Message = text
		default:
			f.Message = strings.Join(g.why, ", ")
		}
		g.list = append(g.list, *f)
	}
	g.open, g.why, g.begun = nil, nil, false
	return g.list
}

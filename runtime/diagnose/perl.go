package diagnose

import (
	"cmp"
	"regexp"
	"strings"
	"sync"
)

type perlPatterns struct{ failed, at *regexp.Regexp }

var perlForms = sync.OnceValue(func() (p perlPatterns) {
	p.failed = regexp.MustCompile(`^( *)#   Failed test(?: '(.*)'| (at .+ line \d+\.))?$`)
	p.at = regexp.MustCompile(`^(?:in \S.* )?at (.+) line (\d+)\.$`)
	return p
})

// perlTests reads what Test::More of Perl, and its like, say of a failed test on standard error: its name, its place, and the values, each
// a comment. The TAP beside it has no place, and prove prints none of it unless it is asked.
type perlTests struct {
	Failures
	reading bool
	indent  int // of the failure that is read, or was last
	now     Failure
	said    []string
}

func (p *perlTests) line(l string) (known bool) {
	t, comment := strings.CutPrefix(strings.TrimLeft(l, " "), "#")
	if !comment {
		return false
	}
	if m := perlForms().failed.FindStringSubmatch(l); m != nil {
		p.flush()
		parent := len(m[1]) < p.indent // of the one before it, which said why
		if p.indent = len(m[1]); parent {
			return true
		}
		p.reading, p.now = true, Failure{Test: m[2]}
		p.place(m[3])
		return true
	}
	switch t = strings.TrimPrefix(t, " "); {
	case !p.reading:
	case p.now.File == "" && p.place(strings.TrimSpace(t)):
	case !strings.HasPrefix(t, "  "):
		p.flush()
	case len(p.said) < maxDetail:
		p.said = append(p.said, strings.TrimSpace(t))
	}
	return false
}

// place takes the place of the failure that is read.
func (p *perlTests) place(text string) bool {
	m := perlForms().at.FindStringSubmatch(text)
	if m != nil {
		p.now.File, p.now.Line = m[1], number(m[2])
	}
	return m != nil
}

func (p *perlTests) flush() {
	if !p.reading {
		return
	}
	f, said := p.now, p.said
	p.reading, p.now, p.said = false, Failure{}, nil
	switch n := len(said); {
	case n == 2:
		said = []string{said[0] + ", " + said[1]}
	case n == 3 && strings.HasSuffix(said[0], ":"):
		said = []string{said[0] + " " + said[1] + ", " + said[2]}
	}
	if len(said) > 0 {
		f.Message, f.Detail = said[0], said[1:]
	}
	f.Message = cmp.Or(f.Message, "failed")
	p.add(f)
}

func (p *perlTests) end() *Failures {
	p.flush()
	return &p.Failures
}

package ignore

import "strings"

// Results of dowild. The two aborts let an outer star give up: no longer match of
// it can help.
type wild uint8

const (
	wildMatch wild = iota
	wildNo
	wildAbortAll
	wildAbortToStarStar
)

// Git's algorithm tries the rest of the pattern at each place that a star can reach, and "**/" twice at
// each: a pattern with many of them takes a time that doubles with each. What the rest of the pattern
// at pi makes of the name from ti on depends on pi and ti alone, so the answers are kept, and each is found once:
// the time is the product of the two lengths at most. Hardly any pattern needs that, so the first wildPlain
// steps keep nothing.
const (
	wildPlain = 256
	wildSteps = 1 << 20 // of one pattern and one name: bounds what is kept, where the pattern is some 10 KB of stars
	keptSteps = 64      // a step that keeps its answer costs as much as so many others
)

// wildmatch reports whether name matches pattern, exactly as git's wildmatch.c
// does, its oddities included. With pathname a star does not match a slash, and
// "**" between slashes matches directories. Where steps is more than wildSteps it gave up.
func wildmatch(pattern, name string, pathname bool) (match bool, steps int) {
	m := matcher{pathname: pathname, steps: 1}
	match = m.dowild(pattern, 0, name, 0) == wildMatch
	return match, m.steps
}

type matcher struct {
	pathname bool
	steps    int
	plain    int             // steps before answers are kept, beyond wildPlain
	rests    map[[2]int]wild // of dowild, by pi and ti
	stars    map[[2]int]wild // of star, likewise
}

// step counts a step, and reports whether there may be another.
func (m *matcher) step() bool {
	if m.steps++; m.steps > wildPlain+m.plain && m.rests == nil {
		m.rests, m.stars = make(map[[2]int]wild), make(map[[2]int]wild)
	}
	return m.steps <= wildSteps
}

// at returns the byte of s at i, or NUL at its end, as C has it. Neither patterns
// nor names hold a NUL.
func at(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// dowild matches p[pi:] against t[ti:].
func (m *matcher) dowild(p string, pi int, t string, ti int) wild {
	if known, ok := m.rests[[2]int{pi, ti}]; ok {
		return known
	}
	r := m.match(p, pi, t, ti)
	if m.rests != nil {
		m.rests[[2]int{pi, ti}] = r
	}
	return r
}

// match is dowild. start is where the pattern of this call begins: a "**" there counts as one behind a slash.
func (m *matcher) match(p string, pi int, t string, ti int) wild {
	start := pi
	for ; at(p, pi) != 0; pi, ti = pi+1, ti+1 {
		if !m.step() {
			return wildAbortAll
		}
		pc, tc := at(p, pi), at(t, ti)
		if tc == 0 && pc != '*' {
			return wildAbortAll
		}
		switch pc {
		case '\\':
			pi++
			if tc != at(p, pi) {
				return wildNo
			}
		case '?':
			if m.pathname && tc == '/' {
				return wildNo
			}
		case '*':
			slash := !m.pathname // whether this star matches a slash
			pi++
			if at(p, pi) == '*' {
				before := pi - 2
				for at(p, pi) == '*' {
					pi++
					m.steps++
				}
				switch {
				case !m.pathname:
				case (before < start || p[before] == '/') &&
					(at(p, pi) == 0 || at(p, pi) == '/' || at(p, pi) == '\\' && at(p, pi+1) == '/'):
					if at(p, pi) == '/' && m.dowild(p, pi+1, t, ti) == wildMatch {
						return wildMatch
					}
					slash = true
				}
			}
			if at(p, pi) == 0 {
				if !slash && strings.IndexByte(t[min(ti, len(t)):], '/') >= 0 {
					return wildNo
				}
				return wildMatch
			}
			if !slash && at(p, pi) == '/' {
				i := strings.IndexByte(t[min(ti, len(t)):], '/')
				if i < 0 {
					return wildNo
				}
				ti += i
				continue
			}
			return m.star(p, pi, t, ti, slash)
		case '[':
			var ok bool
			var res wild
			from := pi
			pi, ok, res = bracket(p, pi, tc)
			m.steps += pi - from
			if res != wildMatch {
				return res
			}
			if !ok || m.pathname && tc == '/' {
				return wildNo
			}
		default:
			if tc != pc {
				return wildNo
			}
		}
	}
	if ti < len(t) {
		return wildNo
	}
	return wildMatch
}

// star tries the rest of the pattern at each place that the star can reach.
func (m *matcher) star(p string, pi int, t string, ti int, slash bool) (r wild) {
	from := ti
	defer func() {
		if m.stars != nil { // it is the same from each place that was passed
			for i := from; i <= ti; i++ {
				m.stars[[2]int{pi, i}] = r
			}
		}
	}()
	for ; ti < len(t); ti++ {
		if known, ok := m.stars[[2]int{pi, ti}]; ok {
			return known
		}
		if !m.step() {
			return wildAbortAll
		}
		if c := p[pi]; c != '*' && c != '?' && c != '[' && c != '\\' {
			for ti < len(t) && t[ti] != c && (slash || t[ti] != '/') {
				ti++
				m.steps++
			}
			if at(t, ti) != c {
				return wildNo
			}
		}
		r := m.dowild(p, pi, t, ti)
		if r != wildNo {
			if !slash || r != wildAbortToStarStar {
				return r
			}
		} else if !slash && at(t, ti) == '/' {
			return wildAbortToStarStar
		}
	}
	return wildAbortAll
}

// bracket matches c against the set that opens at p[pi], and returns the index of
// its closing bracket. A set without end aborts.
func bracket(p string, pi int, c byte) (end int, ok bool, res wild) {
	pi++
	negated := at(p, pi) == '!' || at(p, pi) == '^'
	if negated {
		pi++
	}
	matched := false
	var prev byte
	pc := at(p, pi)
	for {
		switch {
		case pc == 0:
			return pi, false, wildAbortAll
		case pc == '\\':
			pi++
			if pc = at(p, pi); pc == 0 {
				return pi, false, wildAbortAll
			}
			matched = matched || c == pc
		case pc == '-' && prev != 0 && at(p, pi+1) != 0 && at(p, pi+1) != ']':
			pi++
			if pc = at(p, pi); pc == '\\' {
				pi++
				if pc = at(p, pi); pc == 0 {
					return pi, false, wildAbortAll
				}
			}
			matched = matched || prev <= c && c <= pc
			pc = 0
		case pc == '[' && at(p, pi+1) == ':':
			from := pi + 2
			for pi = from; at(p, pi) != 0 && p[pi] != ']'; pi++ {
			}
			if at(p, pi) == 0 {
				return pi, false, wildAbortAll
			}
			if pi-from < 1 || p[pi-1] != ':' {
				// No ":]" follows: a plain set that holds a bracket.
				pi = from - 2
				pc = '['
				matched = matched || c == pc
				break
			}
			in, known := class(p[from:pi-1], c)
			if !known {
				return pi, false, wildAbortAll
			}
			matched = matched || in
			pc = 0
		default:
			matched = matched || c == pc
		}
		prev = pc
		pi++
		if pc = at(p, pi); pc == ']' {
			return pi, matched != negated, wildMatch
		}
	}
}

// class reports whether c is in the named class of ASCII characters.
func class(name string, c byte) (in, known bool) {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	graph := 0x21 <= c && c <= 0x7e
	switch name {
	case "alnum":
		return lower || upper || digit, true
	case "alpha":
		return lower || upper, true
	case "blank":
		return c == ' ' || c == '\t', true
	case "cntrl":
		return c < 0x20 || c == 0x7f, true
	case "digit":
		return digit, true
	case "graph":
		return graph, true
	case "lower":
		return lower, true
	case "print":
		return graph || c == ' ', true
	case "punct":
		return graph && !lower && !upper && !digit, true
	case "space":
		return c == ' ' || '\t' <= c && c <= '\r', true
	case "upper":
		return upper, true
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F', true
	}
	return false, false
}

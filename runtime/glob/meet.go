package glob

import (
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// meta are the bytes of a component that stand for others.
const meta = `*?[\`

// Meet reports whether two patterns, absolute or from the directories a and b on, may name the same file, whatever files there are. It
// looks at no file, and says no only where the patterns tell: by a name, or the beginning of one, that differs at the same place, or
// because one is longer. What a link leads to it does not see. An absolute pattern and one that is not may be the same on one machine
// and not on another: they meet.
func Meet(a, pattern, b, other string) bool {
	if filepath.IsAbs(pattern) != filepath.IsAbs(other) {
		return true
	}
	x, y := parts(a, pattern), parts(b, other)
	for i := range min(len(x), len(y)) {
		switch {
		case x[i].rest == "**" || y[i].rest == "**":
			return true
		case !x[i].meets(y[i]):
			return false
		}
	}
	return len(x) == len(y) || deep(x) || deep(y)
}

// A part is a component: the name that it begins with, and what follows from its first meta character on.
type part struct{ name, rest string }

// parts returns the components of a pattern, those of its directory first, which have no meta characters.
func parts(dir, pattern string) (list []part) {
	text := path.Clean(filepath.ToSlash(pattern))
	if !filepath.IsAbs(pattern) {
		if dir = path.Clean(filepath.ToSlash(dir)); dir == "/" {
			dir = "" // has one name, as all others begin with an empty one
		}
		for _, name := range strings.Split(dir, "/") {
			list = append(list, part{name, ""})
		}
	}
	for _, c := range strings.Split(strings.TrimPrefix(text, "/"), "/") {
		if c == ".." {
			list = list[:max(len(list)-1, 0)]
			continue
		}
		n := strings.IndexAny(c, meta)
		if n < 0 {
			n = len(c)
		}
		list = append(list, part{c[:n], c[n:]})
	}
	return list
}

// meets reports whether one name may match both. To some file systems names are the same that differ in case, or in how a character
// that is not ASCII is written.
func (p part) meets(q part) bool {
	x, y := p.name, q.name
	if strings.ContainsFunc(x+y, func(c rune) bool { return c >= utf8.RuneSelf }) {
		return true
	}
	switch {
	case p.rest == "" && q.rest == "":
		return strings.EqualFold(x, y)
	case p.rest == "":
		return len(x) >= len(y) && strings.EqualFold(x[:len(y)], y)
	case q.rest == "":
		return len(y) >= len(x) && strings.EqualFold(y[:len(x)], x)
	}
	n := min(len(x), len(y))
	return strings.EqualFold(x[:n], y[:n])
}

func deep(list []part) bool {
	for _, p := range list {
		if p.rest == "**" {
			return true
		}
	}
	return false
}

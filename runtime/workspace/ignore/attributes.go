package ignore

import (
	"fmt"
	"maps"
	"path"
	"strings"
)

// Attributes are the attributes files of a tree, as git's attr.c reads them from a working tree; it has no others.
type Attributes struct {
	lines  map[string][]attributed // by directory: "" or ending in a slash
	macros map[string][]state
}

// An attributed is one line of an attributes file.
type attributed struct {
	pattern
	states []state
}

// A state is what a line says of one attribute.
type state struct{ name, value string }

// What an attribute can be beside a word of its own.
const (
	Unspecified = "unspecified"
	set         = "set"
	unset       = "unset"
)

const blank = " \t\r\n"

// maxLine is the length, in bytes, from which on git does not read a line.
const maxLine = 2048

// ParseAttributes reads attributes files, by their paths.
func ParseAttributes(files map[string][]byte) *Attributes {
	a := &Attributes{lines: make(map[string][]attributed), macros: map[string][]state{"binary": {{"diff", unset}, {"merge", unset}, {"text", unset}}}}
	for file, content := range files {
		dir, _ := path.Split(file)
		for line := range strings.SplitSeq(string(content), "\n") {
			name, rest, ok := splitAttributes(line)
			if !ok || len(line) >= maxLine {
				continue
			}
			states, ok := parseStates(rest)
			macro, isMacro := strings.CutPrefix(name, "[attr]")
			switch {
			case !ok:
			case isMacro && macro != "":
				macro = firstWord(strings.TrimLeft(macro, blank))
				if dir == "" && validAttribute(macro) {
					a.macros[macro] = states
				}
			default:
				if p, ok := parsePattern(name); ok && !p.negated {
					a.lines[dir] = append(a.lines[dir], attributed{p, states})
				}
			}
		}
	}
	return a
}

func firstWord(s string) string {
	if i := strings.IndexAny(s, blank); i >= 0 {
		return s[:i]
	}
	return s
}

// splitAttributes returns the pattern of a line, and what follows it.
func splitAttributes(line string) (name, rest string, ok bool) {
	line = strings.TrimLeft(line, blank)
	if line == "" || line[0] == '#' {
		return "", "", false
	}
	if name, rest, ok := unquote(line); ok {
		return name, rest, true
	}
	name = firstWord(line)
	return name, line[len(name):], true
}

// unquote reads a name in quotes at the beginning of s, with escapes as C has them.
func unquote(s string) (name, rest string, ok bool) {
	if s[0] != '"' {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			i++
			const from, to = `abfnrtv\"`, "\a\b\f\n\r\t\v\\\""
			c = at(s, i)
			if at := strings.IndexByte(from, c); at >= 0 && i < len(s) {
				b.WriteByte(to[at])
				continue
			}
			if i+2 >= len(s) || c < '0' || c > '3' || strings.Trim(s[i+1:i+3], "01234567") != "" {
				return "", "", false
			}
			b.WriteByte((c-'0')<<6 | (s[i+1]-'0')<<3 | (s[i+2] - '0'))
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// parseStates reads what a line says; one that has no good name for an attribute says nothing.
func parseStates(s string) (list []state, ok bool) {
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(blank, r) }) {
		name, value, equals := strings.Cut(word, "=")
		switch {
		case name != "" && name[0] == '-':
			name, value = name[1:], unset
		case name != "" && name[0] == '!':
			name, value = name[1:], Unspecified
		case !equals:
			value = set
		case value == set || value == unset || value == Unspecified:
			value = "=" + value // to git another word, which it prints alike
		}
		if !validAttribute(name) {
			return nil, false
		}
		list = append(list, state{name, value})
	}
	return list, true
}

// Older versions of git have no reserved names.
func validAttribute(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"
	return name != "" && name[0] != '-' && strings.Trim(name, letters) == "" && !strings.HasPrefix(name, "builtin_")
}

// Of returns the values of all attributes of a file that a line says something of; a word that git prints like a state has a "=" before it. It fails if b
// has no more steps.
func (a *Attributes) Of(b *Budget, file string) (map[string]string, error) {
	values := make(map[string]string)
	for dir := file; dir != ""; {
		dir = strings.TrimSuffix(dir, "/")
		dir = dir[:strings.LastIndexByte(dir, '/')+1]
		lines := a.lines[dir]
		for i := len(lines) - 1; i >= 0; i-- {
			match, steps := lines[i].match(file[len(dir):], path.Base(file), false)
			if match {
				steps += a.fill(values, lines[i].states)
			}
			if err := b.take(steps); err != nil {
				return nil, fmt.Errorf("%s.gitattributes: %w", dir, err)
			}
		}
	}
	maps.DeleteFunc(values, func(_, v string) bool { return v == Unspecified })
	return values, nil
}

// fill sets what is not known yet, the last first, and returns how many steps that took.
func (a *Attributes) fill(values map[string]string, states []state) (steps int) {
	for i := len(states) - 1; i >= 0; i-- {
		s := states[i]
		steps += stateSteps
		if _, known := values[s.name]; known {
			continue
		}
		values[s.name] = s.value
		if s.value == set {
			steps += a.fill(values, a.macros[s.name])
		}
	}
	return steps
}

// stateSteps is what a state costs, in steps of a match.
const stateSteps = 8

package lang

import (
	"strings"
	"unicode/utf8"
)

// Expand replaces the variables of a value: {name} by what lookup returns for
// it, once, so that the text of a variable is never itself expanded; {{ by {,
// and }} by }. A lone } stands for itself. It returns the names that lookup does
// not know, in order; they are left as they stand.
func Expand(value string, lookup func(name string) (string, bool)) (expanded string, unknown []string) {
	if !strings.ContainsAny(value, "{}") {
		return value, nil
	}
	var b strings.Builder
	for i := 0; i < len(value); {
		switch {
		case strings.HasPrefix(value[i:], "{{"), strings.HasPrefix(value[i:], "}}"):
			b.WriteByte(value[i])
			i += 2
		case value[i] == '{':
			n := variableLen(value[i:])
			if n == 0 {
				b.WriteByte('{')
				i++
				continue
			}
			name := value[i+1 : i+n-1]
			if text, ok := lookup(name); ok {
				b.WriteString(text)
			} else {
				unknown = append(unknown, name)
				b.WriteString(value[i : i+n])
			}
			i += n
		default:
			b.WriteByte(value[i])
			i++
		}
	}
	return b.String(), unknown
}

// nextBrace finds the next opening brace of s. It returns its offset, the length
// of what it begins ({{, {name}, or the brace alone), and whether that may stand
// in a script; n is 0 if there is none.
func nextBrace(s string) (offset, n int, ok bool) {
	i := strings.IndexByte(s, '{')
	switch {
	case i < 0:
		return 0, 0, true
	case strings.HasPrefix(s[i:], "{{"):
		return i, 2, true
	}
	if n := variableLen(s[i:]); n > 0 {
		return i, n, true
	}
	return i, 1, false
}

// variableLen returns the length of the {name} that s begins with, or 0. A name
// is [A-Za-z_][A-Za-z0-9_.-]*.
func variableLen(s string) int {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case i > 1 && (c == '.' || c == '-' || c >= '0' && c <= '9'):
		case i > 1 && c == '}':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// Quote returns value as it is written in a script: parsed and expanded, it
// gives value again. It is a bare word where that is enough. Characters that may
// not stand in a script have no such form; they are kept, and make a fault.
func Quote(value string) string {
	return QuoteRaw(strings.NewReplacer("{", "{{", "}", "}}").Replace(value))
}

// QuoteRaw is [Quote] for a value whose braces are as the script has them.
func QuoteRaw(value string) string {
	if isBareWord(value) {
		return value
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(value); i++ {
		switch c := value[i]; c {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\n':
			b.WriteString(`\n`)
		case '\t':
			b.WriteString(`\t`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// isBareWord reports whether a value needs no quotes wherever it stands behind
// the verb.
func isBareWord(w string) bool {
	if w == "" || w == "#" || strings.ContainsAny(w, " \t\n\"`") || IsPreposition(w) || nameLen([]byte(w)) > 0 || isFullStop([]byte(w)) || isOperator([]byte(w)) {
		return false
	}
	first, _ := utf8.DecodeRuneInString(w)
	last, _ := utf8.DecodeLastRuneInString(w)
	return !isSmartQuote(first) && !isSmartQuote(last)
}

// String returns c in canonical form: the verb with a capital, preposition and
// noun in lower case, values quoted only where they must be.
func (c *Command) String() string {
	return c.canonical(func(v Value) string { return QuoteRaw(v.Text) })
}

// canonical is String with values written by raw.
func (c *Command) canonical(raw func(Value) string) string {
	var b strings.Builder
	if verb := c.Verb.Key(); verb != "" {
		b.WriteString(strings.ToUpper(verb[:1]) + verb[1:])
	}
	if c.Object != nil {
		b.WriteString(" " + raw(*c.Object))
	}
	if c.Prep.Text != "" {
		b.WriteString(" " + c.Prep.Key())
	}
	b.WriteString(" " + c.Noun.Key())
	for _, a := range c.Arguments {
		b.WriteByte(' ')
		if a.Name.Text != "" {
			b.WriteString(a.Name.Text + "=")
		}
		b.WriteString(raw(a.Value))
	}
	return b.String()
}

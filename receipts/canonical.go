package receipts

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxBody is the greatest size of a body, in bytes.
const MaxBody = 64 << 10

// MaxInteger is the greatest number in a body: the greatest that every JSON
// implementation keeps exact.
const MaxInteger = 1<<53 - 1

const maxDepth = 16

// Canonical returns the canonical form of a JSON text (RFC 8785, restricted to
// integers from -(2^53-1) to 2^53-1, and without null): members sorted by the
// UTF-16 code units of their names, no white space, the shortest escapes.
// Numbers with a fraction or an exponent, repeated names, null, text that is not
// UTF-8 and unpaired surrogates are errors.
func Canonical(text []byte) ([]byte, error) {
	s := &scanner{text: text}
	out, err := s.value(make([]byte, 0, len(text)), 0)
	if err != nil {
		return nil, fmt.Errorf("byte %d: %w", s.at, err)
	}
	if s.skip(); s.at != len(text) {
		return nil, fmt.Errorf("byte %d: text after the JSON value", s.at)
	}
	return out, nil
}

// parseCanonical reports whether text is its own canonical form.
func parseCanonical(text []byte) error {
	c, err := Canonical(text)
	if err != nil {
		return err
	}
	if !bytes.Equal(c, text) {
		return errors.New("not in canonical form")
	}
	return nil
}

// A scanner reads a JSON text strictly (RFC 8259) and writes it canonically.
type scanner struct {
	text []byte
	at   int
}

func (s *scanner) skip() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// next skips white space and returns the next byte, which it does not consume; 0
// at the end.
func (s *scanner) next() byte {
	if s.skip(); s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *scanner) value(out []byte, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	switch c := s.next(); {
	case c == '{':
		return s.object(out, depth)
	case c == '[':
		return s.array(out, depth)
	case c == '"':
		return s.str(out)
	case c == '-' || c >= '0' && c <= '9':
		return s.integer(out)
	}
	for _, word := range []string{"true", "false"} {
		if bytes.HasPrefix(s.text[s.at:], []byte(word)) {
			s.at += len(word)
			return append(out, word...), nil
		}
	}
	if bytes.HasPrefix(s.text[s.at:], []byte("null")) {
		return nil, errors.New("null has no place in a record")
	}
	return nil, errors.New("no JSON value")
}

func (s *scanner) array(out []byte, depth int) ([]byte, error) {
	s.at++
	out = append(out, '[')
	if s.next() == ']' {
		s.at++
		return append(out, ']'), nil
	}
	for {
		var err error
		if out, err = s.value(out, depth+1); err != nil {
			return nil, err
		}
		switch s.next() {
		case ',':
			s.at++
			out = append(out, ',')
		case ']':
			s.at++
			return append(out, ']'), nil
		default:
			return nil, errors.New(`want "," or "]"`)
		}
	}
}

// A member of an object, as offsets into the output: its quoted name, and the
// value behind it.
type member struct{ name, value, end int }

func (s *scanner) object(out []byte, depth int) ([]byte, error) {
	s.at++
	out = append(out, '{')
	if s.next() == '}' {
		s.at++
		return append(out, '}'), nil
	}
	first := len(out)
	var members []member
	sorted := true
	for {
		if s.next() != '"' {
			return nil, errors.New("want the name of a member")
		}
		m := member{name: len(out)}
		var err error
		if out, err = s.str(out); err != nil {
			return nil, err
		}
		if s.next() != ':' {
			return nil, errors.New(`want ":"`)
		}
		s.at++
		m.value = len(out)
		if out, err = s.value(append(out, ':'), depth+1); err != nil {
			return nil, err
		}
		m.end = len(out)
		if n := len(members); n > 0 {
			switch c := compareNames(out, members[n-1], m); {
			case c == 0:
				return nil, errors.New("a member stands twice")
			case c > 0:
				sorted = false
			}
		}
		members = append(members, m)
		switch s.next() {
		case ',':
			s.at++
			out = append(out, ',')
			continue
		case '}':
			s.at++
		default:
			return nil, errors.New(`want "," or "}"`)
		}
		break
	}
	if sorted {
		return append(out, '}'), nil
	}
	slices.SortFunc(members, func(a, b member) int { return compareNames(out, a, b) })
	text := make([]byte, 0, len(out)-first)
	for i, m := range members {
		if i > 0 {
			if compareNames(out, members[i-1], m) == 0 {
				return nil, errors.New("a member stands twice")
			}
			text = append(text, ',')
		}
		text = append(text, out[m.name:m.end]...)
	}
	return append(append(out[:first], text...), '}'), nil
}

// compareNames orders two members whose canonical text is in out by the UTF-16
// code units of their names. For ASCII without escapes, as all names of this
// package are, that is the order of bytes.
func compareNames(out []byte, a, b member) int {
	x, y := out[a.name+1:a.value-1], out[b.name+1:b.value-1]
	if plain(x) && plain(y) {
		return bytes.Compare(x, y)
	}
	return slices.Compare(utf16.Encode([]rune(unquote(x))), utf16.Encode([]rune(unquote(y))))
}

func plain(name []byte) bool {
	for _, c := range name {
		if c >= utf8.RuneSelf || c == '\\' {
			return false
		}
	}
	return true
}

// unquote undoes the escapes of a canonical string.
func unquote(text []byte) string {
	s := &scanner{text: append(append([]byte{'"'}, text...), '"')}
	raw, _ := s.chars(nil) // it is canonical
	return string(raw)
}

func (s *scanner) integer(out []byte) ([]byte, error) {
	start := s.at
	for s.at < len(s.text) {
		c := s.text[s.at]
		if !(c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E') {
			break
		}
		s.at++
	}
	word := string(s.text[start:s.at])
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n > MaxInteger || n < -MaxInteger || strconv.FormatInt(n, 10) != word {
		s.at = start
		return nil, fmt.Errorf("%.40q is not an integer of at most 53 bits", word)
	}
	return append(out, word...), nil
}

func (s *scanner) str(out []byte) ([]byte, error) {
	// Most strings need no escape, and are copied as they stand.
	for i := s.at + 1; i < len(s.text); i++ {
		c := s.text[i]
		if c == '"' {
			out = append(out, s.text[s.at:i+1]...)
			s.at = i + 1
			return out, nil
		}
		if c < ' ' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	raw, err := s.chars(nil)
	if err != nil {
		return nil, err
	}
	return appendString(out, string(raw)), nil
}

// chars appends the characters of the string at s.at.
func (s *scanner) chars(raw []byte) ([]byte, error) {
	for s.at++; s.at < len(s.text); {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return raw, nil
		case c < ' ':
			return nil, errors.New("a control character in a string")
		case c == '\\':
			var err error
			if raw, err = s.escape(raw); err != nil {
				return nil, err
			}
		case c < utf8.RuneSelf:
			raw = append(raw, c)
			s.at++
		default:
			r, size := utf8.DecodeRune(s.text[s.at:])
			if r == utf8.RuneError && size == 1 {
				return nil, errors.New("not UTF-8")
			}
			raw = append(raw, s.text[s.at:s.at+size]...)
			s.at += size
		}
	}
	return nil, errors.New("a string is not closed")
}

func (s *scanner) escape(raw []byte) ([]byte, error) {
	if s.at+1 >= len(s.text) {
		return nil, errors.New("a string is not closed")
	}
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	c := s.text[s.at+1]
	if i := bytes.IndexByte([]byte(from), c); i >= 0 {
		s.at += 2
		return append(raw, to[i]), nil
	}
	if c != 'u' {
		return nil, errors.New("no such escape")
	}
	r, ok := s.hex4(s.at + 2)
	if !ok {
		return nil, errors.New("no such escape")
	}
	s.at += 6
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(raw, r), nil
	}
	if bytes.HasPrefix(s.text[s.at:], []byte(`\u`)) {
		if low, ok := s.hex4(s.at + 2); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				s.at += 6
				return utf8.AppendRune(raw, pair), nil
			}
		}
	}
	return nil, errors.New("an unpaired surrogate")
}

func (s *scanner) hex4(at int) (rune, bool) {
	if at+4 > len(s.text) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s.text[at:at+4]), 16, 32)
	return rune(n), err == nil
}

const hexDigits = "0123456789abcdef"

// appendString appends the canonical form of a string.
func appendString(out []byte, s string) []byte {
	out = append(out, '"')
	for i := 0; i < len(s); i++ {
		const from, to = "\b\t\n\f\r", "btnfr"
		switch c := s[i]; {
		case c == '"', c == '\\':
			out = append(out, '\\', c)
		case c >= ' ':
			out = append(out, c)
		case strings.IndexByte(from, c) >= 0:
			out = append(out, '\\', to[strings.IndexByte(from, c)])
		default:
			out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(out, '"')
}

package receipts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxBody is the greatest size of a body, in bytes.
const MaxBody = 64 << 10

// maxInteger is the greatest integer that every JSON implementation keeps exact.
const maxInteger = 1<<53 - 1

// Canonical returns the canonical form of a JSON text (RFC 8785, restricted to
// integers from -(2^53-1) to 2^53-1, and without null): members sorted by the
// UTF-16 code units of their names, no white space, the shortest escapes.
// Numbers with a fraction or an exponent, repeated names, null, text that is not
// UTF-8 and unpaired surrogates are errors.
func Canonical(text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	out, err := appendValue(make([]byte, 0, len(text)), d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("text behind the JSON value")
	}
	return out, nil
}

// parseCanonical reports whether text is its own canonical form. An unpaired
// surrogate is decoded as U+FFFD by encoding/json, so that it cannot pass.
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

const maxDepth = 16

// appendValue appends the canonical form of the next value of d.
func appendValue(out []byte, d *json.Decoder, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	tok, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := tok.(type) {
	case json.Delim:
		if v == '[' {
			out = append(out, '[')
			for i := 0; d.More(); i++ {
				if i > 0 {
					out = append(out, ',')
				}
				if out, err = appendValue(out, d, depth+1); err != nil {
					return nil, err
				}
			}
			_, err = d.Token()
			return append(out, ']'), err
		}
		return appendObject(out, d, depth)
	case string:
		return appendString(out, v), nil
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		if err != nil || n > maxInteger || n < -maxInteger || v.String() == "-0" {
			return nil, fmt.Errorf("%s is no integer of at most 53 bits", v)
		}
		return strconv.AppendInt(out, n, 10), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	default:
		return nil, errors.New("null has no place in a record")
	}
}

func appendObject(out []byte, d *json.Decoder, depth int) ([]byte, error) {
	type member struct {
		name string
		text []byte
	}
	var members []member
	for d.More() {
		tok, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := tok.(string) // the decoder hands out nothing else here
		text, err := appendValue(nil, d, depth+1)
		if err != nil {
			return nil, err
		}
		members = append(members, member{name, text})
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	slices.SortFunc(members, func(a, b member) int { return compareUTF16(a.name, b.name) })
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			if members[i-1].name == m.name {
				return nil, fmt.Errorf("the member %q stands twice", m.name)
			}
			out = append(out, ',')
		}
		out = append(appendString(out, m.name), ':')
		out = append(out, m.text...)
	}
	return append(out, '}'), nil
}

// compareUTF16 orders strings by their UTF-16 code units, which differs from
// the order of bytes where surrogates meet U+E000 to U+FFFF.
func compareUTF16(a, b string) int {
	ascii := func(s string) bool {
		for i := 0; i < len(s); i++ {
			if s[i] >= utf8.RuneSelf {
				return false
			}
		}
		return true
	}
	if ascii(a) && ascii(b) {
		switch {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

const hexDigits = "0123456789abcdef"

func appendString(out []byte, s string) []byte {
	out = append(out, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\b':
			out = append(out, `\b`...)
		case '\t':
			out = append(out, `\t`...)
		case '\n':
			out = append(out, `\n`...)
		case '\f':
			out = append(out, `\f`...)
		case '\r':
			out = append(out, `\r`...)
		default:
			if c < ' ' {
				out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			} else {
				out = append(out, c)
			}
		}
	}
	return append(out, '"')
}

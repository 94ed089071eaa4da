package doctrine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Bounds on what is read.
const (
	MaxInput = 1 << 20 // bytes
	maxDepth = 64
)

// An object is a JSON object in the order in which it was written.
type object []member

type member struct {
	name  string
	value any
}

func (o object) get(name string) (any, bool) {
	for _, m := range o {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// find follows a dotted path.
func (o object) find(path string) (any, bool) {
	var v any = o
	for name := range strings.SplitSeq(path, ".") {
		at, ok := v.(object)
		if !ok {
			return nil, false
		}
		if v, ok = at.get(name); !ok {
			return nil, false
		}
	}
	return v, true
}

// parse parses one JSON value. Unlike encoding/json it refuses a name that repeats:
// two readers could see two receipts in it.
func parse(text []byte) (any, error) {
	if len(text) > MaxInput {
		return nil, fmt.Errorf("more than %d bytes", MaxInput)
	}
	if !utf8.Valid(text) {
		return nil, errors.New("not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := value(d, 0)
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("it ends too early")
		}
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the value")
	}
	return v, nil
}

func value(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := t.(json.Delim)
	if !ok {
		return t, nil
	}
	if depth == maxDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			v, err := value(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	}
	o := object{}
	seen := make(map[string]bool)
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		if seen[name] {
			return nil, fmt.Errorf("the member %q is there twice", name)
		}
		seen[name] = true
		v, err := value(d, depth+1)
		if err != nil {
			return nil, err
		}
		o = append(o, member{name, v})
	}
	_, err = d.Token()
	return o, err
}

// write appends the compact JSON of a value, its members in their order.
func write(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case object:
		b.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, m.name)
			b.WriteByte(':')
			write(b, m.value)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, item)
		}
		b.WriteByte(']')
	default:
		e := json.NewEncoder(b)
		e.SetEscapeHTML(false)
		_ = e.Encode(v)         // a string, number, bool or nil
		b.Truncate(b.Len() - 1) // its line end
	}
}

func compact(v any) string {
	var b bytes.Buffer
	write(&b, v)
	return b.String()
}

// typeName names what a value is, as the doctrine does.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case object:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	}
	return "number"
}

// show renders a value for a message.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return clip(v)
	case nil:
		return "undefined"
	}
	return typeName(v)
}

// clip bounds a text of others.
func clip(s string) string {
	const most = 120
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "..."
}

// Package jsonc adds to JSON that people write, and takes out of it: comments, order, white space and commas stay as they are. It knows no client, and
// no file.
package jsonc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Plain reports whether there is no comment in a value or after it: `dialect hook install` writes none, so that one is the user's. What stands before it is not asked:
// it may be about what came before, and stays in any case.
func Plain(v *hujson.Value) bool {
	for x := range v.All() {
		inside := x.AfterExtra
		switch in := x.Value.(type) {
		case *hujson.Object:
			inside = append(slices.Clone(inside), in.AfterExtra...)
		case *hujson.Array:
			inside = append(slices.Clone(inside), in.AfterExtra...)
		}
		if x != v {
			inside = append(slices.Clone(inside), x.BeforeExtra...)
		}
		if len(bytes.TrimSpace(inside)) > 0 {
			return false
		}
	}
	return true
}

// Name returns the key of a member.
func Name(m hujson.ObjectMember) string {
	l, _ := m.Name.Value.(hujson.Literal)
	return l.String()
}

// Member returns the value of a key; nil for none.
func Member(o *hujson.Object, key string) *hujson.Value {
	for i := range o.Members {
		if Name(o.Members[i]) == key {
			return &o.Members[i].Value
		}
	}
	return nil
}

// DeleteMember takes the member i out. Comments stay.
func DeleteMember(o *hujson.Object, i int) {
	comments := o.Members[i].Name.BeforeExtra
	if i == len(o.Members)-1 {
		if i > 0 { // the last one says whether a comma stands at the end
			o.Members[i-1].Value.AfterExtra = o.Members[i].Value.AfterExtra
		}
		o.AfterExtra = join(comments, o.AfterExtra, i == 0)
	} else {
		next := &o.Members[i+1].Name
		next.BeforeExtra = join(comments, next.BeforeExtra, false)
	}
	o.Members = append(o.Members[:i], o.Members[i+1:]...)
}

// DeleteElement takes the element i out, likewise.
func DeleteElement(a *hujson.Array, i int) {
	comments := a.Elements[i].BeforeExtra
	if i == len(a.Elements)-1 {
		if i > 0 {
			a.Elements[i-1].AfterExtra = a.Elements[i].AfterExtra
		}
		a.AfterExtra = join(comments, a.AfterExtra, i == 0)
	} else {
		next := &a.Elements[i+1]
		next.BeforeExtra = join(comments, next.BeforeExtra, false)
	}
	a.Elements = append(a.Elements[:i], a.Elements[i+1:]...)
}

// join is what stands before an item when the one before it goes, which had comments of its own. Of an empty list nothing stays but
// comments.
func join(comments, rest hujson.Extra, empty bool) hujson.Extra {
	comments = bytes.TrimRight(comments, " \t\r\n")
	if empty && len(comments)+len(bytes.TrimSpace(rest)) == 0 {
		return nil
	}
	return append(append(hujson.Extra{}, comments...), rest...)
}

// A Layout is how a file is indented.
type Layout struct {
	lines   bool   // it has more than one
	Unit    string // of white space
	newline string
}

// NewLayout finds the layout of a text.
func NewLayout(text []byte) Layout {
	d := Layout{lines: bytes.ContainsRune(bytes.TrimSpace(text), '\n'), Unit: "  ", newline: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		d.newline = "\r\n"
	}
	for l := range bytes.Lines(text) {
		if indent := l[:len(l)-len(bytes.TrimLeft(l, " \t"))]; len(indent) > 0 && len(bytes.TrimSpace(l)) > 0 && l[len(indent)] == '"' {
			d.Unit = string(indent)
			break
		}
	}
	return d
}

// value parses JSON of our own, indented as it stands at a depth of white space.
func (d Layout) value(text []byte, indent string) hujson.Value {
	if d.lines {
		var b bytes.Buffer
		_ = json.Indent(&b, text, indent, d.Unit) // of our own
		text = []byte(strings.ReplaceAll(b.String(), "\n", d.newline))
	}
	v, _ := hujson.Parse(text)
	return v
}

// place makes room for a new last item: before is what stands before it, after what stands behind it. last is the white space and the
// comments that stood before the closing bracket.
func (d Layout) place(last hujson.Extra, first bool, indent string) (before, after hujson.Extra) {
	if !d.lines {
		if first {
			return nil, last
		}
		return hujson.Extra(" "), last
	}
	comments := bytes.TrimRight(last, " \t\r\n")
	before = append(append(hujson.Extra{}, comments...), d.newline+indent+d.Unit...)
	return before, hujson.Extra(d.newline + indent)
}

// AppendMember adds a member at the end of an object that stands at a depth of white space.
func (d Layout) AppendMember(o *hujson.Object, key string, text []byte, indent string) {
	before, after := d.place(o.AfterExtra, len(o.Members) == 0, indent)
	v := d.value(text, indent+d.Unit)
	if d.lines || len(o.Members) > 0 {
		v.BeforeExtra = hujson.Extra(" ")
	}
	if n := len(o.Members); n > 0 && o.Members[n-1].Value.AfterExtra != nil {
		v.AfterExtra = hujson.Extra{}
	}
	o.Members = append(o.Members, hujson.ObjectMember{Name: hujson.Value{BeforeExtra: before, Value: hujson.String(key)}, Value: v})
	o.AfterExtra = after
}

// AppendElement adds an element at the end of an array, likewise.
func (d Layout) AppendElement(a *hujson.Array, text []byte, indent string) {
	before, after := d.place(a.AfterExtra, len(a.Elements) == 0, indent)
	v := d.value(text, indent+d.Unit)
	v.BeforeExtra = before
	if n := len(a.Elements); n > 0 && a.Elements[n-1].AfterExtra != nil {
		v.AfterExtra = hujson.Extra{}
	}
	a.Elements = append(a.Elements, v)
	a.AfterExtra = after
}

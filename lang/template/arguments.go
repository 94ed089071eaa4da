package template

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/tomltree"
)

// Arguments is the arguments table of an MCP tool: constants and strings with
// placeholders, which become one JSON object. A value fills part of a string and
// can never become structure.
type Arguments struct {
	root  argument
	names []string
}

// An argument is one node of the table.
type argument struct {
	keys     []string   // of an object
	children []argument // of an object or array
	array    bool
	text     *Template // of a string
	literal  string    // of anything else: JSON
}

// Names returns the placeholders, {object} first.
func (a *Arguments) Names() []string { return a.names }

// JSON returns the object with each placeholder replaced by its value.
func (a *Arguments) JSON(values func(name string) string) string {
	var b strings.Builder
	a.root.write(&b, values)
	return b.String()
}

func (a *argument) write(b *strings.Builder, values func(string) string) {
	switch {
	case a.text != nil:
		writeJSONString(b, a.text.args[0].fill(values))
	case a.literal != "":
		b.WriteString(a.literal)
	case a.array:
		b.WriteByte('[')
		for i := range a.children {
			if i > 0 {
				b.WriteByte(',')
			}
			a.children[i].write(b, values)
		}
		b.WriteByte(']')
	default:
		b.WriteByte('{')
		for i := range a.children {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSONString(b, a.keys[i])
			b.WriteByte(':')
			a.children[i].write(b, values)
		}
		b.WriteByte('}')
	}
}

func writeJSONString(b *strings.Builder, s string) {
	var line strings.Builder
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	b.WriteString(strings.TrimSuffix(line.String(), "\n"))
}

// ReadArguments reads the table v; nil if it is not a table.
func ReadArguments(r *tomltree.Reader, v *tomltree.Value, where string) *Arguments {
	if !r.Is(v, where, tomltree.Table) {
		return nil
	}
	a := &Arguments{}
	a.root = a.read(r, v, where)
	return a
}

func (a *Arguments) read(r *tomltree.Reader, v *tomltree.Value, where string) (out argument) {
	switch v.Kind {
	case tomltree.Table:
		for _, e := range v.Entries {
			out.keys = append(out.keys, e.Key)
			out.children = append(out.children, a.read(r, e.Value, where+"."+e.Key))
		}
	case tomltree.Array:
		out.array = true
		for i, item := range v.Items {
			out.children = append(out.children, a.read(r, item, fmt.Sprintf("%s[%d]", where, i)))
		}
	case tomltree.String:
		t, err := parseText(v.Text)
		if err != nil {
			Report(r, v, 0, where, err)
			out.literal = `""`
			return out
		}
		for _, name := range t.names {
			switch {
			case slices.Contains(a.names, name):
			case name == Object:
				a.names = slices.Insert(a.names, 0, name)
			default:
				a.names = append(a.names, name)
			}
		}
		out.text = t
	case tomltree.Integer:
		out.literal = strconv.FormatInt(v.Int, 10)
	case tomltree.Boolean:
		out.literal = strconv.FormatBool(v.True)
	default:
		f, err := strconv.ParseFloat(strings.ReplaceAll(v.Text, "_", ""), 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			r.Errorf(diag.BadValue, r.Span(v), "%s: %s is not a JSON value", where, v.Text).Hint = "quote it"
			f = 0
		}
		out.literal = strconv.FormatFloat(f, 'g', -1, 64)
	}
	return out
}

package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// group is what a client runs at an event: the shape that all of them took over from Claude Code.
type group struct {
	Matcher string `json:"matcher,omitempty"`
	Hooks   []line `json:"hooks"`
}

type line struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
}

// compact is v as JSON on one line, without escapes of HTML.
func compact(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // of strings and numbers
	return bytes.TrimSpace(b.Bytes())
}

// groupOf is the entry of an event.
func (c Client) groupOf(program string, l Level, e event) []byte {
	return compact(group{e.matcher, []line{{"command", c.Command(program, l, e.name), c.timeout}}})
}

// add returns a configuration with our lines, and only those of this call. Nothing else of its bytes changes, but for the white
// space and commas around them. An empty text becomes a configuration of our own.
func (c Client) add(text []byte, program string, l Level) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{\n}\n")
	} else if c.complete(text, program, l) {
		return text, nil
	} else {
		clean, err := c.remove(text)
		if err != nil {
			return nil, err
		}
		text = clean
	}
	root, top, err := object(text)
	if err != nil {
		return nil, err
	}
	d := newLayout(text)
	hooks := member(top, "hooks")
	if hooks == nil {
		var b bytes.Buffer
		for i, e := range c.events {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%s:[%s]", compact(e.name), c.groupOf(program, l, e))
		}
		d.appendMember(top, "hooks", []byte("{"+b.String()+"}"), "")
		return root.Pack(), nil
	}
	events, ok := hooks.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New(`its "hooks" is not an object`)
	}
	for _, e := range c.events {
		list := member(events, e.name)
		if list == nil {
			d.appendMember(events, e.name, fmt.Appendf(nil, "[%s]", c.groupOf(program, l, e)), d.unit)
			continue
		}
		array, ok := list.Value.(*hujson.Array)
		if !ok {
			return nil, fmt.Errorf("its hooks of %q are not an array", e.name)
		}
		d.appendElement(array, c.groupOf(program, l, e), d.unit+d.unit)
	}
	return root.Pack(), nil
}

// object parses a configuration.
func object(text []byte) (root hujson.Value, top *hujson.Object, err error) {
	if root, err = hujson.Parse(text); err != nil {
		return root, nil, errors.New("it is not JSON: " + strings.TrimPrefix(err.Error(), "hujson: "))
	}
	top, ok := root.Value.(*hujson.Object)
	if !ok {
		return root, nil, errors.New("it is not a JSON object")
	}
	return root, top, once(top)
}

// complete reports whether a configuration has just the lines that [Client.add] would add.
func (c Client) complete(text []byte, program string, l Level) bool {
	root, err := hujson.Parse(text)
	if err != nil {
		return false
	}
	n := 0
	for v := range root.All() {
		if isOurs(*v) {
			n++
		}
	}
	for _, e := range c.events {
		list := root.Find("/hooks/" + e.name)
		if list == nil {
			return false
		}
		array, ok := list.Value.(*hujson.Array)
		if !ok || !slices.ContainsFunc(array.Elements, func(v hujson.Value) bool {
			v = v.Clone()
			v.Minimize()
			return bytes.Equal(v.Pack(), c.groupOf(program, l, e))
		}) {
			return false
		}
	}
	return n == len(c.events)
}

// remove returns a configuration without our lines.
func (c Client) remove(text []byte) ([]byte, error) {
	root, top, err := object(text)
	if err != nil {
		return nil, err
	}
	hooks := member(top, "hooks")
	if hooks == nil {
		return text, nil
	}
	events, ok := hooks.Value.(*hujson.Object)
	if !ok {
		return text, nil
	}
	changed := false
	for i := 0; i < len(events.Members); i++ {
		array, ok := events.Members[i].Value.Value.(*hujson.Array)
		if !ok {
			continue
		}
		before := len(array.Elements)
		for k := 0; k < len(array.Elements); k++ {
			inner, ok := array.Elements[k].Value.(*hujson.Object)
			if !ok {
				continue
			}
			list := member(inner, "hooks")
			if list == nil {
				continue
			}
			lines, ok := list.Value.(*hujson.Array)
			if !ok {
				continue
			}
			had := len(lines.Elements)
			for n := 0; n < len(lines.Elements); n++ {
				if isOurs(lines.Elements[n]) {
					deleteElement(lines, n)
					n, changed = n-1, true
				}
			}
			if had > len(lines.Elements) && len(lines.Elements) == 0 && len(inner.Members) <= 2 && plain(&array.Elements[k]) {
				deleteElement(array, k)
				k--
			}
		}
		if before > len(array.Elements) && len(array.Elements) == 0 && plain(&events.Members[i].Value) {
			deleteMember(events, i)
			i--
		}
	}
	if !changed {
		return text, nil
	}
	if len(events.Members) == 0 {
		for i := range top.Members {
			if name(top.Members[i]) == "hooks" && plain(&top.Members[i].Value) {
				deleteMember(top, i)
				break
			}
		}
	}
	return root.Pack(), nil
}

// once returns an error if a key that we write below stands twice: readers of JSON differ in which one counts.
func once(top *hujson.Object) error {
	isHooks := func(m hujson.ObjectMember) bool { return name(m) == "hooks" }
	first := slices.IndexFunc(top.Members, isHooks)
	if first < 0 {
		return nil
	}
	if slices.ContainsFunc(top.Members[first+1:], isHooks) {
		return &manual{`it has "hooks" twice, of which the client reads one`, `merge them into one "hooks"`}
	}
	if events, ok := top.Members[first].Value.Value.(*hujson.Object); ok {
		seen := make(map[string]bool)
		for _, m := range events.Members {
			if seen[name(m)] {
				return &manual{fmt.Sprintf("its hooks have %q twice, of which the client reads one", name(m)), "merge them into one"}
			}
			seen[name(m)] = true
		}
	}
	return nil
}

// plain reports whether there is no comment in a value or after it: we write none, so that one is the user's. What stands before it is not asked:
// it may be about what came before, and stays in any case.
func plain(v *hujson.Value) bool {
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

// isOurs reports whether an entry runs our command.
func isOurs(v hujson.Value) bool {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return false
	}
	command := member(o, "command")
	if command == nil {
		return false
	}
	text, ok := command.Value.(hujson.Literal)
	return ok && text.Kind() == '"' && ours().MatchString(text.String())
}

func name(m hujson.ObjectMember) string {
	l, _ := m.Name.Value.(hujson.Literal)
	return l.String()
}

func member(o *hujson.Object, key string) *hujson.Value {
	for i := range o.Members {
		if name(o.Members[i]) == key {
			return &o.Members[i].Value
		}
	}
	return nil
}

func deleteMember(o *hujson.Object, i int) {
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

func deleteElement(a *hujson.Array, i int) {
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

// A layout is how a file is indented.
type layout struct {
	lines   bool // it has more than one
	unit    string
	newline string
}

func newLayout(text []byte) layout {
	d := layout{lines: bytes.ContainsRune(bytes.TrimSpace(text), '\n'), unit: "  ", newline: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		d.newline = "\r\n"
	}
	for l := range bytes.Lines(text) {
		if indent := l[:len(l)-len(bytes.TrimLeft(l, " \t"))]; len(indent) > 0 && len(bytes.TrimSpace(l)) > 0 && l[len(indent)] == '"' {
			d.unit = string(indent)
			break
		}
	}
	return d
}

// value parses JSON of our own, indented as it stands at a depth of white space.
func (d layout) value(text []byte, indent string) hujson.Value {
	if d.lines {
		var b bytes.Buffer
		_ = json.Indent(&b, text, indent, d.unit) // of our own
		text = []byte(strings.ReplaceAll(b.String(), "\n", d.newline))
	}
	v, _ := hujson.Parse(text)
	return v
}

// place makes room for a new last item: before is what stands before it, after what stands behind it. last is the white space and the
// comments that stood before the closing bracket.
func (d layout) place(last hujson.Extra, first bool, indent string) (before, after hujson.Extra) {
	if !d.lines {
		if first {
			return nil, last
		}
		return hujson.Extra(" "), last
	}
	comments := bytes.TrimRight(last, " \t\r\n")
	before = append(append(hujson.Extra{}, comments...), d.newline+indent+d.unit...)
	return before, hujson.Extra(d.newline + indent)
}

func (d layout) appendMember(o *hujson.Object, key string, text []byte, indent string) {
	before, after := d.place(o.AfterExtra, len(o.Members) == 0, indent)
	v := d.value(text, indent+d.unit)
	if d.lines || len(o.Members) > 0 {
		v.BeforeExtra = hujson.Extra(" ")
	}
	if n := len(o.Members); n > 0 && o.Members[n-1].Value.AfterExtra != nil {
		v.AfterExtra = hujson.Extra{}
	}
	o.Members = append(o.Members, hujson.ObjectMember{Name: hujson.Value{BeforeExtra: before, Value: hujson.String(key)}, Value: v})
	o.AfterExtra = after
}

func (d layout) appendElement(a *hujson.Array, text []byte, indent string) {
	before, after := d.place(a.AfterExtra, len(a.Elements) == 0, indent)
	v := d.value(text, indent+d.unit)
	v.BeforeExtra = before
	if n := len(a.Elements); n > 0 && a.Elements[n-1].AfterExtra != nil {
		v.AfterExtra = hujson.Extra{}
	}
	a.Elements = append(a.Elements, v)
	a.AfterExtra = after
}

package routing

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/command-dialect/dialect/lang/diag"
)

// A kind is the type of a TOML value.
type kind uint8

const (
	tableKind kind = iota
	arrayKind
	stringKind
	integerKind
	booleanKind
	otherKind // floats, dates and times: no key of a matrix takes one
)

// String returns the kind with its article, for messages.
func (k kind) String() string {
	return [...]string{"a table", "an array", "a string", "an integer", "a boolean", "a number or date"}[k]
}

// A value is a TOML value with its place.
type value struct {
	kind       kind
	start, end int    // offsets into the file
	text       string // of a string: decoded; of any other scalar: as written
	num        int64
	truth      bool
	items      []*value // of an array
	entries    []*entry // of a table, in order
	index      map[string]*entry
}

// An entry is a key of a table with its value.
type entry struct {
	key        string
	start, end int // offsets of the key, quotes included
	value      *value
}

func newTable(start, end int) *value {
	return &value{kind: tableKind, start: start, end: end, index: make(map[string]*entry)}
}

// get returns the value of key, or nil.
func (v *value) get(key string) *value {
	if e := v.index[key]; e != nil {
		return e.value
	}
	return nil
}

// add puts val below key unless the key is taken.
func (v *value) add(key string, start, end int, val *value) *entry {
	if e := v.index[key]; e != nil {
		return e
	}
	e := &entry{key: key, start: start, end: end, value: val}
	v.entries = append(v.entries, e)
	v.index[key] = e
	return e
}

// child returns the table below key, making it if need be. A value of another
// kind that stands in the way is a fault that the TOML decoder has reported;
// the child is then detached.
func (v *value) child(key string, start, end int) *value {
	e := v.add(key, start, end, nil)
	switch {
	case e.value == nil:
		e.value = newTable(start, end)
	case e.value.kind == arrayKind && len(e.value.items) > 0 && e.value.items[len(e.value.items)-1].kind == tableKind:
		return e.value.items[len(e.value.items)-1] // [[a]] then [a.b]
	case e.value.kind != tableKind:
		return newTable(start, end)
	}
	return e.value
}

// parseTOML reads src into a tree. The decoder of go-toml is the judge of what
// is TOML; the tree is built from the parser's own expressions, which carry
// positions, and goes as far as they do. The tree is never nil. What is embedded in the program
// needs no judge: a test has been one.
func parseTOML(src *diag.Source, embedded bool) (*value, diag.List) {
	var list diag.List
	var discard map[string]any
	if !embedded {
		if err := toml.Unmarshal(src.Text, &discard); err != nil {
			list = append(list, syntaxError(src, err))
		}
	}
	root := newTable(0, 0)
	b := treeBuilder{root: root, table: root}
	b.parser.Reset(src.Text)
	for b.parser.NextExpression() {
		b.expression(b.parser.Expression())
	}
	return root, list
}

func syntaxError(src *diag.Source, err error) diag.Diagnostic {
	var span diag.Span
	var de *toml.DecodeError
	if errors.As(err, &de) {
		row, col := de.Position() // 1-based; the column counts bytes
		if row >= 1 && row <= src.Lines() {
			at := src.LineStart(row) + max(col-1, 0)
			end := at + 1
			for end < len(src.Text) && (isNameByte(src.Text[end]) || src.Text[end] == '.' || src.Text[end] == '-') {
				end++
			}
			span = src.Span(at, end)
		}
	}
	return diag.Errorf(diag.MatrixSyntax, src.Name, span, "not TOML: %s", strings.TrimPrefix(err.Error(), "toml: "))
}

type treeBuilder struct {
	parser unstable.Parser
	root   *value
	table  *value // the one that the last header opened
}

func (b *treeBuilder) expression(n *unstable.Node) {
	switch n.Kind {
	case unstable.Table:
		b.table = b.root
		for it := n.Key(); it.Next(); {
			key, start, end := b.key(it.Node())
			b.table = b.table.child(key, start, end)
		}
	case unstable.ArrayTable:
		b.table = b.root
		for it := n.Key(); it.Next(); {
			key, start, end := b.key(it.Node())
			if !it.IsLast() {
				b.table = b.table.child(key, start, end)
				continue
			}
			e := b.table.add(key, start, end, &value{kind: arrayKind, start: start, end: end})
			b.table = newTable(start, end)
			if e.value.kind == arrayKind {
				e.value.items = append(e.value.items, b.table)
			}
		}
	case unstable.KeyValue:
		b.keyValue(b.table, n)
	}
}

func (b *treeBuilder) key(n *unstable.Node) (key string, start, end int) {
	return string(n.Data), int(n.Raw.Offset), int(n.Raw.Offset + n.Raw.Length)
}

func (b *treeBuilder) keyValue(t *value, n *unstable.Node) {
	for it := n.Key(); it.Next(); {
		key, start, end := b.key(it.Node())
		if !it.IsLast() {
			t = t.child(key, start, end)
			continue
		}
		v := b.value(n.Value())
		if v.end == 0 {
			// Arrays and inline tables have no range of their own: they reach
			// from behind the "=" to the end of the expression.
			v.end = int(n.Raw.Offset + n.Raw.Length)
			text := b.parser.Data()[end:v.end]
			skip := 0
			for skip < len(text) && strings.IndexByte(" \t=", text[skip]) >= 0 {
				skip++
			}
			v.start = end + skip
		}
		t.add(key, start, end, v)
	}
}

func (b *treeBuilder) value(n *unstable.Node) *value {
	v := &value{kind: otherKind, start: int(n.Raw.Offset), end: int(n.Raw.Offset + n.Raw.Length), text: string(n.Data)}
	switch n.Kind {
	case unstable.String:
		v.kind = stringKind
	case unstable.Bool:
		v.kind = booleanKind
		v.truth = v.text == "true"
	case unstable.Integer:
		// Out of range is the decoder's to report.
		if num, err := strconv.ParseInt(v.text, 0, 64); err == nil {
			v.kind, v.num = integerKind, num
		}
	case unstable.Array:
		v.kind, v.start, v.end = arrayKind, 0, 0
		for it := n.Children(); it.Next(); {
			v.items = append(v.items, b.value(it.Node()))
		}
		if len(v.items) > 0 {
			v.start = v.items[0].start
		}
	case unstable.InlineTable:
		t := newTable(v.start, 0)
		for it := n.Children(); it.Next(); {
			b.keyValue(t, it.Node())
		}
		return t
	}
	return v
}

// A reader turns values of one file into Go values and says which are of the
// wrong type. Where names the key in messages, such as "commands.x.verb".
type reader struct {
	src     *diag.Source
	list    *diag.List
	partial bool // the rest of the file could not be read
}

func (r *reader) span(v *value) diag.Span { return r.src.Span(v.start, max(v.end, v.start)) }

func (r *reader) keySpan(e *entry) diag.Span { return r.src.Span(e.start, e.end) }

func (r *reader) errorf(code diag.Code, span diag.Span, format string, args ...any) *diag.Diagnostic {
	*r.list = append(*r.list, diag.Errorf(code, r.src.Name, span, format, args...))
	return &(*r.list)[len(*r.list)-1]
}

func (r *reader) warnf(code diag.Code, span diag.Span, format string, args ...any) *diag.Diagnostic {
	*r.list = append(*r.list, diag.Warnf(code, r.src.Name, span, format, args...))
	return &(*r.list)[len(*r.list)-1]
}

// is reports whether v is of kind k, and complains if it is not.
func (r *reader) is(v *value, where string, k kind) bool {
	if v.kind != k {
		r.errorf(diag.MatrixSyntax, r.span(v), "%s must be %s, not %s", where, k, v.kind)
		return false
	}
	return true
}

func (r *reader) str(v *value, where string) string {
	if !r.is(v, where, stringKind) {
		return ""
	}
	return v.text
}

func (r *reader) boolean(v *value, where string) bool {
	return r.is(v, where, booleanKind) && v.truth
}

// integer returns v, which must lie in [lo, hi].
func (r *reader) integer(v *value, where string, lo, hi int64) (int64, bool) {
	if !r.is(v, where, integerKind) {
		return 0, false
	}
	if v.num < lo || v.num > hi {
		r.errorf(diag.BadValue, r.span(v), "%s is %d; it must lie between %d and %d", where, v.num, lo, hi)
		return 0, false
	}
	return v.num, true
}

// strings returns the items of an array of strings that are strings.
func (r *reader) strings(v *value, where string) []string {
	if !r.is(v, where, arrayKind) {
		return nil
	}
	out := make([]string, 0, len(v.items))
	for i, item := range v.items {
		if r.is(item, fmt.Sprintf("%s[%d]", where, i), stringKind) {
			out = append(out, item.text)
		}
	}
	return out
}

// stringTable returns the entries of a table of strings that are strings.
func (r *reader) stringTable(v *value, where string) map[string]string {
	if !r.is(v, where, tableKind) {
		return nil
	}
	out := make(map[string]string, len(v.entries))
	for _, e := range v.entries {
		if r.is(e.value, where+"."+e.key, stringKind) {
			out[e.key] = e.value.text
		}
	}
	return out
}

// inside returns the span of the bytes [from, to) of the string v, if v is
// written so that its text can be found in the file byte by byte; else all of v.
func (r *reader) inside(v *value, from, to int) diag.Span {
	raw := string(r.src.Text[v.start:min(v.end, len(r.src.Text))])
	for _, quote := range [...]string{`"""`, `'''`, `"`, `'`} {
		body, ok := strings.CutPrefix(raw, quote)
		if !ok {
			continue
		}
		at := v.start + len(quote)
		if len(quote) == 3 { // a line end right behind the quotes is not part of the text
			trimmed := strings.TrimPrefix(strings.TrimPrefix(body, "\r"), "\n")
			at += len(body) - len(trimmed)
			body = trimmed
		}
		if body, ok = strings.CutSuffix(body, quote); ok && body == v.text && from <= to && to <= len(body) {
			return r.src.Span(at+from, at+to)
		}
		break
	}
	return r.span(v)
}

// Package tomltree reads TOML into a tree whose keys and values know their places.
//
// In come the bytes of a file, out come a [Value] and diagnostics. It is the one package that uses the
// parser of go-toml, whose interface is declared unstable, and knows no key of any file. Nothing is
// decoded into Go types by reflection: a [Reader] takes values out of the tree one by one and reports
// those of the wrong type with their place.
package tomltree

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/command-dialect/dialect/lang/diag"
)

// A Kind is the type of a TOML value.
type Kind uint8

const (
	Table Kind = iota
	Array
	String
	Integer
	Boolean
	Other // floats, dates and times: no key of a matrix takes one
)

// String returns the kind with its article, for messages.
func (k Kind) String() string {
	return [...]string{"a table", "an array", "a string", "an integer", "a boolean", "a number or date"}[k]
}

// A Value is a TOML value with its place.
type Value struct {
	Kind       Kind
	Start, End int    // offsets into the file
	Text       string // of a string: decoded; of any other scalar: as written
	Int        int64
	True       bool
	Items      []*Value // of an array
	Entries    []*Entry // of a table, in order
	index      map[string]*Entry
}

// An Entry is a key of a table with its value.
type Entry struct {
	Key        string
	Start, End int // offsets of the key, quotes included
	Value      *Value
}

func newTable(start, end int) *Value {
	return &Value{Kind: Table, Start: start, End: end, index: make(map[string]*Entry)}
}

// Get returns the value of key, or nil.
func (v *Value) Get(key string) *Value {
	if e := v.index[key]; e != nil {
		return e.Value
	}
	return nil
}

// add puts val below key unless the key is taken.
func (v *Value) add(key string, start, end int, val *Value) *Entry {
	if e := v.index[key]; e != nil {
		return e
	}
	e := &Entry{Key: key, Start: start, End: end, Value: val}
	v.Entries = append(v.Entries, e)
	v.index[key] = e
	return e
}

// child returns the table below key, making it if need be. A value of another
// kind that stands in the way is a fault that the TOML decoder has reported;
// the child is then detached.
func (v *Value) child(key string, start, end int) *Value {
	e := v.add(key, start, end, nil)
	switch {
	case e.Value == nil:
		e.Value = newTable(start, end)
	case e.Value.Kind == Array && len(e.Value.Items) > 0 && e.Value.Items[len(e.Value.Items)-1].Kind == Table:
		return e.Value.Items[len(e.Value.Items)-1] // [[a]] then [a.b]
	case e.Value.Kind != Table:
		return newTable(start, end)
	}
	return e.Value
}

// maxSteps bounds the work of the decoder for one file. The decoder looks for each name that it meets among
// all names after the parent's, one by one, so that n tables or n keys of one table take about n²/2 steps, at
// some 3 ns each. 5000 tables of 15 keys each, far more than a matrix has, take 200 million; so do 20,000 keys
// of one table.
const maxSteps = 250_000_000

// maxNames bounds the names of one key: "a.b.c" has three. Each is a table in the one before it, here and in the
// decoder.
const maxNames = 1000

// Parse reads src into a tree. The decoder of go-toml is the judge of what
// is TOML; the tree is built from the parser's own expressions, which carry
// positions, and goes as far as they do. The tree is never nil. What is embedded in the program
// needs no judge: a test has been one.
//
// The tree is built first, in time linear in the size of the file. It counts what the decoder
// would do. Where that is more than maxSteps, or a key has more than maxNames, the decoder never sees the file, and the tree ends there.
func Parse(src *diag.Source, embedded bool) (*Value, diag.List) {
	root := newTable(0, 0)
	b := treeBuilder{root: root, table: root}
	b.parser.Reset(src.Text)
	for b.parser.NextExpression() {
		b.expression(b.parser.Expression())
		switch {
		case embedded:
		case b.long.names > 0:
			return root, diag.List{diag.Errorf(diag.MatrixSyntax, src.Name, src.Span(b.long.start, b.long.end),
				"a key has %d names, and can have at most %d", b.long.names, maxNames)}
		case b.steps > maxSteps:
			return root, diag.List{diag.Errorf(diag.MatrixSyntax, src.Name, src.Span(b.start, b.end),
				"too many tables and keys in one file: %d up to here", b.names).
				WithHint("divide it into files, and name them in `extends`")}
		}
	}
	if embedded {
		return root, nil
	}
	var discard map[string]any
	if err := toml.Unmarshal(src.Text, &discard); err != nil {
		return root, diag.List{syntaxError(src, err)}
	}
	return root, nil
}

func syntaxError(src *diag.Source, err error) diag.Diagnostic {
	var span diag.Span
	var de *toml.DecodeError
	if errors.As(err, &de) {
		row, col := de.Position() // 1-based; the column counts bytes
		if row >= 1 && row <= src.Lines() {
			at := src.LineStart(row) + max(col-1, 0)
			end := at + 1
			for end < len(src.Text) && (isBare(src.Text[end]) || src.Text[end] == '.') {
				end++
			}
			span = src.Span(at, end)
		}
	}
	return diag.Errorf(diag.MatrixSyntax, src.Name, span, "not TOML: %s", strings.TrimPrefix(err.Error(), "toml: "))
}

type treeBuilder struct {
	parser unstable.Parser
	root   *Value
	table  *Value // the one that the last header opened

	start, end int // offsets of the name that was read last
	names      int // so far; an array or inline table in an array counts as one
	since      int // names when table was made; 0 if it was opened again
	steps      int // no fewer than the decoder needs so far

	long struct{ names, start, end int } // the last key of more than maxNames names, and where its last name is; it is not in the tree
}

// look counts the search for a name below a table that was made when there were since names.
// The names of a dotted key count once together: those of a child are after their parent, so
// that each search begins where the one before it ended.
func (b *treeBuilder) look(since int) { b.steps += b.names - since }

// tooLong reports whether the key of n has more than maxNames names, and notes it.
func (b *treeBuilder) tooLong(n *unstable.Node) bool {
	names, last := 0, unstable.Range{}
	for it := n.Key(); it.Next(); names++ {
		last = it.Node().Raw
	}
	if names <= maxNames {
		return false
	}
	b.long.names, b.long.start, b.long.end = names, int(last.Offset), int(last.Offset+last.Length)
	return true
}

func (b *treeBuilder) expression(n *unstable.Node) {
	switch n.Kind {
	case unstable.Table:
		if b.tooLong(n) {
			return
		}
		b.look(0)
		b.table = b.root
		for it := n.Key(); it.Next(); {
			key, start, end := b.key(it.Node())
			if b.since = 0; b.table.index[key] == nil {
				b.since = b.names
			}
			b.table = b.table.child(key, start, end)
		}
	case unstable.ArrayTable:
		if b.tooLong(n) {
			return
		}
		b.look(0)
		b.table, b.since = b.root, 0
		for it := n.Key(); it.Next(); {
			key, start, end := b.key(it.Node())
			if !it.IsLast() {
				b.table = b.table.child(key, start, end)
				continue
			}
			e := b.table.add(key, start, end, &Value{Kind: Array, Start: start, End: end})
			b.table = newTable(start, end)
			if e.Value.Kind == Array {
				e.Value.Items = append(e.Value.Items, b.table)
			}
		}
	case unstable.KeyValue:
		b.keyValue(b.table, b.since, n)
	}
}

func (b *treeBuilder) key(n *unstable.Node) (key string, start, end int) {
	b.start, b.end = int(n.Raw.Offset), int(n.Raw.Offset+n.Raw.Length)
	b.names++
	return string(n.Data), b.start, b.end
}

// keyValue adds a key and its value to t, which was made when there were since names.
func (b *treeBuilder) keyValue(t *Value, since int, n *unstable.Node) {
	if b.tooLong(n) {
		return
	}
	b.look(since)
	for it := n.Key(); it.Next(); {
		key, start, end := b.key(it.Node())
		if !it.IsLast() {
			t = t.child(key, start, end)
			continue
		}
		v := b.value(n.Value())
		if v.End == 0 {
			// Arrays and inline tables have no range of their own: they reach
			// from behind the "=" to the end of the expression.
			v.End = int(n.Raw.Offset + n.Raw.Length)
			text := b.parser.Data()[end:v.End]
			skip := 0
			for skip < len(text) && strings.IndexByte(" \t=", text[skip]) >= 0 {
				skip++
			}
			v.Start = end + skip
		}
		t.add(key, start, end, v)
	}
}

func (b *treeBuilder) value(n *unstable.Node) *Value {
	v := &Value{Kind: Other, Start: int(n.Raw.Offset), End: int(n.Raw.Offset + n.Raw.Length), Text: string(n.Data)}
	switch n.Kind {
	case unstable.String:
		v.Kind = String
	case unstable.Bool:
		v.Kind = Boolean
		v.True = v.Text == "true"
	case unstable.Integer:
		// Out of range is the decoder's to report.
		if num, err := strconv.ParseInt(v.Text, 0, 64); err == nil {
			v.Kind, v.Int = Integer, num
		}
	case unstable.Array:
		v.Kind, v.Start, v.End = Array, 0, 0
		for it := n.Children(); it.Next(); {
			if k := it.Node().Kind; k == unstable.Array || k == unstable.InlineTable {
				b.names++
			}
			v.Items = append(v.Items, b.value(it.Node()))
		}
		if len(v.Items) > 0 {
			v.Start = v.Items[0].Start
		}
	case unstable.InlineTable:
		t, since := newTable(v.Start, 0), b.names
		for it := n.Children(); it.Next(); {
			b.keyValue(t, since, it.Node())
		}
		return t
	}
	return v
}

// A Reader turns values of one file into Go values and says which are of the
// wrong type. Where names the key in messages, such as "commands.x.verb".
type Reader struct {
	Source *diag.Source
	List   *diag.List // what it says is added here
}

func (r *Reader) Span(v *Value) diag.Span { return r.Source.Span(v.Start, max(v.End, v.Start)) }

func (r *Reader) KeySpan(e *Entry) diag.Span { return r.Source.Span(e.Start, e.End) }

func (r *Reader) Errorf(code diag.Code, span diag.Span, format string, args ...any) *diag.Diagnostic {
	*r.List = append(*r.List, diag.Errorf(code, r.Source.Name, span, format, args...))
	return &(*r.List)[len(*r.List)-1]
}

func (r *Reader) Warnf(code diag.Code, span diag.Span, format string, args ...any) *diag.Diagnostic {
	*r.List = append(*r.List, diag.Warnf(code, r.Source.Name, span, format, args...))
	return &(*r.List)[len(*r.List)-1]
}

// Is reports whether v is of kind k, and complains if it is not.
func (r *Reader) Is(v *Value, where string, k Kind) bool {
	if v.Kind != k {
		r.Errorf(diag.MatrixSyntax, r.Span(v), "%s must be %s, not %s", where, k, v.Kind)
		return false
	}
	return true
}

func (r *Reader) String(v *Value, where string) string {
	if !r.Is(v, where, String) {
		return ""
	}
	return v.Text
}

func (r *Reader) Bool(v *Value, where string) bool {
	return r.Is(v, where, Boolean) && v.True
}

// Integer returns v, which must lie in [lo, hi].
func (r *Reader) Integer(v *Value, where string, lo, hi int64) (int64, bool) {
	if !r.Is(v, where, Integer) {
		return 0, false
	}
	if v.Int < lo || v.Int > hi {
		r.Errorf(diag.BadValue, r.Span(v), "%s is %d; it must lie between %d and %d", where, v.Int, lo, hi)
		return 0, false
	}
	return v.Int, true
}

// Strings returns the items of an array of strings that are strings.
func (r *Reader) Strings(v *Value, where string) []string {
	if !r.Is(v, where, Array) {
		return nil
	}
	out := make([]string, 0, len(v.Items))
	for i, item := range v.Items {
		if r.Is(item, fmt.Sprintf("%s[%d]", where, i), String) {
			out = append(out, item.Text)
		}
	}
	return out
}

// StringTable returns the entries of a table of strings that are strings.
func (r *Reader) StringTable(v *Value, where string) map[string]string {
	if !r.Is(v, where, Table) {
		return nil
	}
	out := make(map[string]string, len(v.Entries))
	for _, e := range v.Entries {
		if r.Is(e.Value, where+"."+e.Key, String) {
			out[e.Key] = e.Value.Text
		}
	}
	return out
}

// Inside returns the span of the bytes [from, to) of the string v, if v is
// written so that its text can be found in the file byte by byte; else all of v.
func (r *Reader) Inside(v *Value, from, to int) diag.Span {
	raw := string(r.Source.Text[v.Start:min(v.End, len(r.Source.Text))])
	for _, quote := range [...]string{`"""`, `'''`, `"`, `'`} {
		body, ok := strings.CutPrefix(raw, quote)
		if !ok {
			continue
		}
		at := v.Start + len(quote)
		if len(quote) == 3 { // a line end right behind the quotes is not part of the text
			trimmed := strings.TrimPrefix(strings.TrimPrefix(body, "\r"), "\n")
			at += len(body) - len(trimmed)
			body = trimmed
		}
		if body, ok = strings.CutSuffix(body, quote); ok && body == v.Text && from <= to && to <= len(body) {
			return r.Source.Span(at+from, at+to)
		}
		break
	}
	return r.Span(v)
}

// ItemSpan returns the place of item i of an array, or of all of v if it has no such item.
func (r *Reader) ItemSpan(v *Value, i int) diag.Span {
	if i < len(v.Items) {
		return r.Span(v.Items[i])
	}
	return r.Span(v)
}

// OneOf returns v, which must be one of allowed.
func (r *Reader) OneOf(v *Value, where string, allowed ...string) string {
	if !r.Is(v, where, String) {
		return ""
	}
	if slices.Contains(allowed, v.Text) {
		return v.Text
	}
	r.Errorf(diag.BadValue, r.Span(v), "%s cannot be %q", where, v.Text).
		Hint = "write \"" + strings.Join(allowed, "\" or \"") + "\""
	return ""
}

// Key returns word as a key of TOML, quoted if need be.
func Key(word string) string {
	for i := range len(word) {
		if !isBare(word[i]) {
			return fmt.Sprintf("%q", word)
		}
	}
	return word
}

// isBare reports whether c can stand in a key without quotes.
func isBare(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

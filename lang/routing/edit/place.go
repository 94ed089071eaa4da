package edit

import (
	"bytes"
	"fmt"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/tomltree"
)

// A Place is a text in a file of a matrix.
type Place struct {
	Source *diag.Source
	Span   diag.Span // without quotes
}

// Table returns where b is written, from its header to the next.
func Table(b *routing.Binding) diag.Span {
	start := b.Source.LineStart(b.Span.Start.Line)
	end := len(b.Source.Text)
	for n := b.Span.Start.Line + 1; n <= b.Source.Lines(); n++ {
		if bytes.HasPrefix(bytes.TrimSpace(b.Source.Line(n)), []byte("[")) {
			end = b.Source.LineStart(n)
			break
		}
	}
	text := bytes.TrimRight(b.Source.Text[start:max(start, end)], " \t\r\n")
	return b.Source.Span(start, start+len(text))
}

// Value returns the place of the text of a string key of b, such as "noun"; ok is false if it is
// absent or written so that its text cannot be found.
func Value(b *routing.Binding, key string) (p Place, ok bool) {
	v := b.Syntax.Get(key)
	if v == nil || v.Kind != tomltree.String {
		return p, false
	}
	return unquoted(b, v)
}

func unquoted(b *routing.Binding, v *tomltree.Value) (p Place, ok bool) {
	span := (&tomltree.Reader{Source: b.Source}).Inside(v, 0, len(v.Text))
	text := b.Source.Text[span.Start.Offset:span.End.Offset]
	return Place{b.Source, span}, string(text) == v.Text
}

// A Member is a name in the list of a composite.
type Member struct {
	Name string
	Place
}

// Members returns the members of a composite as they are written.
func Members(b *routing.Binding) (list []Member) {
	v := b.Syntax.Get("composite")
	if v == nil || v.Kind != tomltree.Array {
		return nil
	}
	for _, item := range v.Items {
		if p, ok := unquoted(b, item); ok && item.Kind == tomltree.String {
			list = append(list, Member{item.Text, p})
		}
	}
	return list
}

// Name returns the place of the name in the header of b, [commands.NAME], without quotes.
func Name(b *routing.Binding) (p Place, ok bool) {
	text := string(b.Source.Text[b.Span.Start.Offset:b.Span.End.Offset])
	span := b.Span
	if n := len(text); n > 2 && (text[0] == '"' || text[0] == '\'') {
		span = b.Source.Span(span.Start.Offset+1, span.End.Offset-1)
	}
	got := b.Source.Text[span.Start.Offset:span.End.Offset]
	return Place{b.Source, span}, string(got) == b.Name
}

// BindingAt returns the binding whose table holds the offset of a file, or nil.
func BindingAt(m *routing.Matrix, src *diag.Source, offset int) *routing.Binding {
	for _, b := range m.Bindings {
		if b.Source == src {
			if t := Table(b); t.Start.Offset <= offset && offset <= t.End.Offset {
				return b
			}
		}
	}
	return nil
}

// CheckName says why a word cannot be the NAME of a [commands.NAME].
func CheckName(word string) error {
	if tomltree.Key(word) != word || word == "" {
		return fmt.Errorf("%q cannot name a binding: use letters, digits, \"_\" and \"-\"", word)
	}
	return nil
}

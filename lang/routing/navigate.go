package routing

import (
	"bytes"
	"fmt"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/tomltree"
)

// What an editor asks of a matrix: where things are written, and what would change with a name.

// A Place is a text in a file of a matrix.
type Place struct {
	Source *diag.Source
	Span   diag.Span // without quotes
}

// Table is where b is written, from its header to the next.
func (b *Binding) Table() diag.Span {
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

// Key returns the place of the text of a string key, such as "noun"; ok is false if it is
// absent or written so that its text cannot be found.
func (b *Binding) Key(key string) (p Place, ok bool) {
	v := b.Syntax.Get(key)
	if v == nil || v.Kind != tomltree.String {
		return p, false
	}
	return b.unquoted(v)
}

func (b *Binding) unquoted(v *tomltree.Value) (p Place, ok bool) {
	span := newReader(b.Source, nil).Inside(v, 0, len(v.Text))
	text := b.Source.Text[span.Start.Offset:span.End.Offset]
	return Place{b.Source, span}, string(text) == v.Text
}

// A Member is a name in the list of a composite.
type Member struct {
	Name string
	Place
}

// MemberList returns the members of a composite as they are written.
func (b *Binding) MemberList() (list []Member) {
	v := b.Syntax.Get("composite")
	if v == nil || v.Kind != tomltree.Array {
		return nil
	}
	for _, item := range v.Items {
		if p, ok := b.unquoted(item); ok && item.Kind == tomltree.String {
			list = append(list, Member{item.Text, p})
		}
	}
	return list
}

// NameOf returns the place of the name in the header of b, [commands.NAME], without quotes.
func (b *Binding) NameOf() (p Place, ok bool) {
	text := string(b.Source.Text[b.Span.Start.Offset:b.Span.End.Offset])
	span := b.Span
	if n := len(text); n > 2 && (text[0] == '"' || text[0] == '\'') {
		span = b.Source.Span(span.Start.Offset+1, span.End.Offset-1)
	}
	got := b.Source.Text[span.Start.Offset:span.End.Offset]
	return Place{b.Source, span}, string(got) == b.Name
}

// BindingAt returns the binding whose table holds the offset of a file, or nil.
func (m *Matrix) BindingAt(src *diag.Source, offset int) *Binding {
	for _, b := range m.Bindings {
		if b.Source == src {
			if t := b.Table(); t.Start.Offset <= offset && offset <= t.End.Offset {
				return b
			}
		}
	}
	return nil
}

// CheckVerb and CheckNoun say why a word cannot be a verb or a noun.
func CheckVerb(word string) error { return checkWord(word, aVerb) }

// CheckNoun is said at [CheckVerb].
func CheckNoun(word string) error { return checkWord(word, aNoun) }

func checkWord(word, what string) error {
	var list diag.List
	r := newReader(diag.NewSource("", []byte(word)), &list)
	if r.word(word, diag.Span{}, what); len(list) > 0 {
		return fmt.Errorf("%s: %s", list[0].Message, list[0].Hint)
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

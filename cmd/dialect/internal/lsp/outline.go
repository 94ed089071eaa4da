package lsp

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/lsp/protocol"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/edit"
)

// Kinds of symbol.
const (
	symbolNamespace = 3
	symbolMethod    = 6
	symbolFunction  = 12
)

// A section is what a gate decides about: the lines up to it, and what remains behind the last.
type section struct {
	first, last int // lines, 1-based
	title       string
	gate        bool
	commands    []*lang.Command
}

// sections cuts a script at its gates.
func (d *document) sections() (list []section) {
	s := section{}
	flush := func() {
		if len(s.commands) > 0 {
			list = append(list, s)
		}
		s = section{}
	}
	lang.Scan(d.src, 1, d.src.Lines(), func(c *lang.Command, _ diag.List) {
		if c == nil {
			return
		}
		n := c.Span.Start.Line
		if len(s.commands) == 0 {
			s.first, s.title = n, ""
			for n > 1 { // the comment right above is its title
				above := bytes.TrimSpace(d.src.Line(n - 1))
				if !bytes.HasPrefix(above, []byte("#")) {
					break
				}
				n--
				s.first, s.title = n, strings.TrimSpace(strings.TrimLeft(string(above), "#"))
			}
		}
		s.last = c.Span.Start.Line
		s.commands = append(s.commands, c)
		if d.isGate(c) {
			s.gate = true
			flush()
		}
	})
	flush()
	return list
}

// isGate reports whether a line is bound to the gate.
func (d *document) isGate(c *lang.Command) bool {
	if c.Bad || d.project == nil {
		return false
	}
	b := d.project.m.Lookup(c.Verb.Text, c.Noun.Text)
	return b != nil && b.Kind == plan.Builtin && b.Target == plan.GateResults
}

// lineRange is the range of whole lines.
func (d *document) lineRange(first, last int) protocol.TextRange {
	end := d.src.LineStart(last) + len(d.src.Line(last))
	return d.rangeOf(d.src.LineStart(first), end)
}

// symbols is the outline: sections with their lines, or the bindings of a matrix.
func (s *server) symbols(_ context.Context, p *protocol.DocumentParams) (any, error) {
	d := s.docs[p.TextDocument.URI]
	if d == nil || d.project == nil {
		return []protocol.DocumentSymbol{}, nil
	}
	list := []protocol.DocumentSymbol{}
	if d.matrix {
		for _, b := range d.project.m.Bindings {
			if d.project.files[b.Source.Name] != d.path {
				continue
			}
			sym := protocol.DocumentSymbol{
				Name: b.Name, Detail: b.Usage(), Kind: symbolMethod,
				Range: d.spanRange(edit.Table(b)), SelectionRange: d.spanRange(b.Span), Tags: tags(b),
			}
			list = append(list, sym)
		}
		return s.symbolForm(d, list), nil
	}
	sections := d.sections()
	for i, sec := range sections {
		var lines []protocol.DocumentSymbol
		for _, c := range sec.commands {
			sym := protocol.DocumentSymbol{Name: diag.ClipBytes(c.Text, 200), Kind: symbolFunction, Range: d.spanRange(c.Span), SelectionRange: d.spanRange(c.Span)}
			if b := d.project.m.Lookup(c.Verb.Text, c.Noun.Text); b != nil && !c.Bad {
				sym.Detail, sym.Tags = detail(b), tags(b)
			}
			lines = append(lines, sym)
		}
		if len(sections) == 1 && !sec.gate {
			list = append(list, lines...)
			continue
		}
		title := sec.title
		if title == "" && sec.gate {
			title = fmt.Sprintf("gate %d", i+1)
		} else if title == "" {
			title = "after the last gate"
		}
		list = append(list, protocol.DocumentSymbol{
			Name: title, Kind: symbolNamespace, Children: lines,
			Range: d.lineRange(sec.first, sec.last), SelectionRange: d.lineRange(sec.first, sec.first),
		})
	}
	return s.symbolForm(d, list), nil
}

func detail(b *routing.Binding) string {
	if b.Kind == plan.Composite {
		return fmt.Sprintf("%d members", len(b.Members))
	}
	return b.Tool()
}

// tags say of an item or a symbol that its binding is deprecated.
func tags(b *routing.Binding) []int {
	if b.Deprecated {
		return []int{1}
	}
	return nil
}

// symbolForm flattens an outline for clients that know no other.
func (s *server) symbolForm(d *document, list []protocol.DocumentSymbol) any {
	if s.client.Capabilities.TextDocument.DocumentSymbol.Hierarchical {
		return list
	}
	flat := []protocol.SymbolInformation{}
	for _, sym := range list {
		flat = append(flat, protocol.SymbolInformation{Name: sym.Name, Kind: sym.Kind, Location: protocol.Place(d.uri, sym.Range)})
		for _, c := range sym.Children {
			flat = append(flat, protocol.SymbolInformation{Name: c.Name, Kind: c.Kind, Location: protocol.Place(d.uri, c.Range)})
		}
	}
	return flat
}

// folding folds sections up to their gates, runs of comments, and the tables of a matrix.
func (s *server) folding(_ context.Context, p *protocol.DocumentParams) ([]protocol.FoldingRange, error) {
	out := []protocol.FoldingRange{}
	d := s.docs[p.TextDocument.URI]
	if d == nil {
		return out, nil
	}
	add := func(first, last int, kind string) {
		if last > first {
			out = append(out, protocol.FoldingRange{StartLine: d.position(d.src.LineStart(first)).Line, EndLine: d.position(d.src.LineStart(last)).Line, Kind: kind})
		}
	}
	comments := 0
	for n := 1; n <= d.src.Lines()+1; n++ {
		if bytes.HasPrefix(bytes.TrimSpace(d.src.Line(n)), []byte("#")) {
			comments++
			continue
		}
		add(n-comments, n-1, "comment")
		comments = 0
	}
	switch {
	case d.matrix && d.project != nil:
		for _, b := range d.project.m.Bindings {
			if d.project.files[b.Source.Name] == d.path {
				t := edit.Table(b)
				add(t.Start.Line, t.End.Line, "region")
			}
		}
	case !d.matrix:
		for _, sec := range d.sections() {
			if sec.gate {
				add(sec.first, sec.last, "region")
			}
		}
	}
	return out, nil
}

// tokenTypes is the legend of semantic tokens; the constants are its places.
var tokenTypes = []string{"function", "keyword", "class", "string", "property", "variable", "comment"}

const (
	verbToken uint32 = iota
	prepToken
	nounToken
	valueToken
	nameToken
	variableToken
	commentToken
)

func (s *server) tokensFull(_ context.Context, p *protocol.DocumentParams) (*protocol.SemanticTokens, error) {
	return s.tokens(p.TextDocument.URI, nil), nil
}

func (s *server) tokensRange(_ context.Context, p *protocol.RangeParams) (*protocol.SemanticTokens, error) {
	return s.tokens(p.TextDocument.URI, &p.Range), nil
}

func (s *server) tokens(uri string, within *protocol.TextRange) *protocol.SemanticTokens {
	t := &tokenWriter{d: s.docs[uri]}
	t.out.Data = []uint32{}
	if t.d == nil || t.d.matrix {
		return &t.out
	}
	first, last := 1, t.d.src.Lines()
	if within != nil {
		first = t.d.src.Pos(t.d.offset(within.Start)).Line
		last = t.d.src.Pos(t.d.offset(within.End)).Line
	}
	next := first
	comments := func(to int) { // lines that hold a comment alone
		for ; next < to; next++ {
			if start, end, ok := lang.Comment(t.d.src, next, nil); ok {
				t.add(start, end, commentToken)
			}
		}
	}
	lang.Scan(t.d.src, first, last, func(c *lang.Command, _ diag.List) {
		if c == nil || !c.Span.IsValid() {
			return
		}
		comments(c.Span.Start.Line)
		next++
		t.command(c)
		if start, end, ok := lang.Comment(t.d.src, c.Span.Start.Line, c); ok && !c.Bad {
			t.add(start, end, commentToken)
		}
	})
	comments(last + 1)
	return &t.out
}

// A tokenWriter encodes tokens, which come in order, relative to the one before.
type tokenWriter struct {
	d    *document
	out  protocol.SemanticTokens
	last protocol.Position
}

func (t *tokenWriter) add(start, end int, kind uint32) {
	if end <= start {
		return
	}
	a, b := t.d.position(start), t.d.position(end)
	if a.Line != b.Line {
		return
	}
	column := a.Character
	if a.Line == t.last.Line {
		column -= t.last.Character
	}
	t.out.Data = append(t.out.Data, uint32(a.Line-t.last.Line), uint32(column), uint32(b.Character-a.Character), kind, 0)
	t.last = a
}

func (t *tokenWriter) command(c *lang.Command) {
	word := func(w lang.Word, kind uint32) {
		if w.Text != "" {
			t.add(w.Span.Start.Offset, w.Span.End.Offset, kind)
		}
	}
	word(c.Verb, verbToken)
	if c.Object != nil {
		t.value(c.Object)
	}
	word(c.Prep, prepToken)
	word(c.Noun, nounToken)
	for i := range c.Arguments {
		word(c.Arguments[i].Name, nameToken)
		t.value(&c.Arguments[i].Value)
	}
}

// value writes a value, with the variables in it.
func (t *tokenWriter) value(v *lang.Value) {
	start, end := v.Span.Start.Offset, v.Span.End.Offset
	text := t.d.src.Text
	for i := start; i < end; i++ {
		if text[i] != '{' {
			continue
		}
		if i+1 < end && text[i+1] == '{' {
			i++
			continue
		}
		j := bytes.IndexByte(text[i:end], '}')
		if j < 0 {
			break
		}
		t.add(start, i, valueToken)
		t.add(i, i+j+1, variableToken)
		start = i + j + 1
		i += j
	}
	t.add(start, end, valueToken)
}

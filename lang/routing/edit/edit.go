// Package edit says where things are written in a routing matrix, and what an editor changes there.
//
// In come a matrix and what is to be found or changed, out come places and edits. It reads and writes
// no file.
package edit

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/tomltree"
)

// Append returns the edit that adds text, which ends in a line end, to the file of m behind an
// empty line; ok is false if m was read from no file.
func Append(m *routing.Matrix, text string) (edit diag.Edit, ok bool) {
	src := root(m)
	if src == nil {
		return edit, false
	}
	end := src.Span(len(src.Text), len(src.Text))
	switch {
	case len(src.Text) == 0:
	case !bytes.HasSuffix(src.Text, []byte("\n")):
		text = "\n\n" + text
	default:
		// An empty line of its own would begin after the last line end.
		text = "\n" + text
	}
	return diag.Edit{File: src.Name, Span: end, New: text}, true
}

// root is the file that m was loaded from; nil if it could not be read.
func root(m *routing.Matrix) *diag.Source { return m.Source(m.Name) }

// AddAlias returns the edit that gives b, or the matrix where b is a pack's, the further noun
// alias; ok is false where that is not possible without rewriting more of the file.
func AddAlias(m *routing.Matrix, b *routing.Binding, alias string) (edit diag.Edit, ok bool) {
	if b.Pack {
		if src := root(m); src == nil || bytes.Contains(src.Text, []byte("aliases")) {
			return edit, false
		}
		return Append(m, fmt.Sprintf("[aliases.nouns]\n%s = %q\n", tomltree.Key(alias), b.Noun))
	}
	src := b.Source
	if v := b.Syntax.Get("aliases"); v != nil {
		if v.Start >= len(src.Text) || src.Text[v.Start] != '[' {
			return edit, false
		}
		text := fmt.Sprintf("%q, ", alias)
		if len(v.Items) == 0 {
			text = fmt.Sprintf("%q", alias)
		}
		return diag.Edit{File: src.Name, Span: src.Span(v.Start+1, v.Start+1), New: text}, true
	}
	noun := b.Syntax.Get("noun")
	if noun == nil {
		return edit, false
	}
	line := src.Span(noun.End, noun.End).Start.Line
	text := src.Line(line)
	before, after := text[:noun.End-src.LineStart(line)], strings.TrimSpace(string(text[noun.End-src.LineStart(line):]))
	if !bytes.HasPrefix(bytes.TrimSpace(before), []byte("noun")) || after != "" && !strings.HasPrefix(after, "#") {
		return edit, false // an inline table, or dotted keys
	}
	end := src.LineStart(line) + len(text)
	return diag.Edit{File: src.Name, Span: src.Span(end, end), New: fmt.Sprintf("\naliases = [%q]", alias)}, true
}

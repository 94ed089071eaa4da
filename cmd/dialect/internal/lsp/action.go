package lsp

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/lsp/protocol"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
)

// Kinds of code action.
const (
	kindQuickFix = "quickfix"
	kindFixAll   = "source.fixAll.dialect"
)

// codeActions offers the fixes of the findings in a range, silence for its warnings, and all
// certain fixes of the file at once.
func (s *server) codeActions(_ context.Context, p *protocol.CodeActionParams) ([]protocol.CodeAction, error) {
	out := []protocol.CodeAction{}
	d := s.docs[p.TextDocument.URI]
	if d == nil {
		return out, nil
	}
	wants := func(kind string) bool {
		return len(p.Context.Only) == 0 || slices.ContainsFunc(p.Context.Only, func(k string) bool {
			return kind == k || strings.HasPrefix(kind, k+".")
		})
	}
	start, end := d.offset(p.Range.Start), d.offset(p.Range.End)
	if wants(kindQuickFix) {
		for _, f := range s.found(d) {
			if f.Span.Start.Offset > end || f.Span.End.Offset < start {
				continue
			}
			out = append(out, s.quickFixes(d, f)...)
		}
	}
	if wants(kindFixAll) && !d.matrix {
		if text, n := lang.Fix(d.src); n > 0 {
			out = append(out, protocol.CodeAction{
				Title: "Make all fixes that keep the meaning", Kind: kindFixAll,
				Edit: protocol.WorkspaceEdit{Changes: map[string][]protocol.TextEdit{d.uri: d.replace(text)}},
			})
		}
	}
	return out, nil
}

func (s *server) quickFixes(d *document, f diag.Diagnostic) (out []protocol.CodeAction) {
	f = f.HideKeys()
	about := []protocol.Diagnostic{s.diagnostic(d, f)}
	for i, fix := range f.Fixes {
		changes := make(map[string][]protocol.TextEdit)
		for _, e := range fix.Edits {
			if s.uriOf(d, e.File) == "" {
				changes = nil
				break
			}
			at := s.fileOf(d, e.File)
			changes[at.uri] = append(changes[at.uri], protocol.TextEdit{Range: at.spanRange(e.Span), NewText: e.New})
		}
		if changes == nil {
			continue
		}
		out = append(out, protocol.CodeAction{
			Title: capital(fix.Message), Kind: kindQuickFix, Diagnostics: about,
			IsPreferred: i == 0 && fix.Applicability != diag.HasPlaceholders,
			Edit:        protocol.WorkspaceEdit{Changes: changes},
		})
	}
	if f.Severity == diag.Warning && f.Span.IsValid() && f.Code != diag.TooManyFindings {
		out = append(out, protocol.CodeAction{
			Title: "Silence " + string(f.Code) + " on this line", Kind: kindQuickFix, Diagnostics: about,
			Edit: protocol.WorkspaceEdit{Changes: map[string][]protocol.TextEdit{d.uri: {d.silence(f)}}},
		})
	}
	return out
}

// silence is the edit that adds the comment which silences a warning.
func (d *document) silence(f diag.Diagnostic) protocol.TextEdit {
	n := f.Span.Start.Line
	line := d.src.Line(n)
	end := d.src.LineStart(n) + len(bytes.TrimRight(line, " \t"))
	text := "  # dialect: ignore " + string(f.Code)
	if bytes.Contains(line, []byte("# dialect: ignore ")) {
		text = ", " + string(f.Code)
	}
	return protocol.TextEdit{Range: d.rangeOf(end, d.src.LineStart(n)+len(line)), NewText: text}
}

// formatting writes a script in its canonical form.
func (s *server) formatting(_ context.Context, p *protocol.DocumentParams) ([]protocol.TextEdit, error) {
	d := s.docs[p.TextDocument.URI]
	if d == nil || d.matrix {
		return []protocol.TextEdit{}, nil
	}
	text, _ := lang.Format(d.src)
	return d.replace(text), nil
}

// replace returns the edit that makes text of d: one for the lines from the first to the last
// that differ, so that cursors and folds elsewhere stay where they are.
func (d *document) replace(text []byte) []protocol.TextEdit {
	old := d.src.Text
	start, end := 0, 0
	for start < len(old) && start < len(text) && old[start] == text[start] {
		start++
	}
	if start == len(old) && start == len(text) {
		return []protocol.TextEdit{}
	}
	for end < len(old)-start && end < len(text)-start && old[len(old)-1-end] == text[len(text)-1-end] {
		end++
	}
	// Whole lines: a rune, or CR LF, must not be cut.
	start = bytes.LastIndexByte(old[:start], '\n') + 1
	if i := bytes.IndexByte(old[len(old)-end:], '\n'); i >= 0 {
		end -= i + 1
	} else {
		end = 0
	}
	return []protocol.TextEdit{{Range: d.rangeOf(start, len(old)-end), NewText: string(text[start : len(text)-end])}}
}

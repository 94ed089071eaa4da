// Package diag holds what the language stages say about a source: positions,
// spans and diagnostics, as plain data. A diagnostic is made by a stage (lang,
// lang/routing, lang/resolve) and rendered by somebody else; nothing here
// prints on its own, and nothing here knows a stage.
package diag

import (
	"cmp"
	"slices"
	"strings"
)

// A Pos is a place in a source. The zero Pos means "no position".
type Pos struct {
	Offset int // bytes from the start of the file, 0-based
	Line   int // 1-based
	Column int // 1-based, in Unicode code points; see [Source.UTF16Column] for editors
}

// IsValid reports whether p is a real place.
func (p Pos) IsValid() bool { return p.Line > 0 }

// A Span is the half-open range from Start to End. Spans of this package never
// cross a line, except those that the TOML reader makes of a multi-line value.
type Span struct {
	Start, End Pos
}

// IsValid reports whether s has a real start.
func (s Span) IsValid() bool { return s.Start.IsValid() }

// A Severity says what a diagnostic does to the run.
type Severity uint8

const (
	// Error stops the run: nothing of the script is executed.
	Error Severity = iota
	// Warning is shown and does not stop the run.
	Warning
	// Note carries information only.
	Note
)

// String returns the word that the renderers print: "error", "warning", "note".
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	default:
		return "note"
	}
}

// A Related points at another place that explains a diagnostic, such as the
// binding that a name refers to.
type Related struct {
	File    string
	Span    Span
	Message string
}

// A Diagnostic is one finding.
//
// Message says what is wrong, in lower case and without a full stop. Hint says
// what to do about it; it may hold several lines, and is empty where there is
// nothing better to say than Message.
type Diagnostic struct {
	Code     Code
	Severity Severity
	File     string // as the user named it; "-" for standard input
	Span     Span   // may be invalid: the finding is about the file as a whole
	Message  string
	Hint     string
	Related  []Related
	Fixes    []Fix // alternatives, the likeliest first
}

// A List is the findings of one or more stages.
type List []Diagnostic

// Sort puts the list in source order: file by file in the order of their first
// finding, then by offset; errors come before warnings of the same place. The
// sort is stable.
func (l List) Sort() {
	order := make(map[string]int)
	for _, d := range l {
		if _, ok := order[d.File]; !ok {
			order[d.File] = len(order)
		}
	}
	slices.SortStableFunc(l, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(order[a.File], order[b.File]),
			cmp.Compare(a.Span.Start.Offset, b.Span.Start.Offset),
			cmp.Compare(a.Severity, b.Severity),
		)
	})
}

// Count returns the number of findings of severity s.
func (l List) Count(s Severity) int {
	n := 0
	for _, d := range l {
		if d.Severity == s {
			n++
		}
	}
	return n
}

// Err returns nil if the list has no error, else an [*ListError] that holds the
// whole list.
func (l List) Err() error {
	if l.Count(Error) == 0 {
		return nil
	}
	return &ListError{List: l}
}

// A ListError is a list that holds at least one error.
type ListError struct{ List List }

// Error returns the messages of the errors, one a line.
func (e *ListError) Error() string {
	var b strings.Builder
	for _, d := range e.List {
		if d.Severity != Error {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(d.String())
	}
	return b.String()
}

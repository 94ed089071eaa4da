package lang

import (
	"bytes"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
)

// ignoreMark is what a comment begins with that silences warnings of its line:
//
//   - Test with pytest  # dialect: ignore list-marker, full-stop
const ignoreMark = "# dialect: ignore "

// Ignore returns l without the warnings that a comment on their line silences. It serves
// scripts and matrices alike. Errors are never silenced: what cannot run cannot run.
func Ignore(l diag.List, sources map[string]*diag.Source) diag.List {
	type place struct {
		src  *diag.Source
		line int
	}
	codes := make(map[place][]string) // a line may be long, and have many warnings
	return slices.DeleteFunc(slices.Clone(l), func(d diag.Diagnostic) bool {
		src := sources[d.File]
		if d.Severity == diag.Error || src == nil || !d.Span.IsValid() {
			return false
		}
		at := place{src, d.Span.Start.Line}
		list, ok := codes[at]
		if !ok {
			list = ignored(src.Line(at.line))
			codes[at] = list
		}
		return slices.Contains(list, string(d.Code))
	})
}

// ignored returns the codes that a line silences.
func ignored(line []byte) []string {
	_, list, ok := bytes.Cut(line, []byte(ignoreMark))
	if !ok {
		return nil
	}
	return strings.FieldsFunc(string(list), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
}

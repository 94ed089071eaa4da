package lang

import (
	"bytes"
	"slices"

	"github.com/command-dialect/dialect/lang/diag"
)

// fixRounds bounds how often a text is gone over: a fix may uncover another, as does the full
// stop in "Test with `go`.", but who nests a thousand of them may run the command again.
const fixRounds = 8

// Fix returns the text of a script with the fixes made that are certain to keep its meaning,
// and their number. Warnings that a comment silences are left alone.
func Fix(src *diag.Source) (text []byte, fixed int) {
	for range fixRounds {
		next, n := fixOnce(src)
		if n == 0 {
			break
		}
		fixed += n
		src = diag.NewSource(src.Name, next)
	}
	return src.Text, fixed
}

// fixOnce writes the text line by line, so that a large one takes no list of all its edits.
func fixOnce(src *diag.Source) ([]byte, int) {
	var out bytes.Buffer
	at, fixed := 0, 0 // what is written reaches up to at
	Scan(src, 1, src.Lines(), func(_ *Command, found diag.List) {
		var silent []string
		for _, d := range found {
			i := slices.IndexFunc(d.Fixes, func(f diag.Fix) bool { return f.Applicability == diag.Certain })
			if i < 0 {
				continue
			}
			if silent == nil {
				silent = append(ignored(src.Line(d.Span.Start.Line)), "")
			}
			edits := d.Fixes[i].Edits
			if slices.Contains(silent, string(d.Code)) || edits[0].Span.Start.Offset < at {
				continue
			}
			fixed++
			for _, e := range edits {
				out.Write(src.Text[at:e.Span.Start.Offset])
				out.WriteString(e.New)
				at = e.Span.End.Offset
			}
		}
	})
	if fixed == 0 {
		return src.Text, 0
	}
	out.Write(src.Text[at:])
	return out.Bytes(), fixed
}

package lsp

import (
	"bytes"
	"cmp"
	"os"
	"slices"
	"sort"

	"github.com/command-dialect/dialect/cmd/dialect/internal/lsp/protocol"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/resolve"
)

// A document is an open script or matrix.
//
// Of a script the findings are kept line by line as it were: an edit drops those of the lines
// that it touched, moves those behind, and looks at the new lines alone, since the findings of
// a line depend on the line and the matrix only. The findings of the script as a whole, that
// it is empty or ends its lines in CR LF, is found anew each time; that is cheap.
type document struct {
	uri       string
	path      string // absolute; empty if it is not a file
	name      string // as diagnostics name it
	matrix    bool   // it is a TOML file
	version   int
	src       *diag.Source
	starts    []int        // of lines as the protocol counts them: also behind a lone CR
	columns   diag.Columns // of the line that position was asked about last: edits of a fix are on one
	columnsOf int          // where it begins
	counted   bool
	project   *project // that binds it; nil if there is no matrix

	list     diag.List // of single lines, in order
	cut      bool      // there are more than list has: every edit looks at all lines
	commands int
	revision int // changes with every change of the findings
}

// setText gives d a new text.
func (d *document) setText(text []byte) {
	d.src = diag.NewSource(d.name, text)
	d.counted = false
	d.starts = append(make([]int, 0, d.src.Lines()+1), 0)
	for i, c := range text {
		if c == '\n' || c == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			d.starts = append(d.starts, i+1)
		}
	}
}

// line returns where a line (0-based) begins and ends, its line end included.
func (d *document) line(n int) (start, end int) {
	if n+1 < len(d.starts) {
		return d.starts[n], d.starts[n+1]
	}
	return d.starts[n], len(d.src.Text)
}

// offset returns the offset of a position, clamped to the text.
func (d *document) offset(p protocol.Position) int {
	switch {
	case p.Line < 0:
		return 0
	case p.Line >= len(d.starts):
		return len(d.src.Text)
	}
	start, end := d.line(p.Line)
	line := bytes.TrimRight(d.src.Text[start:end], "\r\n")
	return start + diag.NewSource("", line).OffsetUTF16(0, p.Character)
}

// position is the inverse of offset.
func (d *document) position(offset int) protocol.Position {
	offset = max(0, min(offset, len(d.src.Text)))
	line := sort.Search(len(d.starts), func(i int) bool { return d.starts[i] > offset }) - 1
	start, end := d.line(line)
	if !d.counted || d.columnsOf != start {
		d.columns.Reset(d.src.Text[start:end])
		d.counted, d.columnsOf = true, start
	}
	return protocol.Pos(line, d.columns.UTF16(offset-start))
}

func (d *document) rangeOf(start, end int) protocol.TextRange {
	return protocol.Between(d.position(start), d.position(max(start, end)))
}

func (d *document) spanRange(s diag.Span) protocol.TextRange {
	if !s.IsValid() {
		return protocol.TextRange{}
	}
	return d.rangeOf(s.Start.Offset, s.End.Offset)
}

// change makes one change of the client and says anew what there is to say of the lines that it
// touches.
func (d *document) change(c protocol.ContentChange) {
	d.revision++
	if c.Range == nil {
		d.setText([]byte(c.Text))
		d.checkAll()
		return
	}
	old := d.src
	start, end := d.offset(c.Range.Start), d.offset(c.Range.End)
	end = max(start, end)
	text := make([]byte, 0, len(old.Text)-(end-start)+len(c.Text))
	text = append(append(append(text, old.Text[:start]...), c.Text...), old.Text[end:]...)
	d.setText(text)
	if d.matrix {
		return
	}
	first, last := old.Pos(start).Line, old.Pos(end).Line
	newLast := d.src.Pos(start + len(c.Text)).Line
	if d.cut || len(old.Text) > maxScript || len(text) > maxScript {
		d.checkAll()
		return
	}
	_, gone := d.check(old, first, last)
	found, come := d.check(d.src, first, newLast)
	d.commands += come - gone
	from := sort.Search(len(d.list), func(i int) bool { return d.list[i].Span.Start.Line >= first })
	to := sort.Search(len(d.list), func(i int) bool { return d.list[i].Span.Start.Line > last })
	for i := to; i < len(d.list); i++ {
		move(&d.list[i], len(text)-len(old.Text), newLast-last)
	}
	d.list = slices.Replace(d.list, from, to, found...)
	if len(d.list) > diag.MaxFindings {
		d.checkAll()
	}
}

// maxScript is the size, in bytes, beyond which lang reads nothing of a script.
const maxScript = 64 << 20

// move moves the findings of a line, with all that points into the same file.
func move(d *diag.Diagnostic, bytes, lines int) {
	shift := func(s *diag.Span) {
		s.Start.Offset += bytes
		s.Start.Line += lines
		s.End.Offset += bytes
		s.End.Line += lines
	}
	shift(&d.Span)
	if len(d.Related) > 0 {
		d.Related = slices.Clone(d.Related)
		for i := range d.Related {
			if d.Related[i].File == d.File && d.Related[i].Span.IsValid() {
				shift(&d.Related[i].Span)
			}
		}
	}
	for i := range d.Fixes { // they belong to this finding alone
		for j := range d.Fixes[i].Edits {
			if e := &d.Fixes[i].Edits[j]; e.File == d.File {
				shift(&e.Span)
			}
		}
	}
}

// checkAll says everything anew.
func (d *document) checkAll() {
	d.revision++
	if d.matrix {
		return
	}
	d.list, d.commands = d.check(d.src, 1, d.src.Lines())
	d.cut = slices.ContainsFunc(d.list, func(f diag.Diagnostic) bool { return f.Code == diag.TooManyFindings || f.Code == diag.FileTooLarge })
}

// check returns the findings of single lines, and how many of them hold a command.
func (d *document) check(src *diag.Source, first, last int) (list diag.List, commands int) {
	if d.project == nil || d.project.broken {
		// Nothing can be bound: to say so line by line would bury the fault that matters.
		var all diag.Collector
		lang.Scan(src, first, last, func(c *lang.Command, found diag.List) {
			all.Add(found...)
			if c != nil {
				commands++
			}
		})
		list = all.List()
	} else {
		list, commands = resolve.CheckLines(src, first, last, d.project.m, resolve.Options{Vars: d.project.vars, Env: os.LookupEnv})
	}
	list = slices.DeleteFunc(list, func(f diag.Diagnostic) bool { return f.Code == diag.CRLF })
	slices.SortStableFunc(list, func(a, b diag.Diagnostic) int { return cmp.Compare(a.Span.Start.Line, b.Span.Start.Line) })
	return list, commands
}

// findings returns all findings of a script.
func (d *document) findings() diag.List {
	list := slices.Clone(d.list)
	at := bytes.Index(d.src.Text, []byte("\r\n"))
	if at < 0 && bytes.HasSuffix(d.src.Text, []byte("\r")) {
		at = len(d.src.Text) - 1
	}
	if at >= 0 && !d.cut {
		n := d.src.Pos(at).Line
		lang.Scan(d.src, n, n, func(_ *lang.Command, found diag.List) {
			for _, f := range found {
				if f.Code == diag.CRLF {
					list = append(list, f)
				}
			}
		})
	}
	if d.commands == 0 && !d.cut && d.project != nil && !d.project.broken {
		empty, _ := resolve.Check(diag.NewSource(d.name, nil), d.project.m, resolve.Options{})
		list = append(list, empty...)
	}
	switch p := d.project; {
	case p == nil:
		list = append(list, diag.Errorf(diag.MatrixMissing, d.name, diag.Span{}, "there is no routing.toml in this folder or above it").
			WithHint("`dialect init` makes one; until then nothing can be bound"))
	case p.broken:
		f := diag.Errorf(diag.MatrixSyntax, d.name, diag.Span{}, "%s cannot be read, and nothing can be bound", p.m.Name)
		for _, l := range p.list {
			if l.Severity == diag.Error {
				f.Related = append(f.Related, diag.Related{File: l.File, Span: l.Span, Message: l.Message})
			}
		}
		list = append(list, f)
	}
	list = lang.Ignore(list, map[string]*diag.Source{d.name: d.src})
	list.Sort()
	return list
}

// commandAt returns the command on a line of src (1-based), nil if it holds none.
func commandAt(src *diag.Source, line int) (c *lang.Command) {
	lang.Scan(src, line, line, func(got *lang.Command, _ diag.List) { c = got })
	return c
}

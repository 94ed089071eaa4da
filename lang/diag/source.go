package diag

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"sync"
	"unicode/utf8"
)

// A Source is a named text with an index of its lines. It is immutable, and
// safe for concurrent use.
type Source struct {
	Name string // as the user named it; "-" for standard input
	Text []byte

	starts []int // offset of the first byte of each line

	mu   sync.Mutex
	long map[int]*Columns // of lines in which columns far from their beginning were asked for
}

// near is how many bytes from the beginning of its line a column is counted anew each time.
const near = 1 << 10

// columns returns the columns of line n (1-based), with its end.
func (s *Source) columns(n int) *Columns {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.long[n]
	if c == nil {
		end := len(s.Text)
		if n < len(s.starts) {
			end = s.starts[n]
		}
		c = new(Columns)
		c.Reset(s.Text[s.starts[n-1]:end])
		c.count() // now: it does not change any more
		if s.long == nil {
			s.long = make(map[int]*Columns)
		}
		s.long[n] = c
	}
	return c
}

// NewSource indexes text, which it keeps and which must not change any more.
// Lines end at "\n"; a final "\n" starts no further line.
func NewSource(name string, text []byte) *Source {
	starts := make([]int, 1, 1+bytes.Count(text, []byte{'\n'}))
	for i := 0; ; {
		j := bytes.IndexByte(text[i:], '\n')
		if j < 0 || i+j+1 == len(text) {
			break
		}
		i += j + 1
		starts = append(starts, i)
	}
	return &Source{Name: name, Text: text, starts: starts}
}

// Lines returns the number of lines; an empty source has one, empty, line.
func (s *Source) Lines() int { return len(s.starts) }

// LineStart returns the offset of the first byte of line n (1-based).
func (s *Source) LineStart(n int) int { return s.starts[n-1] }

// Line returns the bytes of line n (1-based) without its line end ("\n" or
// "\r\n"), or nil if there is no such line.
func (s *Source) Line(n int) []byte {
	if n < 1 || n > len(s.starts) {
		return nil
	}
	end := len(s.Text)
	if n < len(s.starts) {
		end = s.starts[n]
	}
	line := s.Text[s.starts[n-1]:end]
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'})
}

// Pos returns the position of the byte at offset, which is clamped to the text.
func (s *Source) Pos(offset int) Pos {
	offset = max(0, min(offset, len(s.Text)))
	p := Pos{Offset: offset, Line: s.LineAt(offset)}
	if start := s.starts[p.Line-1]; offset-start <= near {
		p.Column = utf8.RuneCount(s.Text[start:offset]) + 1
	} else {
		p.Column = s.columns(p.Line).Column(offset - start)
	}
	return p
}

// LineAt returns the number (1-based) of the line that has the byte at offset.
func (s *Source) LineAt(offset int) int {
	return max(1, sort.Search(len(s.starts), func(i int) bool { return s.starts[i] > offset }))
}

// Span returns the span of the bytes from start to end.
func (s *Source) Span(start, end int) Span {
	return Span{Start: s.Pos(start), End: s.Pos(end)}
}

// UTF16Column returns the 0-based column of p in UTF-16 code units, as the
// Language Server Protocol counts. A byte that is not UTF-8 counts as one unit.
func (s *Source) UTF16Column(p Pos) int {
	if p.Line < 1 || p.Line > len(s.starts) {
		return 0
	}
	start := s.starts[p.Line-1]
	line := s.Text[start:max(start, min(p.Offset, len(s.Text)))]
	if len(line) > near {
		return s.columns(p.Line).UTF16(len(line))
	}
	return utf16Units(line)
}

// OffsetUTF16 is the inverse of [Source.UTF16Column]: the offset of a 0-based line and column in
// UTF-16 code units, clamped to the line and to the text.
func (s *Source) OffsetUTF16(line, column int) int {
	switch {
	case line < 0:
		return 0
	case line >= len(s.starts):
		return len(s.Text)
	}
	at := s.starts[line]
	text := s.Line(line + 1)
	for i := 0; i < len(text); {
		if column <= 0 {
			return at + i
		}
		r, size := utf8.DecodeRune(text[i:])
		column--
		if r >= 0x10000 {
			column--
		}
		i += size
	}
	return at + len(text)
}

// String returns d on one line: "file:line:column: severity: message [code]".
func (d Diagnostic) String() string {
	return d.Place() + ": " + d.Severity.String() + ": " + d.Message + " [" + string(d.Code) + "]"
}

// Place returns "file:line:column", or the file alone where d has no position.
func (d Diagnostic) Place() string {
	if !d.Span.IsValid() {
		return d.File
	}
	return d.File + ":" + strconv.Itoa(d.Span.Start.Line) + ":" + strconv.Itoa(d.Span.Start.Column)
}

// Errorf returns an error at span.
func Errorf(code Code, file string, span Span, format string, args ...any) Diagnostic {
	return Diagnostic{Code: code, Severity: Error, File: file, Span: span, Message: fmt.Sprintf(format, args...)}
}

// Warnf returns a warning at span.
func Warnf(code Code, file string, span Span, format string, args ...any) Diagnostic {
	return Diagnostic{Code: code, Severity: Warning, File: file, Span: span, Message: fmt.Sprintf(format, args...)}
}

// WithHint returns d with a hint.
func (d Diagnostic) WithHint(format string, args ...any) Diagnostic {
	d.Hint = fmt.Sprintf(format, args...)
	return d
}

package lang

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/command-dialect/dialect/lang/diag"
)

// Format returns a script in its canonical form, and what [Parse] says of it.
//
// A command is written "Verb [value] preposition noun [arguments]", with one space between
// words, the first letter of the verb large and the rest of verb, preposition and noun
// small. What models add to plain lines goes: list markers, code fences, backticks around
// words, a final full stop, CR, a byte order mark. Comments stay, and so do blank lines,
// those at the begin and at the end apart; values stay as they were written. A line that
// is not a command stays as it is, without the blanks at its end: nothing that is wrong is
// made to look right.
//
// The result parses to the same commands, and formatting it again changes nothing.
func Format(src *diag.Source) ([]byte, diag.List) {
	if len(src.Text) > maxFile {
		return src.Text, diag.List{tooLarge(src)}
	}
	p := newParser(src)
	var all diag.Collector
	var out bytes.Buffer
	blanks := 0
	for n := 1; n <= src.Lines(); n++ {
		line, keep := p.format(n)
		all.Add(p.list...)
		switch {
		case !keep:
			continue
		case len(line) == 0:
			blanks++
			continue
		case out.Len() > 0 || bytes.HasPrefix(line, []byte("\ufeff")): // which a file that begins with it does not count as text
			for range blanks {
				out.WriteByte('\n')
			}
		}
		blanks = 0
		out.Write(line)
		out.WriteByte('\n')
	}
	return out.Bytes(), all.List()
}

// format returns the canonical form of a line; keep is false for one that goes.
func (p *parser) format(n int) (line []byte, keep bool) {
	c := p.parseLine(n)
	text := p.src.Line(n)
	if n == 1 {
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
	}
	trimmed := bytes.TrimFunc(text, func(r rune) bool { return r < utf8.RuneSelf && (isBlank(byte(r)) || r == '\r') })
	switch {
	case c != nil && !c.Bad:
		return p.canonical(c, n), true
	case c != nil:
		line := p.src.Line(n)
		if rest, ok := bytes.CutPrefix(line, []byte("\ufeff")); ok && n == 1 && !bytes.HasPrefix(rest, []byte("\ufeff")) { // else it is the fault
			line = rest
		}
		short := bytes.TrimRight(line, " \t")
		switch {
		case !bytes.HasSuffix(short, []byte("\r")):
			return short, true
		case len(short) == len(line):
			return append(slices.Clip(line), '\r'), true // else the CR that is its fault would be one of a line end
		default:
			return line, true
		}
	case !slices.ContainsFunc(p.list, func(d diag.Diagnostic) bool { return d.Code != diag.CRLF && d.Code != diag.ByteOrder }):
		return trimmed, true // blank, or a comment
	}
	// A fence, or a marker or backticks with nothing but a comment behind them.
	if i := bytes.IndexByte(trimmed, '#'); i >= 0 && !bytes.HasPrefix(trimmed, []byte("```")) {
		return trimmed[i:], true
	}
	return nil, false
}

func (p *parser) canonical(c *Command, n int) []byte {
	b := []byte(c.canonical(p.raw))
	// What stands after the last value and is not a comment was left out by the parser.
	rest := p.src.Line(n)[c.Span.End.Offset-p.src.LineStart(n):]
	if i := commentStart(rest); i >= 0 {
		b = append(append(b, ' '), bytes.TrimRight(rest[i:], " \t\r")...)
	}
	return b
}

// raw is a value as it was written: quotes, escapes and variables stay.
func (p *parser) raw(v Value) string {
	if v.Quoted {
		return string(p.src.Text[v.Span.Start.Offset:v.Span.End.Offset])
	}
	return v.Text
}

// Comment returns the place of the comment of line n (1-based), whose command is c, nil if it
// has none; ok is false without one.
func Comment(src *diag.Source, n int, c *Command) (start, end int, ok bool) {
	line := src.Line(n)
	at := src.LineStart(n)
	from := len(line) - len(bytes.TrimLeft(bytes.TrimPrefix(line, []byte("\ufeff")), " \t"))
	if c != nil {
		from = min(max(c.Span.End.Offset-at, from), len(line))
	} else if from == len(line) || line[from] != '#' {
		return 0, 0, false
	}
	i := commentStart(line[from:])
	if i < 0 {
		return 0, 0, false
	}
	return at + from + i, at + len(line), true
}

// commentStart returns where the comment in the rest of a line begins, -1 without one.
func commentStart(rest []byte) int {
	for i, c := range rest {
		if c == '#' && (i == 0 || isBlank(rest[i-1])) {
			return i
		}
	}
	return -1
}

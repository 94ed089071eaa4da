package diag

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// TextOptions say how [WriteText] renders a list.
type TextOptions struct {
	Color   bool
	Sources func(name string) *Source // to show lines of; nil, or a nil result, shows none
	Max     int                       // print at most so many findings; 0 for all
	Size    int                       // print findings of at most so many bytes, the line that counts the rest included, but at least the beginning of one; 0 for all
	More    string                    // ends the line that counts the rest
}

// WriteText renders a list for people and models:
//
//	quality.dlct:3:11: error: the verb "test" has no noun "pytst" [unbound-noun]
//	  3 | Test with pytst
//	    |           ^^^^^
//	  hint: did you mean "pytest"?
//
// Control characters and marks that change the direction of text are shown as
// escapes, whatever their origin, so that no text of a script reaches a terminal.
func WriteText(w io.Writer, l List, o TextOptions) error {
	b := bufio.NewWriter(w)
	var one bytes.Buffer
	size := 0
	more := func(i int) string {
		rest := l[i:]
		return fmt.Sprintf("... and %d more errors, %d more warnings%s\n", rest.Count(Error), rest.Count(Warning), o.More)
	}
	for i, d := range l {
		one.Reset()
		d.write(&one, o)
		size += one.Len()
		room := o.Size
		if i+1 < len(l) && room > 0 {
			room -= len(more(i + 1))
		}
		if o.Max > 0 && i == o.Max || o.Size > 0 && i > 0 && size > room {
			b.WriteString(more(i))
			break
		}
		b.Write(bounded(one.Bytes(), room))
	}
	return b.Flush()
}

// bounded returns text, or, of one of more than n bytes, as much of its beginning; 0 bounds nothing.
func bounded(text []byte, n int) []byte {
	const end = "...\n"
	if n <= len(end) || len(text) <= n {
		return text
	}
	n -= len(end)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return append(bytes.TrimRight(text[:n:n], " \n"), end...)
}

func (d Diagnostic) write(b *bytes.Buffer, o TextOptions) {
	paint := func(sgr, text string) string {
		if !o.Color {
			return text
		}
		return "\x1b[" + sgr + "m" + text + "\x1b[0m"
	}
	sgr := map[Severity]string{Error: "1;31", Warning: "1;33", Note: "1;36"}[d.Severity]
	fmt.Fprintf(b, "%s: %s %s [%s]\n", escape(d.Place()), paint(sgr, d.Severity.String()+":"), escape(d.Message), d.Code)
	if o.Sources != nil && d.Span.IsValid() {
		if src := o.Sources(d.File); src != nil && src.Line(d.Span.Start.Line) != nil {
			excerpt(b, src, d.Span, func(s string) string { return paint(sgr, s) })
		}
	}
	for _, r := range d.Related {
		place := Diagnostic{File: r.File, Span: r.Span}.Place()
		fmt.Fprintf(b, "  note: %s: %s\n", escape(place), escape(r.Message))
	}
	if d.Hint != "" {
		for i, line := range strings.Split(strings.TrimRight(d.Hint, "\n"), "\n") {
			if i == 0 {
				fmt.Fprintf(b, "  %s %s\n", paint("36", "hint:"), escape(line))
			} else {
				fmt.Fprintf(b, "        %s\n", escape(line))
			}
		}
	}
}

// window is how many columns of a line are shown around a span.
const window = 100

// excerpt shows the line of a span with the span underlined.
func excerpt(b *bytes.Buffer, src *Source, span Span, paint func(string) string) {
	line := src.Line(span.Start.Line)
	at := src.LineStart(span.Start.Line)
	from := min(max(span.Start.Offset-at, 0), len(line))
	to := len(line)
	if span.End.Line == span.Start.Line {
		to = min(max(span.End.Offset-at, from), len(line))
	}
	// What is near is all that can be shown. A signing key that begins or ends outside of the window is hidden in it, too.
	if skip := from - window - MaxKey; skip > 0 {
		line, from, to = line[skip:], from-skip, to-skip
	}
	line = starKeys(line[:min(len(line), from+9*window)])
	to = min(to, len(line))
	left, before := 0, ""
	if from > window*2/3 {
		left = from - window/2
		for left > 0 && !utf8.RuneStart(line[left]) {
			left--
		}
		before = "..."
	}
	const most = window
	pre, after := show(line[left:from]), ""
	marked := ""
	if end := from + 4*most; to > end { // a part of the span bounds the work
		for end > from && !utf8.RuneStart(line[end]) {
			end--
		}
		marked, after = show(line[from:end]), "..."
	} else {
		marked = show(line[from:to])
	}
	cutMark := func(s string, n int) string {
		if n = max(n, 0); Width(s) <= n {
			return s
		}
		after = "..."
		w, i := 0, 0
		for i < len(s) {
			r, size := utf8.DecodeRuneInString(s[i:])
			if w += runeWidth(r); w > n {
				break
			}
			i += size
		}
		return s[:i]
	}
	// Room is what remains of the window; a slice of the rest bounds the work.
	marked = cutMark(marked, most-Width(pre))
	post := ""
	if after == "" {
		rest := line[to:]
		if len(rest) > 4*most {
			rest = rest[:4*most]
		}
		post = cutMark(show(rest), most-Width(pre)-Width(marked))
	}
	number := strconv.Itoa(span.Start.Line)
	fmt.Fprintf(b, "  %s | %s%s%s%s%s\n", number, before, pre, marked, post, after)
	fmt.Fprintf(b, "  %s | %s%s\n", strings.Repeat(" ", len(number)),
		strings.Repeat(" ", len(before)+Width(pre)), paint(strings.Repeat("^", max(1, Width(marked)))))
}

// show makes a part of a source fit to be shown on one line.
func show(line []byte) string { return escape(strings.ReplaceAll(string(line), "\t", " ")) }

// escape replaces what would act on a terminal instead of being seen, and hides signing keys.
func escape(s string) string {
	s = HideKeys(s)
	clean := true
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\t':
			b.WriteByte(' ')
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// hidden reports whether r is not seen where it stands: C1 controls, invisible
// characters, odd spaces, marks of direction, line separators.
func hidden(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0xa0, r == 0xad, r == 0x061c, r == 0x180e, r == 0x1680,
		r >= 0x2000 && r <= 0x200f, r >= 0x2028 && r <= 0x202f, r >= 0x205f && r <= 0x206f,
		r == 0x3000, r == 0xfeff, r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// Width is the number of columns that s takes on a terminal: 2 for wide East
// Asian characters and emoji, 0 for combining marks, else 1. The ranges are those
// that matter for scripts, not the whole of Unicode's East Asian Width.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case r <= 0x36f, r >= 0x483 && r <= 0x489, r >= 0x591 && r <= 0x5bd, r >= 0x610 && r <= 0x61a, r >= 0x64b && r <= 0x65f,
		r >= 0x1ab0 && r <= 0x1aff, r >= 0x1dc0 && r <= 0x1dff, r >= 0x20d0 && r <= 0x20ff, r >= 0xfe00 && r <= 0xfe0f, r >= 0xfe20 && r <= 0xfe2f:
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0x303e, r >= 0x3041 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// IsPrintable reports whether r, of a line, cannot act on a terminal.
func IsPrintable(r rune) bool { return r == printable(r) }

// Printable replaces control characters and marks of direction, so that text of
// others cannot act on a terminal, and hides signing keys.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' {
			return ' '
		}
		return printable(r)
	}, HideKeys(s))
}

// Name returns a name that others chose, of a file, a binding or a session, as it stands within a sentence: in quotes where
// it holds anything but letters, digits and what paths are made of. So it cannot read as a part of the sentence.
func Name(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool {
		return !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || strings.ContainsRune("._-/\\+@~=:", r) || r > unicode.MaxASCII && unicode.IsLetter(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)) // of letters some show nothing
	}) {
		return strconv.Quote(s)
	}
	return s
}

// PrintableLines is [Printable] for texts of several lines: line ends and tabs stay.
func PrintableLines(s string) string { return strings.Map(printable, HideKeys(s)) }

func printable(r rune) rune {
	switch {
	case r == '\t' || r == '\n':
	case r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x061c || r >= 0x200e && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
		return '\ufffd'
	}
	return r
}

// Wrap breaks text into lines of at most width bytes, where words allow it; indent, which counts, begins each
// line but the first.
func Wrap(text string, width int, indent string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > width-len(indent):
			b.WriteString("\n" + indent)
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// Number renders a number of things: "1 file", "2 files".
func Number(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Some renders the first of list, of which there are all in all, and how many more there are: "a, b and 3 more".
func Some(list []string, all, most int) string {
	n := min(len(list), most)
	text := strings.Join(list[:n], ", ")
	if all > n {
		text += fmt.Sprintf(" and %d more", all-n)
	}
	return text
}

// Clip returns s, or if it has more than n letters the first of them and "...", n in all.
func Clip(s string, n int) string {
	keep := 0
	for i := range s {
		switch n--; {
		case n == 2:
			keep = i
		case n < 0:
			return s[:keep] + "..."
		}
	}
	return s
}

// ClipBytes is [Clip] for a text of at most n bytes. No letter is cut in two.
func ClipBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n = max(n-3, 0); n > 0 && !utf8.RuneStart(s[n]); n-- {
	}
	return s[:n] + "..."
}

// Summary renders the numbers of errors and warnings: "2 errors, 1 warning".
func (l List) Summary() string {
	text := Number(l.Count(Error), "error")
	if w := l.Count(Warning); w > 0 {
		text += ", " + Number(w, "warning")
	}
	return text
}

// Visible replaces what could act on a terminal, colours apart.
func Visible(line string) string {
	var b strings.Builder
	for line != "" {
		if n := sgrLen(line); n > 0 {
			b.WriteString(line[:n])
			line = line[n:]
			continue
		}
		_, size := utf8.DecodeRuneInString(line)
		b.WriteString(PrintableLines(line[:size]))
		line = line[size:]
	}
	return b.String()
}

// sgrLen returns the length of the SGR sequence that s begins with, 0 if it begins with none.
func sgrLen(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	for i := 2; i < len(s) && i < 32; i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// EscapeLen returns the length of the escape sequence of a terminal that s begins with
// (ECMA-48: CSI, OSC and the other strings; ECMA-35: two-byte escapes, and longer ones such as that of a character
// set, "\x1b(B"). The first byte of s is ESC. What cannot go on a sequence, such as another ESC, ends it before itself.
func EscapeLen[T string | []byte](s T) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				return i
			}
		}
		return len(s)
	case ']', 'P', 'X', '^', '_':
		for i := 2; i < len(s); i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			case s[i] == '\n':
				return i
			}
		}
		return len(s)
	}
	n := 1
	for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2f {
		n++
	}
	if n < len(s) && s[n] >= 0x30 && s[n] <= 0x7e {
		n++
	}
	return n
}

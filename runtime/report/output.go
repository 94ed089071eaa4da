package report

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/runtime/diagnose"
)

// clean makes text of others fit to be shown: escape sequences and control
// characters are taken out, line ends become spaces, bytes that are not UTF-8
// become U+FFFD. Output is data and never drives the reader's terminal.
func clean(s string) string { return strings.TrimSpace(oneLine(s)) }

// oneLine is clean that keeps the spaces around s.
func oneLine(s string) string { return strings.ReplaceAll(strip(s), "\n", " ") }

// Plain makes text of others fit for one line of a terminal: no escape sequences, no
// control characters, no marks of direction.
func Plain(s string) string { return clean(s) }

// strip removes terminal control from s and keeps its line ends and tabs.
func strip(s string) string {
	plain := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < ' ' && c != '\n' && c != '\t') || c >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 0x1b:
			i += diag.EscapeLen(s[i:])
			continue
		case r == '\r':
			// A progress bar: what was written over is not what the reader saw.
			b = b[:bytes.LastIndexByte(b, '\n')+1]
		case r == '\n' || r == '\t':
			b = utf8.AppendRune(b, r)
		case !diag.IsPrintable(r):
		default:
			b = utf8.AppendRune(b, r)
		}
		i += size
	}
	return string(b)
}

// lastLines returns the last of lines, at most n of them and about size bytes, each cut to a
// readable width.
func lastLines(lines []string, n, size int) (tail []string) {
	const width = 300
	for i := len(lines) - 1; i >= 0 && len(tail) < n; i-- {
		l := diag.ClipBytes(lines[i], width)
		if size -= len(l) + len("  | \n"); size < 0 {
			break
		}
		tail = append(tail, l)
	}
	slices.Reverse(tail)
	return tail
}

// outputLines returns the lines of an output, cleaned, without blank lines at
// either end.
func outputLines(output []byte) []string {
	text := strings.Trim(strip(string(diagnose.Readable(output))), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	return lines
}

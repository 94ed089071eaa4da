package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/command-dialect/dialect/lang/diag"
)

// A literal is a text that is a secret, or one in another writing.
type literal struct {
	text []byte
	of   []byte // the secret itself: all writings of it have one mark
	// rest is how many more characters of base64 have bits of the secret (0 or 1); the padding
	// after them goes, too. It is -1 where text is not base64.
	rest int
	// slashes has, for each byte of text, how many backslashes begin there; nil if text has none.
	slashes []int
	// own has the characters that text holds with what looks like an escape of them: "%25", "&amp;", "\134".
	own reading
}

// A reading says of which characters that a secret holds as if they were escaped ("%25") a text has the escape: where it has not, they stand
// there as they are, and others are escaped, in another way. A text is written in one way, so each of the readings that there are is tried
// with the whole secret: one for most secrets, 16 for one that holds all of it.
type reading uint8

const (
	slashes reading = 1 << iota
	percents
	ampersands
	quotes
)

// readings has the bit of each character that can stand for itself before what looks like an escape of it.
var readings = [256]reading{'\\': slashes, '%': percents, '&': ampersands, '\'': quotes}

// escaped reports whether v begins with what looks like an escape of its first byte.
func escaped(v []byte) bool {
	if v[0] == '\\' {
		return number5c(v, nil) > 0
	}
	return unit(v, v[0]) > 1
}

func newLiteral(text, of []byte, rest int) literal {
	l := literal{text: text, of: of, rest: rest}
	for i, c := range text {
		if of := readings[c]; of != 0 && l.own&of == 0 && escaped(text[i:]) {
			l.own |= of
		}
	}
	if bytes.IndexByte(text, '\\') >= 0 {
		l.slashes = make([]int, len(text))
		n := 0
		for i := len(text) - 1; i >= 0; i-- {
			if n++; text[i] != '\\' {
				n = 0
			}
			l.slashes[i] = n
		}
	}
	return l
}

// maxUnit is the longest writing of one byte, in bytes: backslashes and "U00000041", and the quotes of a shell around that. It bounds
// how far a match reaches.
const (
	maxUnit    = maxSlashes + 14
	maxSlashes = 7 // of an escape that is escaped twice more
)

// minCore is how many characters of base64 must be those of a secret alone: fewer would
// occur by chance.
const minCore = 7

// writings returns v itself, also with the line ends of Unix, and v in hex and base64. What escapes single characters (URL, JSON, HTML,
// shells, Python and Go) needs no entry: [unit] reads it.
//
// A secret that is encoded together with what stands around it begins at one of three places of
// a group of base64. Of each the characters that depend on the secret alone are one literal.
func writings(v []byte) []literal {
	list := []literal{newLiteral(v, v, -1)}
	if unix := bytes.ReplaceAll(v, []byte("\r\n"), []byte("\n")); len(unix) < len(v) {
		list = append(list, newLiteral(unix, v, -1))
	}
	for _, quoted := range quotings(v) { // which may be escaped once more, in JSON for one
		list = append(list, newLiteral(quoted, v, -1))
	}
	if len(v) < minCore {
		return list
	}
	h := hex.AppendEncode(nil, v)
	list = append(list, newLiteral(h, v, -1), newLiteral(bytes.ToUpper(h), v, -1))
	for before := range 3 {
		padded := append(make([]byte, before), v...)
		text := base64.RawStdEncoding.EncodeToString(padded)
		from, to := (before*8+5)/6, len(padded)*8/6
		rest := min(len(text)-to, 1)
		core := text[from:to]
		if len(core) < minCore {
			continue
		}
		list = append(list, newLiteral([]byte(core), v, rest))
		if strings.ContainsAny(core, "+/") {
			list = append(list, newLiteral([]byte(strings.NewReplacer("+", "-", "/", "_").Replace(core)), v, rest))
		}
	}
	return list
}

// quotings returns v as it stands between the quotes of shells: in '...', and in $'...', where it needs more than to be there as it is.
func quotings(v []byte) (list [][]byte) {
	if bytes.IndexByte(v, '\'') >= 0 {
		list = append(list, bytes.ReplaceAll(v, []byte("'"), []byte(`'\''`)))
	}
	var b []byte
	for _, c := range v {
		switch {
		case c == '\'' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ' || c >= 0x7f:
			b = fmt.Appendf(b, "\\%03o", c)
		default:
			b = append(b, c)
		}
	}
	if !bytes.Equal(b, v) {
		list = append(list, b)
	}
	return list
}

// lines reports whether l goes on after a line end.
func (l *literal) lines() bool { return bytes.ContainsAny(l.text[:len(l.text)-1], "\r\n") }

// match returns the length of what l has from its byte from on, at the begin of s, in any writing, at most as long as a secret can be; 0 if it is
// not there. Where the end of the text was cut, that is len(s) if s ends first. match subtracts its work from the credit, and gives up where that is used up.
func (l *literal) match(x *search, s []byte, from int) int {
	n := len(l.text) - from
	if !bytes.HasPrefix(s, l.text[from:]) {
		n = 0
		for r := reading(0); r <= l.own && n == 0; r++ {
			if r&^l.own != 0 {
				continue
			}
			if n = l.escaped(s[:min(len(s), x.r.hold)], from, r, &x.credit); n < 0 && x.cut {
				return len(s)
			}
			n = max(n, 0)
		}
		if n == 0 {
			return 0
		}
	}
	if l.rest >= 0 {
		n += span(s[n:], &base64Set, l.rest)
		n += span(s[n:], &padding, 2)
	}
	return n
}

var (
	base64Set = chars("+/-_")
	padding   = charset{'=': true}
)

// escaped returns the length of a text at the begin of s that stands for l from its byte i on, with any of its
// characters escaped, and with what nobody is shown in its midst; 0 if there is none, or if credit is used up; -1 if s ends before l does. Each character is read once.
func (l *literal) escaped(s []byte, i int, r reading, credit *int) int {
	v := l.text
	at, slashesTo := 0, 0 // s[at:slashesTo] are backslashes
	for i < len(v) {
		if at >= len(s) {
			return -1
		}
		if *credit--; *credit < 0 {
			return 0
		}
		size, n := 1, 0
		if v[i] == '\\' {
			own := v[i:]
			if r&slashes != 0 {
				own = nil
			}
			if n = number5c(s[at:], own); n > 0 {
				at, i = at+n, i+1
				continue
			}
			if run := l.slashes[i]; at >= slashesTo {
				k := span(s[at:], &slash, run<<maxLevel+1<<maxLevel) // more match nothing
				slashesTo = at + k
				*credit -= k / 16 // counting is cheap
			}
			size, n = backslashes(slashesTo-at, l.slashes[i])
		}
		if r&readings[v[i]]&^slashes != 0 && escaped(v[i:]) {
			n = itself(s[at:], v[i])
		}
		if n == 0 && v[i] >= utf8.RuneSelf {
			if r, k := utf8.DecodeRune(v[i:]); r != utf8.RuneError {
				if n = runeUnit(s[at:], r); n > 0 {
					size = k
				}
			}
		}
		if n == 0 {
			n = unit(s[at:], v[i])
		}
		if n == 0 && i > 0 {
			if n = unseen(s[at:]); n == 0 && v[i] == '\n' {
				n = unit(s[at:], '\r') // of a terminal, or of Windows
			}
			if n > 0 {
				at += n
				*credit -= n / 16
				continue
			}
		}
		if n == 0 {
			return 0
		}
		at, i = at+n, i+size
	}
	return at
}

// unseen returns the length of what a reader is not shown at the begin of s: an escape sequence of a terminal, such as the colour
// of a part of a word, or a control character, or what go test -json has between two parts of a line. Who takes it out has the secret,
// whole.
func unseen(s []byte) int {
	switch c := s[0]; {
	case c == '"':
		return betweenEvents(s)
	case c == 0x1b:
		return diag.EscapeLen(s)
	case c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f:
		return 1
	}
	return 0
}

// maxBetween bounds what [betweenEvents] looks at, in bytes.
const maxBetween = 2 << 10

// betweenEvents returns the length of what stands at the begin of s between two texts that go test -json printed as one: the end of an
// event after its Output, events without one, and the next event up to its Output. It is 0 if that does not stand there, and len(s) if s ends before
// that is certain.
func betweenEvents(s []byte) int {
	const output = `"Output":"`
	at := 1
	if rest := s[1:]; !hasPrefix(rest, "}") && !hasPrefix(rest, `,"`) {
		return 0
	}
	all := len(s)
	for s = s[:min(len(s), maxBetween)]; ; {
		end := bytes.IndexByte(s[at:], '\n')
		if end < 0 && len(s) == all {
			return all
		}
		if end < 0 || !bytes.HasSuffix(bytes.TrimSuffix(s[:at+end], []byte("\r")), []byte("}")) {
			return 0
		}
		at += end + 1
		line, _, _ := bytes.Cut(s[at:], []byte("\n"))
		if !hasPrefix(line, `{"`) && at < all {
			return 0
		}
		if i := bytes.Index(line, []byte(output)); i >= 0 {
			return at + i + len(output)
		}
	}
}

// maxLevel is how often a text that has backslashes can be quoted in one within the other.
const maxLevel = 3

// backslashes matches size backslashes of a secret with run of them in the text. Each level of
// quoting doubles them, and puts one more before a character after them that is quoted itself: a quote at each level, what stands there
// by its number ("\u003c") at one of them. n is 0 if they do not match.
func backslashes(run, size int) (matched, n int) {
	for level := range maxLevel + 1 {
		n := size << level
		if more := run - n; more == 0 || more == 1<<level-1 || more > 0 && more < 1<<level && more&(more-1) == 0 {
			return size, n
		}
	}
	return 1, 0
}

// unit returns the length of what stands for the byte c at the begin of s; 0 if nothing does.
//
//	URL             %41 %3d, + for a space
//	JSON, Go, C     \n \" \\ \/ \u003c \x41 \101 \U00000041, also escaped again: \\n
//	HTML            &amp; &#39; &#x27;, also of JSON, and in it: \&quot; \u0026quot;
//	shells          '\'' '"'"' \$ '$'\t''
func unit(s []byte, c byte) int {
	switch s[0] {
	case '%':
		if n := number(s, "%", 2, 16, rune(c)); n > 0 {
			return n
		}
	case '+':
		if c == ' ' {
			return 1
		}
	case '&':
		if n := reference(s[1:], c); n > 0 {
			return 1 + n
		}
	case '\'':
		if hasPrefix(s, `'$'\`) { // a byte that is quoted by itself, as coreutils do
			if n := escapedInShell(s[3:], c); n > 0 {
				return 3 + n
			}
		}
		if c == '\'' {
			for _, q := range [...]string{`'\''`, `'"'"'`} {
				if hasPrefix(s, q) {
					return len(q)
				}
			}
		}
	case '\\':
		if n := escapedInShell(s, c); n > 0 {
			return n
		}
	}
	if s[0] == c {
		return 1
	}
	return 0
}

// itself returns the length of c at the begin of s, as it is or as Go's JSON has it; 0 if another thing stands there.
func itself(s []byte, c byte) int {
	if s[0] == c {
		return 1
	}
	k := span(s, &slash, maxSlashes)
	if n := number(s[k:], "u", 4, 16, rune(c)); k > 0 && n > 0 {
		return k + n
	}
	return 0
}

// escapedInShell reads an escape, and after that of a byte that is not printed the two quotes with which a shell word goes on.
func escapedInShell(s []byte, c byte) int {
	n := backslash(s, c)
	if n > 0 && (c < ' ' || c >= 0x7f) && hasPrefix(s[n:], "''") {
		n += 2
	}
	return n
}

// backslash reads an escape that begins with one or more backslashes.
func backslash(s []byte, c byte) int {
	k := span(s, &slash, maxSlashes)
	if k >= len(s) {
		return 0
	}
	rest := s[k:]
	if n := max(number(rest, "u", 4, 16, '&'), min(span(rest, &ampersand, 1), 1)); n > 0 {
		if m := reference(rest[n:], c); m > 0 && k+n+m <= maxUnit { // HTML in the JSON of Go, or JSON in HTML
			return k + n + m
		}
	}
	if n := max(number(rest, "u", 4, 16, rune(c)), number(rest, "x", 2, 16, rune(c)), number(rest, "U", 8, 16, rune(c)), number(rest, "", 3, 8, rune(c))); n > 0 {
		return k + n
	}
	if i := strings.IndexByte("\a\b\f\n\r\t\v\x1b\x00", c); i >= 0 {
		if rest[0] == "abfnrtve0"[i] || rest[0] == 'E' && c == '\x1b' { // of bash
			return k + 1
		}
		return 0
	}
	if rest[0] == c && !word[c] { // an escaped letter is another thing
		return k + 1
	}
	return 0
}

// number5c returns the length of the escape of a backslash by its number at the beginning of s; 0 if the secret itself goes on like that after
// its backslashes.
func number5c(s, secret []byte) int {
	k, own := span(s, &slash, maxSlashes), span(secret, &slash, maxSlashes)
	for _, q := range [...]string{"u005c", "u005C", "U0000005c", "U0000005C", "x5c", "x5C", "134"} {
		if k > 0 && hasPrefix(s[k:], q) && !hasPrefix(secret[own:], q) {
			return k + len(q)
		}
	}
	return 0
}

var (
	slash     = charset{'\\': true}
	ampersand = charset{'&': true}
)

// runeUnit returns the length of what stands for the rune r, which is not ASCII; 0 if nothing does.
func runeUnit(s []byte, r rune) int {
	var raw [utf8.UTFMax]byte
	if k := utf8.EncodeRune(raw[:], r); bytes.HasPrefix(s, raw[:k]) {
		return k
	}
	switch {
	case s[0] == '&':
		return max(number(s, "&#", 0, 10, r), number(s, "&#x", 0, 16, r), number(s, "&#X", 0, 16, r))
	case s[0] != '\\':
		return 0
	}
	k := span(s, &slash, maxSlashes)
	rest := s[k:]
	if n := number(rest, "U", 8, 16, r); n > 0 {
		return k + n
	}
	if n := number(rest, "x", 2, 16, r); n > 0 {
		return k + n // Python's ascii
	}
	if r <= 0xffff {
		if n := number(rest, "u", 4, 16, r); n > 0 {
			return k + n
		}
		return 0
	}
	hi, lo := utf16.EncodeRune(r)
	n := number(rest, "u", 4, 16, hi)
	if n == 0 || n >= len(rest) {
		return 0
	}
	k2 := span(rest[n:], &slash, maxSlashes)
	if m := number(rest[n+k2:], "u", 4, 16, lo); k2 > 0 && m > 0 {
		return k + n + k2 + m
	}
	return 0
}

// reference returns the length of a character reference of HTML to c, after its ampersand.
func reference(s []byte, c byte) int {
	for _, e := range [...]struct {
		c    byte
		name string
	}{{'&', "amp;"}, {'<', "lt;"}, {'>', "gt;"}, {'"', "quot;"}, {'\'', "apos;"}} {
		if c == e.c && hasPrefix(s, e.name) {
			return len(e.name)
		}
	}
	return max(number(s, "#", 0, 10, rune(c)), number(s, "#x", 0, 16, rune(c)), number(s, "#X", 0, 16, rune(c)))
}

// number returns the length of prefix and the number want, of exactly digits digits or, where
// digits is 0, of up to seven and a semicolon; 0 if s begins with another thing.
func number(s []byte, prefix string, digits, base int, want rune) int {
	if !hasPrefix(s, prefix) {
		return 0
	}
	most := digits
	if digits == 0 {
		most = 7
	}
	var got rune
	n := 0
	for ; n < most && len(prefix)+n < len(s); n++ {
		d := digit(s[len(prefix)+n])
		if d >= base {
			break
		}
		got = got*rune(base) + rune(d)
	}
	end := len(prefix) + n
	switch {
	case got != want || n == 0 || n < digits:
		return 0
	case digits > 0:
		return end
	case end < len(s) && s[end] == ';':
		return end + 1
	}
	return 0
}

// digit is the value of a digit in base 16, or 16.
func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 16
}

func hasPrefix(s []byte, p string) bool { return len(s) >= len(p) && string(s[:len(p)]) == p }

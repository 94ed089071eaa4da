package lang

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/command-dialect/dialect/lang/diag"
)

// characters checks the characters of the line from start to end, and reports
// whether all may stand in a script. It says each kind of fault once a line.
func (p *parser) characters(start, end int) bool {
	text := p.src.Text[start:end]
	i := 0
	for i < len(text) && text[i] < 0x7f && (text[i] >= ' ' || text[i] == '\t') {
		i++
	}
	if i == len(text) {
		return true
	}
	p.ascii = p.ascii && !bytes.ContainsFunc(text[i:], func(r rune) bool { return r >= utf8.RuneSelf })
	ok := true
	invalid, forbidden := false, false
	for i < len(text) {
		r, size := utf8.DecodeRune(text[i:])
		at := start + i
		i += size
		switch {
		case r == utf8.RuneError && size == 1:
			ok = false
			if !invalid {
				invalid = true
				p.fault(diag.NotUTF8, at, at+1, "the byte 0x%02x is not UTF-8", text[i-1]).hint("save the script as UTF-8")
			}
		default:
			name := forbiddenName(r)
			if name == "" {
				continue
			}
			ok = false
			if !forbidden {
				forbidden = true
				p.fault(diag.ForbiddenCharacter, at, at+size, "%U, %s", r, name).hint("delete it, or type a plain space").
					fixAll(diag.MaybeIncorrect, "remove what cannot be seen", p.replaceRunes(func(_, _ int, r rune) (string, bool) {
						name := forbiddenName(r)
						if r == 0xa0 || name == oddSpace {
							return " ", true
						}
						return "", name != ""
					})...)
			}
		}
	}
	return ok
}

const oddSpace = "a space that is not a plain space"

// forbiddenName names a character that may not stand in a script, because it
// cannot be seen or changes how others are; empty for all that may.
func forbiddenName(r rune) string {
	switch {
	case r == '\t':
		return ""
	case r == 0:
		return "a NUL byte"
	case r == 0x1b:
		return "an escape character"
	case r < ' ' || r == 0x7f || r >= 0x80 && r <= 0x9f:
		return "a control character"
	case r == 0xa0:
		return "a no-break space"
	case r == 0xad:
		return "a soft hyphen"
	case r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
		return "a mark that changes the direction of text"
	case r == 0x200b:
		return "a zero width space"
	case r == 0x200c:
		return "a zero width non-joiner"
	case r == 0x200d:
		return "a zero width joiner"
	case r == 0x2060:
		return "a word joiner"
	case r == 0xfeff:
		return "a byte order mark inside the text"
	case r >= 0x2000 && r <= 0x200a || r == 0x202f || r == 0x205f || r == 0x3000 || r == 0x1680:
		return oddSpace
	case r == 0x2028 || r == 0x2029:
		return "a line separator"
	case r == 0x180e || r >= 0x2061 && r <= 0x2064 || r >= 0xfff9 && r <= 0xfffb || r >= 0xe0000 && r <= 0xe007f:
		return "an invisible character"
	}
	return ""
}

// lookAlikes are letters of other scripts that look like a Latin one.
var lookAlikes = map[rune]byte{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm', 'о': 'o', 'р': 'p', 'ѕ': 's', 'т': 't', 'у': 'y', 'х': 'x', 'ԝ': 'w', 'ԛ': 'q',
	'А': 'A', 'В': 'B', 'С': 'C', 'Е': 'E', 'Н': 'H', 'І': 'I', 'Ј': 'J', 'К': 'K', 'М': 'M', 'О': 'O', 'Р': 'P', 'Ѕ': 'S', 'Т': 'T', 'У': 'Y', 'Х': 'X',
	'α': 'a', 'ο': 'o', 'ρ': 'p', 'ν': 'v', 'ι': 'i', 'κ': 'k', 'τ': 't', 'υ': 'u', 'χ': 'x', 'ε': 'e', 'η': 'n',
	'Α': 'A', 'Β': 'B', 'Ε': 'E', 'Ζ': 'Z', 'Η': 'H', 'Ι': 'I', 'Κ': 'K', 'Μ': 'M', 'Ν': 'N', 'Ο': 'O', 'Ρ': 'P', 'Τ': 'T', 'Υ': 'Y', 'Χ': 'X',
	'ı': 'i', 'ɑ': 'a', 'ɡ': 'g', 'ո': 'n', 'օ': 'o', 'ս': 'u',
}

// LookAlike returns the first letter of word that only looks like a Latin one, and word with
// Latin letters in the place of all such; 0 if it has none, or letters beside them that look
// like nothing Latin: a word in another language is not a disguise. Fullwidth letters count.
func LookAlike(word string) (odd rune, latin string) {
	var b strings.Builder
	for _, r := range word {
		c, ok := lookAlikes[r]
		switch {
		case ok:
		case r >= 0xff01 && r <= 0xff5e:
			c = byte(r - 0xff01 + '!')
		case r >= utf8.RuneSelf:
			return 0, word
		default:
			b.WriteRune(r)
			continue
		}
		if odd == 0 {
			odd = r
		}
		b.WriteByte(c)
	}
	return odd, b.String()
}

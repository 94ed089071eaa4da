package diag

import (
	"bytes"
	"strings"
)

// KeyPrefix begins the text of a signing key: "PRIVATE+KEY+NAME+HASH+SECRET", of the note format of golang.org/x/mod/sumdb.
const KeyPrefix = "PRIVATE+KEY+"

// MaxKey bounds the text of a signing key, in bytes: the name of one has at most 64, the rest is shorter.
const MaxKey = 256

// inKey reports whether c can stand in a signing key.
func inKey(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("._@/-+=", c) >= 0
}

// keyAt returns where the secret part of the first signing key of s begins and ends, from its name on; ok is false if s has
// none. The prefix counts in any case: lower case hides little of a key from who tries.
func keyAt[T string | []byte](s T) (from, to int, ok bool) {
	for i := 0; i+len(KeyPrefix) <= len(s); i++ {
		if s[i]|0x20 != 'p' || s[i+7] != '+' || !strings.EqualFold(string(s[i:i+len(KeyPrefix)]), KeyPrefix) {
			continue
		}
		from = i + len(KeyPrefix)
		for to = from; to < len(s) && inKey(s[to]); to++ {
		}
		if to > from {
			return from, to, true
		}
	}
	return 0, 0, false
}

// HideKeys returns text without the signing keys in it: what was given for a name, a number or a script can be one, and
// messages and documents repeat what was given. [Printable], [PrintableLines] and [WriteText] do so.
func HideKeys[T string | []byte](text T) T {
	from, to, ok := keyAt(text)
	if !ok {
		return text
	}
	out := make([]byte, 0, len(text))
	for ; ok; from, to, ok = keyAt(text) {
		out = append(append(out, text[:from]...), "..."...)
		text = text[to:]
	}
	return T(append(out, text...))
}

// starKeys returns line with a star for each byte of the signing keys in it, so that columns stay.
func starKeys(line []byte) []byte {
	from, to, ok := keyAt(line)
	if !ok {
		return line
	}
	line = bytes.Clone(line)
	for rest := line; ok; from, to, ok = keyAt(rest) {
		for i := from; i < to; i++ {
			rest[i] = '*'
		}
		rest = rest[to:]
	}
	return line
}

// HideKeys returns d as others may see it, without signing keys. A fix that would write one is left out.
func (d Diagnostic) HideKeys() Diagnostic {
	d.Message, d.Hint = HideKeys(d.Message), HideKeys(d.Hint)
	if len(d.Related) > 0 {
		related := make([]Related, len(d.Related))
		for i, r := range d.Related {
			r.Message = HideKeys(r.Message)
			related[i] = r
		}
		d.Related = related
	}
	var fixes []Fix
	for _, f := range d.Fixes {
		shown := f.Message
		for _, e := range f.Edits {
			shown += "\n" + e.New
		}
		if _, _, ok := keyAt(shown); !ok {
			fixes = append(fixes, f)
		}
	}
	d.Fixes = fixes
	return d
}

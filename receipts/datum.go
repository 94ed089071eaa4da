package receipts

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Datum is a text of the outside world: an argument, a path, a value. It is
// carried whole, or, where a body would become too large, by digest, or, where a secret
// was taken out of it, as what was left.
//
// Its JSON is a string if the text is valid UTF-8, {"base64":"..."} if it is not,
// {"bytes":N,"sha256":"..."} if it is carried by digest, {"redacted":"..."} if the text
// has marks in the place of secrets. There is one form for one text: base64 of valid
// UTF-8 is refused.
type Datum struct {
	Text     string
	SHA256   Hash  // of a text that is not carried; zero if it is
	Bytes    int64 // its length
	Redacted bool  // Text is not the text itself: secrets were taken out
}

// Text returns a Datum that carries s whole.
func Text(s string) Datum { return Datum{Text: s} }

// Redacted returns a Datum for a text of which s, with marks in the place of secrets, is
// what may be shown.
func Redacted(s string) Datum { return Datum{Text: strings.ToValidUTF8(s, "\ufffd"), Redacted: true} }

// Carried reports whether the text itself is there.
func (d Datum) Carried() bool { return d.SHA256.IsZero() && !d.Redacted }

// IsZero reports whether d is the empty text.
func (d Datum) IsZero() bool { return d == Datum{} }

// String returns the text for people: that of one that is carried by digest is its
// length and the first digits of the digest.
func (d Datum) String() string {
	if d.SHA256.IsZero() {
		return d.Text
	}
	return fmt.Sprintf("<%d bytes, sha256 %s>", d.Bytes, d.SHA256.Short())
}

// Digest returns d by digest. A redacted text, which is for people, is cut instead: its
// digest would be taken for that of the text itself.
func (d Datum) Digest() Datum {
	switch {
	case d.Redacted:
		const keep = 48
		if len(d.Text) > keep {
			d.Text = strings.ToValidUTF8(d.Text[:keep], "") + "..."
		}
		return d
	case !d.Carried():
		return d
	}
	return Datum{SHA256: sha256.Sum256([]byte(d.Text)), Bytes: int64(len(d.Text))}
}

// size returns the size of the JSON of d, in bytes.
func (d Datum) size() int {
	text, err := d.MarshalJSON()
	if err != nil {
		return 0
	}
	return len(text)
}

type datumJSON struct {
	Base64   *string `json:"base64,omitempty"`
	Bytes    *int64  `json:"bytes,omitempty"`
	SHA256   *Hash   `json:"sha256,omitempty"`
	Redacted *string `json:"redacted,omitempty"`
}

// MarshalJSON returns the form that fits the text.
func (d Datum) MarshalJSON() ([]byte, error) {
	switch {
	case d.Redacted:
		return append(appendString([]byte(`{"redacted":`), d.Text), '}'), nil
	case !d.Carried():
		return json.Marshal(datumJSON{Bytes: &d.Bytes, SHA256: &d.SHA256})
	case utf8.ValidString(d.Text):
		return appendString(nil, d.Text), nil
	default:
		b := base64.StdEncoding.EncodeToString([]byte(d.Text))
		return json.Marshal(datumJSON{Base64: &b})
	}
}

// UnmarshalJSON parses the four forms.
func (d *Datum) UnmarshalJSON(text []byte) error {
	*d = Datum{}
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &d.Text)
	}
	var j datumJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	switch {
	case j.Base64 != nil && j.Bytes == nil && j.SHA256 == nil && j.Redacted == nil:
		raw, err := base64.StdEncoding.Strict().DecodeString(*j.Base64)
		if err != nil {
			return err
		}
		if utf8.Valid(raw) {
			return errors.New("base64 of a text that is UTF-8")
		}
		d.Text = string(raw)
		return nil
	case j.Base64 == nil && j.Bytes != nil && *j.Bytes >= 0 && j.SHA256 != nil && !j.SHA256.IsZero() && j.Redacted == nil:
		d.Bytes, d.SHA256 = *j.Bytes, *j.SHA256
		return nil
	case j.Base64 == nil && j.Bytes == nil && j.SHA256 == nil && j.Redacted != nil:
		d.Text, d.Redacted = *j.Redacted, true
		return nil
	}
	return errors.New("a text is a string, {base64}, {bytes, sha256} or {redacted}")
}

// CommandHash is the digest by which a gate compares commands:
//
//	SHA-256(canonical JSON of the array of arguments, each as a [Datum] carried whole)
//
// Values that the matrix declares secret for the binding are replaced in argv before.
func CommandHash(argv []string) Hash {
	out := []byte{'['}
	for i, a := range argv {
		if i > 0 {
			out = append(out, ',')
		}
		if utf8.ValidString(a) {
			out = appendString(out, a)
		} else {
			out = append(out, `{"base64":"`...)
			out = base64.StdEncoding.AppendEncode(out, []byte(a))
			out = append(out, `"}`...)
		}
	}
	return sha256.Sum256(append(out, ']'))
}

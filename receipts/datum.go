package receipts

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// A Datum is a text of the outside world: an argument, a path, a value. It is
// carried whole, or, where a body would become too large, by digest.
//
// Its JSON is a string if the text is valid UTF-8, {"base64":"..."} if it is not,
// {"bytes":N,"sha256":"..."} if it is carried by digest. There is one form for one
// text: base64 of valid UTF-8 is refused.
type Datum struct {
	Text   string
	SHA256 Hash  // of a text that is not carried; zero if it is
	Bytes  int64 // its length
}

// Text returns a Datum that carries s whole.
func Text(s string) Datum { return Datum{Text: s} }

// Carried reports whether the text itself is there.
func (d Datum) Carried() bool { return d.SHA256.IsZero() }

// IsZero reports whether d is the empty text.
func (d Datum) IsZero() bool { return d == Datum{} }

// Digest returns d by digest.
func (d Datum) Digest() Datum {
	if !d.Carried() {
		return d
	}
	return Datum{SHA256: sha256.Sum256([]byte(d.Text)), Bytes: int64(len(d.Text))}
}

type datumJSON struct {
	Base64 *string `json:"base64,omitempty"`
	Bytes  *int64  `json:"bytes,omitempty"`
	SHA256 *Hash   `json:"sha256,omitempty"`
}

// MarshalJSON returns the form that fits the text.
func (d Datum) MarshalJSON() ([]byte, error) {
	switch {
	case !d.Carried():
		return json.Marshal(datumJSON{Bytes: &d.Bytes, SHA256: &d.SHA256})
	case utf8.ValidString(d.Text):
		return appendString(nil, d.Text), nil
	default:
		b := base64.StdEncoding.EncodeToString([]byte(d.Text))
		return json.Marshal(datumJSON{Base64: &b})
	}
}

// UnmarshalJSON parses the three forms.
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
	case j.Base64 != nil && j.Bytes == nil && j.SHA256 == nil:
		raw, err := base64.StdEncoding.Strict().DecodeString(*j.Base64)
		if err != nil {
			return err
		}
		if utf8.Valid(raw) {
			return errors.New("base64 of a text that is UTF-8")
		}
		d.Text = string(raw)
		return nil
	case j.Base64 == nil && j.Bytes != nil && j.SHA256 != nil && !j.SHA256.IsZero():
		d.Bytes, d.SHA256 = *j.Bytes, *j.SHA256
		return nil
	}
	return errors.New("a text is a string, {base64} or {bytes, sha256}")
}

// CommandHash is the digest by which a gate compares commands:
//
//	SHA-256(canonical JSON of the array of arguments, each as a [Datum] carried whole)
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

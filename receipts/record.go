package receipts

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// A Hash is a SHA-256.
type Hash [sha256.Size]byte

// ParseHash parses 64 lower-case hex digits.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) != 2*len(h) {
		return h, fmt.Errorf("%q is not a SHA-256: want %d hex digits", s, 2*len(h))
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil || h.String() != s {
		return Hash{}, fmt.Errorf("%q is not a SHA-256 in lower-case hex", s)
	}
	return h, nil
}

// String returns 64 lower-case hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Short returns the first 12 hex digits: a name for people, not evidence.
func (h Hash) Short() string { return hex.EncodeToString(h[:6]) }

// IsZero reports whether h is the zero Hash, which stands for "none".
func (h Hash) IsZero() bool { return h == Hash{} }

// MarshalText returns the hex form.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText parses the hex form.
func (h *Hash) UnmarshalText(text []byte) error {
	p, err := ParseHash(string(text))
	if err == nil {
		*h = p
	}
	return err
}

// A Kind is the kind of a record: the word in its first line.
type Kind string

// The kinds of record.
const (
	KindRun         Kind = "run"         // a run begins; see [Run]
	KindReceipt     Kind = "receipt"     // a command was carried out; see [Receipt]
	KindGate        Kind = "gate"        // a gate passed; see [Gate]
	KindConsumption Kind = "consumption" // receipts were consumed; see [Consumption]
	KindSettlement  Kind = "settlement"  // a pending receipt was settled; see [Settlement]
	KindTrust       Kind = "trust"       // somebody trusts something; see [Trust]
	KindNotary      Kind = "notary"      // the session of a notary begins; see [Notary]
	KindClosing     Kind = "closing"     // it has ended; see [Closing]
)

// A Record is one entry of the log: a kind and a canonical body.
type Record struct {
	Kind Kind
	Body []byte

	made body // what Body was encoded from, if this process did; see Parse
}

// Text returns what is hashed, signed and logged: the line "dialect.KIND/1" and
// the body.
func (r Record) Text() []byte {
	text := make([]byte, 0, len("dialect./1\n")+len(r.Kind)+len(r.Body))
	text = append(text, "dialect."...)
	text = append(text, r.Kind...)
	text = append(text, "/1\n"...)
	return append(text, r.Body...)
}

// SHA returns the identity of the record:
//
//	SHA-256("dialect." || kind || "/1\n" || body)
func (r Record) SHA() Hash { return sha256.Sum256(r.Text()) }

// Leaf returns the hash of the record as a leaf of the log, which is
// [tlog.RecordHash] of its text:
//
//	SHA-256(0x00 || "dialect." || kind || "/1\n" || body)
func (r Record) Leaf() tlog.Hash { return tlog.RecordHash(r.Text()) }

// Parse returns the body as a *Run, *Receipt, *Gate, *Consumption, *Settlement, *Trust,
// *Notary or *Closing. It is not to be changed.
func (r Record) Parse() (any, error) {
	if r.made != nil {
		return r.made, nil
	}
	var v body
	switch r.Kind {
	case KindRun:
		v = new(Run)
	case KindReceipt:
		v = new(Receipt)
	case KindGate:
		v = new(Gate)
	case KindConsumption:
		v = new(Consumption)
	case KindSettlement:
		v = new(Settlement)
	case KindTrust:
		v = new(Trust)
	case KindNotary:
		v = new(Notary)
	case KindClosing:
		v = new(Closing)
	default:
		return nil, fmt.Errorf("unknown kind of record %q", r.Kind)
	}
	if len(r.Body) > MaxBody {
		return nil, fmt.Errorf("a body of %d bytes; at most %d", len(r.Body), MaxBody)
	}
	if err := parseCanonical(r.Body); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Kind, err)
	}
	d := json.NewDecoder(bytes.NewReader(r.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Kind, err)
	}
	if err := v.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Kind, err)
	}
	// What the struct does not hold, or holds in another way, is not a record: a
	// zero that should be absent, a name in another case.
	again, err := encode(v)
	if err != nil || !bytes.Equal(again, r.Body) {
		return nil, fmt.Errorf("%s: a member is not as this version writes it", r.Kind)
	}
	return v, nil
}

// A body is the Go form of a record's body.
type body interface{ check() error }

func encode(v body) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return Canonical(b.Bytes())
}

// recordOf returns the record of v and the size of its body, which may be too large.
func recordOf(kind Kind, v body) (Record, int, error) {
	if err := v.check(); err != nil {
		return Record{}, 0, fmt.Errorf("%s: %w", kind, err)
	}
	b, err := encode(v)
	if err != nil {
		return Record{}, 0, fmt.Errorf("%s: %w", kind, err)
	}
	return Record{Kind: kind, Body: b, made: v}, len(b), nil
}

// timeLayout is RFC 3339 in UTC with nine digits of a second: one form for one
// instant.
const timeLayout = "2006-01-02T15:04:05.000000000Z"

// A Time is an instant as records write it.
type Time struct{ time.Time }

// String returns the one form of t.
func (t Time) String() string { return t.UTC().Format(timeLayout) }

// MarshalJSON returns that form as a string. It hides the one of [time.Time],
// which drops zeros and keeps time zones. A year that has not four digits is an error.
func (t Time) MarshalJSON() ([]byte, error) {
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		return nil, fmt.Errorf("the year %d has no place in a record", y)
	}
	return appendString(nil, t.String()), nil
}

// UnmarshalJSON parses that form, and no other.
func (t *Time) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	p, err := ParseTime(s)
	if err == nil {
		*t = p
	}
	return err
}

// ParseTime parses the form that [Time.String] returns.
func ParseTime(s string) (Time, error) {
	p, err := time.Parse(timeLayout, s)
	if err != nil || (Time{p}).String() != s {
		return Time{}, fmt.Errorf("%q is not a time of the form %s", s, timeLayout)
	}
	return Time{p}, nil
}

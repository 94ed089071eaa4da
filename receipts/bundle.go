package receipts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// A Bundle carries gates, with all that they cover, to a machine without the store: the text of
// each record, its signature, the proof of its place in the log, and the checkpoint that
// the proofs lead to. It is a JSON document; see [ParseBundle].
//
// What it cannot carry is that nothing came later: a bundle says what the log held,
// not that no failure, no consumption and no other checkpoint followed.
type Bundle struct {
	Schema     string         `json:"schema"`     // BundleSchema
	Checkpoint string         `json:"checkpoint"` // of the whole log, see [Checkpoint]; signed where its last writer had a key
	Records    []BundleRecord `json:"records"`
	Signed     []Consistency  `json:"signed,omitempty"` // the last checkpoint of each key, where that is an older one
	Since      *Consistency   `json:"since,omitempty"`
}

// BundleSchema names the format of a [Bundle].
const BundleSchema = "dialect.bundle/1"

// MaxBundle bounds the text of a bundle, in bytes.
const MaxBundle = 256 << 20

// A BundleRecord is a record with the proof of its place.
type BundleRecord struct {
	Seq       int64       `json:"seq"`
	Kind      Kind        `json:"kind"`
	Body      string      `json:"body"` // exactly as it is hashed
	Signature Signature   `json:"signature,omitempty"`
	Proof     []tlog.Hash `json:"proof"` // as of RFC 6962, section 2.1.1; hashes in base64
}

// A Consistency is the proof that the log of a bundle begins as an older checkpoint says.
type Consistency struct {
	Checkpoint string      `json:"checkpoint"`
	Proof      []tlog.Hash `json:"proof"` // as of RFC 6962, section 2.1.2
}

// ParseBundle parses a bundle. Nothing is verified. What it takes is bounded by a small multiple of the text: it comes from anyone.
func ParseBundle(text []byte) (*Bundle, error) {
	if len(text) > MaxBundle {
		return nil, fmt.Errorf("a bundle of %d bytes; at most %d", len(text), MaxBundle)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	b := new(Bundle)
	if err := b.read(d); err != nil {
		return nil, fmt.Errorf("it is not a bundle: %w", err)
	}
	if d.More() {
		return nil, errors.New("it is not a bundle: something follows it")
	}
	if b.Schema != BundleSchema {
		return nil, fmt.Errorf("it is not a bundle of the format %s", BundleSchema)
	}
	return b, nil
}

func (b *Bundle) read(d *json.Decoder) error {
	seen := make(map[string]bool)
	return each(d, '{', func() error {
		t, err := d.Token()
		key, _ := t.(string)
		if err == nil && seen[key] {
			err = fmt.Errorf("%q is there twice", key)
		}
		if err != nil {
			return err
		}
		seen[key] = true
		switch key {
		case "schema":
			return d.Decode(&b.Schema)
		case "checkpoint":
			return d.Decode(&b.Checkpoint)
		case "records":
			return each(d, '[', func() error { return b.readRecord(d) })
		case "signed":
			return each(d, '[', func() error {
				if len(b.Signed) == maxNotes {
					return fmt.Errorf("more than %d signed checkpoints", maxNotes)
				}
				c, err := readConsistency(d)
				b.Signed = append(b.Signed, c)
				return err
			})
		case "since":
			c, err := readConsistency(d)
			b.Since = &c
			return err
		}
		return fmt.Errorf("unknown field %q", key)
	})
}

func (b *Bundle) readRecord(d *json.Decoder) error {
	var r struct {
		Seq       int64      `json:"seq"`
		Kind      Kind       `json:"kind"`
		Body      string     `json:"body"`
		Signature Signature  `json:"signature"`
		Proof     shortProof `json:"proof"`
	}
	err := d.Decode(&r)
	if n := len(b.Records); err == nil && (r.Kind == "" || r.Body == "" || r.Seq < 0 || n > 0 && r.Seq <= b.Records[n-1].Seq) {
		err = fmt.Errorf("its record %d has no kind, no body, or a place that is not behind the last one's", n)
	}
	b.Records = append(b.Records, BundleRecord{r.Seq, r.Kind, r.Body, r.Signature, r.Proof})
	return err
}

func readConsistency(d *json.Decoder) (Consistency, error) {
	var c struct {
		Checkpoint string     `json:"checkpoint"`
		Proof      shortProof `json:"proof"`
	}
	err := d.Decode(&c)
	return Consistency{c.Checkpoint, c.Proof}, err
}

// each reads the elements of an array or object.
func each(d *json.Decoder, open json.Delim, element func() error) error {
	t, err := d.Token()
	if err == nil && t != open {
		err = fmt.Errorf("%v where a %v belongs", t, open)
	}
	for err == nil && d.More() {
		err = element()
	}
	if err == nil {
		_, err = d.Token()
	}
	return err
}

// A shortProof has no more hashes than a log of any size takes.
type shortProof []tlog.Hash

func (p *shortProof) UnmarshalJSON(text []byte) error {
	const most = 128 // two paths of 64
	if len(text) > most*64 {
		return fmt.Errorf("a proof of more than %d hashes", most)
	}
	return json.Unmarshal(text, (*[]tlog.Hash)(p))
}

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

// ParseBundle parses a bundle. Nothing is verified.
func ParseBundle(text []byte) (*Bundle, error) {
	if len(text) > MaxBundle {
		return nil, fmt.Errorf("a bundle of %d bytes; at most %d", len(text), MaxBundle)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	b := new(Bundle)
	if err := d.Decode(b); err != nil {
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

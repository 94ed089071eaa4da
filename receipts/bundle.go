package receipts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A Bundle carries gates, with all that they cover, to where no store is: the text of
// each record, its signature, the proof of its place in the log, and the head that
// the proofs lead to. It is a JSON document; see [ParseBundle].
//
// What it cannot carry is that nothing came later: a bundle says what the log held,
// not that no failure, no consumption and no other head followed.
type Bundle struct {
	Schema  string         `json:"schema"` // BundleSchema
	Head    string         `json:"head"`   // see [Head]; signed where there is a key
	Records []BundleRecord `json:"records"`
	Since   *Consistency   `json:"since,omitempty"`
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

// A Consistency is the proof that the log of a bundle began as an older head says.
type Consistency struct {
	Head  string      `json:"head"`
	Proof []tlog.Hash `json:"proof"` // as of RFC 6962, section 2.1.2
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
		return nil, fmt.Errorf("it is no bundle: %w", err)
	}
	if d.More() {
		return nil, errors.New("it is no bundle: something follows it")
	}
	if b.Schema != BundleSchema {
		return nil, fmt.Errorf("it is no bundle of the format %s", BundleSchema)
	}
	return b, nil
}

// A BundleBook is the [Book] of a bundle that was verified.
type BundleBook struct {
	Head    Head
	Key     string  // that signed the head; empty if none did
	Entries []Entry // in the order of the log
	Since   *Head   // the older head that the log was shown to begin with
	bySHA   map[Hash]int
}

// Verify holds each record of b against its hash, its proof against the head, and the
// signatures against keys. The error names what does not hold. kept, if not nil, is an
// older head, which the log must have been shown to begin with.
func (b *Bundle) Verify(keys note.Verifiers, kept *Head) (*BundleBook, error) {
	head, key, err := ParseHead([]byte(b.Head), keys)
	if err != nil {
		return nil, err
	}
	book := &BundleBook{Head: head, Key: key, bySHA: make(map[Hash]int)}
	if len(b.Records) == 0 {
		return nil, errors.New("the bundle holds no record")
	}
	last := int64(-1)
	for _, r := range b.Records {
		rec := Record{Kind: r.Kind, Body: []byte(r.Body)}
		if r.Seq <= last || r.Seq >= head.Count {
			return nil, fmt.Errorf("record %d is out of order, or not below the head of %d", r.Seq, head.Count)
		}
		last = r.Seq
		if _, err := rec.Parse(); err != nil {
			return nil, fmt.Errorf("record %d cannot be read: %w", r.Seq, err)
		}
		if err := tlog.CheckRecord(r.Proof, head.Count, head.Root, r.Seq, rec.Leaf()); err != nil {
			return nil, fmt.Errorf("record %d is not in the log of the head: its proof fails", r.Seq)
		}
		e := Entry{Record: rec, Seq: r.Seq, SHA: rec.SHA(), Signature: r.Signature, InLog: true}
		e.Level, e.Key = r.Signature.Check(head.Origin, e.SHA, keys)
		book.bySHA[e.SHA] = len(book.Entries)
		book.Entries = append(book.Entries, e)
	}
	book.consume()
	if kept == nil {
		return book, nil
	}
	return book, book.begin(b.Since, *kept)
}

// begin checks the proof that the log begins with an older head.
func (b *BundleBook) begin(c *Consistency, kept Head) error {
	switch {
	case kept.Origin != b.Head.Origin:
		return fmt.Errorf("the kept head is of the store %s, and the bundle of %s", kept.Origin, b.Head.Origin)
	case kept.Count > b.Head.Count:
		return fmt.Errorf("the kept head counts %d records, and the bundle's log had %d: it is older, or was cut", kept.Count, b.Head.Count)
	case kept == b.Head:
	case c == nil:
		return errors.New("the bundle does not show that its log begins with the kept head: export it with --since")
	default:
		if err := tlog.CheckTree(c.Proof, b.Head.Count, b.Head.Root, kept.Count, kept.Root); err != nil {
			return errors.New("the log of the bundle does not begin with the kept head: it was rewritten")
		}
	}
	b.Since = &kept
	return nil
}

// consume applies the consumptions and settlements that the bundle holds.
func (b *BundleBook) consume() {
	for _, e := range b.Entries {
		v, _ := e.Parse()
		switch body := v.(type) {
		case *Consumption:
			for _, h := range body.Consumed {
				if i, ok := b.bySHA[h]; ok && b.Entries[i].Consumption == nil {
					_, err := ParseHash(body.By)
					b.Entries[i].Consumption = &ConsumedBy{By: body.By, At: body.Timestamp, Seq: e.Seq, Gate: err == nil}
				}
			}
		case *Settlement:
			if i, ok := b.bySHA[body.Receipt]; ok && b.Entries[i].Settlement == nil {
				b.Entries[i].Settle(e)
			}
		}
	}
}

// Record implements [View].
func (b *BundleBook) Record(sha Hash) (Entry, bool, error) {
	i, ok := b.bySHA[sha]
	if !ok {
		return Entry{}, false, nil
	}
	return b.Entries[i], true, nil
}

func (b *BundleBook) pick(limit int, newest bool, f func(Entry, any) bool) []Entry {
	var list []Entry
	for _, e := range b.Entries {
		if v, err := e.Parse(); err == nil && f(e, v) {
			list = append(list, e)
		}
	}
	if newest {
		slices.Reverse(list)
	}
	if limit > 0 && len(list) > limit {
		list = list[:limit]
	}
	return list
}

// Failures implements [View]: those that the bundle holds.
func (b *BundleBook) Failures(r *Receipt) ([]Entry, error) {
	return b.pick(0, false, func(_ Entry, v any) bool {
		f, ok := v.(*Receipt)
		return ok && f.Fails(r)
	}), nil
}

// Nested implements [View]: there are none to consume.
func (b *BundleBook) Nested(string) ([]Entry, error) { return nil, nil }

// Gates implements [Book].
func (b *BundleBook) Gates(limit int) ([]Entry, error) {
	return b.pick(limit, true, func(_ Entry, v any) bool {
		g, ok := v.(*Gate)
		return ok && g.Final
	}), nil
}

// OnTree implements [Book].
func (b *BundleBook) OnTree(t Tree) ([]Entry, error) {
	return b.pick(0, false, func(_ Entry, v any) bool {
		r, ok := v.(*Receipt)
		return ok && r.Workspace != nil && r.Workspace.Before.Is(t)
	}), nil
}

// Before implements [Book].
func (b *BundleBook) Before(binding string, seq int64) (Entry, bool, error) {
	list := b.pick(1, true, func(e Entry, v any) bool {
		r, ok := v.(*Receipt)
		return ok && r.Binding == binding && e.Seq < seq
	})
	if len(list) == 0 {
		return Entry{}, false, nil
	}
	return list[0], true, nil
}

// Fails reports whether f says that the command of r failed on the tree, in the
// directory, with the executable and in the environment of r. A command that could not
// be completed did not fail.
func (f *Receipt) Fails(r *Receipt) bool {
	return f.Failed() &&
		f.Command == r.Command && f.Dir == r.Dir && f.Environment == r.Environment &&
		f.Workspace != nil && r.Workspace != nil && f.Workspace.Before.Is(r.Workspace.Before) &&
		(f.Executable == nil || r.Executable == nil || f.Executable.SHA256 == r.Executable.SHA256)
}

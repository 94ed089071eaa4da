package verify

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
)

// OfBundle authenticates a bundle: each record by its proof, the checkpoint that the proofs
// lead to by the keys. The error names what does not hold; it is a [*CutError] where the keys are those of notaries, one
// of them vouches for the session that the bundle is of, and the bundle is not all of it. kept, if not nil, is an older
// checkpoint, which the log must have been shown to begin with.
//
// A session of a bundle does not know the records that the bundle leaves out.
func OfBundle(b *receipts.Bundle, keys note.Verifiers, kept *receipts.Checkpoint) (*Session, error) {
	statement, voucher, keys := attested(b, keys)
	head, key, err := receipts.ParseCheckpoint([]byte(b.Checkpoint), keys)
	if err != nil {
		return nil, err
	}
	if len(b.Records) == 0 {
		return nil, errors.New("the bundle holds no record")
	}
	s := &Session{
		ctx: context.Background(), keys: keys, head: head, origin: head.Origin, index: new(index), partial: true,
		entries: make(map[int64]*receipts.Entry), followed: make(map[int64]bool), settled: make(map[int64]settled), beginnings: make(map[string]*receipts.Entry), withKey: make(map[string]bool), strange: make(map[uint64]bool),
		bundled: make(map[int64]Raw), signed: make(Coverage),
		notary: statement, voucher: voucher,
	}
	last := int64(-1)
	for _, r := range b.Records {
		if r.Seq <= last || r.Seq >= head.Count {
			return nil, fmt.Errorf("record %d is out of order, or not below the checkpoint of %d", r.Seq, head.Count)
		}
		last = r.Seq
		row := row{Raw: Raw{Seq: r.Seq, Kind: r.Kind, Body: []byte(r.Body), Signature: r.Signature}}
		row.compute()
		if _, err := (receipts.Record{Kind: r.Kind, Body: row.Body}).Parse(); err != nil {
			return nil, fmt.Errorf("record %d cannot be read: %w", r.Seq, err)
		}
		if err := tlog.CheckRecord(r.Proof, head.Count, head.Root, r.Seq, row.leaf); err != nil {
			return nil, fmt.Errorf("record %d is not in the log of the checkpoint: its proof fails", r.Seq)
		}
		s.bundled[s.index.len()] = row.Raw
		s.index.add(row.mark, row.refs)
	}
	s.twice(0)
	if key != "" {
		s.signed.Add([]byte(b.Checkpoint), head)
		s.checkpointKey = key
	}
	most, whole := int64(0), key != ""
	for _, c := range b.Signed {
		signed, key, err := receipts.ParseCheckpoint([]byte(c.Checkpoint), keys)
		switch {
		case err != nil:
			return nil, err
		case key == "":
			continue
		case signed.Origin != head.Origin || signed.Count > head.Count || signed.Count == 0 ||
			tlog.CheckTree(c.Proof, head.Count, head.Root, signed.Count, signed.Root) != nil:
			return nil, fmt.Errorf("the log of the bundle does not begin with the checkpoint of %d that %s signed: it was rewritten", signed.Count, key)
		}
		s.signed.Add([]byte(c.Checkpoint), signed)
		if signed.Count > most && !whole {
			most, s.checkpointKey = signed.Count, key
		}
	}
	if len(s.problems) > 0 {
		return nil, errors.New(s.problems[0].Message)
	}
	if err := s.whole(b); err != nil {
		return nil, err
	}
	if kept == nil {
		return s, nil
	}
	s.kept = kept
	return s, bundleBegins(b.Since, head, *kept)
}

// An UnshownError says that a bundle lacks records that the query needs. That does not mean that the log
// was changed: anyone who has the store can export more.
type UnshownError struct{ text string }

func (e *UnshownError) Error() string { return e.text }

func unshown(format string, args ...any) error { return &UnshownError{fmt.Sprintf(format, args...)} }

// bundleBegins checks the proof that the log of a bundle begins with an older checkpoint.
func bundleBegins(c *receipts.Consistency, head, kept receipts.Checkpoint) error {
	switch {
	case kept.Origin != head.Origin:
		return fmt.Errorf("the kept checkpoint is of the store %s, and the bundle of %s", kept.Origin, head.Origin)
	case kept.Count > head.Count:
		return unshown("the kept checkpoint counts %d records, and the bundle's log had %d: it is older, or was cut", kept.Count, head.Count)
	case kept == head:
	case c == nil:
		return unshown("the bundle does not show that its log begins with the kept checkpoint: it was exported without --since")
	case tlog.CheckTree(c.Proof, head.Count, head.Root, kept.Count, kept.Root) != nil:
		return errors.New("the log of the bundle does not begin with the kept checkpoint: it was rewritten")
	}
	return nil
}

// Entries returns the records of a bundle, in the order of the log.
func (s *Session) Entries() []receipts.Entry {
	var list []receipts.Entry
	for seq := range s.index.len() {
		if e := s.entry(seq); e != nil {
			list = append(list, *e)
		}
	}
	return list
}

// CheckpointKey returns the name of the key that signed the last checkpoint of a bundle that is signed;
// empty if none of the keys did.
func (s *Session) CheckpointKey() string { return s.checkpointKey }

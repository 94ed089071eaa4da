package verify

import (
	"fmt"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/receipts"
)

// A CutError says that a bundle is not all of a notary's session.
type CutError struct{ text string }

func (e *CutError) Error() string { return "the notary's session was cut: " + e.text }

// attested returns keys, and with them the key of the session that a bundle is of, where one of keys vouches for that, or is it. Keys
// that are not those of notaries vouch for nothing. The statement is nil without such a session, and no key is a notary's then: nobody
// says what kept the asker from it.
func attested(b *receipts.Bundle, keys note.Verifiers) (*receipts.Notary, string, note.Verifiers) {
	if !receipts.AreNotaries(keys) {
		return nil, "", keys
	}
	head, _, err := receipts.ParseCheckpoint([]byte(b.Checkpoint), nil)
	if err != nil {
		return nil, "", keys // which is found out again
	}
	for _, r := range b.Records {
		if r.Kind != receipts.KindNotary {
			continue
		}
		v, err := (receipts.Record{Kind: r.Kind, Body: []byte(r.Body)}).Parse()
		if err != nil {
			continue
		}
		n := v.(*receipts.Notary)
		// A statement about another store vouches for none of these records.
		if n.Origin != head.Origin || n.Level() < receipts.LevelNotary || r.Seq != 0 && n.Mode != receipts.NotaryService {
			continue
		}
		if by, session := n.Vouched(keys); by != "" {
			return n, by, receipts.WithSession(keys, session)
		}
		if by := n.Named(keys); by != "" {
			return n, by, keys
		}
	}
	return nil, "", receipts.OfUsers(keys)
}

// whole checks that a bundle is all of a session: each record of the log, under a checkpoint of the session's key, and
// last the closing record, which has counted them. A service goes on, and closes no log: its bundle has each record below the checkpoint.
func (s *Session) whole(b *receipts.Bundle) error {
	n := s.notary
	if n == nil {
		return nil
	}
	last := s.index.len() - 1
	if s.index.len() != s.head.Count {
		return &CutError{fmt.Sprintf("the bundle has %d of the %d records of its log", s.index.len(), s.head.Count)}
	}
	if n.Mode == receipts.NotaryService {
		return nil
	}
	e := s.entry(last)
	if e == nil {
		return s.err
	}
	c, ok := body(e).(*receipts.Closing)
	session, err := receipts.ParseKeys(n.Key)
	if err != nil {
		return err
	}
	switch {
	case !ok:
		return &CutError{"its log ends without a closing record, so that nobody knows what came after it"}
	case c.Count != last || c.Session != n.Session:
		return &CutError{fmt.Sprintf("its closing record counts %d records of the session %s", c.Count, c.Session)}
	}
	if _, key := e.Signature.Check(s.origin, e.SHA, session); key == "" {
		return &CutError{"its closing record is not signed with the key of the session"}
	}
	if _, key, err := receipts.ParseCheckpoint([]byte(b.Checkpoint), session); err != nil || key == "" {
		return &CutError{"its checkpoint is not signed with the key of the session"}
	}
	return nil
}

// held lowers the level of a pass that the asker could have influenced: one that ran in the working tree, or could read
// files that the asker can write. A failure keeps its level.
func held(level int, v any) int {
	r, ok := v.(*receipts.Receipt)
	if !ok || level < receipts.LevelNotary || r.Status != receipts.Succeeded && r.Status != receipts.Pending {
		return level
	}
	if g, says := r.Ground(); says && g != receipts.InClean {
		return receipts.LevelKey
	}
	return level
}

// Notary returns the statement of the session that a bundle is of, and the name of the key that vouches for it; nil where
// none of the keys does.
func (s *Session) Notary() (n *receipts.Notary, by string) { return s.notary, s.voucher }

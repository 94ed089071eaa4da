package sqlite

import (
	"context"
	"errors"
	"slices"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// Gate compares the receipts of a request with what is expected of them and consumes
// them into a gate receipt, in one transaction, which also makes durable what was
// submitted before. If anything is refused no more than that is written. The error is
// the store's: nothing was decided.
func (s *Store) Gate(ctx context.Context, g receipts.GateRequest) (receipts.Decision, error) {
	return s.gate(ctx, g, nil)
}

// GateOf is Gate over the records that ids name, which have to be what q asks for.
func (s *Store) GateOf(ctx context.Context, g receipts.GateRequest, q verify.Query, ids ...string) (receipts.Decision, error) {
	return s.gate(ctx, g, func(v *verify.Session, g *receipts.GateRequest) []receipts.Refusal { return v.Gather(g, q, ids...) })
}

func (s *Store) gate(ctx context.Context, g receipts.GateRequest, gather func(*verify.Session, *receipts.GateRequest) []receipts.Refusal) (receipts.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch, err := s.queue.take()
	if err != nil {
		return receipts.Decision{}, s.unusable(err)
	}
	if s.signer != nil { // else the caller says what counts
		g.Level = s.level()
	}
	var d receipts.Decision
	var save func() error
	err = s.immediate(ctx, func(quiet context.Context) error {
		w, err := s.add(quiet, batch...)
		if err != nil {
			return err
		}
		if err = s.ownMemory(ctx); err != nil {
			return err
		}
		var members []receipts.Hash
		save, err = s.session(ctx, func(v *verify.Session) error {
			if gather != nil {
				if refused := gather(v, &g); len(refused) > 0 && len(v.Problems()) == 0 {
					d.Refusals = refused
					return nil
				}
			}
			d, members, err = v.Decide(g)
			return err
		})
		if err != nil || !d.Passed() || !d.Gate.IsZero() {
			return err
		}
		if err = w.accept(g, &d); err != nil {
			return err
		}
		if d.Gate, err = w.gate(g, members, &d); err != nil {
			return err
		}
		return w.finish()
	})
	s.queue.settle(len(batch), err)
	if err != nil {
		return receipts.Decision{}, s.unusable(err)
	}
	return d, s.unusable(s.decided(ctx, save, &d))
}

// decided keeps what was audited, after a commit. The folder of a verifier, if there is one, also
// keeps what was decided, durably, before anybody hears of it: the store's writers could cut
// that off the log, and have it decided again. A log that has lost it already is a refusal.
func (s *Store) decided(ctx context.Context, save func() error, d *receipts.Decision) error {
	err := save()
	if s.memory == nil || !s.memory.kept {
		return nil // what could not be kept is read again the next time
	}
	if !d.Passed() || s.written == nil {
		return err
	}
	if e := (*StateError)(nil); errors.As(err, &e) {
		e.Recorded = true
		return e
	}
	wrote := s.written.head.public()
	var v *verify.Session
	err = s.frozen(ctx, func() (err error) {
		v, err = verify.Open(ctx, sqlLog{s}, verify.Options{Keys: s.keys, Kept: &wrote, Before: s.before})
		return err
	})
	if err == nil && len(v.Problems()) > 0 {
		p := v.Problems()[0]
		d.Gate = receipts.Hash{}
		d.Refusals = append(d.Refusals, receipts.Refusal{Reason: receipts.Tampered, SHA: p.SHA, Message: "TAMPERED: " + p.Message})
		return nil
	}
	if err == nil {
		if err = v.Save(s.memory.Memory); err == nil {
			err = s.memory.sync(s.state)
		}
	}
	if err != nil {
		return &StateError{Dir: s.state, Recorded: true, Err: err}
	}
	s.before = v
	return nil
}

// accept records that the failures of a decision do not matter.
func (w *appender) accept(g receipts.GateRequest, d *receipts.Decision) error {
	if len(d.Accepted) == 0 {
		return nil
	}
	by := g.By
	if by == "" {
		by = g.Run
	}
	for some := range slices.Chunk(d.Accepted, receipts.MaxMembers) {
		if _, err := w.appendBody(&receipts.Trust{Version: 1, What: receipts.TrustFlaky, Receipts: some, Reason: g.AcceptFlaky, By: by, Timestamp: g.At, Signer: w.s.signerID()}); err != nil {
			return err
		}
	}
	return nil
}

// gate appends the gate receipt over members and their consumption. More members
// than one body holds are gathered under gates over parts of them first.
func (w *appender) gate(g receipts.GateRequest, members []receipts.Hash, d *receipts.Decision) (receipts.Hash, error) {
	most := receipts.MaxMembers - len(d.Nested)
	for len(members) > most {
		var parts []receipts.Hash
		part := g
		part.Final, part.Expect, part.Rest = false, nil, receipts.Hash{}
		for some := range slices.Chunk(members, receipts.MaxMembers) {
			h, err := w.gateOf(part.Body(some, d), some)
			if err != nil {
				return receipts.Hash{}, err
			}
			parts = append(parts, h)
		}
		members = parts
	}
	body := g.Body(members, d)
	body.Nested = d.Nested
	return w.gateOf(body, slices.Concat(members, d.Unspent))
}

func (w *appender) gateOf(g *receipts.Gate, consumed []receipts.Hash) (receipts.Hash, error) {
	g.Signer = w.s.signerID()
	sha, err := w.appendBody(g)
	if err == nil && len(consumed) > 0 {
		_, err = w.appendBody(&receipts.Consumption{Version: 1, Consumed: consumed, By: sha.String(), Purpose: "gate", Timestamp: g.Timestamp, Signer: g.Signer})
	}
	return sha, err
}

// A ConsumeRequest asks for records to be consumed, all or none.
type ConsumeRequest struct {
	IDs     []string // hashes, unique prefixes, gate ids
	Query   verify.Query
	By      string
	Purpose string
	At      receipts.Time

	// Ledger, if set, is of the consumer, and decides: the records, and all that they took in, are spent there once.
	Ledger *Ledger
}

// Consume judges records as [Store.Ask] does, and consumes them, all or none. Among
// processes that race for the same records one wins. A set that is too large for one
// record is consumed by several records of one transaction.
func (s *Store) Consume(ctx context.Context, c ConsumeRequest) (receipts.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var d receipts.Decision
	var save func() error
	var spending *Spending // nil for none
	err := s.immediate(ctx, func(quiet context.Context) error {
		if err := s.ownMemory(ctx); err != nil {
			return err
		}
		var covered verify.Covered
		var err error
		save, err = s.session(ctx, func(v *verify.Session) (err error) {
			d, covered, err = v.Consume(c.Query, c.IDs...)
			return err
		})
		if err != nil || !d.Passed() || len(d.Records) == 0 {
			return err
		}
		if c.Ledger != nil {
			var refusal *receipts.Refusal
			if spending, refusal, err = c.Ledger.Begin(ctx, covered, c.By, c.Purpose, c.At); err != nil {
				return err
			}
			if refusal != nil {
				d.Refusals = append(d.Refusals, *refusal)
				return nil
			}
			s.between.over("spent")
		}
		w, err := s.beginAppend(quiet)
		if err != nil {
			return err
		}
		var hashes []receipts.Hash
		for _, e := range d.Records {
			hashes = append(hashes, e.SHA)
		}
		for some := range slices.Chunk(hashes, receipts.MaxMembers) {
			if _, err := w.appendBody(&receipts.Consumption{Version: 1, Consumed: some, By: c.By, Purpose: c.Purpose, Timestamp: c.At, Signer: s.signerID()}); err != nil {
				return err
			}
		}
		return w.finish()
	})
	if spending != nil && err != nil {
		spending.Abandon()
	} else if spending != nil {
		if err = spending.Finish(); err == nil {
			s.between.over("finished")
		}
	}
	if err != nil {
		return receipts.Decision{}, s.unusable(err)
	}
	return d, s.unusable(s.decided(ctx, save, &d))
}

// level is that of what the store records.
func (s *Store) level() int {
	if s.signer == nil {
		return receipts.LevelHash
	}
	return s.signer.Level()
}

// Settle ends a receipt that is pending, once, by a new record. One that a key signed can be
// settled again by a key where somebody without one has settled it.
func (s *Store) Settle(ctx context.Context, id string, t receipts.Settlement) (receipts.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var d receipts.Decision
	level := s.level()
	err := s.immediate(ctx, func(quiet context.Context) error {
		err := s.unsaved(ctx, func(v *verify.Session) (err error) {
			d, err = v.Unsettled(id, level)
			return err
		})
		if err != nil || !d.Passed() {
			return err
		}
		t.Version, t.Receipt, t.Signer = 1, d.Records[0].SHA, s.signerID()
		rec, err := t.Record()
		if err != nil {
			return err
		}
		_, err = s.add(quiet, submission{Record: rec})
		return err
	})
	if err != nil {
		return receipts.Decision{}, s.unusable(err)
	}
	return d, nil
}

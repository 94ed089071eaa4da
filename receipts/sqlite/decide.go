package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/command-dialect/dialect/receipts"
)

// Gate holds the receipts of a request against what is expected of them and
// consumes them into a gate receipt, in one transaction, which also makes durable
// what was submitted before. If anything is refused no more than that is written.
// The error is the store's: nothing was decided.
func (s *Store) Gate(ctx context.Context, g receipts.GateRequest) (receipts.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch, err := s.queue.take()
	if err != nil {
		return receipts.Decision{}, s.unusable(err)
	}
	var d receipts.Decision
	err = s.immediate(ctx, func() error {
		w, err := s.beginAppend(ctx)
		if err != nil {
			return err
		}
		if err := w.appendAll(batch); err != nil {
			return err
		}
		var members []receipts.Hash
		if d, members, err = receipts.Decide(g, book{s, ctx}); err != nil {
			return err
		}
		if d.Passed() {
			if err = w.accept(g, &d); err != nil {
				return err
			}
			if d.Gate, err = w.gate(g, members, &d); err != nil {
				return err
			}
		}
		return w.finish()
	})
	s.queue.settle(len(batch), err)
	if err != nil {
		return receipts.Decision{}, s.unusable(err)
	}
	return d, nil
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
	rec, err := (&receipts.Trust{Version: 1, What: receipts.TrustFlaky, Receipts: d.Accepted, Reason: g.AcceptFlaky, By: by, Timestamp: g.At}).Record()
	if err != nil {
		return err
	}
	return w.append(rec)
}

// gate appends the gate receipt over members and their consumption. More members
// than one body holds are gathered under gates over parts of them first.
func (w *appender) gate(g receipts.GateRequest, members []receipts.Hash, d *receipts.Decision) (receipts.Hash, error) {
	most := receipts.MaxMembers - len(d.Nested)
	for len(members) > most {
		var parts []receipts.Hash
		for len(members) > 0 {
			n := min(len(members), receipts.MaxMembers)
			part := g
			part.Final, part.Expect = false, nil
			h, err := w.gateOf(part.Body(members[:n], d), members[:n])
			if err != nil {
				return receipts.Hash{}, err
			}
			parts = append(parts, h)
			members = members[n:]
		}
		members = parts
	}
	body := g.Body(members, d)
	body.Nested = d.Nested
	return w.gateOf(body, slices.Concat(members, d.Nested))
}

func (w *appender) gateOf(g *receipts.Gate, consumed []receipts.Hash) (receipts.Hash, error) {
	rec, err := g.Record()
	if err != nil {
		return receipts.Hash{}, err
	}
	if err := w.append(rec); err != nil {
		return receipts.Hash{}, err
	}
	sha := rec.SHA()
	if len(consumed) == 0 {
		return sha, nil
	}
	c := &receipts.Consumption{Version: 1, Consumed: consumed, By: sha.String(), Purpose: "gate", Timestamp: g.Timestamp}
	crec, err := c.Record()
	if err != nil {
		return receipts.Hash{}, err
	}
	return sha, w.append(crec)
}

// Consume consumes records, all or none. Among processes that race for the same
// records one wins. A set that is too large for one record is consumed by several
// records of one transaction.
func (s *Store) Consume(ctx context.Context, c receipts.ConsumeRequest) (receipts.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var d receipts.Decision
	err := s.immediate(ctx, func() error {
		d = receipts.Decision{}
		var hashes []receipts.Hash
		seen := make(map[receipts.Hash]bool)
		for _, id := range c.IDs {
			e, ok, err := s.find(ctx, id, &d)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			if seen[e.SHA] {
				d.Refusals = append(d.Refusals, receipts.Refusal{Reason: receipts.Repeated, SHA: e.SHA, Message: e.SHA.Short() + " is named twice"})
				continue
			}
			seen[e.SHA] = true
			if r := receipts.Consumable(e); r != nil {
				d.Refusals = append(d.Refusals, *r)
				continue
			}
			hashes = append(hashes, e.SHA)
		}
		if !d.Passed() || len(hashes) == 0 {
			return nil
		}
		if c.Judge != nil {
			refusals, err := c.Judge(book{s, ctx}, d.Records)
			if d.Refusals = refusals; err != nil || len(refusals) > 0 {
				return err
			}
		}
		if c.Spend != nil {
			all, err := s.below(ctx, d.Records)
			if err != nil {
				return err
			}
			refusal, err := c.Spend(all)
			if err != nil {
				return err
			}
			if refusal != nil {
				d.Refusals = append(d.Refusals, *refusal)
				return nil
			}
		}
		w, err := s.beginAppend(ctx)
		if err != nil {
			return err
		}
		for len(hashes) > 0 {
			n := min(len(hashes), receipts.MaxMembers)
			rec, err := (&receipts.Consumption{Version: 1, Consumed: hashes[:n], By: c.By, Purpose: c.Purpose, Timestamp: c.At}).Record()
			if err != nil {
				return err
			}
			if err := w.append(rec); err != nil {
				return err
			}
			hashes = hashes[n:]
		}
		return w.finish()
	})
	if err != nil {
		return receipts.Decision{}, s.unusable(err)
	}
	return d, nil
}

// below returns the hashes of records and of all that the gates among them took in.
func (s *Store) below(ctx context.Context, es []receipts.Entry) ([]receipts.Hash, error) {
	var all []receipts.Hash
	seen := make(map[receipts.Hash]bool)
	for len(es) > 0 {
		e := es[0]
		es = es[1:]
		if seen[e.SHA] {
			continue
		}
		seen[e.SHA] = true
		all = append(all, e.SHA)
		v, _ := e.Parse()
		g, ok := v.(*receipts.Gate)
		if !ok {
			continue
		}
		for _, h := range slices.Concat(g.Members, g.Nested) {
			m, ok, err := book{s, ctx}.Record(h)
			if err != nil {
				return nil, err
			}
			if !ok {
				all = append(all, h)
				continue
			}
			es = append(es, m)
		}
	}
	return all, nil
}

// Settle ends a receipt that is pending, once, by a new record.
func (s *Store) Settle(ctx context.Context, id string, t receipts.Settlement) (receipts.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var d receipts.Decision
	err := s.immediate(ctx, func() error {
		d = receipts.Decision{}
		e, ok, err := s.find(ctx, id, &d)
		if err != nil || !ok {
			return err
		}
		no := func(reason receipts.Reason, text string) {
			d.Refusals = append(d.Refusals, receipts.Refusal{Reason: reason, SHA: e.SHA, Message: e.SHA.Short() + " " + text})
		}
		if reason, text := receipts.Intact(e); reason != "" {
			no(reason, text)
			return nil
		}
		v, _ := e.Parse()
		r, ok := v.(*receipts.Receipt)
		switch {
		case !ok:
			no(receipts.NotReceipt, "is no receipt")
		case r.Status != receipts.Pending:
			no(receipts.Repeated, fmt.Sprintf("is not pending: it says %s", r.Status))
		case e.Settlement != nil:
			no(receipts.Repeated, fmt.Sprintf("was settled as %s by %s at %s", e.Settlement.Status, e.Settlement.By, e.Settlement.Timestamp))
		default:
			t.Version, t.Receipt = 1, e.SHA
			rec, err := t.Record()
			if err != nil {
				return err
			}
			w, err := s.beginAppend(ctx)
			if err != nil {
				return err
			}
			if err := w.append(rec); err != nil {
				return err
			}
			return w.finish()
		}
		return nil
	})
	if err != nil {
		return receipts.Decision{}, s.unusable(err)
	}
	return d, nil
}

// Validate says whether records are evidence of a success: there, intact, in the
// log, and succeeded. It changes nothing, may be asked any number of times, and
// does not care whether they were consumed.
func (s *Store) Validate(ctx context.Context, ids ...string) (receipts.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var d receipts.Decision
	for _, id := range ids {
		e, ok, err := s.find(ctx, id, &d)
		if err != nil {
			return receipts.Decision{}, s.unusable(err)
		}
		if !ok {
			continue
		}
		if r := receipts.Valid(e); r != nil {
			d.Refusals = append(d.Refusals, *r)
		}
	}
	return d, nil
}

// find gets a record for a decision: what is not found is a refusal.
func (s *Store) find(ctx context.Context, id string, d *receipts.Decision) (receipts.Entry, bool, error) {
	e, err := s.get(ctx, id)
	var bad *IDError
	var none *NotFoundError
	var many *AmbiguousError
	switch {
	case errors.As(err, &bad), errors.As(err, &none), errors.As(err, &many):
		d.Refusals = append(d.Refusals, receipts.Refusal{Reason: receipts.Missing, Message: fmt.Sprint(err)})
		return e, false, nil
	case err != nil:
		return e, false, err
	}
	if len(d.Records) == 0 || e.Level < d.Level {
		d.Level = e.Level
	}
	d.Records = append(d.Records, e)
	return e, true, nil
}

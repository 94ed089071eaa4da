package sqlite

import (
	"context"
	"errors"
	"fmt"

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
		if d, members, err = receipts.Decide(g, s.view(ctx)); err != nil {
			return err
		}
		if d.Passed() {
			if d.Gate, err = w.gate(g, members, d.Level); err != nil {
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

// gate appends the gate receipt over members and their consumption. More members
// than one body holds are gathered under gates over parts of them first.
func (w *appender) gate(g receipts.GateRequest, members []receipts.Hash, level int) (receipts.Hash, error) {
	for len(members) > receipts.MaxMembers {
		var parts []receipts.Hash
		for len(members) > 0 {
			n := min(len(members), receipts.MaxMembers)
			part := g
			part.Final, part.Expect = false, nil
			h, err := w.gateOf(part.Body(members[:n], level), members[:n])
			if err != nil {
				return receipts.Hash{}, err
			}
			parts = append(parts, h)
			members = members[n:]
		}
		members = parts
	}
	return w.gateOf(g.Body(members, level), members)
}

func (w *appender) gateOf(g *receipts.Gate, members []receipts.Hash) (receipts.Hash, error) {
	rec, err := g.Record()
	if err != nil {
		return receipts.Hash{}, err
	}
	if err := w.append(rec); err != nil {
		return receipts.Hash{}, err
	}
	sha := rec.SHA()
	if len(members) == 0 {
		return sha, nil
	}
	c := &receipts.Consumption{Version: 1, Consumed: members, By: sha.String(), Purpose: "gate", Timestamp: g.Timestamp}
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

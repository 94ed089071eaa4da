package sqlite

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// Bundle gathers records by id, with all that the gates among them cover, the starts
// of their runs, the receipts whose results they repeat, what says of them that they are consumed, settled or accepted, and what
// else the log knows of the trees that they ran on: failures above all, with the starts of runs that a line of theirs began.
// The checkpoint is that of the log, and where what is named is signed, the last signed one: what
// came after that is left out. With an older checkpoint it shows that the log begins with that, and has all records that it covers.
func (s *Store) Bundle(ctx context.Context, since *receipts.Checkpoint, ids ...string) (*receipts.Bundle, error) {
	var b *receipts.Bundle
	err := s.snapshot(ctx, func() (err error) {
		b, err = s.bundle(ctx, since, ids)
		return err
	})
	return b, err
}

// A bundleError says why a bundle cannot be made of what is there.
type bundleError struct{ text string }

func (e *bundleError) Error() string { return e.text }

func (s *Store) bundle(ctx context.Context, since *receipts.Checkpoint, ids []string) (*receipts.Bundle, error) {
	var asked []receipts.Entry
	for _, id := range ids {
		e, err := s.get(ctx, id)
		if err != nil {
			return nil, err
		}
		asked = append(asked, e)
	}
	take, done := make(map[int64]receipts.Entry), make(map[receipts.Hash]bool)
	if since != nil { // who kept it can tell then that nothing is missing
		covered, err := s.entries(ctx, entryColumns+"WHERE r.seq < ?1", since.Count)
		if err != nil {
			return nil, err
		}
		for _, e := range covered {
			take[e.Seq] = e
		}
	}
	for len(asked) > 0 {
		if err := s.takeAll(ctx, take, done, asked); err != nil {
			return nil, err
		}
		// A query of a bundle that names no gate may be answered by any gate in it.
		asked = asked[:0]
		for _, e := range take {
			if v, _ := e.Parse(); !done[e.SHA] {
				if _, ok := v.(*receipts.Gate); ok {
					asked = append(asked, e)
				}
			}
		}
	}
	return s.pack(ctx, since, take)
}

// takeAll takes what a bundle has of records, but for what was done already. Of the first ones, which were named, nothing may be missing.
func (s *Store) takeAll(ctx context.Context, take map[int64]receipts.Entry, done map[receipts.Hash]bool, asked []receipts.Entry) error {
	hashes, err := s.below(ctx, asked)
	if err != nil {
		return err
	}
	runs := make(map[string]bool)
	named := len(done) == 0
	for _, h := range hashes {
		if done[h] {
			continue
		}
		done[h] = true
		e, ok, err := s.bySHA(ctx, h)
		if err != nil {
			return err
		}
		switch {
		case ok:
		case named:
			return &bundleError{fmt.Sprintf("the record %s is not in the store", h.Short())}
		default: // anyone can write a gate over what is not there
			continue
		}
		take[e.Seq] = e
		v, _ := e.Parse()
		switch b := v.(type) {
		case *receipts.Receipt:
			runs[b.Run] = true
			if !b.Reused.IsZero() { // for its age
				first, ok, err := s.bySHA(ctx, b.Reused)
				if err != nil {
					return err
				}
				if ok {
					take[first.Seq] = first
				}
			}
		case *receipts.Gate:
			runs[b.Run] = true
		}
		more, err := s.entries(ctx, entryColumns+"WHERE r.seq IN (SELECT consumption FROM item WHERE seq = ?1 UNION SELECT settlement FROM item WHERE seq = ?1)", e.Seq)
		if err != nil {
			return err
		}
		for _, m := range more {
			take[m.Seq] = m
		}
	}
	err = s.unsaved(ctx, func(v *verify.Session) error {
		around, err := v.Around(hashes...)
		for _, e := range around {
			take[e.Seq] = e
		}
		return err
	})
	if err != nil {
		return err
	}
	for run := range runs {
		starts, err := s.starts(ctx, run)
		if err != nil {
			return err
		}
		for _, e := range starts {
			take[e.Seq] = e
		}
	}
	for _, e := range slices.Collect(maps.Values(take)) {
		v, _ := e.Parse()
		if r, ok := v.(*receipts.Receipt); ok {
			runs[r.Run] = true
		}
	}
	return s.takeBelow(ctx, take, slices.Collect(maps.Keys(runs)))
}

// starts returns the starts of a run, in the order of the log: the first counts.
func (s *Store) starts(ctx context.Context, run string) ([]receipts.Entry, error) {
	return s.entries(ctx, entryColumns+"WHERE i.run = ? AND i.kind = 'run' ORDER BY r.seq", run)
}

// takeBelow takes all that is recorded of those of runs that lines started, and of the runs around these, one in the other: which line began a run,
// what vouches for it and what took it in are asked of all of them (see package verify). Of the others it takes nothing, since a start
// without the rest looks like a run that was cut short.
func (s *Store) takeBelow(ctx context.Context, take map[int64]receipts.Entry, runs []string) error {
	looked, whole := make(map[string]bool), make(map[string]bool)
	for len(runs) > 0 {
		run := runs[len(runs)-1]
		runs = runs[:len(runs)-1]
		if looked[run] {
			continue
		}
		looked[run] = true
		starts, err := s.starts(ctx, run)
		if err != nil {
			return err
		}
		if len(starts) == 0 {
			continue
		}
		v, _ := starts[0].Parse() // the first counts
		r, ok := v.(*receipts.Run)
		if !ok || r.Parent == "" {
			continue
		}
		outer, _ := receipts.SplitStep(r.Parent)
		for _, of := range []string{run, outer} {
			if whole[of] {
				continue
			}
			whole[of] = true
			all, err := s.entries(ctx, entryColumns+"WHERE i.run = ?", of)
			if err != nil {
				return err
			}
			for _, e := range all {
				take[e.Seq] = e
			}
		}
		runs = append(runs, outer)
	}
	return nil
}

// WholeBundle gathers all records of the log.
func (s *Store) WholeBundle(ctx context.Context) (*receipts.Bundle, error) {
	var b *receipts.Bundle
	err := s.snapshot(ctx, func() error {
		all, err := s.entries(ctx, entryColumns+"WHERE 1")
		if err != nil {
			return err
		}
		take := make(map[int64]receipts.Entry, len(all))
		for _, e := range all {
			take[e.Seq] = e
		}
		b, err = s.pack(ctx, nil, take)
		return err
	})
	return b, err
}

// pack makes a bundle of the records in take, by their index.
func (s *Store) pack(ctx context.Context, since *receipts.Checkpoint, take map[int64]receipts.Entry) (*receipts.Bundle, error) {
	h, err := s.readHead(ctx)
	if err != nil {
		return nil, err
	}
	w := &appender{s: s, ctx: ctx, head: h, nodes: make(map[int64]tlog.Hash)}
	head := h.public()
	b := &receipts.Bundle{Schema: receipts.BundleSchema, Checkpoint: head.Text()}
	for _, n := range receipts.SplitNotes(h.note) {
		signed, _, err := receipts.ParseCheckpoint(n, nil)
		switch {
		case err != nil || signed.Origin != head.Origin || signed.Count > head.Count || signed.Count == 0:
			continue // it is for anyone who audits the store
		case signed == head:
			b.Checkpoint = string(n)
			continue
		}
		proof, err := tlog.ProveTree(head.Count, signed.Count, w)
		if err != nil {
			return nil, err
		}
		b.Signed = append(b.Signed, receipts.Consistency{Checkpoint: string(n), Proof: notNil(proof)})
	}
	seqs := make([]int64, 0, len(take))
	for seq := range take {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	for _, seq := range seqs {
		e := take[seq]
		if reason, text := receipts.Intact(e); reason != "" {
			return nil, &bundleError{fmt.Sprintf("the record %d (%s) %s", seq, e.SHA.Short(), text)}
		}
		proof, err := tlog.ProveRecord(head.Count, seq, w)
		if err != nil {
			return nil, err
		}
		b.Records = append(b.Records, receipts.BundleRecord{Seq: seq, Kind: e.Kind, Body: string(e.Body), Signature: e.Signature, Proof: notNil(proof)})
	}
	if since == nil || *since == head {
		return b, nil
	}
	if since.Origin != head.Origin || since.Count > head.Count || since.Count == 0 {
		return nil, &bundleError{fmt.Sprintf("the kept checkpoint is of %d records of %s, and the bundle's of %d of %s", since.Count, since.Origin, head.Count, h.origin)}
	}
	proof, err := tlog.ProveTree(head.Count, since.Count, w)
	if err != nil {
		return nil, err
	}
	b.Since = &receipts.Consistency{Checkpoint: since.Text(), Proof: notNil(proof)}
	return b, nil
}

// notNil makes an empty list of none, for JSON.
func notNil[T ~[]tlog.Hash](proof T) []tlog.Hash {
	if proof == nil {
		return []tlog.Hash{}
	}
	return proof
}

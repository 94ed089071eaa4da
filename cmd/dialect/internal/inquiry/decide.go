package inquiry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/records"
)

// An Undecided error says why nothing was decided about records that were to be gated or consumed: the
// rules, the files or the store do not allow it.
type Undecided struct {
	*exit.Failure
	Reason  receipts.Reason
	Changes []policy.Change // of the rules, where they are the reason

	next []string
}

func (e *Undecided) Unwrap() error { return e.Failure }

// Decision is the document of a refusal for that reason.
func (e *Undecided) Decision() records.Decision {
	return records.NewDecision(receipts.Decision{Refusals: []receipts.Refusal{{Reason: e.Reason, Message: e.Error()}}}, "", e.next)
}

func undecided(reason receipts.Reason, f *exit.Failure) *Undecided {
	e := &Undecided{Failure: exit.Failf(exit.Refused, "%w", f.Err), Reason: reason}
	for _, h := range f.Hints {
		e.Hint("%s", strings.TrimPrefix(h, "# "))
		e.next = append(e.next, step(h))
	}
	return e
}

// Decides makes an [*Undecided] of an error that keeps a gate or a consumption from being decided, such
// as that of [New] where the rules cannot be read. Other errors stay as they are.
func Decides(err error) error {
	var f *exit.Failure
	switch {
	case !errors.As(err, &f):
	case errors.Is(err, store.ErrNone):
		return undecided(receipts.Missing, f)
	case f.Status == exit.Refused:
		return undecided(receipts.Degraded, f)
	}
	return err
}

// decide opens the store for a decision, which may be signed.
func (q *Question) decide(signer *receipts.Signer, f func(ctx context.Context, s *sqlite.Store) (records.Decision, error)) (records.Decision, error) {
	o := q.storeOptions()
	o.Signer = signer
	d, err := store.Do(store.Place{Name: q.path}, o, f)
	return d, Decides(unspent(err))
}

// unspent gives the error of a ledger its exit status and a hint. The hint is never to take another ledger: the same receipt could be spent
// twice.
func unspent(err error) error {
	var ledger *sqlite.LedgerError
	if !errors.As(err, &ledger) {
		return err
	}
	f := exit.Failf(exit.Refused, "%w", err)
	switch {
	case ledger.Recorded:
		return f.Hint("this store now records it as consumed, but the ledger does not: treat it as not consumed, and run again for a new gate")
	case errors.Is(err, sqlite.ErrBusy):
		return f.Hint("try again: nothing was consumed")
	case errors.Is(err, sqlite.ErrNoRoom):
		return f.Hint("make room on its disk, then try again: nothing was consumed")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return f.Hint("nothing was consumed: run as a user who may write it and its folder (another ledger would let the same be spent twice)")
	}
	return f
}

// A Consumption says by whom records are consumed, and what for.
type Consumption struct {
	By, Purpose string
	Ledger      string // file of the consumer's own that decides; empty for the store's memory
}

// Consume consumes the records that ids name: all of them or none.
func (q *Question) Consume(ctx context.Context, c Consumption, ids []string) (doc records.Decision, err error) {
	r := sqlite.ConsumeRequest{IDs: ids, Query: q.Query, By: c.By, Purpose: c.Purpose, At: receipts.Time{Time: time.Now()}}
	if c.Ledger != "" {
		l, err := sqlite.OpenLedger(c.Ledger)
		if err != nil {
			return doc, Decides(unspent(err))
		}
		defer l.Close()
		r.Ledger = l
	}
	return q.decide(nil, func(ctx context.Context, s *sqlite.Store) (doc records.Decision, err error) {
		d, err := s.Consume(ctx, r)
		if err == nil {
			doc = records.NewDecision(d, "consumed", q.nextOfDecision(d, entries(ctx, s)))
		}
		return doc, err
	})
}

// entries returns what looks a record up.
func entries(ctx context.Context, s *sqlite.Store) func(id string) (receipts.Entry, error) {
	return func(id string) (receipts.Entry, error) { return s.Get(ctx, id) }
}

// A Gating says by whom receipts are gated.
type Gating struct {
	By          string
	AcceptFlaky string           // why passes after failures are accepted; empty: they are not
	Signer      *receipts.Signer // nil for none

	Session, Nonce string // of the run around this one: the gate has them if each of its receipts does
}

// all reports whether each of the records that ids name is a receipt that has accepts.
func all(ids []string, get func(id string) (receipts.Entry, error), has func(*receipts.Receipt) bool) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		e, err := get(id)
		if err != nil {
			return true
		}
		v, _ := e.Parse()
		r, ok := v.(*receipts.Receipt)
		return !ok || !has(r)
	})
}

// Gate consumes the receipts that ids name into a gate receipt, which is final if anything is required.
func (q *Question) Gate(g Gating, ids []string) (doc records.Decision, err error) {
	switch {
	case q.Level > receipts.LevelHash && (g.Signer == nil || g.Signer.Level() < q.Level || !receipts.KnowsKey(q.o.Keys, g.Signer.ID())):
		return doc, exit.Usagef("--key asks for a gate that is signed: hand the key over with --key-fd, or gate with --level self")
	case q.Tree == nil:
		return doc, undecided(receipts.NoTree, exit.Failf(exit.Refused, "cannot take a snapshot of the working tree: %s", q.NoTree))
	case q.Policy != "":
		f := exit.Failf(exit.Refused, "POLICY CHANGED: %s", q.Policy)
		f.Hints = q.nextOfPolicy("dialect gate "+strings.Join(ids, " "), "", "")
		e := undecided(receipts.OtherPolicy, f)
		e.Changes = q.state.Changes
		return doc, e
	}
	req := receipts.GateRequest{
		Run: archive.NewRun(), Nonce: q.Nonce, At: receipts.Time{Time: time.Now()}, Final: len(q.Require) > 0, AnyRun: true,
		Matrix: q.Matrix, Policy: q.state.Name(), Tree: q.Tree, Place: q.Place, Retries: q.Retries, Env: q.Env, AcceptFlaky: g.AcceptFlaky, Strict: true, By: g.By,
	}
	if req.Session = q.Session; req.Session == "" {
		req.Session, req.AnySession = req.Run, true
	}
	return q.decide(g.Signer, func(ctx context.Context, s *sqlite.Store) (doc records.Decision, err error) {
		if q.snapshot != nil {
			if q.snapshot.Unmerged {
				return doc, exit.Failf(exit.Refused, "%s", q.snapshot.Reason)
			}
			attempt.Beyond(&req, q.snapshot, nil)
		}
		get := entries(ctx, s)
		if q.Session == "" && g.Session != "" && all(ids, get, func(r *receipts.Receipt) bool { return r.Session == g.Session }) {
			req.Session, req.AnySession = g.Session, false
		}
		if q.Nonce == "" && g.Nonce != "" && all(ids, get, func(r *receipts.Receipt) bool { return r.Nonce == g.Nonce }) {
			req.Nonce = g.Nonce
		}
		d, err := s.GateOf(ctx, req, q.Query, ids...)
		if err != nil {
			return doc, err
		}
		doc = records.NewDecision(d, "gated", q.nextOfGate(d, ids, get))
		if !d.Passed() {
			return doc, nil
		}
		if q.snapshot != nil {
			q.logs.Keep(q.snapshot.Bytes, q.snapshot.Manifest)
		}
		level := receipts.LevelHash // of the gate receipt itself
		if g.Signer != nil {
			level = min(d.Level, g.Signer.Level())
		}
		doc.Summary = fmt.Sprintf("passed: %s; gate %s (%s; %s)", diag.Number(len(ids), "receipt"), receipts.GateID(d.Gate), records.RecordedBy(level, ""), rulesText(q.matrix.Name, q.state))
		return doc, nil
	})
}

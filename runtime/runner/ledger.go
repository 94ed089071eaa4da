package runner

import (
	"context"
	"errors"
	"sync"

	"github.com/command-dialect/dialect/receipts"
)

// A Store keeps the records of a run; *sqlite.Store is one.
type Store interface {
	// Append makes records durable, and returns when they are.
	Append(ctx context.Context, records ...receipts.Record) error
	// Submit hands a record over, to be made durable together with others, and returns
	// its ticket. A later record has a higher one.
	Submit(receipts.Record) (ticket int64)
	// Durable returns when the record of a ticket, and each of a lower one, is durable,
	// or why it is not. Ticket 0 is durable from the start.
	Durable(ctx context.Context, ticket int64) error
	// Gate validates the receipts of a request and consumes them, all or none,
	// and makes durable what was submitted before.
	Gate(ctx context.Context, g receipts.GateRequest) (receipts.Decision, error)
	// Validate checks receipts, by hash or unique prefix, and changes nothing.
	Validate(ctx context.Context, ids ...string) (receipts.Decision, error)
	// Passed returns the last receipt of a command in a directory of a project on a
	// tree, if it is one of a success.
	Passed(ctx context.Context, command receipts.Hash, dir, place receipts.Datum, t receipts.Tree) (receipts.Entry, bool, error)
	// Counted returns the last receipt, not of run, of a success of a command that
	// counted tests.
	Counted(ctx context.Context, binding string, command receipts.Hash, run string) (receipts.Entry, bool, error)
}

// A ledger stands between a run and its store. It never fails: from the first
// error of the store on, the run is degraded. What is durable is always asked of the
// store, by the ticket of the receipt in question.
type ledger struct {
	store Store // nil for none

	mu       sync.Mutex
	degraded string // why; empty while the store is good
	last     int64  // the highest ticket that was handed out
}

var errNoStore = errors.New("no store")

func newLedger(s Store, reason string) *ledger {
	l := &ledger{store: s}
	if s == nil {
		if reason == "" {
			reason = errNoStore.Error()
		}
		l.degraded = reason
	}
	return l
}

// begin makes the start of the run durable.
func (l *ledger) begin(r *receipts.Run) {
	if l.store == nil {
		return
	}
	rec, err := r.Record()
	if err == nil {
		err = l.store.Append(context.Background(), rec)
	}
	if err != nil {
		l.fail(err)
	}
}

// submit hands a record over and returns its ticket. The record is evidence only once
// it is durable.
func (l *ledger) submit(rec receipts.Record) (ticket int64) {
	// Another result may have a higher ticket by now.
	ticket = l.store.Submit(rec)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = max(l.last, ticket)
	return ticket
}

// sync waits until all that was submitted before is durable, and returns why it is not.
// An interrupted run still syncs: what is known is recorded.
func (l *ledger) sync() error {
	l.mu.Lock()
	reason, last := l.degraded, l.last
	l.mu.Unlock()
	if reason != "" {
		return errors.New(reason)
	}
	return l.durable(last)
}

// durable waits until the record of a ticket is durable, and returns why it is not.
func (l *ledger) durable(ticket int64) error {
	err := l.store.Durable(context.Background(), ticket)
	if err != nil {
		l.fail(err)
	}
	return err
}

func (l *ledger) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.degraded == "" {
		l.degraded = err.Error()
	}
}

// reason says why the run is degraded; empty if it is not.
func (l *ledger) reason() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.degraded
}

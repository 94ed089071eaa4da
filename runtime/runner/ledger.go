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
	// Submit hands a record over, to be made durable together with others.
	Submit(receipts.Record)
	// Sync returns when all that was submitted is durable, or why it is not.
	Sync(ctx context.Context) error
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
// error of the store on, the run is degraded.
type ledger struct {
	store Store

	mu       sync.Mutex
	degraded string                 // why; empty while the store is good
	pending  map[receipts.Hash]bool // submitted, not yet known to be durable
	lost     map[receipts.Hash]bool // never acknowledged
}

var errNoStore = errors.New("no store")

func newLedger(s Store, reason string) *ledger {
	l := &ledger{store: s, pending: make(map[receipts.Hash]bool), lost: make(map[receipts.Hash]bool)}
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
	if l.reason() != "" {
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

// submit hands a receipt over and returns its hash. The hash is valid evidence
// only once sync has returned nil. Without a store no receipt is made.
func (l *ledger) submit(make func() *receipts.Receipt) receipts.Hash {
	if l.store == nil {
		return receipts.Hash{}
	}
	rec, err := make().Record()
	if err != nil {
		l.fail(err)
		return receipts.Hash{}
	}
	h := rec.SHA()
	l.mu.Lock()
	if l.degraded != "" {
		l.lost[h] = true
		l.mu.Unlock()
		return h
	}
	l.pending[h] = true
	l.mu.Unlock()
	l.store.Submit(rec)
	return h
}

// sync waits until all that was submitted is durable, and returns why it is not.
// An interrupted run still syncs: what is known is recorded.
func (l *ledger) sync() error {
	l.mu.Lock()
	reason, waiting := l.degraded, len(l.pending)
	l.mu.Unlock()
	switch {
	case reason != "":
		return errors.New(reason)
	case waiting == 0:
		return nil
	}
	if err := l.store.Sync(context.Background()); err != nil {
		l.fail(err)
		return err
	}
	l.acknowledge()
	return nil
}

// acknowledge notes that all that was submitted is durable.
func (l *ledger) acknowledge() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.pending)
}

func (l *ledger) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.degraded == "" {
		l.degraded = err.Error()
	}
	for h := range l.pending {
		l.lost[h] = true
	}
	clear(l.pending)
}

// reason says why the run is degraded; empty if it is not.
func (l *ledger) reason() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.degraded
}

// isLost reports whether the receipt h was never acknowledged.
func (l *ledger) isLost(h receipts.Hash) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost[h]
}

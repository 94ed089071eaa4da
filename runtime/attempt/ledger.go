package attempt

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/receipts"
)

// A Store keeps the records of a run; *sqlite.Store is one.
type Store interface {
	// Append makes records durable, and returns when they are.
	Append(ctx context.Context, records ...receipts.Record) error
	// Submit hands a record over, to be made durable together with others, and returns
	// its ticket. A later record has a higher one.
	Submit(receipts.Record) (ticket int64)
	// SubmitSigned is Submit of the receipt of a worker, with its signature, which one of the keys of workers has made.
	SubmitSigned(receipts.Record, receipts.Signature, note.Verifiers) (ticket int64)
	// Durable returns when the record of a ticket, and each of a lower one, is durable,
	// or why it is not. Ticket 0 is durable from the start.
	Durable(ctx context.Context, ticket int64) error
	// Gate validates the receipts of a request and consumes them, all or none,
	// and makes durable what was submitted before.
	Gate(ctx context.Context, g receipts.GateRequest) (receipts.Decision, error)
	// Validate checks receipts, by hash or unique prefix, at the level of what the store itself records, and changes nothing.
	Validate(ctx context.Context, ids ...string) (receipts.Decision, error)
	// Passed returns the last receipt of a command in a directory of a project on a
	// tree, if it is one of a success.
	Passed(ctx context.Context, command receipts.Hash, dir, place receipts.Datum, t receipts.Tree) (receipts.Entry, bool, error)
	// Counted returns, for each of some commands, the last receipt, not of run, of a success that counted tests.
	Counted(ctx context.Context, asked []receipts.Counting, run string) (map[receipts.Counting]receipts.Entry, error)
}

// A ledger stands between a run and its store. It never fails: from the first
// error of the store on, the run is degraded. What is durable is always asked of the
// store, by the ticket of the receipt in question.
type ledger struct {
	store Store // nil for none

	ending, killed context.Context // of the run
	patience       time.Duration

	mu       sync.Mutex
	degraded string // why; empty while the store is good
	late     bool   // the store did not answer a run that had to end: nobody waits for it again
	last     int64  // the highest ticket that was handed out
}

var errNoStore = errors.New("no store")

// See [Options.Patience].
const (
	storePatience  = 4 * time.Second
	killedPatience = 500 * time.Millisecond
)

var errLate = errors.New("the store did not answer a run that had to end: another process may hold it locked")

func newLedger(o Options, ending, killed context.Context) *ledger {
	l := &ledger{store: o.Store, ending: ending, killed: killed, patience: cmp.Or(o.Patience, storePatience)}
	if reason := o.Degraded; l.store == nil {
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
		ctx, done := l.question()
		defer done()
		err = l.store.Append(ctx, rec)
	}
	if err != nil {
		l.fail(err)
	}
}

// submit hands a record over and returns its ticket. The record is evidence only once
// it is durable.
func (l *ledger) submit(rec receipts.Record) (ticket int64) {
	return l.submitted(l.store.Submit(rec))
}

// submitSigned is submit of the receipt of a worker.
func (l *ledger) submitSigned(rec receipts.Record, g receipts.Signature, workers note.Verifiers) (ticket int64) {
	return l.submitted(l.store.SubmitSigned(rec, g, workers))
}

// submitted notes a ticket: another result may have a higher one by now.
func (l *ledger) submitted(ticket int64) int64 {
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
	ctx, done := l.question()
	defer done()
	err := l.store.Durable(ctx, ticket)
	if err != nil {
		l.fail(err)
	}
	return err
}

// question returns the context of a question to the store. While the run goes on nothing
// ends it; once the run is cut short, its graces do.
func (l *ledger) question() (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	l.mu.Lock()
	late := l.late
	l.mu.Unlock()
	if late {
		cancel(errLate)
		return ctx, func() {}
	}
	after := func(grace time.Duration) func() {
		return func() {
			select {
			case <-time.After(grace):
				cancel(errLate)
			case <-ctx.Done():
			}
		}
	}
	ended, killed := context.AfterFunc(l.ending, after(l.patience)), context.AfterFunc(l.killed, after(min(l.patience, killedPatience)))
	return ctx, func() {
		ended()
		killed()
		cancel(nil)
	}
}

// ask returns what f returns, or an error if the run cannot wait for it any longer. SQLite
// waits for the lock of a file whatever becomes of a context; f is left behind then.
func ask[T any](l *ledger, f func(context.Context) (T, error)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	ctx, done := l.question()
	defer done()
	var none T
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	ch := make(chan answer, 1)
	go func() {
		v, err := f(ctx)
		ch <- answer{v, err}
	}()
	select {
	case a := <-ch:
		return a.v, a.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// A patient store answers as long as its ledger has patience, whatever the context of a
// question; what a ledger asks for itself does not go through it.
type patient struct {
	Store
	ledger *ledger
}

func (p patient) Gate(_ context.Context, g receipts.GateRequest) (receipts.Decision, error) {
	return ask(p.ledger, func(ctx context.Context) (receipts.Decision, error) { return p.Store.Gate(ctx, g) })
}

func (p patient) Validate(_ context.Context, ids ...string) (receipts.Decision, error) {
	return ask(p.ledger, func(ctx context.Context) (receipts.Decision, error) { return p.Store.Validate(ctx, ids...) })
}

// A found is what Passed returns.
type found struct {
	entry receipts.Entry
	ok    bool
}

func (p patient) Passed(_ context.Context, command receipts.Hash, dir, place receipts.Datum, t receipts.Tree) (receipts.Entry, bool, error) {
	f, err := ask(p.ledger, func(ctx context.Context) (found, error) {
		e, ok, err := p.Store.Passed(ctx, command, dir, place, t)
		return found{e, ok}, err
	})
	return f.entry, f.ok, err
}

func (p patient) Counted(_ context.Context, asked []receipts.Counting, run string) (map[receipts.Counting]receipts.Entry, error) {
	return ask(p.ledger, func(ctx context.Context) (map[receipts.Counting]receipts.Entry, error) {
		return p.Store.Counted(ctx, asked, run)
	})
}

func (l *ledger) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// The contexts of questions are the ledger's own: what they end with is its patience.
	if errors.Is(err, context.Canceled) || err == errLate {
		err, l.late = errLate, true
	}
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

package attempt

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/receipts"
)

// A Catcher is the store of one attempt that is made for another machine: it catches the receipt, which is for the store of
// the orchestrator.
type Catcher struct {
	mu  sync.Mutex
	rec *receipts.Record
}

var errElsewhere = errors.New("the receipts are with the orchestrator")

// Caught returns the receipt; nil if there is none.
func (c *Catcher) Caught() *receipts.Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rec
}

// Append drops what is not of the attempt.
func (c *Catcher) Append(context.Context, ...receipts.Record) error { return nil }

// Submit catches the receipt.
func (c *Catcher) Submit(r receipts.Record) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rec = &r
	return 1
}

// SubmitSigned catches nothing.
func (c *Catcher) SubmitSigned(receipts.Record, receipts.Signature, note.Verifiers) int64 { return 0 }

// Durable has nothing to wait for.
func (c *Catcher) Durable(context.Context, int64) error { return nil }

// Gate is for the orchestrator.
func (c *Catcher) Gate(context.Context, receipts.GateRequest) (receipts.Decision, error) {
	return receipts.Decision{}, errElsewhere
}

// Validate is for the orchestrator.
func (c *Catcher) Validate(context.Context, ...string) (receipts.Decision, error) {
	return receipts.Decision{}, errElsewhere
}

// Passed knows no earlier run.
func (c *Catcher) Passed(context.Context, receipts.Hash, receipts.Datum, receipts.Datum, receipts.Tree) (receipts.Entry, bool, error) {
	return receipts.Entry{}, false, nil
}

// Counted knows no earlier run.
func (c *Catcher) Counted(context.Context, []receipts.Counting, string) (map[receipts.Counting]receipts.Entry, error) {
	return nil, nil
}

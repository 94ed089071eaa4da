package worker

import (
	"context"
	"errors"
	"sync"

	"github.com/command-dialect/dialect/receipts"
)

// A catcher is the store of one attempt: it catches the receipt, which is for the store of the orchestrator.
type catcher struct {
	mu  sync.Mutex
	rec *receipts.Record
}

var errElsewhere = errors.New("the receipts are with the orchestrator")

func (c *catcher) Append(context.Context, ...receipts.Record) error { return nil }

func (c *catcher) Submit(r receipts.Record) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rec = &r
	return 1
}

func (c *catcher) SubmitSigned(receipts.Record, receipts.Signature) int64 { return 0 }

func (c *catcher) Durable(context.Context, int64) error { return nil }

func (c *catcher) Gate(context.Context, receipts.GateRequest) (receipts.Decision, error) {
	return receipts.Decision{}, errElsewhere
}

func (c *catcher) Validate(context.Context, ...string) (receipts.Decision, error) {
	return receipts.Decision{}, errElsewhere
}

func (c *catcher) Passed(context.Context, receipts.Hash, receipts.Datum, receipts.Datum, receipts.Tree) (receipts.Entry, bool, error) {
	return receipts.Entry{}, false, nil
}

func (c *catcher) Counted(context.Context, string, receipts.Hash, string) (receipts.Entry, bool, error) {
	return receipts.Entry{}, false, nil
}

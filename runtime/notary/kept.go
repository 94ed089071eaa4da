package notary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// A keeper is the store of one run. It holds what was handed over until that is durable, so that a disk which is full in the moment
// of a failure, loses nothing: what is missing is appended before anything else runs.
type keeper struct {
	attempt.Store
	cut context.CancelCauseFunc // ends the run

	mu   sync.Mutex
	held []held
	why  error // why something is not durable; nil if all may be
	over bool  // the run is
}

// held is a record with its ticket; 0 where it got none.
type held struct {
	receipts.Record
	ticket int64
}

// keeper returns the keeper of a run that begins.
func (n *Notary) keeper(r *run) *keeper {
	k := &keeper{cut: r.cancel}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.keep = append(n.keep, k)
	return k
}

// of returns a store whose records are kept; nil for none.
func (k *keeper) of(s attempt.Store) attempt.Store {
	if s == nil {
		return nil
	}
	k.Store = s
	return k
}

// Append is of the record that a run begins with. No line runs where that cannot be made durable: of a run that is cut short by whatever
// means, the log says that it began.
func (k *keeper) Append(ctx context.Context, rs ...receipts.Record) error {
	err := k.Store.Append(ctx, rs...)
	if err != nil {
		for _, r := range rs {
			k.hold(r, 0)
		}
		k.failed(err)
		k.cut(attempt.Cut{Brief: schedule.Brief{Verdict: schedule.Fault, Reason: receipts.StopUnrecordable, Text: "that the run began could not be recorded: " + err.Error()}})
	}
	return err
}

func (k *keeper) Submit(r receipts.Record) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	ticket := k.Store.Submit(r)
	k.held = append(k.held, held{r, ticket})
	return ticket
}

func (k *keeper) Durable(ctx context.Context, ticket int64) error {
	err := k.Store.Durable(ctx, ticket)
	switch {
	case err != nil && ctx.Err() != nil: // it may still become durable
		return err
	case err != nil:
		k.failed(err)
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held = slices.DeleteFunc(k.held, func(h held) bool { return h.ticket > 0 && h.ticket <= ticket })
	return nil
}

func (k *keeper) hold(r receipts.Record, ticket int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held = append(k.held, held{r, ticket})
}

func (k *keeper) failed(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.why == nil {
		k.why = err
	}
}

// end looks, once the store is closed, what is not in it.
func (k *keeper) end(ctx context.Context) {
	for _, h := range k.missing() {
		if h.ticket > 0 {
			_ = k.Durable(context.WithoutCancel(ctx), h.ticket) // a store that is closed answers at once
		}
	}
}

// done reports whether nothing more comes of a run, and nothing of it is missing.
func (k *keeper) done() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.over && len(k.held) == 0
}

// missing returns what is held.
func (k *keeper) missing() []held {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.held)
}

// behind says how much is not recorded; nil where all is, or may still be by itself.
func behind(keep []*keeper) error {
	records, why := 0, error(nil)
	for _, k := range keep {
		k.mu.Lock()
		if k.why != nil && len(k.held) > 0 {
			records, why = records+len(k.held), k.why
		}
		k.mu.Unlock()
	}
	if records == 0 {
		return nil
	}
	return fmt.Errorf("%s of what happened could not be recorded: %w", diag.Number(records, "record"), why)
}

// over takes in that a run is over and its store closed. The error says that not all of it could be recorded when it happened.
func (n *Notary) over(ctx context.Context, k *keeper) error {
	k.end(ctx)
	k.mu.Lock()
	k.over = true
	k.mu.Unlock()
	_ = n.settle(context.WithoutCancel(ctx)) // else the next one says why
	n.mu.Lock()
	defer n.mu.Unlock()
	n.keep = slices.DeleteFunc(n.keep, (*keeper).done)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.why == nil {
		return nil
	}
	return fmt.Errorf("not all could be recorded when it happened: %w", k.why)
}

// settle appends what runs could not. The error says that it still cannot be: then nothing runs, and there is no proof.
func (n *Notary) settle(ctx context.Context) error {
	n.settling.Lock()
	defer n.settling.Unlock()
	n.mu.Lock()
	keep, closed := slices.Clone(n.keep), n.store == nil
	n.mu.Unlock()
	if err := behind(keep); err == nil || closed {
		return err
	}
	// A store that has failed once appends nothing more.
	s, err := sqlite.Open(ctx, n.path(), sqlite.Options{Signer: n.signer})
	if err != nil {
		return errors.Join(behind(keep), err)
	}
	for _, k := range keep {
		k.mu.Lock()
		late := k.why != nil
		k.mu.Unlock()
		if !late {
			continue
		}
		for _, h := range k.missing() {
			if err = s.Append(ctx, h.Record); err != nil { // what the store has already stays as it is
				break
			}
			k.drop(h.Record)
		}
	}
	_ = s.Close() // each record is durable, or it is held
	return behind(keep)
}

// drop lets go of a record that is durable.
func (k *keeper) drop(r receipts.Record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held = slices.DeleteFunc(k.held, func(h held) bool { return h.SHA() == r.SHA() })
}

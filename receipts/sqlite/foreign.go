package sqlite

import (
	"bytes"
	"context"
	"fmt"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// An attemptKey names an attempt that a worker was asked for.
type attemptKey struct {
	run, step string
	attempt   int
}

// An AttemptTakenError says that the receipt of a worker was not appended.
type AttemptTakenError struct {
	Run, Step string
	Attempt   int
	SHA       receipts.Hash // of the receipt that the log has for the attempt
}

func (e *AttemptTakenError) Error() string {
	return fmt.Sprintf("attempt %d of step %s of run %s has the receipt %s of a worker already", e.Attempt, e.Step, e.Run, e.SHA.Short())
}

// workers is what a store knows of the receipts of workers in its log.
type workers struct {
	read int64 // how many records of the log were looked at
	held map[attemptKey]receipts.Hash
}

// handed is in the body of each receipt of a worker.
var handed = []byte(`"dispatch":`)

// checkFirst returns an [*AttemptTakenError] if the log holds another receipt of a worker for the attempt of r. It reads the log, and not the
// projection, which decides nothing. What other processes appended is read in the transaction that appends r, so that of two one wins.
func (w *appender) checkFirst(r receipts.Record) error {
	v, err := r.Parse()
	if err != nil {
		return err
	}
	own, ok := v.(*receipts.Receipt)
	if !ok || own.Dispatch == 0 {
		return fmt.Errorf("%s is not the receipt of a worker", r.SHA().Short())
	}
	known := &w.s.workers
	if known.held == nil {
		known.held = make(map[attemptKey]receipts.Hash)
	}
	err = sqlLog{w.s}.Records(w.ctx, known.read, func(old verify.Raw) bool {
		if old.Seq >= w.head.count {
			return false
		}
		known.read = old.Seq + 1
		rec := receipts.Record{Kind: old.Kind, Body: old.Body}
		if !bytes.Contains(rec.Body, handed) {
			return true
		}
		v, err := rec.Parse()
		if old, ok := v.(*receipts.Receipt); err == nil && ok && old.StopReason != receipts.StopWorkerLost && old.Dispatch > 0 {
			known.held[attemptKey{old.Run, old.Step, old.Attempt}] = rec.SHA()
		}
		return true
	})
	if err != nil {
		return err
	}
	if sha, taken := known.held[attemptKey{own.Run, own.Step, own.Attempt}]; taken && sha != r.SHA() {
		return &AttemptTakenError{own.Run, own.Step, own.Attempt, sha}
	}
	return nil
}

// Gates returns the hashes of the gate receipts of a run, as the projection has them: [Store.Validate] says whether one is
// what it seems.
func (s *Store) Gates(ctx context.Context, run string) (ids []string, err error) {
	entries, err := s.List(ctx, Filter{Kinds: []receipts.Kind{receipts.KindGate}, Run: run})
	for _, e := range entries {
		ids = append(ids, e.SHA.String())
	}
	return ids, err
}

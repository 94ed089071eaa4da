package sqlite

import (
	"context"
	"fmt"

	"github.com/command-dialect/dialect/receipts"
)

// An attemptKey names an attempt that a worker was asked for.
type attemptKey struct {
	run, step string
	attempt   int
}

// workers is what a store knows of the receipts of workers: those of the runs that it was asked to append for, up to a
// record of the log.
type workers struct {
	runs map[string]int64 // run -> the record from which on its receipts were not read yet
	held map[attemptKey]receipts.Hash
}

// checkFirst returns an error if the log holds another receipt of a worker for the attempt of r. What other
// processes appended is read in the transaction that appends r, so that of two one wins.
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
	if known.runs == nil {
		known.runs, known.held = make(map[string]int64), make(map[attemptKey]receipts.Hash)
	}
	st, err := w.s.stmt(w.ctx, "SELECT record.seq, record.kind, record.body, record.signature FROM item JOIN record ON record.seq = item.seq WHERE item.run = ? AND item.seq >= ? AND item.kind = 'receipt'")
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(w.ctx, own.Run, known.runs[own.Run])
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var rec receipts.Record
		var signature *string
		if err := rows.Scan(&seq, &rec.Kind, &rec.Body, &signature); err != nil {
			return err
		}
		known.runs[own.Run] = max(known.runs[own.Run], seq+1)
		v, err := rec.Parse()
		if old, ok := v.(*receipts.Receipt); err == nil && ok && old.StopReason != receipts.StopWorkerLost && old.Dispatch > 0 {
			known.held[attemptKey{old.Run, old.Step, old.Attempt}] = rec.SHA()
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if sha, taken := known.held[attemptKey{own.Run, own.Step, own.Attempt}]; taken && sha != r.SHA() {
		return fmt.Errorf("attempt %d of step %s of run %s has the receipt %s of a worker already", own.Attempt, own.Step, own.Run, sha.Short())
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

package sqlite

import (
	"bytes"
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

// workers is what a store knows of the receipts in its log that name an attempt of a worker, and a key that may have signed them.
type workers struct {
	read int64 // how many records of the log were looked at
	held map[attemptKey][]handedIn
}

// A handedIn is such a receipt. Only one that a worker has signed stands in the place of another: anybody who can write the store could else
// keep the failure of a worker out of it.
type handedIn struct {
	sha       receipts.Hash
	signature receipts.Signature
}

// handed is in the body of each receipt of a worker.
var handed = []byte(`"dispatch":`)

// checkFirst returns an [*AttemptTakenError] if the log holds another receipt for the attempt of r that one of the keys of r has signed. Only a success
// is refused so: who can have a worker carry out a line could else keep a failure out of the log with a success of before. It reads the
// log, and not the projection, which decides nothing. What other processes appended is read in the transaction that appends r, so that of two one wins.
func (w *appender) checkFirst(r submission) error {
	v, err := r.Parse()
	if err != nil {
		return err
	}
	own, ok := v.(*receipts.Receipt)
	if !ok || own.Dispatch == 0 {
		return fmt.Errorf("%s is not the receipt of a worker", r.SHA().Short())
	}
	if own.Status != receipts.Succeeded {
		return nil
	}
	known := &w.s.workers
	if known.held == nil {
		known.held = make(map[attemptKey][]handedIn)
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
		if was, ok := v.(*receipts.Receipt); err == nil && ok && was.StopReason != receipts.StopWorkerLost && was.Dispatch > 0 && was.Signer != "" && was.Signer == old.Signature.ID() {
			key := attemptKey{was.Run, was.Step, was.Attempt}
			known.held[key] = append(known.held[key], handedIn{rec.SHA(), old.Signature})
		}
		return true
	})
	if err != nil {
		return err
	}
	key := attemptKey{own.Run, own.Step, own.Attempt}
	for len(known.held[key]) > 0 {
		old := known.held[key][0]
		if _, by := old.signature.Check(w.head.origin, old.sha, r.workers); by == "" {
			known.held[key] = known.held[key][1:]
			continue
		}
		if old.sha != r.SHA() {
			return &AttemptTakenError{own.Run, own.Step, own.Attempt, old.sha}
		}
		break
	}
	return nil
}

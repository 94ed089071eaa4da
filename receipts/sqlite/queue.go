package sqlite

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/receipts"
)

// A queue gathers records that wait to be made durable. One goroutine writes all
// that is waiting in one transaction, so that the cost of a commit is shared. It
// lets records gather while nobody waits for them, since a commit each would cost
// as much as the commands that the receipts are of.
//
// Tickets count what was submitted, and records are committed in that order: what is
// durable is a prefix, and one number says how far it reaches. The first commit that
// fails ends the prefix for good.
type queue struct {
	mu        sync.Mutex
	work      sync.Cond // there may be something to do for the goroutine; on mu
	done      sync.Cond // records were written, or failed; on mu
	waiting   []submission
	taken     []submission // of a transaction under way
	submitted int64        // the last ticket
	durable   int64        // the last ticket whose record is durable, or was refused
	refused   map[int64]error
	err       error // sticky: why no later record will be
	waiters   int   // calls that wait for records to be durable
	ripe      bool  // the oldest record has waited for as long as it may
	running   bool
	closed    bool
}

// A submission is a record that is to be appended; one that another has signed brings its signature.
type submission struct {
	receipts.Record
	signature receipts.Signature // empty: the store signs, if it has a key
	workers   note.Verifiers     // of whom the signature is; nil without one
	taken     *AttemptTakenError // why it was not appended; nil if it was, or nobody tried yet
}

// Bounds on what gathers.
const (
	linger    = 25 * time.Millisecond
	fullBatch = 64 // records
)

// never is the ticket of a record that was not taken.
const never = math.MaxInt64

func (q *queue) init() { q.work.L, q.done.L, q.refused = &q.mu, &q.mu, make(map[int64]error) }

var errClosed = errors.New("it is closed")

// Submit hands a record over, to be made durable within some milliseconds, or as
// soon as anybody waits for it, and returns its ticket: [Store.Durable] says whether
// it was. A later record has a higher ticket.
func (s *Store) Submit(r receipts.Record) (ticket int64) { return s.submit(submission{Record: r}) }

// SubmitSigned is [Store.Submit] of the receipt of a worker, with the signature that its maker made for this store
// ([Store.Origin]); the store signs nothing of it. The caller has checked it by the keys of its workers, which are the same for all that it
// submits. Of one attempt of a run the first receipt that one of these keys has signed is taken, and what says no. For another success [Store.Durable]
// returns an [*AttemptTakenError]: two workers cannot both have been asked. What else was submitted is not affected.
func (s *Store) SubmitSigned(r receipts.Record, g receipts.Signature, workers note.Verifiers) (ticket int64) {
	return s.submit(submission{Record: r, signature: g, workers: workers})
}

// Origin returns the origin of the store's log, which signatures of its records are made for.
func (s *Store) Origin(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, err := s.readHead(ctx)
	return h.origin, s.unusable(err)
}

func (s *Store) submit(rs ...submission) int64 {
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.err != nil {
		return never
	}
	q.waiting = append(q.waiting, rs...)
	q.submitted += int64(len(rs))
	if !q.running {
		q.running = true
		go s.write()
	}
	q.work.Signal()
	return q.submitted
}

// Durable returns when the record of a ticket is durable, and with it each record of a
// lower ticket that was not refused by itself; or it returns why it is not. Where the error is that of ctx, the record
// may still become durable; any other error is final. Ticket 0 is durable from the start.
func (s *Store) Durable(ctx context.Context, ticket int64) error {
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	return s.unusable(q.wait(ctx, ticket))
}

// Append makes records durable, in order, and returns when they are. A record
// that the store holds already is not appended again.
func (s *Store) Append(ctx context.Context, rs ...receipts.Record) error {
	list := make([]submission, len(rs))
	for i, r := range rs {
		list[i].Record = r
	}
	return s.Durable(ctx, s.submit(list...))
}

func (q *queue) wait(ctx context.Context, ticket int64) error {
	if q.durable >= ticket {
		return q.refused[ticket]
	}
	defer context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.done.Broadcast()
	})()
	q.waiters++
	defer func() { q.waiters-- }()
	q.work.Signal()
	for q.durable < ticket {
		switch {
		case q.err != nil:
			return q.err
		case q.closed && !q.running:
			return errClosed
		case ctx.Err() != nil:
			return ctx.Err()
		}
		q.done.Wait()
	}
	return q.refused[ticket]
}

// gather waits until what is waiting is worth a commit, or somebody wants it.
func (q *queue) gather() {
	q.ripe = false
	timer := time.AfterFunc(linger, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.ripe = true
		q.work.Signal()
	})
	defer timer.Stop()
	for len(q.waiting) > 0 && len(q.waiting) < fullBatch && q.waiters == 0 && !q.ripe && !q.closed {
		q.work.Wait()
	}
}

// write is the goroutine of the queue.
func (s *Store) write() {
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for len(q.waiting) == 0 && !q.closed {
			q.work.Wait()
		}
		if len(q.waiting) == 0 || q.err != nil {
			q.running = false
			q.done.Broadcast()
			return
		}
		q.gather()
		q.mu.Unlock()
		s.appendWaiting()
		q.mu.Lock()
	}
}

// appendWaiting appends all that waits, in a transaction of its own. If that fails, no
// later record is written either: what is durable stays a prefix.
func (s *Store) appendWaiting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch, _ := s.queue.take()
	if len(batch) == 0 {
		return // a gate has taken it in
	}
	ctx := context.Background()
	err := s.immediate(ctx, func(ctx context.Context) error {
		_, err := s.add(ctx, batch...)
		return err
	})
	if err != nil {
		s.queue.fail(err)
		return
	}
	s.queue.settle(len(batch), nil)
}

// take hands out what waits, to the holder of the store's lock: so what was
// submitted first is appended first.
func (q *queue) take() ([]submission, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return nil, q.err
	}
	q.taken, q.waiting = q.waiting, nil
	return q.taken, nil
}

// settle notes what became of the n records that were taken. Where the transaction of
// a gate failed they wait again: what the gate failed of need not be wrong with them.
func (q *queue) settle(n int, err error) {
	if n == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		q.waiting = append(q.taken, q.waiting...)
		q.work.Signal()
	} else {
		for i, r := range q.taken {
			if r.taken != nil {
				q.refused[q.durable+int64(i)+1] = r.taken
			}
		}
		q.durable += int64(n)
	}
	q.taken = nil
	q.done.Broadcast()
}

// fail notes that records could not be written, and why.
func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err, q.taken, q.waiting = err, nil, nil
	q.done.Broadcast()
}

// close waits until what was submitted is written, ends the goroutine, and returns why
// a record was not written.
func (q *queue) close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.work.Broadcast()
	for q.running {
		q.done.Wait()
	}
	return q.err
}

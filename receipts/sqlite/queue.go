package sqlite

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// A queue gathers records that wait to be made durable. One goroutine writes all
// that is waiting in one transaction, so that the cost of a commit is shared. It
// lets records gather while nobody waits for them, since a commit each would cost
// as much as the commands that the receipts are of.
type queue struct {
	mu        sync.Mutex
	work      sync.Cond // there may be something to do for the goroutine; on mu
	done      sync.Cond // records were written, or failed; on mu
	waiting   []receipts.Record
	submitted int64
	durable   int64
	err       error // sticky: the first failure
	waiters   int   // calls that wait for records to be durable
	ripe      bool  // the oldest record has waited for as long as it may
	running   bool
	closed    bool
}

// Bounds on what gathers.
const (
	linger    = 10 * time.Millisecond
	fullBatch = 64 // records
)

func (q *queue) init() { q.work.L, q.done.L = &q.mu, &q.mu }

var errClosed = errors.New("it is closed")

// Submit hands a record over, to be made durable within some milliseconds, or as
// soon as anybody waits for it. Whether it was is said by the next Sync; an error
// stays, and fails each Sync after it.
func (s *Store) Submit(r receipts.Record) { s.submit(r) }

func (s *Store) submit(rs ...receipts.Record) int64 {
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed && q.err == nil {
		q.err = errClosed
	}
	q.waiting = append(q.waiting, rs...)
	q.submitted += int64(len(rs))
	if !q.running && !q.closed {
		q.running = true
		go s.write()
	}
	q.work.Signal()
	return q.submitted
}

// Sync returns when all that was submitted before is durable, or why it is not.
func (s *Store) Sync(context.Context) error {
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	return s.unusable(q.wait(q.submitted))
}

// Append makes records durable, in order, and returns when they are. A record
// that the store holds already is not appended again.
func (s *Store) Append(_ context.Context, rs ...receipts.Record) error {
	n := s.submit(rs...)
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	return s.unusable(q.wait(n))
}

func (q *queue) wait(n int64) error {
	q.waiters++
	defer func() { q.waiters-- }()
	q.work.Signal()
	for q.durable < n && q.err == nil {
		q.done.Wait()
	}
	return q.err
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

// appendWaiting appends all that waits, in a transaction of its own.
func (s *Store) appendWaiting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch, _ := s.queue.take()
	if len(batch) == 0 {
		return // a gate has taken it in
	}
	ctx := context.Background()
	s.queue.settle(len(batch), s.immediate(ctx, func() error {
		w, err := s.beginAppend(ctx)
		if err != nil {
			return err
		}
		if err := w.appendAll(batch); err != nil {
			return err
		}
		return w.finish()
	}))
}

// take hands out what waits, to whoever holds the lock of the store: so what was
// submitted first is appended first.
func (q *queue) take() ([]receipts.Record, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return nil, q.err
	}
	batch := q.waiting
	q.waiting = nil
	return batch, nil
}

// settle says what became of n records that were taken.
func (q *queue) settle(n int, err error) {
	if n == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		q.err = err
	} else {
		q.durable += int64(n)
	}
	q.done.Broadcast()
}

// close waits for what was submitted and ends the goroutine.
func (q *queue) close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	err := q.wait(q.submitted)
	if errors.Is(err, errClosed) {
		err = nil
	}
	q.closed = true
	q.work.Broadcast()
	for q.running {
		q.done.Wait()
	}
	return err
}

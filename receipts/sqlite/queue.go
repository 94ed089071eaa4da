package sqlite

import (
	"context"
	"errors"
	"sync"

	"github.com/command-dialect/dialect/receipts"
)

// A queue gathers records that wait to be made durable. One goroutine writes all
// that is waiting in one transaction, so that the cost of a commit is shared by
// what was submitted during the one before.
type queue struct {
	mu        sync.Mutex
	work      sync.Cond // records were added, or the queue was closed; on mu
	done      sync.Cond // records were written, or failed; on mu
	waiting   []receipts.Record
	submitted int64
	durable   int64
	err       error // sticky: the first failure
	running   bool
	closed    bool
}

func (q *queue) init() { q.work.L, q.done.L = &q.mu, &q.mu }

var errClosed = errors.New("it is closed")

// Submit hands a record over, to be made durable soon. Whether it was is said by
// the next Sync; an error stays, and fails each Sync after it.
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
	for q.durable < n && q.err == nil {
		q.done.Wait()
	}
	return q.err
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
		batch := q.waiting
		q.waiting = nil
		q.mu.Unlock()
		err := s.appendAll(context.Background(), batch)
		q.mu.Lock()
		if err != nil {
			q.err = err
		} else {
			q.durable += int64(len(batch))
		}
		q.done.Broadcast()
	}
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

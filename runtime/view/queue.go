package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// A Queue writes in the background, in order, what it is given: no caller waits for a reader
// that does not read, and so no budget of a run does.
//
// It holds about queueBound bytes. Once it is full, [Queue.Hold] asks for no more. A reader
// that has then read nothing for the patience of the queue misses what comes until it reads
// again; a line says how much that was. Without patience nothing is lost, and Hold has no end.
type Queue struct {
	o QueueOptions

	mu       sync.Mutex
	pieces   []piece
	size     int // bytes in pieces, and of the write under way
	running  bool
	progress time.Time     // when the reader last took something
	full     chan struct{} // closed once there is room, or patience is over; nil if there is room
	stuck    bool          // patience is over
	lost     int64
	failed   map[io.Writer]error
	drained  chan struct{} // closed when nothing is left; nil if nobody asked
}

// QueueOptions say how patient a [Queue] is.
type QueueOptions struct {
	Patience time.Duration // zero for ever
	// Whole says that what is written must have no gap: once something is lost, nothing
	// more is written, and Write fails. Who writes asks Hold after each burst: while the
	// reader reads, a burst of any size is kept, for one of short lines makes events of a
	// hundred times its size.
	Whole bool
	// Failed, if set, is called when a write fails, once for each writer.
	Failed func(error)
}

// Patience is how long a reader may keep a run waiting.
const Patience = 5 * time.Second

const (
	queueBound = 256 << 10 // bytes
	queueMost  = 16        // times queueBound, of a queue with patience that may have gaps
	queueWrite = 64 << 10  // bytes of one write, if of several pieces
)

// ErrUnread says that a reader did not read.
var ErrUnread = errors.New("its reader does not read")

type piece struct {
	to io.Writer
	p  []byte
}

// NewQueue returns an empty queue. It needs no Close: its goroutine ends when it is empty.
func NewQueue(o QueueOptions) *Queue {
	return &Queue{o: o, failed: make(map[io.Writer]error)}
}

// To returns what puts into the queue what is to be written to w, which must be comparable.
// Its Write returns the error of an earlier write.
func (q *Queue) To(w io.Writer) io.Writer { return queued{q, w} }

type queued struct {
	q *Queue
	w io.Writer
}

func (w queued) Write(p []byte) (int, error) { return w.q.write(w.w, p) }

func (q *Queue) write(w io.Writer, p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.failed[w]; err != nil {
		return 0, err
	}
	if q.o.Patience > 0 && (q.stuck && q.size >= queueBound || !q.o.Whole && q.size >= queueMost*queueBound) {
		q.lost += int64(len(p))
		if q.o.Whole {
			q.failed[w] = ErrUnread
			return 0, ErrUnread
		}
		return len(p), nil
	}
	q.put(w, append([]byte(nil), p...))
	return len(p), nil
}

// put adds a piece; mu is held.
func (q *Queue) put(w io.Writer, p []byte) {
	q.pieces = append(q.pieces, piece{w, p})
	if q.size += len(p); q.size >= queueBound && q.full == nil && !q.stuck {
		q.full = make(chan struct{})
		if q.o.Patience > 0 {
			time.AfterFunc(q.o.Patience, q.giveUp)
		}
	}
	if !q.running {
		q.running, q.progress = true, time.Now()
		go q.run()
	}
}

// giveUp ends the wait for a reader that does not read.
func (q *Queue) giveUp() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.full == nil {
		return
	}
	if left := q.o.Patience - time.Since(q.progress); left > 0 {
		time.AfterFunc(left, q.giveUp)
		return
	}
	q.stuck = true
	q.makeRoom()
}

func (q *Queue) makeRoom() {
	if q.full != nil {
		close(q.full)
		q.full = nil
	}
}

// run writes until nothing is left.
func (q *Queue) run() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.pieces) > 0 {
		next := q.pieces[0]
		n := 1
		for n < len(q.pieces) && q.pieces[n].to == next.to && len(next.p)+len(q.pieces[n].p) <= queueWrite {
			next.p = append(next.p, q.pieces[n].p...)
			n++
		}
		clear(q.pieces[:n])
		if q.pieces = q.pieces[n:]; len(q.pieces) == 0 {
			q.pieces = nil
		}
		if err := q.failed[next.to]; err == nil || err == ErrUnread {
			q.mu.Unlock()
			_, err = next.to.Write(next.p)
			q.mu.Lock()
			if err != nil && q.failed[next.to] == nil {
				q.failed[next.to] = err
				if q.o.Failed != nil {
					q.mu.Unlock()
					q.o.Failed(err)
					q.mu.Lock()
				}
			}
		}
		q.size -= len(next.p)
		q.progress = time.Now()
		if q.size < queueBound/2 {
			q.stuck = false
			q.makeRoom()
			if lost := q.lost; lost > 0 && !q.o.Whole {
				q.lost = 0
				q.put(next.to, fmt.Appendf(nil, "\ndialect: %d bytes are not shown here: nobody read them in time\n", lost))
			}
		}
	}
	q.running = false
	if q.drained != nil {
		close(q.drained)
		q.drained = nil
	}
}

// Hold returns what is closed once the queue may get more; nil if it may now.
func (q *Queue) Hold() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.full
}

// Busy reports whether something is not written yet.
func (q *Queue) Busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running
}

// Err returns why something could not be written; nil if all could so far.
func (q *Queue) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, err := range q.failed {
		return err
	}
	return nil
}

// Wait waits until all is written, or ctx is done.
func (q *Queue) Wait(ctx context.Context) {
	q.mu.Lock()
	drained := q.rest()
	q.mu.Unlock()
	select {
	case <-drained:
	case <-ctx.Done():
	}
}

// rest returns what is closed when nothing is left; mu is held.
func (q *Queue) rest() <-chan struct{} {
	if q.drained == nil {
		q.drained = make(chan struct{})
		if !q.running {
			ch := q.drained
			close(ch)
			q.drained = nil
			return ch
		}
	}
	return q.drained
}

// Flush waits until all is written, and reports whether it is. It gives up on a reader that
// has read nothing for the patience of the queue; on one of a queue without patience after
// [Patience], once ctx is done.
func (q *Queue) Flush(ctx context.Context) bool {
	for {
		q.mu.Lock()
		if !q.running {
			q.mu.Unlock()
			return true
		}
		drained, patience := q.rest(), q.o.Patience
		quiet := time.Since(q.progress)
		q.mu.Unlock()
		done := ctx.Done()
		if patience == 0 && ctx.Err() != nil {
			patience, done = Patience, nil
		} else if patience > 0 {
			done = nil
		}
		var late <-chan time.Time
		if patience > 0 {
			if quiet >= patience {
				return false
			}
			late = time.After(patience - quiet)
		}
		select {
		case <-drained:
			return true
		case <-done:
		case <-late:
		}
	}
}

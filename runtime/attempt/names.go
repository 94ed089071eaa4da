package attempt

import (
	"sync"
	"time"
)

// namesLinger is how long names lets receipts gather: the store has committed them by then,
// unasked, so that no commit is made for the sake of an event.
const namesLinger = 20 * time.Millisecond

// A names emits a [Durable] for each receipt once it is durable, beside the run, which
// does not wait for it. It needs one goroutine, which begins with the first receipt, and
// ends at end or once the store has failed.
type names struct {
	ledger *ledger
	listen func(Event)

	mu      sync.Mutex
	waiting []naming
	ending  bool
	wake    chan struct{} // holds one, where something may be waiting
	over    chan struct{} // closed by end
	done    chan struct{} // nil before the goroutine runs
}

type naming struct {
	event  Durable
	ticket int64
}

func newNames(l *ledger, listen func(Event)) *names {
	return &names{ledger: l, listen: listen, wake: make(chan struct{}, 1), over: make(chan struct{})}
}

// add takes in the receipt of a ticket.
func (n *names) add(e Durable, ticket int64) {
	if n.listen == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ending {
		return
	}
	n.waiting = append(n.waiting, naming{e, ticket})
	if n.done == nil {
		n.done = make(chan struct{})
		go n.work()
	}
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// end returns when each receipt that is durable was named.
func (n *names) end() {
	n.mu.Lock()
	n.ending = true
	close(n.over)
	done := n.done
	n.mu.Unlock()
	if done != nil {
		<-done
	}
}

func (n *names) work() {
	defer close(n.done)
	for ending := false; !ending; {
		select {
		case <-n.wake:
		case <-n.over:
		}
		select {
		case <-n.over:
		case <-time.After(namesLinger):
		}
		n.mu.Lock()
		batch := n.waiting
		n.waiting, ending = nil, n.ending
		n.mu.Unlock()
		for _, w := range batch {
			if n.ledger.durable(w.ticket) == nil { // a lower ticket may come later in the batch
				n.listen(w.event)
			}
		}
	}
}

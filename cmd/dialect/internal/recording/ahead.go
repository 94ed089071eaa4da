package recording

import (
	"context"
	"sync"
	"time"

	"github.com/command-dialect/dialect/runtime/workspace"
)

// An ahead takes the first snapshot while the store is opened, and says once if one
// takes its time.
type ahead struct {
	*workspace.Tracker
	slow   func()
	once   sync.Once
	first  chan struct{} // closed when the first snapshot is there; nil once it was handed out
	cancel context.CancelFunc

	snapshot *workspace.Snapshot
	err      error
}

const slowSnapshot = 2 * time.Second

// begin begins to take the first snapshot.
func begin(t *workspace.Tracker, slow func()) *ahead {
	ctx, cancel := context.WithCancel(context.Background())
	a := &ahead{Tracker: t, slow: slow, first: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(a.first)
		a.snapshot, a.err = a.take(ctx)
	}()
	return a
}

func (a *ahead) take(ctx context.Context) (*workspace.Snapshot, error) {
	timer := time.AfterFunc(slowSnapshot, func() { a.once.Do(a.slow) })
	defer timer.Stop()
	return a.Tracker.Take(ctx)
}

// Take hands out the first snapshot, and takes those after it. It is called by one
// goroutine at a time.
func (a *ahead) Take(ctx context.Context) (*workspace.Snapshot, error) {
	if a.first == nil {
		return a.take(ctx)
	}
	defer context.AfterFunc(ctx, a.cancel)()
	<-a.first
	a.first = nil
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return a.snapshot, a.err
}

// end ends a snapshot that nobody took.
func (a *ahead) end() {
	a.cancel()
	if a.first != nil {
		<-a.first
	}
}

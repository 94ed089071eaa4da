package worker

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/dialect-temporal/flow"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/remote"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// TestLinger cuts a run short whose depot does not answer: its result is given up soon, and not before it was tried.
func TestLinger(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w, err := New(Options{Depot: "git://" + l.Addr().String() + "/depot.git", Folder: t.TempDir(), Sending: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cut := context.WithCancelCause(t.Context())
	why := errors.New("cut short")
	failed := make(chan error, 1)
	go func() {
		_, err := w.deliver(ctx, flow.Task{Spec: remote.Spec{Run: "r-1"}, Action: schedule.Action{Seq: 1}, Dispatch: 1}, new(attempt.Delivery))
		failed <- err
	}()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	cut(why)
	select {
	case err := <-failed:
		if !errors.Is(err, why) {
			t.Error(err)
		}
	case <-time.After(time.Minute): // git waits longer
		t.Error("the worker waits for its depot")
	}
	c.Close() // ends git
	l.Close()
}

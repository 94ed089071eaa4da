package view

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// A gate is a writer that blocks until it is opened.
type gate struct {
	open chan struct{}
	got  bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.got.Write(p)
}

func TestQueue(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	q := NewQueue(QueueOptions{Patience: 200 * time.Millisecond})
	w := q.To(g)
	begun := time.Now()
	var hold <-chan struct{}
	for hold == nil {
		io.WriteString(w, strings.Repeat("x", 1000))
		hold = q.Hold()
	}
	<-hold
	if took := time.Since(begun); took < 150*time.Millisecond || took > time.Minute {
		t.Errorf("patience was over after %v", took)
	}
	io.WriteString(w, strings.Repeat("y", 777))
	if q.Hold() != nil {
		t.Error("asks again for patience")
	}
	if q.Flush(context.Background()) {
		t.Error("flushed what nobody reads")
	}
	close(g.open)
	for q.Busy() {
		time.Sleep(time.Millisecond)
	}
	io.WriteString(w, "z")
	q.Flush(context.Background())
	if text := g.got.String(); strings.Contains(text, "y777") || !strings.HasSuffix(text, "\ndialect: 777 bytes are not shown here: nobody read them in time\nz") || len(text) < queueBound {
		t.Errorf("got %d bytes, the last %q", len(text), text[len(text)-80:])
	}
}

// What a command wrote at once makes events of many times its size, before anybody can be held.
func TestQueueBurst(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	q := NewQueue(QueueOptions{Patience: time.Minute, Whole: true})
	w := q.To(g)
	for range 2 * queueMost {
		if _, err := w.Write(make([]byte, queueBound)); err != nil {
			t.Fatal(err)
		}
	}
	if q.Hold() == nil {
		t.Error("asks for more")
	}
	close(g.open)
	if !q.Flush(t.Context()) || q.Err() != nil || g.got.Len() != 2*queueMost*queueBound {
		t.Errorf("got %d bytes, and %v", g.got.Len(), q.Err())
	}
}

// What must be whole ends at its first gap; what has no patience has no gap.
func TestQueueWhole(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	q := NewQueue(QueueOptions{Patience: 100 * time.Millisecond, Whole: true})
	w := q.To(g)
	for q.Hold() == nil {
		io.WriteString(w, strings.Repeat("x", 1000))
	}
	<-q.Hold()
	if _, err := io.WriteString(w, "y"); !errors.Is(err, ErrUnread) || !errors.Is(q.Err(), ErrUnread) {
		t.Errorf("got %v", err)
	}
	close(g.open)
	q.Wait(context.Background())
	if _, err := io.WriteString(w, "y"); !errors.Is(err, ErrUnread) || strings.Trim(g.got.String(), "x") != "" {
		t.Errorf("got %v", err)
	}

	g, q = &gate{open: make(chan struct{})}, NewQueue(QueueOptions{})
	w = q.To(g)
	n := 0
	for ; n < 3*queueBound; n += 1000 {
		io.WriteString(w, strings.Repeat("x", 1000))
	}
	hold := q.Hold()
	select {
	case <-hold:
		t.Error("does not wait")
	case <-time.After(300 * time.Millisecond):
	}
	close(g.open)
	<-hold
	if !q.Flush(context.Background()) || g.got.Len() != n {
		t.Errorf("got %d of %d bytes", g.got.Len(), n)
	}
}

// A live view on a terminal that is stopped can be hidden and closed.
func TestStoppedTerminal(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	q := NewQueue(QueueOptions{Patience: 100 * time.Millisecond})
	l := newLive(Options{Out: q.To(g), Busy: q.Busy, every: time.Millisecond})
	l.Print("a message")
	done := make(chan struct{})
	go func() {
		l.Hide()
		l.Close()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("hangs")
	}
	close(g.open)
	q.Wait(context.Background())
}

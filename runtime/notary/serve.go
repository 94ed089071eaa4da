package notary

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/blob"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/schedule"
	"github.com/command-dialect/dialect/runtime/tempdir"
)

// Bounds on connections. A client that does not send its request, or does not read the answer, in time is cut off.
const (
	maxConns     = 256 // that are answered at the same time
	maxConnsUser = 128 // of them, those of one user
	askTime      = 10 * time.Second
	readTime     = 30 * time.Second // for a frame of the answer
)

// A server answers connections.
type server struct {
	route func(Peer, *request) (*Notary, *Refused) // nil request: whether the peer may ask at all
	key   func() string
	grace time.Duration // that clients have once ctx has ended, to read what is left for them

	mu    sync.Mutex
	conns map[net.Conn]bool
	users map[int]int
	wait  sync.WaitGroup
}

// Serve answers the connections of l until ctx ends or [Notary.Close] is called. It closes l.
func (n *Notary) Serve(ctx context.Context, l net.Listener) error {
	ctx, done := context.WithCancel(ctx)
	defer done()
	defer context.AfterFunc(n.ctx, done)()
	may := n.c.May
	if may == nil {
		may = func(p Peer) error {
			if p.UID != os.Geteuid() {
				return errors.New("this notary answers its own user alone")
			}
			return nil
		}
	}
	s := &server{key: n.Key, grace: n.c.grace, route: func(p Peer, _ *request) (*Notary, *Refused) {
		if err := may(p); err != nil {
			return nil, refuse("%v", err)
		}
		return n, nil
	}}
	return s.serve(ctx, l)
}

func (s *server) serve(ctx context.Context, l net.Listener) error {
	s.conns, s.users = make(map[net.Conn]bool), make(map[int]int)
	late, over := context.WithCancelCause(context.WithoutCancel(ctx))
	defer over(nil)
	defer s.wait.Wait()
	defer context.AfterFunc(ctx, func() {
		l.Close()
		s.each(func(c net.Conn) { _ = c.SetReadDeadline(time.Now()) }) // who waits for events gets the rest of them
		time.AfterFunc(s.grace, func() {
			over(errClosed)
			s.each(func(c net.Conn) { c.Close() })
		})
	})()
	for pause := time.Millisecond; ; {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if c != nil {
				c.Close()
			}
			return nil
		case err != nil && !errors.Is(err, net.ErrClosed):
			// Too many open files, above all: it passes.
			pause = min(2*pause, time.Second)
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			continue
		case err != nil:
			return err
		}
		pause = time.Millisecond
		p, err := peer(c)
		if err != nil || !s.enter(c, p) {
			c.Close()
			continue
		}
		s.wait.Go(func() {
			defer s.leave(c, p)
			s.answer(ctx, late, c, p)
		})
	}
}

// each calls do for each connection.
func (s *server) each(do func(net.Conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		do(c)
	}
}

// enter counts a connection, unless there are too many.
func (s *server) enter(c net.Conn, p Peer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) >= maxConns || s.users[p.UID] >= maxConnsUser {
		return false
	}
	s.conns[c] = true
	s.users[p.UID]++
	return true
}

func (s *server) leave(c net.Conn, p Peer) {
	c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.users[p.UID]--; s.users[p.UID] == 0 {
		delete(s.users, p.UID)
	}
}

// A teller sends answers over a connection.
type teller struct{ net.Conn }

func (t teller) send(f []byte) error {
	if err := t.SetWriteDeadline(time.Now().Add(readTime)); err != nil {
		return err
	}
	_, err := t.Write(f)
	return err
}

func (t teller) say(a answer) error {
	f, err := frame(a)
	if err != nil {
		return err
	}
	return t.send(f)
}

// answer answers one connection. Once ctx has ended nothing begins, and until late has ended the client gets what it waits for.
func (s *server) answer(ctx, late context.Context, c net.Conn, p Peer) {
	t := teller{c}
	if err := c.SetReadDeadline(time.Now().Add(askTime)); err != nil {
		return
	}
	in := io.LimitReader(c, 3*(MaxFrame+4))
	var hello, req request
	if err := readFrame(in, &hello); err != nil {
		return
	}
	if hello.Hello != version {
		_ = t.say(answer{Refused: refuse("this notary speaks version %d of the protocol, and was asked in version %d", version, hello.Hello)})
		return
	}
	if _, refused := s.route(p, nil); refused != nil {
		_ = t.say(answer{Refused: refused})
		return
	}
	if t.say(answer{Hello: &greeting{Version: version, Key: s.key()}}) != nil || readFrame(in, &req) != nil {
		return
	}
	n, refused := s.route(p, &req)
	if refused != nil {
		_ = t.say(answer{Refused: refused})
		return
	}
	if err := n.serve(ctx, late, t, p, &req); err != nil {
		var r *Refused
		if !errors.As(err, &r) {
			r = refuse("%v", err)
		}
		_ = t.say(answer{Refused: r}) // the client may be gone
		return
	}
	_ = t.say(answer{Done: true})
}

// serve does what a request asks for.
func (n *Notary) serve(ctx, late context.Context, t teller, p Peer, req *request) error {
	switch {
	case req.Start != nil:
		return n.serveRun(ctx, late, t, p, req.Start)
	case req.Events != nil:
		r := n.find(req.Events.Run, p)
		if r == nil {
			return unknown(req.Events.Run)
		}
		return r.follow(ctx, req.Events.From, t.send)
	case req.Cut != nil:
		return n.cut(req.Cut, p)
	case req.Pause != nil:
		return n.pause(req.Pause, p)
	case req.Status != nil:
		s := n.Status(ctx)
		return t.say(answer{Status: &s})
	case req.Bundle != nil:
		var text bytes.Buffer
		if err := n.Bundle(ctx, &text); err != nil {
			return err
		}
		return t.chunks(&text)
	case req.Store != nil:
		return n.serveStore(ctx, t)
	case req.Document != nil:
		return n.serveDocument(t, req.Document)
	case req.Output != nil:
		f, _, err := blob.Open(ctx, string(archive.Of(n.path())), req.Output.SHA256, blob.MostOf(1<<32))
		if err != nil {
			return refuse("the notary has no output of the digest %s", req.Output.SHA256)
		}
		defer f.Close()
		return t.chunks(f)
	}
	return refuse("the request asks for nothing that this notary knows")
}

func unknown(id string) *Refused {
	return refuse("the notary knows no run %q that lasts, or has just ended", id)
}

// chunkSize is how much of a stream is in one frame, in bytes.
const chunkSize = 256 << 10

// chunks sends a stream.
func (t teller) chunks(r io.Reader) error {
	buf := make([]byte, chunkSize)
	for {
		n, err := io.ReadFull(r, buf)
		if n > 0 {
			if err := t.say(answer{Chunk: buf[:n]}); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF, err == io.ErrUnexpectedEOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// serveRun runs what a client asks for and tells it. A client that is gone ends its run.
func (n *Notary) serveRun(ctx, late context.Context, t teller, p Peer, spec *Spec) error {
	if len(spec.Script) > maxScript {
		return refuse("a script of %d bytes; a notary takes %d", len(spec.Script), maxScript)
	}
	r, refused := n.start(spec, p)
	if refused != nil {
		return refused
	}
	// The client sends nothing more: what ends the read is its end, or that of the notary.
	gone := make(chan struct{})
	_ = t.SetReadDeadline(time.Time{})
	go func() {
		defer close(gone)
		var b [1]byte
		_, _ = t.Read(b[:])
		if ctx.Err() == nil {
			r.cancel(errGone)
		}
	}()
	err := r.follow(late, 0, t.send)
	if err != nil {
		r.cancel(errGone)
	}
	_ = t.SetReadDeadline(time.Now())
	<-gone
	return err
}

// errGone is why a run ends whose client is gone.
var errGone = attempt.Cut{Brief: schedule.Brief{Verdict: schedule.Fault, Reason: receipts.StopInterrupted, Text: "the process that asked the notary for the run is gone"}}

// cut ends a run as a signal does, or at once.
func (n *Notary) cut(c *cutOf, by Peer) error {
	r := n.find(c.Run, by)
	if r == nil {
		return unknown(c.Run)
	}
	switch c.Signal {
	case "SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE":
		r.cancel(engine.Signal{Name: c.Signal})
	case "":
		r.cancel(engine.Signal{Name: "SIGINT"})
	default:
		return refuse("no run ends by %q", c.Signal)
	}
	if c.Kill {
		r.control.Kill()
	}
	return nil
}

// pause stops or continues a run.
func (n *Notary) pause(p *pauseOf, by Peer) error {
	r := n.find(p.Run, by)
	if r == nil {
		return unknown(p.Run)
	}
	r.pause(p.On)
	return nil
}

// serveStore sends a copy of the store.
func (n *Notary) serveStore(ctx context.Context, t teller) error {
	if err := n.settle(ctx); err != nil {
		return err
	}
	dir, remove, err := tempdir.NewIn(n.temp(), tempdir.Copy)
	if err != nil {
		return err
	}
	defer remove()
	file := filepath.Join(dir, archive.StoreFile)
	n.mu.Lock()
	if n.store == nil {
		n.mu.Unlock()
		return refuse("the notary was closed")
	}
	err = n.store.Copy(ctx, file)
	n.mu.Unlock()
	if err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return t.chunks(f)
}

// serveDocument sends the document of a run, or the names of all.
func (n *Notary) serveDocument(t teller, d *documents) error {
	a := archive.Of(n.path())
	if d.Run == "" {
		return t.say(answer{Names: a.Runs()})
	}
	text, err := []byte(nil), error(nil)
	if slices.Contains(a.Runs(), d.Run) { // else it may be any path
		text, err = a.ReadRun(d.Run)
	}
	if err != nil || text == nil {
		return refuse("the notary has no document of the run %q", d.Run)
	}
	if !json.Valid(text) {
		return fmt.Errorf("the document of the run %q is damaged", d.Run)
	}
	return t.chunks(bytes.NewReader(text))
}

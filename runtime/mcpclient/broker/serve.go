package broker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/command-dialect/dialect/runtime/mcpclient"
)

// endGrace is how long servers may take to end. The kernel kills what is left of them when the
// helper has ended.
const endGrace = 10 * time.Second

// Serve does what package mcpclient asks for, over pipes, until its input ends or a signal
// comes, as it does when dialect is killed. It returns when all servers are gone.
func Serve(in io.Reader, out io.WriteCloser) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A pipe that nobody reads must not kill what has servers to end. To ignore the signal
	// would make the servers ignore it, too.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	mcpclient.Adopt()
	defer mcpclient.EndLoose(false)
	s := &session{running: make(map[uint64]context.CancelFunc)}
	conn := jsonrpc2.NewConn(ctx, jsonrpc2.NewBufferedStream(mcpclient.Pipes{Reader: in, WriteCloser: out}, mcpclient.Lines{}), s, jsonrpc2.SetLogger(log.New(os.Stderr, "", 0)))
	<-conn.DisconnectNotify()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if s.pool != nil {
			s.pool.Close()
		}
		s.all.Wait()
	}()
	select {
	case <-gone:
		return nil
	case <-time.After(endGrace):
		return errors.New("a server does not end")
	}
}

// A session answers one dialect. Messages come one by one, requests are carried out side by side.
type session struct {
	pool *Pool // nil before MethodOpen

	mu      sync.Mutex
	closed  bool
	all     sync.WaitGroup
	running map[uint64]context.CancelFunc
}

// Handle takes up one message. It waits for nothing that it starts.
func (s *session) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
	case req.Method == mcpclient.MethodOpen:
		var o Options
		if s.pool == nil && read(req, &o) == nil {
			o.Environ = os.Environ()
			s.pool = New(o)
		}
	case req.Method == mcpclient.MethodCancel:
		var id uint64
		if read(req, &id) == nil && s.running[id] != nil {
			s.running[id]()
		}
	case !req.Notif:
		ctx, cancel := context.WithCancel(ctx)
		pool, id := s.pool, req.ID.Num
		s.running[id] = cancel
		s.all.Go(func() {
			defer cancel()
			answer(ctx, pool, conn, req)
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.running, id)
		})
	}
}

// answer carries out a request. A connection that has ended needs no answer.
func answer(ctx context.Context, pool *Pool, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	result, err := do(ctx, pool, conn, req)
	if err == nil {
		if err = conn.Reply(ctx, req.ID, result); !errors.Is(err, mcpclient.ErrTooLarge) {
			return
		}
		err = mcpclient.Errorf(mcpclient.OutputLimit, "the answer is larger than %d bytes", mcpclient.MaxMessage)
	}
	var known *Error
	if !errors.As(err, &known) {
		known = mcpclient.Errorf(mcpclient.Protocol, "%v", err)
	}
	known.Bound()
	e := &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: known.Message}
	e.SetError(known)
	_ = conn.ReplyWithError(ctx, req.ID, e)
}

func do(ctx context.Context, pool *Pool, conn *jsonrpc2.Conn, req *jsonrpc2.Request) (result any, err error) {
	if req.Method == mcpclient.MethodPing {
		return nil, nil
	}
	if pool == nil {
		return nil, errors.New("the options come first")
	}
	if req.Method == mcpclient.MethodTools {
		var server string
		if err := read(req, &server); err != nil {
			return nil, err
		}
		return pool.Tools(ctx, server)
	}
	var c Call
	if err := read(req, &c); err != nil {
		return nil, err
	}
	switch req.Method {
	case mcpclient.MethodCheck:
		return nil, pool.Check(ctx, c)
	case mcpclient.MethodCall:
		c.Progress = func(line string, cut bool) {
			_ = conn.Notify(ctx, mcpclient.MethodProgress, mcpclient.Progress{ID: req.ID.Num, Line: line, Cut: cut})
		}
		return pool.Call(ctx, c)
	}
	return nil, errors.New("there is no method " + req.Method)
}

func read(req *jsonrpc2.Request, v any) error {
	if req.Params == nil {
		return errors.New(req.Method + " without parameters")
	}
	return json.Unmarshal(*req.Params, v)
}

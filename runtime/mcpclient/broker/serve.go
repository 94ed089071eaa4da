package broker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/command-dialect/dialect/runtime/mcpclient"
)

// Serve does what package mcpclient asks for, over pipes, until its input ends. It returns when
// all servers are gone.
func Serve(in io.Reader, out io.Writer) error {
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return err
	}
	var o Options
	if err := json.Unmarshal(line, &o); err != nil {
		return err
	}
	o.Environ = os.Environ()
	p := New(o)
	s := &session{pool: p, enc: json.NewEncoder(out), running: make(map[int]context.CancelFunc)}
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		var req mcpclient.Request
		if err := json.Unmarshal(line, &req); err != nil {
			return err
		}
		s.take(req)
	}
	s.mu.Lock()
	for _, cancel := range s.running {
		cancel()
	}
	s.mu.Unlock()
	p.Close()
	s.all.Wait()
	return nil
}

type session struct {
	pool *Pool
	all  sync.WaitGroup

	mu      sync.Mutex
	enc     *json.Encoder
	running map[int]context.CancelFunc
}

func (s *session) reply(r mcpclient.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.enc.Encode(r) // who does not read any more closes the input, too
}

func (s *session) take(req mcpclient.Request) {
	if req.Op == "cancel" {
		s.mu.Lock()
		if cancel := s.running[req.ID]; cancel != nil {
			cancel()
		}
		s.mu.Unlock()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.mu.Lock()
	s.running[req.ID] = cancel
	s.mu.Unlock()
	s.all.Go(func() {
		r := mcpclient.Reply{ID: req.ID}
		var err error
		switch {
		case req.Op == "tools":
			r.Tools, err = s.pool.Tools(ctx, req.Server)
		case req.Call == nil:
			err = mcpclient.Errorf(mcpclient.Protocol, "a request without a call")
		case req.Op == "check":
			err = s.pool.Check(ctx, *req.Call)
		default:
			req.Call.Progress = func(line string) { s.reply(mcpclient.Reply{ID: req.ID, Progress: line}) }
			r.Result, err = s.pool.Call(ctx, *req.Call)
		}
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				e = mcpclient.Errorf(mcpclient.Protocol, "%v", err)
			}
			r = mcpclient.Reply{ID: req.ID, Error: e}
		}
		s.mu.Lock()
		delete(s.running, req.ID)
		s.mu.Unlock()
		cancel()
		s.reply(r)
	})
}

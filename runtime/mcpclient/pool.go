package mcpclient

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// A Request is a line to the helper. The first line of all is Options.
type Request struct {
	ID     int    `json:"id"`
	Op     string `json:"op"` // "call", "check", "tools", or "cancel" of the request ID
	Call   *Call  `json:"call,omitempty"`
	Server string `json:"server,omitempty"`
}

// A Reply is a line of the helper. One with Progress is followed by others of its request.
type Reply struct {
	ID       int                        `json:"id"`
	Progress string                     `json:"progress,omitempty"`
	Result   *Result                    `json:"result,omitempty"`
	Tools    map[string]json.RawMessage `json:"tools,omitempty"`
	Error    *Error                     `json:"error,omitempty"`
}

// cancelGrace is how long the helper may take to end a call that nobody wants any more.
const cancelGrace = 5 * time.Second

// A Pool holds the servers of a run, in the helper. It is safe for concurrent use.
type Pool struct {
	o Options

	mu      sync.Mutex
	closed  bool
	child   *Child
	err     error // why there is no helper
	next    int
	waiting map[int]chan Reply
	stderr  strings.Builder
}

// New makes a pool; nothing is started yet.
func New(o Options) *Pool { return &Pool{o: o, waiting: make(map[int]chan Reply)} }

// Close ends all servers, and waits until they are gone.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	child := p.child
	p.mu.Unlock()
	if child == nil {
		return
	}
	// The end of its input tells the helper, which needs a moment for its servers.
	_ = child.Stdin.Close()
	select {
	case <-child.Done:
	case <-time.After(cancelGrace):
	}
	child.Stop()
}

// Call calls a tool. The error is an *[Error].
func (p *Pool) Call(ctx context.Context, c Call) (*Result, error) {
	r, err := p.ask(ctx, Request{Op: "call", Call: &c}, c.Progress)
	if err != nil {
		return nil, err
	}
	if r.Result == nil {
		return nil, Errorf(Protocol, "the helper of MCP servers gave no result")
	}
	return r.Result, nil
}

// Check says what is wrong with the arguments of a call, without making it; nil if nothing is.
func (p *Pool) Check(ctx context.Context, c Call) error {
	_, err := p.ask(ctx, Request{Op: "check", Call: &c}, nil)
	return err
}

// Tools lists the tools of a server: name and schema as JSON.
func (p *Pool) Tools(ctx context.Context, server string) (map[string]json.RawMessage, error) {
	r, err := p.ask(ctx, Request{Op: "tools", Server: server}, nil)
	return r.Tools, err
}

// ask hands a request to the helper, and waits for its last reply.
func (p *Pool) ask(ctx context.Context, req Request, progress func(string)) (Reply, error) {
	ch := make(chan Reply, 64)
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return Reply{}, Errorf(Interrupted, "interrupted")
	}
	if p.child == nil && p.err == nil {
		p.err = p.start()
	}
	if p.err != nil {
		err := p.err
		p.mu.Unlock()
		return Reply{}, err
	}
	p.next++
	req.ID = p.next
	p.waiting[req.ID] = ch
	err := p.send(req)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.waiting, req.ID)
		p.mu.Unlock()
	}()
	if err != nil {
		return Reply{}, Errorf(Died, "the helper of MCP servers hung up: %v", err)
	}
	done := ctx.Done()
	var late <-chan time.Time
	for {
		select {
		case r, ok := <-ch:
			switch {
			case !ok:
				return Reply{}, p.dead()
			case r.Progress != "":
				if progress != nil {
					progress(r.Progress)
				}
			case r.Error != nil:
				return r, r.Error
			default:
				return r, nil
			}
		case <-done:
			done, late = nil, time.After(cancelGrace)
			p.mu.Lock()
			_ = p.send(Request{ID: req.ID, Op: "cancel"}) // one that is gone is noticed by the reader
			p.mu.Unlock()
		case <-late:
			return Reply{}, Errorf(Interrupted, "interrupted")
		}
	}
}

// send writes a line; mu is held.
func (p *Pool) send(v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = p.child.Stdin.Write(append(line, '\n'))
	}
	return err
}

// start starts the helper; mu is held.
func (p *Pool) start() error {
	if len(p.o.Helper) == 0 {
		return Errorf(NotConfigured, "the program dialect-mcp, which speaks to MCP servers, is neither beside dialect nor in PATH")
	}
	path, err := exec.LookPath(p.o.Helper[0])
	if err != nil {
		return Errorf(EnvMissing, "the helper of MCP servers is not there: %v", err)
	}
	child, err := StartChild(path, p.o.Helper, p.o.Dir, p.o.Environ, lockedWriter{&p.mu, &p.stderr})
	if err != nil {
		return Errorf(StartFailed, "the helper of MCP servers cannot be started: %v", err)
	}
	p.child = child
	go p.read(child.Stdout)
	if err := p.send(p.o); err != nil {
		return errGone
	}
	return nil
}

// read hands out replies until the helper ends.
func (p *Pool) read(out io.Reader) {
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		var reply Reply
		if json.Unmarshal(line, &reply) != nil {
			break
		}
		p.mu.Lock()
		ch := p.waiting[reply.ID]
		p.mu.Unlock()
		if ch == nil {
			continue
		}
		if reply.Progress != "" {
			select {
			case ch <- reply: // progress that nobody keeps up with is dropped
			default:
			}
			continue
		}
		ch <- reply
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = errGone
	}
	for id, ch := range p.waiting {
		delete(p.waiting, id)
		close(ch)
	}
}

var errGone = Errorf(Died, "the helper of MCP servers has ended")

func (p *Pool) dead() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := *errGone
	e.Stderr = strings.ToValidUTF8(p.stderr.String(), "\ufffd")
	return &e
}

// A lockedWriter keeps the beginning of what a helper says is wrong with it.
type lockedWriter struct {
	mu  *sync.Mutex
	out *strings.Builder
}

func (w lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	const most = 8 << 10
	w.out.Write(b[:min(len(b), max(0, most-w.out.Len()))])
	return len(b), nil
}

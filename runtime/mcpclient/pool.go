package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

// grace is what the helper gets beyond the time of a call, to end a call that was cancelled, and
// to end all servers. A helper that takes longer, or does not answer a ping, hangs. Tests have
// less patience.
var grace = 5 * time.Second

const (
	pingEvery = 15 * time.Second
	pingGrace = 30 * time.Second
	listGrace = 30 * time.Second // to list the tools of a server that was started
)

// A Pool holds the servers of a run, in the helper. It is safe for concurrent use, and no
// method waits longer for the helper than the call itself may take, and grace.
type Pool struct {
	o   Options
	all sync.WaitGroup // links that are being ended

	mu     sync.Mutex
	closed bool
	live   *link // nil before the first call
}

// New makes a pool; nothing is started yet.
func New(o Options) *Pool { return &Pool{o: o} }

// Close ends all servers, and waits until they are gone.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	if p.live != nil {
		p.live.hangUp()
	}
	p.mu.Unlock()
	p.all.Wait()
}

// Call calls a tool. The error is an *[Error].
func (p *Pool) Call(ctx context.Context, c Call) (*Result, error) {
	var wire *Result
	if err := p.ask(ctx, c.Timeout, MethodCall, c, &wire, c.Progress); err != nil {
		return nil, err
	}
	if wire == nil {
		return nil, Errorf(Protocol, "the helper of MCP servers gave no result")
	}
	r, err := NewResult(wire.Request, wire.Response, wire.Program)
	if err != nil {
		return nil, Errorf(Protocol, "the helper of MCP servers gave a result that is none: %v", err)
	}
	return r, nil
}

// Check says what is wrong with the arguments of a call, without making it; nil if nothing is.
func (p *Pool) Check(ctx context.Context, c Call) error {
	return p.ask(ctx, StartTimeout+listGrace, MethodCheck, c, nil, nil)
}

// Tools lists the tools of a server: name and schema as JSON.
func (p *Pool) Tools(ctx context.Context, server string) (tools map[string]json.RawMessage, err error) {
	if err := p.ask(ctx, StartTimeout+listGrace, MethodTools, server, &tools, nil); err != nil {
		return nil, err
	}
	return tools, nil
}

// ask makes a request of the helper, which has limit and grace to answer; a limit of zero is
// none. What is not answered in time ends the helper.
func (p *Pool) ask(ctx context.Context, limit time.Duration, method string, params, result any, progress func(string)) error {
	l, err := p.link()
	if err != nil {
		return err
	}
	id, lines := l.begin()
	defer l.end(id)
	tell := func(line string) {
		if progress != nil {
			progress(line)
		}
	}
	// To write to a helper that does not read takes until it is ended.
	done := make(chan error, 1)
	var answer json.RawMessage
	go func() { done <- l.call(method, id, params, &answer) }()
	cancelled, reason := ctx.Done(), Timeout
	var late <-chan time.Time
	if limit > 0 {
		late = time.After(limit + grace)
	}
	for {
		select {
		case err := <-done:
			for len(lines) > 0 {
				tell(<-lines)
			}
			if err != nil {
				return p.failure(l, err)
			}
			if result != nil && json.Unmarshal(answer, result) != nil {
				return Errorf(Protocol, "the helper of MCP servers gave a result that is none")
			}
			return nil
		case line := <-lines:
			tell(line)
		case <-cancelled:
			cancelled, reason, late = nil, Interrupted, time.After(grace)
			go l.conn.Notify(context.Background(), MethodCancel, id)
		case <-late:
			l.hangUp()
			if reason == Interrupted {
				return Errorf(reason, "interrupted")
			}
			return Errorf(reason, "the helper of MCP servers gave no answer within %v", limit+grace)
		}
	}
}

// failure makes an *Error of what kept a request from its answer.
func (p *Pool) failure(l *link, err error) error {
	var answered *jsonrpc2.Error
	switch {
	case errors.As(err, &answered):
		e := new(Error)
		if answered.Data == nil || json.Unmarshal(*answered.Data, e) != nil || !e.Reason.known() {
			e = Errorf(Protocol, "the helper of MCP servers: %s", answered.Message)
		}
		return e
	case errors.Is(err, ErrTooLarge):
		return Errorf(BadArguments, "the arguments are larger than %d bytes", MaxMessage)
	}
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	if closed {
		return Errorf(Interrupted, "interrupted")
	}
	e := Errorf(Died, "the helper of MCP servers hung up")
	select {
	case <-l.child.Done:
		e.Message = "the helper of MCP servers has ended: " + l.child.Status()
	case <-time.After(100 * time.Millisecond): // its output ends before it does
	}
	e.Stderr = l.stderr.String()
	return e
}

// link returns the connection with the helper, which is started if there is none, or has ended.
func (p *Pool) link() (*link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, Errorf(Interrupted, "interrupted")
	}
	if p.live != nil && !p.live.gone() {
		return p.live, nil
	}
	if len(p.o.Helper) == 0 {
		return nil, Errorf(NotConfigured, "the program dialect-mcp, which speaks to MCP servers, is neither beside dialect nor in PATH")
	}
	path, err := exec.LookPath(p.o.Helper[0])
	if err != nil {
		return nil, Errorf(EnvMissing, "the helper of MCP servers is not there: %v", err)
	}
	l := &link{o: p.o, progress: make(map[uint64]chan string)}
	if l.child, err = StartChild(path, p.o.Helper, p.o.Dir, p.o.Environ, &l.stderr, syscall.SIGTERM); err != nil {
		return nil, Errorf(StartFailed, "the helper of MCP servers cannot be started: %v", err)
	}
	l.connect(l.child.Stdout, l.child.Stdin)
	p.all.Go(l.watch)
	p.live = l
	return l, nil
}

// A link is a connection with a helper.
type link struct {
	o      Options
	child  *Child
	stderr head
	conn   *jsonrpc2.Conn
	open   sync.Once // tells the helper its options

	mu       sync.Mutex
	last     uint64
	progress map[uint64]chan string // by request
}

func (l *link) connect(in io.Reader, out io.WriteCloser) {
	l.conn = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewBufferedStream(Pipes{in, out}, Lines{}), l, jsonrpc2.SetLogger(log.New(&l.stderr, "", 0)))
}

// hangUp ends the connection: its requests fail, and the helper is ended.
func (l *link) hangUp() { _ = l.conn.Close() }

func (l *link) gone() bool {
	select {
	case <-l.conn.DisconnectNotify():
		return true
	default:
		return false
	}
}

// watch ends the helper once the connection has ended, by either side or by a helper that does
// not answer. The end of its input tells a helper, which needs a moment for its servers.
func (l *link) watch() {
	for !l.gone() {
		pong := make(chan error, 1)
		select {
		case <-l.conn.DisconnectNotify():
			continue
		case <-time.After(pingEvery):
			go func() {
				id, _ := l.begin()
				defer l.end(id)
				pong <- l.call(MethodPing, id, nil, nil)
			}()
		}
		select {
		case <-l.conn.DisconnectNotify():
		case <-pong:
		case <-time.After(pingGrace):
			l.hangUp()
		}
	}
	select {
	case <-l.child.Done:
	case <-time.After(grace):
	}
	l.child.Stop()
}

// begin gives a request its number, and a place for what is said of it meanwhile.
func (l *link) begin() (uint64, chan string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	lines := make(chan string, 64)
	l.progress[l.last] = lines
	return l.last, lines
}

func (l *link) end(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.progress, id)
}

func (l *link) call(method string, id uint64, params, result any) (err error) {
	l.open.Do(func() { err = l.conn.Notify(context.Background(), MethodOpen, l.o) })
	if err != nil {
		return err
	}
	return l.conn.Call(context.Background(), method, params, result, jsonrpc2.PickID(jsonrpc2.ID{Num: id}))
}

// Handle takes a notice of progress. It never waits: progress that nobody keeps up with is
// dropped.
func (l *link) Handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
	var n Progress
	if req.Method != MethodProgress || req.Params == nil || json.Unmarshal(*req.Params, &n) != nil {
		return
	}
	l.mu.Lock()
	lines := l.progress[n.ID]
	l.mu.Unlock()
	select {
	case lines <- n.Line:
	default:
	}
}

// A head keeps the beginning of what a helper says is wrong with it.
type head struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *head) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	const most = 8 << 10
	h.text.Write(b[:min(len(b), max(0, most-h.text.Len()))])
	return len(b), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.ToValidUTF8(h.text.String(), "\ufffd")
}

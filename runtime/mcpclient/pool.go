package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

const (
	pingEvery = 15 * time.Second
	pingGrace = 30 * time.Second
	listGrace = 30 * time.Second // to list the tools of a server that was started
)

// A Pool holds the servers of a run, in the helper. It is safe for concurrent use, and no
// method waits longer for the helper than the call itself may take, and [Options].Grace.
type Pool struct {
	o   Options
	all sync.WaitGroup // links that are being ended

	mu     sync.Mutex
	closed bool
	live   *link // nil before the first call
}

// New makes a pool; nothing is started yet.
func New(o Options) *Pool {
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	return &Pool{o: o}
}

// Close ends all servers, and waits until they are gone.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	if p.live != nil {
		p.live.conn.Close()
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
		return nil, Errorf(Protocol, "the helper of MCP servers gave a result that cannot be read: %v", err)
	}
	return r, nil
}

// Check says what is wrong with the arguments of a call, without making it; nil if nothing is.
func (p *Pool) Check(ctx context.Context, c Call) error {
	var nothing any
	return p.ask(ctx, StartTimeout+listGrace, MethodCheck, c, &nothing, nil)
}

// Tools lists the tools of a server: name and schema as JSON.
func (p *Pool) Tools(ctx context.Context, server string) (tools map[string]json.RawMessage, err error) {
	err = p.ask(ctx, StartTimeout+listGrace, MethodTools, server, &tools, nil)
	return tools, err
}

// ask makes a request of the helper, which has limit and [Options].Grace to answer; a limit of zero is
// none. What is not answered in time ends the helper.
func (p *Pool) ask(ctx context.Context, limit time.Duration, method string, params, result any, progress func(string, bool)) error {
	l, err := p.link()
	if err != nil {
		return err
	}
	id, lines := l.last.Add(1), make(chan Progress, 64)
	if progress != nil {
		l.progress.Store(id, lines)
		defer l.progress.Delete(id)
	}
	// To write to a helper that does not read takes until it is ended.
	done := make(chan error, 1)
	var answer json.RawMessage
	go func() {
		l.open.Do(func() { l.conn.Notify(context.Background(), MethodOpen, p.o) }) // if that fails, so does the request
		done <- l.conn.Call(context.Background(), method, params, &answer, jsonrpc2.PickID(jsonrpc2.ID{Num: id}))
	}()
	cancelled, failed := ctx.Done(), Errorf(Timeout, "the helper of MCP servers gave no answer within %v", limit+p.o.Grace)
	var late <-chan time.Time
	if limit > 0 {
		late = time.After(limit + p.o.Grace)
	}
	for {
		select {
		case err := <-done:
			for len(lines) > 0 {
				line := <-lines
				progress(line.Line, line.Cut)
			}
			if err != nil {
				return p.failure(l, err)
			}
			if json.Unmarshal(answer, result) != nil {
				return Errorf(Protocol, "the helper of MCP servers gave an answer that cannot be read")
			}
			return nil
		case line := <-lines:
			progress(line.Line, line.Cut)
		case <-cancelled:
			cancelled, failed, late = nil, Errorf(Interrupted, "interrupted"), time.After(p.o.Grace)
			go l.conn.Notify(context.Background(), MethodCancel, id)
		case <-late:
			l.conn.Close()
			return failed
		}
	}
}

// failure makes an *Error of what kept a request from its answer.
func (p *Pool) failure(l *link, err error) error {
	var answered *jsonrpc2.Error
	if errors.As(err, &answered) {
		e := new(Error)
		if answered.Data == nil || json.Unmarshal(*answered.Data, e) != nil || !slices.Contains(reasons, e.Reason) {
			e = Errorf(Protocol, "the helper of MCP servers: %s", answered.Message)
		}
		return e
	}
	if errors.Is(err, ErrTooLarge) {
		return Errorf(BadArguments, "the arguments are larger than %d bytes", MaxMessage)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return Errorf(Interrupted, "interrupted")
	}
	e := Errorf(Died, "the helper of MCP servers hung up")
	select {
	case <-l.child.Done:
		e.Message = "the helper of MCP servers has ended: " + l.child.Status()
	case <-time.After(EndPatience): // its output ends before it does
	}
	text, full := l.stderr.first()
	e.Stderr, e.Begun, e.Whole = text, true, !full && l.child.Finished()
	return e
}

// link returns the connection with the helper, which is started if there is none, or has ended.
func (p *Pool) link() (*link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, Errorf(Interrupted, "interrupted")
	}
	if p.live != nil {
		select {
		case <-p.live.conn.DisconnectNotify():
		default:
			return p.live, nil
		}
	}
	if len(p.o.Helper) == 0 {
		return nil, Errorf(NotConfigured, "%s: %s", Missing, Install)
	}
	path, err := exec.LookPath(p.o.Helper[0])
	if err != nil {
		return nil, Errorf(EnvMissing, "the helper of MCP servers is missing: %v", err)
	}
	l := new(link)
	if l.child, err = StartChild(path, p.o.Helper, p.o.Dir, p.o.Environ, &l.stderr, syscall.SIGTERM); err != nil {
		return nil, Errorf(StartFailed, "the helper of MCP servers cannot be started: %v", err)
	}
	l.connect(l.child.Stdout, l.child.Stdin)
	p.all.Go(func() { l.watch(p.o.Grace) })
	p.live = l
	return l, nil
}

// A link is a connection with a helper.
type link struct {
	child    *Child
	stderr   head
	conn     *jsonrpc2.Conn
	open     sync.Once     // tells the helper the options
	last     atomic.Uint64 // number of a request
	progress sync.Map      // of requests: uint64 -> chan Progress
}

func (l *link) connect(in io.Reader, out io.WriteCloser) {
	l.conn = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewBufferedStream(Pipes{in, out}, Lines{}), l, jsonrpc2.SetLogger(log.New(&l.stderr, "", 0)))
}

// watch ends the helper when the connection has ended, by either side or because the helper
// does not answer. The end of its input tells the helper, which needs a moment for its servers.
func (l *link) watch(grace time.Duration) {
	pong := make(chan error, 1)
	next, late := time.After(pingEvery), (<-chan time.Time)(nil)
	for {
		select {
		case <-next:
			late = time.After(pingGrace)
			go func() {
				pong <- l.conn.Call(context.Background(), MethodPing, nil, nil, jsonrpc2.StringID())
			}()
		case <-pong:
			next, late = time.After(pingEvery), nil
		case <-late:
			l.conn.Close()
		case <-l.conn.DisconnectNotify():
			select {
			case <-l.child.Done:
			case <-time.After(grace):
			}
			l.child.Stop()
			return
		}
	}
}

// Handle takes a notice of progress. It never waits: progress that nobody keeps up with is
// dropped.
func (l *link) Handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
	var n Progress
	if req.Method != MethodProgress || req.Params == nil || json.Unmarshal(*req.Params, &n) != nil {
		return
	}
	if lines, ok := l.progress.Load(n.ID); ok {
		select {
		case lines.(chan Progress) <- n:
		default:
		}
	}
}

const maxHead = 8 << 10 // bytes

// A head keeps the beginning of what a helper says is wrong with it.
type head struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *head) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Write(b[:min(len(b), max(0, maxHead-h.text.Len()))])
	return len(b), nil
}

// first returns what is kept, and whether that is as much as may be, so that something may be lost after it.
func (h *head) first() (text string, full bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.ToValidUTF8(h.text.String(), "\ufffd"), h.text.Len() >= maxHead
}

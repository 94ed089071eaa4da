package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/mcpclient"
)

// A server is one that was started, or is being started.
type server struct {
	name    string
	program string
	giveUp  func()        // ends a start that is under way
	ready   chan struct{} // closed once start has returned
	err     error         // of start
	session *mcp.ClientSession
	child   *mcpclient.Child // nil behind a URL
	meter   *meter
	stderr  tail

	mu     sync.Mutex
	tools  []*mcp.Tool
	tokens map[string]func(line string, cut bool)
	next   int
	once   sync.Once
}

// start reaches the server and shakes hands.
func (s *server) start(ctx context.Context, o Options, conf plan.Server) error {
	s.meter.begin(mcpclient.DefaultMaxOutput)
	defer s.meter.end(mcpclient.DefaultMaxOutput)
	transport, err := s.transport(o, conf)
	if err != nil {
		return err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "dialect", Version: o.Version}, &mcp.ClientOptions{
		Capabilities:                &mcp.ClientCapabilities{}, // it gives a server nothing to look at or to ask for
		ProgressNotificationHandler: s.told,
	})
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		e := mcpclient.Errorf(mcpclient.StartFailed, "the server %s does not speak the protocol: %v", s.name, err)
		switch dead := s.exited(); {
		case s.meter.over():
			e.Message = fmt.Sprintf("the server %s floods instead of answering", s.name)
		case dead != "":
			e.Message = fmt.Sprintf("the server %s ended at its start: %s", s.name, dead)
		case ctx.Err() != nil:
			e.Reason, e.Message = mcpclient.Timeout, fmt.Sprintf("the server %s was not ready within %v", s.name, mcpclient.StartTimeout)
		}
		if s.child != nil {
			s.child.Kill()
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			e.Reason, e.Message = mcpclient.Interrupted, "interrupted"
		}
		s.said(e)
		return e
	}
	s.session = session
	return nil
}

// noURL says so without the address: what is quoted of it can be a part of a secret, which nothing finds then.
func (s *server) noURL(conf plan.Server) error {
	return mcpclient.Errorf(mcpclient.NotConfigured, "the url of the MCP server %q of %s does not parse once its variables are filled in: a value with a / ? # or @ has to be escaped for URLs", s.name, conf.Origin)
}

// authority returns the part of an address between its scheme and its path.
func authority(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	return rest[:strings.IndexAny(rest+"/", "/?#")]
}

func (s *server) transport(o Options, conf plan.Server) (mcp.Transport, error) {
	value := func(text string) (string, error) {
		out, err := expand(text, o.Environ)
		if err != nil {
			return "", mcpclient.Errorf(mcpclient.NotConfigured, "the MCP server %q of %s: %v", s.name, conf.Origin, err)
		}
		return out, nil
	}
	if conf.URL != "" {
		address, err := value(conf.URL)
		if err != nil {
			return nil, err
		}
		if whole, err := value(authority(conf.URL)); err == nil && strings.Contains(conf.URL, "://") && whole != authority(address) {
			return nil, s.noURL(conf) // else a part of a value would be taken for the host, and be looked up
		}
		headers := make(map[string]string, len(conf.Headers))
		for name, text := range conf.Headers {
			if headers[name], err = value(text); err != nil {
				return nil, err
			}
		}
		client, err := httpClient(address, headers, s.meter)
		if err != nil {
			return nil, s.noURL(conf)
		}
		return &mcp.StreamableClientTransport{Endpoint: address, HTTPClient: client, DisableStandaloneSSE: true, MaxRetries: -1}, nil
	}
	argv := make([]string, len(conf.Argv))
	for i, a := range conf.Argv {
		var err error
		if argv[i], err = value(a); err != nil {
			return nil, err
		}
	}
	if len(argv) == 0 {
		return nil, mcpclient.Errorf(mcpclient.NotConfigured, "the MCP server %q of %s has neither a command nor a url", s.name, conf.Origin)
	}
	env := append([]string(nil), o.Environ...)
	for name, text := range conf.Env {
		v, err := value(text)
		if err != nil {
			return nil, err
		}
		env = append(env, name+"="+v)
	}
	path := argv[0]
	if strings.Contains(path, "/") && !filepath.IsAbs(path) {
		path = filepath.Join(o.Dir, path)
	}
	path, err := lookPath(path, env)
	if err != nil {
		return nil, mcpclient.Errorf(mcpclient.EnvMissing, "the program of the MCP server %q was not found: %v", s.name, err)
	}
	s.program = path
	if s.child, err = mcpclient.StartChild(path, argv, o.Dir, env, &s.stderr, syscall.SIGKILL); err != nil {
		return nil, mcpclient.Errorf(mcpclient.StartFailed, "the MCP server %q cannot be started: %v", s.name, err)
	}
	return &mcp.IOTransport{Reader: &metered{s.child.Stdout, s.meter}, Writer: &felt{s.child.Stdin, s.meter}, MaxLineLength: -1}, nil
}

// lookPath finds a program in the PATH of env, where empty and relative elements do not count.
func lookPath(file string, env []string) (string, error) {
	if strings.Contains(file, "/") {
		return exec.LookPath(file)
	}
	path, _ := lookup(env, "PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, file)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%s is not in PATH", file)
}

// told hands a notice of progress to the call that it is about.
func (s *server) told(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	token, _ := req.Params.ProgressToken.(string)
	s.mu.Lock()
	f := s.tokens[token]
	s.mu.Unlock()
	if f == nil {
		return
	}
	line := strconv.FormatFloat(req.Params.Progress, 'g', -1, 64)
	if req.Params.Total > 0 {
		line += "/" + strconv.FormatFloat(req.Params.Total, 'g', -1, 64)
	}
	if req.Params.Message != "" {
		line += " " + req.Params.Message // on one line once it has no secrets
	}
	f(strings.ToValidUTF8(line[:min(len(line), maxProgress)], ""), len(line) > maxProgress)
}

func (s *server) progress(f func(string, bool)) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	token := "dialect-" + strconv.Itoa(s.next)
	if f != nil {
		s.tokens[token] = f
	}
	return token
}

func (s *server) forget(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, token)
}

// list returns the tools of the server, asked for once.
func (s *server) list(ctx context.Context) ([]*mcp.Tool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools != nil {
		return s.tools, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, listTimeout, errTimeout)
	defer cancel()
	s.meter.begin(mcpclient.DefaultMaxOutput)
	defer s.meter.end(mcpclient.DefaultMaxOutput)
	tools := []*mcp.Tool{}
	for t, err := range s.session.Tools(ctx, nil) {
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = errors.Join(err, cause)
			}
			return nil, err
		}
		if tools = append(tools, t); len(tools) > 10_000 {
			return nil, mcpclient.Errorf(mcpclient.Protocol, "the server %s lists tools without end", s.name)
		}
	}
	s.tools = tools
	return tools, nil
}

func (s *server) tool(ctx context.Context, name string) (*mcp.Tool, error) {
	tools, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	var found *mcp.Tool
	for _, t := range tools {
		if t.Name == name {
			return t, nil
		}
		if same(t.Name, name) {
			found = t
		}
		names = append(names, t.Name)
	}
	if found == nil {
		const most = 30
		more := ""
		if len(names) > most {
			more = fmt.Sprintf(" and %d more", len(names)-most)
			names = names[:most]
		}
		return nil, mcpclient.Errorf(mcpclient.UnknownTool, "the server %s has no tool %q; it has: %s%s", s.name, name, strings.Join(names, ", "), more)
	}
	return found, nil
}

// exited says how the process of the server ended; empty if it has not, or has none.
func (s *server) exited() string {
	if s.child == nil {
		return ""
	}
	if s.meter.ended() { // its exit follows, on a busy machine some time later
		select {
		case <-s.child.Done:
		case <-time.After(mcpclient.EndPatience):
		}
	}
	select {
	case <-s.child.Done:
		return s.child.Status()
	default:
		return ""
	}
}

// said adds to e what the server wrote to its standard error.
func (s *server) said(e *Error) {
	e.Stderr, e.Begun = s.stderr.last()
	e.Whole = s.child != nil && s.child.Finished()
}

// stop ends the server: it gets the end of its input, and then is killed with its group.
func (s *server) stop() {
	s.once.Do(func() {
		s.giveUp()
		<-s.ready
		if s.child != nil {
			s.child.Stop()
		}
		if s.session != nil {
			closed := make(chan struct{})
			go func() {
				defer close(closed)
				_ = s.session.Close()
			}()
			select {
			case <-closed:
			case <-time.After(2 * time.Second): // a server behind a URL that does not let go
			}
		}
	})
}

// A meter bounds what a server may write: the largest allowance of the calls that are under way.
type meter struct {
	mu       sync.Mutex
	left     int64
	calls    int
	exceeded bool
	closed   bool      // there is nothing more to read, or nobody who reads
	last     time.Time // of the last byte
}

func newMeter() *meter { return &meter{last: time.Now()} }

func (m *meter) begin(limit int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	m.left = max(m.left, limit)
	m.last = time.Now()
}

func (m *meter) end(int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls--; m.calls == 0 {
		m.left = idle
	}
}

// idle is what a server may write while nobody asks it anything.
const idle = 1 << 20

func (m *meter) over() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.exceeded
}

// ended reports whether the server has closed its output, or its input.
func (m *meter) ended() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// watch calls stalled once the server has been silent for long; the function that it returns
// ends the watch.
func (m *meter) watch(long time.Duration, stalled func()) (stop func()) {
	done := make(chan struct{})
	go func() {
		for {
			m.mu.Lock()
			rest := long - time.Since(m.last)
			m.mu.Unlock()
			if rest <= 0 {
				stalled()
				return
			}
			select {
			case <-time.After(rest):
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// A metered reader is what a server writes.
type metered struct {
	io.ReadCloser
	m *meter
}

var errFlood = errors.New("more output than a call may have")

func (r *metered) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.m.last = time.Now()
	r.m.closed = r.m.closed || err != nil
	if r.m.left -= int64(n); r.m.left < 0 {
		r.m.exceeded = true
		return 0, errFlood
	}
	return n, err
}

// A felt writer is what a server reads. A server that has ended may be noticed there first.
type felt struct {
	io.WriteCloser
	m *meter
}

func (w *felt) Write(p []byte) (int, error) {
	n, err := w.WriteCloser.Write(p)
	if err != nil {
		w.m.mu.Lock()
		w.m.closed = true
		w.m.mu.Unlock()
	}
	return n, err
}

// A tail keeps the last of what is written to it.
type tail struct {
	mu   sync.Mutex
	buf  []byte
	lost bool // something before buf
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*maxStderr {
		t.buf, t.lost = append(t.buf[:0], t.buf[len(t.buf)-maxStderr:]...), true
	}
	return len(p), nil
}

// last returns what is kept, and whether that is all from the beginning on.
func (t *tail) last() (text string, begun bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	from := max(0, len(t.buf)-maxStderr)
	return strings.ToValidUTF8(string(t.buf[from:]), "\ufffd"), from == 0 && !t.lost
}

func (t *tail) String() string {
	text, _ := t.last()
	return text
}

// Package broker calls tools of servers of the Model Context Protocol.
//
// In comes the name of a server and of its tool, with arguments; out come the request and the
// response in a canonical form, and what the tool says of itself. A server is started on its
// first call, kept for the others, and killed in the end with all that it started, as far as the system tells. A tool
// that says no by isError is a result. One that says no by an error of JSON-RPC, and whatever
// keeps a tool from answering, is an [Error] with a reason of its own. The package knows no verdicts and no receipts.
//
// A server is not trusted: what it may write for one call is bounded, so is the time for its
// start and for each call, and after any fault of it the next call gets a new one. What it
// writes to standard error is kept, the last of it, for messages.
//
// # Canonical form
//
// The request is {"arguments":{...},"name":"tool"}, the response the result of tools/call
// without "_meta". Both are written as JSON with the keys of objects in ascending order of
// bytes, no blanks, numbers as they came, and nothing escaped that need not be.
package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/mcpclient"
)

type (
	// The pipes carry the words of package broker.
	Options = mcpclient.Options
	Call    = mcpclient.Call
	Result  = mcpclient.Result
	Error   = mcpclient.Error
)

// Bounds of what is asked of a server.
const (
	listTimeout = 20 * time.Second
	maxStderr   = 8 << 10  // bytes
	maxProgress = 64 << 10 // bytes of a text
)

// A Pool holds the servers of a run. It is safe for concurrent use.
type Pool struct {
	o      Options
	mu     sync.Mutex
	closed bool
	live   map[string]*server
}

// New makes a pool; nothing is started yet.
func New(o Options) *Pool { return &Pool{o: o, live: make(map[string]*server)} }

// Close ends all servers, and waits until they are gone.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	live := slices.Collect(maps.Values(p.live))
	p.live = make(map[string]*server)
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range live {
		wg.Go(s.stop)
	}
	wg.Wait()
}

// Call calls a tool. The error is an *[Error].
func (p *Pool) Call(ctx context.Context, c Call) (*Result, error) {
	name, tool, _ := strings.Cut(c.Target, ":")
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
		defer cancel()
	}
	s, err := p.server(ctx, name)
	if err != nil {
		return nil, err
	}
	t, err := s.tool(ctx, tool)
	if err != nil {
		return nil, p.failed(ctx, s, err)
	}
	args, err := arguments(c, t)
	if err != nil {
		return nil, err
	}
	request, err := canonical(map[string]any{"name": t.Name, "arguments": args})
	if err != nil {
		return nil, mcpclient.Errorf(mcpclient.BadArguments, "the arguments of %s cannot be written: %v", c.Target, err)
	}
	limit := c.MaxOutput
	if limit == 0 {
		limit = mcpclient.DefaultMaxOutput
	}
	s.meter.begin(limit)
	defer s.meter.end(limit)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.Stall > 0 {
		defer s.meter.watch(c.Stall, func() { cancel(errStall) })()
	}
	token := s.progress(c.Progress)
	defer s.forget(token)
	params := &mcp.CallToolParams{Name: t.Name, Arguments: args}
	params.SetProgressToken(token)
	// The SDK heeds ctx but for writing, which a server that does not read holds up until it is
	// stopped.
	var r *Result
	done := make(chan error, 1)
	go func() {
		answer, err := s.session.CallTool(ctx, params)
		if err == nil {
			r, err = result(request, answer, s.program)
		}
		done <- err
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done:
		case <-time.After(100 * time.Millisecond):
			err = ctx.Err()
		}
	}
	if err != nil {
		failed := p.failed(ctx, s, err)
		if wire := refused(err); failed.Reason == mcpclient.Protocol && wire != nil && saysNo(wire) {
			failed.Reason = mcpclient.Refused
		}
		return nil, failed
	}
	return r, nil
}

var (
	errTimeout = errors.New("timeout")
	errStall   = errors.New("stall")
)

// failed says why a server gave no answer, and gives it up: what it may still say belongs to
// no call any more.
func (p *Pool) failed(ctx context.Context, s *server, err error) *Error {
	var known *Error
	if errors.As(err, &known) && (known.Reason == mcpclient.UnknownTool || known.Reason == mcpclient.BadArguments) {
		return known
	}
	if known == nil && ctx.Err() == nil && refused(err) != nil {
		e := mcpclient.Errorf(mcpclient.Protocol, "the server %s: %v", s.name, err) // it is well, and said no
		s.said(e)
		return e
	}
	over := s.meter.over()
	dead := s.exited()
	var e *Error
	switch cause := context.Cause(ctx); {
	case known != nil:
		e = known
	case over:
		e = mcpclient.Errorf(mcpclient.OutputLimit, "the server %s wrote more than a call may", s.name)
	case errors.Is(cause, errStall):
		e = mcpclient.Errorf(mcpclient.Stall, "the server %s was silent for too long", s.name)
	case errors.Is(cause, errTimeout), errors.Is(err, errTimeout):
		e = mcpclient.Errorf(mcpclient.Timeout, "the server %s gave no answer in time", s.name)
	case ctx.Err() != nil:
		e = mcpclient.Errorf(mcpclient.Interrupted, "interrupted")
	case dead != "":
		e = mcpclient.Errorf(mcpclient.Died, "the server %s died during the call: %s", s.name, dead)
	case errors.Is(err, mcp.ErrConnectionClosed), strings.Contains(err.Error(), "EOF"), strings.Contains(err.Error(), "closed"):
		e = mcpclient.Errorf(mcpclient.Died, "the server %s hung up during the call", s.name)
	default:
		e = mcpclient.Errorf(mcpclient.Protocol, "the server %s: %v", s.name, err)
	}
	p.mu.Lock()
	if p.live[s.name] == s {
		delete(p.live, s.name)
	}
	p.mu.Unlock()
	s.stop()
	mcpclient.EndLoose(true)
	s.said(e)
	return e
}

// refused returns the error of the protocol with which a server answered; nil if err is another.
func refused(err error) *jsonrpc.Error {
	var wire *jsonrpc.Error
	errors.As(err, &wire)
	return wire
}

// saysNo reports whether e, the answer to a call of a tool, is the tool's. Servers say in it what
// a tool throws. It is not where the server does not know the call, or where the SDK made e
// because a request over HTTP got no answer.
func saysNo(e *jsonrpc.Error) bool {
	switch e.Code {
	case jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams:
		return false
	}
	return e.Message != "rejected by transport"
}

// result brings an answer into its canonical form, and reads it.
func result(request []byte, a *mcp.CallToolResult, program string) (*Result, error) {
	a.Meta = nil
	response, err := canonical(a)
	if err != nil {
		return nil, err
	}
	return mcpclient.NewResult(request, response, program)
}

// recode writes JSON in its canonical form.
func recode(raw []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return encode(v)
}

// canonical writes a value in its canonical form. It goes by way of JSON, which has one form
// for bytes that are not UTF-8.
func canonical(v any) ([]byte, error) {
	raw, err := encode(v)
	if err != nil {
		return nil, err
	}
	return recode(raw)
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Tools lists the tools of a server, for a check: name and schema as JSON.
func (p *Pool) Tools(ctx context.Context, name string) (map[string]json.RawMessage, error) {
	s, err := p.server(ctx, name)
	if err != nil {
		return nil, err
	}
	list, err := s.list(ctx)
	if err != nil {
		return nil, p.failed(ctx, s, err)
	}
	out := make(map[string]json.RawMessage, len(list))
	for _, t := range list {
		raw, err := json.Marshal(t.InputSchema)
		if err != nil {
			return nil, mcpclient.Errorf(mcpclient.Protocol, "the schema of %s:%s: %v", name, t.Name, err)
		}
		out[t.Name] = raw
	}
	return out, nil
}

// Check says what is wrong with the arguments of a call, without making it; nil if nothing is.
func (p *Pool) Check(ctx context.Context, c Call) error {
	name, tool, _ := strings.Cut(c.Target, ":")
	s, err := p.server(ctx, name)
	if err != nil {
		return err
	}
	t, err := s.tool(ctx, tool)
	if err != nil {
		return p.failed(ctx, s, err)
	}
	_, err = arguments(c, t)
	return err
}

// same reports whether two names are one: matrices, editors and servers differ in how they
// write a dash.
func same(a, b string) bool {
	return strings.ReplaceAll(a, "-", "_") == strings.ReplaceAll(b, "-", "_")
}

// server returns the running server of that name, started if need be.
func (p *Pool) server(ctx context.Context, name string) (*server, error) {
	key, conf, ok := find(p.o.Servers, name)
	if !ok {
		return nil, mcpclient.Errorf(mcpclient.NotConfigured, "no MCP server %q is configured; there are: %s", name, list(p.o.Servers))
	}
	if conf.Disabled {
		return nil, mcpclient.Errorf(mcpclient.NotConfigured, "the MCP server %q is disabled in %s", key, conf.Origin)
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, mcpclient.Errorf(mcpclient.Interrupted, "interrupted")
	}
	s := p.live[key]
	if s == nil {
		starting, cancel := context.WithTimeout(context.Background(), mcpclient.StartTimeout)
		s = &server{name: key, giveUp: cancel, ready: make(chan struct{}), meter: newMeter(), tokens: make(map[string]func(string, bool))}
		p.live[key] = s
		go func() {
			defer close(s.ready)
			defer cancel()
			s.err = s.start(starting, p.o, conf)
		}()
	}
	p.mu.Unlock()
	select {
	case <-s.ready:
	case <-ctx.Done():
		if context.Cause(ctx) == errTimeout {
			return nil, mcpclient.Errorf(mcpclient.Timeout, "the server %s was not ready in time", key)
		}
		return nil, mcpclient.Errorf(mcpclient.Interrupted, "interrupted")
	}
	if s.err != nil {
		p.mu.Lock()
		if p.live[key] == s {
			delete(p.live, key)
		}
		p.mu.Unlock()
		s.stop()
		return nil, s.err
	}
	return s, nil
}

func find(servers map[string]plan.Server, name string) (string, plan.Server, bool) {
	if s, ok := servers[name]; ok {
		return name, s, true
	}
	for _, key := range slices.Sorted(maps.Keys(servers)) {
		if same(key, name) {
			return key, servers[key], true
		}
	}
	return "", plan.Server{}, false
}

func list(servers map[string]plan.Server) string {
	if len(servers) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(servers)), ", ")
}

// httpClient adds the headers of a server's configuration to requests to its address, and makes none to another host: that may not have
// the headers, and its answer would not be the server's.
func httpClient(address string, headers map[string]string, meter *meter) (*http.Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &headed{origin: origin(u), headers: headers, meter: meter}}, nil
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

type headed struct {
	origin  string
	headers map[string]string
	meter   *meter
}

func (h *headed) RoundTrip(req *http.Request) (*http.Response, error) {
	if to := origin(req.URL); to != h.origin {
		return nil, fmt.Errorf("%s sends its requests on to %s: name that as the url of the server, if it is meant", h.origin, to)
	}
	req = req.Clone(req.Context())
	for name, value := range h.headers {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		resp.Body = &metered{resp.Body, h.meter}
	}
	return resp, err
}

// expand replaces ${VAR} and ${VAR:-default} in a text of a server's configuration.
func expand(text string, environ []string) (string, error) {
	var missing []string
	out := os.Expand(text, func(name string) string {
		name, fallback, hasFallback := strings.Cut(name, ":-")
		if v, ok := lookup(environ, name); ok && (v != "" || !hasFallback) {
			return v
		}
		if !hasFallback {
			missing = append(missing, name)
		}
		return fallback
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("the variable %s is not set", strings.Join(missing, ", "))
	}
	return out, nil
}

func lookup(environ []string, name string) (string, bool) {
	for i := len(environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return v, true
		}
	}
	return "", false
}

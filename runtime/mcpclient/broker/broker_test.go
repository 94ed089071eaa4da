//go:build unix

package broker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/mcpclient"
)

// The test binary is also a server that misbehaves as its argument says.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "serve" {
		hostile(os.Args[2])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const handshake = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"hostile","version":"1"}}`

// hostile speaks just enough of the protocol to do harm.
func hostile(how string) {
	switch how {
	case "exit":
		fmt.Fprintln(os.Stderr, "no token, no service")
		os.Exit(3)
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
		time.Sleep(time.Hour)
	case "nonsense":
		fmt.Println("<html>not a server</html>")
		time.Sleep(time.Hour)
	case "flood-at-start":
		flood(os.Stdout)
	case "child", "child-hang":
		// A grandchild that holds the pipes and ignores SIGTERM.
		child := exec.Command(os.Args[0], "serve", "stubborn")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			os.Exit(1)
		}
		fmt.Fprintf(os.Stderr, "pid %d\n", child.Process.Pid)
	case "stubborn":
		signalIgnore()
		time.Sleep(time.Hour)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		reply := func(result string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result) }
		switch m.Method {
		case "initialize":
			reply(handshake)
		case "tools/list":
			if how == "refuse-list" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"not now"}}`+"\n", m.ID)
				continue
			}
			reply(`{"tools":[{"name":"do_it","inputSchema":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}},{"name":"no-schema","inputSchema":{"type":"object"}}]}`)
			if how == "deaf" {
				time.Sleep(time.Hour)
			}
		case "tools/call":
			switch how {
			case "die":
				fmt.Fprintln(os.Stderr, "cannot go on")
				os.Exit(7)
			case "hang", "child-hang":
				time.Sleep(time.Hour)
			case "flood":
				flood(os.Stdout)
			case "flood-progress":
				for {
					fmt.Println(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"dialect-1","progress":1,"message":"` + strings.Repeat("x", 1000) + `"}}`)
				}
			case "garbage":
				fmt.Println(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":[1,2`)
				time.Sleep(time.Hour)
			case "wrong":
				reply(`"a text"`)
			case "refuse":
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"not today"}}`+"\n", m.ID)
			case "refuse-internal":
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"3 tests failed"}}`+"\n", m.ID)
			case "no-method":
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
			case "bad-params":
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such argument"}}`+"\n", m.ID)
			case "error":
				reply(`{"isError":true,"content":[{"type":"text","text":"it cannot be done\nreally"}]}`)
			case "ask":
				fmt.Println(`{"jsonrpc":"2.0","id":99,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`)
				reply(`{"content":[]}`)
			default:
				reply(`{"content":[{"type":"text","text":"done"}],"structuredContent":{"result":{"id":"X-1"},"n":1.50,"b":"<&>"},"_meta":{"at":1}}`)
			}
		default:
			reply(`{}`)
		}
	}
}

func flood(w io.Writer) {
	line := []byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("x", 4000) + `"}}` + "\n")
	for {
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}

func pool(t *testing.T, how string) *Pool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := New(Options{
		Servers: map[string]plan.Server{
			"bad-server": {Argv: []string{self, "serve", how}, Origin: "routing.toml"},
			"off":        {Argv: []string{self}, Disabled: true, Origin: ".mcp.json"},
			"token":      {Argv: []string{self, "serve", "ok"}, Env: map[string]string{"T": "${NO_SUCH_VARIABLE}"}, Origin: ".mcp.json"},
			"gone":       {Argv: []string{"no-such-program"}, Origin: "routing.toml"},
		},
		Dir: t.TempDir(), Environ: os.Environ(), Version: "test",
	})
	t.Cleanup(p.Close)
	return p
}

func TestHostileServers(t *testing.T) {
	for _, tt := range []struct {
		how, target string
		call        Call
		reason      mcpclient.Reason
		says        string
	}{
		{"exit", "bad-server:do_it", Call{}, mcpclient.StartFailed, "ended at its start"},
		{"silent", "bad-server:do_it", Call{Timeout: 300 * time.Millisecond}, mcpclient.Timeout, "not ready in time"},
		{"nonsense", "bad-server:do_it", Call{Timeout: time.Minute}, mcpclient.StartFailed, "does not speak the protocol"},
		{"flood-at-start", "bad-server:do_it", Call{Timeout: time.Minute}, mcpclient.StartFailed, "floods"},
		{"die", "bad_server:do-it", Call{}, mcpclient.Died, "died during the call: exit status 7"},
		{"hang", "bad-server:do_it", Call{Timeout: 500 * time.Millisecond}, mcpclient.Timeout, "gave no answer in time"},
		{"hang", "bad-server:do_it", Call{Stall: 300 * time.Millisecond}, mcpclient.Stall, "silent"},
		{"deaf", "bad-server:no-schema", Call{Timeout: 500 * time.Millisecond, Values: values("a", strings.Repeat("x", 1<<20))}, mcpclient.Timeout, "gave no answer in time"},
		{"deaf", "bad-server:no-schema", Call{Stall: 500 * time.Millisecond, Values: values("a", strings.Repeat("x", 1<<20))}, mcpclient.Stall, "silent"},
		{"flood", "bad-server:do_it", Call{MaxOutput: 1 << 16}, mcpclient.OutputLimit, "wrote more"},
		{"flood-progress", "bad-server:do_it", Call{MaxOutput: 1 << 16, Stall: time.Minute}, mcpclient.OutputLimit, "wrote more"},
		{"garbage", "bad-server:do_it", Call{Timeout: 2 * time.Second}, mcpclient.Timeout, "gave no answer in time"},
		{"wrong", "bad-server:do_it", Call{Timeout: time.Minute}, mcpclient.Protocol, "bad-server"},
		{"refuse", "bad-server:do_it", Call{}, mcpclient.Refused, "not today"},
		{"refuse-internal", "bad-server:do_it", Call{}, mcpclient.Refused, "3 tests failed"},
		{"refuse-list", "bad-server:do_it", Call{}, mcpclient.Protocol, "not now"},
		{"no-method", "bad-server:do_it", Call{}, mcpclient.Protocol, "no such method"},
		{"bad-params", "bad-server:do_it", Call{}, mcpclient.Protocol, "no such argument"},
		{"ok", "bad-server:other", Call{}, mcpclient.UnknownTool, "it has: do_it, no-schema"},
		{"ok", "nowhere:do_it", Call{}, mcpclient.NotConfigured, "there are: bad-server, gone, off, token"},
		{"ok", "off:do_it", Call{}, mcpclient.NotConfigured, "disabled in .mcp.json"},
		{"ok", "token:do_it", Call{}, mcpclient.NotConfigured, "NO_SUCH_VARIABLE"},
		{"ok", "gone:do_it", Call{}, mcpclient.EnvMissing, "not in PATH"},
		{"ok", "bad-server:do_it", Call{Values: values("x", "many")}, mcpclient.BadArguments, "x (integer, required)"},
		{"ok", "bad-server:do_it", Call{Values: []mcpclient.Value{}}, mcpclient.BadArguments, "required"},
		{"ok", "bad-server:no-schema", Call{Values: values("", "1")}, mcpclient.BadArguments, "named values"},
	} {
		t.Run(tt.how+"/"+string(tt.reason), func(t *testing.T) {
			t.Parallel()
			p := pool(t, tt.how)
			c := tt.call
			c.Target = tt.target
			if c.Values == nil {
				c.Values = values("", "3")
			}
			if tt.how == "hang" || tt.how == "deaf" || tt.how == "garbage" { // a call that is too slow, of a server that has all the time to start
				if _, err := p.Tools(context.Background(), "bad-server"); err != nil {
					t.Fatal(err)
				}
			}
			begun := time.Now()
			_, err := p.Call(context.Background(), c)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v", err)
			}
			if e.Reason != tt.reason || !strings.Contains(e.Message, tt.says) {
				t.Errorf("%s: %s (%s)", e.Reason, e.Message, e.Stderr)
			}
			if tt.how == "exit" && !strings.Contains(e.Stderr, "no token") || tt.how == "die" && !strings.Contains(e.Stderr, "cannot go on") {
				t.Errorf("what the server said is lost: %q", e.Stderr)
			}
			if ended := tt.how == "exit" || tt.how == "die"; ended && !(e.Begun && e.Whole) {
				t.Errorf("%s: the server ended by itself, begun %v, whole %v", tt.how, e.Begun, e.Whole)
			}
			p.Close()
			if took := time.Since(begun); took > 2*time.Minute {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestCall(t *testing.T) {
	p := pool(t, "ok")
	r, err := p.Call(context.Background(), Call{Target: "bad-server:do_it", Values: values("", "3")})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.Request); got != `{"arguments":{"x":3},"name":"do_it"}` {
		t.Errorf("request %s", got)
	}
	if got, want := string(r.Response), `{"content":[{"text":"done","type":"text"}],"structuredContent":{"b":"<&>","n":1.5,"result":{"id":"X-1"}}}`; got != want {
		t.Errorf("response %s, want %s", got, want)
	}
	if r.Text != "done" || r.IsError || !strings.Contains(string(r.Structured), "X-1") {
		t.Errorf("%+v", r)
	}
	// The same server serves many calls at once.
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := p.Call(context.Background(), Call{Target: "bad-server:do_it", Arguments: fmt.Sprintf(`{"x":"%d"}`, i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	// A tool that says no is a result.
	r, err = pool(t, "error").Call(context.Background(), Call{Target: "bad-server:do_it", Values: values("x", "3")})
	if err != nil || !r.IsError || r.Text != "it cannot be done\nreally" {
		t.Errorf("%+v %v", r, err)
	}
	// A server that asks for what nobody offers gets no answer that it could use, and is heard.
	if _, err = pool(t, "ask").Call(context.Background(), Call{Target: "bad-server:do_it", Values: values("x", "3"), Timeout: time.Minute}); err != nil {
		t.Errorf("%v", err)
	}
	// After a death the next call gets a new server.
	p = pool(t, "die")
	for range 2 {
		var e *Error
		if _, err := p.Call(context.Background(), Call{Target: "bad-server:do_it", Values: values("x", "3")}); !errors.As(err, &e) || e.Reason != mcpclient.Died {
			t.Errorf("%v", err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(300*time.Millisecond, cancel)
	var e *Error
	if _, err := pool(t, "hang").Call(ctx, Call{Target: "bad-server:do_it", Values: values("x", "3")}); !errors.As(err, &e) || e.Reason != mcpclient.Interrupted {
		t.Errorf("%v", err)
	}
}

// What a server started is gone with it: at the end, and when a call of it had no answer.
func TestTheGroupIsKilled(t *testing.T) {
	p := pool(t, "child")
	if _, err := p.Call(context.Background(), Call{Target: "bad-server:do_it", Values: values("x", "3")}); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	s := p.live["bad-server"]
	p.mu.Unlock()
	text := ""
	for deadline := time.Now().Add(time.Minute); !strings.HasSuffix(text, "\n") && time.Now().Before(deadline); text = s.stderr.String() { // it is read beside the answer
		time.Sleep(time.Millisecond)
	}
	p.Close()
	gone(t, text)

	p = pool(t, "child-hang")
	var e *Error
	for timeout := time.Second; e == nil || e.Stderr == "" && timeout < time.Minute; timeout *= 2 { // until it was long enough to start one
		if _, err := p.Call(context.Background(), Call{Target: "bad-server:do_it", Values: values("x", "3"), Timeout: timeout}); !errors.As(err, &e) || e.Reason != mcpclient.Timeout {
			t.Fatalf("%v", err)
		}
	}
	gone(t, e.Stderr)
}

// gone waits until the process has ended that a server said that it had started.
func gone(t *testing.T, text string) {
	t.Helper()
	var pid int
	if _, err := fmt.Sscanf(text, "pid %d", &pid); err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	deadline := time.Now().Add(time.Minute)
	for syscall.Kill(pid, 0) == nil && !zombie(pid) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on", pid)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func zombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(text), ") Z ")
}

func TestHTTP(t *testing.T) {
	type in struct {
		N int `json:"n"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "http", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "double"}, func(_ context.Context, req *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(2*a.N, " for ", req.Extra.Header.Get("Authorization"))}}}, nil, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	defer web.Close()
	p := New(Options{
		Servers: map[string]plan.Server{
			"web":  {URL: web.URL, Headers: map[string]string{"Authorization": "Bearer ${TOKEN:-nobody}"}},
			"dead": {URL: "http://127.0.0.1:1/mcp"},
		},
		Dir: t.TempDir(), Environ: append(os.Environ(), "TOKEN=me"),
	})
	defer p.Close()
	r, err := p.Call(context.Background(), Call{Target: "web:double", Values: values("", "21"), Timeout: 20 * time.Second})
	if err != nil || r.Text != "42 for Bearer me" {
		t.Errorf("%+v %v", r, err)
	}
	var e *Error
	if _, err := p.Call(context.Background(), Call{Target: "dead:x", Timeout: 20 * time.Second}); !errors.As(err, &e) || e.Reason != mcpclient.StartFailed {
		t.Errorf("%v", err)
	}
}

// The servers that everybody knows, as npm has them.
func TestRealServers(t *testing.T) {
	bin, err := filepath.Abs("testdata/npm/node_modules/.bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "mcp-server-everything")); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("the servers are missing: make test-deps")
		}
		t.Skip("the servers are missing: make test-deps")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := New(Options{
		Servers: map[string]plan.Server{
			"everything": {Argv: []string{filepath.Join(bin, "mcp-server-everything")}},
			"filesystem": {Argv: []string{filepath.Join(bin, "mcp-server-filesystem"), dir}},
		},
		Dir: dir, Environ: os.Environ(), Version: "test",
	})
	defer p.Close()
	call := func(c Call) *Result {
		t.Helper()
		c.Timeout = time.Minute
		r, err := p.Call(context.Background(), c)
		if err != nil {
			var e *Error
			errors.As(err, &e)
			t.Fatalf("%s: %v %s", c.Target, err, e.Stderr)
		}
		return r
	}
	if r := call(Call{Target: "everything:echo", Values: values("", "hello")}); !strings.Contains(r.Text, "hello") {
		t.Errorf("%s", r.Text)
	}
	if r := call(Call{Target: "everything:get-sum", Values: values("a", "2", "b", "40")}); !strings.Contains(r.Text, "42") {
		t.Errorf("%s", r.Text)
	}
	var mu sync.Mutex
	var progress []string
	call(Call{Target: "everything:trigger-long-running-operation", Values: values("duration", "1", "steps", "3"), Progress: func(line string, _ bool) {
		mu.Lock()
		defer mu.Unlock()
		progress = append(progress, line)
	}})
	mu.Lock()
	if len(progress) == 0 || !strings.Contains(progress[len(progress)-1], "/3") {
		t.Errorf("progress %q", progress)
	}
	mu.Unlock()
	if r := call(Call{Target: "everything:get_structured_content", Values: values("location", "New York")}); r.Structured == nil {
		t.Errorf("%+v", r)
	}
	name := filepath.Join(dir, "a.txt")
	if r := call(Call{Target: "filesystem:write_file", Values: values("path", name, "content", "by mcp")}); r.IsError {
		t.Errorf("%s", r.Text)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "by mcp" {
		t.Errorf("%s %v", text, err)
	}
	if r := call(Call{Target: "filesystem:read-text-file", Values: values("path", "/etc/passwd")}); !r.IsError || !strings.Contains(r.Text, "denied") {
		t.Errorf("a file outside was read: %+v", r)
	}
	var e *Error
	if _, err := p.Call(context.Background(), Call{Target: "everything:get-sum", Values: values("a", "two", "b", "40")}); !errors.As(err, &e) || e.Reason != mcpclient.BadArguments {
		t.Errorf("%v", err)
	}
}

// TestRedirect has a server send a request on: on the same host it is followed, and to another host, port or scheme no request goes, with or
// without the headers.
func TestRedirect(t *testing.T) {
	var other atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { other.Add(1) }))
	defer elsewhere.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "http", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "hello"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case "/here":
			http.Redirect(w, r, "/mcp", http.StatusTemporaryRedirect)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	defer web.Close()
	p := New(Options{
		Servers: map[string]plan.Server{"away": {URL: web.URL + "/away", Headers: map[string]string{"X-Key": "k"}}, "here": {URL: web.URL + "/here"}},
		Dir:     t.TempDir(), Environ: os.Environ(),
	})
	defer p.Close()
	var e *Error
	if _, err := p.Call(context.Background(), Call{Target: "away:hello", Timeout: 20 * time.Second}); !errors.As(err, &e) || e.Reason != mcpclient.StartFailed || !strings.Contains(err.Error(), elsewhere.URL) {
		t.Errorf("%v", err)
	}
	if n := other.Load(); n != 0 {
		t.Errorf("the other host got %d requests", n)
	}
	if r, err := p.Call(context.Background(), Call{Target: "here:hello", Timeout: 20 * time.Second}); err != nil || r.Text != "hello" {
		t.Errorf("%+v %v", r, err)
	}
}

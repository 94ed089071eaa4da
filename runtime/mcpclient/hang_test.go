//go:build unix

package mcpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	. "github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/mcpclient/broker"
)

// The test binary is also the helper, and a server whose tool says what it was called with.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "client":
		if err := broker.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
	case len(os.Args) == 2 && os.Args[1] == "server":
		echo()
	default:
		os.Exit(m.Run())
	}
}

func echo() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments struct{ Text string } }
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		result := `{}`
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}`
		case "tools/call":
			text, _ := json.Marshal(m.Params.Arguments.Text)
			result = fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, text)
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

// real makes a pool with the real helper, and the server echo.
func real(t *testing.T) *Pool {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := New(Options{
		Helper: []string{self, "client"}, Dir: t.TempDir(), Environ: os.Environ(),
		Servers: map[string]plan.Server{"s": {Argv: []string{self, "server"}}},
	})
	t.Cleanup(p.Close)
	return p
}

// Requests and replies that are larger than a pipe are under way in both directions at once.
func TestLargeBothWays(t *testing.T) {
	p := real(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 4 {
				text := strings.Repeat(fmt.Sprint(i, j), 200<<10)
				r, err := p.Call(ctx, Call{Target: "s:echo", Values: []Value{{Name: "text", Text: text}}})
				if err != nil {
					t.Errorf("%d.%d: %v", i, j, err)
					return
				}
				if r.Text != text {
					t.Errorf("%d.%d: %d bytes came back of %d", i, j, len(r.Text), len(text))
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		all.Wait()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute + 10*time.Second):
		t.Fatal("both sides wait for each other")
	}
}

// A call has its time, whatever the helper does with it.
func TestHelperThatHangs(t *testing.T) {
	for name, helper := range map[string]string{
		"silent":    "cat >/dev/null; exit",
		"deaf":      "exec sleep 600",
		"stubborn":  "trap '' TERM; sleep 600 & wait; sleep 600",
		"a request": `echo '{"jsonrpc":"2.0","id":1,"method":"what"}'; exec sleep 600`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := New(Options{Helper: []string{"sh", "-c", helper}, Dir: t.TempDir(), Environ: os.Environ()})
			done := make(chan error, 1)
			begun := time.Now()
			go func() {
				_, err := p.Call(context.Background(), Call{Target: "s:t", Timeout: 200 * time.Millisecond, Arguments: strings.Repeat(" ", 1<<20)})
				p.Close()
				done <- err
			}()
			select {
			case err := <-done:
				var e *Error
				if !errors.As(err, &e) || e.Reason != Timeout {
					t.Errorf("%v, want %s", err, Timeout)
				}
				t.Logf("%v after %v", err, time.Since(begun))
			case <-time.After(30 * time.Second):
				t.Fatal("it hangs")
			}
		})
	}
}

//go:build unix

package mcpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	. "github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/mcpclient/broker"
)

// The test binary is also dialect, the helper, a server whose tool says what it was called with,
// and what such a server leaves behind.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != "as" {
		os.Exit(m.Run())
	}
	if dir := os.Getenv("PIDS"); dir != "" {
		_ = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d", os.Args[2], os.Getpid())), nil, 0o600)
	}
	switch os.Args[2] {
	case "dialect":
		p := New(options("family"))
		_, _ = p.Call(context.Background(), Call{Target: "s:echo", Values: []Value{{Name: "text", Text: "x"}}})
		select {}
	case "client":
		if broker.Serve(os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
	case "family":
		child := exec.Command(os.Args[0], "as", "stubborn")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if child.Start() != nil {
			os.Exit(1)
		}
		echo()
		time.Sleep(time.Hour)
	case "loose", "mute": // it has children in a group, and in a session, of their own
		for role, attr := range map[string]*syscall.SysProcAttr{"grouped": {Setpgid: true}, "apart": {Setsid: true}} {
			child := exec.Command(os.Args[0], "as", role)
			child.SysProcAttr = attr
			if child.Start() != nil {
				os.Exit(1)
			}
		}
		echo()
	case "stubborn", "grouped", "apart":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		time.Sleep(time.Hour)
	case "server":
		echo()
	}
	os.Exit(0)
}

// options are those of a pool with the real helper, and a server called s.
func options(server string) Options {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Options{
		Helper: []string{self, "as", "client"}, Dir: os.TempDir(), Environ: os.Environ(),
		Servers: map[string]plan.Server{"s": {Argv: []string{self, "as", server}}}, Grace: time.Second,
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
			if os.Args[2] == "mute" {
				continue
			}
			text, _ := json.Marshal(m.Params.Arguments.Text)
			result = fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, text)
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

// Requests and replies that are larger than a pipe are under way in both directions at once.
func TestLargeBothWays(t *testing.T) {
	p := New(options("server"))
	defer p.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 2 {
				text := strings.Repeat(fmt.Sprint(i, j), 64<<10)
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

// What is larger than a message may be is refused where it is made, or ends who makes it.
func TestTooLarge(t *testing.T) {
	for _, tt := range []struct {
		helper []string
		size   int
		reason Reason
	}{
		{options("server").Helper, MaxMessage, BadArguments},
		{[]string{"sh", "-c", fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; exec sleep 600", 2*MaxMessage)}, 1, Died},
	} {
		o := options("server")
		o.Helper = tt.helper
		p := New(o)
		_, err := p.Call(context.Background(), Call{Target: "s:echo", Values: []Value{{Name: "text", Text: strings.Repeat("x", tt.size)}}, Timeout: time.Minute})
		var e *Error
		if !errors.As(err, &e) || e.Reason != tt.reason {
			t.Errorf("%v, want %s", err, tt.reason)
		}
		p.Close()
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
			p := New(Options{Helper: []string{"sh", "-c", helper}, Dir: t.TempDir(), Environ: os.Environ(), Grace: time.Second})
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

// family is the processes that have written their names to a directory: pids by role.
func family(t *testing.T, dir string) map[string]int {
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]int)
	for _, e := range list {
		role, pid, _ := strings.Cut(e.Name(), "-")
		all[role], _ = strconv.Atoi(pid)
	}
	return all
}

// gone waits until a process has ended.
func gone(t *testing.T, role string, pid int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(text), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s, process %d, lives on", role, pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
			return
		}
	}
}

// A server takes along what it has started in groups of its own when the run ends, and spares daemons, which have sessions of their own. When a call has used up its
// time it takes all along, while the run goes on.
func TestLoose(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux gives a process what its children left")
	}
	for server, want := range map[string]Reason{"loose": "", "mute": Timeout} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			o, dir := options(server), t.TempDir()
			o.Environ = append(os.Environ(), "PIDS="+dir)
			p := New(o)
			defer p.Close()
			_, err := p.Call(context.Background(), Call{Target: "s:echo", Values: []Value{{Name: "text", Text: "x"}}, Timeout: 3 * time.Second})
			var e *Error
			if errors.As(err, &e); err != nil && e.Reason != want || err == nil && want != "" {
				t.Errorf("%v, want %q", err, want)
			}
			all := family(t, dir)
			for deadline := time.Now().Add(10 * time.Second); len(all) < 4 && time.Now().Before(deadline); all = family(t, dir) {
				time.Sleep(20 * time.Millisecond) // a slow one has not said that it is there
			}
			if want == "" {
				p.Close()
			}
			if all["grouped"] == 0 || all["apart"] == 0 {
				t.Fatalf("not all have started: %v", all)
			}
			gone(t, "grouped", all["grouped"])
			if want != "" {
				gone(t, "apart", all["apart"])
			} else if syscall.Kill(all["apart"], syscall.SIGKILL) != nil {
				t.Error("a daemon was ended")
			}
		})
	}
}

// Anyone who is killed takes along what it has started: dialect the helper, the servers and their
// children; the helper the servers.
func TestKill(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a process that its parent has died")
	}
	for _, tt := range []struct {
		victim  string
		orphans []string
	}{
		{"dialect", []string{"client", "family", "stubborn"}},
		{"client", []string{"family"}},
	} {
		t.Run(tt.victim, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], "as", "dialect")
			cmd.Env = append(os.Environ(), "PIDS="+dir)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			all := family(t, dir)
			for deadline := time.Now().Add(20 * time.Second); len(all) < 4 && time.Now().Before(deadline); all = family(t, dir) {
				time.Sleep(20 * time.Millisecond)
			}
			if len(all) < 4 {
				t.Errorf("not all have started: %v", all)
			}
			_ = syscall.Kill(all[tt.victim], syscall.SIGKILL)
			for _, role := range tt.orphans {
				gone(t, role, all[role])
			}
			for _, pid := range all {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			_ = cmd.Wait()
		})
	}
}

//go:build unix

package process

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestAbort(t *testing.T) {
	l := start(t)
	for _, test := range []struct {
		name   string
		args   []string // @ stands for the file of pids
		n      int      // of pids to wait for
		exit   int
		signal string
		linux  bool // needs /proc
	}{
		{"sleeps", []string{"sleep", "@"}, 1, -1, "SIGTERM", false},
		{"polite", []string{"polite", "@"}, 1, 5, "", false},
		{"stubborn", []string{"stubborn", "@"}, 1, -1, "SIGKILL", false},
		{"stopped", []string{"stop", "@"}, 1, -1, "SIGTERM", false},
		{"stubborn child", []string{"child", "@", "inherit"}, 2, -1, "SIGTERM", false},
		{"child of its own session", []string{"child", "@", "setsid"}, 2, -1, "SIGTERM", true},
		{"silent child of its own session", []string{"child", "@", "setsid,silent"}, 2, -1, "SIGTERM", true},
		{"child without environment", []string{"child", "@", "setsid,silent,bare"}, 2, -1, "SIGTERM", true},
		{"stopped child of its own session", []string{"child", "@", "setsid,stop"}, 2, -1, "SIGTERM", true},
		{"daemon", []string{"child", "@", "setsid,silent,daemon"}, 2, -1, "SIGTERM", true},
		{"daemon that holds the pipe", []string{"nest", "@"}, 2, -1, "SIGTERM", true},
		{"daemon without environment", []string{"child", "@", "setsid,silent,bare,daemon"}, 2, -1, "SIGTERM", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.linux && portable {
				t.Skip("descendants in sessions of their own escape here")
			}
			leaks(t)
			file := filepath.Join(t.TempDir(), "pids")
			args := strings.Split(strings.ReplaceAll(strings.Join(test.args, "\x00"), "@", file), "\x00")
			c := command(t, args...)
			// Only what ignores SIGTERM needs SIGKILL; then the other processes of the command may get it as well.
			c.Grace = 200 * time.Millisecond
			if test.n == 1 && test.signal != "SIGKILL" {
				c.Grace = time.Minute
			}
			began := time.Now()
			res := l.Run(afterReports(t, test.n, file), c)
			took := time.Since(began)
			list := pids(file)
			if len(list) < test.n {
				t.Fatalf("%d processes reported, want %d: %s", len(list), test.n, res.Tail)
			}
			if live := alive(list); len(live) > 0 {
				t.Errorf("alive: %v of %v", live, list)
			}
			if test.n > 1 && res.Signal == "SIGKILL" {
				res.Signal = "SIGTERM"
			}
			if res.Stop != Interrupted || res.ExitCode != test.exit || res.Signal != test.signal || len(res.Notes) > 0 {
				t.Errorf("got stop %q, exit %d, signal %q, notes %q", res.Stop, res.ExitCode, res.Signal, res.Notes)
			}
			if test.name == "polite" && string(res.Tail) != "asked to end\n" {
				t.Errorf("last words %q", res.Tail)
			}
			if took >= time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}

// Each process of the chain opens a session, starts the next one and is gone.
func TestForksInALoop(t *testing.T) {
	if portable {
		t.Skip("descendants in sessions of their own escape here")
	}
	l := start(t)
	file := filepath.Join(t.TempDir(), "pids")
	c := command(t, "forks", file, "20")
	c.Grace = -1
	c.Timeout = 300 * time.Millisecond
	res := l.Run(context.Background(), c)
	if res.Stop != Timeout || res.Signal != "SIGKILL" && res.Signal != "SIGTERM" || len(res.Notes) > 0 {
		t.Errorf("got stop %q, signal %q, notes %q", res.Stop, res.Signal, res.Notes)
	}
	time.Sleep(50 * time.Millisecond)
	out, _ := exec.Command("pgrep", "-f", "generation "+file).Output()
	if len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("alive: %s", out)
	}
}

func TestBudgets(t *testing.T) {
	l := start(t)
	file := filepath.Join(t.TempDir(), "pids")
	for _, test := range []struct {
		name string
		c    Command
		stop Stop
		min  time.Duration
	}{
		{"timeout", Command{Argv: []string{"", "sleep", file}, Timeout: 150 * time.Millisecond}, Timeout, 150 * time.Millisecond},
		{"timeout of a talker", Command{Argv: []string{"", "forever"}, Timeout: 150 * time.Millisecond, Stall: 100 * time.Millisecond}, Timeout, 150 * time.Millisecond},
		{"stall", Command{Argv: []string{"", "sleep", file}, Timeout: time.Minute, Stall: 150 * time.Millisecond}, Stall, 150 * time.Millisecond},
		{"output", Command{Argv: []string{"", "forever"}, MaxOutput: 100_000}, OutputLimit, 0},
		{"no output at all", Command{Argv: []string{"", "forever"}, MaxOutput: 1}, OutputLimit, 0},
		{"in time", Command{Argv: []string{"", "exit", "0"}, Timeout: time.Minute, Stall: time.Minute, MaxOutput: 1}, "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaks(t)
			c := command(t)
			c.Argv = append(c.Argv, test.c.Argv[1:]...)
			c.Timeout, c.Stall, c.MaxOutput, c.Grace = test.c.Timeout, test.c.Stall, test.c.MaxOutput, 100*time.Millisecond
			c.LogDir = t.TempDir()
			run := l.Run
			if test.name == "timeout of a talker" {
				run = unstalled(l, func() {})
			}
			res := run(context.Background(), c)
			if res.Stop != test.stop || res.Duration < test.min || res.Duration > time.Minute {
				t.Errorf("got %q after %v", res.Stop, res.Duration)
			}
			if test.stop == OutputLimit {
				want := make([]byte, 0, c.MaxOutput+int64(len(pattern)))
				for int64(len(want)) < c.MaxOutput {
					want = append(want, pattern[:]...)
				}
				want = want[:c.MaxOutput]
				if res.Stdout.Bytes != c.MaxOutput || res.Stdout.SHA256 != sha256.Sum256(want) {
					t.Errorf("recorded %d bytes", res.Stdout.Bytes)
				}
				if len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "not recorded") {
					t.Errorf("notes %q", res.Notes)
				}
			}
			if live := alive(pids(file)); len(live) > 0 {
				t.Errorf("alive: %v", live)
			}
		})
	}
}

// Exactly as much as is allowed is not too much.
func TestOutputAtLimit(t *testing.T) {
	l := start(t)
	c := command(t, "print", "12345", "678")
	c.MaxOutput = 8
	if res := l.Run(context.Background(), c); res.Stop != "" || res.ExitCode != 0 || len(res.Notes) > 0 {
		t.Errorf("got %+v", res)
	}
}

// One byte more is, even if the command has ended before anybody could end it.
func TestOutputBeyondLimit(t *testing.T) {
	l := start(t)
	for range 20 {
		c := command(t, "print", "12345", "6789")
		c.MaxOutput = 8
		if res := l.Run(context.Background(), c); res.Stop != OutputLimit || len(res.Notes) != 1 {
			t.Fatalf("got %+v", res)
		}
	}
}

// A listener that takes its time is not a stall of the command.
func TestSlowListener(t *testing.T) {
	l := start(t)
	c := &Command{Argv: []string{"sh", "-c", "echo 1; sleep 0.05; echo 2; sleep 0.05"}, Env: os.Environ(), Stall: 200 * time.Millisecond}
	c.Output = func(Stream, []byte) { time.Sleep(300 * time.Millisecond) }
	if res := unstalled(l, func() {})(context.Background(), c); res.Stop != "" || res.ExitCode != 0 {
		t.Errorf("got %q", res.Stop)
	}
}

// unstalled returns a Run that runs a command once more, after it has called again, if it stalls and was indeed silent: where the
// machine runs nothing for a while, the command is silent, too. The time that its listener takes does not count as silence.
func unstalled(l *Launcher, again func()) func(context.Context, *Command) Result {
	return func(ctx context.Context, c *Command) Result {
		output := c.Output
		for {
			last := time.Now()
			c.Output = func(s Stream, p []byte) {
				if output != nil {
					output(s, p)
				}
				last = time.Now()
			}
			res := l.Run(ctx, c)
			if res.Stop != Stall || res.Started.Add(res.Duration).Sub(last) < c.Stall {
				return res
			}
			again()
		}
	}
}

func TestHeldPipe(t *testing.T) {
	l := start(t)
	for _, how := range []string{"inherit", "setsid"} {
		t.Run(how, func(t *testing.T) {
			leaks(t)
			file := filepath.Join(t.TempDir(), "pids")
			c := command(t, "daemon", file, how)
			c.PipeWait = 200 * time.Millisecond
			c.Timeout, c.Stall = 100*time.Millisecond+20*time.Second, 0
			res := l.Run(context.Background(), c)
			list := pids(file)
			if res.Stop != "" || res.ExitCode != 0 || len(res.Notes) != 1+named(res) || !strings.Contains(res.Notes[0], "still held its output open 200ms later") {
				t.Errorf("got %+v", res)
			}
			if res.Duration < 200*time.Millisecond {
				t.Errorf("took %v", res.Duration)
			}
			if live := alive(list); len(live) != 1 {
				t.Errorf("the daemon does not live: %v of %v", live, list)
			}
			end(t, list)
		})
	}
}

// Cancelled while a pipe is held, a command that ended keeps its status, and
// leaves nothing.
func TestHeldPipeCancelled(t *testing.T) {
	if portable {
		t.Skip("descendants in sessions of their own escape here")
	}
	l := start(t)
	file := filepath.Join(t.TempDir(), "pids")
	c := command(t, "daemon", file, "setsid")
	c.PipeWait, c.Grace = time.Minute, 50*time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for ended := false; !ended; time.Sleep(time.Millisecond) {
			text, _ := os.ReadFile(file + ".parent")
			pid, _ := strconv.Atoi(string(text))
			threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
			ended = pid > 0 && stateOf(pid) == "Z" && len(threads) == 1 // the first thread may end before the others
		}
		cancel()
	}()
	res := l.Run(ctx, c)
	if res.Stop != "" || res.ExitCode != 0 {
		t.Errorf("got %+v", res)
	}
	if live := alive(pids(file)); len(live) > 0 {
		t.Errorf("alive: %v", live)
	}
}

// named counts the notes that name what a command left running: one, where that is known.
func named(res Result) int {
	if portable || len(res.Left) != 1 || !strings.Contains(strings.Join(res.Notes, "\n"), fmt.Sprintf("left running: %d ", res.Left[0].PID)) {
		return 0
	}
	return 1
}

// What a command left when it ended by itself survives the launcher, and the abort
// of another command.
func TestDaemonIsLeftAlone(t *testing.T) {
	var list []int
	t.Run("run", func(t *testing.T) {
		l, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "pids")
		if res := l.Run(context.Background(), command(t, "daemon", file, "setsid,silent")); res.ExitCode != 0 || len(res.Notes) != named(res) {
			t.Errorf("got %+v", res)
		}
		if res := l.Run(context.Background(), command(t, "daemon", file, "silent")); res.ExitCode != 0 || len(res.Notes) != named(res) {
			t.Errorf("got %+v", res)
		}
		c := command(t, "stubborn", filepath.Join(t.TempDir(), "pids"))
		c.Timeout, c.Grace = 100*time.Millisecond, -1
		if res := l.Run(context.Background(), c); res.Stop != Timeout {
			t.Errorf("got %+v", res)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		list = pids(file)
		if live := alive(list); len(live) != 2 {
			t.Errorf("alive: %v of %v", live, list)
		}
	})
	end(t, list)
}

// end kills the processes of list and waits for them where they are children.
func end(t *testing.T, list []int) {
	t.Helper()
	for _, pid := range list {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	for range 30_000 {
		left := 0
		for _, pid := range list {
			_, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			if err == nil || len(alive([]int{pid})) > 0 {
				left++
			}
		}
		if left == 0 {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Errorf("%v do not die", list)
}

func TestCloseAborts(t *testing.T) {
	leaks(t)
	l, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pids")
	var wg sync.WaitGroup
	for range 3 {
		c := command(t, "child", file, "inherit")
		c.Grace = 100 * time.Millisecond
		wg.Go(func() {
			if res := l.Run(context.Background(), c); res.Stop != Interrupted {
				t.Errorf("got %+v", res)
			}
		})
	}
	for deadline := time.Now().Add(time.Minute); len(pids(file)) < 6 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if list := pids(file); len(list) != 6 || len(alive(list)) > 0 {
		t.Errorf("alive: %v of %v", alive(list), list)
	}
	wg.Wait()
}

// An abort ends its own tree and nothing of the commands beside it, nor what
// other parts of this process started.
func TestAbortSparesOthers(t *testing.T) {
	l := start(t)
	dir := t.TempDir()
	other := command(t, "sleep", filepath.Join(dir, "foreign"))
	foreign := exec.Command(other.Argv[0], other.Argv[1:]...)
	foreign.Env = other.Env
	foreign.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := foreign.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	files := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	contexts := []context.Context{ctx, afterReports(t, 2, files...)} // the second is aborted only after both are up
	for i, file := range files {
		c := command(t, "child", file, "setsid,silent")
		c.Grace = 50 * time.Millisecond
		wg.Go(func() {
			if res := l.Run(contexts[i], c); res.Stop != Interrupted {
				t.Errorf("got %+v", res)
			}
			if i == 1 { // the aborted one; the other still runs
				if live := alive(pids(files[0])); len(live) != 2 {
					t.Errorf("of the other command live %v", live)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	cancel()
	if live := alive([]int{foreign.Process.Pid}); len(live) != 1 {
		t.Error("a child of somebody else was killed")
	}
	foreign.Process.Kill()
	foreign.Wait()
	if portable {
		return
	}
	for _, file := range files {
		if live := alive(pids(file)); len(live) > 0 {
			t.Errorf("alive: %v", live)
		}
	}
}

// A command under another launcher belongs to the outer one as well.
func TestNestedMark(t *testing.T) {
	t.Setenv(MarkVariable, "outer.1")
	l, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	res := l.Run(context.Background(), command(t, "env"))
	if !strings.Contains(string(res.Tail), MarkVariable+"=outer.1/") {
		t.Errorf("got %s", res.Tail)
	}
}

// Whatever the moment of the cancellation, a result is either the command's own or
// an interruption, and nothing is left.
func TestCancelAnyMoment(t *testing.T) {
	l := start(t)
	for i := range 60 {
		ctx, cancel := context.WithCancel(context.Background())
		timer := time.AfterFunc(time.Duration(i)*100*time.Microsecond, cancel)
		res := l.Run(ctx, command(t, "exit", "3"))
		switch {
		case res.Stop == "" && res.ExitCode == 3:
		case res.Stop == Interrupted && (res.Signal == "SIGTERM" || res.Err != nil || res.ExitCode == 3 || res.ExitCode == 2):
		default:
			t.Errorf("after %d00 us: %+v", i, res)
		}
		timer.Stop()
		cancel()
	}
	if left := children(); len(left) > 0 {
		t.Error(fmt.Sprint(left))
	}
}

// A listener that has enough suspends no budget but the stall of what it holds up; the rest
// of the output arrives once it takes more, or when the command has ended.
func TestHold(t *testing.T) {
	never := make(chan struct{})
	full := func() <-chan struct{} { return never }
	for name, set := range map[string]func(c *Command) Stop{
		"timeout":   func(c *Command) Stop { c.Timeout = 1500 * time.Millisecond; return Timeout },
		"cancelled": func(c *Command) Stop { return Interrupted },
	} {
		t.Run(name, func(t *testing.T) {
			leaks(t)
			l := start(t)
			c := command(t, "forever")
			c.Grace, c.Stall = 50*time.Millisecond, 600*time.Millisecond
			want := set(c)
			heard := 0
			c.Output = func(_ Stream, p []byte) { heard += len(p) }
			c.Hold = full
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if want == Interrupted {
				time.AfterFunc(1500*time.Millisecond, cancel)
			}
			res := l.Run(ctx, c)
			for res.Stop == Stall && heard == 0 { // the machine stalled before there was anything to hold
				res = l.Run(ctx, c)
			}
			if res.Stop != want {
				t.Errorf("got %q after %v", res.Stop, res.Duration)
			}
			if int64(heard) != res.Stdout.Bytes || heard > 2<<20 {
				t.Errorf("heard %d bytes of %d", heard, res.Stdout.Bytes)
			}
		})
	}
	t.Run("ended", func(t *testing.T) {
		leaks(t)
		l := start(t)
		text := strings.Repeat("x", 40_000)
		c := command(t, "print", text, text)
		heard := 0
		c.Output = func(_ Stream, p []byte) { heard += len(p) }
		c.Hold = full
		if res := l.Run(context.Background(), c); res.ExitCode != 0 || res.Stop != "" || len(res.Notes) > 0 || heard != 2*len(text) {
			t.Errorf("heard %d bytes: %+v", heard, res)
		}
	})
	t.Run("slow", func(t *testing.T) {
		leaks(t)
		l := start(t)
		c := command(t, "flood", "300000")
		c.Stall = 2 * time.Second
		heard := 0
		c.Output = func(_ Stream, p []byte) { heard += len(p) }
		c.Hold = func() <-chan struct{} {
			ch := make(chan struct{})
			time.AfterFunc(300*time.Millisecond, func() { close(ch) })
			return ch
		}
		if res := unstalled(l, func() { heard = 0 })(context.Background(), c); res.ExitCode != 0 || res.Stop != "" || heard != 600_000 {
			t.Errorf("heard %d bytes: %+v", heard, res.Stop)
		}
	})
}

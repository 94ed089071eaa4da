//go:build unix

package interrupt

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/runtime/engine"
)

// TestMain is, with INTERRUPT_TEST, a process that catches its signals and says what they did.
func TestMain(m *testing.M) {
	switch os.Getenv("INTERRUPT_TEST") {
	case "":
		os.Exit(m.Run())
	case "bound":
		i := Catch()
		i.Bound(0, func() { os.Stdout.WriteString("bound\n") })
		os.Stdout.WriteString("ready\n")
		select {} // as a write that nobody reads
	default:
		i := Catch()
		hide := func() { os.Stdout.WriteString("hidden\n") }
		i.Hide.Store(&hide)
		os.Stdout.WriteString("ready\n")
		<-i.Context.Done()
		os.Stdout.WriteString(context.Cause(i.Context).Error() + "\n")
		select {}
	}
}

// A child is this test as another process.
type child struct {
	*exec.Cmd
	out *bufio.Reader
}

func start(t *testing.T, mode string) child {
	t.Helper()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // what is caught here has its default there, under nohup, too
	t.Cleanup(func() { signal.Stop(hangups) })
	c := child{Cmd: exec.Command(os.Args[0])}
	c.Env = append(os.Environ(), "INTERRUPT_TEST="+mode)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	c.out = bufio.NewReader(out)
	c.says(t, "ready")
	return c
}

func (c child) says(t *testing.T, want string) {
	t.Helper()
	if line, err := c.out.ReadString('\n'); err != nil || strings.TrimSpace(line) != want {
		t.Fatalf("it says %q, %v; want %q", line, err, want)
	}
}

// TestThird sends signals until the process does not wait any more: the first one decides its exit
// status, the drawing is taken away before.
func TestThird(t *testing.T) {
	for _, c := range []struct {
		signal syscall.Signal
		name   string
		status int
	}{{syscall.SIGINT, "SIGINT", 130}, {syscall.SIGTERM, "SIGTERM", 143}, {syscall.SIGHUP, "SIGHUP", 129}} {
		p := start(t, "third")
		if err := p.Process.Signal(c.signal); err != nil {
			t.Fatal(err)
		}
		if line, err := p.out.ReadString('\n'); err != nil || !strings.Contains(line, c.name) {
			t.Fatalf("%s: %q, %v", c.name, line, err)
		}
		for _, harmless := range []syscall.Signal{syscall.SIGCONT, syscall.SIGPIPE} {
			if err := p.Process.Signal(harmless); err != nil {
				t.Fatal(err)
			}
		}
		// One that is pending is not delivered twice: each is sent until it has its effect.
		done := make(chan struct{})
		go func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(20 * time.Millisecond):
					_ = p.Process.Signal(c.signal)
				}
			}
		}()
		p.says(t, "hidden")
		err := p.Wait()
		close(done)
		var ended *exec.ExitError
		if !errors.As(err, &ended) || ended.ExitCode() != c.status {
			t.Errorf("%s: %v, want %d", c.name, err, c.status)
		}
	}
}

// TestBound interrupts a process whose output nobody reads.
func TestBound(t *testing.T) {
	p := start(t, "bound")
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.says(t, "bound")
	var ended *exec.ExitError
	if err := p.Wait(); !errors.As(err, &ended) || ended.ExitCode() != 143 {
		t.Errorf("%v", err)
	}
}

// TestNohup: a hangup that is ignored stays so.
func TestNohup(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	ctx, stop := Context()
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
		t.Error("it ends the run")
	case <-time.After(50 * time.Millisecond):
	}
}

// TestAwait waits for work that ends, that ends after an interruption, and that does not.
func TestAwait(t *testing.T) {
	want := errors.New("x")
	if err := Await(t.Context(), func() error { return want }); err != want {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(engine.Signal{Name: "SIGTERM"})
	var s exit.Status
	if err := Await(ctx, func() error { return ctx.Err() }); !errors.As(err, &s) || s != 143 {
		t.Errorf("work that heeds its context: %v", err)
	}
	if err := Await(ctx, func() error { return want }); err != want {
		t.Errorf("work that fails after an interruption: %v", err)
	}
	release := make(chan struct{})
	defer close(release)
	var f *exit.Failure
	if err := Await(ctx, func() error { <-release; return nil }); !errors.As(err, &f) || f.Status != 143 {
		t.Errorf("work that does not end: %v", err)
	}
}

// TestParentOf reads the parents of this process up to the first.
func TestParentOf(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc")
	}
	if got := parentOf(os.Getpid()); got != os.Getppid() {
		t.Errorf("%d, want %d", got, os.Getppid())
	}
	if got := parentOf(1 << 30); got != 0 {
		t.Errorf("of a process that is not there: %d", got)
	}
}

// TestOrphaned: in a session of its own nobody would let a process go on.
func TestOrphaned(t *testing.T) {
	p := exec.Command(os.Args[0], "-test.run=^TestOrphanedChild$", "-test.v")
	p.Env = append(os.Environ(), "INTERRUPT_ORPHAN=1")
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if out, err := p.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestOrphanedChild") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestOrphanedChild(t *testing.T) {
	if os.Getenv("INTERRUPT_ORPHAN") == "" {
		t.Skip("it is run by TestOrphaned")
	}
	if !orphaned() {
		t.Error("it waits for somebody who lets it go on")
	}
}

// TestEcho: timeout(1) sends its signal twice, to the process and to its group. That is one request; a
// third signal would end this process, and what has to run in any case would not.
func TestEcho(t *testing.T) {
	var r requests
	began := time.Now()
	for i, c := range []struct {
		sig   os.Signal
		after time.Duration
		want  int
	}{
		{syscall.SIGTERM, 0, 1}, {syscall.SIGTERM, 0, 0}, {syscall.SIGTERM, echo - 1, 0}, // one request
		{syscall.SIGTERM, echo, 2}, {syscall.SIGTERM, echo, 3}, // somebody asks again
	} {
		if got := r.add(c.sig, began.Add(c.after)); got != c.want {
			t.Errorf("%d: %v after %v is request %d, want %d", i, c.sig, c.after, got, c.want)
		}
	}
	r = requests{}
	if first, other := r.add(syscall.SIGTERM, began), r.add(syscall.SIGINT, began); first != 1 || other != 2 {
		t.Errorf("another signal at once is request %d after %d", other, first)
	}

	ctx, cancel := context.WithCancelCause(context.Background())
	i := &Catcher{Context: ctx, JobControl: new(engine.JobControl), cancel: cancel, ch: make(chan os.Signal, 1)}
	i.ch <- syscall.SIGTERM
	close(i.ch)
	i.loop()
	if s, ok := context.Cause(ctx).(engine.Signal); !ok || s.Name != "SIGTERM" {
		t.Error(context.Cause(ctx))
	}
}

// TestReader: what nobody writes is waited for until a signal, and no longer; what somebody does is read.
func TestReader(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	r := Reader(ctx, in)
	if _, err := out.WriteString("text"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 10)
	if n, err := r.Read(buf); err != nil || string(buf[:n]) != "text" {
		t.Errorf("%q, %v", buf[:n], err)
	}
	time.AfterFunc(10*time.Millisecond, func() { cancel(engine.Signal{Name: "SIGTERM"}) })
	for range 2 {
		var s exit.Status
		if n, err := r.Read(buf); n != 0 || !errors.As(err, &s) || s != 143 {
			t.Errorf("after a signal: %d, %v", n, err)
		}
	}
}

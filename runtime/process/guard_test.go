//go:build linux && !portable

package process

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not come", what)
		}
	}
}

// guardOf returns the pid of the guard that the process pid has started, 0 for none.
func guardOf(pid int) int {
	for _, p := range processes() {
		if line, err := os.ReadFile("/proc/" + itoa(p) + "/cmdline"); err == nil && strings.HasPrefix(string(line), "guard of a test") {
			if q, ok := readProc(p); ok && q.ppid == pid {
				return p
			}
		}
	}
	return 0
}

// Whatever came loose dies with a launcher that is killed.
func TestGuard(t *testing.T) {
	for _, how := range []string{"inherit", "setsid", "silent,setsid", "bare,silent"} {
		t.Run(how, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pids")
			p, err := os.StartProcess(self(), []string{self(), "launcher", file, how}, &os.ProcAttr{
				Env: append(os.Environ(), helperVariable+"=1"), Files: []*os.File{nil, os.Stdout, os.Stderr},
			})
			if err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the child", func() bool { return len(pids(file)) == 2 })
			waitFor(t, "the guard", func() bool { return guardOf(p.Pid) != 0 })
			g := guardOf(p.Pid)
			p.Kill()
			p.Wait()
			waitFor(t, "the end of all", func() bool { return len(alive(append(pids(file), g))) == 0 })
		})
	}
}

// The commands themselves die at once, without any guard.
func TestParentDeath(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	p, err := os.StartProcess(self(), []string{self(), "launcher", file, "inherit"}, &os.ProcAttr{
		Env: append(os.Environ(), helperVariable+"=1"), Files: []*os.File{nil, os.Stdout, os.Stderr},
	})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the child", func() bool { return len(pids(file)) == 2 })
	leader := pids(file)[1] // it reports after its child
	if g := guardOf(p.Pid); g != 0 {
		unix.Kill(g, unix.SIGKILL)
	}
	p.Kill()
	p.Wait()
	waitFor(t, "the end of the command", func() bool { return len(alive([]int{leader})) == 0 })
	for _, pid := range pids(file) {
		unix.Kill(pid, unix.SIGKILL)
	}
}

// A run in which nothing lasts has no guard; one that ends well leaves none.
func TestGuardGoes(t *testing.T) {
	leaks(t)
	l, err := New(Options{Guard: []string{"guard of a test", "guard"}})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	l.Run(context.Background(), command(t, "exit", "0"))
	if took := time.Since(start); l.platform.guard.pid != 0 && took < GuardDelay {
		t.Errorf("the guard came for a command that took %s; it is to come after %s", took, GuardDelay)
	}
	c := command(t, "sleep", filepath.Join(t.TempDir(), "pids"))
	c.Timeout = 4 * GuardDelay
	if res := l.Run(context.Background(), c); res.Stop != Timeout {
		t.Errorf("got %+v", res)
	}
	g := l.platform.guard.pid
	if g == 0 {
		t.Fatal("there is no guard")
	}
	// A daemon of a command that ended well stays, also under a guard.
	file := filepath.Join(t.TempDir(), "daemon")
	l.Run(context.Background(), command(t, "daemon", file, "silent,setsid"))
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if len(alive([]int{g})) != 0 {
		t.Error("the guard is still there")
	}
	if n := len(alive(pids(file))); n != 1 {
		t.Errorf("%d daemons", n)
	}
	for _, pid := range pids(file) {
		unix.Kill(pid, unix.SIGKILL)
		unix.Wait4(pid, nil, 0, nil)
	}
}

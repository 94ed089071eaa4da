//go:build unix

package process

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Kill does not wait for the grace of what ignores SIGTERM.
func TestKill(t *testing.T) {
	l := start(t)
	file := filepath.Join(t.TempDir(), "pids")
	c := command(t, "child", file, "inherit")
	c.Grace = time.Minute
	ctx := afterReports(t, 2, file)
	go func() {
		<-ctx.Done()
		time.Sleep(50 * time.Millisecond)
		l.Kill()
	}()
	began := time.Now()
	res := l.Run(ctx, c)
	if res.Stop != Interrupted || time.Since(began) > 20*time.Second || len(alive(pids(file))) > 0 {
		t.Errorf("got %+v after %v, alive %v", res, time.Since(began), alive(pids(file)))
	}
	if res := l.Run(context.Background(), command(t, "exit", "0")); res.Stop != Interrupted {
		t.Errorf("started after Kill: %+v", res)
	}
}

// What is paused does not run, and no budget does.
func TestPause(t *testing.T) {
	for budget := 600 * time.Millisecond; !pauses(t, budget); budget *= 2 {
	}
}

// A command that is started while the launcher is paused is stopped, too, though Pause did not find it.
func TestStartedWhilePaused(t *testing.T) {
	if stateOf(os.Getpid()) == "" {
		t.Skip("nothing tells the state of a process here")
	}
	l := start(t)
	resume := l.Pause()
	file := filepath.Join(t.TempDir(), "pids")
	done := make(chan Result, 1)
	go func() { done <- l.Run(context.Background(), command(t, "sleep", file)) }()
	defer l.Kill()
	stopped := func() bool {
		pid := leader(l)
		return pid > 0 && stateOf(pid) == "T"
	}
	for deadline := time.Now().Add(10 * time.Second); !stopped(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it runs")
		}
	}
	resume()
	for len(pids(file)) == 0 {
		time.Sleep(time.Millisecond)
	}
	l.Kill()
	if res := <-done; res.Stop != Interrupted {
		t.Errorf("got %+v", res)
	}
}

// leader is the process of the command that runs; 0 for none.
func leader(l *Launcher) (pid int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for r := range l.running {
		pid = int(r.pid.Load())
	}
	return pid
}

// pauses reports whether the pause came before the budget was spent: it proves something then.
func pauses(t *testing.T, budget time.Duration) bool {
	l := start(t)
	file := filepath.Join(t.TempDir(), "pids")
	c := command(t, "child", file, "inherit")
	c.Timeout, c.Stall, c.Grace = budget, budget, 50*time.Millisecond
	done := make(chan Result, 1)
	began := time.Now()
	go func() { done <- l.Run(context.Background(), c) }()
	for len(pids(file)) < 2 && time.Since(began) < budget {
		time.Sleep(time.Millisecond)
	}
	resume := l.Pause()
	if time.Since(began) >= budget {
		resume()
		<-done
		return false
	}
	l.Pause()() // a second one does nothing
	time.Sleep(budget + 300*time.Millisecond)
	select {
	case res := <-done:
		t.Fatalf("it ended while it was paused: %+v", res)
	default:
	}
	for _, pid := range pids(file) {
		for deadline := time.Now().Add(time.Minute); stateOf(pid) != "" && stateOf(pid) != "T"; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d is in state %s", pid, stateOf(pid))
			}
		}
	}
	resume()
	res := <-done
	if res.Stop != Timeout && res.Stop != Stall || time.Since(began) < 2*budget+200*time.Millisecond {
		t.Errorf("got %+v after %v", res, time.Since(began))
	}
	return true
}

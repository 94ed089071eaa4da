package engine

import (
	"sync"

	"github.com/command-dialect/dialect/runtime/attempt"
)

// A Control acts on the processes of a run from outside, as a second Ctrl-C or Ctrl-Z
// do. The zero Control is ready; it is for one run. Its methods may be called at any time.
type Control struct {
	mu     sync.Mutex
	exec   *attempt.Executor
	kill   func() // ends what is not a process of exec
	killed bool
}

func (c *Control) attach(x *attempt.Executor, kill func()) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exec, c.kill = x, kill; c.killed {
		c.end()
	}
}

// end ends what runs; mu is held.
func (c *Control) end() {
	if c.exec != nil {
		c.kill()
		c.exec.Kill()
	}
}

// Kill ends at once what runs; nothing starts any more, not even what runs in any case.
// It does not cancel the run: that comes first.
func (c *Control) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = true
	c.end()
}

// Pause stops what runs, and the clocks of all budgets, until resume is called.
func (c *Control) Pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exec == nil {
		return func() {}
	}
	return c.exec.Pause()
}

package runner

import (
	"sync"

	"github.com/command-dialect/dialect/runtime/process"
)

// A Control acts on the processes of a run from outside, as a second Ctrl-C or Ctrl-Z
// do. The zero Control is ready; it is for one run. Its methods may be called at any time.
type Control struct {
	mu       sync.Mutex
	launcher *process.Launcher
	kill     func() // ends what is no process of the launcher
	killed   bool
}

func (c *Control) attach(l *process.Launcher, kill func()) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.launcher, c.kill = l, kill; c.killed {
		c.end()
	}
}

// end ends what runs; mu is held.
func (c *Control) end() {
	if c.kill != nil {
		c.kill()
	}
	if c.launcher != nil {
		c.launcher.Kill()
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

// ended reports whether Kill was called.
func (c *Control) ended() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.killed
}

// Pause stops what runs, and the clocks of all budgets, until resume is called.
func (c *Control) Pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.launcher == nil {
		return func() {}
	}
	return c.launcher.Pause()
}

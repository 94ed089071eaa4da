package engine

import "sync"

// A JobControl acts on the processes of a run from outside, as a second Ctrl-C or a Ctrl-Z
// do. The zero JobControl is ready; it is for one run. Its methods may be called at any time.
type JobControl struct {
	mu     sync.Mutex
	exec   processes
	kill   func() // ends what is not a process of exec
	killed bool
}

// processes are those of a run.
type processes interface {
	Kill()
	Pause() (resume func())
}

// elsewhere are the processes of a run that another process drives.
type elsewhere struct {
	kill  func()
	pause func() (resume func())
}

func (e elsewhere) Kill()                  { e.kill() }
func (e elsewhere) Pause() (resume func()) { return e.pause() }

// Attach has c act on a run that another process drives, until done is called.
func (c *JobControl) Attach(kill func(), pause func() (resume func())) (done func()) {
	c.attach(elsewhere{kill, pause}, func() {})
	return func() { c.attach(nil, nil) }
}

func (c *JobControl) attach(x processes, kill func()) {
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
func (c *JobControl) end() {
	if c.exec != nil {
		c.kill()
		c.exec.Kill()
	}
}

// Kill ends at once what runs; nothing starts any more, not even what runs in any case.
// It does not cancel the run: that comes first.
func (c *JobControl) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = true
	c.end()
}

// Pause stops what runs, and the clocks of all budgets, until resume is called.
func (c *JobControl) Pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exec == nil {
		return func() {}
	}
	return c.exec.Pause()
}

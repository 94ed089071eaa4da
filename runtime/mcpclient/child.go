package mcpclient

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// A Child is a process that is spoken to over pipes, with a group of its own.
type Child struct {
	cmd    *exec.Cmd
	Stdin  io.WriteCloser
	Stdout *os.File
	Done   chan struct{} // closed when it has ended
	err    error         // of Wait

	mu    sync.Mutex
	ended bool // the group was killed, and must not be signalled any more
	asked bool // it got SIGTERM
}

// EndPatience is how long to wait for the exit of a process that has closed its output, to report how it ended. One that does not exit is
// killed like any other.
const EndPatience = 2 * time.Second

// Grace of an end: to read the end of the input, then to heed SIGTERM.
const (
	inputGrace = 500 * time.Millisecond
	termGrace  = time.Second
)

// StartChild starts one; stderr gets what it writes there. On Linux the child gets the signal
// orphaned when this process dies.
func StartChild(path string, argv []string, dir string, env []string, stderr io.Writer, orphaned syscall.Signal) (*Child, error) {
	c := &Child{cmd: &exec.Cmd{Path: path, Args: argv, Dir: dir, Env: env}, Done: make(chan struct{})}
	var err error
	if c.Stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// A pipe of our own: that of the command would be closed by Wait before all is read.
	var out *os.File
	if c.Stdout, out, err = os.Pipe(); err != nil {
		return nil, err
	}
	c.cmd.Stdout = out
	c.cmd.Stderr = stderr
	c.cmd.WaitDelay = termGrace // for what holds its standard error
	c.cmd.SysProcAttr = ownGroup(orphaned)
	started := make(chan error)
	go func() {
		// The signal comes when the thread that started the child ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := fork(c.cmd)
		out.Close()
		started <- err
		if err != nil {
			return
		}
		// Once it is waited for, its pid may be that of another group: the rest of its own
		// is killed before that, where the system can tell of the end.
		if waitExit(c.cmd.Process.Pid) {
			c.endGroup()
			ended()
		}
		c.err = c.cmd.Wait()
		forget(c.cmd.Process.Pid)
		c.endGroup()
		close(c.Done)
	}()
	if err := <-started; err != nil {
		c.Stdout.Close()
		return nil, err
	}
	return c, nil
}

// Status says how the process ended; it has.
func (c *Child) Status() string {
	if s := c.cmd.ProcessState; s != nil {
		return s.String()
	}
	return fmt.Sprint(c.err)
}

// Finished reports whether the process has ended by itself, and all that it wrote to its standard error was read.
func (c *Child) Finished() bool {
	select {
	case <-c.Done:
	default:
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.cmd.ProcessState
	return !c.asked && s != nil && s.Exited() && !errors.Is(c.err, exec.ErrWaitDelay)
}

// Stop ends the process and its group.
func (c *Child) Stop() {
	_ = c.Stdin.Close()
	wait := func(d time.Duration) bool {
		select {
		case <-c.Done:
			return true
		case <-time.After(d):
			return false
		}
	}
	if !wait(inputGrace) {
		c.signal(false)
		wait(termGrace)
	}
	c.Kill()
	<-c.Done
	_ = c.Stdout.Close()
}

// Kill ends the group at once. One whose leader has ended is gone already.
func (c *Child) Kill() { c.signal(true) }

func (c *Child) endGroup() {
	c.signal(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
}

func (c *Child) signal(kill bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.asked = c.asked || !kill
		signalGroup(c.cmd.Process, kill)
	}
}

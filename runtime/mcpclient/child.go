package mcpclient

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// A child is the process of a server, with a group of its own.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	done   chan struct{} // closed when it has ended
	err    error         // of Wait
}

// Grace of an end: to read the end of the input, then to heed SIGTERM.
const (
	inputGrace = 500 * time.Millisecond
	termGrace  = time.Second
)

func startChild(path string, argv []string, dir string, env []string, stderr io.Writer) (*child, error) {
	c := &child{cmd: &exec.Cmd{Path: path, Args: argv, Dir: dir, Env: env}, done: make(chan struct{})}
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// A pipe of our own: that of the command would be closed by Wait before all is read.
	var out *os.File
	if c.stdout, out, err = os.Pipe(); err != nil {
		return nil, err
	}
	c.cmd.Stdout = out
	c.cmd.Stderr = stderr
	c.cmd.WaitDelay = termGrace // for what holds its standard error
	c.cmd.SysProcAttr = ownGroup()
	started := make(chan error)
	go func() {
		// On Linux the child dies with the thread that started it.
		runtime.LockOSThread()
		err := c.cmd.Start()
		out.Close()
		started <- err
		if err != nil {
			return
		}
		c.err = c.cmd.Wait()
		close(c.done)
	}()
	if err := <-started; err != nil {
		c.stdout.Close()
		return nil, err
	}
	return c, nil
}

// status says how the process ended; it has.
func (c *child) status() string {
	if s := c.cmd.ProcessState; s != nil {
		return s.String()
	}
	return fmt.Sprint(c.err)
}

// stop ends the process and its group.
func (c *child) stop() {
	_ = c.stdin.Close()
	wait := func(d time.Duration) bool {
		select {
		case <-c.done:
			return true
		case <-time.After(d):
			return false
		}
	}
	if !wait(inputGrace) {
		signalGroup(c.cmd.Process, false)
		wait(termGrace)
	}
	c.kill()
	<-c.done
	_ = c.stdout.Close()
}

// kill ends at once what is left of the group, its leader or not.
func (c *child) kill() { signalGroup(c.cmd.Process, true) }

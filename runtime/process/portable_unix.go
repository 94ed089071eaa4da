//go:build unix && (!linux || portable)

package process

import (
	"os"
	"syscall"
	"time"
)

// abandonReaders is false: to close a pipe wakes who reads it.
const abandonReaders = false

func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// askToEnd and forceEnd signal the group of p, which outlives p while it has members.
// Here p may have been waited for: if nothing of its group is left its number could be
// given to another group, within the grace time at most.
func askToEnd(p *os.Process) {
	syscall.Kill(-p.Pid, syscall.SIGTERM)
	syscall.Kill(-p.Pid, syscall.SIGCONT)
}

func forceEnd(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }

// awaitEnd waits a moment for the group of p to be gone: a signal that was sent is not yet
// a process that ended.
func awaitEnd(p *os.Process) {
	for range 200 {
		if syscall.Kill(-p.Pid, 0) == syscall.ESRCH {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func describe(res *Result, state *os.ProcessState) {
	ws, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case !ok || ws.Exited():
		res.ExitCode = state.ExitCode()
	case ws.Signaled():
		res.Signal = signalName(ws.Signal())
	}
}

// hold stops the group of a command, or lets it go on.
func (r *run) hold(stop bool) {
	r.pin.Lock()
	defer r.pin.Unlock()
	if pid := int(r.pid.Load()); pid > 0 && stop {
		syscall.Kill(-pid, syscall.SIGSTOP)
	} else if pid > 0 {
		syscall.Kill(-pid, syscall.SIGCONT)
	}
}

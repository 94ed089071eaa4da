//go:build unix

package interrupt

import (
	"bytes"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// moreSignals are further signals to catch. SIGPIPE, caught, becomes an error of the write:
// anyone who stops reading what is shown does not end the run without a report.
func moreSignals() []os.Signal {
	return []os.Signal{syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGPIPE}
}

func isStop(s os.Signal) bool     { return s == syscall.SIGTSTP }
func isHarmless(s os.Signal) bool { return s == syscall.SIGCONT || s == syscall.SIGPIPE }

// suspend stops the commands and then this process, as Ctrl-Z wants it; they are in
// sessions of their own, and the terminal does not reach them. It returns when both go on.
func (i *Catcher) suspend() {
	Suspend(func() (after func()) {
		i.drawnAway()
		return i.JobControl.Pause()
	})
}

// Suspend stops this process as Ctrl-Z does, and returns when it goes on. before is called first, and what that returns last. Where no shell
// would let the process go on nothing is done.
func Suspend(before func() (after func())) {
	if orphaned() {
		return
	}
	defer before()()
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	// Not SIGTSTP: once it was caught, package signal does not give it back to the system.
	if syscall.Kill(os.Getpid(), syscall.SIGSTOP) != nil {
		return
	}
	select {
	case <-goesOn:
	case <-time.After(time.Second): // of a clock that stood still as well
	}
}

// orphaned reports whether nobody would let this process go on: its process group has no
// parent with job control in the session. The system does not stop such a group either.
func orphaned() bool {
	group, err := syscall.Getpgid(0)
	if err != nil {
		return true
	}
	session, err := unix.Getsid(0)
	if err != nil {
		return true
	}
	// The parent may be of the same job: make, env, a script.
	for pid := os.Getppid(); pid > 1; {
		g, err := syscall.Getpgid(pid)
		if err != nil {
			return true
		}
		if g != group {
			s, err := unix.Getsid(pid)
			return err != nil || s != session
		}
		if pid = parentOf(pid); pid == 0 {
			return true
		}
	}
	return true
}

// parentOf returns the parent of a process, 0 if it is not known.
func parentOf(pid int) int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(text[bytes.LastIndexByte(text, ')')+1:]), " ")
	if f := strings.Fields(rest); ok && len(f) > 1 {
		n, _ := strconv.Atoi(f[1])
		return n
	}
	return 0
}

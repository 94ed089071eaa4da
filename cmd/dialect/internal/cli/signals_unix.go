//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

func stopSignals() []os.Signal { return []os.Signal{syscall.SIGTSTP, syscall.SIGCONT} }

func isStop(s os.Signal) bool     { return s == syscall.SIGTSTP }
func isContinue(s os.Signal) bool { return s == syscall.SIGCONT }

// suspend stops the commands and then this process, as Ctrl-Z wants it; they are in
// sessions of their own, and the terminal does not reach them. It returns when both go on.
func (i *interrupts) suspend() {
	i.drawnAway()
	resume := i.control.Pause()
	defer resume()
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	signal.Reset(syscall.SIGTSTP)
	defer signal.Notify(i.ch, syscall.SIGTSTP)
	if syscall.Kill(os.Getpid(), syscall.SIGTSTP) != nil {
		return
	}
	// In a process group that nobody waits for the system does not stop anything.
	select {
	case <-goesOn:
	case <-time.After(300 * time.Millisecond):
	}
}

//go:build linux && !portable

package process

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// launchers holds the marks of the launchers of this process that are open. Each wants orphans to become its children, an
// attribute that a process has only once.
var launchers struct {
	sync.Mutex
	marks  []string
	reaper *reaper // while there are any
}

func setSubreaper(mark string, on bool) error {
	launchers.Lock()
	defer launchers.Unlock()
	var value uintptr
	if on {
		value = 1
		launchers.marks = append(launchers.marks, mark)
	} else if i := slices.Index(launchers.marks, mark); i >= 0 {
		launchers.marks = slices.Delete(launchers.marks, i, i+1)
	}
	if len(launchers.marks) != int(value) {
		return nil // not the first, or not the last
	}
	if on {
		launchers.reaper = newReaper()
	} else if launchers.reaper != nil {
		launchers.reaper.close()
		launchers.reaper = nil
	}
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, value, 0, 0, 0)
}

// orphansTaken counts what [reapOrphans] took: a look at the processes that was made meanwhile may have missed what that had started.
var orphansTaken atomic.Int64

// reapOrphans takes the status of those of pids that ended after their command did,
// and fell to us as a subreaper. Children of other parts of this process are theirs
// to wait for. They are told apart by their session, which is that of this process:
// nothing else in it opens sessions.
func reapOrphans(pids []int) {
	own, err := unix.Getsid(0)
	if err != nil {
		return
	}
	sessions.Lock()
	defer sessions.Unlock()
	self := os.Getpid()
	for _, pid := range pids {
		p, ok := readProc(pid)
		if !ok || p.ppid != self || p.session == own || !p.dead() {
			continue
		}
		if _, ok := sessions.leaders.Load(pid); !ok {
			if got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err == nil && got == pid {
				orphansTaken.Add(1)
			}
		}
	}
}

// A reaper takes the status of orphans while commands run, as init would: they count against the user's limit of processes.
type reaper struct {
	stop chan struct{}
	done chan struct{}
}

// Where orphans end, more are expected: a look follows after few, else after idle.
const (
	reapFew  = 5 * time.Millisecond
	reapIdle = 100 * time.Millisecond
)

func newReaper() *reaper {
	r := &reaper{make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(r.done)
		timer := time.NewTimer(reapIdle)
		defer timer.Stop()
		for {
			select {
			case <-r.stop:
				return
			case <-timer.C:
			}
			wait, before := reapIdle, orphansTaken.Load()
			if _, zombie := haveChildren(); zombie { // a command that ends may be it
				reapOrphans(adopted())
			}
			if orphansTaken.Load() != before {
				wait = reapFew
			}
			timer.Reset(wait)
		}
	}()
	return r
}

func (r *reaper) close() {
	close(r.stop)
	<-r.done
}

// haveChildren reports whether this process has children, and whether one of them waits to
// be waited for, at the price of one system call.
func haveChildren() (some, zombie bool) {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil, err == nil && info.Signo != 0
}

// adopted returns the pids of the children that the kernel lists for the threads of this process: orphans are given to the first one, and what a command
// clones with CLONE_PARENT to the one that forked the command. While children come and go the lists can miss some. A kernel without them gives all processes.
func adopted() (pids []int) {
	dir := "/proc/" + strconv.Itoa(os.Getpid()) + "/task/"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return processes()
	}
	for i, thread := range threads {
		text, err := os.ReadFile(dir + thread.Name() + "/children")
		switch {
		case err != nil && i == 0:
			return processes()
		case err != nil:
			continue // it has ended, and its children are another's
		}
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

//go:build linux && !portable

package process

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The guard is a process that reads from a pipe which commands run, one line each:
//
//	MARK        of the launcher, first
//	+N PID      the command with the mark MARK N began, in session PID
//	-N          it ended by itself, or was ended
//	.           all is well: the guard may go
//
// If the pipe ends without the dot, the launcher's process was killed. What belongs to
// the commands that ran then is killed: by their marks, their sessions and descent.

// A guard is the launcher's end of it.
type guard struct {
	argv []string
	mark string

	on   atomic.Bool
	once sync.Once
	mu   sync.Mutex // guards what follows
	pipe int        // 0 for none
	pid  int
}

// begin tells the guard that a command runs. It reports whether nothing is left to do
// for it: the guard is there, or none is wanted.
func (g *guard) begin(r *run) bool {
	if g.argv == nil {
		return true
	}
	if !g.on.Load() {
		return false
	}
	g.tell("+" + strings.TrimPrefix(r.mark, g.mark) + " " + strconv.FormatInt(r.pid.Load(), 10) + "\n")
	return true
}

func (g *guard) end(r *run) {
	if g.on.Load() {
		g.tell("-" + strings.TrimPrefix(r.mark, g.mark) + "\n")
	}
}

// tell writes to the pipe. It never blocks: a guard that does not read does not guard.
func (g *guard) tell(line string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe != 0 {
		unix.Write(g.pipe, []byte(line))
	}
}

// startGuard starts the guard, if one is wanted, and tells it what runs.
func (l *Launcher) startGuard() {
	g := &l.platform.guard
	if g.argv == nil {
		return
	}
	g.once.Do(func() {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			return // the kernel still kills the commands themselves
		}
		defer unix.Close(p[0])
		unix.SetNonblock(p[1], true)
		g.mu.Lock()
		g.pipe = p[1]
		g.mu.Unlock()
		// What runs is in the pipe before there is a guard: from its first moment it knows all.
		g.tell(g.mark + "\n")
		l.mu.Lock()
		g.on.Store(true)
		for r := range l.running {
			if r.pid.Load() != 0 {
				g.begin(r) // perhaps twice, which does no harm
			}
		}
		l.mu.Unlock()
		pid, err := g.start(p[0], l.null.Fd())
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.pid = pid; err != nil {
			g.on.Store(false)
			unix.Close(g.pipe)
			g.pipe = 0
		}
	})
}

// start starts the guard, which reads from the pipe in.
func (g *guard) start(in int, null uintptr) (pid int, err error) {
	// The file that this process was made of, also when another has taken its place.
	return syscall.ForkExec("/proc/self/exe", g.argv, &syscall.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=1"},
		Files: []uintptr{uintptr(in), null, null},
		Sys:   &syscall.SysProcAttr{Setpgid: true}, // in this session: see reapOrphans
	})
}

// release lets the guard go, and waits for it.
func (g *guard) release() {
	g.tell(".\n")
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pid == 0 {
		return
	}
	unix.Close(g.pipe)
	g.pipe = 0
	for deadline := time.Now().Add(time.Second); ; time.Sleep(time.Millisecond / 4) {
		pid, err := unix.Wait4(g.pid, nil, unix.WNOHANG, nil)
		if pid == g.pid || err != nil && err != unix.EINTR {
			break
		}
		if time.Now().After(deadline) { // somebody stopped it
			unix.Kill(g.pid, unix.SIGKILL)
		}
	}
	g.pid = 0
}

// Guard is the other end: what the command of [Options.Guard] does. It returns when the
// launcher lets it go, or when it has killed what a killed launcher left behind.
func Guard() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTOU, syscall.SIGTTIN)
	guardFrom(os.Stdin)
}

func guardFrom(r io.Reader) {
	in := bufio.NewScanner(r)
	in.Scan()
	h := heirs{prefix: in.Text(), running: make(map[string]int)}
	for in.Scan() {
		line := in.Text()
		switch {
		case line == ".":
			return
		case strings.HasPrefix(line, "+"):
			var n string
			var pid int
			if _, err := fmt.Sscanf(line[1:], "%s %d", &n, &pid); err == nil && pid > 1 {
				h.running[n] = pid
			}
		case strings.HasPrefix(line, "-"):
			delete(h.running, line[1:])
		}
	}
	if h.prefix != "" && len(h.running) > 0 {
		h.kill()
	}
}

// heirs are the processes that a killed launcher left behind.
type heirs struct {
	prefix  string
	running map[string]int // by the rest of the mark, the leader of its session

	members map[int]uint64
}

func (h *heirs) kill() {
	h.members = make(map[int]uint64)
	const pause = 2 * time.Millisecond
	began := time.Now()
	for waited := time.Duration(0); waited < killPatience && time.Since(began) < killLongest; waited += pause {
		if h.scan() == 0 {
			// What was between two programs in this moment shows its mark in the next.
			time.Sleep(20 * time.Millisecond)
			if h.scan() == 0 {
				return
			}
		}
		time.Sleep(pause)
	}
}

// scan kills what it finds, and returns how much that was.
func (h *heirs) scan() (n int) {
	self := os.Getpid()
	var table []proc
	for _, pid := range processes() {
		if p, ok := readProc(pid); ok && pid != self && pid != 1 && p.session != 0 && !p.dead() {
			table = append(table, p)
		}
	}
	for again := true; again; {
		again = false
		for i := range table {
			if p := &table[i]; !p.member && h.owns(p) {
				p.member, again = true, true
				h.members[p.pid] = p.start
			}
		}
	}
	for i := range table {
		if p := &table[i]; p.member {
			n++
			(*tree)(nil).signal(p, unix.SIGKILL)
		}
	}
	return n
}

func (h *heirs) owns(p *proc) bool {
	if start, ok := h.members[p.pid]; ok && start == p.start {
		return true
	}
	if start, ok := h.members[p.ppid]; ok && p.start >= start {
		return true
	}
	mark, _ := readMark(p.pid)
	if rest, ok := strings.CutPrefix(mark, h.prefix); ok {
		rest, _, _ = strings.Cut(rest, "/")
		_, running := h.running[rest]
		return running
	}
	// One that cleared its environment, in the session of a command.
	for _, pid := range h.running {
		if p.session == pid && mark == "" {
			return true
		}
	}
	return false
}

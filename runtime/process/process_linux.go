//go:build linux && !portable

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// On Linux one thread per command does it all: it sleeps in poll(2) on both
// pipes, a pidfd and two descriptors that wake it, with the next budget as the
// timeout. A command that writes little costs no goroutine and no timer; one that
// writes much gets a goroutine per stream to hash with (see pump).

// A platform is the Linux part of a launcher.
type platform struct {
	wake  int // eventfd, readable once the launcher closes
	hard  int // eventfd, readable once it is to kill all
	guard guard

	opened uint64 // in ticks since boot, as of a process

	limit unix.Rlimit // of the processes and threads that the user of a command may have

	mu       sync.Mutex
	leftover []*tree        // what aborts could not end
	named    map[int]uint64 // pid to start time, of what results name as left
}

// ticks of /proc/PID/stat are a second: USER_HZ, which is 100 wherever Go runs.
const ticks = 100

func (p *platform) open(o Options, mark string) error {
	for _, fd := range [...]*int{&p.wake, &p.hard} {
		var err error
		if *fd, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
			if fd == &p.hard {
				unix.Close(p.wake)
			}
			return fmt.Errorf("commands cannot be watched: eventfd: %w", err)
		}
	}
	p.guard.argv, p.guard.mark = o.Guard, mark
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) == nil {
		p.opened = uint64(now.Nano() / int64(time.Second/ticks))
	}
	p.limit = commandLimit()
	// Refused, orphans go to init, where their mark still finds them.
	_ = setSubreaper(mark, true)
	return nil
}

// ownThreads is how many of the processes and threads of a user are left to this process at least, in which the runtime of Go ends if it cannot start a thread.
const ownThreads = 64

// commandLimit is the limit of a command that may take all processes and threads which its user may have; the zero value if there is none.
func commandLimit() (l unix.Rlimit) {
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &l); err != nil || l.Cur == unix.RLIM_INFINITY {
		return unix.Rlimit{}
	}
	l.Cur -= min(ownThreads, l.Cur/4)
	return l
}

func (p *platform) interrupt() { wakeUp(p.wake) }
func (p *platform) kill()      { wakeUp(p.hard) }

func (p *platform) close() error {
	p.mu.Lock()
	left := p.leftover
	p.leftover = nil
	p.mu.Unlock()
	var alive int
	for _, t := range left {
		alive += t.kill(time.Second)
		if t.pinned {
			var ws unix.WaitStatus
			unix.Wait4(t.leader, &ws, unix.WNOHANG, nil)
			sessions.leaders.Delete(t.leader)
		}
	}
	if _, zombie := haveChildren(); zombie { // else there is nothing to read all of /proc for
		reapOrphans(processes())
	}
	_ = setSubreaper(p.guard.mark, false)
	p.guard.release()
	err := errors.Join(unix.Close(p.wake), unix.Close(p.hard))
	if alive > 0 {
		err = errors.Join(err, fmt.Errorf("%d processes could not be ended: they are stuck in the kernel or belong to another user", alive))
	}
	return err
}

func wakeUp(fd int) {
	one := [8]byte{1, 1, 1, 1, 1, 1, 1, 1} // not zero in either byte order
	unix.Write(fd, one[:])
}

// The descriptors that a watcher polls, by index.
const (
	pollStdout = iota // equal to the Stream
	pollStderr
	pollExit
	pollContext
	pollLauncher
	pollHard
	pollHold
	pollCount
)

// noPidfd is set by a test, to do as on a system that has none.
var noPidfd bool

// hold stops the tree of a command, or lets it go on.
func (r *run) hold(stop bool) {
	r.pin.Lock()
	defer r.pin.Unlock()
	pid := int(r.pid.Load())
	if pid == 0 {
		return
	}
	sig := unix.SIGCONT
	if stop {
		sig = unix.SIGSTOP
	}
	newTree(r, pid).each(sig)
}

// A watcher sees one started command to its end.
type watcher struct {
	*run
	pid    int
	fds    [pollCount]unix.PollFd
	pumps  [2]*pump
	buf    *[readSize]byte
	exited bool
	reaped bool
	watch  *exitWatch // where there is no pidfd
	try    bool       // no command is meant to run: see Launcher.Try

	answers int // the socket of a helper that stays; 0 for none

	started  time.Time
	lastByte time.Time

	slept    int64          // of the launcher, as far as started, lastByte and until take it in
	holding  chan struct{}  // closed when a hold is not waited for any more; nil without one
	holder   sync.WaitGroup // waits for a hold
	draining bool           // what is in the pipes is read, hold or not

	guarded bool // nothing is left to do for the guard until the end

	tree  *tree     // nil until there is something to kill
	until time.Time // of the grace time, or of the wait for a held pipe
	held  bool      // waiting for a held pipe
}

// execute starts the command and fills in the result all but what was recorded.
func (r *run) execute() {
	// Pdeathsig is sent when the thread that forked ends, not the process
	// (golang/go#27505). Locked, the thread runs no other goroutine that could end it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w := &watcher{run: r}
	for i := range w.fds {
		w.fds[i] = unix.PollFd{Fd: -1, Events: unix.POLLIN}
	}
	defer w.release()
	if err := w.start(); err != nil {
		r.result.Stop, r.result.Err = r.explain(err)
		return
	}
	w.fds[pollLauncher].Fd = int32(r.launcher.platform.wake)
	w.fds[pollHard].Fd = int32(r.launcher.platform.hard)
	if r.ctx.Done() != nil {
		wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		if err == nil {
			defer unix.Close(wake)
			w.fds[pollContext].Fd = int32(wake)
			called := make(chan struct{})
			stop := context.AfterFunc(r.ctx, func() {
				wakeUp(wake)
				close(called)
			})
			defer func() {
				if !stop() {
					<-called // the descriptor is closed after this
				}
			}()
		} else {
			w.abort(Interrupted)
			r.note("the command was interrupted, since a cancellation could not be watched for: eventfd: %v", err)
		}
	}
	w.buf = readBuffer()
	defer releaseBuffer(w.buf)
	w.watchRun()
	w.finish()
}

// start makes the pipes and the process. What it opened release closes.
func (w *watcher) start() error {
	var ends [2]uintptr
	for s := range ends {
		var p [2]int
		if e := unix.Pipe2(p[:], unix.O_CLOEXEC); e != nil {
			return os.NewSyscallError("pipe2", e)
		}
		w.fds[s].Fd, ends[s] = int32(p[0]), uintptr(p[1])
		defer unix.Close(p[1])
	}

	in, done, e := w.launcher.input(w.command.Stdin)
	if e != nil {
		return e
	}
	defer done()
	pidfd := -1
	attr := &syscall.ProcAttr{
		Dir:   w.command.Dir,
		Env:   w.env,
		Files: []uintptr{in.Fd(), ends[0], ends[1]},
		Sys:   &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd, Pdeathsig: syscall.SIGKILL},
	}
	start := func() (err error) {
		sessions.RLock()
		defer sessions.RUnlock()
		pid, err := syscall.ForkExec(w.result.Path, w.argv, attr)
		if err == nil {
			w.pid = pid
			sessions.leaders.Store(pid, nil)
		}
		return err
	}
	if w.command.Room != nil {
		e = w.startInRoom(attr)
	} else {
		e = w.launch(start)
	}
	if e != nil {
		if pidfd >= 0 {
			unix.Close(pidfd)
		}
		return e
	}
	if l := w.launcher.platform.limit; l != (unix.Rlimit{}) {
		_ = unix.Prlimit(w.pid, unix.RLIMIT_NPROC, &l, nil) // it has ended, or another user's program was started
	}
	w.run.pid.Store(int64(w.pid))
	w.launcher.join(w.run)
	w.guarded = w.launcher.platform.guard.begin(w.run)
	w.slept = w.launcher.slept.Load()
	w.started = w.result.Started
	w.lastByte = w.started
	if noPidfd && pidfd >= 0 {
		unix.Close(pidfd)
		pidfd = -1
	}
	if pidfd < 0 { // Linux before 5.2, some sandboxes
		watch, e := newExitWatch(w.pid)
		if e != nil {
			return fmt.Errorf("the end of the process cannot be watched: %w", e)
		}
		w.watch, pidfd = watch, watch.fd
	}
	w.fds[pollExit].Fd = int32(pidfd)
	return nil
}

// watchRun returns when the command is done with: it exited and its pipes are at
// their end, or are not waited for any more, or it was killed.
func (w *watcher) watchRun() {
	if !w.follow() { // a locked thread and the pumps would hand each piece over by two switches of threads: this one waits instead
		var rest sync.WaitGroup
		rest.Go(func() {
			for !w.follow() {
			}
		})
		rest.Wait()
	}
}

// follow watches until the command is done with, or a stream turned out to be heavy: then it reports false.
func (w *watcher) follow() (ended bool) {
	for {
		pumps := w.pumps
		timeout, due := w.timeout()
		if due && w.expire() {
			return true
		}
		if !w.guarded {
			if left := GuardDelay - time.Since(w.started); left > 0 {
				if ms := int(left/time.Millisecond) + 1; timeout < 0 || ms < timeout {
					timeout = ms
				}
			} else {
				w.guarded = true
				w.launcher.startGuard()
			}
		}
		for i := range w.fds {
			w.fds[i].Revents = 0
		}
		_, err := unix.Poll(w.fds[:], timeout)
		if err != nil && err != unix.EINTR {
			// ENOMEM: no memory for the call itself.
			w.note("the command was ended, since it could not be watched: poll: %v", err)
			w.abort(Interrupted)
			w.killNow()
			return true
		}
		for s := Stdout; s <= Stderr; s++ {
			w.read(s)
		}
		if w.fds[pollExit].Revents != 0 {
			w.exited = true
			w.fds[pollExit].Fd = w.hide(w.fds[pollExit].Fd)
		}
		if w.over() {
			w.abort(OutputLimit)
		}
		if w.fds[pollContext].Revents != 0 || w.fds[pollLauncher].Revents != 0 {
			w.interrupted()
		}
		if w.fds[pollHard].Revents != 0 {
			w.fds[pollHard].Fd = -1
			w.interrupted()
			w.until = time.Now()
		}
		if w.fds[pollHold].Revents != 0 {
			w.resume()
		}
		if w.exited && w.settled() {
			return true
		}
		if w.pumps != pumps {
			return false
		}
	}
}

// pause stops reading until ch is closed.
func (w *watcher) pause(ch <-chan struct{}) {
	if ch == nil || w.draining || w.holding != nil {
		return
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return // the listener gets more than it asked for
	}
	holding := make(chan struct{})
	w.holding, w.fds[pollHold].Fd = holding, int32(wake)
	w.hideStreams()
	w.holder.Go(func() {
		select {
		case <-ch:
			wakeUp(wake)
		case <-holding:
		}
	})
}

// resume reads on, if reading was paused.
func (w *watcher) resume() {
	if w.holding == nil {
		return
	}
	close(w.holding)
	w.holder.Wait()
	unix.Close(int(w.fds[pollHold].Fd))
	w.holding, w.fds[pollHold].Fd = nil, -1
	w.hideStreams()
	w.lastByte = time.Now() // it was kept from writing
}

// hideStreams hides both pipes from poll, or shows them again.
func (w *watcher) hideStreams() {
	for s := Stdout; s <= Stderr; s++ {
		if fd := &w.fds[s].Fd; *fd != -1 {
			*fd = w.hide(*fd)
		}
	}
}

// hide returns fd so that poll ignores it and release still finds it.
func (w *watcher) hide(fd int32) int32 { return -fd - 2 }

// settled reports, after the exit, whether nothing is left to wait for. It begins
// the wait for a held pipe.
func (w *watcher) settled() bool {
	if w.tree != nil {
		live, err := w.tree.scan()
		if err == nil && live > 0 || err != nil && !w.eof() {
			return false
		}
		w.killNow() // makes sure of it
		return true
	}
	if w.eof() {
		return true
	}
	if !w.held {
		// What the command itself wrote may still be in the pipe.
		if w.drain(); w.eof() {
			return true
		}
		w.held = true
		w.until = time.Now().Add(w.command.pipeWait())
	}
	return false
}

func (w *watcher) eof() bool { return w.fds[pollStdout].Fd == -1 && w.fds[pollStderr].Fd == -1 }

// timeout returns for how many milliseconds to wait, -1 for ever; due is true if
// the time is already over.
func (w *watcher) timeout() (ms int, due bool) {
	c := w.command
	if w.launcher.stopped.Load() {
		return 100, false
	}
	if slept := w.launcher.slept.Load(); slept != w.slept {
		d := time.Duration(slept - w.slept)
		w.slept = slept
		w.started, w.lastByte, w.until = w.started.Add(d), w.lastByte.Add(d), w.until.Add(d)
	}
	var next time.Time
	switch {
	case w.tree != nil || w.held:
		next = w.until
	default:
		if c.Timeout > 0 {
			next = w.started.Add(c.Timeout)
		}
		if c.Stall > 0 && w.holding == nil {
			if t := w.lastByte.Add(c.Stall); next.IsZero() || t.Before(next) {
				next = t
			}
		}
	}
	if next.IsZero() {
		return -1, false
	}
	left := time.Until(next)
	if left <= 0 {
		return 0, true
	}
	if w.tree != nil && w.exited {
		left = min(left, treePause) // nothing tells when the rest of the tree is gone
	}
	return int(min((left+time.Millisecond-1)/time.Millisecond, 1<<30)), false
}

// expire acts on a time that is over, and reports whether the command is done with.
func (w *watcher) expire() bool {
	switch {
	case w.tree != nil:
		w.killNow()
		return true
	case w.held:
		w.note("the command ended, and something that it started still held its output open %v later; what that writes is not recorded", w.command.pipeWait())
		return true
	case w.command.Timeout > 0 && time.Since(w.started) >= w.command.Timeout:
		w.abort(Timeout)
	case w.holding != nil:
	case w.wrote(): // while a machine that stalled ran us no more than the command
	default:
		w.abort(Stall)
	}
	return false
}

// wrote reports whether something is in a pipe that was not read yet.
func (w *watcher) wrote() bool {
	pipes := [2]unix.PollFd{{Fd: w.fds[pollStdout].Fd, Events: unix.POLLIN}, {Fd: w.fds[pollStderr].Fd, Events: unix.POLLIN}}
	n, _ := unix.Poll(pipes[:], 0)
	return n > 0 && (pipes[0].Revents|pipes[1].Revents)&unix.POLLIN != 0
}

// abort begins to end the tree of the command, unless the command ended by itself.
func (w *watcher) abort(why Stop) {
	if w.tree != nil || w.exited {
		return
	}
	exit := [1]unix.PollFd{{Fd: w.fds[pollExit].Fd, Events: unix.POLLIN}}
	if n, _ := unix.Poll(exit[:], 0); n > 0 {
		return // the loop will see it
	}
	w.result.Stop = why
	w.terminate()
}

// interrupted ends the tree also when the command itself is gone, and keeps its
// status then: anyone who cancels wants nothing left.
func (w *watcher) interrupted() {
	w.fds[pollContext].Fd, w.fds[pollLauncher].Fd = -1, -1
	if w.abort(Interrupted); w.tree != nil || w.exited && w.eof() {
		return
	}
	w.terminate()
}

func (w *watcher) terminate() {
	w.tree = newTree(w.run, w.pid)
	w.until = time.Now().Add(w.command.grace())
	w.tree.terminate()
}

// killNow leaves nothing of the tree alive, and says so if it cannot.
func (w *watcher) killNow() {
	if w.tree == nil {
		w.tree = newTree(w.run, w.pid)
	}
	if n := w.tree.kill(killPatience); n > 0 {
		w.note("%d processes of the command could not be ended: they are stuck in the kernel or belong to another user", n)
		w.launcher.platform.mu.Lock()
		w.launcher.platform.leftover = append(w.launcher.platform.leftover, w.tree)
		w.launcher.platform.mu.Unlock()
	}
	w.drain()
}

// read takes one piece from stream s if poll found it ready.
func (w *watcher) read(s Stream) {
	fd := &w.fds[s]
	if fd.Fd < 0 || fd.Revents == 0 {
		return
	}
	if fd.Revents&unix.POLLIN == 0 { // hung up, and empty
		w.closeStream(s)
		return
	}
	buf := w.buf[:]
	if p := w.pumps[s]; p != nil {
		buf = <-p.free
	}
	n, err := unix.Read(int(fd.Fd), buf)
	if err == unix.EINTR || err == unix.EAGAIN {
		n = 0
	} else if n <= 0 || err != nil {
		n = 0
		w.closeStream(s)
	} else {
		w.lastByte = time.Now()
	}
	p := w.admit(s, buf[:max(n, 0)])
	if len(p) > 0 {
		w.pause(w.full())
	}
	if pump := w.pumps[s]; pump != nil {
		pump.full <- piece{buf, len(p)}
		return
	}
	w.streams[s].write(p)
	if w.streams[s].n > heavy {
		w.pumps[s] = newPump(&w.streams[s])
		// A larger pipe means fewer switches between writer and reader. Refused
		// beyond the user's share, it stays as it is.
		pipe := fd.Fd
		if w.holding != nil {
			pipe = w.hide(pipe)
		}
		if pipe >= 0 {
			unix.FcntlInt(uintptr(pipe), unix.F_SETPIPE_SZ, 4*pumpSize)
		}
	}
	if n > 0 {
		w.lastByte = time.Now() // what takes time here is no stall
	}
}

// drain reads what is in the pipes now. Anyone who still writes is cut short: the
// command is gone, and this is not its output.
func (w *watcher) drain() {
	w.resume()
	w.draining = true
	defer func() { w.draining = false }()
	for range 2 * 4 * 2 { // two pipes of four pieces, twice
		for i := range w.fds {
			w.fds[i].Revents = 0
		}
		n, err := unix.Poll(w.fds[:pollExit], 0)
		if n <= 0 && err != unix.EINTR {
			return
		}
		w.read(Stdout)
		w.read(Stderr)
	}
}

func (w *watcher) closeStream(s Stream) {
	fd := w.fds[s].Fd
	if fd < 0 {
		fd = w.hide(fd)
	}
	unix.Close(int(fd))
	w.fds[s].Fd = -1
}

// finish takes the status of the command, whose zombie kept its pid from being
// given to another process until now.
func (w *watcher) finish() {
	for s := range w.pumps {
		if p := w.pumps[s]; p != nil {
			w.pumps[s] = nil
			p.close()
		}
	}
	var usage unix.Rusage
	ws, err := w.reap(&usage)
	if err != nil {
		w.note("the status of the command is not known: %v", err)
		return
	}
	res := w.result
	if s := w.endedBy(); s != 0 && ws.Exited() {
		res.Signal = signalName(s)
	} else if ws.Exited() {
		res.ExitCode = ws.ExitStatus()
	} else if ws.Signaled() {
		res.Signal = signalName(ws.Signal())
	}
	// Beside other commands a zombie is most likely theirs: a command that ends alone, or the launcher, reaps the rest.
	children, zombie := haveChildren()
	if w.tree != nil || w.held || !w.shared.Load() && zombie {
		reapOrphans(adopted())
	}
	if children {
		w.nameLeft()
	}
}

// reap waits for the command, which exited or was killed. It gives up on one that
// is stuck in the kernel, and leaves it to the end of the launcher.
func (w *watcher) reap(usage *unix.Rusage) (ws unix.WaitStatus, err error) {
	if !w.exited {
		exit := [1]unix.PollFd{{Fd: w.fds[pollExit].Fd, Events: unix.POLLIN}}
		for left := 10; ; { // looks, and not a second: see killPatience
			n, err := unix.Poll(exit[:], 100)
			if err == unix.EINTR {
				continue
			}
			if left--; n == 0 && left > 0 {
				continue
			}
			if n == 0 {
				w.reaped = true // for now: see pinned
				w.run.pid.Store(0)
				w.tree.pinned = true
				return ws, errors.New("it was killed and does not end")
			}
			break
		}
	}
	w.pin.Lock() // for a signal that is being sent
	w.run.pid.Store(0)
	w.pin.Unlock() // from here on it may be another's
	w.launcher.platform.guard.end(w.run)
	for {
		pid, err := unix.Wait4(w.pid, &ws, 0, usage)
		if err == unix.EINTR {
			continue
		}
		w.reaped = true
		if w.tree != nil {
			w.tree.reaped = true
		}
		sessions.leaders.Delete(w.pid)
		if err != nil || pid != w.pid {
			return ws, os.NewSyscallError("wait4", err)
		}
		return ws, nil
	}
}

// release closes what is open. If the watch was left by a panic of the listener,
// nothing of the command survives it.
func (w *watcher) release() {
	if w.pid != 0 && !w.reaped {
		w.tree = newTree(w.run, w.pid)
		w.tree.kill(killPatience)
		_, _ = w.reap(nil)
	}
	for s, p := range w.pumps {
		if p != nil {
			w.pumps[s] = nil
			p.close()
		}
	}
	w.resume()
	if w.answers > 0 {
		unix.Close(w.answers)
	}
	for s := Stdout; s <= Stderr; s++ {
		if w.fds[s].Fd >= 0 {
			w.closeStream(s)
		}
	}
	fd := w.fds[pollExit].Fd
	if fd < -1 {
		fd = w.hide(fd)
	}
	if w.watch != nil {
		w.watch.close()
	} else if fd >= 0 {
		unix.Close(int(fd))
	}
}

// An exitWatch is a descriptor that becomes readable when a child exits, for
// systems without pidfds.
type exitWatch struct {
	fd   int
	done chan struct{}
}

func newExitWatch(pid int) (*exitWatch, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	w := &exitWatch{fd: p[0], done: make(chan struct{})}
	go func() {
		defer close(w.done)
		defer unix.Close(p[1]) // which the reader sees
		for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
	}()
	return w, nil
}

// close waits for the goroutine, which ends with the process at the latest.
func (w *exitWatch) close() {
	<-w.done
	unix.Close(w.fd)
}

// heavy is how many bytes of a stream the reader records itself. Past it hashing
// would be the bottleneck.
const heavy = 1 << 20

// A pump records a stream that writes much, in a goroutine of its own: the reader
// fills one buffer while the others are hashed.
type pump struct {
	free chan []byte
	full chan piece
	done chan struct{}
}

type piece struct {
	buf []byte
	n   int
}

// A pump has pumpBuffers buffers of pumpSize bytes: large ones, as handing a buffer over can cost two switches of threads.
const (
	pumpBuffers = 3
	pumpSize    = 256 << 10
)

func newPump(c *capture) *pump {
	p := &pump{
		free: make(chan []byte, pumpBuffers),
		full: make(chan piece, pumpBuffers),
		done: make(chan struct{}),
	}
	for range pumpBuffers {
		p.free <- make([]byte, pumpSize)
	}
	go func() {
		defer close(p.done)
		for x := range p.full {
			c.write(x.buf[:x.n])
			p.free <- x.buf
		}
	}()
	return p
}

// close returns when all is recorded.
func (p *pump) close() {
	close(p.full)
	<-p.done
}

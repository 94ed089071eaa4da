//go:build linux && !portable

package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/namespace"
)

// Namespaces says that commands can be started in a [Room] on this system, as far as that is
// known without trying.
const Namespaces = true

// The descriptors of a helper: what it is to do, and the socket on which it answers.
const (
	roomOrder  = 3
	roomAnswer = 4
)

// An order is what a helper reads from its first descriptor.
type order struct {
	Spec           []byte
	Dir, LookupDir []byte
	User           bool
	UID, GID       int
	Apart          bool
	Try            bool // furnish the room, and run nothing
}

// A found is what a helper answers, with the executable open where there is no Stop. Then it
// waits for one byte, and executes the file.
type found struct {
	Path []byte
	Stop Stop   `json:",omitempty"`
	Text string `json:",omitempty"`

	// Of a helper that stays: that the command has started, and by which signal it ended.
	Started bool           `json:",omitempty"`
	Signal  syscall.Signal `json:",omitempty"`
}

// mountCaps are the capabilities that the helper keeps over its own start. They are those of
// the new user namespace alone, and count for files of this user only. The kernel makes the
// directories that an overlay works in with them.
var mountCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP}

// roomPatience is how long a helper may take until it has found the executable.
const roomPatience = 30 * time.Second

// startInRoom starts the helper of the command's room, which becomes the command. attr is that of
// the command.
func (w *watcher) startInRoom(attr *syscall.ProcAttr) (err error) {
	r := w.command.Room
	text, err := json.Marshal(order{Try: w.try, Spec: r.Spec, Dir: []byte(w.command.Dir), LookupDir: []byte(w.lookupDir()), User: r.User, UID: os.Geteuid(), GID: os.Getegid(), Apart: r.Apart})
	if err != nil {
		return err
	}
	in, done, err := w.launcher.input(text)
	if err != nil {
		return err
	}
	defer done()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	defer unix.Close(pair[0])
	attr.Dir = "/"
	attr.Files = append(attr.Files, in.Fd(), uintptr(pair[1]))
	attr.Sys.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWIPC
	if r.User {
		attr.Sys.Cloneflags |= unix.CLONE_NEWUSER
		attr.Sys.AmbientCaps = mountCaps
	}
	if r.Apart {
		attr.Sys.Cloneflags |= unix.CLONE_NEWPID
	}
	argv := append(append([]string(nil), r.Helper...), w.argv...)
	sessions.RLock()
	// The file that this process was made of, also when another has taken its place.
	pid, err := syscall.ForkExec("/proc/self/exe", argv, attr)
	if err == nil {
		sessions.leaders.Store(pid, nil)
	}
	sessions.RUnlock()
	unix.Close(pair[1])
	if err != nil {
		return &roomError{StartFailed, fmt.Errorf("no room can be made for %s: %w", w.argv[0], err)}
	}
	if err = w.letIn(pair[0]); err == nil && !w.try {
		w.pid = pid
		return nil
	}
	_ = unix.Kill(pid, unix.SIGKILL)
	for {
		if _, e := unix.Wait4(pid, nil, 0, nil); e != unix.EINTR {
			break
		}
	}
	sessions.leaders.Delete(pid)
	return err
}

// Try furnishes a room and runs nothing in it. The error says why commands cannot have such a one.
func (l *Launcher) Try(ctx context.Context, room *Room) error {
	r := &run{launcher: l, command: &Command{Argv: []string{"a command"}, Dir: "/", Room: room}, result: new(Result), argv: []string{"a command"}, ctx: ctx}
	if !l.enter(r) {
		return context.Canceled
	}
	defer l.leave(r)
	runtime.LockOSThread() // see execute
	defer runtime.UnlockOSThread()
	w := &watcher{run: r, try: true}
	null := l.null.Fd()
	return w.startInRoom(&syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{null, null, null}, Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
}

func (w *watcher) lookupDir() string {
	if w.command.LookupDir == "" {
		return w.command.Dir
	}
	return w.command.LookupDir
}

// letIn hears what the helper has found, takes the digest of it, and lets it be executed.
func (w *watcher) letIn(socket int) error {
	text, fd, err := w.hear(socket)
	if err != nil {
		return err
	}
	if fd >= 0 {
		defer unix.Close(fd)
	}
	var f found
	if err := json.Unmarshal(text, &f); err != nil {
		return &roomError{StartFailed, fmt.Errorf("%s was not started: its room was not furnished: the helper ended", w.argv[0])}
	}
	w.result.Path = string(f.Path)
	switch {
	case f.Stop != "":
		return &roomError{f.Stop, errors.New(f.Text)}
	case w.try:
		return nil
	}
	if w.command.Digest && fd >= 0 {
		if w.result.Executable, err = w.launcher.digests.sum(w.ctx, "/proc/self/fd/"+strconv.Itoa(fd)); err != nil {
			w.note("the executable was not hashed: %v", err)
		}
	}
	if _, err := unix.Write(socket, []byte{1}); err != nil {
		return &roomError{StartFailed, fmt.Errorf("%s was not started: the helper of its room ended: %w", w.argv[0], err)}
	}
	text, _, err = w.hear(socket)
	switch {
	case err != nil:
		return err
	case len(text) == 0: // the descriptor was closed by the execve
		return nil
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	if f.Started {
		w.answers, err = unix.FcntlInt(uintptr(socket), unix.F_DUPFD_CLOEXEC, 0)
		return err
	}
	return &roomError{f.Stop, errors.New(f.Text)}
}

// endedBy returns the signal that ended the command of a helper that stayed; 0 if none did.
func (w *watcher) endedBy() syscall.Signal {
	if w.answers <= 0 {
		return 0
	}
	text, fd, err := receive(w.answers)
	if fd >= 0 {
		unix.Close(fd)
	}
	var f found
	if err != nil || json.Unmarshal(text, &f) != nil {
		return 0
	}
	return f.Signal
}

// hear waits for a message of the helper; it is empty once the helper has closed the socket. The
// descriptor that came with it is -1 if none did.
func (w *watcher) hear(socket int) (text []byte, fd int, err error) {
	fds := []unix.PollFd{{Fd: int32(socket), Events: unix.POLLIN}, {Fd: int32(w.launcher.platform.wake), Events: unix.POLLIN}, {Fd: int32(w.launcher.platform.hard), Events: unix.POLLIN}}
	for until := time.Now().Add(roomPatience); ; {
		n, err := unix.Poll(fds, 50)
		switch {
		case err != nil && err != unix.EINTR:
			return nil, -1, os.NewSyscallError("poll", err)
		case w.ctx.Err() != nil || n > 0 && (fds[1].Revents != 0 || fds[2].Revents != 0):
			return nil, -1, &roomError{Interrupted, fmt.Errorf("%s was not started: the run was interrupted", w.argv[0])}
		case n > 0 && fds[0].Revents != 0:
			return receive(socket)
		case time.Now().After(until) && !w.launcher.stopped.Load():
			return nil, -1, &roomError{StartFailed, fmt.Errorf("%s was not started: its room was not furnished within %v", w.argv[0], roomPatience)}
		}
	}
}

func receive(socket int) (text []byte, fd int, err error) {
	buf, oob := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(socket, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err == unix.ECONNRESET { // it ended without reading
			return nil, -1, nil
		}
		if err != nil {
			return nil, -1, os.NewSyscallError("recvmsg", err)
		}
		fd = -1
		if messages, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil {
			for _, m := range messages {
				if list, err := unix.ParseUnixRights(&m); err == nil && len(list) == 1 {
					fd = list[0]
				}
			}
		}
		return buf[:n], fd, nil
	}
}

// Become is what the command of [Room.Helper] does, with the arguments that come after it:
// furnish makes the room of what [Room.Spec] says, then this process finds the executable in
// it and becomes the command. It returns only if it could not, with an exit status.
func Become(argv []string, furnish func(spec []byte) error) int {
	runtime.LockOSThread() // capabilities are those of a thread
	unix.CloseOnExec(roomAnswer)
	say := func(f found, files ...int) {
		text, _ := json.Marshal(f) // plain data
		var rights []byte
		if len(files) > 0 {
			rights = unix.UnixRights(files...)
		}
		_ = unix.Sendmsg(roomAnswer, text, rights, nil, 0) // nobody is left to say it to
	}
	fail := func(stop Stop, err error) int {
		say(found{Stop: stop, Text: err.Error()})
		return StatusNotBegun
	}
	in := os.NewFile(roomOrder, "order")
	text, err := io.ReadAll(in)
	in.Close()
	var o order
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err == nil && len(argv) == 0 {
		err = errors.New("argv is empty")
	}
	if err != nil {
		return fail(StartFailed, fmt.Errorf("the room has no order: %w", err))
	}
	// Ended with the one who made it, whatever changed its capabilities since.
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	if o.User {
		err = namespace.MapSelf(o.UID, o.GID)
	}
	if err == nil {
		// What is mounted here is seen nowhere else.
		if err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			err = os.NewSyscallError("mount", err)
		}
	}
	// A keyring of its own, and not that of the session, into which anyone of this user can write. Where a filter of system calls refuses it, it
	// refuses the command, too.
	_, _ = unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0)
	if err == nil {
		err = furnish(o.Spec)
	}
	if err == nil && o.Apart {
		// Where the system hides parts of /proc from this process the new one is refused: the old one stays, which
		// names processes that the command cannot reach.
		_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
		err = ownTerminals()
	}
	if err == nil && o.User {
		err = namespace.DropCapabilities()
	}
	if err == nil && o.Apart && namespace.ABI() >= namespace.ScopesABI {
		err = namespace.Restrict(0, nil)
	}
	if err != nil {
		return fail(StartFailed, fmt.Errorf("%s was not started: its room cannot be furnished: %w", argv[0], err))
	}
	if o.Try {
		say(found{})
		return 0
	}
	env, dir, lookup := os.Environ(), string(o.Dir), string(o.LookupDir)
	if err := os.Chdir(dir); err != nil {
		return fail(EnvMissing, fmt.Errorf("commands cannot run in the directory %s: %w", dir, regular.Reason(err)))
	}
	path, err := new(Launcher).LookPath(argv[0], lookup, env)
	if err != nil {
		return fail(EnvMissing, err)
	}
	var files []int
	if fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0); err == nil { // else it may be executed and not read
		files = append(files, fd)
	}
	say(found{Path: []byte(path)}, files...)
	if n, err := unix.Read(roomAnswer, make([]byte, 1)); n != 1 {
		return fail(StartFailed, fmt.Errorf("nobody let it go on: %w", err))
	}
	seen := seenArgv(argv, path, lookup, dir)
	if err := namespace.CloseInherited(); err != nil {
		return fail(StartFailed, fmt.Errorf("%s was not started: %w", argv[0], err))
	}
	var pid int
	if o.Apart {
		err = standAside()
		if err != nil {
			return fail(StartFailed, fmt.Errorf("%s was not started: %w", argv[0], err))
		}
	}
	for wait := time.Millisecond; ; wait *= 2 {
		if !o.Apart {
			err = syscall.Exec(path, seen, env)
		} else if pid, err = syscall.ForkExec(path, seen, &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}}); err == nil {
			say(found{Started: true})
			return attend(pid, func(s syscall.Signal) { say(found{Signal: s}) })
		}
		if err != syscall.ETXTBSY || wait >= 300*time.Millisecond {
			break
		}
		time.Sleep(wait)
	}
	r := &run{command: &Command{Argv: seen, Dir: dir, LookupDir: lookup, Env: env}, result: &Result{Path: path}}
	stop, err := r.explain(err)
	return fail(stop, err)
}

// ownTerminals takes the terminals away that others have: who may open one reads what its user types there, and writes what
// its user reads. Where there can be no others instead there are none.
func ownTerminals() error {
	const dir = "/dev/pts"
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := unix.Mount("dialect", dir, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
	if err != nil {
		err = unix.Mount("dialect", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_RDONLY, "mode=0555")
	}
	if err != nil {
		return &os.PathError{Op: "mount", Path: dir, Err: err}
	}
	return nil
}

// standAside makes the first process of a pid namespace one that its command cannot take over: it cannot be traced, and so
// the threads of it that still have capabilities cannot be used. Signals are taken and dropped, as one that is ignored
// would be ignored by the command.
func standAside() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	dropped := make(chan os.Signal, 1)
	signal.Notify(dropped)
	return nil
}

// attend waits, as the first process of its namespace, for the command, and for what others leave to it. It returns an exit
// status; by gets the signal that ended the command. When this process ends, the kernel ends the rest.
func attend(command int, by func(syscall.Signal)) int {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case err == unix.EINTR || err == nil && pid != command:
		case err != nil:
			return StatusNotBegun
		case ws.Signaled():
			by(ws.Signal())
			return 128 + int(ws.Signal())
		case ws.Exited():
			return ws.ExitStatus()
		}
	}
}

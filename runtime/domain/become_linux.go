//go:build linux && !portable

package domain

import (
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/namespace"
	"github.com/command-dialect/dialect/runtime/process"
)

// wire is the descriptor of the socket between a helper and the process that started it.
const wire = 3

// An order is the first message to a helper.
type order struct {
	Mode     Mode
	UID, GID int
	Dir      string
	Folder   string
	Masks    []mask
	Terminal [3]bool // which streams are the pseudo terminal
	Try      bool    // furnish, and run nothing
}

// A word is each later message to a helper, and each of its own.
type word struct {
	Ready    bool     `json:",omitempty"`
	Notes    []string `json:",omitempty"`
	Error    string   `json:",omitempty"` // the domain cannot be made
	Go       bool     `json:",omitempty"` // start the command
	Signal   int      `json:",omitempty"` // to the helper: pass it on; from it, with Ended: what ended the command
	Stopped  bool     `json:",omitempty"` // the command is
	Continue bool     `json:",omitempty"` // it is to go on
	Ended    bool     `json:",omitempty"`
	Code     int      `json:",omitempty"`
	Text     string   `json:",omitempty"` // with Ended: why it was not started
}

// send writes a message to a socket that keeps them apart; with a descriptor, if that is not negative.
func send(socket int, message any, fd int) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	var rights []byte
	if fd >= 0 {
		rights = unix.UnixRights(fd)
	}
	for {
		err = unix.Sendmsg(socket, text, rights, nil, unix.MSG_NOSIGNAL)
		if err != unix.EINTR {
			return os.NewSyscallError("sendmsg", err)
		}
	}
}

// maxMessage bounds a message, in bytes.
const maxMessage = 128 << 10

var errGone = errors.New("the other side is gone")

// receive reads a message; the descriptor that came with it is -1 if none did.
func receive(socket int, message any) (fd int, err error) {
	text, oob := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(socket, text, oob, unix.MSG_CMSG_CLOEXEC)
		switch {
		case err == unix.EINTR:
			continue
		case n == 0 || err == unix.ECONNRESET:
			return -1, errGone
		case err != nil:
			return -1, os.NewSyscallError("recvmsg", err)
		}
		fd = -1
		if list, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil && len(list) == 1 {
			if rights, err := unix.ParseUnixRights(&list[0]); err == nil && len(rights) == 1 {
				fd = rights[0]
			}
		}
		return fd, json.Unmarshal(text[:n], message)
	}
}

// A helper is the first process of a domain.
type helper struct {
	order
	tty   int // the command's end of the pseudo terminal; -1 without
	group atomic.Int64
}

// Become is what the command of [Options.Helper] does, with the command of the domain as arguments. It returns an exit status.
func Become(argv []string) int {
	runtime.LockOSThread() // capabilities and Landlock domains are those of a thread
	unix.CloseOnExec(wire)
	h := &helper{tty: -1}
	if _, err := receive(wire, &h.order); err != nil || len(argv) == 0 && !h.Try {
		return process.StatusNotBegun
	}
	master, notes, err := h.prepare()
	if err != nil {
		_ = send(wire, word{Error: err.Error()}, -1) // nobody is left to say it to
		return process.StatusNotBegun
	}
	if err := send(wire, word{Ready: true, Notes: notes}, master); err != nil || h.Try {
		return process.StatusNotBegun
	}
	if master >= 0 {
		unix.Close(master)
	}
	var w word
	if _, err := receive(wire, &w); err != nil || !w.Go {
		return process.StatusNotBegun
	}
	if w, err = h.run(argv); err != nil {
		w = word{Ended: true, Code: process.StatusNotBegun, Text: err.Error()}
	}
	_ = send(wire, w, -1)
	return 0
}

// prepare makes the domain, but for what the command's thread does to itself.
func (h *helper) prepare() (master int, notes []string, err error) {
	// Ended with the one who started it, whatever changed its capabilities since.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return -1, nil, os.NewSyscallError("prctl", err)
	}
	if h.Mode == Namespaces {
		if notes, err = h.furnish(); err != nil {
			return -1, nil, err
		}
	} else {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return -1, nil, os.NewSyscallError("prctl", err)
	}
	master = -1
	if h.Terminal != [3]bool{} {
		if master, h.tty, err = openTerminal(); err != nil {
			return -1, nil, err
		}
	}
	return master, notes, nil
}

// openTerminal opens a pseudo terminal of the /dev/pts that is seen here, and makes it that of this session.
func openTerminal() (master, tty int, err error) {
	name := "/dev/pts/ptmx"
	if unix.Access(name, unix.R_OK|unix.W_OK) != nil {
		name = "/dev/ptmx"
	}
	if master, err = unix.Open(name, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err != nil {
		return -1, -1, &os.PathError{Op: "open", Path: name, Err: err}
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return -1, -1, os.NewSyscallError("TIOCSPTLCK", err)
	}
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		return -1, -1, os.NewSyscallError("TIOCGPTPEER", errno)
	}
	tty = int(fd)
	if err := unix.IoctlSetInt(tty, unix.TIOCSCTTY, 0); err != nil {
		return -1, -1, os.NewSyscallError("TIOCSCTTY", err)
	}
	return master, tty, nil
}

// run starts the command and waits until it ends.
func (h *helper) run(argv []string) (word, error) {
	if err := os.Chdir(h.Dir); err != nil {
		return word{}, err
	}
	env := os.Environ()
	path, err := new(process.Launcher).LookPath(argv[0], h.Dir, env)
	if err != nil {
		code := process.StatusNotFound
		if info, e := os.Stat(argv[0]); e == nil && !info.IsDir() && strings.Contains(argv[0], "/") {
			code = process.StatusNotRunnable
		}
		return word{Ended: true, Code: code, Text: err.Error()}, nil
	}
	if h.Mode != None {
		if err := namespace.DropCapabilities(); err != nil {
			return word{}, err
		}
		folder := ""
		if h.Mode == Landlock {
			folder = h.Folder
		}
		if err := restrict(folder); err != nil {
			return word{}, err
		}
	}
	if err := namespace.CloseInherited(); err != nil {
		return word{}, err
	}
	attr := &syscall.ProcAttr{Dir: h.Dir, Env: env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}}
	for i, terminal := range h.Terminal {
		if terminal {
			attr.Files[i] = uintptr(h.tty)
		}
	}
	// It is in the foreground before it runs: a key that is typed then is for it.
	attr.Sys.Foreground, attr.Sys.Ctty = h.tty >= 0, h.tty
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return word{Ended: true, Code: process.StatusNotRunnable, Text: (&os.PathError{Op: "exec", Path: path, Err: err}).Error()}, nil
	}
	// What the command sends does nothing here. Not before it was started: what this process was made to ignore, as by nohup, the command ignores, too.
	signal.Notify(make(chan os.Signal, 1))
	h.group.Store(int64(pid))
	go h.listen()
	for {
		var ws unix.WaitStatus
		got, err := unix.Wait4(-1, &ws, unix.WUNTRACED, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return word{}, os.NewSyscallError("wait4", err)
		case got != pid:
		case ws.Stopped():
			if err := send(wire, word{Stopped: true}, -1); err != nil {
				return word{}, err
			}
		case ws.Signaled():
			return word{Ended: true, Code: -1, Signal: int(ws.Signal())}, nil
		case ws.Exited():
			return word{Ended: true, Code: ws.ExitStatus()}, nil
		}
	}
}

// listen does what the process that started this one says, and ends with it.
func (h *helper) listen() {
	for {
		var w word
		if _, err := receive(wire, &w); err != nil {
			os.Exit(process.StatusNotBegun)
		}
		group := -int(h.group.Load())
		switch {
		case w.Continue:
			_ = unix.Kill(group, unix.SIGCONT)
		case w.Signal > 0:
			// The foreground of the terminal, as if it had been typed there.
			if h.tty >= 0 && (w.Signal == int(unix.SIGINT) || w.Signal == int(unix.SIGQUIT) || w.Signal == int(unix.SIGTSTP)) {
				if now, err := unix.IoctlGetInt(h.tty, unix.TIOCGPGRP); err == nil && now > 0 {
					group = -now
				}
			}
			_ = unix.Kill(group, unix.Signal(w.Signal))
		}
	}
}

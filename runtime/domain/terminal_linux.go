//go:build linux && !portable

package domain

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// idle is how long the terminal of a command that has ended may be silent until the rest of its output is there: something that
// it left can hold it open.
const idle = 50 * time.Millisecond

// Run lets the command in, passes its terminal and the signals of this process through, and returns how it ended.
func (d *Domain) Run() (Status, error) {
	signals := make(chan os.Signal, 16)
	list := []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGTSTP, unix.SIGCONT}
	if !signal.Ignored(unix.SIGHUP) { // nohup
		list = append(list, unix.SIGHUP)
	}
	signal.Notify(signals, list...)
	defer signal.Stop(signals)

	t, err := d.takeTerminal()
	if err != nil {
		return Status{}, err
	}
	defer t.release()
	if err := send(d.socket, word{Go: true}, -1); err != nil {
		return Status{}, err
	}
	words := make(chan word)
	failed := make(chan error, 1)
	go func() {
		for {
			var w word
			if _, err := receive(d.socket, &w); err != nil {
				failed <- err
				return
			}
			words <- w
			if w.Ended {
				return
			}
		}
	}()
	for {
		select {
		case err := <-failed:
			if errors.Is(err, errGone) { // the helper was killed, and all with it
				return Status{Code: -1, Signal: int(unix.SIGKILL)}, nil
			}
			return Status{}, err
		case s := <-signals:
			switch s {
			case unix.SIGWINCH:
				t.resize()
			case unix.SIGCONT: // a shell has set its terminal meanwhile
				_ = t.raw()
				t.resize()
			default:
				_ = send(d.socket, word{Signal: int(s.(syscall.Signal))}, -1)
			}
		case w := <-words:
			switch {
			case w.Stopped:
				if d.o.Suspend != nil {
					d.o.Suspend(func() (after func()) {
						t.restore()
						return func() {
							_ = t.raw()
							t.resize()
						}
					})
				}
				_ = send(d.socket, word{Continue: true}, -1)
			case w.Ended:
				return Status{Code: w.Code, Signal: w.Signal, Text: w.Text}, nil
			}
		}
	}
}

// A terminal passes bytes between the terminal of this process and that of the command.
type terminal struct {
	master int // -1 without
	in     int // where is read; -1 for nowhere
	out    int
	state  *term.State // of in, before
	keep   bool        // other streams of this process are written to out by somebody else
	wake   int         // readable once the command has ended
	done   chan struct{}
}

// takeTerminal prepares the terminals of both sides, and begins to pass through.
func (d *Domain) takeTerminal() (*terminal, error) {
	t := &terminal{master: d.master, in: -1, out: d.outer}
	if d.master < 0 {
		return t, nil
	}
	for _, i := range []int{2, 1} {
		if d.tty[i] {
			t.out = int(d.o.Streams[i].Fd())
		}
	}
	t.keep = !d.tty[1] || !d.tty[2]
	if settings, err := unix.IoctlGetTermios(t.out, unix.TCGETS); err == nil {
		_ = unix.IoctlSetTermios(t.master, unix.TCSETS, settings)
	}
	t.resize()
	if err := unix.SetNonblock(t.master, true); err != nil {
		return nil, err
	}
	var err error
	if t.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	if d.tty[0] {
		t.in = int(d.o.Streams[0].Fd())
		if err := t.raw(); err != nil {
			return nil, err
		}
	}
	t.done = make(chan struct{})
	go t.pass()
	return t, nil
}

// raw has the terminal of this process interpret nothing: that of the command does.
func (t *terminal) raw() (err error) {
	if t.in < 0 {
		return nil
	}
	state, err := term.MakeRaw(t.in)
	if err != nil {
		return err
	}
	if t.state == nil {
		t.state = state
	}
	if t.keep { // lines of others end as lines
		if now, err := unix.IoctlGetTermios(t.in, unix.TCGETS); err == nil {
			now.Oflag |= unix.OPOST
			_ = unix.IoctlSetTermios(t.in, unix.TCSETS, now)
		}
	}
	return nil
}

func (t *terminal) restore() {
	if t.state != nil {
		_ = term.Restore(t.in, t.state)
	}
}

// resize gives the terminal of the command the size of the one here.
func (t *terminal) resize() {
	if t.master < 0 {
		return
	}
	if size, err := unix.IoctlGetWinsize(t.out, unix.TIOCGWINSZ); err == nil {
		_ = unix.IoctlSetWinsize(t.master, unix.TIOCSWINSZ, size)
	}
}

// release ends the passing through, once all that the command wrote is there.
func (t *terminal) release() {
	if t.master < 0 {
		return
	}
	one := [8]byte{1, 1, 1, 1, 1, 1, 1, 1} // not zero in either byte order
	_, _ = unix.Write(t.wake, one[:])
	<-t.done
	t.restore()
	unix.Close(t.wake)
}

// pass copies both ways until the command's side is closed, or the command has ended and is silent.
func (t *terminal) pass() {
	defer close(t.done)
	const in, master, wake = 0, 1, 2
	buf := make([]byte, 64<<10)
	var typed []byte // not taken yet
	ended := false
	for {
		fds := [3]unix.PollFd{{Fd: -1}, {Fd: int32(t.master), Events: unix.POLLIN}, {Fd: -1}}
		timeout := -1
		if ended {
			timeout = int(idle / time.Millisecond)
		} else {
			fds[wake] = unix.PollFd{Fd: int32(t.wake), Events: unix.POLLIN}
			if len(typed) > 0 {
				fds[master].Events |= unix.POLLOUT
			} else if t.in >= 0 {
				fds[in] = unix.PollFd{Fd: int32(t.in), Events: unix.POLLIN}
			}
		}
		n, err := unix.Poll(fds[:], timeout)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || n == 0 && ended:
			return
		}
		if fds[wake].Revents != 0 {
			ended = true
		}
		if fds[master].Revents&unix.POLLOUT != 0 && len(typed) > 0 {
			if n, err := unix.Write(t.master, typed); err == nil {
				typed = typed[n:]
			} else if err != unix.EAGAIN && err != unix.EINTR {
				typed = nil
			}
		}
		if fds[master].Revents&(unix.POLLIN|unix.POLLHUP|unix.POLLERR) != 0 {
			n, err := unix.Read(t.master, buf)
			switch {
			case err == unix.EAGAIN || err == unix.EINTR:
			case err != nil || n == 0: // EIO: nobody has it open any more
				return
			case !writeAll(t.out, buf[:n]):
				return
			}
		}
		if fds[in].Revents != 0 {
			n, err := unix.Read(t.in, buf[:4<<10])
			switch {
			case err == unix.EAGAIN || err == unix.EINTR:
			case err != nil || n == 0: // hung up
				t.in = -1
			default:
				typed = append([]byte(nil), buf[:n]...)
			}
		}
	}
}

// writeAll writes to a terminal that another process may have made non-blocking.
func writeAll(fd int, text []byte) bool {
	for len(text) > 0 {
		n, err := unix.Write(fd, text)
		switch {
		case err == unix.EAGAIN:
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, 1000)
		case err == unix.EINTR:
		case err != nil:
			return false
		default:
			text = text[n:]
		}
	}
	return true
}

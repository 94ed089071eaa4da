//go:build linux

package domain

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A screen is the terminal of a user: what is around a domain runs on it, as the leader of its session.
type screen struct {
	t      *testing.T
	name   string // its path
	master *os.File
	tty    *os.File
	cmd    *exec.Cmd
	before unix.Termios // the settings before the command ran

	mu   sync.Mutex
	text bytes.Buffer
}

// show runs a command in a domain on a terminal of 30 lines of 100.
func (p *place) show(s script) *screen {
	p.t.Helper()
	v := p.terminal()
	v.run(p, s)
	return v
}

// terminal makes a terminal of the user, of 30 lines of 100.
func (p *place) terminal() *screen {
	p.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		p.t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		p.t.Fatal(err)
	}
	name := fmt.Sprintf("/dev/pts/%d", n)
	tty, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	before, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	_ = tty.Chown(p.uid, -1)
	v := &screen{t: p.t, name: name, master: master, tty: tty, before: *before}
	v.size(30, 100)
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			v.mu.Lock()
			v.text.Write(buf[:n])
			v.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	p.t.Cleanup(func() {
		if v.cmd != nil && v.cmd.Process != nil {
			_ = v.cmd.Process.Kill()
			_ = v.cmd.Wait()
		}
		tty.Close()
		master.Close()
	})
	return v
}

// run runs a command in a domain on the terminal.
func (v *screen) run(p *place, s script) {
	v.t.Helper()
	v.cmd = p.commandOf(s)
	v.cmd.Stdin, v.cmd.Stdout, v.cmd.Stderr = v.tty, v.tty, v.tty
	v.cmd.SysProcAttr.Setctty = true
	if err := v.cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
}

func (v *screen) size(rows, columns uint16) {
	if err := unix.IoctlSetWinsize(int(v.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		v.t.Fatal(err)
	}
}

func (v *screen) shown() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.text.String()
}

// await waits until the terminal shows a text.
func (v *screen) await(want string) {
	v.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if strings.Contains(v.shown(), want) {
			return
		}
	}
	v.t.Fatalf("the terminal never shows %q:\n%s", want, v.shown())
}

func (v *screen) typed(text string) {
	v.t.Helper()
	if _, err := v.master.WriteString(text); err != nil {
		v.t.Fatal(err)
	}
}

// ended returns the exit status.
func (v *screen) ended() int {
	v.t.Helper()
	defer time.AfterFunc(30*time.Second, func() {
		v.t.Errorf("it does not end:\n%s", v.shown())
		_ = v.cmd.Process.Kill()
	}).Stop()
	_ = v.cmd.Wait()
	return v.cmd.ProcessState.ExitCode()
}

// The command has a terminal of the same size, which follows; keys reach it as they are typed, Ctrl-C interrupts what is in
// the foreground there, and the terminal is as it was once it has ended.
func TestTerminal(t *testing.T) {
	for _, mode := range append([]Mode{None}, held...) {
		t.Run(string(mode), func(t *testing.T) {
			p := newPlace(t)
			v := p.show(script{Options: Options{Modes: []Mode{mode}, Argv: []string{"sh", "-c", `
				stty size; test -t 0 && test -t 1 && test -t 2 && echo three
				trap 'resized=yes' WINCH
				read line; echo "got $line"
				until test "$resized"; do sleep 0.01; done; stty size; echo resized # not in a read, which a trap waits for that came just before it
				read line; echo "then $line"
				trap 'echo interrupted' INT
				sh -c 'echo sleeping; exec sleep 1000' # asleep or not yet, the key ends it: between a word of the shell itself and its child it would not
				echo awake; exit 9`}}})
			v.await("30 100")
			v.await("three")
			v.typed("one\r")
			v.await("got one")
			v.size(40, 120)
			_ = v.cmd.Process.Signal(unix.SIGWINCH)
			v.await("resized")
			v.typed("two\r")
			v.await("then two")
			v.await("40 120")
			v.await("sleeping")
			v.typed("\x03")
			v.await("awake")
			if status := v.ended(); status != 9 || !strings.Contains(v.shown(), "interrupted") {
				t.Errorf("exit %d:\n%s", status, v.shown())
			}
			after, err := unix.IoctlGetTermios(int(v.tty.Fd()), unix.TCGETS)
			if err != nil || *after != v.before {
				t.Errorf("%v: the terminal is not what it was: %+v, %+v", err, v.before, after)
			}
			if n := strings.Count(v.shown(), "got one"); n != 1 {
				t.Errorf("shown %d times", n)
			}
		})
	}
}

// A shell inside has job control.
func TestJobs(t *testing.T) {
	p := newPlace(t)
	v := p.show(script{Options: Options{Modes: []Mode{Namespaces}, Argv: []string{"bash", "--norc", "-i"}, Env: []string{"PS1=ready>"}}})
	v.await("ready>")
	v.typed("sh -c 'echo it is th''ere; exec sleep 1000'\r") // its shell gives it the terminal before it runs
	v.await("it is there")
	v.typed("\x1a")
	v.await("Stopped")
	v.typed("kill -9 %1; while kill -0 %1; do :; done 2>/dev/null; echo it is go''ne\r")
	v.await("it is gone")
	v.typed("exit 3\r")
	if status := v.ended(); status != 3 || strings.Contains(v.shown(), "no job control") {
		t.Errorf("exit %d:\n%s", status, v.shown())
	}
}

// A command without job control stops with Ctrl-Z; the process around it learns that, and lets it go on.
func TestStopped(t *testing.T) {
	p := newPlace(t)
	v := p.show(script{Suspends: true, Options: Options{Modes: []Mode{Namespaces}, Argv: []string{"sh", "-c", "echo up; read line; echo got $line; exit 6"}}})
	v.await("up")
	v.typed("\x1a")
	v.await("SUSPENDED")
	v.typed("on\r")
	v.await("got on")
	if status := v.ended(); status != 6 {
		t.Errorf("exit %d:\n%s", status, v.shown())
	}
}

// The terminal is the command's from its first instruction on: a key that comes then reaches it.
func TestForeground(t *testing.T) {
	for _, mode := range append([]Mode{None}, held...) {
		t.Run(string(mode), func(t *testing.T) {
			p := newPlace(t)
			v := p.show(script{Suspends: true, Options: Options{Modes: []Mode{mode}, Argv: []string{p.self, attackWord, "foreground"}}})
			if status := v.ended(); status != 0 || strings.Contains(v.shown(), "SUSPENDED") {
				t.Errorf("exit %d:\n%s", status, v.shown())
			}
		})
	}
}

// foreground returns 0 if this process is in the foreground of its terminal.
func foreground() int {
	now, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	if err != nil || now != unix.Getpgrp() {
		fmt.Println("the foreground is", now, "and not", unix.Getpgrp(), err)
		return 1
	}
	return 0
}

// A stream that is not a terminal is handed over; a terminal becomes the pseudo terminal.
func TestMixed(t *testing.T) {
	p := newPlace(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := p.command(Options{Modes: []Mode{Namespaces}, Argv: []string{"sh", "-c", "cat; echo err >&2; test -t 0 || test -t 1 || exit 5"}})
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("in\n"), w, &errs
	err = cmd.Run()
	w.Close()
	buf := make([]byte, 100)
	n, _ := r.Read(buf)
	if cmd.ProcessState.ExitCode() != 5 || string(buf[:n]) != "in\n" || errs.String() != "err\n" {
		t.Errorf("%v: %q %q", err, buf[:n], errs.String())
	}
}

// A standard stream that is a directory would lead out of the mounts.
func TestDirectoryStream(t *testing.T) {
	p := newPlace(t)
	f, err := os.Open("/var/tmp")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := p.command(Options{Modes: []Mode{Namespaces}, Argv: []string{"true"}})
	cmd.Stdin = f
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 99 || !strings.Contains(string(out), "descriptor 0 is a directory") {
		t.Errorf("%s", out)
	}
}

// What is typed into the terminals of the user by force, and written onto them, does not arrive.
func TestInjection(t *testing.T) {
	p := newPlace(t)
	for _, plain := range []bool{true, false} {
		v, other := p.terminal(), p.terminal() // their names are two, and that of its own terminal is one of them at most
		v.run(p, script{Plain: plain, Options: Options{Modes: []Mode{Namespaces}, Argv: []string{p.self, attackWord, "inject", v.name, other.name}}})
		v.await("done")
		v.ended()
		for _, v := range []*screen{v, other} {
			if _, err := v.tty.WriteString("the end\n"); err != nil { // after all that was written onto it
				t.Fatal(err)
			}
			v.await("the end")
			if err := unix.SetNonblock(int(v.tty.Fd()), true); err != nil {
				t.Fatal(err)
			}
			n, _ := unix.IoctlGetInt(int(v.tty.Fd()), unix.TIOCINQ)
			legacy, _ := os.ReadFile("/proc/sys/dev/tty/legacy_tiocsti")
			switch own := v != other; {
			case plain && own && n == 0 && strings.TrimSpace(string(legacy)) != "0":
				t.Errorf("TIOCSTI shows nothing here: %s", v.shown())
			case !plain && n != 0:
				t.Errorf("%d bytes were typed into the terminal of the user", n)
			}
			if strings.Contains(v.shown(), "FORGED") != plain {
				t.Errorf("plain %v: %s", plain, v.shown())
			}
		}
	}
}

// inject types into the terminals of this test, wherever their names lead, and writes onto those that are not its own. Those of other processes are
// left alone: without a domain it reaches them.
func inject(names []string) {
	own := ttyName()
	plain := os.Getenv("TARGET") == strconv.Itoa(os.Getpid()) // without a domain all are the user's
	for _, path := range append(names, "/dev/tty") {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		for _, c := range []byte("x\n") {
			_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
		}
		if path != own && path != "/dev/tty" || plain {
			_, _ = unix.Write(fd, []byte("FORGED\n"))
		}
		unix.Close(fd)
	}
	fmt.Println("done")
}

func ttyName() string {
	name, _ := os.Readlink("/proc/self/fd/0")
	return name
}

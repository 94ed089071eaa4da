//go:build linux && !portable

package domain

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/command-dialect/dialect/runtime/domain/listening"
	"github.com/command-dialect/dialect/runtime/namespace"
	"github.com/command-dialect/dialect/runtime/process"
)

// A Domain is made, and its command waits to be let in.
type Domain struct {
	facts  Facts
	o      Options
	pid    int
	forget func()
	socket int
	master int // this side of the pseudo terminal; -1 without
	outer  int // the terminal of this process that stands for it
	tty    [3]bool
}

func newDomain(o Options, f Facts) *Domain {
	return &Domain{o: o, facts: f, socket: -1, master: -1, outer: -1}
}

// Start makes a domain for a command. The command does not run before [Domain.Run]. The error is a *[Refusal] where this machine gives none.
func Start(o Options) (*Domain, error) {
	for i, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		if o.Streams[i] == nil {
			o.Streams[i] = f
		}
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Modes == nil {
		o.Modes = []Mode{Namespaces, Landlock}
	}
	var why []string
	for _, mode := range o.Modes {
		d, err := start(o, mode)
		if err == nil {
			d.facts.Why = strings.Join(why, "; ")
			return d, nil
		}
		why = append(why, err.Error())
	}
	return nil, &Refusal{Why: strings.Join(why, "; ")}
}

// Probe says which mode this machine gives, without a command.
func Probe(helper []string) (Facts, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return Facts{}, err
	}
	defer null.Close()
	o := Options{Helper: helper, Argv: []string{"a command"}, Dir: "/", Folder: "/var/tmp", Env: os.Environ(), Streams: [3]*os.File{null, null, null}}
	var why string
	for _, mode := range []Mode{Namespaces, Landlock} {
		d, err := try(o, mode)
		if err == nil {
			d.Why = why
			return d, nil
		}
		why = err.Error()
	}
	return Facts{}, &Refusal{Why: why}
}

func try(o Options, mode Mode) (Facts, error) {
	facts := Facts{Mode: mode, ABI: namespace.ABI(), Gaps: gaps(mode)}
	if facts.ABI < namespace.ScopesABI {
		return facts, tooOld(facts.ABI)
	}
	if mode != Namespaces {
		return facts, nil
	}
	d := newDomain(o, facts)
	defer d.Close()
	return facts, d.fork(order{Mode: mode, UID: os.Getuid(), GID: os.Getgid(), Dir: "/", Try: true})
}

func tooOld(abi int) error {
	if abi == 0 {
		return errors.New("the kernel has no Landlock, or it is switched off or forbidden here")
	}
	return fmt.Errorf("its Landlock ABI is %d, and signals are kept in from %d on (Linux 6.12)", abi, namespace.ScopesABI)
}

func start(o Options, mode Mode) (_ *Domain, err error) {
	d := newDomain(o, Facts{Mode: mode, Gaps: gaps(mode)})
	var sockets []string
	if mode != None {
		if d.facts.ABI = namespace.ABI(); d.facts.ABI < namespace.ScopesABI {
			return nil, tooOld(d.facts.ABI)
		}
		if sockets, err = listening.Unix(); err != nil {
			return nil, err
		}
	}
	ord := order{Mode: mode, UID: os.Getuid(), GID: os.Getgid(), Dir: o.Dir, Folder: o.Folder}
	switch mode {
	case Namespaces:
		if ord.Masks, d.facts.Later, err = places(&o, sockets); err != nil {
			return nil, err
		}
		for _, m := range ord.Masks {
			d.facts.Masked = append(d.facts.Masked, m.Path)
		}
	case Landlock:
		if list, err := aliases(o.Folder); err != nil {
			return nil, err
		} else if len(list) > 1 {
			return nil, fmt.Errorf("%s is also seen as %s", o.Folder, list[1])
		}
	}
	for i, f := range o.Streams {
		if fd := int(f.Fd()); term.IsTerminal(fd) {
			d.tty[i] = true
			if d.outer < 0 {
				d.outer = fd
			}
		}
	}
	ord.Terminal = d.tty
	if mode != None {
		looked := make(chan struct{})
		go func() { // while the helper starts
			defer close(looked)
			d.facts.Reach, d.facts.Closed = listeners(o.Folder, ord.Masks, sockets)
		}()
		defer func() { <-looked }()
	}
	if err := d.fork(ord); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// patience is how long a helper may take to furnish its namespaces.
const patience = 30 * time.Second

// fork starts the helper, and waits until its domain is furnished.
func (d *Domain) fork(ord order) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	d.socket = pair[0]
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		unix.Close(pair[1])
		return err
	}
	defer null.Close()
	attr := &syscall.ProcAttr{Dir: "/", Env: d.o.Env, Files: make([]uintptr, 4), Sys: &syscall.SysProcAttr{Setsid: true}}
	for i, f := range d.o.Streams {
		if attr.Files[i] = f.Fd(); d.tty[i] {
			attr.Files[i] = null.Fd()
		}
	}
	attr.Files[wire] = uintptr(pair[1])
	if ord.Mode == Namespaces {
		attr.Sys.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID
		attr.Sys.AmbientCaps = mountCaps
	}
	argv := append(append([]string(nil), d.o.Helper...), d.o.Argv...)
	// The file that this process was made of, also when another has taken its place.
	d.pid, d.forget, err = process.Fork("/proc/self/exe", argv, attr)
	unix.Close(pair[1])
	if err != nil {
		return fmt.Errorf("no user namespace can be made: %w", err)
	}
	if err := send(d.socket, ord, -1); err != nil {
		return err
	}
	_ = unix.SetsockoptTimeval(d.socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: int64(patience / time.Second)})
	var w word
	d.master, err = receive(d.socket, &w)
	_ = unix.SetsockoptTimeval(d.socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{})
	switch {
	case err != nil:
		return fmt.Errorf("the helper of the domain: %w", err)
	case w.Error != "":
		return errors.New(w.Error)
	case !w.Ready:
		return errors.New("the helper of the domain said nothing")
	}
	d.facts.Gaps = append(d.facts.Gaps, w.Notes...)
	return nil
}

// Facts returns what was found when the domain was made.
func (d *Domain) Facts() Facts { return d.facts }

// Close ends what is left of the domain. It is called in any case.
func (d *Domain) Close() {
	if d.socket >= 0 {
		unix.Close(d.socket) // the helper ends by itself, too
		d.socket = -1
	}
	if d.master >= 0 {
		unix.Close(d.master)
		d.master = -1
	}
	if d.pid > 0 {
		_ = unix.Kill(d.pid, unix.SIGKILL)
		for {
			if _, err := unix.Wait4(d.pid, nil, 0, nil); err != unix.EINTR {
				break
			}
		}
		d.forget()
		d.pid = 0
	}
}

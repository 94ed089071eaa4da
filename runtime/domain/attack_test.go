//go:build linux

package domain

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An attack returns nil if it worked. It is made from within a domain, on the process around it, or on the folder.
type attack struct {
	name string
	do   func(target int, folder string) error
	// open says that Landlock alone does not hold it: [Facts.Gaps] names that.
	open bool
}

// inMemory are attacks on what a process knows: the notary's and that of the helper, which has capabilities.
var inMemory = []attack{
	{"ptrace attach", func(pid int, _ string) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := unix.PtraceAttach(pid); err != nil {
			return err
		}
		_, _ = unix.Wait4(pid, nil, unix.WALL, nil)
		return unix.PtraceDetach(pid)
	}, false},
	{"proc mem", reads("mem"), false},
	{"proc environ", reads("environ"), false},
	{"proc maps", reads("maps"), false},
	{"proc auxv", reads("auxv"), false},
	{"proc fd", func(pid int, _ string) error {
		list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err == nil && len(list) == 0 {
			err = os.ErrNotExist
		}
		return err
	}, false},
	{"proc root", func(pid int, _ string) error {
		_, err := os.Readlink(fmt.Sprintf("/proc/%d/root", pid))
		return err
	}, false},
	{"proc cwd", func(pid int, _ string) error {
		_, err := os.ReadDir(fmt.Sprintf("/proc/%d/cwd/", pid))
		return err
	}, false},
	{"process_vm_readv", func(pid int, _ string) error {
		buf := make([]byte, 8)
		local := []unix.Iovec{{Base: &buf[0], Len: 8}}
		_, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: 4096, Len: 8}}, 0)
		return permitted(err)
	}, false},
	{"process_vm_writev", func(pid int, _ string) error {
		buf := make([]byte, 8)
		local := []unix.Iovec{{Base: &buf[0], Len: 8}}
		_, err := unix.ProcessVMWritev(pid, local, []unix.RemoteIovec{{Base: 4096, Len: 8}}, 0)
		return permitted(err)
	}, false},
	{"pidfd_getfd", func(pid int, _ string) error {
		p, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		defer unix.Close(p)
		fd, err := unix.PidfdGetfd(p, 0, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}, false},
	{"kcmp", func(pid int, _ string) error {
		_, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pid), uintptr(os.Getpid()), 1, 0, 0, 0)
		return fromErrno(errno)
	}, false},
	{"setns", func(pid int, _ string) error {
		f, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", pid))
		if err == nil {
			f.Close()
		}
		return err
	}, false},
}

// onProcess are attacks on what a process does.
var onProcess = []attack{
	{"kill", func(pid int, _ string) error { return unix.Kill(pid, unix.SIGURG) }, false},
	{"tgkill", func(pid int, _ string) error { return unix.Tgkill(pid, pid, unix.SIGURG) }, false},
	{"pidfd_send_signal", func(pid int, _ string) error {
		p, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		defer unix.Close(p)
		return unix.PidfdSendSignal(p, unix.SIGURG, nil, 0)
	}, false},
	{"prlimit", func(pid int, _ string) error {
		var old unix.Rlimit
		if err := unix.Prlimit(pid, unix.RLIMIT_STACK, nil, &old); err != nil {
			return err
		}
		return unix.Prlimit(pid, unix.RLIMIT_STACK, &old, nil)
	}, true},
	{"setpriority", func(pid int, _ string) error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 19) }, true},
	{"sched_setaffinity", func(pid int, _ string) error {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(pid, &set); err != nil {
			return err
		}
		return unix.SchedSetaffinity(pid, &set)
	}, true},
}

// onFolder are attacks on what the process around keeps.
var onFolder = []attack{
	{"read", func(_ int, f string) error { return secretIn(filepath.Join(f, "secret")) }, false},
	{"write", func(_ int, f string) error {
		file, err := os.OpenFile(filepath.Join(f, "secret"), os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			file.Close()
		}
		return err
	}, false},
	{"create", func(_ int, f string) error {
		name := filepath.Join(f, "planted")
		defer os.Remove(name)
		return os.WriteFile(name, nil, 0o600)
	}, false},
	{"mkdir", func(_ int, f string) error {
		defer os.Remove(filepath.Join(f, "made"))
		return os.Mkdir(filepath.Join(f, "made"), 0o700)
	}, false},
	{"link into the project", func(_ int, f string) error {
		defer os.Remove("linked")
		return os.Link(filepath.Join(f, "secret"), "linked")
	}, false},
	{"link into the folder", func(_ int, f string) error {
		defer os.Remove(filepath.Join(f, "linked"))
		if err := os.WriteFile("mine", nil, 0o600); err != nil {
			return err
		}
		return os.Link("mine", filepath.Join(f, "linked"))
	}, false},
	{"rename out", func(_ int, f string) error {
		name := filepath.Join(f, "secret")
		if err := os.Rename(name, "moved"); err != nil {
			return err
		}
		return os.Rename("moved", name)
	}, false},
	{"rename in", func(_ int, f string) error {
		if err := os.WriteFile("mine", nil, 0o600); err != nil {
			return err
		}
		defer os.Remove(filepath.Join(f, "mine"))
		return os.Rename("mine", filepath.Join(f, "mine"))
	}, false},
	{"truncate", func(_ int, f string) error { return os.Truncate(filepath.Join(f, "secret"), 7) }, false},
	{"a link to it", func(_ int, f string) error {
		defer os.Remove("way")
		if err := os.Symlink(f, "way"); err != nil {
			return err
		}
		return secretIn("way/secret")
	}, false},
	{"by /proc/self/root", func(_ int, f string) error { return secretIn("/proc/self/root" + f + "/secret") }, false},
	{"by O_PATH", func(_ int, f string) error {
		dir, err := unix.Open(f, unix.O_PATH, 0)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		return secretIn(fmt.Sprintf("/proc/self/fd/%d/secret", dir))
	}, false},
	{"by what was inherited", inherited, false},
	{"by io_uring", func(_ int, f string) error { return uring(filepath.Join(f, "secret")) }, false},
	{"chmod", func(_ int, f string) error {
		if _, err := os.Stat(filepath.Join(f, "secret")); err != nil {
			return err
		}
		return os.Chmod(filepath.Join(f, "secret"), 0o600)
	}, true},
	{"replace the socket", func(_ int, f string) error {
		name := filepath.Join(f, "socket")
		if err := os.Rename(name, name+"2"); err != nil {
			return err
		}
		return os.Rename(name+"2", name)
	}, false},
	{"remove the socket", func(_ int, f string) error {
		name := filepath.Join(f, "socket")
		if err := os.Link(name, name+"2"); err != nil { // so that it can be put back
			return errors.Join(err, os.Remove(name))
		}
		if err := os.Remove(name); err != nil {
			return err
		}
		return os.Rename(name+"2", name)
	}, false},
	{"an abstract socket outside", func(int, string) error {
		c, err := net.Dial("unix", os.Getenv("ABSTRACT"))
		if err == nil {
			c.Close()
		}
		return err
	}, false},
	{"a tmux server outside", func(int, string) error {
		c, err := net.Dial("unix", os.Getenv("TMUX_SERVER"))
		if err == nil {
			c.Close()
		}
		return err
	}, true},
	{"mounts in a namespace of its own", func(int, string) error { return nested() }, false},
}

// inherited looks for the folder behind the descriptors that are open.
func inherited(int, string) error {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range list {
		if secretIn("/proc/self/fd/"+e.Name()+"/secret") == nil || len(e.Name()) == 1 && e.Name() > "2" && secretIn("/proc/self/fd/"+e.Name()) == nil {
			return nil
		}
	}
	return os.ErrNotExist
}

func reads(name string) func(int, string) error {
	return func(pid int, _ string) error {
		file, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err != nil {
			return err
		}
		defer file.Close()
		if name == "mem" { // permission is decided when it is opened
			return nil
		}
		_, err = file.Read(make([]byte, 64))
		return err
	}
}

func secretIn(name string) error {
	text, err := os.ReadFile(name)
	if err == nil && !strings.Contains(string(text), "SECRET") {
		err = errors.New("it is another file")
	}
	return err
}

func fromErrno(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// permitted is nil for a call that failed at the address alone.
func permitted(err error) error {
	if err == unix.EFAULT {
		return nil
	}
	return err
}

// uring opens a file by a ring, which other rules than those of system calls could be for.
func uring(name string) error {
	var params [120]byte
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		return errno
	}
	ring := int(fd)
	defer unix.Close(ring)
	at := func(offset int) int { return int(*(*uint32)(unsafe.Pointer(&params[offset]))) }
	sq, cq := 40, 80 // offsets of io_sqring_offsets and io_cqring_offsets in io_uring_params
	size := max(at(sq+24)+at(0)*4, at(cq+20)+at(4)*16)
	rings, err := unix.Mmap(ring, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	defer unix.Munmap(rings)
	entries, err := unix.Mmap(ring, 0x10000000, 64*at(0), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	defer unix.Munmap(entries)
	path := append([]byte(name), 0)
	var pin runtime.Pinner
	pin.Pin(&path[0])
	defer pin.Unpin()
	entries[0] = 18 // IORING_OP_OPENAT
	*(*int32)(unsafe.Pointer(&entries[4])) = unix.AT_FDCWD
	*(*uint64)(unsafe.Pointer(&entries[16])) = uint64(uintptr(unsafe.Pointer(&path[0])))
	*(*uint32)(unsafe.Pointer(&rings[at(sq+24)])) = 0 // the array: entry 0
	*(*uint32)(unsafe.Pointer(&rings[at(sq+4)])) = 1  // the tail
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, fd, 1, 1, 1, 0, 0); errno != 0 {
		return errno
	}
	result := *(*int32)(unsafe.Pointer(&rings[at(cq+20)+8]))
	if result < 0 {
		return syscall.Errno(-result)
	}
	defer unix.Close(int(result))
	return secretIn(fmt.Sprintf("/proc/self/fd/%d", result))
}

// nested tries to take the masks away with all capabilities in namespaces of its own.
func nested() error {
	out, err := nestedCommand("mounts").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// mounts is what is tried there.
func mounts(folder string) error {
	parent := filepath.Dir(folder)
	try := func(string, error) {} // which way it was does not count
	secret := filepath.Join(folder, "secret")
	try("private", unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	for _, p := range []string{folder, folder, parent, "/proc", "/dev/pts"} {
		try("umount", unix.Unmount(p, 0))
		try("umount -l", unix.Unmount(p, unix.MNT_DETACH))
		if secretIn(secret) == nil {
			return nil
		}
	}
	try("remount", unix.Mount("", folder, "", unix.MS_REMOUNT|unix.MS_BIND, ""))
	if os.WriteFile(filepath.Join(folder, "planted"), nil, 0o600) == nil {
		return nil
	}
	for i, from := range []string{parent, "/", folder, "/var"} {
		to := fmt.Sprintf("at%d", i)
		_ = os.Mkdir(to, 0o700)
		for _, flags := range []uintptr{unix.MS_BIND, unix.MS_BIND | unix.MS_REC, unix.MS_MOVE} {
			try("bind", unix.Mount(from, to, "", flags, ""))
			rel, _ := filepath.Rel(from, secret)
			if secretIn(filepath.Join(to, rel)) == nil {
				return nil
			}
			try("umount", unix.Unmount(to, unix.MNT_DETACH))
		}
		for _, flags := range []uint{unix.OPEN_TREE_CLONE, unix.OPEN_TREE_CLONE | unix.AT_RECURSIVE} {
			if fd, err := unix.OpenTree(unix.AT_FDCWD, from, flags); err == nil {
				rel, _ := filepath.Rel(from, secret)
				if secretIn(fmt.Sprintf("/proc/self/fd/%d/%s", fd, rel)) == nil {
					return nil
				}
				unix.Close(fd)
			}
		}
		_ = os.MkdirAll("upper", 0o700)
		_ = os.MkdirAll("work", 0o700)
		try("overlay", unix.Mount("x", to, "overlay", 0, "lowerdir="+from+",upperdir=upper,workdir=work,userxattr"))
		rel, _ := filepath.Rel(from, secret)
		if secretIn(filepath.Join(to, rel)) == nil {
			return nil
		}
	}
	try("proc", unix.Mount("proc", "/proc", "proc", 0, ""))
	for _, p := range []string{"/proc/1/root", "/proc/" + os.Getenv("TARGET") + "/root"} {
		if secretIn(p+secret) == nil {
			return nil
		}
	}
	return errors.New("the folder stays hidden")
}

// attackMain makes all attacks from within, and prints what worked.
func attackMain(name string, args []string) int {
	target, folder := os.Getenv("TARGET"), os.Getenv("FOLDER")
	if name == "inject" {
		inject(args)
		return 0
	}
	if name == "foreground" {
		return foreground()
	}
	if name == "inherited" {
		if err := inherited(0, ""); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
	if name == "mounts" {
		if err := mounts(folder); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
	pid, _ := strconv.Atoi(target)
	print := func(what, name string, err error) {
		if err != nil {
			fmt.Printf("denied\t%s%s\t%v\n", what, name, err)
		} else {
			fmt.Printf("WORKED\t%s%s\t\n", what, name)
		}
	}
	for _, a := range slices.Concat(inMemory, onProcess, onFolder) {
		print("", a.name, a.do(pid, folder))
	}
	// The helper has threads with capabilities, and the descriptors of the domain.
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", os.Getppid()))
	if len(threads) < 2 {
		fmt.Printf("WORKED\tthe helper shows %d threads\t\n", len(threads))
	}
	for _, a := range inMemory {
		err := a.do(os.Getppid(), folder)
		for _, dir := range threads {
			tid, _ := strconv.Atoi(filepath.Base(dir))
			if e := a.do(tid, folder); e == nil {
				err = nil
			}
		}
		print("helper: ", a.name, err)
	}
	return 0
}

// tried runs all attacks in a mode.
func (p *place) tried(mode Mode, dumpable bool) map[string]string {
	p.t.Helper()
	out, status := p.attacked(mode, dumpable)
	results := make(map[string]string)
	s := bufio.NewScanner(strings.NewReader(out))
	for s.Scan() {
		if f := strings.Split(s.Text(), "\t"); len(f) == 3 {
			results[f[1]] = f[0] + " " + f[2]
		}
	}
	if want := len(inMemory)*2 + len(onProcess) + len(onFolder); len(results) != want || status != 0 {
		p.t.Fatalf("%d results of %d, exit %d\n%s", len(results), want, status, out)
	}
	return results
}

// Every attack works where there is no domain and the process around it can be dumped, so that it shows something; none does in
// namespaces, and those that a Landlock domain leaves open are named.
func TestAttacks(t *testing.T) {
	p := newPlace(t)
	open := p.tried(None, true)
	for _, a := range slices.Concat(inMemory, onProcess, onFolder) {
		if a.name == "by what was inherited" { // closed with the own terminal, in any mode
			q := newPlace(t)
			if out, status := q.finish(q.commandOf(script{Options: Options{Argv: []string{q.self, attackWord, "inherited"}}, Servers: true, Plain: true})); status != 0 {
				t.Errorf("%s shows nothing here: %s", a.name, out)
			}
		} else if !strings.HasPrefix(open[a.name], "WORKED") {
			t.Errorf("%s shows nothing here: %s", a.name, open[a.name])
		}
	}
	for _, mode := range held {
		t.Run(string(mode), func(t *testing.T) {
			p := newPlace(t)
			for name, result := range p.tried(mode, false) {
				gap := slices.ContainsFunc(slices.Concat(onProcess, onFolder), func(a attack) bool { return a.open && a.name == name })
				if worked := strings.HasPrefix(result, "WORKED"); worked && (!gap || mode == Namespaces) {
					t.Errorf("%s: %s", name, result)
				} else if !worked && gap && mode == Landlock {
					t.Errorf("%s is held, and counts as open: %s", name, result)
				}
			}
		})
	}
}

// A process that kills all that it can ends its own domain, and nothing outside.
func TestKillAll(t *testing.T) {
	for _, mode := range held {
		t.Run(string(mode), func(t *testing.T) {
			p := newPlace(t)
			_, status := p.run(mode, "sh", "-c", "kill -9 -1; kill -9 1; sleep 0.1; exit 4")
			if status != 4 && status != 137 {
				t.Errorf("exit %d: the process around it did not survive", status)
			}
		})
	}
}

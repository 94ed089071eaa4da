//go:build unix

package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The programs that the tests run are this test binary, which does what its first
// argument says when helperVariable is set.
const helperVariable = "PROCESS_TEST_HELPER"

// becomeTest is what the helper of a room does, where there are rooms.
var becomeTest = func() int { return 125 }

func TestMain(m *testing.M) {
	if os.Args[0] == "room" {
		os.Exit(becomeTest())
	}
	if len(os.Args) == 2 && os.Args[1] == "guard" {
		Guard()
		os.Exit(0)
	}
	if os.Getenv(helperVariable) != "" {
		os.Exit(helper(os.Args[1], os.Args[2:]))
	}
	// The runtime opens descriptors of its own with the first pipe.
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	r.Close()
	w.Close()
	os.Exit(m.Run())
}

func helper(what string, args []string) int {
	number := func(i int) int {
		n, err := strconv.Atoi(args[i])
		if err != nil {
			panic(err)
		}
		return n
	}
	switch what {
	case "exit":
		return number(0)
	case "signal":
		syscall.Kill(os.Getpid(), syscall.Signal(number(0)))
		select {}
	case "print": // STDOUT STDERR
		os.Stdout.WriteString(args[0])
		os.Stderr.WriteString(args[1])
	case "env":
		os.Stdout.WriteString(strings.Join(os.Environ(), "\n"))
	case "where": // argv[0], working directory, session, group, standard input
		dir, _ := os.Getwd()
		sid, _ := unix.Getsid(0)
		n, err := os.Stdin.Read(make([]byte, 1))
		fmt.Printf("%s\n%s\n%t %t\n%d %v\n", os.Args[0], dir, sid == os.Getpid(), unix.Getpgrp() == os.Getpid(), n, err)
	case "tty":
		f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err == nil {
			f.Close()
			return 9
		}
		fmt.Println(err)
	case "fds": // the descriptors that were handed on
		d, _ := os.ReadDir("/proc/self/fd")
		for _, e := range d {
			if n, _ := strconv.Atoi(e.Name()); n > 2 {
				if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && !strings.HasPrefix(to, "anon_inode:") && !strings.HasPrefix(to, "/proc/") {
					fmt.Println(e.Name(), to)
				}
			}
		}
	case "flood": // BYTES on each stream, at the same time
		done := make(chan bool)
		for _, f := range []*os.File{os.Stdout, os.Stderr} {
			go func() {
				flood(f, number(0))
				done <- true
			}()
		}
		<-done
		<-done
	case "soak":
		return soak(args[0], args[1])
	case "forever": // writes and never ends
		for {
			os.Stdout.Write(pattern[:])
		}
	case "connect": // NAME of an abstract socket
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: "@" + args[0]})
		}
		fmt.Println(err)
	case "keyring": // of the session
		fmt.Println(sessionKeyring())
	case "sleep": // says its pid and stays
		report(args)
		stay()
	case "stubborn": // ignores what can be ignored
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
		report(args)
		stay()
	case "polite": // ends with status 5 when asked to, and says so
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		report(args)
		<-c
		os.WriteFile(args[0]+".asked", nil, 0o600)
		fmt.Println("asked to end")
		return 5
	case "launcher": // FILE HOW MS: runs a command under a guard, to be killed
		l, err := New(Options{Guard: []string{"guard of a test", "guard"}})
		if err != nil {
			panic(err)
		}
		l.Run(context.Background(), &Command{Argv: []string{self(), "child", args[0], args[1]}, Env: os.Environ()})
		l.Close()
	case "stop": // SIGSTOP
		os.WriteFile(args[0]+".stops", []byte(strconv.Itoa(os.Getpid())), 0o600)
		report(args)
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		stay()
	case "child": // FILE HOW: starts a stubborn child, waits for its pid, stays
		spawn(args[1], args[0])
		report([]string{args[0]})
		stay()
	case "daemon": // FILE HOW: the same, but exits
		os.WriteFile(args[0]+".parent", []byte(strconv.Itoa(os.Getpid())), 0o600)
		spawn(args[1], args[0])
	case "nest": // FILE: two generations of loose children, this one stays
		spawn("middle", args[0])
		report([]string{args[0]})
		stay()
	case "middle":
		spawn("setsid", args[0])
	case "forks": // FILE SECONDS: each generation opens a session and leaves at once
		report(args[:1])
		generation(args[0], number(1))
		stay()
	case "generation":
		if until, _ := strconv.ParseInt(args[1], 10, 64); time.Now().Unix() < until {
			spawnQuick(args)
		}
	case "chain": // FILE N: each of N processes starts the next in a session of its own and leaves at once; the last one stays
		if n := number(1); n > 0 {
			null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			if _, err := os.StartProcess(self(), []string{os.Args[0], "chain", args[0], strconv.Itoa(n - 1)}, &os.ProcAttr{
				Files: []*os.File{null, null, null}, Sys: &syscall.SysProcAttr{Setsid: true}, Env: os.Environ()}); err != nil {
				return 7
			}
			return 0
		}
		report(args)
		stay()
	default:
		panic("no such helper: " + what)
	}
	return 0
}

var pattern = func() (p [64 << 10]byte) {
	for i := range p {
		p[i] = byte(i * 7)
	}
	return p
}()

func flood(f *os.File, n int) {
	for n > 0 {
		m := min(n, len(pattern))
		if _, err := f.Write(pattern[:m]); err != nil {
			os.Exit(8)
		}
		n -= m
	}
}

// stay sleeps for long, not for ever: a test that fails leaves nothing behind.
func stay() { time.Sleep(2 * time.Minute) }

// report appends the pid to the file args[0].
func report(args []string) {
	f, err := os.OpenFile(args[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, os.Getpid())
	f.Close()
}

// asSibling has what is started be a child of this process's parent, where the system can do that.
var asSibling func(*syscall.SysProcAttr)

// spawn starts a child that adds its pid to file, and waits until it did. The
// words of how are: setsid, silent (standard streams on /dev/null), bare (no
// environment of the parent), sibling (its parent is that of this process), and a helper, "stubborn" if none is named.
func spawn(how, file string) {
	before := len(pids(file))
	attr := &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{}, Env: os.Environ()}
	what := "stubborn"
	for word := range strings.SplitSeq(how, ",") {
		switch word {
		case "inherit":
		case "setsid":
			attr.Sys.Setsid = true
		case "silent":
			null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			attr.Files = []*os.File{null, null, null}
		case "sibling": // as CLONE_PARENT makes it
			asSibling(attr.Sys)
		case "bare":
			attr.Env = []string{helperVariable + "=1"}
		default:
			what = word
		}
	}
	args := []string{os.Args[0], what, file}
	if what == "daemon" {
		args = append(args, "stubborn,silent")
	}
	p, err := os.StartProcess(self(), args, attr)
	if err != nil {
		panic(err)
	}
	for deadline := time.Now().Add(time.Minute); len(pids(file)) == before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			panic("the child does not report")
		}
	}
	if what == "daemon" || what == "middle" {
		p.Wait()
	}
}

// generation forks a chain in which each process lives only to start the next.
func generation(file string, seconds int) {
	spawnQuick([]string{file, strconv.FormatInt(time.Now().Add(time.Duration(seconds)*time.Second).Unix(), 10)})
}

func spawnQuick(args []string) {
	_, err := os.StartProcess(self(), append([]string{os.Args[0], "generation"}, args...), &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Setsid: true}, Env: os.Environ(),
	})
	if err != nil {
		os.Exit(7)
	}
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// pids returns the numbers in file.
func pids(file string) (list []int) {
	text, _ := os.ReadFile(file)
	for word := range bytes.FieldsSeq(text) {
		if n, err := strconv.Atoi(string(word)); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// start returns a launcher, and holds the test to leaving nothing behind.
func start(t testing.TB) *Launcher {
	t.Helper()
	leaks(t)
	l, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return l
}

// leaks checks at the end of the test that no descriptor, goroutine or child of
// this process is there that was not there before.
func leaks(t testing.TB) {
	t.Helper()
	fds, goroutines := openFiles(t), runtime.NumGoroutine()
	t.Cleanup(func() {
		t.Helper()
		var now string
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) { // goroutines need a moment to return
			if now = openFiles(t); now == fds && runtime.NumGoroutine() <= goroutines || time.Now().After(deadline) {
				break
			}
		}
		if now != fds {
			t.Errorf("open files before:\n%s\nafter:\n%s", fds, now)
		}
		if n := runtime.NumGoroutine(); n > goroutines {
			buf := make([]byte, 1<<20)
			t.Errorf("%d goroutines before, %d after:\n%s", goroutines, n, buf[:runtime.Stack(buf, true)])
		}
		if left := children(); len(left) > 0 {
			t.Errorf("children left: %v", left)
		}
	})
}

func openFiles(t testing.TB) string {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return ""
	}
	var list []string
	for _, e := range d {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || strings.HasPrefix(to, "/proc/") {
			continue
		}
		if kind, _, ok := strings.Cut(to, "["); ok && (kind == "pipe:" || kind == "anon_inode:") {
			to = kind
		}
		list = append(list, e.Name()+" "+to)
	}
	return strings.Join(list, "\n")
}

// children returns the stat lines of the children of this process.
func children() (list []string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, s := range stats {
		text, err := os.ReadFile(s)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(os.Getpid()) {
			list = append(list, string(text))
		}
	}
	return list
}

// command returns a command that runs a helper.
func command(t testing.TB, args ...string) *Command {
	t.Helper()
	return &Command{
		Argv: append([]string{self()}, args...),
		Env:  append(os.Environ(), helperVariable+"=1", "GORACE=atexit_sleep_ms=0"),
		Dir:  t.TempDir(),
	}
}

// dup returns a new descriptor of f.
func dup(t testing.TB, f *os.File) uintptr {
	t.Helper()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return uintptr(fd)
}

// stateOf returns the state of a process as proc(5) has it; empty if it is not known.
func stateOf(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if i := bytes.LastIndexByte(text, ')'); err == nil && i > 0 && i+2 < len(text) {
		return string(text[i+2])
	}
	return ""
}

// alive returns which of the processes exist and are not zombies.
func alive(list []int) (live []int) {
	for _, pid := range list {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		if i := bytes.LastIndexByte(text, ')'); i > 0 && i+2 < len(text) && text[i+2] != 'Z' {
			live = append(live, pid)
		}
	}
	return live
}

// stopping reports whether a process that said in a file that it will stop did not do so yet, as far as /proc tells.
func stopping(file string) bool {
	pid, err := os.ReadFile(file + ".stops")
	if err != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + string(pid) + "/stat")
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "T")
}

// afterReports returns a context that is cancelled once each of the files holds n pids.
func afterReports(t testing.TB, n int, files ...string) context.Context {
	t.Helper()
	up := func() bool {
		return !slices.ContainsFunc(files, func(file string) bool { return len(pids(file)) < n || stopping(file) })
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan bool)
	go func() {
		defer close(done)
		for deadline := time.Now().Add(time.Minute); !up() && time.Now().Before(deadline); {
			time.Sleep(2 * time.Millisecond)
		}
		cancel()
	}()
	t.Cleanup(func() { <-done; cancel() })
	return ctx
}

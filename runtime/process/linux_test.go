//go:build linux && !portable

package process

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// portable says that a descendant in a session of its own escapes.
const portable = false

// Without pidfds a goroutine waits for the exit.
func TestExitWatch(t *testing.T) {
	noPidfd = true
	defer func() { noPidfd = false }()
	l := start(t)
	res := l.Run(context.Background(), command(t, "print", "out", "err"))
	if res.ExitCode != 0 || string(res.Stdout.Head) != "out" || len(res.Notes) > 0 {
		t.Errorf("got %+v", res)
	}
	file := filepath.Join(t.TempDir(), "pids")
	c := command(t, "child", file, "setsid")
	c.Grace = 50 * time.Millisecond // which on a busy machine the command itself may outlast
	res = l.Run(afterReports(t, 2, file), c)
	if res.Stop != Interrupted || res.Signal != "SIGTERM" && res.Signal != "SIGKILL" || len(alive(pids(file))) > 0 {
		t.Errorf("got %+v, alive %v", res, alive(pids(file)))
	}
}

// TestOrphansOfRunning has a command start what outlives its parent and ends before the command does: each would count against the user's
// limit of processes until then.
func TestOrphansOfRunning(t *testing.T) {
	leaks(t)
	l := start(t)
	const script = `i=0; while [ $i -lt 100 ]; do (true &); i=$((i+1)); done
for try in $(seq 500); do
	n=0
	for f in /proc/[0-9]*/stat; do
		read -r pid name state parent rest <$f || continue
		if [ "$state $parent" = "Z $PPID" ]; then n=$((n+1)); fi
	done 2>/dev/null
	if [ $n = 0 ]; then break; fi
	sleep 0.02
done
echo $n`
	res := l.Run(context.Background(), &Command{Argv: []string{"sh", "-c", script}, Env: os.Environ()})
	if got := strings.TrimSpace(string(res.Stdout.Head)); got != "0" {
		t.Errorf("%s zombies of a command that runs: %+v", got, res)
	}
}

// TestOwnThreads has a command see that it cannot take all the processes that its user may have.
func TestOwnThreads(t *testing.T) {
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &was); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NPROC, &was)
	const script = `for try in $(seq 500); do
	[ "$(ulimit -S -u)" = "$1" ] && break
	sleep 0.02 # it is told once it runs
done
ulimit -S -u; ulimit -H -u`
	for _, c := range []struct{ limit, want uint64 }{{5000, 5000 - ownThreads}, {4*ownThreads - 16, 3*ownThreads - 12}} {
		if c.limit < 1000 && os.Geteuid() != 0 {
			continue // the test would be stopped by a limit as low
		}
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: c.limit, Max: was.Max}); err != nil {
			t.Fatal(err)
		}
		want := strconv.FormatUint(c.want, 10)
		hard := strconv.FormatUint(was.Max, 10)
		if was.Max == unix.RLIM_INFINITY {
			hard = "unlimited"
		}
		res := start(t).Run(context.Background(), &Command{Argv: []string{"bash", "-c", script, "-", want}, Env: os.Environ()})
		if got, want := string(res.Stdout.Head), want+"\n"+hard+"\n"; got != want {
			t.Errorf("of %d: %q, want %q; %+v", c.limit, got, want, res)
		}
	}
}

// A daemon that ends once its command is done with becomes our zombie, and no more than that.
func TestLateOrphans(t *testing.T) {
	l := start(t)
	file := filepath.Join(t.TempDir(), "pids")
	for _, how := range []string{"setsid,silent,polite", "silent,polite"} {
		if res := l.Run(context.Background(), command(t, "daemon", file, how)); res.ExitCode != 0 {
			t.Fatalf("got %+v", res)
		}
	}
	list := pids(file)
	for _, pid := range list {
		unix.Kill(pid, unix.SIGTERM)
	}
	for _, pid := range list {
		waitFor(t, "the end of the last thread", func() bool { p, ok := readProc(pid); return !ok || p.dead() })
	}
	waitFor(t, "their status to be taken", func() bool { return len(children()) == 0 })
}

func TestReadMark(t *testing.T) {
	for _, before := range []int{0, 1, readSize - 20, readSize - 1, readSize, readSize + 1, 3 * readSize} {
		// One variable takes 128 KiB at most, which is more than the buffer.
		env := []string{"A=1"}
		for rest := before; rest > 0; rest -= 100_000 {
			env = append(env, "B"+strconv.Itoa(rest)+"="+strings.Repeat("x", min(rest, 100_000)))
		}
		env = append(env, "X"+MarkVariable+"=no", MarkVariable+"=m-1", "Z=1", helperVariable+"=1")
		file := filepath.Join(t.TempDir(), "pids")
		p, err := os.StartProcess(self(), []string{self(), "sleep", file}, &os.ProcAttr{Env: env})
		if err != nil {
			t.Fatal(err)
		}
		for len(pids(file)) == 0 {
			time.Sleep(time.Millisecond)
		}
		if mark, blank := readMark(p.Pid); mark != "m-1" || blank {
			t.Errorf("%d: got %q, %t", before, mark, blank)
		}
		p.Kill()
		p.Wait()
	}
	if mark, blank := readMark(os.Getpid()); strings.HasPrefix(mark, "m-") || blank {
		t.Errorf("got %q, %t", mark, blank)
	}
}

// FuzzStat: the name of a program is part of the line, and may hold anything.
func FuzzStat(f *testing.F) {
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Skip(err)
	}
	for _, comm := range []string{"cat", "a b", ") Z 1 2 3", "(", "\n", ""} {
		head, tail, _ := strings.Cut(string(own), "(")
		f.Add([]byte(head + "(" + comm + tail[strings.LastIndexByte(tail, ')'):]))
	}
	f.Add([]byte(""))
	f.Add([]byte("1 (x)"))
	f.Add([]byte("1 (x) "))
	want, ok := parseProc(7, own)
	if !ok || want.ppid != os.Getppid() || want.threads < 1 || want.start == 0 || want.dead() {
		f.Fatalf("got %+v, %t", want, ok)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		p, ok := parseProc(7, line)
		if i := slices.Index(line, '('); ok && i < 0 && !slices.Contains(line, ')') {
			t.Errorf("%q: read %+v", line, p)
		}
	})
}

// The kernel kills a child with Pdeathsig once the thread that forked it ends
// (golang/go#27505), and a goroutine that ends while it holds its thread ends the
// thread. A watcher that waits in Go, here in its listener, must not leave its thread
// to such a goroutine.
func TestThreadsEnd(t *testing.T) {
	l := start(t)
	stop := make(chan struct{})
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					runtime.LockOSThread() // and never unlocks: the thread ends
				}()
				<-ended
				time.Sleep(200 * time.Microsecond)
			}
		})
	}
	var commands sync.WaitGroup
	for range 4 {
		commands.Go(func() {
			c := &Command{Argv: []string{"sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.02; done"}, Env: os.Environ()}
			c.Output = func(Stream, []byte) { time.Sleep(5 * time.Millisecond) }
			if res := l.Run(context.Background(), c); res.ExitCode != 0 || res.Signal != "" {
				t.Errorf("got exit %d, signal %q", res.ExitCode, res.Signal)
			}
		})
	}
	commands.Wait()
	close(stop)
	others.Wait()
}

// What an abort could not end is ended with the launcher, when the pid of the command, and
// so its group and session, may be those of somebody else.
func TestLeftoverOfReaped(t *testing.T) {
	l, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	foreign := exec.Command("sleep", "60")
	foreign.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	ours := exec.Command("sleep", "60")
	ours.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	for _, c := range []*exec.Cmd{foreign, ours} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer c.Process.Release()
		defer c.Wait()
		defer c.Process.Kill()
	}
	member, ok := readProc(ours.Process.Pid)
	if !ok {
		t.Skip("no /proc")
	}
	for _, start := range []uint64{0, 1} { // never read, or known
		tr := newTree(&run{launcher: l, mark: "none"}, foreign.Process.Pid)
		tr.reaped, tr.start = true, start
		tr.own, _ = unix.Getsid(0)
		tr.members[member.pid] = member.start
		l.platform.leftover = append(l.platform.leftover, tr)
	}
	sessions.leaders.Store(foreign.Process.Pid, nil) // not to be reaped here
	sessions.leaders.Store(ours.Process.Pid, nil)
	defer sessions.leaders.Delete(foreign.Process.Pid)
	defer sessions.leaders.Delete(ours.Process.Pid)
	if err := l.Close(); err != nil {
		t.Log(err)
	}
	if len(alive([]int{foreign.Process.Pid})) != 1 {
		t.Error("somebody else was killed")
	}
	if len(alive([]int{ours.Process.Pid})) != 0 {
		t.Error("what was left is alive")
	}
}

// What leads a session of its own, without the mark, and was started by a process that is gone ends with an aborted command. What an
// earlier command left is not its business.
func TestAbortedWithLeaderOfSession(t *testing.T) {
	leaks(t)
	l := start(t)
	file, earlier := filepath.Join(t.TempDir(), "pids"), filepath.Join(t.TempDir(), "earlier")
	loose := func(file string) string {
		return "(setsid env -i setsid /bin/sh -c 'echo $$ >" + file + "; exec sleep 100' >/dev/null 2>&1 &); until [ -s " + file + " ]; do sleep 0.01; done"
	}
	if res := l.Run(context.Background(), &Command{Argv: []string{"sh", "-c", loose(earlier)}, Env: os.Environ()}); res.ExitCode != 0 || len(res.Left) != 1 {
		t.Errorf("got %+v", res)
	}
	res := l.Run(afterReports(t, 1, file), &Command{Argv: []string{"sh", "-c", loose(file) + "; sleep 100"}, Env: os.Environ(), Grace: 100 * time.Millisecond})
	if res.Stop != Interrupted || len(res.Left) > 0 || len(res.Notes) > 0 {
		t.Errorf("got %+v", res)
	}
	if list := pids(file); len(list) != 1 || len(alive(list)) > 0 {
		t.Errorf("alive: %v of %v", alive(list), list)
	}
	if list := pids(earlier); len(alive(list)) != 1 {
		t.Errorf("alive of the earlier: %v of %v", alive(list), list)
	}
	if err := l.EndLeft(true); err != nil {
		t.Error(err)
	}
}

func init() {
	asSibling = func(attr *syscall.SysProcAttr) { attr.Cloneflags = syscall.CLONE_PARENT }
}

// What a command leaves running is named, whatever it did to come loose, and by one command
// alone; EndLeft ends it. What ends a moment later is not worth a note.
func TestLeftRunning(t *testing.T) {
	for _, how := range []string{"inherit,silent", "setsid,silent,polite", "bare,silent,polite", "sibling,setsid,bare,silent,polite"} {
		for _, now := range []bool{false, true} {
			if now && !strings.HasSuffix(how, ",polite") {
				how += ",polite"
			}
			t.Run(how, func(t *testing.T) {
				leaks(t)
				l := start(t)
				file := filepath.Join(t.TempDir(), "pids")
				res := l.Run(context.Background(), command(t, "daemon", file, how))
				list := pids(file)
				if res.ExitCode != 0 || len(list) != 1 || len(res.Left) != 1 || res.Left[0].PID != list[0] || res.Left[0].Name == "" || len(res.Notes) != 1 {
					t.Errorf("%v: got %+v", list, res)
				}
				if res := l.Run(context.Background(), command(t, "exit", "0")); len(res.Left) > 0 || len(res.Notes) > 0 {
					t.Errorf("named again: %+v", res)
				}
				if err := l.EndLeft(now); err != nil {
					t.Error(err)
				}
				if live := alive(list); len(live) > 0 {
					t.Errorf("alive: %v", live)
				}
				if _, err := os.Stat(file + ".asked"); strings.HasSuffix(how, ",polite") && now == (err == nil) {
					t.Errorf("to be ended at once: %t; asked to end: %t", now, err == nil)
				}
			})
		}
	}
	t.Run("beside others", func(t *testing.T) {
		leaks(t)
		l := start(t)
		dir := t.TempDir()
		left := make(chan []Left, 4)
		var files []string
		for i := range 4 {
			file := filepath.Join(dir, strconv.Itoa(i))
			files = append(files, file)
			how := []string{"bare,silent", "sibling,setsid,bare,silent"}[i%2]
			go func() { left <- l.Run(context.Background(), command(t, "daemon", file, how)).Left }()
		}
		got := make(map[int]int)
		for range 4 {
			for _, x := range <-left {
				got[x.PID]++
			}
		}
		var list []int
		for _, file := range files {
			list = append(list, pids(file)...)
		}
		for _, pid := range list {
			if got[pid] != 1 {
				t.Errorf("%d named %d times", pid, got[pid])
			}
		}
		if len(list) != 4 || len(got) != 4 {
			t.Errorf("named %v of %v", got, list)
		}
		if err := l.EndLeft(true); err != nil || len(alive(list)) > 0 {
			t.Errorf("%v, alive %v", err, alive(list))
		}
	})
	t.Run("a chain", func(t *testing.T) {
		leaks(t)
		l := start(t)
		file := filepath.Join(t.TempDir(), "pids")
		// On a busy machine a process of the chain may take so long to start that it is named itself.
		res := l.Run(context.Background(), command(t, "chain", file, "40"))
		list := pids(file)
		last := func(x Left) bool { return len(list) == 0 || x.PID == list[0] }
		if res.ExitCode != 0 || len(res.Left) == 0 || !slices.ContainsFunc(res.Left, last) || len(res.Notes) != 1 {
			t.Errorf("%v: got %+v", list, res)
		}
		if err := l.EndLeft(true); err != nil || len(alive(pids(file))) > 0 {
			t.Errorf("%v, alive %v", err, alive(pids(file)))
		}
	})
	t.Run("for a moment", func(t *testing.T) {
		never := func() bool { return false }
		for gone, want := range map[int]int{0: 0, 1: 0, looks: 0, looks + 1: 1} {
			n := 0
			left, forks := settled(func() []proc {
				if n++; n > gone {
					return nil
				}
				return []proc{{}}
			}, never)
			if len(left) != want || forks {
				t.Errorf("gone after %d looks: %v", gone, left)
			}
		}
		n := 0
		_, forks := settled(func() []proc { n++; return nil }, func() bool { return n < 3 })
		if n != 3 || forks {
			t.Errorf("what ended at the second look: %d looks, %t", n, forks)
		}
	})
}

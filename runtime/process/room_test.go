//go:build linux && !portable

package process

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/namespace"
)

// furnishTest mounts an empty file system over the directory that the spec names, with one program in it.
func furnishTest(spec []byte) error {
	dir := string(spec)
	if dir == "nothing" {
		return nil
	}
	if dir == "" {
		return os.ErrInvalid
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "inside"), []byte("#!/bin/sh\necho in \"$PWD\"; ls; grep CapEff /proc/self/status; exit 3\n"), 0o755)
}

func init() { becomeTest = func() int { return Become(os.Args[1:], furnishTest) } }

// rooms are the ways to have a room here. As root none needs a user namespace, and both work.
func rooms(t *testing.T) map[string]bool {
	t.Helper()
	ways := map[string]bool{"user": true}
	if os.Geteuid() == 0 {
		ways["root"] = false
	}
	return ways
}

func roomOf(spec string, user bool) *Room {
	return &Room{Helper: []string{"room"}, Spec: []byte(spec), User: user}
}

// A command in a room sees what was mounted for it, and nobody else does; its executable is looked for there,
// and hashed; its status, output and tree are its own.
func TestRoom(t *testing.T) {
	for name, user := range rooms(t) {
		t.Run(name, func(t *testing.T) {
			l := start(t)
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "outside"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			r := l.Run(t.Context(), &Command{Argv: []string{"./inside"}, Dir: dir, Env: os.Environ(), Digest: true, Room: roomOf(dir, user)})
			if r.Stop == StartFailed && user && strings.Contains(r.Err.Error(), "namespace") {
				t.Skip(r.Err)
			}
			out := string(r.Stdout.Head)
			if r.Err != nil || r.ExitCode != 3 || !strings.Contains(out, "in "+dir) || strings.Contains(out, "outside") {
				t.Fatalf("%+v %v\n%s", r.ExitCode, r.Err, out)
			}
			if os.Geteuid() != 0 && !strings.Contains(out, "0000000000000000") {
				t.Errorf("the command has capabilities: %s", out)
			}
			if r.Path != filepath.Join(dir, "inside") || r.Executable == [32]byte{} {
				t.Errorf("the executable is %q, %x", r.Path, r.Executable)
			}
			if _, err := os.Lstat(filepath.Join(dir, "inside")); err == nil {
				t.Error("the room is seen from outside")
			}
		})
	}
}

// The result names what goes wrong in a room, and nothing runs: a room that cannot be furnished, a program that is not in it, a
// directory that is not.
func TestRoomFails(t *testing.T) {
	l := start(t)
	dir := t.TempDir()
	user := os.Geteuid() != 0
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch ran\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		argv, dir, spec string
		stop            Stop
		text            string
	}{
		"not furnished": {program, dir, "", StartFailed, "cannot be furnished"},
		"no program":    {program, dir, dir, EnvMissing, "program"},
		"no directory":  {"/bin/true", program, dir, EnvMissing, "the directory"},
		"no helper":     {"/bin/true", dir, dir, StartFailed, "helper ended"},
	} {
		room := roomOf(test.spec, user)
		if name == "no helper" {
			room.Helper = []string{"nothing-of-the-kind", "-test.run=^$"}
		}
		r := l.Run(t.Context(), &Command{Argv: []string{test.argv}, Dir: test.dir, Env: os.Environ(), Room: room})
		if r.Stop != test.stop || r.Err == nil || !strings.Contains(r.Err.Error(), test.text) {
			t.Errorf("%s: %q, %v", name, r.Stop, r.Err)
		}
		if _, err := os.Lstat(filepath.Join(dir, "ran")); err == nil {
			t.Errorf("%s: it ran", name)
		}
	}
	children, _ := os.ReadFile("/proc/thread-self/children")
	if len(children) > 0 {
		t.Errorf("processes are left: %s", children)
	}
}

// A command that is kept apart names and signals no process outside, its signal and status are its own, and what it leaves
// running ends with it.
// TestRoomKeyring: a command in a room has a keyring of its own, and not that of the session, into which anyone of its user can write.
func TestRoomKeyring(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sessionKeyring(); err != nil {
		t.Skip(err)
	}
	for name, user := range rooms(t) {
		t.Run(name, func(t *testing.T) {
			l := start(t)
			ask := func(room *Room) string {
				t.Helper()
				r := l.Run(t.Context(), &Command{Argv: []string{exe, "keyring"}, Dir: t.TempDir(), Env: append(os.Environ(), helperVariable+"=1"), Room: room})
				if r.Stop == StartFailed && user && strings.Contains(r.Err.Error(), "namespace") {
					t.Skip(r.Err)
				}
				if r.Err != nil || r.ExitCode != 0 {
					t.Fatalf("%v\n%s", r.Err, r.Stderr.Head)
				}
				return string(r.Stdout.Head)
			}
			outside, one, two := ask(nil), ask(roomOf("nothing", user)), ask(roomOf("nothing", user))
			if one == outside || one == two || !strings.Contains(one, "<nil>") {
				t.Errorf("outside %s, in a room %s, in another %s", outside, one, two)
			}
		})
	}
}

func TestRoomApart(t *testing.T) {
	for name, user := range rooms(t) {
		t.Run(name, func(t *testing.T) {
			l := start(t)
			dir := t.TempDir()
			run := func(script string, change func(*Command)) Result {
				t.Helper()
				room := roomOf("nothing", user)
				room.Apart = true
				c := &Command{Argv: []string{"sh", "-c", script}, Dir: dir, Env: os.Environ(), Room: room}
				if change != nil {
					change(c)
				}
				r := l.Run(t.Context(), c)
				if r.Stop == StartFailed && user && strings.Contains(r.Err.Error(), "namespace") {
					t.Skip(r.Err)
				}
				return r
			}
			r := run("echo pid $$ $PPID; kill -0 "+strconv.Itoa(os.Getpid())+" && echo reached; ls /proc | grep -c '^[0-9]'; exit 7", nil)
			out := string(r.Stdout.Head)
			if r.Err != nil || r.ExitCode != 7 || r.Signal != "" || strings.Contains(out, "reached") || strings.HasPrefix(out, "pid 1 ") || !strings.Contains(out, " 1\n") {
				t.Errorf("%d %q %v\n%s%s", r.ExitCode, r.Signal, r.Err, out, r.Stderr.Head)
			}
			for _, s := range []string{"SEGV", "KILL", "TERM"} {
				if r := run("kill -"+s+" $$; sleep 5", nil); r.Signal != "SIG"+s || r.ExitCode != -1 || r.Stop != "" {
					t.Errorf("%s: %d %q %q %v", s, r.ExitCode, r.Signal, r.Stop, r.Err)
				}
			}
			// The helper cannot be made to do anything: neither traced nor ended.
			r = run("kill -9 1; kill -TERM 1; cat /proc/1/environ /proc/1/maps >/dev/null 2>&1 && [ $(id -u) != 0 ] && echo read; exit 0", nil)
			if r.ExitCode != 0 || strings.Contains(string(r.Stdout.Head), "read") {
				t.Errorf("%d %q %v\n%s%s", r.ExitCode, r.Signal, r.Err, r.Stdout.Head, r.Stderr.Head)
			}
			if namespace.ABI() >= namespace.ScopesABI {
				name := "dialect-test-" + strconv.Itoa(os.Getpid())
				socket, err := net.Listen("unix", "@"+name)
				if err != nil {
					t.Fatal(err)
				}
				defer socket.Close()
				exe, err := os.Executable()
				if err != nil {
					t.Fatal(err)
				}
				connect := func(c *Command) {
					c.Argv, c.Env = []string{exe, "connect", name}, append(c.Env, helperVariable+"=1")
				}
				if r := run("", func(c *Command) { connect(c); c.Room = nil }); !strings.Contains(string(r.Stdout.Head), "<nil>") {
					t.Fatalf("outside: %v\n%s%s", r.Err, r.Stdout.Head, r.Stderr.Head)
				}
				if r := run("", connect); !strings.Contains(string(r.Stdout.Head), "not permitted") {
					t.Errorf("a socket of a process outside: %v\n%s%s", r.Err, r.Stdout.Head, r.Stderr.Head)
				}
			}
			left := filepath.Join(dir, "left")
			r = run("setsid sh -c 'echo $$ >"+left+"; exec sleep 60' & while [ ! -s "+left+" ]; do sleep 0.01; done; exit 0", nil)
			if r.ExitCode != 0 || len(r.Left) > 0 || r.Duration > 20*time.Second {
				t.Errorf("%d %v %v", r.ExitCode, r.Left, r.Notes)
			}
			r = run("trap '' TERM; while :; do sleep 0.1; done", func(c *Command) { c.Timeout, c.Grace = 200*time.Millisecond, 100*time.Millisecond })
			if r.Stop != Timeout {
				t.Errorf("%q %d %q %v", r.Stop, r.ExitCode, r.Signal, r.Err)
			}
			r = run("exec no-such-program", func(c *Command) { c.Argv = []string{"no-such-program"} })
			if r.Stop != EnvMissing {
				t.Errorf("%q %v", r.Stop, r.Err)
			}
		})
	}
}

//go:build linux && !portable

package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// furnishTest mounts an empty file system over the directory that the spec names, with one program in it.
func furnishTest(spec []byte) error {
	dir := string(spec)
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

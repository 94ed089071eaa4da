package main_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestUnreadableWorker: a worker asks for work although its user can execute its program and not read it. Such a process starts undumpable:
// no other one of its user reads the key (see runtime/keyfd).
func TestUnreadableWorker(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a program that its user cannot read")
	}
	t.Parallel()
	l := newLab(t, map[string]string{"routing.toml": ""})
	dir, err := os.MkdirTemp("", "dialect-unreadable-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	text, err := os.ReadFile(filepath.Join(programs, "dialect-temporal"))
	if err != nil {
		t.Fatal(err)
	}
	program, home := filepath.Join(dir, "dialect-temporal"), filepath.Join(dir, "home")
	if err := errors.Join(os.WriteFile(program, text, 0o600), os.Chmod(program, 0o711), os.Chmod(dir, 0o755), os.Mkdir(home, 0o700), os.Chown(home, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	var out lockedBuffer
	cmd := exec.Command(program, append([]string{"worker", "--remote", l.depot, "--folder", filepath.Join(home, "trees"), "--key-fd", "3"}, l.address()...)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = home, append(os.Environ(), "HOME="+home), &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.WriteString(l.private)
	w.Close()
	cmd.ExtraFiles = []*os.File{r}
	err = cmd.Start()
	r.Close()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	l.until("a worker asks for work", func() bool {
		select {
		case <-done:
			t.Fatalf("it has ended: %s", out.String())
		default:
		}
		return strings.Contains(out.String(), "asks for the work")
	})
}

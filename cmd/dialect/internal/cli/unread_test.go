//go:build linux

package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pipe that nobody reads suspends no timeout, no stall and no Ctrl-C, and the report is
// not waited for after one.
func TestUnread(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "dialect")
	if out, err := exec.Command("go", "build", "-o", program, "../..").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	matrix := `
[commands.loud]
verb = "check"
noun = "loud"
tool = "yes"
timeout = "1s"
[commands.stalls]
verb = "check"
noun = "stalls"
tool = "sh -c 'head -c 200000 /dev/zero; sleep 600'"
stall = "1s"
[commands.endless]
verb = "check"
noun = "endless"
tool = "yes"
`
	if err := os.WriteFile(filepath.Join(dir, "routing.toml"), []byte(matrix), 0o600); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		args   []string
		out    bool // standard output is not read either
		ints   int  // signals, once the command runs, and each second
		status int
		want   string // on standard output
	}{
		{"timeout", []string{"run", "--output", "stream", "-e", "Check with loud"}, false, 0, 2, "killed after its timeout of 1s"},
		{"stall", []string{"run", "--output", "stream", "-e", "Check with stalls"}, false, 0, 2, "killed after 1s without output"},
		{"timeout of the run", []string{"run", "--output", "stream", "--timeout", "1s", "-e", "Check with endless"}, false, 0, 2, "took longer than its timeout of 1s"},
		{"events", []string{"run", "--events", fifo, "-e", "Check with loud"}, false, 0, 3, "killed after its timeout of 1s"},
		{"Ctrl-C", []string{"run", "--output", "stream", "-e", "Check with endless"}, true, 1, 130, ""},
		{"Ctrl-C thrice", []string{"run", "--output", "stream", "-e", "Check with endless"}, true, 3, 130, ""},
		{"exec timeout", []string{"exec", "--timeout", "3s", "--", "sh", "-c", "echo $$ >pid; exec yes"}, true, 0, -1, ""},
		{"exec Ctrl-C", []string{"exec", "--", "yes"}, true, 1, 130, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			// Full from the start but for what is printed before a run.
			if _, err := w.Write(make([]byte, 60<<10)); err != nil {
				t.Fatal(err)
			}
			if c.name == "events" {
				f, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
			}
			var stdout bytes.Buffer
			cmd := exec.Command(program, c.args...)
			cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, w
			cmd.Env = append(os.Environ(), "CI=", "DIALECT_STORE="+filepath.Join(t.TempDir(), "store.db"))
			if c.out {
				cmd.Stdout = w
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			until := func(what string, is func() bool) {
				t.Helper()
				for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("the command is not %s", what)
					}
				}
			}
			if c.name == "exec timeout" { // it waits for its reader, and its command is gone
				defer func() {
					_ = cmd.Process.Kill()
					_ = cmd.Wait()
				}()
				var pid int
				until("started", func() bool {
					text, _ := os.ReadFile(filepath.Join(dir, "pid"))
					pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
					return pid > 0
				})
				until("gone", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
				return
			}
			if c.ints > 0 {
				until("running", func() bool {
					live, _ := exec.Command("pgrep", "-P", strconv.Itoa(cmd.Process.Pid), "-x", "yes").Output()
					return len(live) > 0
				})
			}
			for i := range c.ints {
				if i > 0 {
					time.Sleep(time.Second)
				}
				_ = cmd.Process.Signal(os.Interrupt) // it may be gone
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case err = <-ended:
			case <-time.After(2 * time.Minute):
				_ = cmd.Process.Signal(syscall.SIGQUIT)
				<-ended
				t.Fatal("did not end")
			}
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != c.status && !(c.name == "events") {
				t.Errorf("ended with %v, want %d", err, c.status)
			}
			if !strings.Contains(stdout.String(), c.want) {
				t.Errorf("got %s", stdout.String())
			}
		})
	}
}

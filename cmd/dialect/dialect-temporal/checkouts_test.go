package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What a line leaves in its checkout, and no snapshot sees, the next run does not find.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]string{
		"a.txt": "a\n", ".gitignore": ".dialect/\n*.cache\n",
		"check.sh":     "test ! -e build.cache && ! grep -q evil .git/config\necho poison >build.cache\ngit config alias.evil status\n",
		"routing.toml": "[commands.c]\nverb = \"check\"\nnoun = \"it\"\ntool = \"sh -e check.sh\"\neffect = \"read\"\n",
		"c.dlct":       "Check it\nGate against results\n",
	})
	l.worker("--slots", "1")
	for i := range 2 {
		p := l.run("c.dlct")
		if got := l.wait(p); got != 0 {
			t.Errorf("run %d: status %d\n%s%s", i+1, got, &p.out, &p.err)
		}
	}
}

// A line that leaves a FIFO in .git is refused, and keeps no slot of its worker.
func TestFIFO(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".git/HEAD", ".git/index"} {
		l := newLab(t, map[string]string{
			"a.txt": "a\n",
			"routing.toml": "[commands.fifo]\nverb = \"write\"\nnoun = \"it\"\ntool = \"sh -c 'rm -f " + name + "; mkfifo " + name + "'\"\neffect = \"write\"\ntimeout = \"20s\"\n" +
				"[commands.ok]\nverb = \"fix\"\nnoun = \"it\"\ntool = \"true\"\neffect = \"write\"\n",
			"f.dlct": "Write it\nGate against results\n",
			"o.dlct": "Fix it\nGate against results\n",
		})
		l.worker("--slots", "1")
		p := l.run("f.dlct")
		if got := l.wait(p); name == ".git/HEAD" && got != 2 || got != 0 && got != 2 {
			t.Errorf("%s: status %d\n%s%s", name, got, &p.out, &p.err)
		}
		p = l.run("o.dlct")
		if got := l.wait(p); got != 0 {
			t.Errorf("%s: the run after it: status %d\n%s%s", name, got, &p.out, &p.err)
		}
	}
}

// A worker that is process 1 of its container, and two that share a folder, work as others do.
func TestProcessOne(t *testing.T) {
	t.Parallel()
	if err := exec.Command("unshare", "-p", "-f", "--mount-proc", "true").Run(); err != nil {
		t.Skip("NOT TESTED: no namespace of processes can be made here: ", err)
	}
	l, place := waits(t)
	folder := t.TempDir()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(l.private), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() *proc {
		t.Helper()
		script := fmt.Sprintf(`exec %s/dialect-temporal worker --remote %s --folder %s --key-fd 3 "$@" 3<%s`, programs, l.depot, folder, key)
		args := append([]string{"-p", "-f", "--mount-proc", "--kill-child", "sh", "-c", script, "x"}, l.address()...)
		p := &proc{Cmd: exec.Command("unshare", args...), done: make(chan struct{})}
		p.Dir, p.Stdout, p.Stderr, p.WaitDelay = l.dir, &p.out, &p.err, 2*time.Second
		p.Env = append(os.Environ(), "HOME="+t.TempDir())
		p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			_ = p.Wait()
			close(p.done)
		}()
		t.Cleanup(func() {
			_ = p.Process.Kill() // and with it the worker
			<-p.done
		})
		l.until("a worker asks for work", func() bool { return strings.Contains(p.err.String(), "asks for the work") })
		return p
	}
	first := start()
	p := l.run("wait.dlct")
	l.until("the line waits", func() bool { text, _ := os.ReadFile(filepath.Join(place, "pids")); return len(text) > 0 })
	_ = first.Process.Kill()
	<-first.done
	start()
	start()
	l.until("the line waits again", func() bool {
		text, _ := os.ReadFile(filepath.Join(place, "pids"))
		return strings.Count(string(text), "\n") > 1
	})
	for _, script := range []string{"edit.dlct", "edit.dlct"} { // meanwhile others come and go
		q := l.run(script)
		if got := l.wait(q); got != 3 {
			t.Errorf("%s: status %d\n%s%s", script, got, &q.out, &q.err)
		}
	}
	release(t, place)
	l.ends(p, 0)
}

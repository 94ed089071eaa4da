package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPage follows `dialect help temporal` word for word, but for the server, which is that of the tests.
func TestPage(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../stdlib/docs/temporal.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for i, part := range strings.Split(string(page), "```") {
		if text, ok := strings.CutPrefix(part, "sh\n"); ok && i%2 == 1 {
			blocks = append(blocks, text)
		}
	}
	if len(blocks) != 3 || !strings.Contains(blocks[0], "temporal server start-dev") || !strings.Contains(blocks[1], "dialect-temporal worker") {
		t.Fatalf("the blocks of the page are others: %q", blocks)
	}
	l := newLab(t, example(t, "go"))
	dir := filepath.Dir(l.dir)
	start := func(dir, script string) *proc {
		p := &proc{Cmd: exec.Command("bash", "-e", "-c", script), done: make(chan struct{})}
		p.Dir, p.Stdout, p.Stderr, p.WaitDelay = dir, &p.out, &p.err, 2*time.Second
		p.Env = append(os.Environ(), "HOME="+t.TempDir(), "GOCACHE="+goCache(), "PATH="+programs+":"+os.Getenv("PATH"),
			"TEMPORAL_ADDRESS="+server().GetFrontendHostPort(), "TEMPORAL_NAMESPACE="+server().GetDefaultNamespace())
		p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			_ = p.Wait()
			close(p.done)
		}()
		t.Cleanup(func() {
			_ = syscall.Kill(-p.Process.Pid, syscall.SIGTERM)
			<-p.done
		})
		return p
	}
	worker := start(dir, blocks[1])
	l.until("the worker of the page asks for work", func() bool { return strings.Contains(worker.err.String(), "asks for the work") })
	p := start(l.dir, blocks[2])
	if got := l.wait(p); got != 0 || !strings.Contains(p.out.String(), "passed: 4 lines, 1 test") || !strings.Contains(p.out.String(), "VERIFIED") {
		t.Errorf("status %d\n%s%s\nworker:\n%s", got, &p.out, &p.err, &worker.err)
	}
}

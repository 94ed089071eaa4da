package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A line with a queue is carried out by the workers of that queue, and so are the members of a composite with one.
func TestQueue(t *testing.T) {
	t.Parallel()
	l, place := waits(t)
	text := l.read("routing.toml") +
		"[commands.far]\nverb = \"check\"\nnoun = \"far\"\ntool = \"sh wait.sh\"\neffect = \"read\"\nqueue = \"" + l.queue + "-far\"\n" +
		"[commands.fars]\nverb = \"check\"\nnoun = \"fars\"\ncomposite = [\"wait\"]\nqueue = \"" + l.queue + "-far\"\n" +
		"[commands.near]\nverb = \"fix\"\nnoun = \"near\"\ntool = \"true\"\neffect = \"write\"\n"
	for name, text := range map[string]string{
		"routing.toml": text, "far.dlct": "Check speed\nCheck far\nCheck gate_keeper\nCheck fars\nGate against results\n",
		"apart.dlct": "Fix near\nCheck far\nGate against results\n", "together.dlct": "Check far\nFix near\nGate against results\n",
	} {
		if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l.git(l.dir, "add", "-A")
	l.git(l.dir, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "queues")
	release(t, place)
	near := l.worker()
	p := l.run("far.dlct")
	l.until("it says whose workers are missing", func() bool {
		return strings.Contains(p.err.String(), `no worker asks for the work of the task queue "`+l.queue+`-far"`)
	})
	far := l.worker("--task-queue", l.queue+"-far")
	l.ends(p, 0)
	want := []int{far.Process.Pid, near.Process.Pid, far.Process.Pid}
	for i, pids := range waiting(l, place, 3) {
		if pids[1] != want[i] {
			t.Errorf("line %d was carried out by %d, want %d", i+2, pids[1], want[i])
		}
	}
	l.dialect(0, "verify")
	l.dialect(0, "run", "far.dlct")
	p = l.run("together.dlct")
	l.ends(p, 0)
	p = l.run("apart.dlct")
	if got := l.wait(p); got != 64 || !strings.Contains(p.err.String(), "line 2 (far) has queue = ") {
		t.Errorf("status %d\n%s%s", got, &p.out, &p.err)
	}
}

package main_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/command-dialect/dialect/runtime/remote"
)

// waits is a project one of whose lines waits for a file outside of it, and says there which process waits.
func waits(t *testing.T) (l *lab, place string) {
	t.Helper()
	place = t.TempDir()
	return newLab(t, map[string]string{
		"wait.sh": fmt.Sprintf("echo $$ $PPID >>%s/pids\nwhile ! test -e %[1]s/go; do sleep 0.05; done\n", place),
		"routing.toml": "[commands.wait]\nverb = \"check\"\nnoun = \"gate_keeper\"\ntool = \"sh wait.sh\"\neffect = \"read\"\n" +
			"[commands.fast]\nverb = \"check\"\nnoun = \"speed\"\ntool = \"test -e wait.sh\"\neffect = \"read\"\n" +
			"[commands.leak]\nverb = \"check\"\nnoun = \"leak\"\ntool = \"sh -c 'echo the token is $API_TOKEN; exit 1'\"\neffect = \"read\"\n" +
			"[commands.edit]\nverb = \"check\"\nnoun = \"edit\"\ntool = \"sh -c 'echo x >>wait.sh'\"\neffect = \"read\"\n" +
			"[commands.write]\nverb = \"write\"\nnoun = \"file\"\ntool = \"sh -c 'echo x >>wait.sh'\"\neffect = \"write\"\n" +
			"[commands.both]\nverb = \"write\"\nnoun = \"files\"\norder = \"parallel\"\ncomposite = [\"write\", \"fast\"]\n",
		"wait.dlct":  "Check speed\nCheck gate_keeper\nGate against results\n",
		"leak.dlct":  "Check leak\nGate against results\n",
		"edit.dlct":  "Check edit\nGate against results\n",
		"write.dlct": "Write files\nGate against results\n",
	}), place
}

// waiting returns the processes that wait, and their parents, once there are n.
func waiting(l *lab, place string, n int) (pids [][2]int) {
	l.t.Helper()
	l.until(fmt.Sprintf("%d processes wait", n), func() bool {
		text, _ := os.ReadFile(filepath.Join(place, "pids"))
		pids = nil
		for line := range strings.Lines(string(text)) {
			if words := strings.Fields(line); len(words) == 2 && strings.HasSuffix(line, "\n") {
				pid, _ := strconv.Atoi(words[0])
				up, _ := strconv.Atoi(words[1])
				pids = append(pids, [2]int{pid, up})
			}
		}
		return len(pids) >= n
	})
	return pids
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func release(t *testing.T, place string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(place, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// runID is the id of the only run of a lab.
func (l *lab) runID() string {
	l.t.Helper()
	var runs []remote.Listed
	l.until("the server lists the run", func() bool {
		out := l.dialect(0, append([]string{"runs", "list", "--engine", "temporal", "--json"}, l.address()...)...)
		var all struct {
			Runs []remote.Listed `json:"runs"`
		}
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			l.t.Fatal(err)
		}
		runs = nil
		for _, r := range all.Runs {
			if r.Queue == l.queue {
				runs = append(runs, r)
			}
		}
		return len(runs) == 1
	})
	return runs[0].Run
}

// A worker that is killed in a line that reads is replaced, and what it ran is gone.
func TestWorkerKilled(t *testing.T) {
	t.Parallel()
	l, place := waits(t)
	workers := []*proc{l.worker(), l.worker()}
	p := l.run("wait.dlct", "--json")
	first := waiting(l, place, 1)[0]
	killed := 0
	for _, w := range workers {
		if w.Process.Pid == first[1] {
			_ = w.Process.Kill()
			killed++
		}
	}
	if killed != 1 {
		t.Fatalf("the process %v is of no worker", first)
	}
	second := waiting(l, place, 2)[1]
	if second[1] == first[1] {
		t.Errorf("the same worker again: %v, %v", first, second)
	}
	l.until("what the killed worker ran has ended", func() bool { return !alive(first[0]) })
	release(t, place)
	l.ends(p, 0)
	if d := l.document(p); d.Gate.Verdict != "passed" {
		t.Errorf("%+v", d)
	}
	if out := l.dialect(0, "receipts", "list"); !strings.Contains(out, "failed") {
		t.Errorf("the loss is not recorded:\n%s", out)
	}
}

// A dialect that is killed leaves a run that goes on, and another one that takes it up decides its gate.
func TestDialectKilled(t *testing.T) {
	t.Parallel()
	l, place := waits(t)
	l.worker()
	p := l.run("wait.dlct")
	waiting(l, place, 1)
	run := l.runID()
	_ = p.Process.Kill()
	<-p.done
	release(t, place)
	again := l.start("", "dialect", append([]string{"runs", "attach", run, "--json"}, l.flags()...)...)
	l.ends(again, 0)
	if d := l.document(again); d.Run != run || d.Gate.Verdict != "passed" {
		t.Errorf("%+v", d)
	}
	l.dialect(0, "verify")
}

// An interrupt ends what runs, and the workflow.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	l, place := waits(t)
	l.worker()
	p := l.run("wait.dlct")
	pid := waiting(l, place, 1)[0][0]
	run := l.runID()
	_ = p.Process.Signal(syscall.SIGINT)
	l.ends(p, 130)
	l.until("what ran has ended", func() bool { return !alive(pid) })
	l.until("the workflow has ended", func() bool {
		return strings.Contains(history(t, run), "EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED")
	})
}

// A run is ended by another dialect.
func TestCancel(t *testing.T) {
	t.Parallel()
	l, place := waits(t)
	l.worker()
	p := l.run("wait.dlct")
	waiting(l, place, 1)
	l.dialect(0, append([]string{"runs", "cancel", l.runID(), "--engine", "temporal"}, l.address()...)...)
	if got := l.wait(p); got == 0 || got == 1 {
		t.Errorf("status %d\n%s%s", got, &p.out, &p.err)
	}
}

// No secret of a worker is in a history, a report or the depot's names.
func TestSecret(t *testing.T) {
	t.Parallel()
	l, _ := waits(t)
	const token = "s3cr3t-0123456789-abcdef"
	l.env = []string{"API_TOKEN=" + token}
	l.worker()
	l.env = nil
	p := l.run("leak.dlct", "--json")
	l.ends(p, 1)
	if !strings.Contains(p.out.String(), "the token is") {
		t.Errorf("the tail is missing:\n%s", &p.out)
	}
	for what, text := range map[string]string{"the report": p.out.String() + p.err.String(), "the history": history(t, l.document(p).Run)} {
		if strings.Contains(text, token) || strings.Contains(text, token[:12]) {
			t.Errorf("%s has the secret", what)
		}
	}
}

// A tool reads a secret from its environment, which is that of the worker; a line that says one is refused.
func TestSecretOfWorker(t *testing.T) {
	t.Parallel()
	place := t.TempDir()
	l := newLab(t, map[string]string{
		"routing.toml": "environment = [\"API_TOKEN\"]\n[commands.ask]\nverb = \"ask\"\nnoun = \"service\"\ntool = \"sh ask.sh\"\neffect = \"read\"\n" +
			"[commands.tell]\nverb = \"tell\"\nnoun = \"service\"\ntool = \"sh ask.sh {token}\"\nsecrets = [\"token\"]\neffect = \"read\"\n",
		"ask.sh":   "echo $API_TOKEN >" + place + "/got; echo asked with $API_TOKEN\n",
		"ask.dlct": "Ask service\nGate against results\n",
		"set.dlct": "Tell service token={env.API_TOKEN}\nGate against results\n",
	})
	const token = "w0rker-s3cr3t-0123456789"
	l.env = []string{"API_TOKEN=" + token}
	l.worker()
	l.env = []string{"API_TOKEN=something-else-altogether"}
	p := l.run("ask.dlct", "--json")
	l.ends(p, 0)
	if got, err := os.ReadFile(filepath.Join(place, "got")); err != nil || strings.TrimSpace(string(got)) != token {
		t.Errorf("the command got %q, %v", got, err)
	}
	for what, text := range map[string]string{"the report": p.out.String() + p.err.String(), "the history": history(t, l.document(p).Run), "the receipts": l.dialect(0, "receipts", "list", "--json")} {
		if strings.Contains(text, token) || strings.Contains(text, token[:12]) {
			t.Errorf("%s has the secret", what)
		}
	}
	p = l.run("set.dlct")
	if got := l.wait(p); got != 64 || !strings.Contains(p.err.String(), "have the tool read it from its environment") || strings.Contains(p.err.String(), token) {
		t.Errorf("status %d\n%s%s", got, &p.out, &p.err)
	}
	if left := l.git(l.depot, "for-each-ref"); left != "" {
		t.Errorf("sent:\n%s", left)
	}
}

// A line that only reads and changes a file is refused by the gate, and the next one gets a checkout without the change.
func TestEdit(t *testing.T) {
	t.Parallel()
	l, _ := waits(t)
	l.worker()
	p := l.run("edit.dlct")
	if got := l.wait(p); got != 3 || !strings.Contains(p.out.String(), "wait.sh") {
		t.Errorf("status %d\n%s%s", got, &p.out, &p.err)
	}
	release(t, waitPlace(l))
	if p = l.run("wait.dlct"); l.wait(p) != 0 {
		t.Errorf("%s%s", &p.out, &p.err)
	}
}

// waitPlace reads where the script of a lab waits.
func waitPlace(l *lab) string {
	text, err := os.ReadFile(filepath.Join(l.dir, "wait.sh"))
	if err != nil {
		l.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), ">>")
	place, _, _ := strings.Cut(after, "/pids")
	return place
}

// What cannot be carried out elsewhere is refused before anything is sent.
func TestRefused(t *testing.T) {
	t.Parallel()
	l, _ := waits(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"write.dlct"}, "changes files while others run"},
		{[]string{"-e", "Check speed"}, "files of the project"},
		{[]string{"--no-tree", "wait.dlct"}, "--no-tree"},
		{[]string{"--clean", "wait.dlct"}, "--clean"},
		{[]string{"--store", "none", "wait.dlct"}, "store"},
	} {
		p := l.run(tt.args...)
		if got := l.wait(p); got != 64 && got != 2 || !strings.Contains(p.err.String(), tt.want) {
			t.Errorf("%q: status %d\n%s%s", tt.args, got, &p.out, &p.err)
		}
	}
	if err := os.WriteFile(filepath.Join(l.dir, "new.txt"), []byte("not tracked\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := l.run("wait.dlct")
	if got := l.wait(p); got != 2 || !strings.Contains(p.out.String()+p.err.String(), "new.txt") {
		t.Errorf("status %d\n%s%s", got, &p.out, &p.err)
	}
	if left := l.git(l.depot, "for-each-ref"); left != "" {
		t.Errorf("sent:\n%s", left)
	}
}

// A worker whose key nobody named changes nothing: the run ends in a fault, and its gate is not decided.
func TestForeignWorker(t *testing.T) {
	t.Parallel()
	l, place := waits(t)
	release(t, place)
	l.worker()
	l.keys = nil
	l.key("another")
	p := l.run("wait.dlct", "--json")
	l.ends(p, 2)
	if d := l.document(p); d.Gate.Verdict == "passed" || !strings.Contains(p.out.String(), "no key that is accepted") {
		t.Errorf("%s", &p.out)
	}
}

// A dialect that starts while its server does waits for it.
func TestServerLate(t *testing.T) {
	t.Parallel()
	l, place := waits(t)
	release(t, place)
	l.worker()
	address, listen := reserved(t)
	p := l.start("", "dialect", append([]string{"run"}, l.flags("--address", address, "wait.dlct")...)...)
	l.until("the files are sent, and the server is asked for", func() bool { return l.git(l.depot, "for-each-ref") != "" })
	time.Sleep(time.Second)
	newWireOn(t, listen(), server().GetFrontendHostPort())
	l.ends(p, 0)
}

// reserved returns an address that nobody else can take, and that refuses connections until listen is called.
func reserved(t *testing.T) (address string, listen func() net.Listener) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "a reserved port")
	t.Cleanup(func() { f.Close() })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port), func() net.Listener {
		t.Helper()
		if err := syscall.Listen(fd, 16); err != nil {
			t.Fatal(err)
		}
		l, err := net.FileListener(f)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}

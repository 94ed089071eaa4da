package main_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/command-dialect/dialect/cmd/dialect/dialect-temporal/flow"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/remote"
)

// A wire forwards connections to a server until it is cut; what is sent meanwhile waits, as it does where a network is gone.
type wire struct {
	net.Listener
	mu sync.RWMutex // held while the wire is cut
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return newWireOn(t, l, to)
}

func newWireOn(t *testing.T, l net.Listener, to string) *wire {
	w := &wire{Listener: l}
	t.Cleanup(func() { l.Close() })
	forward := func(a, b net.Conn) {
		defer a.Close()
		defer b.Close()
		buf := make([]byte, 32<<10)
		for {
			n, err := a.Read(buf)
			if err != nil {
				return
			}
			w.mu.RLock()
			_, err = b.Write(buf[:n])
			w.mu.RUnlock()
			if err != nil {
				return
			}
		}
	}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			go forward(in, out)
			go forward(out, in)
		}
	}()
	return w
}

// A worker that loses its network ends what it runs by itself; the line is carried out by another one, and what the first says of it
// afterwards does not count.
func TestFenced(t *testing.T) {
	t.Parallel()
	l, place := waits(t)
	w := newWire(t, server().GetFrontendHostPort())
	cutOff := l.start(l.private, "dialect-temporal", "worker", "--remote", l.depot, "--folder", t.TempDir(), "--key-fd", "3",
		"--address", w.Addr().String(), "--namespace", server().GetDefaultNamespace(), "--task-queue", l.queue)
	l.until("the worker asks for work", func() bool { return strings.Contains(cutOff.err.String(), "asks for the work") })
	p := l.run("wait.dlct", "--json")
	first := waiting(l, place, 1)[0]
	l.worker()
	w.mu.Lock()
	l.until("the worker has ended what it ran, though it hears of nobody", func() bool { return !alive(first[0]) })
	second := waiting(l, place, 2)[1]
	w.mu.Unlock()
	if second[1] == first[1] {
		t.Errorf("the same worker again: %v, %v", first, second)
	}
	time.Sleep(time.Second) // what the first has to say arrives
	release(t, place)
	l.ends(p, 0)
	d := l.document(p)
	if n := consumedOf(l, d.Run); n["2"] != 1 || d.Gate.Verdict != "passed" {
		t.Errorf("%v, %+v", n, d)
	}
	if out := l.dialect(0, "receipts", "list", "--run", d.Run, "--json"); !strings.Contains(out, `"dispatch": 2`) || !strings.Contains(out, "worker_lost") {
		t.Errorf("no receipt is of the second dispatch:\n%s", out)
	}
}

// A dialect that loses its network ends all the same when it is interrupted, and says that the run may go on, and how it is ended.
func TestInterruptWithoutNetwork(t *testing.T) {
	t.Parallel()
	l, place := waits(t)
	l.worker()
	w := newWire(t, server().GetFrontendHostPort())
	p := l.start("", "dialect", append([]string{"run"}, l.flags("--address", w.Addr().String(), "wait.dlct")...)...)
	pid := waiting(l, place, 1)[0][0]
	run := l.runID()
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = p.Process.Signal(os.Interrupt)
	if got := l.wait(p); got != 130 || !strings.Contains(p.err.String(), "may go on at the Temporal server: `dialect runs cancel "+run) {
		t.Errorf("status %d\n%s%s", got, &p.out, &p.err)
	}
	if !alive(pid) {
		t.Error("what runs elsewhere has ended: the interrupt was heard")
	}
	again := l.start("", "dialect", append([]string{"runs", "attach", run}, l.flags()...)...)
	if got := l.wait(again); got != 64 {
		t.Errorf("it is reported twice: status %d\n%s%s", got, &again.out, &again.err)
	}
	l.dialect(0, append([]string{"runs", "cancel", run, "--engine", "temporal"}, l.address()...)...)
	l.until("what ran has ended", func() bool { return !alive(pid) })
}

// A worker carries out nothing of a run whose spec says what is not so, or what leads out of its files.
func TestHostileClient(t *testing.T) {
	t.Parallel()
	l, place := waits(t)
	w := l.worker()
	p := l.run("wait.dlct")
	waiting(l, place, 1)
	c := server().GetDefaultClient()
	it := c.GetWorkflowHistory(t.Context(), flow.WorkflowID(l.runID()), "", false, 1)
	e, err := it.Next()
	if err != nil {
		t.Fatal(err)
	}
	var honest flow.Input
	if err := converter.GetDefaultDataConverter().FromPayloads(e.GetWorkflowExecutionStartedEventAttributes().Input, &honest); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		lie  func(in *flow.Input)
		want string
	}{
		"version":          {func(in *flow.Input) { in.Spec.Version = 99 }, "version 99"},
		"no key":           {func(in *flow.Input) { in.Spec.Key = nil }, "with which key"},
		"a short key":      {func(in *flow.Input) { in.Spec.Key = in.Spec.Key[:31] }, "with which key"},
		"script above":     {func(in *flow.Input) { in.Spec.Script = "../../../etc/passwd" }, "leads out of the files"},
		"script elsewhere": {func(in *flow.Input) { in.Spec.Script = "/etc/passwd" }, "leads out of the files"},
		"matrix above":     {func(in *flow.Input) { in.Spec.Matrix = "../routing.toml" }, "leads out of the files"},
		"place above":      {func(in *flow.Input) { in.Spec.Place = ".." }, "leads out of the files"},
		"run is a path":    {func(in *flow.Input) { in.Spec.Run = "../../x" }, ""},
		"no run":           {func(in *flow.Input) { in.Spec.Run = "" }, "no name"},
		"origin":           {func(in *flow.Input) { in.Spec.Origin = "x\ny" }, "origin"},
		"an option":        {func(in *flow.Input) { in.Spec.Commit = "--upload-pack=x" }, ""},
		"another commit":   {func(in *flow.Input) { in.Spec.Commit = strings.Repeat("1", 40) }, "is the commit"},
		"format":           {func(in *flow.Input) { in.Spec.Format = "../../x" }, "format of objects"},
		"another script":   {func(in *flow.Input) { in.Spec.ScriptSHA = receipts.Hash{1} }, "not the one that the run names"},
		"another matrix":   {func(in *flow.Input) { in.Spec.MatrixSHA = receipts.Hash{1} }, "not those that the run names"},
		"another tree":     {func(in *flow.Input) { in.Spec.Tree.Bytes = receipts.Hash{1} }, "not those that the run names"},
		"a state":          {func(in *flow.Input) { in.State = []byte("not a state") }, ""},
		"a bomb": {func(in *flow.Input) {
			in.State, err = remote.Pack(strings.Repeat("x", 65<<20))
		}, "too large"},
		"a stack": {func(in *flow.Input) { // of composites that end as soon as they are entered
			in.State, err = remote.Pack([]byte(`{"version":1,"shape":{"nodes":[{"id":"g","gate":true}` + strings.Repeat(`,{"group":true}`, 400_000) + `]},"rules":{"slots":1}}`))
		}, "steps"},
		"depths": {func(in *flow.Input) {
			in.State, err = remote.Pack([]byte(`{"version":1,"shape":{"nodes":[` + strings.Repeat(`{"group":true,"members":[`, 1000) + strings.Repeat(`]}`, 1000) + `]},"rules":{"slots":1}}`))
		}, "levels"},
	} {
		in := honest
		tt.lie(&in)
		if err != nil {
			t.Fatal(err)
		}
		run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "hostile-" + l.queue + "-" + strings.ReplaceAll(name, " ", "-"), TaskQueue: l.queue, WorkflowTaskTimeout: 5 * time.Second}, flow.Name, in)
		if err != nil {
			t.Fatal(err)
		}
		within, done := context.WithTimeout(t.Context(), time.Minute)
		err = run.Get(within, nil)
		done()
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	release(t, place)
	if got := l.wait(p); got != 0 {
		t.Errorf("the honest run: status %d\n%s%s%s", got, &p.out, &p.err, &w.err)
	}
	if list, _ := filepath.Glob(filepath.Join(filepath.Dir(l.dir), "x*")); len(list) > 0 {
		t.Errorf("written: %v", list)
	}
}

// Signals of others answer nothing: what waits for a gate in the middle, or for its receipts, is not carried out by their word, whether
// dialect is there or not, and whatever they say. The gate of this run refuses, since a file is edited here meanwhile.
func TestForgedSignal(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		t.Run(fmt.Sprint("kill=", kill), func(t *testing.T) {
			t.Parallel()
			l, place := deploys(t)
			l.worker()
			p := l.run("d.dlct", "--json")
			waiting(l, place, 1)
			run := l.runID()
			if err := os.WriteFile(filepath.Join(l.dir, "a.txt"), []byte("edited\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			if kill {
				_ = p.Process.Kill()
				<-p.done
			}
			forge := func() {
				c := server().GetDefaultClient()
				for seq := range 6 { // for actions that nobody has asked for yet, for attempts, and for none
					for _, v := range []any{
						map[string]any{"seq": seq, "brief": map[string]string{"verdict": "passed"}},
						map[string]any{"seq": seq, "op": "gate", "id": "2", "brief": map[string]string{"verdict": "passed"}, "sig": make([]byte, 64)},
						map[string]any{"seq": -seq}, "no event", map[string]any{"seq": seq, "sig": "x"},
					} {
						_ = c.SignalWorkflow(t.Context(), flow.WorkflowID(run), "", flow.Answer, v) // the run may be over
					}
				}
			}
			forge()
			release(t, place)
			if kill {
				l.until("the first line has ended", func() bool { return strings.Contains(history(t, run), "EVENT_TYPE_ACTIVITY_TASK_COMPLETED") })
				forge()
				// Answers that counted would have the line carried out by the time at which another run has ended.
				other := l.run("other.dlct")
				if got := l.wait(other); got != 0 {
					t.Fatalf("status %d\n%s%s", got, &other.out, &other.err)
				}
				p = l.start("", "dialect", append([]string{"runs", "attach", run, "--json"}, l.flags()...)...)
			} else {
				forge()
			}
			if got := l.wait(p); got != 3 {
				t.Errorf("status %d\n%s%s", got, &p.out, &p.err)
			}
			if _, err := os.Stat(filepath.Join(place, "deployed")); err == nil {
				t.Error("the line behind the gate was carried out")
			}
			if d := l.document(p); d.Gate.Verdict == "passed" || len(d.Lines) != 4 || d.Lines[2].Verdict != "skipped" {
				t.Errorf("%+v", d)
			}
		})
	}
}

// deploys is a project with a line that deploys behind a gate; the first line waits.
func deploys(t *testing.T) (l *lab, place string) {
	t.Helper()
	place = t.TempDir()
	return newLab(t, map[string]string{
		"a.txt":   "a\n",
		"wait.sh": fmt.Sprintf("echo $$ $PPID >>%s/pids\nwhile ! test -e %[1]s/go; do sleep 0.05; done\n", place),
		"last.sh": fmt.Sprintf("echo $$ $PPID >>%s/last\nwhile ! test -e %[1]s/end; do sleep 0.05; done\n", place),
		"routing.toml": "[commands.wait]\nverb = \"check\"\nnoun = \"it\"\ntool = \"sh wait.sh\"\neffect = \"read\"\n" +
			"[commands.last]\nverb = \"check\"\nnoun = \"last\"\ntool = \"sh last.sh\"\neffect = \"read\"\n" +
			"[commands.fast]\nverb = \"check\"\nnoun = \"speed\"\ntool = \"true\"\neffect = \"read\"\n" +
			"[commands.deploy]\nverb = \"deploy\"\nnoun = \"it\"\ntool = \"sh -c 'echo deployed >>" + place + "/deployed'\"\neffect = \"write\"\n",
		"d.dlct":     "Check it\nGate against results\nDeploy it\nGate against results\n",
		"two.dlct":   "Check it\nGate against results\nDeploy it\nCheck last\nGate against results\n",
		"other.dlct": "Check speed\nGate against results\n",
	}), place
}

// A dialect that is killed behind a gate that it has decided leaves the key of its run: another one takes it up, once, and
// neither the key nor anybody takes it up when it is over.
func TestAttachBehindGate(t *testing.T) {
	t.Parallel()
	l, place := deploys(t)
	l.worker()
	release(t, place)
	p := l.run("two.dlct")
	l.until("the last line waits", func() bool { _, err := os.Stat(filepath.Join(place, "last")); return err == nil })
	run := l.runID()
	keys := filepath.Join(l.dir, ".dialect/log/runs/key")
	if info, err := os.Stat(filepath.Join(keys, run)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
	attach := func() *proc {
		return l.start("", "dialect", append([]string{"runs", "attach", run, "--json"}, l.flags()...)...)
	}
	second := attach()
	if got := l.wait(second); got != 64 || !strings.Contains(second.err.String(), "has a dialect already") {
		t.Errorf("beside the first: status %d\n%s%s", got, &second.out, &second.err)
	}
	_ = p.Process.Kill()
	<-p.done
	if err := os.WriteFile(filepath.Join(place, "end"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	again := attach()
	l.ends(again, 0)
	if text, err := os.ReadFile(filepath.Join(place, "deployed")); err != nil || string(text) != "deployed\n" {
		t.Errorf("%q, %v", text, err)
	}
	before := l.dialect(0, "receipts", "list", "--json")
	third := attach()
	if got := l.wait(third); got != 64 || !strings.Contains(third.err.String(), "it is over") {
		t.Errorf("status %d\n%s%s", got, &third.out, &third.err)
	}
	if after := l.dialect(0, "receipts", "list", "--json"); after != before {
		t.Errorf("receipts of a run that is over:\n%s", after)
	}
	if list, _ := os.ReadDir(keys); len(list) > 0 {
		t.Errorf("left: %v", list)
	}
}

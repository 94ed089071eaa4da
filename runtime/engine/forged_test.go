package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
)

// A keyedFarm is a farm whose orchestrator has a key, and whose store the agent, who has none, can write.
type keyedFarm struct {
	*farm
	r     *repo
	o     engine.Options
	path  string
	store sqlite.Options
}

func newKeyedFarm(t *testing.T, steps func(*builder) []*plan.Step) *keyedFarm {
	t.Helper()
	f, r, o := newFarm(t, steps)
	private, public, err := receipts.GenerateKey("boss")
	if err != nil {
		t.Fatal(err)
	}
	k := &keyedFarm{farm: f, r: r, o: o, path: filepath.Join(t.TempDir(), "receipts.db")}
	if k.store.Signer, err = receipts.NewSigner(private, true); err != nil {
		t.Fatal(err)
	}
	if k.store.Keys, err = receipts.ParseKeys(public, f.signer.Public()); err != nil {
		t.Fatal(err)
	}
	k.open()
	if f.origin, err = r.store.Origin(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.o.Worker.Origin, k.o.Signer, k.o.Began = f.origin, k.store.Signer.ID(), time.Now().UTC().Truncate(time.Millisecond)
	return k
}

// open opens the store as a new process of the orchestrator does.
func (k *keyedFarm) open() {
	k.t.Helper()
	k.r.store.Close()
	var err error
	if k.r.store, err = sqlite.Open(k.t.Context(), k.path, k.store); err != nil {
		k.t.Fatal(err)
	}
}

// process carries the run out in a process of its own.
func (k *keyedFarm) process(resumed bool, steps []*plan.Step) *engine.Outcome {
	k.t.Helper()
	k.open()
	k.o.Remote, k.o.Resumed = k.farm, resumed
	return k.r.run(k.t, k.o, steps...)
}

// forge appends what the agent has made up.
func (k *keyedFarm) forge(b interface {
	Record() (receipts.Record, error)
}) {
	k.t.Helper()
	rec, err := b.Record()
	if err != nil {
		k.t.Fatal(err)
	}
	s, err := sqlite.Open(k.t.Context(), k.path, sqlite.Options{Existing: true})
	if err != nil {
		k.t.Fatal(err)
	}
	defer s.Close()
	if err := s.Append(k.t.Context(), rec); err != nil {
		k.t.Fatal(err)
	}
}

// TestForgedGate has an agent without the key write the gate of a run that is taken up again, whose own gate refuses: nothing passes, and no
// line behind the gate is carried out.
func TestForgedGate(t *testing.T) {
	deployed := filepath.Join(t.TempDir(), "deployed")
	steps := func(b *builder) []*plan.Step {
		return []*plan.Step{b.sh("a", "true"), gate(), b.sh("deploy", "touch "+deployed), gate()}
	}
	k := newKeyedFarm(t, steps)
	var kept *attempt.Delivery // what the history has of line a
	k.deliver = func(d *attempt.Delivery, a *engine.Arrived) {
		if d.Step != "1" {
			return
		}
		if d.Changed = []string{"a.txt"}; kept == nil { // while the line ran, which reads
			kept = d
		}
		a.Delivery = kept
	}
	first := k.process(false, steps(k.r.builder))
	if got := first.Results[1].Gate.Verdict; got != attempt.GateRefusal {
		t.Fatalf("the gate is %s", got)
	}
	snap, err := k.r.tracker().Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pass := k.r.receipt(t, first.Results[0])
	g := &receipts.Gate{Version: 1, Run: k.run, Session: k.run, Nonce: "n-1", Timestamp: receipts.Time{Time: time.Now()}, Script: pass.Script, Matrix: pass.Matrix,
		Covers: receipts.Covers{FirstLine: 1, LastLine: 1, Commands: 1}, Members: []receipts.Hash{first.Results[0].Receipt}, Level: 1, Policy: receipts.PolicyPinned,
		Tree: &receipts.Tree{Tree: snap.Tree, Bytes: snap.Bytes, Exact: true}}
	k.forge(g)
	again := k.process(true, steps(k.r.builder))
	if got := again.Results[1].Gate.Verdict; got != attempt.GateRefusal || again.ExitStatus() == 0 {
		t.Errorf("taken up again, the gate is %s; exit %d", got, again.ExitStatus())
	}
	if _, err := os.Stat(deployed); err == nil {
		t.Error("the line behind the gate was carried out")
	}
}

// TestResumedFailed has the same command fail on the same files after the gate of a run was decided: taken up again, the run does not
// pass on the word of that gate.
func TestResumedFailed(t *testing.T) {
	steps := func(b *builder) []*plan.Step { return []*plan.Step{b.sh("a", "true"), gate()} }
	k := newKeyedFarm(t, steps)
	first := k.process(false, steps(k.r.builder))
	if first.Gate.Verdict != attempt.GatePassed {
		t.Fatalf("%+v", first.Gate)
	}
	k.log.replay = k.log.batches
	if again := k.process(true, steps(k.r.builder)); again.Gate.Verdict != attempt.GatePassed || again.Gate.ID != first.Gate.ID {
		t.Fatalf("taken up again: %+v", again.Gate)
	}
	failed := *k.r.receipt(t, first.Results[0])
	exit := 1
	failed.Run, failed.Session, failed.Nonce, failed.Dispatch, failed.Signer, failed.Status, failed.ExitCode = "r-00000000000000ff", "r-00000000000000ff", "", 0, k.o.Signer, receipts.StatusFailed, &exit
	failed.Timestamp = receipts.Time{Time: time.Now().Add(time.Second)}
	rec, err := failed.Record()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.r.store.Append(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if again := k.process(true, steps(k.r.builder)); again.Gate.Verdict != attempt.GateRefusal {
		t.Errorf("after a failure: %+v", again.Gate)
	}
}

// TestForgedAttempt has the agent write, before a worker has said that a line failed, that a worker has said something else of it: the failure is
// recorded all the same.
func TestForgedAttempt(t *testing.T) {
	steps := func(b *builder) []*plan.Step { return []*plan.Step{b.sh("a", "false"), gate()} }
	k := newKeyedFarm(t, steps)
	k.deliver = func(d *attempt.Delivery, _ *engine.Arrived) {
		var r receipts.Receipt
		if err := json.Unmarshal(d.Body, &r); err != nil {
			t.Error(err)
		}
		r.Signer, r.Status, r.StopReason, r.ExitCode, r.Binding, r.Argv = "", receipts.Succeeded, "", nil, "x", []receipts.Datum{receipts.Text("true")}
		r.Command = receipts.CommandHash([]string{"true"})
		k.forge(&r)
	}
	out := k.process(false, steps(k.r.builder))
	if out.Degraded != "" {
		t.Errorf("the run is degraded: %s", out.Degraded)
	}
	if r := k.r.receipt(t, out.Results[0]); r == nil || r.Status != receipts.StatusFailed {
		t.Errorf("the log has %+v", r)
	}
}

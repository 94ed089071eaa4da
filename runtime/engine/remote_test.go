package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/schedule"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// A farm is a remote whose workers are real executors in clones of the project; its history is a queue.
type farm struct {
	t      *testing.T
	clone  *builder
	plan   *plan.Plan
	signer *receipts.Signer
	origin string
	run    string

	// What lies: each is nil for what is honest.
	task    func(*schedule.Action, *attempt.Options)
	deliver func(*attempt.Delivery, *engine.Arrived)
	lose    func(a schedule.Action, dispatch int) bool
	twice   bool
	deaf    bool // nobody hears that the run is cut short
	log     history
	never   error                 // why the run cannot be handed out
	answer  func(*schedule.Event) // somebody else says what this process has to answer

	in  chan engine.Arrived
	out chan []engine.Arrived
	err error

	mu     sync.Mutex
	cancel map[int]context.CancelFunc
}

func (f *farm) Begin(shape schedule.Shape, rules schedule.Rules) error {
	if f.never != nil {
		return f.never
	}
	f.in, f.out, f.cancel = make(chan engine.Arrived, 1000), make(chan []engine.Arrived), make(map[int]context.CancelFunc)
	if f.log.replay != nil {
		go func() {
			defer close(f.out)
			for _, b := range f.log.replay {
				f.out <- b
			}
		}()
		return nil
	}
	go f.drive(schedule.NewRelay(shape, rules))
	return nil
}

func (f *farm) Answer(e schedule.Event) error {
	if f.answer != nil {
		f.answer(&e)
	}
	f.in <- engine.Arrived{Arrival: schedule.Arrival{Event: e}}
	return nil
}

func (f *farm) Cut(why schedule.Brief, _ bool) error {
	if !f.deaf {
		f.in <- engine.Arrived{Arrival: schedule.Arrival{Event: schedule.Event{Brief: why}, Cut: true}}
	}
	return nil
}

// gone has nobody hear of the run any more.
func (f *farm) gone() { f.in <- engine.Arrived{Problem: "gone"} }

func (f *farm) Arrivals() <-chan []engine.Arrived { return f.out }
func (f *farm) Err() error                        { return f.err }

// drive is the workflow.
func (f *farm) drive(r *schedule.Relay) {
	defer close(f.out)
	begin := func(actions []schedule.Action) {
		for _, a := range actions {
			switch {
			case r.Remote(a):
				ctx, cancel := context.WithCancel(context.Background())
				f.mu.Lock()
				f.cancel[a.Seq] = cancel
				f.mu.Unlock()
				go f.attempt(ctx, a, r.Dispatch(a.Seq))
			case a.Op == schedule.Kill:
				for _, o := range r.Pending() {
					if c := f.cancel[o.Seq]; c != nil && o.Always == "" {
						c()
					}
				}
			}
		}
	}
	begin(r.Begin())
	for !r.Over() {
		a := <-f.in
		if a.Problem == "gone" {
			f.err = errors.New("the server has gone")
			return
		}
		actions, _ := r.Take(a.Arrival)
		f.log.batches = append(f.log.batches, []engine.Arrived{a})
		f.out <- []engine.Arrived{a}
		begin(actions)
	}
}

func (f *farm) attempt(ctx context.Context, a schedule.Action, dispatch int) {
	arrived := engine.Arrived{Arrival: schedule.Arrival{Event: schedule.Event{Seq: a.Seq}, Dispatch: dispatch}}
	if f.lose != nil && f.lose(a, dispatch) {
		arrived.Lost = "it was killed"
		f.in <- arrived
		return
	}
	var caught attempt.Catcher
	o := attempt.Options{
		Run: f.run, Nonce: "n-1", Store: &caught, Environ: os.Environ(), Workspace: workspace.NewTracker(f.clone.dir, workspace.Options{}),
		Signer: f.signer.ID(), Dispatch: dispatch,
	}
	real := a
	if f.task != nil {
		f.task(&a, &o)
	}
	x := attempt.New(ctx, context.Background(), f.plan, o, nil)
	defer x.Close()
	x.Begin(time.Now())
	rep := x.Attempt(ctx, a)
	x.Finish()
	rec := caught.Caught()
	if rec == nil {
		f.t.Error("no receipt")
		return
	}
	g, err := f.signer.Sign(f.origin, rec.SHA())
	if err != nil {
		f.t.Error(err)
	}
	d := x.Deliver(rep, dispatch, *rec, g)
	if rep.Step.Effect == plan.Write && rep.Verdict == schedule.Passed {
		d.Commit = anyCommit
	}
	arrived.Brief, arrived.Delivery, arrived.Seq = d.Brief, d, real.Seq
	if f.deliver != nil {
		f.deliver(d, &arrived)
	}
	f.in <- arrived
	if f.twice {
		f.in <- arrived
	}
}

// anyCommit names the files of the clone, whatever they are.
const anyCommit = "0123456789012345678901234567890123456789"

// A history is what a farm has said; with replay it says that, and carries out nothing.
type history struct{ batches, replay [][]engine.Arrived }

// newFarm makes a project, a clone of it for the workers, and the plan of steps in both.
func newFarm(t *testing.T, steps func(*builder) []*plan.Step) (*farm, *repo, engine.Options) {
	t.Helper()
	r := newRepo(t)
	f := &farm{t: t, clone: &builder{dir: filepath.Join(t.TempDir(), "clone")}, run: "r-0123456789abcdef"}
	if out, err := exec.Command("git", "clone", "-q", r.dir, f.clone.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	f.plan = f.clone.plan(steps(f.clone)...)
	private, public, err := receipts.GenerateKey("worker")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := receipts.ParseKeys(public)
	if err != nil {
		t.Fatal(err)
	}
	if f.signer, err = receipts.NewSigner(private, true); err != nil {
		t.Fatal(err)
	}
	if f.origin, err = r.store.Origin(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := engine.Options{Remote: f, Options: attempt.Options{Run: f.run, Nonce: "n-1", Worker: &attempt.Worker{
		Keys: keys, Origin: f.origin,
		Snapshot: func(dir string) (*workspace.Snapshot, error) {
			return workspace.Take(t.Context(), dir, workspace.Options{})
		},
		Files: func(_, _ int, commit, dir string) error {
			if commit != anyCommit {
				return errors.New("there is no such commit")
			}
			return os.CopyFS(dir, os.DirFS(f.clone.dir))
		},
	}}}
	return f, r, o
}

// What is made elsewhere comes to what is made here, and leaves the same receipts but for who signed them.
func TestRemote(t *testing.T) {
	tests := map[string]func(b *builder) []*plan.Step{
		"passes": func(b *builder) []*plan.Step { return []*plan.Step{b.sh("a", "true"), b.sh("b", "cat a.txt"), gate()} },
		"fails": func(b *builder) []*plan.Step {
			return []*plan.Step{b.sh("a", "echo no; exit 3"), b.sh("b", "true"), gate()}
		},
		"a group": func(b *builder) []*plan.Step {
			return []*plan.Step{group(true, b.sh("a", "true"), b.sh("b", "true"), b.sh("c", "exit 1"))}
		},
		"two gates": func(b *builder) []*plan.Step {
			return []*plan.Step{b.sh("a", "true"), gate(), b.sh("b", "true"), gate()}
		},
		"no gate line": func(b *builder) []*plan.Step { return []*plan.Step{b.sh("a", "true")} },
		"retried": func(b *builder) []*plan.Step {
			s := b.sh("a", "exit 1")
			s.Budget.Retries = 2
			return []*plan.Step{s}
		},
		"cleans up": func(b *builder) []*plan.Step {
			s := b.sh("z", "true")
			s.Finally = true
			return []*plan.Step{group(false, b.sh("a", "exit 1"), s)}
		},
		"no such command": func(b *builder) []*plan.Step {
			s := b.sh("a", "")
			s.Argv = []string{"no-such-command-anywhere"}
			return []*plan.Step{s}
		},
		"asks the store": func(b *builder) []*plan.Step {
			s := &plan.Step{Binding: "v", Verb: "validate", Noun: "receipt", Kind: plan.Builtin, Target: plan.ValidateReceipt, Effect: plan.Read, Values: []plan.Value{{Text: "0000"}}}
			return []*plan.Step{b.sh("a", "true"), s}
		},
		"nothing": func(*builder) []*plan.Step { return nil },
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			local := newRepo(t)
			here := local.run(t, engine.Options{Options: attempt.Options{Nonce: "n-1"}}, steps(local.builder)...)
			_, r, o := newFarm(t, steps)
			there := r.run(t, o, steps(r.builder)...)
			if a, b := verdicts(here.Results), verdicts(there.Results); a != b || here.Gate.Verdict != there.Gate.Verdict || here.ExitStatus() != there.ExitStatus() {
				t.Errorf("here %s, gate %s; there %s, gate %s", a, here.Gate.Verdict, b, there.Gate.Verdict)
			}
			engine.Leaves(there.Results, func(res *engine.Result) {
				if res.Step.Kind != plan.Process || res.Receipt.IsZero() {
					return
				}
				rec := r.receipt(t, res)
				if rec.Dispatch != 1 || !strings.HasPrefix(rec.Signer, "worker+") || rec.Workspace == nil {
					t.Errorf("%+v", rec)
				}
				if res.Verdict == schedule.Failed && !strings.Contains(string(res.Process.Tail), "no") && name == "fails" {
					t.Errorf("tail %q", res.Process.Tail)
				}
			})
		})
	}
}

// Each lie of a worker ends in a gate that does not pass, and in no receipt of the worker that is not its own.
func TestHostileWorker(t *testing.T) {
	other := func(t *testing.T) *receipts.Signer {
		private, _, err := receipts.GenerateKey("worker")
		if err != nil {
			t.Fatal(err)
		}
		s, err := receipts.NewSigner(private, true)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := func(f *farm, what func(d *attempt.Delivery, a *engine.Arrived)) {
		f.deliver = func(d *attempt.Delivery, a *engine.Arrived) {
			if d.Step == "1" {
				what(d, a)
			}
		}
	}
	// again signs a changed receipt.
	again := func(f *farm, change func(r *receipts.Receipt)) {
		first(f, func(d *attempt.Delivery, a *engine.Arrived) {
			var r receipts.Receipt
			if err := json.Unmarshal(d.Body, &r); err != nil {
				f.t.Error(err)
			}
			change(&r)
			rec, err := r.Record()
			if err != nil {
				f.t.Error(err)
			}
			d.Body = rec.Body
			d.Signature, _ = f.signer.Sign(f.origin, rec.SHA())
		})
	}
	tests := map[string]struct {
		lie  func(t *testing.T, f *farm)
		want string // in the detail of the step
	}{
		"foreign key":   {func(t *testing.T, f *farm) { f.signer = other(t) }, "no key that is accepted"},
		"another store": {func(_ *testing.T, f *farm) { f.origin = "dialect/ffffffffffffffff" }, "no key that is accepted"},
		"no signature": {func(_ *testing.T, f *farm) {
			first(f, func(d *attempt.Delivery, _ *engine.Arrived) { d.Signature = "" })
		}, "no key that is accepted"},
		"changed body": {func(_ *testing.T, f *farm) {
			first(f, func(d *attempt.Delivery, _ *engine.Arrived) {
				d.Body = []byte(strings.Replace(string(d.Body), `"duration_ns":`, `"duration_ns":1`, 1))
			})
		}, "no key that is accepted"},
		"no body": {func(_ *testing.T, f *farm) { first(f, func(d *attempt.Delivery, _ *engine.Arrived) { d.Body = nil }) }, "cannot be read"},
		"nothing": {func(_ *testing.T, f *farm) {
			first(f, func(_ *attempt.Delivery, a *engine.Arrived) { a.Delivery = nil })
		}, "is not there"},
		"another run":    {func(_ *testing.T, f *farm) { again(f, func(r *receipts.Receipt) { r.Run = "r-1" }) }, "another run"},
		"another step":   {func(_ *testing.T, f *farm) { again(f, func(r *receipts.Receipt) { r.Step = "2" }) }, "another step"},
		"a late one":     {func(_ *testing.T, f *farm) { again(f, func(r *receipts.Receipt) { r.Dispatch = 2 }) }, "another dispatch"},
		"another nonce":  {func(_ *testing.T, f *farm) { again(f, func(r *receipts.Receipt) { r.Nonce = "n-0" }) }, "another nonce"},
		"another script": {func(_ *testing.T, f *farm) { again(f, func(r *receipts.Receipt) { r.Script = receipts.Hash{1} }) }, "another script"},
		"another matrix": {func(_ *testing.T, f *farm) { again(f, func(r *receipts.Receipt) { r.Matrix = receipts.Hash{1} }) }, "another matrix"},
		"another command": {func(_ *testing.T, f *farm) {
			again(f, func(r *receipts.Receipt) {
				r.Argv, r.Command = []receipts.Datum{receipts.Text("true")}, receipts.CommandHash([]string{"true"})
			})
		}, "another command"},
		"other files": {func(_ *testing.T, f *farm) {
			again(f, func(r *receipts.Receipt) { r.Workspace.Before.Bytes = receipts.Hash{1} })
		}, "other files"},
		"no files": {func(_ *testing.T, f *farm) { again(f, func(r *receipts.Receipt) { r.Workspace = nil }) }, "other files"},
		"the files of before": {func(_ *testing.T, f *farm) {
			_ = os.WriteFile(filepath.Join(f.clone.dir, "a.txt"), []byte("old\n"), 0o644)
		}, "other files"},
		"a pass of a failure": {func(_ *testing.T, f *farm) {
			first(f, func(d *attempt.Delivery, a *engine.Arrived) {
				var r receipts.Receipt
				_ = json.Unmarshal(d.Body, &r)
				r.Status, r.StopReason = receipts.StatusFailed, receipts.StopCrashed
				rec, _ := r.Record()
				d.Body = rec.Body
				d.Signature, _ = f.signer.Sign(f.origin, rec.SHA())
			})
		}, "its receipt failed"},
		"a repeated one": {func(_ *testing.T, f *farm) { again(f, func(r *receipts.Receipt) { r.Reused = receipts.Hash{1} }) }, "another reused"},
		"pending":        {func(_ *testing.T, f *farm) { again(f, func(r *receipts.Receipt) { r.Status = receipts.Pending }) }, "its receipt pending"},
		"a file that it changed": {func(_ *testing.T, f *farm) {
			first(f, func(d *attempt.Delivery, _ *engine.Arrived) { d.Changed = []string{"a.txt"} })
		}, ""},
	}
	steps := func(b *builder) []*plan.Step { return []*plan.Step{b.sh("a", "true"), b.sh("b", "true"), gate()} }
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, r, o := newFarm(t, steps)
			tt.lie(t, f)
			out := r.run(t, o, steps(r.builder)...)
			if out.Gate.Verdict == attempt.GatePassed || out.ExitStatus() == 0 {
				t.Errorf("the gate passed: %s", verdicts(out.Results))
			}
			if tt.want == "" {
				if out.Gate.Verdict != attempt.GateRefusal {
					t.Errorf("gate %s, %s", out.Gate.Verdict, verdicts(out.Results))
				}
				return
			}
			if got := out.Results[0]; got.Verdict != schedule.Fault || got.Reason != receipts.StopUntrusted || !strings.Contains(got.Detail, tt.want) {
				t.Errorf("%s %s: %s", got.Verdict, got.Reason, got.Detail)
			}
		})
	}
}

// A run that cannot be handed out, or that is not heard of any more, ends in a fault, and its clean-up is not waited for.
func TestUnreached(t *testing.T) {
	steps := func(b *builder) []*plan.Step {
		last := b.sh("c", "true")
		last.Finally = true
		return []*plan.Step{b.sh("a", "true"), group(true, b.sh("b", "true"), b.sh("b2", "true")), last, gate()}
	}
	for _, begun := range []bool{false, true} {
		f, r, o := newFarm(t, steps)
		if begun {
			f.lose = func(a schedule.Action, _ int) bool {
				if a.ID == "2.1" {
					f.gone()
				}
				return false
			}
		} else {
			f.never = errors.New("no server answers")
		}
		out := r.run(t, o, steps(r.builder)...)
		if out.ExitStatus() != 2 || out.Gate.Verdict != attempt.GateNotRun || len(out.Results) != 4 {
			t.Errorf("begun %v: status %d, gate %s, %s", begun, out.ExitStatus(), out.Gate.Verdict, verdicts(out.Results))
		}
		engine.Leaves(out.Results, func(res *engine.Result) {
			if res.Verdict == "" {
				t.Errorf("begun %v: step %s has no verdict", begun, res.Step.ID)
			}
		})
	}
}

// What comes twice counts once.
func TestTwice(t *testing.T) {
	steps := func(b *builder) []*plan.Step { return []*plan.Step{b.sh("a", "true"), b.sh("b", "true"), gate()} }
	f, r, o := newFarm(t, steps)
	f.twice = true
	out := r.run(t, o, steps(r.builder)...)
	if out.Gate.Verdict != attempt.GatePassed || out.Gate.Members != 2 {
		t.Errorf("%+v", out.Gate)
	}
}

// A worker that is lost in a line that reads is replaced, and each loss is recorded; in the end the line is a fault.
func TestLost(t *testing.T) {
	steps := func(b *builder) []*plan.Step { return []*plan.Step{b.sh("a", "true"), b.sh("b", "true"), gate()} }
	for times, want := range map[int]string{1: "passed passed passed", 2: "passed passed passed", 3: "fault/worker_lost passed skipped/barrier@1"} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			f, r, o := newFarm(t, steps)
			f.lose = func(a schedule.Action, dispatch int) bool { return a.ID == "1" && dispatch <= times }
			out := r.run(t, o, steps(r.builder)...)
			if got := verdicts(out.Results); got != want {
				t.Errorf("%s", got)
			}
			lost := 0
			entries, err := r.store.List(t.Context(), sqlite.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if v, _ := e.Parse(); v != nil {
					if rec, ok := v.(*receipts.Receipt); ok && rec.StopReason == receipts.StopWorkerLost {
						lost++
					}
				}
			}
			if lost != times {
				t.Errorf("%d losses are recorded, want %d", lost, times)
			}
		})
	}
}

// Of one attempt a store takes one receipt of a worker, also where two processes hear of two.
func TestOneReceipt(t *testing.T) {
	f, r, o := newFarm(t, func(b *builder) []*plan.Step { return []*plan.Step{b.sh("a", "true")} })
	out := r.run(t, o, r.sh("a", "true"))
	if out.Gate.Verdict != attempt.GatePassed {
		t.Fatalf("%+v", out.Gate)
	}
	rec := *r.receipt(t, out.Results[0])
	rec.DurationNS++
	second, err := rec.Record()
	if err != nil {
		t.Fatal(err)
	}
	g, _ := f.signer.Sign(f.origin, second.SHA())
	if err := r.store.Durable(t.Context(), r.store.SubmitSigned(second, g, o.Worker.Keys)); err == nil || !strings.Contains(err.Error(), "has the receipt") {
		t.Errorf("a second receipt of one attempt: %v", err)
	}
}

// A run whose orchestrator died after its gates were decided is taken up by another one, which finds them.
func TestResumed(t *testing.T) {
	steps := func(b *builder) []*plan.Step {
		return []*plan.Step{b.sh("a", "true"), gate(), b.sh("b", "true"), gate()}
	}
	f, r, o := newFarm(t, steps)
	o.Began = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	first := r.run(t, o, steps(r.builder)...)
	if first.Gate.Verdict != attempt.GatePassed {
		t.Fatalf("%+v", first.Gate)
	}
	f.log.replay = f.log.batches
	for _, resumed := range []bool{true, false} {
		o.Resumed = resumed
		again := r.run(t, o, steps(r.builder)...)
		if resumed != (again.Gate.Verdict == attempt.GatePassed) || resumed && (again.Gate.ID != first.Gate.ID || again.Results[1].Gate.ID != first.Results[1].Gate.ID) {
			t.Errorf("resumed %v: %+v, and not %+v", resumed, again.Gate, first.Gate)
		}
	}
}

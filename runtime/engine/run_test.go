package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
)

// A builder makes plans without a script.
type builder struct {
	dir string
}

func newBuilder(t testing.TB) *builder { return &builder{dir: t.TempDir()} }

func (b *builder) plan(steps ...*plan.Step) *plan.Plan {
	for i, s := range steps {
		b.number(s, fmt.Sprint(i+1), i+1)
	}
	return &plan.Plan{
		Script: plan.Script{Name: "test.dlct", SHA256: strings.Repeat("1", 64)},
		Matrix: plan.Matrix{Name: "routing.toml", Root: b.dir, SHA256: strings.Repeat("2", 64)},
		Steps:  steps,
	}
}

func (b *builder) number(s *plan.Step, id string, line int) {
	s.ID, s.Line = id, plan.Line{File: "test.dlct", Number: line, Text: s.Binding}
	for i, m := range s.Members {
		b.number(m, fmt.Sprintf("%s.%d", id, i+1), line)
	}
}

// sh is a step that runs a shell script; name begins with "write" if it writes.
func (b *builder) sh(name, script string) *plan.Step {
	s := &plan.Step{
		Binding: name, Verb: "check", Noun: name, Kind: plan.Process, Argv: []string{"/bin/sh", "-c", script},
		Dir: b.dir, Effect: plan.Read, ReceiptRequired: true, Budget: plan.Budget{TailLines: 20},
	}
	if strings.HasPrefix(name, "write") {
		s.Effect = plan.Write
	}
	return s
}

// from returns a clock that stands still until the file is there: a budget of a run that is measured by it cannot be spent before what
// is to spend it has begun, however slow the machine is.
func from(file string) func() time.Duration {
	var mu sync.Mutex
	var began time.Time
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		if began.IsZero() {
			if _, err := os.Stat(file); err != nil {
				return 0
			}
			began = time.Now()
		}
		return time.Since(began)
	}
}

// until is a script that ends once the file is there.
func until(file string) string { return "until test -e " + file + "; do sleep 0.01; done" }

func gate() *plan.Step {
	return &plan.Step{Binding: "gate_results", Verb: "gate", Noun: "results", Kind: plan.Builtin, Target: plan.GateResults, Effect: plan.Read}
}

func group(parallel bool, members ...*plan.Step) *plan.Step {
	return &plan.Step{Binding: "group", Kind: plan.Composite, Members: members, Parallel: parallel, Effect: plan.Read}
}

func open(t testing.TB, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), filepath.Join(dir, "receipts.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func run(t testing.TB, p *plan.Plan, o engine.Options) *engine.Outcome {
	t.Helper()
	if o.Run == "" {
		o.Run = "r-" + fmt.Sprintf("%016x", time.Now().UnixNano())
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	return engine.Run(context.Background(), p, o)
}

// verdicts renders the verdicts of all results: "passed failed skipped/barrier".
func verdicts(rs []*engine.Result) string {
	var words []string
	for _, r := range rs {
		w := string(r.Verdict)
		if r.Verdict == schedule.Skipped || r.Verdict == schedule.Fault || r.Verdict == schedule.Cancelled {
			w += "/" + string(r.Reason)
		}
		if r.By != "" {
			w += "@" + r.By
		}
		if len(r.Members) > 0 {
			w += "(" + verdicts(r.Members) + ")"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func TestOrder(t *testing.T) {
	ok := func(b *builder) *plan.Step { return b.sh("ok", "exit 0") }
	no := func(b *builder) *plan.Step { return b.sh("no", "exit 1") }
	write := func(b *builder) *plan.Step { return b.sh("write", "exit 0") }
	after := func(b *builder) *plan.Step {
		s := b.sh("write repair", "exit 0")
		s.WhenFailure = true
		return s
	}
	when := func(s *plan.Step) *plan.Step { s.WhenFailure = true; return s }
	tests := []struct {
		name   string
		steps  func(b *builder) []*plan.Step
		opt    engine.Options
		want   string
		gate   attempt.GateVerdict
		status int
	}{
		{"all pass", func(b *builder) []*plan.Step { return []*plan.Step{ok(b), write(b)} },
			engine.Options{}, "passed passed", attempt.GatePassed, 0},
		{"barrier", func(b *builder) []*plan.Step { return []*plan.Step{ok(b), no(b), ok(b), write(b)} },
			engine.Options{}, "passed failed passed skipped/barrier@2", attempt.GateNotRun, 1},
		{"keep going", func(b *builder) []*plan.Step { return []*plan.Step{no(b), write(b)} },
			engine.Options{KeepGoing: true}, "failed passed", attempt.GateNotRun, 1},
		{"fail fast", func(b *builder) []*plan.Step { return []*plan.Step{no(b), ok(b), write(b)} },
			engine.Options{FailFast: true}, "failed skipped/fail_fast@1 skipped/fail_fast@1", attempt.GateNotRun, 1},
		{"only after a failure", func(b *builder) []*plan.Step { return []*plan.Step{ok(b), after(b)} },
			engine.Options{}, "passed skipped/no_failure", attempt.GatePassed, 0},
		{"after a failure", func(b *builder) []*plan.Step { return []*plan.Step{no(b), after(b)} },
			engine.Options{}, "failed passed", attempt.GateNotRun, 1},
		{"a group only after a failure", func(b *builder) []*plan.Step { return []*plan.Step{ok(b), when(group(false, ok(b), write(b)))} },
			engine.Options{}, "passed skipped/no_failure(skipped/no_failure skipped/no_failure)", attempt.GatePassed, 0},
		{"a group after a failure", func(b *builder) []*plan.Step { return []*plan.Step{no(b), when(group(false, ok(b), write(b)))} },
			engine.Options{}, "failed passed(passed passed)", attempt.GateNotRun, 1},
		{"a gate only after a failure", func(b *builder) []*plan.Step { return []*plan.Step{ok(b), when(gate()), ok(b)} },
			engine.Options{}, "passed skipped/no_failure passed", attempt.GatePassed, 0},
		{"barrier within a group", func(b *builder) []*plan.Step { return []*plan.Step{group(false, no(b), write(b)), write(b)} },
			engine.Options{}, "failed(failed skipped/barrier@1.1) skipped/barrier@1.1", attempt.GateNotRun, 1},
		{"nested groups on one slot", func(b *builder) []*plan.Step {
			return []*plan.Step{group(true, group(true, ok(b), ok(b)), ok(b), group(false, ok(b), group(true, ok(b), ok(b))))}
		}, engine.Options{Options: attempt.Options{Jobs: 1}}, "passed(passed(passed passed) passed passed(passed passed(passed passed)))", attempt.GatePassed, 0},
		{"gate in the middle", func(b *builder) []*plan.Step { return []*plan.Step{ok(b), gate(), ok(b), gate()} },
			engine.Options{}, "passed passed passed passed", attempt.GatePassed, 0},
		{"gate over a failure", func(b *builder) []*plan.Step { return []*plan.Step{no(b), gate(), ok(b)} },
			engine.Options{}, "failed skipped/barrier@1 passed", attempt.GateNotRun, 1},
		{"gate alone", func(*builder) []*plan.Step { return []*plan.Step{gate()} },
			engine.Options{}, "fault/vacuous", attempt.GateVacuous, 2},
		{"nothing", func(*builder) []*plan.Step { return nil }, engine.Options{}, "", attempt.GateVacuous, 2},
		{"all skipped", func(b *builder) []*plan.Step { return []*plan.Step{after(b)} },
			engine.Options{}, "skipped/no_failure", attempt.GateVacuous, 2},
		{"deferred", func(b *builder) []*plan.Step { return []*plan.Step{ok(b), gate()} },
			engine.Options{Options: attempt.Options{DeferGate: true}}, "passed passed", attempt.GateDeferred, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBuilder(t)
			tt.opt.Store = open(t, t.TempDir())
			o := run(t, b.plan(tt.steps(b)...), tt.opt)
			if got := verdicts(o.Results); got != tt.want {
				t.Errorf("verdicts %s\nwant     %s", got, tt.want)
			}
			if o.Gate.Verdict != tt.gate {
				t.Errorf("gate %s (%s), want %s", o.Gate.Verdict, o.Gate.Detail, tt.gate)
			}
			if got := o.ExitStatus(); got != tt.status {
				t.Errorf("exit status %d, want %d", got, tt.status)
			}
		})
	}
}

// A result has one receipt for each attempt, and the final gate has consumed all
// of a passing run, the gate in the middle included.
func TestReceipts(t *testing.T) {
	ctx := context.Background()
	b := newBuilder(t)
	s := open(t, t.TempDir())
	flaky := b.sh("flaky", "test -e again || { touch again; exit 1; }")
	flaky.Budget.Retries = 2
	o := run(t, b.plan(b.sh("a", "exit 0"), gate(), flaky, group(true, b.sh("b", "exit 0"), b.sh("c", "exit 0"))), engine.Options{Options: attempt.Options{Store: s}})
	if got, want := verdicts(o.Results), "passed passed flaky passed(passed passed)"; got != want {
		t.Fatalf("verdicts %s, want %s", got, want)
	}
	if o.Gate.Verdict != attempt.GatePassed || !o.Gate.Final {
		t.Fatalf("gate %+v", o.Gate)
	}
	unspent, err := s.List(ctx, sqlite.Filter{Unspent: true})
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range unspent {
		left = append(left, string(e.Kind))
	}
	// The failed attempt, which no gate may consume, and the final gate.
	slices.Sort(left)
	if want := []string{"gate", "receipt"}; !slices.Equal(left, want) {
		t.Errorf("unconsumed: %v, want %v", left, want)
	}
	e, err := s.Get(ctx, o.Gate.ID)
	if err != nil {
		t.Fatal(err)
	}
	v, err := e.Parse()
	if err != nil {
		t.Fatal(err)
	}
	// Its members: flaky, b, c, and the gate in the middle.
	if g := v.(*receipts.Gate); len(g.Members) != 4 || !slices.Contains(g.Members, o.Results[1].Receipt) {
		t.Errorf("members of the final gate: %v", g.Members)
	}
	if n := len(o.Results[2].Earlier); n != 1 || o.Results[2].Attempts != 2 {
		t.Errorf("flaky: %d earlier receipts, %d attempts", n, o.Results[2].Attempts)
	}
	a, err := s.Audit(ctx)
	if err != nil || !a.Consistent() {
		t.Errorf("verify: %v %+v", err, a)
	}
}

// A failingStore is a store that fails from its nth call on.
type failingStore struct {
	attempt.Store
	mu   sync.Mutex
	left int
}

var errFull = errors.New("database or disk is full")

func (s *failingStore) fail() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left--; s.left < 0 {
		return errFull
	}
	return nil
}

func (s *failingStore) Append(ctx context.Context, rs ...receipts.Record) error {
	if err := s.fail(); err != nil {
		return err
	}
	return s.Store.Append(ctx, rs...)
}

func (s *failingStore) Durable(ctx context.Context, ticket int64) error {
	if err := s.fail(); err != nil {
		return err
	}
	return s.Store.Durable(ctx, ticket)
}

func (s *failingStore) Gate(ctx context.Context, g receipts.GateRequest) (receipts.Decision, error) {
	if err := s.fail(); err != nil {
		return receipts.Decision{}, err
	}
	return s.Store.Gate(ctx, g)
}

// Whenever the store fails: every line has its verdict, what only reads runs,
// what writes does not once the failure is known, and no gate passes.
func TestStoreFails(t *testing.T) {
	for left := range 4 {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			b := newBuilder(t)
			s := &failingStore{Store: open(t, t.TempDir()), left: left}
			o := run(t, b.plan(b.sh("a", "exit 0"), b.sh("write", "exit 0"), b.sh("b", "exit 0"), b.sh("write", "exit 0")), engine.Options{Options: attempt.Options{Store: s}})
			if len(o.Results) != 4 {
				t.Fatalf("%d results", len(o.Results))
			}
			// The store is asked to keep the run's start, then before each line that
			// writes, then by the gate.
			if o.Degraded == "" || o.Gate.Verdict == attempt.GatePassed {
				t.Errorf("degraded %q, gate %s", o.Degraded, o.Gate.Verdict)
			}
			if o.Results[0].Verdict != schedule.Passed || o.Results[2].Verdict != schedule.Passed {
				t.Errorf("reading lines: %s", verdicts(o.Results))
			}
			if o.ExitStatus() != 3 {
				t.Errorf("exit status %d with verdicts %s, gate %s", o.ExitStatus(), verdicts(o.Results), o.Gate.Verdict)
			}
			if left <= 1 && (o.Results[1].Reason != schedule.NoStore || !o.Results[0].Degraded) {
				t.Errorf("%s, first degraded %v", verdicts(o.Results), o.Results[0].Degraded)
			}
		})
	}
}

// A gate that is deferred needs receipts to be left for it.
func TestDeferredWithoutStore(t *testing.T) {
	b := newBuilder(t)
	o := run(t, b.plan(b.sh("a", "exit 0")), engine.Options{Options: attempt.Options{DeferGate: true, Degraded: "none"}})
	if o.Gate.Verdict != attempt.GateRefusal || o.ExitStatus() != 3 {
		t.Errorf("gate %s, exit status %d", o.Gate.Verdict, o.ExitStatus())
	}
}

// Cancelling with a signal ends the run: what ran is interrupted, what follows is
// cancelled, and the receipts are kept.
func TestSignal(t *testing.T) {
	b := newBuilder(t)
	s := open(t, t.TempDir())
	ctx, cancel := context.WithCancelCause(context.Background())
	o := engine.Run(ctx, b.plan(b.sh("a", "exit 0"), b.sh("long", "sleep 60"), b.sh("b", "exit 0")), engine.Options{
		Options: attempt.Options{Run: "r-0000000000000001", Store: s, Environ: os.Environ(),
			Listen: func(e engine.Event) {
				if e, ok := e.(attempt.Started); ok && e.Step.ID == "2" {
					cancel(engine.Signal{Name: "SIGTERM"})
				}
			}},
	})
	if got, want := verdicts(o.Results), "passed fault/interrupted cancelled/interrupted"; got != want {
		t.Errorf("verdicts %s, want %s", got, want)
	}
	if o.ExitStatus() != 143 || o.Gate.Verdict != attempt.GateNotRun {
		t.Errorf("exit status %d, gate %s", o.ExitStatus(), o.Gate.Verdict)
	}
	es, err := s.List(context.Background(), sqlite.Filter{})
	if err != nil || len(es) != 2 {
		t.Errorf("%d receipts, %v; want those of the two lines that ran", len(es), err)
	}
}

// With --fail-fast the siblings of a failed member are killed, and are told apart
// from it.
func TestFailFastSiblings(t *testing.T) {
	b := newBuilder(t)
	o := run(t, b.plan(group(true, b.sh("long", "touch begun; sleep 60"), b.sh("no", until("begun")+"; exit 1"))), engine.Options{
		FailFast: true, Options: attempt.Options{Store: open(t, t.TempDir()), Jobs: 2},
	})
	if got, want := verdicts(o.Results), "failed(cancelled/fail_fast@1.2 failed)"; got != want {
		t.Errorf("verdicts %s, want %s", got, want)
	}
}

func TestExpectations(t *testing.T) {
	tests := []struct {
		name, script string
		expect       plan.Expect
		want         string
	}{
		{"exit code wanted", "exit 3", plan.Expect{ExitCodes: []int{0, 3}}, "passed"},
		{"exit code not wanted", "exit 0", plan.Expect{ExitCodes: []int{3}}, "failed"},
		{"silent", "echo x >&2", plan.Expect{EmptyStdout: true}, "passed"},
		{"not silent", "echo x", plan.Expect{EmptyStdout: true}, "failed"},
		{"output matches", "echo all good", plan.Expect{Stdout: "^all good$"}, "failed"},
		{"output matches by line", "echo all good", plan.Expect{Stdout: "(?m)^all good$"}, "passed"},
		{"the beginning of long output counts", "echo bad; yes ok | head -c 6000000", plan.Expect{Stdout: `^(ok\n)+$`}, "failed"},
		{"long output matches", "yes ok | head -c 6000000", plan.Expect{Stdout: `^(ok\n)+$`}, "passed"},
		{"output is too long to be judged", "yes ok | head -c 18000000", plan.Expect{Stdout: "ok"}, "failed"},
		{"tests ran", "echo '3 passed in 0.1s'", plan.Expect{MinTests: 3}, "passed"},
		{"too few tests", "echo '2 passed in 0.1s'", plan.Expect{MinTests: 3}, "fault/vacuous"},
		{"no tests", "echo 'no tests ran in 0.1s'", plan.Expect{MinTests: 1}, "fault/vacuous"},
		{"unittest", "echo 'Ran 12 tests in 0.001s' >&2; echo OK >&2", plan.Expect{MinTests: 12}, "passed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBuilder(t)
			s := b.sh("x", tt.script)
			s.Expect = tt.expect
			o := run(t, b.plan(s), engine.Options{Options: attempt.Options{Store: open(t, t.TempDir())}})
			if got := verdicts(o.Results); got != tt.want {
				t.Errorf("%s (%s), want %s", got, o.Results[0].Detail, tt.want)
			}
		})
	}
}

// Events come one at a time, and every step that started has finished.
func TestEvents(t *testing.T) {
	b := newBuilder(t)
	var members []*plan.Step
	for i := range 40 {
		members = append(members, b.sh(fmt.Sprint("m", i), "echo x; exit 0"))
	}
	running := make(map[string]bool)
	inside := 0
	var finished []string
	o := run(t, b.plan(group(true, members...)), engine.Options{
		Options: attempt.Options{Store: open(t, t.TempDir()), Jobs: 8, Output: true,
			Listen: func(e engine.Event) {
				if inside++; inside != 1 {
					t.Error("two events at once")
				}
				switch e := e.(type) {
				case attempt.Started:
					running[e.Step.ID] = true
					if len(running) > 8 {
						t.Errorf("%d at once", len(running))
					}
				case attempt.Output:
					if !running[e.Step.ID] {
						t.Errorf("output of %s, which does not run", e.Step.ID)
					}
				case engine.StepFinished:
					delete(running, e.Result.Step.ID)
					finished = append(finished, e.Result.Step.ID)
				}
				inside--
			}},
	})
	if len(running) > 0 || len(finished) != 41 || o.Gate.Verdict != attempt.GatePassed {
		t.Errorf("running %v, finished %d, gate %s", running, len(finished), o.Gate.Verdict)
	}
	for i, m := range o.Results[0].Members {
		if want := fmt.Sprintf("1.%d", i+1); m.Step.ID != want {
			t.Errorf("member %d is %s", i, m.Step.ID)
		}
	}
}

// BenchmarkTrue is a hundred commands that do nothing, by the runner with and
// without a store, and by a bare loop.
func BenchmarkTrue(b *testing.B) {
	build := newBuilder(b)
	var steps []*plan.Step
	for range 100 {
		steps = append(steps, &plan.Step{
			Binding: "true", Kind: plan.Process, Argv: []string{"/bin/true"}, Dir: build.dir, Effect: plan.Read,
		})
	}
	p := build.plan(steps...)
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			for range 100 {
				if err := exec.Command("/bin/true").Run(); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	for _, bb := range []struct {
		name  string
		store attempt.Store
	}{{"no store", nil}, {"receipts", open(b, b.TempDir())}} {
		b.Run(bb.name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				n++
				if o := run(b, p, engine.Options{Options: attempt.Options{Run: fmt.Sprintf("r-%016x-%d", n, b.N), Store: bb.store}}); o.ExitStatus() != 0 {
					b.Fatal(o.Gate.Detail)
				}
			}
		})
	}
}

package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/schedule"
)

func finally(s *plan.Step) *plan.Step { s.Finally = true; return s }

func TestFinally(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps func(b *builder) []*plan.Step
		opt   engine.Options
		want  string
	}{
		{"after a failure", func(b *builder) []*plan.Step {
			return []*plan.Step{group(false, finally(b.sh("write clean", "echo clean >>log")), b.sh("no", "echo no >>log; exit 1"))}
		}, engine.Options{}, "failed(passed failed)"},
		{"in a parallel group, last", func(b *builder) []*plan.Step {
			return []*plan.Step{group(true, finally(b.sh("write clean", "echo clean >>log")), b.sh("ok", "sleep 0.1; echo ok >>log"), b.sh("no", "exit 1"))}
		}, engine.Options{}, "failed(passed passed failed)"},
		{"nothing to clean up", func(b *builder) []*plan.Step {
			return []*plan.Step{b.sh("no", "exit 1"), group(false, b.sh("write", "exit 0"), finally(b.sh("write clean", "echo clean >>log")))}
		}, engine.Options{}, "failed skipped/barrier@1(skipped/barrier@1 skipped/not_needed)"},
		{"fail fast", func(b *builder) []*plan.Step {
			return []*plan.Step{group(false, b.sh("no", "exit 1"), b.sh("ok", "exit 0"), finally(b.sh("write clean", "echo clean >>log")))}
		}, engine.Options{FailFast: true}, "failed(failed skipped/fail_fast@1.1 passed)"},
		{"the budget of the run", func(b *builder) []*plan.Step {
			return []*plan.Step{group(false, b.sh("slow", "touch begun; sleep 60"), b.sh("ok", "exit 0"), finally(b.sh("write clean", "echo clean >>log")))}
		}, engine.Options{Budget: plan.Budget{Timeout: 50 * time.Millisecond}}, "fault/timeout(fault/timeout cancelled/timeout passed)"},
		{"a composite", func(b *builder) []*plan.Step {
			return []*plan.Step{group(false, b.sh("slow", "touch begun; sleep 60"), finally(group(true, b.sh("write a", "exit 0"), group(false, b.sh("write clean", "sleep 0.1; echo clean >>log")))))}
		}, engine.Options{Budget: plan.Budget{Timeout: 50 * time.Millisecond}}, "fault/timeout(fault/timeout passed(passed passed(passed)))"},
		{"a line", func(b *builder) []*plan.Step {
			return []*plan.Step{b.sh("no", "exit 1"), finally(b.sh("write clean", "echo clean >>log"))}
		}, engine.Options{}, "failed passed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuilder(t)
			p := b.plan(c.steps(b)...)
			c.opt.Store = open(t, t.TempDir())
			engine.SetClock(&c.opt, from(filepath.Join(b.dir, "begun")))
			o := run(t, p, c.opt)
			if got := verdicts(o.Results); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			text, _ := os.ReadFile(filepath.Join(b.dir, "log"))
			if cleaned := strings.HasSuffix(string(text), "clean\n"); cleaned != !strings.Contains(c.want, "not_needed") {
				t.Errorf("log %q", text)
			}
			if o.ExitStatus() == 0 {
				t.Error("exit status 0")
			}
		})
	}
}

// What runs in any case runs after an interruption too; a second one ends it.
func TestFinallyInterrupted(t *testing.T) {
	for _, twice := range []bool{false, true} {
		b := newBuilder(t)
		clean := "echo begun >>log; sleep 0.1; echo clean >>log"
		if twice {
			clean = "echo begun >>log; sleep 60"
		}
		p := b.plan(group(false, b.sh("slow", "echo slow >>log; sleep 60"), finally(b.sh("write clean", clean))))
		ctx, cancel := context.WithCancelCause(context.Background())
		control := new(engine.JobControl)
		wait := func(word string) {
			for range 2000 {
				if text, _ := os.ReadFile(filepath.Join(b.dir, "log")); strings.Contains(string(text), word) {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}
		go func() {
			wait("slow")
			cancel(engine.Signal{Name: "SIGINT"})
			if twice {
				wait("begun")
				control.Kill()
			}
		}()
		o := engine.Run(ctx, p, engine.Options{JobControl: control, Options: attempt.Options{Run: "r-1", Environ: os.Environ(), Store: open(t, t.TempDir())}})
		want, status := "fault/interrupted(fault/interrupted passed)", 130
		if twice {
			want = "fault/interrupted(fault/interrupted fault/interrupted)"
		}
		if got := verdicts(o.Results); got != want || o.ExitStatus() != status {
			t.Errorf("twice %t: got %s, status %d", twice, got, o.ExitStatus())
		}
	}
}

// Two that exclude each other never run at once: in one run, in two, and nested.
func TestExclusive(t *testing.T) {
	b := newBuilder(t)
	locks := filepath.Join(b.dir, "locks")
	// Fails if the other is inside.
	script := "mkdir busy || exit 1; sleep 0.03; rmdir busy"
	member := func(i int) *plan.Step {
		s := b.sh(fmt.Sprint("m", i), script)
		s.Exclusive = "db"
		return s
	}
	nested := group(true, member(8), group(false, member(9)))
	nested.Exclusive = "db" // its members hold it already, and so exclude nobody within
	nested.Members[0].Argv[2], nested.Members[1].Members[0].Argv[2] = "test ! -e busy", "test ! -e busy"
	p := b.plan(group(true, member(1), member(2), b.sh("free", "exit 0"), member(3), nested))
	done := make(chan string)
	for i := range 3 {
		go func() {
			o := engine.Run(t.Context(), p, engine.Options{LockDir: locks, Options: attempt.Options{Run: fmt.Sprint("r-", i), Jobs: 4, Environ: os.Environ(), Degraded: "none"}})
			done <- verdicts(o.Results)
		}()
	}
	for range 3 {
		if got := <-done; strings.Contains(got, "fail") || strings.Contains(got, "fault") {
			t.Error(got)
		}
	}
}

func TestExclusiveWaits(t *testing.T) {
	b := newBuilder(t)
	locks := filepath.Join(b.dir, "locks")
	holder := b.sh("holder", "echo >held; sleep 60")
	holder.Exclusive = "db"
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan bool)
	go func() {
		engine.Run(ctx, newBuilder(t).plan(holder), engine.Options{LockDir: locks, Options: attempt.Options{Run: "r-h", Environ: os.Environ(), Degraded: "none"}})
		close(over)
	}()
	for range 2000 {
		if _, err := os.Stat(filepath.Join(b.dir, "held")); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	step := b.sh("waiter", "exit 0")
	step.Exclusive, step.Budget.Timeout = "db", 100*time.Millisecond
	var waited, by string
	o := run(t, b.plan(step, b.sh("next", "exit 0")), engine.Options{LockDir: locks, Options: attempt.Options{Store: open(t, t.TempDir()), Listen: func(e engine.Event) {
		if w, ok := e.(engine.StepWaiting); ok {
			waited, by = waited+w.Lock, by+w.Holder
		}
	}}})
	if got := verdicts(o.Results); got != "fault/locked passed" || waited != "db" || by != "test.dlct:1 of r-h" || o.ExitStatus() != 2 {
		t.Errorf("got %s, waited for %q", got, waited)
	}
	if r := o.Results[0]; !strings.HasPrefix(r.Detail, `cannot take the lock "db": test.dlct:1 of r-h still holds it after 1`) || r.Receipt.IsZero() || r.Waited < 100*time.Millisecond {
		t.Errorf("got %+v", r)
	}
	// A run started by the lock's holder does not wait for it.
	step.Budget.Timeout = 0
	o = run(t, b.plan(step), engine.Options{LockDir: locks, Locks: []string{"db"}, Options: attempt.Options{Store: open(t, t.TempDir())}})
	if got := verdicts(o.Results); got != "passed" {
		t.Errorf("got %s", got)
	}
	// One that the holder of another lock started waits no longer than that is safe, whatever its timeout.
	for _, timeout := range []time.Duration{0, time.Hour} {
		step.Budget.Timeout = timeout
		inner := engine.Options{LockDir: locks, Locks: []string{"x", "y"}, Options: attempt.Options{Store: open(t, t.TempDir())}}
		engine.SetInnerPatience(&inner, 10*time.Millisecond)
		o = run(t, b.plan(step), inner)
		if got := verdicts(o.Results); got != "fault/locked" || !strings.HasSuffix(o.Results[0].Detail, `; the line that started this run holds "x", "y", which the other may wait for: let one lock stand for all of these`) {
			t.Errorf("got %s: %s", got, o.Results[0].Detail)
		}
	}
	step.Budget.Timeout = 0
	// An interrupted wait ends at once.
	short, stop := context.WithCancelCause(context.Background())
	time.AfterFunc(50*time.Millisecond, func() { stop(engine.Signal{Name: "SIGINT"}) })
	o = engine.Run(short, b.plan(step), engine.Options{LockDir: locks, Options: attempt.Options{Run: "r-s", Environ: os.Environ(), Degraded: "none"}})
	if got := verdicts(o.Results); got != "cancelled/interrupted" || o.Results[0].Holder != "test.dlct:1 of r-h" {
		t.Errorf("got %s, waited for %q", got, o.Results[0].Holder)
	}
	cancel()
	<-over
}

func TestRunBudget(t *testing.T) {
	for _, c := range []struct {
		name   string
		budget plan.Budget
		want   string
	}{
		{"timeout", plan.Budget{Timeout: 100 * time.Millisecond}, "passed fault/timeout cancelled/timeout"},
		{"stall", plan.Budget{Stall: 100 * time.Millisecond}, "passed fault/stall cancelled/stall"},
		{"output", plan.Budget{MaxOutput: 10_000}, "passed fault/output_limit cancelled/output_limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuilder(t)
			slow := "touch begun; sleep 60"
			if c.budget.MaxOutput > 0 {
				slow = "yes"
			}
			opt := engine.Options{Budget: c.budget, Options: attempt.Options{Store: open(t, t.TempDir())}}
			engine.SetClock(&opt, from(filepath.Join(b.dir, "begun")))
			o := run(t, b.plan(b.sh("ok", "echo x"), b.sh("slow", slow), b.sh("never", "exit 0")), opt)
			if got := verdicts(o.Results); got != c.want || o.ExitStatus() != 2 || o.Limit == "" {
				t.Errorf("got %s, status %d, limit %q", got, o.ExitStatus(), o.Limit)
			}
		})
	}
	// One that is not spent changes nothing; one that is spent as a step ends is a fault of
	// the run all the same.
	for _, c := range []struct {
		most   int64
		status int
	}{{20_000, 0}, {19_999, 2}} {
		b := newBuilder(t)
		p := b.plan(b.sh("ok", "head -c 20000 /dev/zero"), b.sh("next", "exit 0"))
		p.Budget.MaxOutput = c.most
		o := run(t, p, engine.Options{Options: attempt.Options{Store: open(t, t.TempDir())}})
		if o.ExitStatus() != c.status || (o.Limit != "") != (c.status == 2) || (o.Results[1].Verdict == schedule.Cancelled) != (c.status == 2) {
			t.Errorf("at most %d: got %s, limit %q", c.most, verdicts(o.Results), o.Limit)
		}
	}
}

// A command that runs dialect itself gets its share of the jobs.
func TestShare(t *testing.T) {
	b := newBuilder(t)
	say := func(name string) *plan.Step { return b.sh(name, "echo $DIALECT_JOBS $DIALECT_LOCKS >"+name) }
	locked := say("d")
	locked.Exclusive = "db"
	o := run(t, b.plan(say("a"), group(true, say("b"), say("c"), group(true, locked))), engine.Options{LockDir: t.TempDir(), Options: attempt.Options{Jobs: 8, Degraded: "none"}})
	if got := verdicts(o.Results); strings.Contains(got, "failed") {
		t.Fatal(got)
	}
	for name, want := range map[string]string{"a": "8", "b": "2", "c": "2", "d": "2 db"} {
		if text, _ := os.ReadFile(filepath.Join(b.dir, name)); strings.TrimSpace(string(text)) != want {
			t.Errorf("%s: got %s, want %s", name, text, want)
		}
	}
}

func TestTests(t *testing.T) {
	b := newBuilder(t)
	s := open(t, t.TempDir())
	step := func(script string, x plan.Expect) *plan.Step {
		c := b.sh("tests", script)
		c.Expect = x
		return c
	}
	one := func(script string, x plan.Expect) *engine.Result {
		return run(t, b.plan(step(script, x)), engine.Options{Options: attempt.Options{Store: s}}).Results[0]
	}
	for _, c := range []struct {
		script string
		expect plan.Expect
		want   string
		tests  receipts.Tests
	}{
		{"echo '5 passed, 1 skipped in 0.1s'", plan.Expect{}, "passed", receipts.Tests{Passed: 5, Skipped: 1}},
		{"echo 'no tests ran in 0.1s'", plan.Expect{}, "fault/vacuous", receipts.Tests{}},
		{"echo '2 skipped in 0.1s'", plan.Expect{}, "fault/vacuous", receipts.Tests{Skipped: 2}},
		{"echo '2 skipped in 0.1s'", plan.Expect{MinTests: -1}, "passed", receipts.Tests{Skipped: 2}},
		{"echo '5 passed in 0.1s'", plan.Expect{MinTests: 6}, "fault/vacuous", receipts.Tests{Passed: 5}},
		{"echo '1 failed, 4 passed in 0.1s'; exit 1", plan.Expect{}, "failed", receipts.Tests{Passed: 4, Failed: 1}},
		{"mkdir -p out; echo '<testsuite><testcase/><testcase/></testsuite>' >out/a.xml", plan.Expect{JUnit: "out/*.xml"}, "passed", receipts.Tests{Passed: 2}},
	} {
		r := one(c.script, c.expect)
		if got := verdicts([]*engine.Result{r}); got != c.want || r.Tests == nil || *r.Tests != c.tests {
			t.Errorf("%s: got %s, %+v", c.script, got, r.Tests)
		}
		e, err := s.Get(t.Context(), r.Receipt.String())
		if err != nil {
			t.Fatal(err)
		}
		v, _ := e.Parse()
		if rec := v.(*receipts.Receipt); rec.Tests == nil || *rec.Tests != c.tests {
			t.Errorf("%s: the receipt has %+v", c.script, rec.Tests)
		}
	}
	odd := filepath.Join(b.dir, "x[1]*")
	if err := os.Mkdir(odd, 0o755); err != nil {
		t.Fatal(err)
	}
	c := step("echo '<testsuite><testcase/></testsuite>' >a.xml", plan.Expect{JUnit: "*.xml"})
	c.Dir = odd
	if r := run(t, b.plan(c), engine.Options{Options: attempt.Options{Store: s}}).Results[0]; r.Tests == nil || r.Tests.Passed != 1 {
		t.Errorf("a folder whose name is a pattern: %+v, %s", r.Tests, r.Detail)
	}
	if r := one("true", plan.Expect{JUnit: "out/*.xml"}); r.Reason != receipts.StopVacuous || !strings.Contains(r.Detail, "wrote no test results") {
		t.Errorf("results of an earlier run were taken: %+v", r)
	}
	if r := one("echo '<html/>' >out/b.xml", plan.Expect{JUnit: "out/*.xml"}); r.Reason != receipts.StopVacuous {
		t.Errorf("got %+v", r)
	}
	r := one(`echo '<testsuite><testcase file="a.rb" line="3"><failure message="no"/></testcase></testsuite>' >out/a.xml; exit 1`, plan.Expect{JUnit: "out/*.xml"})
	if r.Failures.Total == 0 || r.Failures.First().String() != "a.rb:3: no" {
		t.Errorf("got %+v", r.Failures)
	}
	if r.Reason != receipts.StopExitCode {
		t.Errorf("got %s: %s", r.Reason, r.Detail)
	}
	const failing = `<testsuite><testcase/><testcase file="a.rb" line="3"><failure message="no"/></testcase><testcase><error message="no"/></testcase></testsuite>`
	r = one("echo '"+failing+"' >out/a.xml", plan.Expect{JUnit: "out/*.xml", MinTests: 1})
	if r.Verdict != schedule.Failed || r.Reason != receipts.StopExpectation || r.Detail != "exit 0, but 2 tests failed" || r.Failures.Total == 0 || r.Failures.First().String() != "a.rb:3: no" {
		t.Errorf("failed tests in the results: %s %s: %s, %v", r.Verdict, r.Reason, r.Detail, r.Failures)
	}
	r = one("echo '"+failing+" ' >out/a.xml; exit 1", plan.Expect{JUnit: "out/*.xml", ExitCodes: []int{1}})
	if r.Verdict != schedule.Failed || r.Detail != "exit 1, but 2 tests failed" {
		t.Errorf("failed tests and an accepted exit status: %s: %s", r.Verdict, r.Detail)
	}
	r = one("echo ok; echo 'BOOM in x.tla at 7'; exit 1", plan.Expect{Problems: []string{`BOOM in (?P<file>\S+) at (?P<line>\d+)`}})
	if r.Failures.Total == 0 || r.Failures.First().Place() != "x.tla:7" {
		t.Errorf("got %+v", r.Failures)
	}
	r = one("seq 100000; echo 'a.go:3:5: undefined: x' >&2; seq 100000; exit 1", plan.Expect{})
	if r.Failures.Total == 0 || r.Failures.First().String() != "a.go:3: undefined: x" {
		t.Errorf("the first error is lost in the middle of much output: %+v", r.Failures)
	}
	r = one("echo 'old.go:1:1: undefined: of an earlier step'; seq 100000; echo 'b.go:7:2: undefined: y'; exit 1", plan.Expect{})
	if f := r.Failures; f.Total != 2 || f.List[1].String() != "b.go:7: undefined: y" {
		t.Errorf("the error at the end of much output is lost: %+v", f)
	}
}

// Missing tests are reported, by comparison with the last green run of the same command.
func TestBaseline(t *testing.T) {
	b := newBuilder(t)
	s := open(t, t.TempDir())
	of := func(run_, count string) *engine.Result {
		if err := os.WriteFile(filepath.Join(b.dir, "count"), []byte(count), 0o600); err != nil {
			t.Fatal(err)
		}
		return run(t, b.plan(b.sh("tests", "cat count; grep -q failed count && exit 1 || exit 0")), engine.Options{Options: attempt.Options{Store: s, Run: run_}}).Results[0]
	}
	if r := of("r-a", "4992 passed in 1s\n"); r.Baseline != nil {
		t.Errorf("got %+v", r.Baseline)
	}
	of("r-b", "1 failed, 5000 passed in 1s\n") // not green
	r := of("r-c", "4966 passed in 1s\n")
	if r.Baseline == nil || r.Baseline.Passed != 4992 || r.Baseline.Run != "r-a" || !strings.HasPrefix(r.Baseline.Gate, "g-") || r.Verdict != schedule.Passed {
		t.Errorf("got %+v", r.Baseline)
	}
	if r := of("r-d", "4967 passed in 1s\n"); r.Baseline != nil {
		t.Errorf("got %+v", r.Baseline)
	}
}

package command_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/command"
	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
)

const matrix = `[commands.test_pytest]
verb = "test"
noun = "pytest"
tool = "pytest -q {args...}"
when = "failure"
[commands.check_file]
verb = "check"
noun = "file"
tool = "cat {file}"
[commands.check_pytest]
verb = "check"
noun = "pytest"
tool = "pytest --collect-only"
[commands.check_all]
verb = "check"
noun = "all"
composite = ["check_pytest"]
[commands.spawn_review]
verb = "spawn"
noun = "review"
tool = "new_task"
`

func project(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "routing.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAs takes a command for a binding: only the binding's own, which runs now and counts as writing.
func TestAs(t *testing.T) {
	dir := project(t, matrix)
	p, err := command.As(dir, "test_pytest", []string{"pytest", "-q"})
	if err != nil {
		t.Fatal(err)
	}
	s := p.Steps[0]
	if len(p.Steps) != 1 || s.Binding != "test_pytest" || s.WhenFailure || s.Effect != plan.Write || s.Line.File != "exec" || s.Line.Text != "pytest -q" || p.Matrix.Root != dir {
		t.Errorf("%+v", s)
	}
	for _, c := range []struct{ name, args, want, hint string }{
		{"test_pytest", "pytest", "the command is not the binding's", "dialect exec --as test_pytest -- pytest -q"},
		{"test_pytets", "pytest", "binds nothing", `did you mean "test_pytest"?`},
		{"pytest", "pytest", "several bindings", ""},
		{"check_all", "pytest", "it is a composite", "--as check_pytest"},
		{"check_file", "cat x", "it takes values", "dialect run -e"},
		{"spawn_review", "x", "runs no program", "dialect run -e"},
	} {
		_, err := command.As(dir, c.name, strings.Fields(c.args))
		var f *exit.Failure
		if !errors.As(err, &f) || f.Status != process.StatusNotBegun || !strings.HasPrefix(err.Error(), "--as "+c.name+": ") || !strings.Contains(err.Error(), c.want) || !strings.Contains(strings.Join(f.Hints, "\n"), c.hint) {
			t.Errorf("--as %s -- %s: %v", c.name, c.args, err)
		}
	}
	if _, err := command.As(project(t, "["), "x", nil); err == nil || !strings.Contains(err.Error(), "does not load") {
		t.Errorf("of a broken matrix: %v", err)
	}
}

func TestBare(t *testing.T) {
	dir := project(t, matrix)
	below := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := command.Root(below); got != dir {
		t.Errorf("the store is looked for in %s", got)
	}
	s := command.Bare(below, []string{"a b", "c"}).Steps[0]
	if s.Line.Text != "'a b' c" || s.Dir != below || s.Kind != plan.Process || s.Binding != "" {
		t.Errorf("%+v", s)
	}
}

func TestStatus(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := func(code int, signal string) *process.Result { return &process.Result{ExitCode: code, Signal: signal} }
	for _, c := range []struct {
		r              engine.Result
		argv           string
		bare, asJudged int
	}{
		{engine.Result{Report: attempt.Report{Verdict: schedule.Passed, Process: ended(0, "")}}, "x", 0, 0},
		{engine.Result{Report: attempt.Report{Verdict: schedule.Flaky, Process: ended(0, "")}}, "x", 0, 0},
		{engine.Result{Report: attempt.Report{Verdict: schedule.Failed, Process: ended(7, "")}}, "x", 7, 7},
		{engine.Result{Report: attempt.Report{Verdict: schedule.Failed, Process: ended(0, "")}}, "x", 0, exit.Failed},
		{engine.Result{Report: attempt.Report{Verdict: schedule.Passed, Process: ended(4, "")}}, "x", 4, 0}, // an exit code that is expected
		{engine.Result{Report: attempt.Report{Verdict: schedule.Fault, Reason: receipts.StopVacuous, Process: ended(0, "")}}, "x", 0, exit.Fault},
		{engine.Result{Report: attempt.Report{Verdict: schedule.Fault, Reason: receipts.StopUnrecordable, Process: ended(0, "")}}, "x", process.StatusNotBegun, exit.Fault},
		{engine.Result{Report: attempt.Report{Verdict: schedule.Fault, Reason: receipts.StopKilled, Process: ended(0, "SIGKILL")}}, "x", 137, 137},
		{engine.Result{Report: attempt.Report{Verdict: schedule.Fault, Reason: receipts.StopTimeout, Process: ended(0, "SIGTERM")}}, "x", process.StatusTimedOut, process.StatusTimedOut},
		{engine.Result{Report: attempt.Report{Verdict: schedule.Fault, Reason: receipts.StopEnvMissing}}, "none-of-that-name", process.StatusNotFound, process.StatusNotFound},
		{engine.Result{Report: attempt.Report{Verdict: schedule.Fault, Reason: receipts.StopEnvMissing}}, file, process.StatusNotRunnable, process.StatusNotRunnable},
		{engine.Result{Report: attempt.Report{Verdict: schedule.Fault, Reason: receipts.StopStartFailed, Process: ended(0, "")}}, "x", process.StatusNotBegun, process.StatusNotBegun},
		{engine.Result{Report: attempt.Report{Verdict: schedule.Fault}}, "x", process.StatusNotBegun, process.StatusNotBegun},
	} {
		c.r.Step = &plan.Step{Argv: []string{c.argv}}
		o := &engine.Outcome{Results: []*engine.Result{&c.r}}
		if bare, judged := command.Status(o, false, false), command.Status(o, true, false); bare != c.bare || judged != c.asJudged {
			t.Errorf("%+v: %d and %d, want %d and %d", c.r, bare, judged, c.bare, c.asJudged)
		}
		for judged, want := range map[bool]int{false: c.bare, true: c.asJudged} {
			if want == 0 {
				want = process.StatusNotBegun
			}
			if got := command.Status(o, judged, true); got != want {
				t.Errorf("%+v, without its receipt: %d, want %d", c.r, got, want)
			}
		}
	}
	if got := command.Status(&engine.Outcome{Signal: "SIGTERM", Results: []*engine.Result{{}}}, false, true); got != 143 {
		t.Errorf("interrupted: %d", got)
	}
}

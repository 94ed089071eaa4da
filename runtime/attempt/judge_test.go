package attempt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// judged is the report of a process that wrote stdout and stderr and ended with status.
func judged(argv []string, status int, stdout, stderr string) *Report {
	return judgedOf(&plan.Step{Kind: plan.Process, Argv: argv}, status, stdout, stderr)
}

func judgedOf(s *plan.Step, status int, stdout, stderr string) *Report {
	o := observe(s, nil)
	for stream, text := range []string{stdout, stderr} {
		o.tests.Write(stream, []byte(text))
		o.errors.Write(stream, []byte(text))
	}
	out := func(text string) process.Output {
		return process.Output{Bytes: int64(len(text)), Head: []byte(text)}
	}
	res := &Report{Step: s, Process: &process.Result{ExitCode: status, Stdout: out(stdout), Stderr: out(stderr), Tail: []byte(stdout + stderr)}}
	o.judge(context.Background(), res)
	return res
}

// Where the packages are installed, to install them is no way out: the command is named.
func TestMissingInstalled(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "packages", "a")
	for _, name := range []string{filepath.Join(root, ".git"), filepath.Join(root, "node_modules"), dir} {
		if err := os.MkdirAll(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := &plan.Step{Kind: plan.Process, Argv: []string{"npm", "run", "lint"}, Dir: dir}
	r := judgedOf(s, 127, "", "sh: 1: eslint-lite: not found\n")
	const want = "npm found no command eslint-lite in the installed packages: run `npm install` if package.json names its package, else add that to package.json, or install the command itself"
	if r.Reason != receipts.StopEnvMissing || r.Detail != want {
		t.Errorf("%s: %s, want %s", r.Reason, r.Detail, want)
	}
	for text, want := range map[string]string{
		`{"scripts": {"lint": "eslint-lite"}}`: "npm found no command eslint-lite in the installed packages: ", // which npm ci leaves as they are
		`{"devDependencies": {"eslint": "9"}}`: "npm found no command eslint-lite: its packages are not installed, run `npm install`",
	} {
		s.Dir = t.TempDir()
		if err := errors.Join(os.Mkdir(filepath.Join(s.Dir, ".git"), 0o700), os.WriteFile(filepath.Join(s.Dir, "package.json"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		if r := judgedOf(s, 127, "", "sh: 1: eslint-lite: not found\n"); !strings.HasPrefix(r.Detail, want) {
			t.Errorf("%s: %s", text, r.Detail)
		}
	}
	s = &plan.Step{Kind: plan.Process, Argv: []string{"sh", "-c", "..."}, Shell: true}
	if r := judgedOf(s, 127, "", "bash: line 1: zig: command not found\n"); r.Detail != "the shell exited 127: zig was not found" {
		t.Error(r.Detail)
	}
	if r := judgedOf(s, 126, "", "sh: 1: ./x: Permission denied\n"); r.Detail != "the shell exited 126: a command in it was not found" {
		t.Error(r.Detail)
	}
}

// A module, or the tools of a package.json, that are missing are not a failure of the project. What a tool prints that did run is.
func TestMissing(t *testing.T) {
	const gone = "/usr/bin/python3: No module named pytest\n"
	pytest := []string{"python3", "-m", "pytest", "-q"}
	for _, c := range []struct {
		argv           []string
		status         int
		stdout, stderr string
		reason         schedule.Reason
		detail         string
	}{
		{pytest, 1, "", gone, receipts.StopEnvMissing, "python3 has no module pytest: activate the virtual environment, or run `python3 -m pip install pytest`"},
		{[]string{".venv/bin/python", "-m", "mypy.stubtest"}, 1, "", ".venv/bin/python: No module named mypy\n", receipts.StopEnvMissing, "python has no module mypy: "},
		{[]string{"npm", "test", "--silent"}, 127, "", "sh: 1: vitest: not found\n", receipts.StopEnvMissing, "npm found no command vitest: its packages are not installed, run `npm install`"},
		{[]string{"npm", "test"}, 127, "", "'vitest' is not recognized as an internal or external command,\noperable program or batch file.\n", receipts.StopEnvMissing, "npm found no command vitest: "},
		{[]string{"npm", "test"}, 126, "", "sh: 1: node_modules/.bin/vitest: Permission denied\n", receipts.StopEnvMissing, "npm found no such command: "},
		{[]string{"pnpm", "test"}, 127, "\n> x@ test /x\n> vitest\n\nsh: 1: vitest: not found\n\u2009ELIFECYCLE\u2009 Test failed. See above for more details.\n", "", receipts.StopEnvMissing, "run `pnpm install`"},
		{[]string{"pnpm", "test"}, 1, "\n> x@ test /x\n> vitest\n\n\u2009ELIFECYCLE\u2009 Test failed. See above for more details.\n\u2009WARN\u2009  Local package.json exists, but node_modules missing, did you mean to install?\n", "sh: 1: vitest: not found\n", receipts.StopEnvMissing, "run `pnpm install`"},
		{[]string{"yarn", "test"}, 127, "$ vitest\n", "/bin/sh: 1: vitest: not found\nerror Command failed with exit code 127.\n", receipts.StopEnvMissing, "run `yarn install`"},
		{[]string{"bun", "run", "test"}, 127, "", "$ vitest\nbun: command not found: vitest\nerror: script \"test\" exited with code 127\n", receipts.StopEnvMissing, "bun found no command vitest: its packages are not installed, run `bun install`"},
		{[]string{"cargo", "clippy"}, 101, "", "error: no such command: `clippy`\n\nhelp: x\n", receipts.StopEnvMissing, "cargo has no command clippy"},
		// It ran: what a test or a tool prints does not undo its failure.
		{pytest, 1, "F\n1 failed in 0.1s\n", gone, receipts.StopExitCode, "exit 1"},
		{pytest, 1, "", "warning: x\n" + gone, receipts.StopExitCode, "exit 1"},
		{pytest, 1, "", "/usr/bin/python3: No module named requests\n", receipts.StopExitCode, "exit 1"},
		{pytest, 2, "", gone, receipts.StopExitCode, "exit 2"},
		{[]string{"make", "test"}, 1, "", gone, receipts.StopExitCode, "exit 1"},
		{[]string{"npm", "test"}, 1, "", "sh: 1: vitest: not found\n", receipts.StopExitCode, "exit 1"},
		{[]string{"pnpm", "test"}, 1, "Local package.json exists, but node_modules missing, did you mean to install?\n", "sh: 1: vitest: not found\n--- FAIL: TestX (0.00s)\n", receipts.StopExitCode, "exit 1"},
		{[]string{"pnpm", "test"}, 1, "Local package.json exists, but node_modules missing, did you mean to install?\n", "cat: data.json: No such file or directory\n", receipts.StopExitCode, "exit 1"},
		{[]string{"pnpm", "test"}, 1, "\n> x@ test /x\n> node t.js; upload\n\n> seven is wrong\n\u2009WARN\u2009  Local package.json exists, but node_modules missing, did you mean to install?\n", "sh: 1: upload: not found\n", receipts.StopExitCode, "exit 1"},
		{[]string{"pnpm", "test"}, 1, "\n> x@ test /x\n> node t.js; r=$?; upload-coverage; exit $r\n\n12 checks\nseven is wrong\n\u2009ELIFECYCLE\u2009 Test failed. See above for more details.\n\u2009WARN\u2009  Local package.json exists, but node_modules missing, did you mean to install?\n", "sh: 1: upload-coverage: not found\n", receipts.StopExitCode, "exit 1"},
		{[]string{"pnpm", "test"}, 1, "Local package.json exists, but node_modules missing, did you mean to install?\n", "one broken\n", receipts.StopExitCode, "exit 1"},
		{[]string{"make", "test"}, 127, "", "", receipts.StopExitCode, "exit 127"},
		// Nothing was tested: pytest exits 5.
		{pytest, 5, "\nno tests ran in 0.01s\n", "", receipts.StopVacuous, "exit 5: no test ran"},
		{pytest, 5, "4 deselected in 0.01s\n", "", receipts.StopVacuous, "exit 5: no test ran"},
		{[]string{"pytest", "-qq"}, 5, "", "", receipts.StopVacuous, "exit 5: no test ran"},
		{pytest, 1, "2 skipped in 0.01s\n", "", receipts.StopVacuous, "exit 1: no test ran, 2 were skipped"},
		{[]string{"make"}, 5, "", "", receipts.StopExitCode, "exit 5"},
		{pytest, 2, "==== ERRORS ====\n____ ERROR collecting a.py ____\na.py:1: in <module>\n    import x\nE   ModuleNotFoundError: No module named 'x'\n1 error in 0.1s\n", "", receipts.StopExitCode, "exit 2"},
	} {
		r := judged(c.argv, c.status, c.stdout, c.stderr)
		if r.Verdict == schedule.Passed || r.Reason != c.reason || !strings.Contains(r.Detail, c.detail) {
			t.Errorf("%q, exit %d, %q, %q: %s %s: %s", c.argv, c.status, c.stdout, c.stderr, r.Verdict, r.Reason, r.Detail)
		}
	}
	const red = "==== 1 failed, 2 passed in 0.1s ====\n"
	for _, c := range []struct {
		shell          bool
		status         int
		stdout, stderr string
		reason         schedule.Reason
	}{
		{true, 127, "", "sh: 1: vitest: not found\n", receipts.StopEnvMissing},
		{true, 126, "building\n", "sh: 1: ./x: Permission denied\n", receipts.StopEnvMissing},
		// It ran: the status alone, which a script can choose, undoes no failure, or a second try that passes would be the only one.
		{true, 127, red, "sh: 1: cleanup: not found\n", receipts.StopExitCode},
		{true, 126, red, "", receipts.StopExitCode},
		{true, 127, "", "--- FAIL: TestX (0.00s)\n    x_test.go:3: want 1\nFAIL\n", receipts.StopExitCode},
		{true, 127, "", "", receipts.StopExitCode},
		{true, 127, "1 of 3 checks broken\n", "see above\n", receipts.StopExitCode},
		{true, 127, "", "sh: 1: x: not found\n" + strings.Repeat("a line of a log\n", 20), receipts.StopExitCode},
		{false, 127, red, "", receipts.StopExitCode},
		{false, 127, "not ok 1 - x\n", "", receipts.StopExitCode},
	} {
		s := &plan.Step{Kind: plan.Process, Argv: []string{"npm", "test"}, Shell: c.shell}
		if c.shell {
			s.Argv = []string{"sh", "-c", "..."}
		}
		if r := judgedOf(s, c.status, c.stdout, c.stderr); r.Verdict == schedule.Passed || r.Reason != c.reason {
			t.Errorf("%+v: %s %s: %s", c, r.Verdict, r.Reason, r.Detail)
		}
	}
	// A module of the project is not missing, whatever it says.
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "own.py"), nil, 0o600), os.Mkdir(filepath.Join(dir, "checks"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for module, want := range map[string]schedule.Reason{"own": receipts.StopExitCode, "checks": receipts.StopExitCode, "checks.all": receipts.StopExitCode, "other": receipts.StopEnvMissing} {
		s := &plan.Step{Kind: plan.Process, Argv: []string{"python3", "-m", module}, Dir: dir}
		if r := judgedOf(s, 1, "", "/usr/bin/python3: No module named "+module+"\n"); r.Reason != want {
			t.Errorf("python3 -m %s: %s; want %s", module, r.Reason, want)
		}
	}
	if python, err := exec.LookPath("python3"); err == nil { // what it really says
		cmd := exec.Command(python, "-m", "no_such_module_x")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		_ = cmd.Run()
		if r := judged([]string{"python3", "-m", "no_such_module_x"}, cmd.ProcessState.ExitCode(), "", stderr.String()); r.Reason != receipts.StopEnvMissing {
			t.Errorf("%q: %s %s", stderr.String(), r.Reason, r.Detail)
		}
	}
}

// A tool that says that tests failed, and exits 0, has failed: a script around it dropped its exit status. What ends on a summary
// without failures has passed, and so has all that the matrix gives exit statuses of its own.
func TestDenied(t *testing.T) {
	const red, green = "== 2 failed, 1 passed in 0.1s ==\n", "== 3 passed in 0.1s ==\n"
	for _, c := range []struct {
		text, detail string
	}{
		{red, "exit 0, but the tool said that 2 tests failed"},
		{"--- FAIL: TestX (0.00s)\nFAIL\nFAIL\tm\t0.1s\nFAIL\n", "exit 0, but the tool said that 1 test failed"},
		{"FAIL\tm [build failed]\nFAIL\n", "exit 0, but the tool said FAIL"},
		{red + green, ""},
		{green, ""},
	} {
		r := judged([]string{"make", "test"}, 0, c.text, "")
		if c.detail == "" {
			if r.Verdict != schedule.Passed {
				t.Errorf("%q: %s, %s", c.text, r.Verdict, r.Detail)
			}
		} else if r.Verdict != schedule.Failed || r.Reason != receipts.StopExpectation || r.Detail != c.detail {
			t.Errorf("%q: %s %s: %s", c.text, r.Verdict, r.Reason, r.Detail)
		}
	}
	s := &plan.Step{Kind: plan.Process, Argv: []string{"make", "test"}, Expect: plan.Expect{ExitCodes: []int{0}}}
	o := observe(s, nil)
	o.tests.Write(0, []byte(red))
	r := &Report{Step: s, Process: &process.Result{}}
	if o.judge(t.Context(), r); r.Verdict != schedule.Passed || r.Tests.Failed != 2 {
		t.Errorf("with exit statuses of its own: %s, %+v", r.Verdict, r.Tests)
	}
}

// TestReasons holds that a receipt has a reason for each way that a process or a call can be ended.
func TestReasons(t *testing.T) {
	for stop, want := range map[process.Stop]schedule.Reason{
		process.EnvMissing: receipts.StopEnvMissing, process.StartFailed: receipts.StopStartFailed, process.Timeout: receipts.StopTimeout,
		process.Stall: receipts.StopStall, process.OutputLimit: receipts.StopOutputLimit, process.Interrupted: receipts.StopInterrupted,
	} {
		r := &Report{Step: &plan.Step{Kind: plan.Process}, Process: &process.Result{Stop: stop}}
		if observe(r.Step, nil).judge(t.Context(), r); r.Verdict != schedule.Fault || r.Reason != want {
			t.Errorf("a process, %s: %s %s, want %s", stop, r.Verdict, r.Reason, want)
		}
	}
	for reason, want := range map[mcpclient.Reason]schedule.Reason{
		mcpclient.NotConfigured: receipts.StopNotConfigured, mcpclient.EnvMissing: receipts.StopEnvMissing, mcpclient.StartFailed: receipts.StopStartFailed,
		mcpclient.UnknownTool: receipts.StopNotConfigured, mcpclient.BadArguments: receipts.StopMCPError, mcpclient.Timeout: receipts.StopTimeout,
		mcpclient.Stall: receipts.StopStall, mcpclient.OutputLimit: receipts.StopOutputLimit, mcpclient.Died: receipts.StopKilled,
		mcpclient.Protocol: receipts.StopMCPError, mcpclient.Interrupted: receipts.StopInterrupted,
	} {
		if got := unanswered(reason); got != want {
			t.Errorf("a call, %s: %s, want %s", reason, got, want)
		}
	}
}

// No secret comes through the report of a failure: not one on a line that is cut, nor one that arrives in pieces.
func TestNoSecretInFailures(t *testing.T) {
	const secret = "s3cr3t-w0rd-of-many-letters"
	s := &plan.Step{Kind: plan.Process, Argv: []string{"go", "test", "-v"}}
	o := observe(s, redact.New(redact.Options{Declared: []string{secret}}))
	text := "=== RUN   TestX\n    x_test.go:3: got " + secret + ", want 2\n    x_test.go:4: want " + strings.Repeat("y", 285) + secret + "\n        more " + secret + "\n--- FAIL: TestX (0.00s)\nFAIL\nFAIL\tm\t0.1s\n"
	for i := range text {
		o.errors.Write(0, []byte(text[i:i+1]))
	}
	f, sure := o.errors.Failures()
	if !sure || f.Total != 1 || f.First().Place() != "x_test.go:3" || len(f.List[0].Detail) == 0 {
		t.Fatalf("%+v", f)
	}
	if got := fmt.Sprintf("%+v", f); strings.Contains(got, secret[:12]) {
		t.Error(got)
	}
	for _, begin := range []string{"m.go:3: error: it said ", strings.Repeat("a line of an unknown program\n", 60000) + "m.go:3: error: it said "} {
		o := observe(s, redact.New(redact.Options{Declared: []string{secret}}))
		o.errors.Write(0, []byte(begin+secret[:len(secret)-1]))
		o.errors.Write(1, []byte("m.go:4: error: the other stream\n"))
		o.errors.Cut(0)
		f, _ := o.errors.Failures()
		if got := fmt.Sprintf("%+v", f); strings.Contains(got, secret[:12]) || !strings.Contains(got, "the other stream") {
			t.Errorf("cut: %s", got)
		}
	}
	s.Dir, s.Expect.JUnit = t.TempDir(), "*.xml"
	text = `<testsuite><testcase name="a[` + secret + `]"><failure message="got ` + secret + `">want 2\nnot ` + secret + `</failure></testcase></testsuite>`
	if err := os.WriteFile(filepath.Join(s.Dir, "a.xml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	_, f, cases, err := o.files.read(t.Context())
	if err != nil || f.Total != 1 || len(cases) != 1 || cases[0].Failure == nil {
		t.Fatalf("%+v %+v, %v", f, cases, err)
	}
	if got := fmt.Sprintf("%+v %+v %+v", f, cases, cases[0].Failure); strings.Contains(got, secret[:12]) {
		t.Error(got)
	}
}

// TestSlowProblems has a pattern take long over an output: a run that has ended does not wait for it, and one that goes on has what it finds.
func TestSlowProblems(t *testing.T) {
	text := `(?P<file>(?:a?){900}(?:a?){900}(?:a?){900})c:(?P<message>(?:a?){900}x)$`
	slow, err := diagnose.ParsePattern(text)
	plain, perr := diagnose.ParsePattern(`^(?P<message>PROBLEM .*)$`)
	if err := errors.Join(err, perr); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	flood := bytes.Repeat(append(bytes.Repeat([]byte("a"), 2000), '\n'), 400) // minutes
	if f := problems(ended, []diagnose.Pattern{slow, plain}, flood, []byte("PROBLEM late\n")); f.Total > 0 {
		t.Errorf("%+v", f)
	}
	for _, ctx := range []context.Context{t.Context(), ended} {
		if f := problems(ctx, []diagnose.Pattern{plain}, nil, []byte("PROBLEM here\n")); f.Total != 1 || f.List[0].Message != "PROBLEM here" {
			t.Errorf("%+v", f)
		}
	}
}

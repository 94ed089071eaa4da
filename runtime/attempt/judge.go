package attempt

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// An observer sees the output of one attempt.
type observer struct {
	step   *plan.Step
	tests  diagnose.Counter
	errors diagnose.Reader
	stdout capture // where an expectation wants it
	files  results
}

func observe(s *plan.Step, r *redact.Redactor) *observer {
	return &observer{step: s, errors: diagnose.Reader{Secret: r}, files: results{step: s, from: live{}, most: maxResults, named: diagnose.MaxCaseBytes, public: r}}
}

// judge sets the verdict of res from how its process ended and what it wrote. Once ctx has ended it reads no more of that.
func (o *observer) judge(ctx context.Context, res *Report) {
	p, want := res.Process, res.Step.Expect
	res.Reason, res.Detail, res.Tests, res.Cases, res.Failures = "", "", nil, nil, diagnose.Failures{}
	counted, known := o.tests.Tests()
	var failures diagnose.Failures
	var unread error
	if want.JUnit != "" && p.Stop == "" {
		counted, failures, res.Cases, unread = o.files.read(ctx)
		known = unread == nil
	}
	if known {
		res.Tests = &receipts.Tests{Passed: counted.Passed, Failed: counted.Failed, Skipped: counted.Skipped}
	}
	switch {
	case p.Stop != "":
		res.end(schedule.Fault, schedule.Reason(p.Stop), stopDetail(res)) // TestReasons: the words are the same
	case receipts.CrashSignal(p.Signal):
		res.end(schedule.Fault, receipts.StopCrashed, "it crashed: "+p.Signal)
	case p.Signal != "":
		res.end(schedule.Fault, receipts.StopKilled, "killed by "+p.Signal)
	case refused(want, p) && !(known && counted.Ran() > 0) && o.missing(p) != "": // a tool that ran tests was found
		res.end(schedule.Fault, receipts.StopEnvMissing, o.missing(p))
	case refused(want, p) && (known && counted.Ran() == 0 || !known && p.ExitCode == 5 && module(res.Step.Argv) == "pytest") && !o.failed():
		res.end(schedule.Fault, receipts.StopVacuous, fmt.Sprintf("exit %d: %s", p.ExitCode, noTest(counted)))
	case refused(want, p):
		res.end(schedule.Failed, receipts.StopExitCode, "exit "+strconv.Itoa(p.ExitCode))
	case want.EmptyStdout && p.Stdout.Bytes > 0:
		res.end(schedule.Failed, receipts.StopExpectation, fmt.Sprintf("exit %d, but standard output is not empty", p.ExitCode))
	case want.Stdout != "" && o.stdout.mismatch("standard output", want.Stdout) != "":
		res.end(schedule.Failed, receipts.StopExpectation, fmt.Sprintf("exit %d, but %s", p.ExitCode, o.stdout.mismatch("standard output", want.Stdout)))
	case unread != nil:
		res.end(schedule.Fault, unreadReason(ctx, unread), unread.Error())
	case want.JUnit != "" && counted.Failed > 0:
		res.end(schedule.Failed, receipts.StopExpectation, fmt.Sprintf("exit %d, but %s failed", p.ExitCode, diag.Number(counted.Failed, "test")))
	case want.JUnit == "" && len(want.ExitCodes) == 0 && o.denied() != "":
		res.end(schedule.Failed, receipts.StopExpectation, fmt.Sprintf("exit %d, but %s", p.ExitCode, o.denied()))
	case want.MinTests > 0 && !known:
		res.end(schedule.Fault, receipts.StopVacuous, "the output has no count of tests, and min_tests wants one")
	case want.MinTests > 0 && counted.Passed < want.MinTests:
		res.end(schedule.Fault, receipts.StopVacuous, fmt.Sprintf("%s passed, min_tests is %d", diag.Number(counted.Passed, "test"), want.MinTests))
	case known && counted.Ran() == 0 && want.MinTests >= 0:
		res.end(schedule.Fault, receipts.StopVacuous, noTest(counted))
	default:
		res.Verdict = schedule.Passed
	}
	if res.Verdict != schedule.Passed {
		res.Failures = o.failures(ctx, res, failures)
		res.Failures.Locate(res.Step.Dir, o.files.from.exists, modules(ctx, o.files.from, res.Step.Dir))
	}
}

// refused reports whether the exit status of a process is one of a failure.
func refused(want plan.Expect, p *process.Result) bool {
	if len(want.ExitCodes) > 0 {
		return !slices.Contains(want.ExitCodes, p.ExitCode)
	}
	return p.ExitCode != 0
}

// denied says in which words a tool denies that it succeeded, which its exit status claims; empty if it does not. A script around it
// dropped its exit status then (`|| true`, a pipe); a binding whose `exit_codes` are its own wants just that.
func (o *observer) denied() string {
	switch n, ok := o.tests.Denied(); {
	case !ok:
		return ""
	case n == 0:
		return "the tool said FAIL"
	default:
		return fmt.Sprintf("the tool said that %s failed", diag.Number(n, "test"))
	}
}

func noTest(t diagnose.Tests) string {
	if t.Skipped > 0 {
		return fmt.Sprintf("no test ran, %d were skipped", t.Skipped)
	}
	return "no test ran"
}

// failed reports whether the output tells of something that failed.
func (o *observer) failed() bool {
	f, sure := o.errors.Failures()
	return sure && f.Total > 0
}

// failedTest reports whether the output names a test that failed.
func (o *observer) failedTest() bool {
	f, sure := o.errors.Failures()
	return sure && slices.ContainsFunc(f.List, func(f diagnose.Failure) bool { return f.Test != "" })
}

// module returns the module that Python runs for argv, or the tool itself where that is pytest.
func module(argv []string) string {
	for i, a := range argv {
		base := strings.TrimSuffix(filepath.Base(a), ".exe")
		if base == "pytest" || base == "py.test" {
			return "pytest"
		}
		if a == "-m" && i > 0 && i+1 < len(argv) && python(argv[i-1]) {
			return argv[i+1]
		}
	}
	return ""
}

func python(arg string) bool {
	base := filepath.Base(arg)
	return strings.HasPrefix(base, "python") || strings.HasPrefix(base, "pypy")
}

// missing says what was missing before a process ran anything, and what to do: a command of a shell, a module of Python, or the tools of a
// package.json. It is empty for all other output. A tool must not undo its own failure by what it prints: a module is missing only if Python
// says so in the only line of output, and the project has none of that name, and the packages of pnpm, which hides the status of its shell,
// only if there is no node_modules, and no line of output but theirs.
func (o *observer) missing(p *process.Result) string {
	s, exists := o.step, o.files.from.exists
	argv := s.Argv
	said := strings.TrimSpace(string(p.Stderr.Head))
	unfound := (p.ExitCode == process.StatusNotRunnable || p.ExitCode == process.StatusNotFound) && shellSays(p.Tail) && !o.failedTest()
	if s.Shell && unfound {
		return fmt.Sprintf("the shell exited %d: %s was not found", p.ExitCode, cmp.Or(nameIn(p.Tail), "a command in it"))
	}
	if name := module(argv); name != "" && p.ExitCode == 1 && p.Stdout.Bytes == 0 && !strings.Contains(said, "\n") && int64(len(p.Stderr.Head)) == p.Stderr.Bytes {
		top, _, _ := strings.Cut(name, ".")
		own := exists(filepath.Join(s.Dir, top)) || exists(filepath.Join(s.Dir, top+".py"))
		if who, what, ok := strings.Cut(said, ": No module named "); ok && !own && python(who) && (strings.Trim(what, "'") == name || strings.Trim(what, "'") == top) {
			return fmt.Sprintf("%s has no module %s: activate the virtual environment, or run `%s -m pip install %s`", filepath.Base(who), top, filepath.Base(who), top)
		}
	}
	if len(argv) > 1 && filepath.Base(argv[0]) == "cargo" && p.Stdout.Bytes == 0 &&
		(strings.HasPrefix(said, "error: no such command: `"+argv[1]+"`") || strings.HasPrefix(said, "error: 'cargo-"+argv[1])) {
		return "cargo has no command " + argv[1]
	}
	base := ""
	if len(argv) > 0 {
		base = strings.TrimSuffix(filepath.Base(argv[0]), ".cmd")
	}
	switch base {
	case "npm", "pnpm", "yarn", "bun":
		if !unfound && !(base == "pnpm" && pnpmMisses(p) && !exists(filepath.Join(s.Dir, "node_modules")) && !o.failedTest()) {
			break
		}
		install := base + " install"
		if base == "npm" && (exists(filepath.Join(s.Dir, "package-lock.json")) || exists(filepath.Join(s.Dir, "npm-shrinkwrap.json"))) {
			install = "npm ci" // which refuses where there is no such file
		}
		if o.installed() { // which lacks it, or is older than package.json: to install once more may help, or never will
			return fmt.Sprintf("%s found no %s in the installed packages: run `%s` if package.json names its package, else add that to package.json, or install the command itself", base, unfoundCommand(p.Tail), install)
		}
		return fmt.Sprintf("%s found no %s: its packages are not installed, run `%s`", base, unfoundCommand(p.Tail), install)
	}
	return ""
}

// shellWords matches what a shell says of a command that it cannot start: dash, bash, busybox, zsh and cmd.exe.
var shellWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m): (?:command )?not found\r?$|command not found: \S+\r?$|: Permission denied\r?$|: No such file or directory\r?$|: (?:cannot execute|Exec format error|bad interpreter)|is not recognized as an internal or external command`)
})

// shellNames matches the command in what a shell says that it has not found.
var shellNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)(?:^|: )([\w@.+/-]{1,80}): (?:command )?not found\r?$|command not found: ([\w@.+/-]{1,80})\r?$|^'([^'\n]{1,80})' is not recognized as an internal or external command`)
})

// nameIn returns the command that a shell says last that it has not found; empty if it names none.
func nameIn(tail []byte) string {
	all := shellNames().FindAllSubmatch(tail, -1)
	if len(all) == 0 {
		return ""
	}
	last := all[len(all)-1]
	return string(slices.Concat(last[1], last[2], last[3]))
}

// unfoundCommand names a command that a shell has not found.
func unfoundCommand(tail []byte) string {
	if name := nameIn(tail); name != "" {
		return "command " + name
	}
	return "such command"
}

// installed reports whether the packages of Node that the step may use are installed, in its directory or in one above it, of the same
// repository, or its package.json names none.
func (o *observer) installed() bool {
	dir, from := o.step.Dir, o.files.from
	if f, err := from.open(filepath.Join(dir, "package.json")); err == nil {
		text, err := io.ReadAll(io.LimitReader(f, 1<<20))
		f.Close()
		if err == nil && !bytes.Contains(text, []byte(`ependencies"`)) {
			return true
		}
	}
	for {
		if from.exists(filepath.Join(dir, "node_modules")) || from.exists(filepath.Join(dir, ".pnp.cjs")) {
			return true
		}
		above := filepath.Dir(dir)
		if above == dir || from.exists(filepath.Join(dir, ".git")) {
			return false
		}
		dir = above
	}
}

// shellSays reports whether a shell says near the end of an output that it cannot start a command; npm, pnpm and yarn add lines of their own.
func shellSays(tail []byte) bool {
	tail = bytes.TrimSpace(tail)
	const lines = 12
	from := len(tail)
	for range lines {
		if from = bytes.LastIndexByte(tail[:from], '\n'); from < 0 {
			return shellWords().Match(tail)
		}
	}
	return shellWords().Match(tail[from:])
}

// pnpmShell matches what the shell of pnpm says of a command that is not there, and pnpmSays what pnpm itself says around that.
var (
	pnpmShell = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:/bin/)?(?:sh|bash): (?:\d+: |line \d+: )?[\w@./-]+: (?:command )?not found$|is not recognized as an internal or external command`)
	})
	pnpmSays = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:> .*|\$ .*|\x{2009}?(?:ELIFECYCLE|WARN)\x{2009}? .*|operable program or batch file\.)?$`)
	})
)

// pnpmMisses reports whether pnpm, which exits 1 whatever its shell does, and its shell have said that the packages are not there, and nothing
// else was said: a script whose tests have run may well name a command that is missing.
func pnpmMisses(p *process.Result) bool {
	if p.Stdout.Bytes+p.Stderr.Bytes > int64(len(p.Tail)) || !bytes.Contains(p.Tail, []byte("package.json exists, but node_modules missing, did you mean to install?")) {
		return false
	}
	unfound, said := false, 0
	for line := range bytes.Lines(p.Tail) {
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case pnpmShell().Match(line):
			unfound = true
		case !pnpmSays().Match(line):
			return false
		case bytes.HasPrefix(line, []byte("> ")), bytes.HasPrefix(line, []byte("$ ")):
			said++
		}
	}
	return unfound && said <= 2 // the package and its script
}

// failures are what failed, as the output tells it; none if nothing in it reads like an error. of are the failures in
// files of test results, which are taken where the output names neither a test nor a place.
func (o *observer) failures(ctx context.Context, res *Report, of diagnose.Failures) diagnose.Failures {
	p := res.Process
	var patterns []diagnose.Pattern
	for _, text := range res.Step.Expect.Problems {
		if p, err := diagnose.ParsePattern(text); err == nil { // the matrix was checked
			patterns = append(patterns, p)
		}
	}
	if len(patterns) > 0 {
		if f := problems(ctx, patterns, p.Tail, p.Stderr.Head, p.Stdout.Head); f.Total > 0 {
			return f
		}
	}
	f, sure := o.errors.Failures()
	if !sure {
		f = diagnose.Failures{}
	}
	if of.Total > 0 && (f.Total == 0 || f.List[0].File == "" && f.List[0].Test == "") {
		return of
	}
	return f
}

// problemsGrace is how long patterns are looked for once a run has ended: what is usual takes milliseconds.
const problemsGrace = time.Second

// problems are what patterns find in the first of the pieces of an output in which they find anything. A pattern that takes long is left to itself once
// ctx has ended: the search cannot be stopped in the midst of one.
func problems(ctx context.Context, patterns []diagnose.Pattern, pieces ...[]byte) diagnose.Failures {
	found := make(chan diagnose.Failures, 1)
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	for i := range pieces {
		pieces[i] = bytes.Clone(pieces[i]) // the search may go on
	}
	go func() {
		var f diagnose.Failures
		for _, piece := range pieces {
			if f = diagnose.Matches(late, piece, patterns); f.Total > 0 {
				break
			}
		}
		found <- f
	}()
	select {
	case f := <-found:
		return f
	case <-ctx.Done():
	}
	select {
	case f := <-found:
		return f
	case <-time.After(problemsGrace):
		return diagnose.Failures{}
	}
}

func stopDetail(res *Report) string {
	b := res.Step.Budget
	switch res.Process.Stop {
	case process.Timeout:
		return fmt.Sprintf("killed after its timeout of %v", b.Timeout)
	case process.Stall:
		return fmt.Sprintf("killed after %v without output", b.Stall)
	case process.OutputLimit:
		return fmt.Sprintf("killed after more than %d bytes of output", b.MaxOutput)
	case process.Interrupted:
		return "killed: the run was interrupted"
	}
	if res.Process.Err != nil {
		return res.Process.Err.Error()
	}
	return ""
}

// captureLimit bounds what an expectation on standard output may look at, in bytes. Of more nothing is
// known to match.
const captureLimit = 16 << 20

type capture struct {
	buf []byte
	cut bool
}

func (c *capture) Write(p []byte) {
	if c.cut = c.cut || len(c.buf)+len(p) > captureLimit; c.cut {
		c.buf = nil
		return
	}
	c.buf = append(c.buf, p...)
}

// mismatch says why what was written does not match; empty if it does.
func (c *capture) mismatch(what, pattern string) string {
	if c.cut {
		return fmt.Sprintf("%s is larger than %d MiB, and expect.stdout looks at all of it", what, captureLimit>>20)
	}
	if re, err := regexp.Compile(pattern); err != nil || !re.Match(c.buf) { // the matrix was checked; a bad pattern matches nothing
		return fmt.Sprintf("%s does not match %q", what, pattern)
	}
	return ""
}

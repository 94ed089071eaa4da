package attempt

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// An observer sees the output of one attempt.
type observer struct {
	step   *plan.Step
	tests  diagnose.Counter
	stdout capture             // where an expectation wants it
	files  map[string]fileMark // of test results, as they were before
}

func observe(s *plan.Step) *observer {
	o := &observer{step: s}
	if s.Expect.JUnit != "" {
		o.files = marks(o.pattern())
	}
	return o
}

// stopped returns the reason of a command that its launcher ended or could not start.
func stopped(s process.Stop) schedule.Reason {
	switch s {
	case process.EnvMissing:
		return receipts.StopEnvMissing
	case process.StartFailed:
		return receipts.StopStartFailed
	case process.Timeout:
		return receipts.StopTimeout
	case process.Stall:
		return receipts.StopStall
	case process.OutputLimit:
		return receipts.StopOutputLimit
	}
	return receipts.StopInterrupted
}

// judge sets the verdict of res from how its process ended and what it wrote.
func (o *observer) judge(res *Report) {
	p, want := res.Process, res.Step.Expect
	res.Reason, res.Detail, res.Tests, res.Finding = "", "", nil, nil
	counted, known := o.tests.Tests()
	var failure diagnose.Finding
	var unread error
	if want.JUnit != "" && p.Stop == "" {
		counted, failure, unread = o.results()
		known = unread == nil
	}
	if known {
		res.Tests = &receipts.Tests{Passed: counted.Passed, Failed: counted.Failed, Skipped: counted.Skipped}
	}
	switch {
	case p.Stop != "":
		res.Verdict, res.Reason = schedule.Fault, stopped(p.Stop)
		res.Detail = stopDetail(res)
	case receipts.CrashSignal(p.Signal):
		res.Verdict, res.Reason, res.Detail = schedule.Fault, receipts.StopCrashed, "it crashed: "+p.Signal
	case p.Signal != "":
		res.Verdict, res.Reason, res.Detail = schedule.Fault, receipts.StopKilled, "killed by "+p.Signal
	case res.Step.Shell && (p.ExitCode == 126 || p.ExitCode == 127):
		// What a shell says when it finds no such command.
		res.Verdict, res.Reason = schedule.Fault, receipts.StopEnvMissing
		res.Detail = "the shell exited " + strconv.Itoa(p.ExitCode) + ": a command in it was not found"
	case len(want.ExitCodes) > 0 && !slices.Contains(want.ExitCodes, p.ExitCode),
		len(want.ExitCodes) == 0 && p.ExitCode != 0:
		res.Verdict, res.Reason, res.Detail = schedule.Failed, receipts.StopExitCode, "exit "+strconv.Itoa(p.ExitCode)
	case want.EmptyStdout && p.Stdout.Bytes > 0:
		res.Verdict, res.Reason = schedule.Failed, receipts.StopExpectation
		res.Detail = fmt.Sprintf("exit %d, but standard output is not empty", p.ExitCode)
	case want.Stdout != "" && o.stdout.mismatch("standard output", want.Stdout) != "":
		res.Verdict, res.Reason = schedule.Failed, receipts.StopExpectation
		res.Detail = fmt.Sprintf("exit %d, but %s", p.ExitCode, o.stdout.mismatch("standard output", want.Stdout))
	case unread != nil:
		res.Verdict, res.Reason, res.Detail = schedule.Fault, receipts.StopVacuous, unread.Error()
	case want.JUnit != "" && counted.Failed > 0:
		res.Verdict, res.Reason = schedule.Failed, receipts.StopExpectation
		res.Detail = fmt.Sprintf("exit %d, but %s failed", p.ExitCode, diag.Number(counted.Failed, "test"))
	case want.MinTests > 0 && !known:
		res.Verdict, res.Reason, res.Detail = schedule.Fault, receipts.StopVacuous, "the output has no count of tests, and min_tests wants one"
	case want.MinTests > 0 && counted.Passed < want.MinTests:
		res.Verdict, res.Reason = schedule.Fault, receipts.StopVacuous
		res.Detail = fmt.Sprintf("%d tests passed, min_tests is %d", counted.Passed, want.MinTests)
	case known && counted.Ran() == 0 && want.MinTests >= 0:
		res.Verdict, res.Reason, res.Detail = schedule.Fault, receipts.StopVacuous, "no test ran"
		if counted.Skipped > 0 {
			res.Detail += fmt.Sprintf(", %d were skipped", counted.Skipped)
		}
	default:
		res.Verdict = schedule.Passed
	}
	if res.Verdict != schedule.Passed {
		res.Finding = firstError(res, failure)
	}
}

// firstError finds the first error in what is kept of the output; nil if nothing reads
// like one. A long output has its error near its end: its beginning is read only where the end
// has no error with a place. of is the failure in a file of test results.
func firstError(res *Report, of diagnose.Finding) *diagnose.Finding {
	var patterns []diagnose.Pattern
	for _, text := range res.Step.Expect.Problems {
		if p, err := diagnose.ParsePattern(text); err == nil { // the matrix was checked
			patterns = append(patterns, p)
		}
	}
	p := res.Process
	pieces := [][]byte{p.Tail}
	if p.Stdout.Bytes+p.Stderr.Bytes > int64(len(p.Tail)) {
		pieces = append(pieces, p.Stderr.Head, p.Stdout.Head)
	}
	var best *diagnose.Finding
	for _, text := range pieces {
		f, ok := diagnose.First(text, patterns)
		if ok && (best == nil || best.File == "" && f.File != "") {
			best = &f
		}
		if best != nil && best.File != "" {
			return best
		}
	}
	if of.Message != "" && (best == nil || of.File != "") {
		return &of
	}
	return best
}

// A fileMark tells a file that was written from one that was left as it was.
type fileMark struct {
	info os.FileInfo
	size int64
	time int64
}

func (o *observer) pattern() string {
	p := filepath.FromSlash(o.step.Expect.JUnit)
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(literal(o.step.Dir), p)
}

// literal returns the pattern that matches a path alone. Windows has no such pattern, and allows fewer
// of these characters in names.
func literal(path string) string {
	if runtime.GOOS == "windows" {
		return path
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func marks(pattern string) map[string]fileMark {
	m := make(map[string]fileMark)
	names, _ := filepath.Glob(pattern) // the matrix was checked
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			m[name] = fileMark{info, info.Size(), info.ModTime().UnixNano()}
		}
	}
	return m
}

// results reads the files of test results that the command wrote. Those that it left
// untouched are of an earlier run, and count for nothing.
func (o *observer) results() (sum diagnose.Tests, first diagnose.Finding, err error) {
	files := 0
	now := marks(o.pattern())
	for _, name := range slices.Sorted(maps.Keys(now)) {
		was, there := o.files[name]
		if is := now[name]; there && os.SameFile(was.info, is.info) && was.size == is.size && was.time == is.time {
			continue
		}
		f, err := regular.Open(name)
		if err != nil {
			return sum, first, fmt.Errorf("the test results cannot be read: %w", err)
		}
		t, failure, err := diagnose.JUnit(f)
		f.Close()
		if err != nil {
			return sum, first, fmt.Errorf("the test results %s cannot be read: %w", name, err)
		}
		files++
		sum.Passed, sum.Failed, sum.Skipped = sum.Passed+t.Passed, sum.Failed+t.Failed, sum.Skipped+t.Skipped
		if first.Message == "" {
			first = failure
		}
	}
	if files == 0 {
		return sum, first, fmt.Errorf("it wrote no test results to %s", o.step.Expect.JUnit)
	}
	return sum, first, nil
}

func stopDetail(res *Report) string {
	b := res.Step.Budget
	switch stopped(res.Process.Stop) {
	case receipts.StopTimeout:
		return fmt.Sprintf("killed after its timeout of %v", b.Timeout)
	case receipts.StopStall:
		return fmt.Sprintf("killed after %v without output", b.Stall)
	case receipts.StopOutputLimit:
		return fmt.Sprintf("killed after more than %d bytes of output", b.MaxOutput)
	case receipts.StopInterrupted:
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

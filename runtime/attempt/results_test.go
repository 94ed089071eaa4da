package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// A command has ended well and wrote what would pass; its run or the time of its line is over before all of that is read.
func TestResultsEnd(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "r.xml"), []byte(`<testsuite><testcase name="a"/></testsuite>`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		timeout time.Duration
		ended   bool // the run
		verdict schedule.Verdict
		reason  schedule.Reason
	}{
		{"nothing", time.Hour, false, schedule.Passed, ""},
		{"nothing, without a timeout", 0, false, schedule.Passed, ""},
		{"the line", 1, false, schedule.Fault, receipts.StopTimeout},
		{"the run", time.Hour, true, schedule.Fault, receipts.StopInterrupted},
	} {
		for _, pattern := range []string{"r.xml", "*.xml"} {
			s := &plan.Step{Kind: plan.Process, Dir: dir, Expect: plan.Expect{JUnit: pattern}}
			o := observe(s, nil)
			s.Budget.Timeout = c.timeout
			ctx, cancel := context.WithCancel(t.Context())
			if c.ended {
				cancel()
			}
			res := &Report{Step: s, Process: &process.Result{}}
			o.judge(ctx, res)
			if res.Verdict != c.verdict || res.Reason != c.reason {
				t.Errorf("%s ends: %s %s %s", c.name, res.Verdict, res.Reason, res.Detail)
			}
			err := o.files.look(ctx)
			if (err == nil) != (c.verdict == schedule.Passed) {
				t.Errorf("%s ends before the command begins: %v", c.name, err)
			}
			cancel()
		}
	}
}

// A fuse is a context that ends once it has been asked often enough.
type fuse struct {
	context.Context
	left int
}

func (f *fuse) Err() error {
	if f.left--; f.left < 0 {
		return context.Canceled
	}
	return nil
}

// endless is a file of results without an end.
type endless struct{ begun bool }

func (e *endless) Read(p []byte) (int, error) {
	text := "<p/>"
	if !e.begun {
		text, e.begun = "<testsuite>", true
	}
	return copy(p, text), nil
}

// A file is left in its middle when the context ends, and when all that may be read has been.
func TestBoundedReader(t *testing.T) {
	left := int64(1 << 40)
	_, _, err := diagnose.JUnit(&boundedReader{&fuse{t.Context(), 1000}, &endless{}, &left}, func(s string) string { return s }, func(diagnose.Case) {})
	if read := 1<<40 - left; !errors.Is(err, context.Canceled) || read != int64(len("<testsuite>")+999*len("<p/>")) {
		t.Errorf("%d bytes, then %v", read, err)
	}
	left = 1000
	if n, err := io.Copy(io.Discard, &boundedReader{t.Context(), &endless{}, &left}); err == nil || left >= 0 || n > 1000 {
		t.Errorf("%d bytes, then %v", n, err)
	}
}

// A line does not pass where its results are larger than may be read, and the one line that says so names the file.
func TestResultsTooLarge(t *testing.T) {
	dir := t.TempDir()
	text := `<testsuite><testcase name="a"/></testsuite>`
	for _, name := range []string{"1.xml", "2.xml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for most, want := range map[int]schedule.Verdict{2 * len(text): schedule.Passed, 2*len(text) - 1: schedule.Fault} {
		s := &plan.Step{Kind: plan.Process, Dir: dir, Expect: plan.Expect{JUnit: "*.xml"}}
		o := observe(s, nil)
		o.files.most = int64(most)
		res := &Report{Step: s, Process: &process.Result{}}
		if o.judge(t.Context(), res); res.Verdict != want {
			t.Errorf("%d bytes: %s %s", most, res.Verdict, res.Detail)
		}
		if detail := fmt.Sprintf("the test results %s cannot be read: with it they are larger than %d bytes", filepath.Join(dir, "2.xml"), most); want == schedule.Fault && res.Detail != detail {
			t.Errorf("%q, want %q", res.Detail, detail)
		}
	}
}

// The tests of a run are named as long as all that names them is within a bound: of a file, and of all lines together. They are counted in any case.
func TestResultsNamed(t *testing.T) {
	dir := t.TempDir()
	text := `<testsuite name="` + strings.Repeat("n", 1000) + `">` + strings.Repeat("<failure/>", 100) + `</testsuite>`
	if err := os.WriteFile(filepath.Join(dir, "r.xml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int]int{1 << 20: 100, 1 << 10: 0} {
		o := observe(&plan.Step{Kind: plan.Process, Dir: dir, Expect: plan.Expect{JUnit: "r.xml"}}, nil)
		o.files.named = most
		if sum, _, cases, err := o.files.read(t.Context()); err != nil || sum.Failed != 100 || len(cases) != want {
			t.Errorf("of at most %d bytes: %d failed, %d named, %v", most, sum.Failed, len(cases), err)
		}
	}
	x := new(Executor)
	large := []diagnose.Case{{Name: strings.Repeat("n", diagnose.MaxCaseBytes*2/3)}}
	for i, named := range []bool{true, false} {
		res := &Report{Cases: large}
		if x.keepCases(res); (res.Cases != nil) != named {
			t.Errorf("line %d: %d tests are named", i, len(res.Cases))
		}
	}
	small := &Report{Cases: []diagnose.Case{{Name: "n"}}}
	if x.keepCases(small); small.Cases == nil {
		t.Error("a line after one that was too large names nothing")
	}
}

package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/glob"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// maxResults bounds what is read of all files of test results of one attempt, in bytes.
const maxResults = 256 << 20

// minReading is how long the files of a command may be read that used up its timeout, all but a moment.
const minReading = time.Second

// results are the files that a command writes its test results to. What makes them may be hostile, and so may what it
// makes: finding and reading them is bounded (package glob, maxResults), and ends with the timeout of the line and with
// the run. Where that happens the line has not passed.
type results struct {
	step   *plan.Step
	from   files
	most   int64 // bytes that are read
	named  int   // bytes of the cases that are kept
	public *redact.Redactor
	before map[fileMark]bool
	start  time.Time
}

// A fileMark tells a file that was written from one that was left as it was, whatever it is called now: a new link to an
// earlier run's file says nothing of this one.
type fileMark struct {
	id         place.ID
	name       string // where files have no ID, and are those of the machine
	size, time int64
}

// errBudget is the cause where a timeout of the line ends the reading.
var errBudget = errors.New("the timeout of the line")

// look notes the files as they are before the command begins, and fails if that cannot be done.
func (r *results) look(ctx context.Context) error {
	r.start = time.Now()
	if r.step.Expect.JUnit == "" {
		return nil
	}
	ctx, cancel := r.within(ctx)
	defer cancel()
	files, err := r.find(ctx)
	r.before = make(map[fileMark]bool, len(files))
	for _, f := range files {
		r.before[r.from.mark(f)] = true
	}
	return err
}

// within returns a context that ends when the timeout of the line has passed since look.
func (r *results) within(ctx context.Context) (context.Context, context.CancelFunc) {
	most := r.step.Budget.Timeout
	if most == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, max(most-time.Since(r.start), min(most, minReading)), errBudget)
}

// find returns the regular files of the pattern.
func (r *results) find(ctx context.Context) (files []glob.File, err error) {
	files, err = r.from.expand(ctx, r.step.Dir, r.step.Expect.JUnit)
	if err != nil {
		return nil, r.unread(ctx, r.step.Expect.JUnit, err)
	}
	n := 0
	for _, f := range files {
		if f.Info.Mode().IsRegular() {
			files[n] = f
			n++
		}
	}
	return files[:n], nil
}

// unread says of what the results could not be read, and wraps the cause where a context has ended.
func (r *results) unread(ctx context.Context, name string, err error) error {
	switch {
	case ctx.Err() == nil:
		return fmt.Errorf("the test results %s cannot be read: %w", name, err)
	case context.Cause(ctx) == errBudget:
		return fmt.Errorf("the test results %s could not be read within %w, %v", name, errBudget, r.step.Budget.Timeout)
	}
	return fmt.Errorf("the test results %s were not read: %w", name, context.Cause(ctx))
}

// unreadReason is the reason of a line whose results could not be read; ctx is that of the run.
func unreadReason(ctx context.Context, err error) schedule.Reason {
	switch {
	case errors.Is(err, errBudget):
		return receipts.StopTimeout
	case ctx.Err() != nil:
		return receipts.StopInterrupted
	}
	return receipts.StopVacuous
}

// read reads the files that the command wrote. Those that it left untouched are of an earlier run, and count for nothing.
func (r *results) read(ctx context.Context) (sum diagnose.Tests, all diagnose.Failures, cases []diagnose.Case, err error) {
	ctx, cancel := r.within(ctx)
	defer cancel()
	named := r.named
	each := func(c diagnose.Case) {
		if named -= c.Size(); named >= 0 && len(cases) <= diagnose.MaxCases { // one more says that they are not all
			cases = append(cases, c)
		}
	}
	found, err := r.find(ctx)
	if err != nil {
		return sum, all, nil, err
	}
	files, left := 0, r.most
	for _, f := range found {
		if r.before[r.from.mark(f)] {
			continue
		}
		in, err := r.from.open(f.Name)
		if err != nil {
			return sum, all, nil, r.unread(ctx, f.Name, err)
		}
		t, failures, err := diagnose.JUnit(&boundedReader{ctx, in, &left}, r.public.Text, each)
		in.Close()
		if left < 0 {
			err = fmt.Errorf("with it they are larger than %d bytes", r.most)
		}
		if err != nil {
			return sum, all, nil, r.unread(ctx, f.Name, err)
		}
		files++
		sum.Passed, sum.Failed, sum.Skipped = sum.Passed+t.Passed, sum.Failed+t.Failed, sum.Skipped+t.Skipped
		all.Add(failures)
	}
	if files == 0 {
		return sum, all, nil, fmt.Errorf("it wrote no test results to %s", r.step.Expect.JUnit)
	}
	if named < 0 || len(cases) > diagnose.MaxCases {
		cases = nil
	}
	return sum, all, cases, nil
}

// keepCases lets go of the cases of res where those of the run are too large together: its tests are counted, and not named.
func (x *Executor) keepCases(res *Report) {
	size := 0
	for _, c := range res.Cases {
		size += c.Size()
	}
	if x.named.Add(int64(size)) > diagnose.MaxCaseBytes {
		x.named.Add(-int64(size))
		res.Cases = nil
	}
}

// A boundedReader reads until its context ends, or until nothing is left for all readers together.
type boundedReader struct {
	ctx  context.Context
	in   io.Reader
	left *int64
}

func (r *boundedReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.in.Read(p)
	if *r.left -= int64(n); *r.left < 0 {
		return 0, io.ErrShortBuffer
	}
	return n, err
}

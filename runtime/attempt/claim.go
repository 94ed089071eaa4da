package attempt

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/doctrine"
	"github.com/command-dialect/dialect/runtime/schedule"
	"github.com/command-dialect/dialect/runtime/tempdir"
)

// ResultVariable names the variable with the path of a file in which a command may
// say, as JSON, what it did: its result, its effects, the handle of what it made. It is
// recorded as the command's own claim.
//
// Each attempt has a file of its own, under a name that nobody can guess before it starts,
// and it is taken away once the claim was read: no earlier line, and no earlier attempt, can
// leave a claim for a later one. What runs at the same time as the same user can: a process
// that an earlier line left running, or a line in parallel, may find the name, as it may read
// and write whatever else is the command's. A claim is the command's word, and as good as the
// user that it runs as.
const ResultVariable = "DIALECT_RESULT"

// claims hands out the places for results, in a directory that is made with the run and
// removed with it.
type claims struct {
	dir    string
	remove func()
	err    error
}

func (c *claims) open() { c.dir, c.remove, c.err = tempdir.New(tempdir.Result) }

func (c *claims) close() {
	if c.remove != nil {
		c.remove()
	}
}

// begin returns the path for the result of an attempt that starts, where nothing is yet, and
// what takes it away; the path is empty if there can be none.
func (c *claims) begin() (path string, end func()) {
	if c.dir == "" || c.err != nil {
		return "", func() {}
	}
	path = filepath.Join(c.dir, rand.Text()+".json") // 130 bits
	return path, func() { _ = os.Remove(path) }      // there need not be any
}

// readClaim reads what a command wrote about itself; nil if it wrote nothing.
func readClaim(path string) (*doctrine.Result, error) {
	if path == "" {
		return nil, nil
	}
	text, err := regular.ReadOwn(path, doctrine.MaxResult)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(text) == 0:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("its result cannot be read: %w", err)
	}
	return doctrine.ParseResult(text)
}

// judgeClaim reads what a command says of itself, and judges it.
func judgeClaim(res *Report, path string) {
	claim, err := readClaim(path)
	if err != nil {
		if res.Verdict == schedule.Passed {
			res.end(schedule.Failed, receipts.StopExpectation, err.Error())
		}
		return
	}
	judgeRead(res, claim)
}

// judgeRead compares a claim, which may be nil, with the binding: it can make a pass worse, never better.
func judgeRead(res *Report, claim *doctrine.Result) {
	res.Claim = claim
	if res.Verdict != schedule.Passed {
		return
	}
	if want := res.Step.Expect.Fields; len(want) > 0 {
		missing := want
		if claim != nil {
			missing = claim.Missing(want)
		}
		if len(missing) > 0 {
			res.end(schedule.Failed, receipts.StopExpectation, "its receipt lacks "+strings.Join(missing, ", "))
			return
		}
	}
	if claim == nil {
		return
	}
	switch claim.Status {
	case receipts.StatusFailed:
		res.end(schedule.Failed, receipts.StopExpectation, "its own result says that it failed")
		if claim.Handle != nil && !claim.Handle.Error.IsZero() {
			res.Detail += ": " + claim.Handle.Error.Text
		}
	case receipts.NotConfigured:
		res.end(schedule.Fault, receipts.StopNotConfigured, "its own result says that it is not configured")
		if claim.Reason != "" {
			res.Detail += ": " + claim.Reason
		}
		if len(claim.NextSteps) > 0 {
			res.Detail += "; next: " + strings.Join(claim.NextSteps, "; ")
		}
	}
}

// recordClaim puts the claim of a command into its receipt.
func (x *Executor) recordClaim(rec *receipts.Receipt, claim *doctrine.Result) {
	if claim == nil {
		return
	}
	rec.Result, rec.Effects = x.public(claim.Result), x.public(claim.Effects)
	if h := claim.Handle; h != nil {
		rec.Handle = &receipts.Handle{
			Route: x.public(h.Route.Text), Type: x.public(h.Type.Text), Operation: x.public(h.Operation.Text), Status: h.Status,
			ExternalID: x.public(h.ExternalID.Text), VerifiableURL: x.public(h.VerifiableURL.Text),
			Preview: x.preview(h.Preview.Text), Error: x.public(h.Error.Text),
		}
	}
	if claim.Status == receipts.Pending && rec.Status == receipts.Succeeded {
		rec.Status = receipts.Pending
	}
}

// preview is the beginning of a preview as it may be recorded.
func (x *Executor) preview(text string) receipts.Datum {
	d := x.public(text)
	if runes := []rune(d.Text); len(runes) > doctrine.MaxPreview {
		d.Text = string(runes[:doctrine.MaxPreview])
	}
	return d
}

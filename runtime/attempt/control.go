package attempt

import (
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/cleanroom"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// A Control has the command of a step run on files that were broken on purpose, in a clean room, to see whether it
// refuses them. The step passes if it does so as it should; its receipt says nothing of the command itself.
type Control struct {
	Edits  []cleanroom.Edit
	Output func(Output) // gets what the command prints, as it is; it must not keep the data

	// Judge says whether the command noticed; the report is as without a control. It returns what the receipt
	// says of it, and one line for people.
	Judge func(*Report) (rec receipts.Control, detail string)

	record *receipts.Control
}

// judgeControl replaces the verdict of a step by that of its control.
func (x *Executor) judgeControl(res *Report, c *Control) {
	rec, detail := c.Judge(res)
	rec.Binding, rec.Command = res.Step.Binding, receipts.CommandHash(res.Step.Identity())
	c.record, res.Tests, res.Claim = &rec, nil, nil
	if rec.Outcome == receipts.Noticed {
		res.end(schedule.Passed, "", detail)
		return
	}
	if res.Verdict != schedule.Fault {
		res.Verdict, res.Reason = schedule.Failed, receipts.StopExpectation
	}
	res.Detail = detail
}

// ofControl makes the receipt of a step that of its control, if it has one.
func (x *Executor) ofControl(rec *receipts.Receipt) {
	c := x.opt.Controls[rec.Step]
	if c == nil {
		return
	}
	command := receipts.CommandHash(x.steps[rec.Step].Identity())
	if c.record == nil { // it did not run
		c.record = &receipts.Control{Binding: rec.Binding, Command: command, Line: 1, Nonce: "none", Outcome: "unfinished"}
	}
	rec.Control, rec.Binding, rec.Tests = c.record, "", nil
	rec.Argv, rec.Values, rec.Scope = nil, nil, receipts.Hash{}
	for _, a := range receipts.ControlArgv(command) {
		rec.Argv = append(rec.Argv, receipts.Text(a))
	}
	rec.Command = receipts.CommandHash(receipts.ControlArgv(command))
	if c.record.Outcome != receipts.Noticed && rec.Status == receipts.Succeeded || rec.Status == receipts.NotConfigured {
		rec.Status = receipts.StatusFailed
	}
}

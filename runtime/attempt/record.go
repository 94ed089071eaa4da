package attempt

import (
	"crypto/sha256"
	"path/filepath"
	"runtime"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// parseHash parses a digest of the plan; one that is absent is the zero Hash.
func parseHash(hex string) receipts.Hash {
	h, _ := receipts.ParseHash(hex)
	return h
}

// runRecord is the record that a run begins.
func (x *Executor) runRecord(started receipts.Time) *receipts.Run {
	p := x.plan
	rec := &receipts.Run{
		Version: 1, Run: x.opt.Run, Session: x.opt.Session, Started: started, Nonce: x.opt.Nonce,
		Script: receipts.File{Path: receipts.Text(x.fileName(p.Script.Name)), SHA256: parseHash(p.Script.SHA256)}, Part: p.Script.Part,
		Parent: x.opt.Parent, Signer: x.opt.Signer, Planned: []receipts.Planned{}, Dialect: x.opt.Version, System: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if e := x.trees.epoch; e != nil {
		rec.Tree = &e.tree
	}
	if p.Matrix.SHA256 != "" {
		rec.Matrix = &receipts.File{Path: receipts.Text(p.Matrix.Name), SHA256: parseHash(p.Matrix.SHA256)}
	}
	// A body holds some hundred of these; Record counts the rest.
	const most = 400
	left := make(map[string]bool) // steps of which a run that leaves its gate to others may have no receipt, and be complete
	plan.Walk(p.Steps, func(s *plan.Step) {
		if x.opt.DeferGate && (IsGate(s) || s.WhenFailure) || left[s.ID] {
			left[s.ID] = true
			for _, m := range s.Members { // which come after it
				left[m.ID] = true
			}
		}
		if s.Kind == plan.Composite {
			return
		}
		if len(rec.Planned) == most {
			rec.More++
			return
		}
		planned := receipts.Planned{Step: s.ID, Line: s.Line.Number, Binding: s.Binding, Required: s.ReceiptRequired}
		if (len(s.Argv) > 0 || s.Kind == plan.MCP) && !left[s.ID] {
			planned.Command = receipts.CommandHash(s.Identity())
			if x.opt.Controls[s.ID] != nil {
				planned.Binding, planned.Command = "", receipts.CommandHash(receipts.ControlArgv(planned.Command))
			}
		}
		rec.Planned = append(rec.Planned, planned)
	})
	return rec
}

// receipt is what all receipts of a step have in common.
func (x *Executor) receipt(res *Report) *receipts.Receipt {
	s := res.Step
	rec := &receipts.Receipt{
		Version: 1, Command: receipts.CommandHash(s.Identity()), Kind: string(s.Kind), Attempt: max(res.Attempts, 1), Dispatch: res.dispatch,
		Timestamp: receipts.Time{Time: res.Started}, DurationNS: int64(res.Duration),
		StopReason: stopReason(res),
		Stdout:     receipts.Stream{SHA256: sha256.Sum256(nil)}, Stderr: receipts.Stream{SHA256: sha256.Sum256(nil)},
		Session: x.opt.Session, Run: x.opt.Run, Step: s.ID,
		Line:    receipts.Line{File: receipts.Text(x.fileName(s.Line.File)), Number: s.Line.Number, Text: x.public(s.Line.Text)},
		Binding: s.Binding, Nonce: x.opt.Nonce, Signer: x.opt.Signer,
		Matrix: parseHash(x.plan.Matrix.SHA256), Script: parseHash(x.plan.Script.SHA256), Apart: apart(s), HandedBack: res.handedBack,
	}
	if p := res.Process; p != nil && !p.Started.IsZero() { // of the last attempt alone
		rec.Timestamp, rec.DurationNS = receipts.Time{Time: p.Started}, int64(p.Duration)
	}
	rec.Dir, rec.Inputs, rec.InputsAfter = x.dir(s), res.inputs, res.inputsAfter
	if res.epoch != nil {
		rec.Place = res.epoch.place
		if len(s.Files) > 0 {
			// A run that ends waits for no long digest. A pass without one counts for exactly these files, a failure for all.
			rec.Scope = res.epoch.files().Digest(x.trees.ctx, s.Files)
		}
	}
	rec.Workspace, rec.Clean = x.workspaceOf(res), res.clean
	rec.Argv = x.argv(s)
	for _, v := range s.Values {
		rec.Values = append(rec.Values, receipts.Value{Name: v.Name, Text: x.public(v.Text)})
	}
	switch {
	case res.Verdict == schedule.Passed:
		rec.Status = receipts.Succeeded
	case res.Reason == receipts.StopNotConfigured:
		rec.Status = receipts.NotConfigured
	default:
		rec.Status = receipts.StatusFailed
	}
	return rec
}

// fileName is the file of a line as records have it: the script is named from the root, wherever the caller stood.
func (x *Executor) fileName(name string) string {
	if p := x.plan.Script; p.Path != "" && name == p.Name && x.opt.Root != "" {
		return place.From(x.opt.Root, p.Path)
	}
	return name
}

// dir is the directory of a step as its receipt has it.
func (x *Executor) dir(s *plan.Step) receipts.Datum {
	if s.Dir == "" || s.Dir == x.opt.Root || s.Kind != plan.Process {
		return receipts.Datum{}
	}
	rel, err := filepath.Rel(x.opt.Root, s.Dir)
	if err != nil {
		rel = s.Dir
	}
	return receipts.Text(filepath.ToSlash(rel))
}

// argv is the command of a step as it may be recorded. A word with a declared secret is marked even where there is nothing to hide, as of
// an empty one: the step's identity has another word in its place.
func (x *Executor) argv(s *plan.Step) (list []receipts.Datum) {
	identity := s.Identity()
	for i, word := range s.Command() {
		d := x.public(word)
		if word != identity[i] && !d.Redacted {
			d = receipts.Redacted(word)
		}
		list = append(list, d)
	}
	return list
}

// public is a text as it may be recorded.
func (x *Executor) public(text string) receipts.Datum {
	if public := x.opt.Redact.Text(text); public != text {
		return receipts.Redacted(public)
	}
	return receipts.Text(text)
}

// stopReason is the reason in the words of the line-fault contract; empty if the
// command ran to its end and did as expected.
func stopReason(res *Report) receipts.StopReason {
	if res.Verdict == schedule.Passed || res.Reason == receipts.StopExitCode {
		return ""
	}
	return res.Reason
}

// processReceipt adds what a process has of its own to a receipt.
func (x *Executor) processReceipt(rec *receipts.Receipt, res *Report, environment receipts.Hash) {
	p := res.Process
	if p.ExitCode >= 0 && p.Signal == "" {
		code := p.ExitCode
		rec.ExitCode = &code
	}
	rec.Signal = p.Signal
	rec.Stdout, rec.Stderr = stream(p.Stdout), stream(p.Stderr)
	rec.Environment, rec.Tests = environment, res.Tests
	x.recordClaim(rec, res.Claim)
	if p.Path != "" {
		rec.Executable = &receipts.File{Path: receipts.Text(p.Path), SHA256: p.Executable}
	}
}

func stream(o process.Output) receipts.Stream {
	s := receipts.Stream{SHA256: o.SHA256, Bytes: o.Bytes}
	if o.Cut || o.Redacted {
		s.Log = o.LogSHA256
	}
	return s
}

// maxDetail bounds what is kept of a detail, in bytes: a tool can say what it likes of itself.
const maxDetail = 8 << 10

// record submits the receipt of an attempt that has its verdict; fill, which may be nil, adds what
// its kind has of its own. Without a store none is made. What cannot be written as a receipt is a
// fault of its step and not of the store: a plain receipt takes its place, so that the attempt
// leaves a trace.
func (x *Executor) record(res *Report, fill func(*receipts.Receipt)) {
	res.Detail = diag.ClipBytes(x.opt.Redact.Text(res.Detail), maxDetail) // before a report makes one line of it, or less
	if x.ledger.store == nil {
		return
	}
	rec := x.receipt(res)
	if fill != nil {
		fill(rec)
	}
	x.ofControl(rec)
	written, err := rec.Record()
	if err != nil {
		if res.Verdict == schedule.Passed {
			res.Verdict, res.Reason = schedule.Fault, receipts.StopUnrecordable
			rec.Status, rec.StopReason = receipts.StatusFailed, receipts.StopUnrecordable
		}
		if res.Detail != "" {
			res.Detail += "; "
		}
		res.Detail += "its receipt cannot be written: " + err.Error()
		rec.Result, rec.Effects, rec.Handle, rec.Tests = receipts.Datum{}, receipts.Datum{}, nil, nil
		rec.Timestamp, rec.DurationNS = receipts.Time{}, 0 // a time that no one takes for recent
		if written, err = rec.Record(); err != nil {
			return
		}
	}
	res.Receipt = written.SHA()
	res.ticket = x.ledger.submit(written)
	x.names.add(Durable{res.Step, max(res.Attempts, 1), res.Receipt}, res.ticket)
}

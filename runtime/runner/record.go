package runner

import (
	"crypto/sha256"
	"path/filepath"
	"runtime"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/process"
)

// digest parses a digest of the plan; one that is absent is the zero Hash.
func digest(hex string) receipts.Hash {
	h, _ := receipts.ParseHash(hex)
	return h
}

// runRecord is the record that a run begins.
func (r *run) runRecord(started receipts.Time) *receipts.Run {
	p := r.plan
	rec := &receipts.Run{
		Version: 1, Run: r.opt.Run, Session: r.opt.Session, Started: started, Nonce: r.opt.Nonce,
		Script: receipts.File{Path: receipts.Text(p.Script.Name), SHA256: digest(p.Script.SHA256)}, Part: p.Script.Part,
		Parent: r.opt.Parent, Signer: r.opt.Signer, Planned: []receipts.Planned{}, Dialect: r.opt.Version, System: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if e := r.trees.epoch; e != nil {
		rec.Tree = &e.tree
	}
	if p.Matrix.SHA256 != "" {
		rec.Matrix = &receipts.File{Path: receipts.Text(p.Matrix.Name), SHA256: digest(p.Matrix.SHA256)}
	}
	// A body holds some hundred of these; Record counts the rest.
	const most = 400
	plan.Walk(p.Steps, func(s *plan.Step) {
		if s.Kind == plan.Composite {
			return
		}
		if len(rec.Planned) == most {
			rec.More++
			return
		}
		planned := receipts.Planned{Step: s.ID, Line: s.Line.Number, Binding: s.Binding, Required: s.ReceiptRequired}
		if len(s.Argv) > 0 || s.Kind == plan.MCP {
			planned.Command = receipts.CommandHash(r.command(s))
		}
		rec.Planned = append(rec.Planned, planned)
	})
	return rec
}

// receipt is what all receipts of a step have in common.
func (r *run) receipt(res *Result) *receipts.Receipt {
	s := res.Step
	rec := &receipts.Receipt{
		Version: 1, Command: receipts.CommandHash(r.command(s)), Kind: string(s.Kind), Attempt: max(res.Attempts, 1),
		Timestamp: receipts.Time{Time: res.Started}, DurationNS: int64(res.Duration),
		StopReason: stopReason(res),
		Stdout:     receipts.Stream{SHA256: sha256.Sum256(nil)}, Stderr: receipts.Stream{SHA256: sha256.Sum256(nil)},
		Session: r.opt.Session, Run: r.opt.Run, Step: s.ID,
		Line:    receipts.Line{File: receipts.Text(s.Line.File), Number: s.Line.Number, Text: r.public(s.Line.Text)},
		Binding: s.Binding, Nonce: r.opt.Nonce, Signer: r.opt.Signer,
		Matrix: digest(r.plan.Matrix.SHA256), Script: digest(r.plan.Script.SHA256),
	}
	if p := res.Process; p != nil && !p.Started.IsZero() { // of the last attempt alone
		rec.Timestamp, rec.DurationNS = receipts.Time{Time: p.Started}, int64(p.Duration)
	}
	rec.Dir, rec.Inputs = r.dir(s), res.inputs
	if res.epoch != nil {
		rec.Place = res.epoch.place
	}
	rec.Workspace = r.workspaceOf(res)
	for _, a := range s.Command() {
		rec.Argv = append(rec.Argv, r.public(a))
	}
	for _, v := range s.Values {
		rec.Values = append(rec.Values, receipts.Value{Name: v.Name, Text: r.public(v.Text)})
	}
	switch {
	case res.Verdict == Passed:
		rec.Status = receipts.Succeeded
	case res.Reason == NotConfigured:
		rec.Status = receipts.NotConfigured
	default:
		rec.Status = receipts.StatusFailed
	}
	return rec
}

// dir is the directory of a step as its receipt has it.
func (r *run) dir(s *plan.Step) receipts.Datum {
	if s.Dir == "" || s.Dir == r.opt.Root || s.Kind != plan.Process {
		return receipts.Datum{}
	}
	rel, err := filepath.Rel(r.opt.Root, s.Dir)
	if err != nil {
		rel = s.Dir
	}
	return receipts.Text(filepath.ToSlash(rel))
}

// command is what a step carries out as its digest is made. Of secrets those alone are
// taken out that the matrix declares for this very step: were it also what the
// environment holds, a variable could give the same command another digest, by which it
// meets no requirement, and its failures are not found.
func (r *run) command(s *plan.Step) []string {
	argv := s.Command()
	var secrets []string
	for _, v := range s.Values {
		if v.Secret && v.Text != "" {
			secrets = append(secrets, v.Text)
		}
	}
	if len(secrets) == 0 {
		return argv
	}
	without := make([]string, len(argv))
	for i, a := range argv {
		without[i] = r.opt.Redact.Values(a, secrets)
	}
	return without
}

// public is a text as it may be recorded.
func (r *run) public(text string) receipts.Datum {
	if public := r.opt.Redact.Text(text); public != text {
		return receipts.Redacted(public)
	}
	return receipts.Text(text)
}

// stopReason is the reason in the words of the line-fault contract; empty if the
// command ran to its end and did as expected.
func stopReason(res *Result) receipts.StopReason {
	if res.Verdict == Passed || res.Reason == ExitCode {
		return ""
	}
	return res.Reason
}

// processReceipt is the receipt of the last attempt of a step.
func (r *run) processReceipt(res *Result, environment receipts.Hash) *receipts.Receipt {
	rec := r.receipt(res)
	p := res.Process
	if p.ExitCode >= 0 && p.Signal == "" {
		code := p.ExitCode
		rec.ExitCode = &code
	}
	rec.Signal = p.Signal
	rec.Stdout, rec.Stderr = stream(p.Stdout), stream(p.Stderr)
	rec.Environment, rec.Tests = environment, res.Tests
	r.recordClaim(rec, res.Claim)
	if p.Path != "" {
		rec.Executable = &receipts.File{Path: receipts.Text(p.Path), SHA256: p.Executable}
	}
	return rec
}

func stream(o process.Output) receipts.Stream {
	s := receipts.Stream{SHA256: o.SHA256, Bytes: o.Bytes}
	if o.Cut || o.Redacted {
		s.Log = o.LogSHA256
	}
	return s
}

// record submits the receipt of the last attempt of a step. Without a store none is
// made. What cannot be written as a receipt is a fault of its step and not of the store:
// a plain receipt takes its place, so that the attempt leaves a trace.
func (r *run) record(res *Result, make func() *receipts.Receipt) {
	if r.ledger.store == nil {
		return
	}
	if !res.Receipt.IsZero() {
		res.Earlier, res.tickets = append(res.Earlier, res.Receipt), append(res.tickets, res.ticket)
		res.Receipt = receipts.Hash{}
	}
	rec := make()
	written, err := rec.Record()
	if err != nil {
		if res.Verdict == Passed {
			res.Verdict, res.Reason = Fault, Unrecordable
			rec.Status, rec.StopReason = receipts.StatusFailed, Unrecordable
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
	res.ticket = r.ledger.submit(written)
	r.names.add(ReceiptDurable{res.Step, max(res.Attempts, 1), res.Receipt}, res.ticket)
}

// markDegraded marks the results whose receipts are not durable, and no others, and forgets
// the receipts of earlier attempts that are not.
func (r *run) markDegraded(results []*Result) {
	Leaves(results, func(res *Result) {
		for i, ticket := range res.tickets {
			if r.ledger.durable(ticket) != nil {
				res.Earlier, res.tickets = res.Earlier[:i], res.tickets[:i]
				break
			}
		}
		switch {
		case isGate(res.Step): // its record is durable, or it did not pass
		case res.Receipt.IsZero():
			res.Degraded = res.Attempts > 0
		default:
			res.Degraded = r.ledger.durable(res.ticket) != nil
		}
	})
}

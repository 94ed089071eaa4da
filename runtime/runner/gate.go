package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// middleGate decides a gate that is not the last line: it gates the lines above
// it that no gate has consumed yet.
func (r *run) middleGate(res *Result) {
	res.Started = r.opt.Now()
	g := r.gate(false)
	res.Duration = r.opt.Now().Sub(res.Started)
	r.settle(res, g)
}

// settle gives the step of a gate the verdict of its decision.
func (r *run) settle(res *Result, g *Gate) {
	res.Gate = g
	switch g.Verdict {
	case GatePassed:
		if !g.Final {
			r.gates = append(r.gates, res)
		}
		res.Verdict, res.Receipt, res.Detail = Passed, g.SHA, "gate "+g.ID
	case GateDeferred:
		res.Verdict, res.Detail = Passed, "deferred"
	case GateRefusal:
		res.Verdict, res.Reason, res.Detail = Failed, GateRefused, g.Detail
	case GateVacuous:
		res.Verdict, res.Reason, res.Detail = Fault, Vacuous, g.Detail
	case GateDegraded:
		res.Verdict, res.Reason, res.Detail = Skipped, NoStore, g.Detail
	default:
		res.Verdict, res.Reason, res.Detail = Skipped, Barrier, g.Detail
		if r.first != nil {
			res.By = r.first.Step.ID
		}
	}
}

// gate decides about the lines that have ended so far.
func (r *run) gate(final bool) *Gate {
	g := &Gate{Final: final && !r.plan.Script.Part}
	var expect []receipts.Expectation
	var held []*Result // that expect is about
	total := 0
	unfinished := false
	Leaves(r.done, func(leaf *Result) {
		if isGate(leaf.Step) {
			unfinished = unfinished || leaf.Verdict != Passed && leaf.Reason != NoStore
			return
		}
		switch leaf.Verdict {
		case Passed, Flaky:
			total++
		case Skipped:
			switch leaf.Reason {
			case NoFailure, NotNeeded:
				return
			case NoStore:
				g.Refusals = append(g.Refusals, receipts.Refusal{
					Reason: receipts.Degraded, Step: leaf.Step.ID, Line: leaf.Step.Line.Number,
					Message: fmt.Sprintf("step %s (%s) changes state and was not run: no receipt can be kept of it", leaf.Step.ID, leaf.Step.Binding),
				})
				return
			}
			fallthrough
		default:
			unfinished = true
			return
		}
		if leaf.Step.ReceiptRequired {
			g.Required++
		}
		if r.consumed[leaf] {
			return
		}
		expect = append(expect, receipts.Expectation{
			SHA: leaf.Receipt, Step: leaf.Step.ID, Line: leaf.Step.Line.Number,
			Binding: leaf.Step.Binding, Argv: r.command(leaf.Step), Required: leaf.Step.ReceiptRequired,
			Flaky: leaf.Step.Budget.Retries > 0,
		})
		held = append(held, leaf)
	})
	switch {
	case r.ctx.Err() != nil:
		g.Verdict, g.Detail = GateNotRun, "the run was cut short"
		return g
	case unfinished:
		g.Verdict, g.Detail, g.Refusals = GateNotRun, "a line above did not pass", nil
		return g
	case len(g.Refusals) > 0:
		g.Verdict, g.Detail = GateRefusal, g.Refusals[0].Message
		return g
	case total == 0:
		g.Verdict, g.Detail = GateVacuous, "no line above it was carried out"
		return g
	}
	var err error
	if r.opt.DeferGate {
		g.Verdict, g.Members = GateDeferred, len(expect)
		err = r.ledger.sync()
	} else {
		tested, unseen := r.trees.gate()
		if r.ctx.Err() != nil {
			g.Verdict, g.Detail, g.Refusals = GateNotRun, "the run was cut short", nil
			return g
		}
		for i, leaf := range held {
			if e := leaf.epoch; e != nil {
				expect[i].Tree = &e.tree
				if !writes(leaf.Step) {
					expect[i].Changed = e.changed
				}
			}
		}
		if why := r.trees.noTree(); why != "" {
			g.Verdict, g.Detail = GateRefusal, why
			g.Refusals = []receipts.Refusal{{Reason: receipts.NoTree, Message: why}}
			return g
		}
		if why := r.trees.other; why != "" {
			g.Verdict, g.Detail = GateRefusal, why
			g.Refusals = []receipts.Refusal{{Reason: receipts.OtherPolicy, Message: why}}
			return g
		}
		err = r.askGate(g, expect, tested, unseen)
	}
	if err != nil {
		// Without a store there is no evidence: enough only if none was asked for.
		g.Verdict, g.Detail = GateDegraded, "no receipt can be kept: "+err.Error()
		for _, e := range expect {
			if e.Required {
				g.Verdict = GateRefusal
				g.Refusals = append(g.Refusals, receipts.Refusal{
					Reason: receipts.Degraded, Step: e.Step, Line: e.Line, SHA: e.SHA,
					Message: fmt.Sprintf("step %s requires a receipt, and none could be kept", e.Step),
				})
			}
		}
	}
	return g
}

// askGate asks the store for a gate over the files of the snapshot tested, beyond which
// the paths unseen are there now. The error is the store's: nothing was decided.
func (r *run) askGate(g *Gate, expect []receipts.Expectation, tested *workspace.Snapshot, unseen []string) error {
	if why := r.ledger.reason(); why != "" {
		return errors.New(why)
	}
	req := receipts.GateRequest{
		Run: r.opt.Run, Session: r.opt.Session, Nonce: r.opt.Nonce, At: receipts.Time{Time: r.opt.Now()},
		Final: g.Final, Part: r.plan.Script.Part,
		Script: digest(r.plan.Script.SHA256), Matrix: digest(r.plan.Matrix.SHA256),
		Covers: covers(r.done), Expect: expect,
		Policy: r.policy(), Parent: r.opt.Parent, AcceptFlaky: r.opt.AcceptFlaky, By: r.opt.By,
	}
	if req.Policy == "" {
		g.Verdict, g.Detail = GateNotRun, "the run was cut short"
		return nil
	}
	if tested != nil {
		req.Place = receipts.Text(tested.Place)
		g.Beyond = Beyond(&req, tested, unseen)
	}
	g.Policy, g.Tree, g.Noted = req.Policy, req.Tree, unseen
	// What earlier gates consumed comes in with their gate receipts.
	for _, earlier := range r.gates {
		req.Expect = append(req.Expect, receipts.Expectation{
			SHA: earlier.Receipt, Step: earlier.Step.ID, Line: earlier.Step.Line.Number, Binding: earlier.Step.Binding, Gate: true,
		})
	}
	d, err := r.opt.Store.Gate(context.Background(), req)
	if err != nil {
		r.ledger.fail(err)
		return err
	}
	if !d.Passed() {
		g.Verdict, g.Refusals = GateRefusal, d.Refusals
		g.Detail = d.Refusals[0].Message
		if n := len(d.Refusals); n > 1 {
			g.Detail += fmt.Sprintf(", and %d more", n-1)
		}
		return nil
	}
	g.Verdict, g.SHA, g.ID, g.Level, g.Members, g.Reused = GatePassed, d.Gate, receipts.GateID(d.Gate), d.Level, len(req.Expect), d.Reused
	g.Failures, g.Early = d.Failures, d.Early
	if r.opt.Keep != nil && tested != nil {
		r.opt.Keep(tested)
	}
	Leaves(r.done, func(leaf *Result) { r.consumed[leaf] = true })
	r.gates = r.gates[:0]
	return nil
}

// Beyond puts the tree of a snapshot into a request, and what a clone of it would have
// otherwise. What came while the run went on may have had a part in it, and no clone
// has it: with that nothing is exact. It returns the reasons.
func Beyond(req *receipts.GateRequest, s *workspace.Snapshot, unseen []string) (reasons []string) {
	tree := treeOf(s)
	tree.Exact = tree.Exact && len(unseen) == 0
	req.Tree = &tree
	if tree.Exact || tree.Tree == "" {
		return nil
	}
	all := slices.Clone(s.Beyond.List)
	for _, path := range unseen {
		all = append(all, workspace.Difference{Path: path, Why: "it came while the run went on"})
	}
	for _, d := range all[:min(len(all), receipts.MaxBeyond)] {
		reasons = append(reasons, d.String())
		text := receipts.Text(d.String())
		if len(text.Text) > 512 {
			text = text.Digest()
		}
		req.Beyond = append(req.Beyond, text)
	}
	req.BeyondMore = s.Beyond.Count + len(unseen) - len(req.Beyond)
	return reasons
}

// policy asks for the policy once. What answers may wait for git; a run that is cut short
// does not, and has no gate then.
func (r *run) policy() string {
	if r.policyKnown == "" {
		answer := make(chan string, 1)
		go func() { answer <- r.opt.Policy() }()
		select {
		case r.policyKnown = <-answer:
		case <-r.ending.Done():
		}
	}
	return r.policyKnown
}

func covers(done []*Result) receipts.Covers {
	if len(done) == 0 {
		return receipts.Covers{}
	}
	return receipts.Covers{
		FirstLine: done[0].Step.Line.Number, LastLine: done[len(done)-1].Step.Line.Number, Commands: len(done),
	}
}

// finalGate decides the gate that ends the run.
func (r *run) finalGate() *Gate {
	if len(r.plan.Steps) == 0 {
		return &Gate{Verdict: GateVacuous, Detail: "the script has no command"}
	}
	if r.refusal != nil {
		return &Gate{Verdict: GateNotRun, Detail: "the gate of step " + r.refusal.Step.ID + " refused"}
	}
	return r.gate(true)
}

package attempt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/schedule"
	"github.com/command-dialect/dialect/runtime/scope"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// Gate carries out a [schedule.Gate]: it decides about the leaves that have ended before it and
// that no gate has consumed yet. Once ctx is cancelled nothing is decided any more. The decision of
// a gate is returned once more when its action comes again.
func (x *Executor) Gate(ctx context.Context, a schedule.Action) *Decision {
	g := x.decisions[a.ID]
	if g == nil {
		g = new(Decision)
		switch {
		case len(x.plan.Steps) == 0:
			g.Verdict, g.Detail = GateVacuous, "the script has no command"
		case a.Why != "":
			g.Verdict, g.Detail = GateNotRun, a.Why
		default:
			x.decide(ctx, a, g)
		}
		x.decisions[a.ID] = g
	}
	return g
}

func (x *Executor) decide(ctx context.Context, a schedule.Action, g *Decision) {
	g.Final = a.Final && !x.plan.Script.Part
	said := make(map[string]schedule.Ended, len(a.Ended))
	for _, e := range a.Ended {
		said[e.ID] = e
	}
	var expect []receipts.Expectation
	var held []*Report // that expect is about
	total := 0
	unfinished := false
	// The leaves are those of the plan, and a pass is that of the last report: the action says only
	// what became of leaves that were not started.
	plan.Walk(x.before(a), func(s *plan.Step) {
		if s.Kind == plan.Composite {
			return
		}
		e, r := said[s.ID], x.reports[s.ID]
		switch {
		case IsGate(s):
			unfinished = unfinished || e.Verdict != schedule.Passed && e.Reason != schedule.NoStore && e.Reason != schedule.NoFailure
			return
		case r != nil && r.Verdict == schedule.Passed && r.Attempts <= s.Budget.Retries+1 && (e.Verdict == schedule.Passed || e.Verdict == schedule.Flaky):
			total++
		case r == nil && e.Verdict == schedule.Skipped && (e.Reason == schedule.NoFailure || e.Reason == schedule.NotNeeded):
			return
		case r == nil && e.Verdict == schedule.Skipped && e.Reason == schedule.NoStore:
			g.Refusals = append(g.Refusals, receipts.Refusal{
				Reason: receipts.Degraded, Step: s.ID,
				Message: fmt.Sprintf("step %s (%s) changes state and was not run: no receipt can be kept of it", s.ID, s.Binding),
			})
			return
		default:
			unfinished = true
			return
		}
		if s.ReceiptRequired {
			g.Required++
		}
		if x.consumed[s.ID] {
			return
		}
		expect = append(expect, receipts.Expectation{
			SHA: r.Receipt, Step: s.ID, Binding: s.Binding, Argv: s.Identity(), Required: s.ReceiptRequired,
		})
		held = append(held, r)
	})
	switch {
	case ctx.Err() != nil:
		g.Verdict, g.Detail = GateNotRun, "the run was cut short"
		return
	case unfinished:
		g.Verdict, g.Detail, g.Refusals = GateNotRun, "a line above did not pass", nil
		return
	case len(g.Refusals) > 0:
		g.Verdict, g.Detail = GateRefusal, g.Refusals[0].Message
		return
	case total == 0:
		g.Verdict, g.Detail = GateVacuous, "no line above it was carried out"
		return
	}
	var err error
	if x.opt.DeferGate {
		g.Verdict, g.Members = GateDeferred, len(expect)
		for i, r := range held {
			expect[i].Changed, expect[i].Moved = r.changed, r.moved
		}
		g.unfit(expect)
		err = x.ledger.sync()
	} else {
		tested, unseen := x.trees.gate()
		if ctx.Err() != nil {
			g.Verdict, g.Detail, g.Refusals = GateNotRun, "the run was cut short", nil
			return
		}
		for i, r := range held {
			if e := r.epoch; e != nil {
				expect[i].Tree = &e.tree
				if !writes(r.Step) {
					expect[i].Changed = slices.Compact(slices.Sorted(slices.Values(slices.Concat(e.changed, r.changed))))
				}
			}
			expect[i].Moved = r.moved
		}
		if why := x.trees.noTree(); why != "" {
			g.Verdict, g.Detail = GateRefusal, why
			g.Refusals = []receipts.Refusal{{Reason: receipts.NoTree, Message: why}}
			return
		}
		if why := x.trees.other; why != "" {
			g.Verdict, g.Detail = GateRefusal, why
			g.Refusals = []receipts.Refusal{{Reason: receipts.OtherPolicy, Message: why}}
			return
		}
		// Of an edit that the epoch of a line saw, the store says which line it is about.
		blamed := slices.ContainsFunc(expect, func(e receipts.Expectation) bool { return !e.SHA.IsZero() && len(e.Changed) > 0 })
		if why := x.trees.elsewhere(); why != "" && !blamed {
			g.Verdict, g.Detail = GateRefusal, why
			g.Refusals = []receipts.Refusal{{Reason: receipts.TreeChanged, Message: why}}
			return
		}
		err = x.askGate(a, g, expect, tested, unseen)
	}
	if err != nil && g.Verdict != GateRefusal {
		// Without a store there is no evidence: enough only if none was asked for, and if the run itself has seen nothing that a gate refuses.
		g.Verdict, g.Detail = GateDegraded, "no receipt can be kept: "+err.Error()
		g.unfit(expect)
		for _, e := range expect {
			if e.Required {
				g.Verdict = GateRefusal
				g.Refusals = append(g.Refusals, receipts.Refusal{
					Reason: receipts.Degraded, Step: e.Step, SHA: e.SHA,
					Message: fmt.Sprintf("step %s requires a receipt, and none could be kept", e.Step),
				})
			}
		}
	}
}

// unfit refuses the lines since whose start files or inputs have changed that they only read, which the run itself has seen.
func (g *Decision) unfit(expect []receipts.Expectation) {
	for _, e := range expect {
		changed := e.Moved
		if len(e.Changed) > 0 {
			changed = receipts.ListPaths(e.Changed)
		}
		if changed == "" {
			continue
		}
		g.Refusals = append(g.Refusals, receipts.Refusal{
			Reason: receipts.TreeChanged, SHA: e.SHA, Step: e.Step,
			Message: fmt.Sprintf("step %s (%s) is fit for no gate: %s changed since it began; run it again", e.Step, e.Binding, changed),
		})
	}
	if len(g.Refusals) > 0 {
		g.Verdict, g.Detail = GateRefusal, g.Refusals[0].Message
	}
}

// askGate asks the store for a gate over the files of the snapshot tested, beyond which
// the paths unseen are there now, or were. The error is the store's: nothing was decided.
func (x *Executor) askGate(a schedule.Action, g *Decision, expect []receipts.Expectation, tested *workspace.Snapshot, unseen []string) error {
	if why := x.ledger.reason(); why != "" {
		return errors.New(why)
	}
	req := receipts.GateRequest{
		Run: x.opt.Run, Session: x.opt.Session, Nonce: x.opt.Nonce, At: receipts.Time{Time: x.opt.Now()},
		Final: g.Final, Part: x.plan.Script.Part,
		Script: parseHash(x.plan.Script.SHA256), Matrix: parseHash(x.plan.Matrix.SHA256),
		Covers: covers(x.before(a)), Expect: expect,
		Parent: x.opt.Parent, Retries: x.plan.Matrix.Retries, Env: x.plan.Matrix.Env, AcceptFlaky: x.opt.AcceptFlaky, By: x.opt.By, Resumed: x.opt.Resumed,
	}
	root := ""
	if tested != nil {
		root = tested.Root
	}
	if req.Policy = x.askPolicy(root); req.Policy == "" {
		g.Verdict, g.Detail = GateNotRun, "the run was cut short"
		return nil
	}
	if tested != nil {
		req.Place = receipts.Text(tested.Place)
		g.Beyond, req.Came = Beyond(&req, tested, unseen), x.trees.unheld(tested)
		if a.Final && len(x.plan.Named) > 0 {
			req.Rest = scope.Of(tested).Rest(x.plan.Named)
		}
	}
	g.Policy, g.Tree, g.Noted = req.Policy, req.Tree, unseen
	// What earlier gates consumed comes in with their gate receipts.
	req.Expect = append(req.Expect, x.gates...)
	d, err := x.opt.Store.Gate(context.Background(), req)
	if err != nil {
		x.ledger.fail(err)
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
	g.Failures, g.Early, g.Ground = d.Failures, d.Early, receipts.GroundOf(d.Records)
	if x.opt.Keep != nil && tested != nil {
		x.opt.Keep(tested)
	}
	plan.Walk(x.before(a), func(s *plan.Step) { x.consumed[s.ID] = true })
	x.gates = x.gates[:0]
	if s := x.steps[a.ID]; s != nil && !g.Final {
		x.gates = append(x.gates, receipts.Expectation{SHA: g.SHA, Step: s.ID, Binding: s.Binding, Gate: true})
	}
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
		all = append(all, workspace.Difference{Path: path, Why: receipts.CameDuringRun})
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

// askPolicy asks for the policy. What answers may wait for git; a run that is cut short
// does not, and has no gate then.
func (x *Executor) askPolicy(root string) string {
	answer := make(chan string, 1)
	go func() { answer <- x.opt.Policy(root) }()
	select {
	case policy := <-answer:
		return policy
	case <-x.ending.Done():
		return ""
	}
}

// before are the lines before a gate.
func (x *Executor) before(a schedule.Action) []*plan.Step {
	lines := x.plan.Steps
	if i := slices.IndexFunc(lines, func(s *plan.Step) bool { return s.ID == a.ID || strings.HasPrefix(a.ID, s.ID+".") }); i >= 0 {
		lines = lines[:i]
	}
	return lines
}

func covers(lines []*plan.Step) receipts.Covers {
	if len(lines) == 0 {
		return receipts.Covers{}
	}
	return receipts.Covers{FirstLine: lines[0].Line.Number, LastLine: lines[len(lines)-1].Line.Number, Commands: len(lines)}
}

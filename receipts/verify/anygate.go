package verify

import (
	"fmt"
	"slices"

	"github.com/command-dialect/dialect/receipts"
)

// anyGate answers by one gate: the newest on the tree that is VERIFIED; else, on the tree, one of this project under
// these rules before others, the newest first; else what nearest returns. Gates below q.Level are left aside, and hide
// nothing. Each gate is judged by all failures of its commands: at most maxJudged are, that fail,
// and no more once maxWeighed failures were weighed.
func (s *Session) anyGate(q Query) *Result {
	if len(s.problems) > 0 || s.err != nil {
		return &Result{}
	}
	var best *Result
	below, part, own, failed, enough := 0, int64(-1), 0, 0, false // own ranks best by [Query.own]
	s.weighed = 0
	consider := func(seq int64) bool {
		if s.index.at(seq).flags&flagFinal == 0 {
			part = max(part, seq)
			return false
		}
		if s.weaker(q, seq) {
			below++
			return false
		}
		e := s.entry(seq)
		if e == nil {
			return true
		}
		if e.Level < q.Level {
			below++
			return false
		}
		if s.stopped() {
			return true
		}
		if best != nil && own == ours && !s.covers(q, e) {
			return false // it says no more
		}
		r, of := s.judge(q, e, whole), s.ofPart(e)
		if s.weighed > maxWeighed && r.Verdict != "" && best == nil {
			best, own, enough = r, q.own(r.Body), true
			return true
		}
		if of && (len(q.Require) == 0 || r.Verdict != "") { // where it has what is required, that is enough
			part = max(part, seq)
			return false
		}
		if mine := q.own(r.Body); r.Verdict == "" || best == nil || mine > own {
			best, own = r, mine
		}
		if r.Verdict == Failed || r.Verdict == Flaky {
			failed++
		}
		enough = failed == maxJudged || s.weighed > maxWeighed
		return best.Verdict == "" || enough
	}
	if q.Tree != nil {
		gates := s.history(map[uint64]bool{}, *q.Tree).gates
		for i := len(gates) - 1; i >= 0 && s.err == nil; i-- {
			if consider(gates[i]) {
				break
			}
		}
	}
	onTree := best != nil
	if best == nil {
		below = 0
		if e := s.nearest(q, &below); e != nil {
			best = s.judge(q, e, whole)
		}
	}
	if best == nil {
		best = &Result{below: make(map[int64]bool)}
		if below > 0 {
			text := "no gate here is signed with a key that counts: %s"
			if q.Level >= receipts.LevelNotary {
				text = "no gate here is recorded by a notary that counts: %s"
			}
			best.no(Missing, receipts.LevelTooLow, receipts.Hash{}, text, belowText(below))
		} else {
			best.no(Missing, receipts.Missing, receipts.Hash{}, "no complete run of a script has produced a gate here")
		}
	}
	if enough && best.Verdict != "" {
		best.Notes = append(best.Notes, "not all gates on these files were looked at: too much failed on them")
	}
	if onTree {
		best.Below += below
	} else if part >= 0 {
		best.Notes = append(best.Notes, fmt.Sprintf("the gate %s on these files is not final: %s", receipts.GateID(s.index.at(part).sha), s.partOf(part)))
	}
	if q.Policy != "" && best.Verdict != Policy {
		best.no(Policy, receipts.OtherPolicy, receipts.Hash{}, "%s", q.Policy)
	}
	if onTree && own < ours && q.Policy == "" {
		// Gates of another project, or under another matrix, say nothing here, and hide no failure.
		none := &Result{below: make(map[int64]bool)}
		none.no(Missing, receipts.Missing, receipts.Hash{}, "no complete run of a script of this project has produced a gate here under these rules")
		if s.lookAround(q, none); none.Verdict != Missing || own == 0 && best.Verdict == Policy {
			return none
		}
	}
	return s.around(q, best)
}

const (
	maxJudged  = 256
	maxWeighed = 1 << 20
)

// covers reports whether the members of a gate are all that is required.
func (s *Session) covers(q Query, e *receipts.Entry) bool {
	g, ok := body(e).(*receipts.Gate)
	if !ok || len(q.Require) == 0 {
		return ok
	}
	var res Result
	s.flatten(g, &res)
	q.covered(&res, "")
	return len(res.Refusals) == 0
}

// partOf says what the gate at seq, which is not final, or answers a part of what is asked, is of.
func (s *Session) partOf(seq int64) string {
	e := s.entry(seq)
	if e == nil {
		return "it is of a part of a script"
	}
	g, ok := body(e).(*receipts.Gate)
	switch {
	case !ok:
		return "it is of a part of a script"
	case s.index.at(seq).flags&flagFinal != 0:
		return "it is of a run that a line of another run of this project started"
	case g.Part:
		return "it is of single lines (run -e, SCRIPT:LINE, --failed, --changed), or of a value that --set changed"
	case g.Script.IsZero():
		return "it was made without --require"
	}
	return "it is of the first lines of a script"
}

// ofPart reports whether e is the gate of a run that a line started, in the project of that line, whose script has other lines. For a query
// that names nothing such a gate answers only part of the question; the enclosing run's gate, if there is one, answers the rest. A run that
// an agent or a lone command started stands for itself, and so does one whose line has not ended.
func (s *Session) ofPart(e *receipts.Entry) bool {
	g, ok := body(e).(*receipts.Gate)
	if !ok || g.Parent == "" {
		return false
	}
	outer, step := receipts.SplitStep(g.Parent)
	begun := s.begun(outer)
	if begun == nil || outer == g.Run {
		return false
	}
	run := body(begun).(*receipts.Run)
	part := run.Part && run.Script.Path.Text != "" // a line of a script that was asked for alone
	if !part && run.More == 0 && !slices.ContainsFunc(run.Planned, func(p receipts.Planned) bool { return p.Step != step && !p.Command.IsZero() }) {
		return false
	}
	for _, seq := range s.ofRun(outer) {
		if e := s.entry(seq); e != nil && receipt(e) != nil && stepOf(receipt(e)) == g.Parent {
			return receipt(e).Place == g.Place && receipt(e).Matrix == g.Matrix && !receipt(e).Apart
		}
	}
	return false
}

// ours is the rank of [Query.own] for a gate of this project and these rules.
const ours = 2

// own ranks a gate: 0 another project, 1 this project under other rules, 2 (ours) this project and these rules.
func (q Query) own(g *receipts.Gate) int {
	switch {
	case g == nil || g.Place != q.Place:
		return 0
	case !q.Matrix.IsZero() && g.Matrix != q.Matrix:
		return 1
	}
	return ours
}

package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/receipts"
)

// A Leaf is a receipt whose command the log is searched for: a member of a gate, or one of a run that a command of a member
// started, whose gate the outer one took in, or that an agent handed back. The latter cover no requirement. What the log says of
// their commands counts all the same, or a line that starts a run would be a place where failures are forgotten.
type Leaf struct {
	*receipts.Entry
	Inner bool
	By    *receipts.Receipt // of an inner one: the member whose command started its run; nil if that is not known
}

// Leaves returns the members of a result, and what is below them.
func (r *Result) Leaves() []Leaf {
	list := make([]Leaf, 0, len(r.Members)+len(r.Inner))
	for _, m := range r.Members {
		list = append(list, Leaf{Entry: m})
	}
	return append(list, r.Inner...)
}

// describeLeaf names the line of a receipt for messages, and the one that started its run.
func (q Query) describeLeaf(m Leaf) string {
	text := q.describe(receipt(m.Entry))
	if m.By != nil {
		text += ", in a run that " + q.describe(m.By) + " started,"
	}
	return text
}

// inner returns the receipts below the gates in nested, and below those that commands of members were handed, all the way
// down. What a hand-written gate names and the log does not have says nothing. lost is called with what a bundle leaves out.
func (s *Session) inner(nested []receipts.Hash, members []*receipts.Entry, lost func(receipts.Hash)) (list []Leaf) {
	type level struct {
		left []receipts.Hash
		by   *receipts.Receipt
	}
	steps := make(map[string]*receipts.Receipt) // of members, as the parents of runs name them
	seen := make(map[receipts.Hash]bool)
	var todo []level
	for _, m := range members {
		seen[m.SHA] = true
		if r := receipt(m); r != nil {
			steps[r.Run+"/"+r.Step] = r
			if !r.HandedBack.IsZero() {
				todo = append(todo, level{[]receipts.Hash{r.HandedBack}, r})
			}
		}
	}
	if len(nested) > 0 {
		todo = append(todo, level{nested, nil})
	}
	for len(todo) > 0 && !s.stopped() {
		l := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		found := s.bySHA(l.left...)
		for _, sha := range l.left {
			e := found[sha]
			switch {
			case seen[sha]:
				continue
			case e == nil && s.partial:
				lost(sha)
				continue
			case e == nil:
				continue
			}
			seen[sha] = true
			by := l.by
			switch b := body(e).(type) {
			case *receipts.Gate:
				if by == nil {
					by = steps[b.Parent]
				}
			case *receipts.Receipt:
				if reason, _ := e.Succeeded(b); reason != "" {
					continue
				}
				list = append(list, Leaf{e, true, by})
			}
			if below := receipts.TookIn(body(e)); len(below) > 0 {
				todo = append(todo, level{below, by})
			}
		}
	}
	return list
}

// nested returns the gates of runs that decide for a gate over records: that steps of its own run started, but for those apart, or
// the commands of the records. Those that others of them took in are not among them.
func (s *Session) nested(g receipts.GateRequest, records []receipts.Entry) []receipts.Hash {
	steps := make(map[string]bool)
	for i := range records {
		if r := receipt(&records[i]); r != nil && r.Run != g.Run && r.HandedBack.IsZero() {
			steps[r.Run+"/"+r.Step] = true
		}
	}
	return s.gatesBelow(steps, func(parent string) bool {
		run, step, _ := strings.Cut(parent, "/")
		return run == g.Run && !slices.Contains(g.Apart, step)
	}, g.Run)
}

// gatesBelow returns the gates of runs that steps started, as their parents name them: those in steps, and those of a run that also says
// yes to. Gates that others of them took in are not among them.
func (s *Session) gatesBelow(steps map[string]bool, also func(parent string) bool, run string) []receipts.Hash {
	runs := map[uint64]bool{shortText(run): true}
	for step := range steps {
		runs[shortText(runOf(step))] = true
	}
	delete(runs, 0)
	if len(runs) == 0 {
		return nil
	}
	var order []receipts.Hash
	taken := make(map[receipts.Hash]bool)
	for seq := range s.index.marks {
		if m := &s.index.marks[seq]; m.kind != kindGate || m.parent == 0 || !runs[m.parent] {
			continue
		}
		e := s.entry(int64(seq))
		if e == nil {
			return nil
		}
		b, ok := body(e).(*receipts.Gate)
		if !ok || !steps[b.Parent] && !also(b.Parent) {
			continue
		}
		order = append(order, e.SHA)
		for _, h := range receipts.TookIn(b) {
			taken[h] = true
		}
	}
	return slices.DeleteFunc(order, func(h receipts.Hash) bool { return taken[h] })
}

// startedRuns reports whether the command of r started runs that left gates, or rests on one that an agent handed back.
func (s *Session) startedRuns(r *receipts.Receipt) bool {
	return !r.HandedBack.IsZero() || len(s.ownGates(r)) > 0
}

// ownGates returns the gates of runs that the command of r started.
func (s *Session) ownGates(r *receipts.Receipt) []receipts.Hash {
	if !r.HandedBack.IsZero() {
		return nil // of an agent only that counts
	}
	return s.gatesBelow(map[string]bool{r.Run + "/" + r.Step: true}, func(string) bool { return false }, "")
}

// startedBy returns the step that started a run, as "RUN/STEP"; empty if none did.
func (s *Session) startedBy(run string) string {
	key := shortText(run)
	for seq := range s.index.marks {
		if m := &s.index.marks[seq]; m.kind != kindRun || m.run != key || m.parent == 0 {
			continue
		}
		if e := s.entry(int64(seq)); e != nil {
			if b, ok := body(e).(*receipts.Run); ok && b.Run == run {
				return b.Parent
			}
		}
	}
	return ""
}

// retried reports whether the failure f was of an earlier attempt of the step of r, or of a run that one started: then its
// binding has retries.
func (s *Session) retried(f, r, by *receipts.Receipt) bool {
	if r.Attempt > 1 && f.Run == r.Run && f.Step == r.Step {
		return true
	}
	return by != nil && by.Attempt > 1 && s.startedBy(f.Run) == by.Run+"/"+by.Step
}

// repeats lowers the level of a result to that of what inner runs repeated, and refuses what is below the one that is asked for:
// that nothing ran is known to the record of the line alone, which says that it succeeded.
func (s *Session) repeats(q Query, res *Result) {
	var of []receipts.Hash
	for _, m := range res.Inner {
		if r := receipt(m.Entry); !r.Reused.IsZero() {
			of = append(of, r.Reused)
		}
	}
	if len(of) == 0 {
		return
	}
	first := s.bySHA(of...)
	for _, m := range res.Inner {
		r := receipt(m.Entry)
		if r.Reused.IsZero() {
			continue
		}
		level := receipts.LevelHash
		if e := first[r.Reused]; e != nil {
			level = e.Level
		}
		if level < q.Level {
			res.no(Missing, receipts.LevelTooLow, m.SHA, "%s repeats the result of %s, which is not recorded at the level that is asked for", q.describeLeaf(m), r.Reused.Short())
		}
		res.Level = min(res.Level, level)
	}
	what := "an earlier result"
	if len(of) > 1 {
		what = fmt.Sprintf("%d earlier results", len(of))
	}
	res.Notes = append(res.Notes, fmt.Sprintf("runs that its lines started repeated %s: nothing was executed for that", what))
}

package verify

import (
	"slices"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// Checks counts the commands of a result whose check was tested: it refused files that were broken on purpose.
type Checks struct {
	Tested, Of int
	Tree       receipts.Tree // that the controls are about
	Same       bool          // it is the tree of the gate
	Untested   []string      // names of the others
	untested   []*receipts.Entry
}

// isCheck reports whether r is of a process that only reads. Of a lone command the files are looked at when it has ended, whatever its binding says: there
// one that changed none is a check.
func isCheck(r *receipts.Receipt) bool {
	w := r.Workspace
	return r.Kind == "process" && (w == nil || w.After == nil || r.Line.File.Text == loneCommand && w.After.SameFiles(w.Before))
}

// controlKey is where the index has the controls of the command of r.
func controlKey(r *receipts.Receipt) uint64 {
	return commandKey(receipts.CommandHash(receipts.ControlArgv(r.Command)), r.Dir, r.Place)
}

// checks counts those of members that are checks: processes that only read, and, where anything is required, what is
// required. The newest control of a command on a tree is the one that counts. They are counted on the tree of the
// gate; where it has none, on that of the newest control there is. It returns nil where nothing was ever tested.
//
// It costs one pass over the index, and reads the controls of a command, the newest first, until one counts.
func (s *Session) checks(q Query, g *receipts.Gate, members []*receipts.Entry) *Checks {
	type check struct {
		member *receipts.Entry
		r      *receipts.Receipt
	}
	var list []check
	seen := make(map[line]bool)
	newest := make(map[uint64][]int64) // of each command, in the order of the log
	for _, m := range members {
		r := receipt(m)
		if r == nil || !isCheck(r) ||
			len(q.Require) > 0 && !slices.ContainsFunc(q.Require, func(n Requirement) bool { return n.Meets(r) }) ||
			seen[line{binding: r.Binding, command: r.Command, dir: r.Dir}] {
			continue
		}
		seen[line{binding: r.Binding, command: r.Command, dir: r.Dir}] = true
		list = append(list, check{m, r})
		newest[controlKey(r)] = nil
	}
	for i := range s.index.marks {
		m := &s.index.marks[i]
		if m.flags&flagControl == 0 {
			continue
		}
		if seqs, ours := newest[m.command]; ours {
			newest[m.command] = append(seqs, int64(i))
		}
	}
	// control returns the newest control of a check, on a tree or, if that is nil, on any.
	control := func(c check, on *receipts.Tree) *receipts.Receipt {
		var keys treeKeys
		if on != nil {
			keys.add(*on)
		}
		for _, seq := range slices.Backward(newest[controlKey(c.r)]) {
			if m := s.index.at(seq); on != nil && !keys.mayHold(m.bytes, m.git) {
				continue
			}
			e := s.entry(seq)
			if e == nil {
				return nil
			}
			r := receipt(e)
			if r != nil && r.Control != nil && r.Control.Command == c.r.Command && r.Control.Binding == c.r.Binding && r.Dir == c.r.Dir && r.Place == c.r.Place &&
				r.Workspace != nil && e.Level >= q.Level && (on == nil || r.Workspace.Before.Matches(*on) && r.Matrix == g.Matrix && sameInputs(r, c.r) && q.mayTest(r)) {
				return r
			}
		}
		return nil
	}
	of := func(tree *receipts.Tree) *Checks {
		k := &Checks{Of: len(list), Tree: *tree, Same: g.Tree != nil && tree.Matches(*g.Tree)}
		any := false
		for _, c := range list {
			r := control(c, tree)
			if any = any || r != nil; r != nil && r.Status == receipts.Succeeded {
				k.Tested++
				continue
			}
			k.Untested = append(k.Untested, q.describe(c.r))
			k.untested = append(k.untested, c.member)
		}
		if !any {
			return nil
		}
		return k
	}
	if g.Tree != nil {
		if k := of(g.Tree); k != nil {
			return k
		}
	}
	var last *receipts.Receipt
	for _, c := range list {
		if r := control(c, nil); r != nil && (last == nil || r.Timestamp.After(last.Timestamp.Time)) {
			last = r
		}
	}
	if last == nil {
		return nil
	}
	return of(&last.Workspace.Before)
}

// sameInputs reports whether a control and a pass had the same inputs: as far as they can be compared, as in [Session.excused].
func sameInputs(control, pass *receipts.Receipt) bool {
	return (control.Clean == nil) != (pass.Clean == nil) || control.Inputs == pass.Inputs
}

// mayTest reports whether a control is one of those that the query asks for, as it asks for members.
func (q Query) mayTest(r *receipts.Receipt) bool {
	age := q.Now.Sub(r.Timestamp.Time)
	return q.counts(r) && (q.MaxAge <= 0 || age <= q.MaxAge && age >= -time.Minute && r.Reused.IsZero()) && (q.Session == "" || r.Session == q.Session) &&
		(q.Nonce == "" || r.Nonce == q.Nonce) && !(q.Fresh && !r.Reused.IsZero())
}

// checksTested refuses a gate whose checks were not all tested on its tree, if the query asks for that.
func (s *Session) checksTested(q Query, g *receipts.Gate, res *Result) {
	if !q.ChecksTested {
		return
	}
	k := s.checks(q, g, res.Members)
	switch {
	case k == nil || !k.Same:
		res.no(Missing, receipts.Untested, receipts.Hash{}, "no check was tested on these files: `dialect prove` breaks what they look at")
	default:
		for _, m := range k.untested {
			res.no(Missing, receipts.Untested, m.SHA, "%s: its check was not tested on these files, or did not notice what was broken", q.describe(receipt(m)))
		}
	}
}

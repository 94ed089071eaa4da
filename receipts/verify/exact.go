package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/receipts"
)

// cameBelow is how many files came while the run of the gate b, below a gate over tree, went on with these files: the run above may have not seen them.
func cameBelow(tree *receipts.Tree, b *receipts.Gate) int {
	if tree == nil || b.Tree == nil || !b.Tree.Matches(*tree) {
		return 0
	}
	return b.Came
}

// handedExact refuses a gate over the files of a commit if a task of it rests on a gate of these files that is not exact, or that has a line which is not: an
// agent may have tested them with something beside them that no clone has. Of the runs that a line of the matrix started nothing is asked: their commands are
// the same in a clone.
func (s *Session) handedExact(q Query, g *receipts.Gate, res *Result) {
	if !q.Commit || g.Tree == nil {
		return
	}
	tasks := slices.Clone(res.Members)
	for _, m := range res.Inner {
		tasks = append(tasks, m.Entry)
	}
	for _, m := range tasks {
		h := receipt(m).HandedBack
		if h.IsZero() {
			continue
		}
		e := s.bySHA(h)[h]
		if e == nil {
			continue // [Session.unlike] says so
		}
		b, ok := body(e).(*receipts.Gate)
		if !ok || b.Tree == nil || !b.Tree.Matches(*g.Tree) {
			continue
		}
		var below Result
		s.flatten(b, &below)
		rough := slices.IndexFunc(below.Members, func(e *receipts.Entry) bool { return !receipt(e).Workspace.ExactOn(*g.Tree) })
		switch {
		case !b.Tree.Exact:
			res.no(Stale, receipts.Inexact, h, "%s rests on the gate %s, which tested other files than a clone of the commit has: %s", q.describe(receipt(m)), receipts.GateID(h), beyond(b))
		case rough >= 0:
			res.no(Stale, receipts.Inexact, h, "%s rests on the gate %s, of which %s ran on other files than a clone of the commit has", q.describe(receipt(m)), receipts.GateID(h), q.describe(receipt(below.Members[rough])))
		}
	}
}

// gone names n files that came while something read; g, if it is not nil, is the gate that names those of its own run.
func gone(g *receipts.Gate, n int) string {
	var names []string
	if g != nil {
		for _, d := range g.Beyond {
			if name, why, _ := strings.Cut(d.Text, ": "); why == receipts.CameDuringRun || strings.HasPrefix(why, receipts.WrittenDuringRun) {
				names = append(names, name)
			}
		}
	}
	switch more := n - len(names); {
	case len(names) > 0 && more > 0:
		return fmt.Sprintf("files that no longer exist: %s; and %d that nothing names", receipts.ListPaths(names), more)
	case len(names) > 0:
		return "files that no longer exist: " + receipts.ListPaths(names)
	case n > 1:
		return fmt.Sprintf("%d files that no longer exist", n)
	}
	return "a file that no longer exists"
}

// beyond says why the tree of a gate is not exact; of paths with the same reason it says it once.
func beyond(g *receipts.Gate) string {
	var list []string
	var paths []string // before the next reason
	for i, d := range g.Beyond {
		path, why, ok := strings.Cut(d.Text, ": ")
		paths = append(paths, path)
		if ok && i+1 < len(g.Beyond) {
			if _, next, _ := strings.Cut(g.Beyond[i+1].Text, ": "); next == why {
				continue
			}
		}
		if ok {
			list = append(list, strings.Join(paths, ", ")+": "+why)
		} else {
			list = append(list, paths...)
		}
		paths = nil
	}
	switch {
	case len(list) == 0:
		return "it does not say that its tree is exact"
	case g.BeyondMore > 0:
		list = append(list, fmt.Sprintf("and %d more", g.BeyondMore))
	}
	return strings.Join(list, "; ")
}

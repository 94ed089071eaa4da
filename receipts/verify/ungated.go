package verify

import (
	"slices"

	"github.com/command-dialect/dialect/receipts"
)

// maxUngated bounds how many receipts are proposed for a gate, and maxTried how many are looked at for that: each of them costs a search of
// the whole log.
const (
	maxUngated = 64
	maxTried   = 4 * maxUngated
)

// ungated returns, in the order of the log, the receipts that nobody has consumed and that
// a gate made now would take: the newest of each requirement, or, where nothing is
// required, of each command under each binding. It is nil where one of the requirements has
// none, or where more than [maxUngated] would be needed or [maxTried] were looked at. It decides nothing: they count once a gate
// is over them.
func (s *Session) ungated(q Query) (list []*receipts.Entry) {
	if q.Tree == nil || q.Commit || s.partial {
		return nil
	}
	leaf := q
	leaf.Require, leaf.Strict = nil, true
	h, tried := s.history(nil, *q.Tree), 0
	for command := range h.about {
		if len(q.Require) > 0 && !q.asks(command) {
			continue
		}
		seen := make(map[string]bool) // bindings
		about := h.about[command]
		for i := len(about) - 1; i >= 0 && len(list) <= maxUngated && !s.stopped(); i-- {
			if s.index.at(about[i]).flags&(flagPassed|flagPending) == 0 {
				continue
			}
			e := h.read(about[i], command)
			if e == nil {
				continue
			}
			r := receipt(e)
			if s.follow(map[receipts.Hash]*receipts.Entry{e.SHA: e}); seen[r.Binding] || e.Consumption != nil || answerOf(e) != yes {
				continue
			}
			if tried++; tried > maxTried {
				return nil
			}
			if s.judgeLeaf(leaf, e).Verdict == "" {
				seen[r.Binding] = true
				list = append(list, e)
			}
		}
	}
	if s.stopped() {
		return nil
	}
	slices.SortFunc(list, func(a, b *receipts.Entry) int { return int(a.Seq - b.Seq) })
	if len(q.Require) > 0 {
		all := list
		list = nil
		for _, need := range q.Require {
			i := slices.IndexFunc(all, func(e *receipts.Entry) bool { return need.Meets(receipt(e)) })
			if i < 0 {
				return nil
			}
			if !slices.Contains(list, all[i]) {
				list = append(list, all[i])
			}
		}
	}
	if len(list) > maxUngated {
		return nil
	}
	return list
}

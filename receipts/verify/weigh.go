package verify

import (
	"slices"

	"github.com/command-dialect/dialect/receipts"
)

// A weight is what a failure says of a pass of its command.
type weight uint8

// The first three say nothing of it.
const (
	elsewhere   weight = iota // it ran outside of a clean checkout, and the query is about those (16)
	otherInputs               // it had other inputs than the pass
	acceptedBy                // a record of no lower level accepted it (15)
	permitted                 // it came before the pass, and retries permit that
	before                    // it came before the pass (15)
	after                     // no pass undoes it (13)
)

// A word is a failure, and what it says of one pass of its command.
type word struct {
	*receipts.Entry
	same     bool // it is on the files of the pass, and not on those of the gate alone
	accepted []*receipts.Trust
	weight
}

// A failures has those of one command, and what accepted them.
type failures struct {
	list     []*receipts.Entry
	accepted map[receipts.Hash][]*receipts.Trust
}

// words returns, in the order of the log, what the failures of m's command say of the pass m: those that are about its files or about those of the
// gate, with the same variables. It adds failures below the level that is asked for to aside. q is zero for a gate that is about to be made.
//
// A gate ([Session.lastWord]) and a verdict ([Session.last]) read the same words, so they cannot disagree about one. It costs one look at each
// record of the command, and once for each failure a look at each pass of the command that the gate rests on and at what follows in the failure's run.
func (p passes) words(q Query, m Leaf, h *history, aside map[int64]bool) (list []word) {
	r := receipt(m.Entry)
	key := commandKey(r.Command, r.Dir, r.Place)
	all, known := p.failures[key]
	if !known {
		all.list = h.ends(key, no, p.within.level, aside)
		all.accepted = p.s.acceptances(all.list, p.within.level)
		p.failures[key] = all
	}
	p.s.weighed += len(all.list)
	for _, f := range all.list {
		about, same := p.about(m.Entry, f)
		if !about {
			continue
		}
		accepted := all.accepted[f.SHA]
		list = append(list, word{f, same, accepted, p.s.weigh(q, p.rules, p.within, m, f, accepted != nil, func() bool {
			return (!same || p.s.later(f, m.Entry)) && !p.undo(key, f)
		})})
	}
	return list
}

// weigh returns what the failure f says of the pass m, which has no entry where the command has not passed; stands reports whether no pass
// undoes f. It is the one place that has the order of the rules 13, 15 and 16.
func (s *Session) weigh(q Query, x rules, w *within, m Leaf, f *receipts.Entry, accepted bool, stands func() bool) weight {
	switch {
	case !w.counts(q, f):
		return elsewhere
	case m.Entry != nil && receipt(m.Entry).Command == receipt(f).Command && s.excused(q, m.Entry, f):
		return otherInputs
	case accepted:
		return acceptedBy
	case stands():
		return after
	case m.Entry != nil && (m.Level >= f.Level && s.allowed(x, w, m, receipt(f)) || m.Inner && x.retried(receipt(f))): // what the rules allow needs no record
		return permitted
	}
	return before
}

// counts reports whether the failure or early end e counts for where the query asks: also if a line around its run ran in a clean checkout,
// since e then ran in that one, whether or not it says so.
func (w *within) counts(q Query, e *receipts.Entry) bool {
	if q.counts(receipt(e)) {
		return true
	}
	return w != nil && slices.ContainsFunc(w.around(receipt(e).Run).bound, func(seq int64) bool {
		line := w.s.entry(seq)
		return line != nil && receipt(line).Clean != nil
	})
}

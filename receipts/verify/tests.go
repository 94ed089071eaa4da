package verify

import "github.com/command-dialect/dialect/receipts"

// Bounds of the search for the gate before: it reads so many gates, and what so many of them consumed.
const (
	gatesRead    = 30
	gatesOpened  = 3
	membersKnown = 1000
)

// Tested counts the tests of the receipts below the gate that id names, as [Result.Tested] does; nil where none counted
// any, now or before, or id names another record. The error is as that of [Session.Entry].
func (s *Session) Tested(id string) (*receipts.Tested, error) {
	e, err := s.Entry(id)
	if err != nil {
		return nil, err
	}
	g, ok := body(&e).(*receipts.Gate)
	if !ok {
		return nil, nil
	}
	var below Result
	s.flatten(g, &below)
	t := s.tested(Query{Level: e.Level}, &e, below.Members)
	return t, s.fault()
}

// tested counts the tests of the receipts below a gate, and those that the same bindings ran at the last final gate before
// it that is about other files and, with a key, of that key. That is for people: no verdict depends on it.
func (s *Session) tested(q Query, gate *receipts.Entry, members []*receipts.Entry) *receipts.Tested {
	var now *receipts.Tested
	ours := make(map[string]bool) // bindings
	for _, m := range members {
		r := receipt(m)
		if r == nil {
			continue
		}
		ours[r.Binding] = true
		if r.Tests != nil {
			if now == nil {
				now = new(receipts.Tested)
			}
			now.Tests.Add(*r.Tests)
		}
	}
	g, _ := body(gate).(*receipts.Gate)
	if g == nil || g.Tree == nil || s.partial {
		return now
	}
	opened, most := 0, gatesOpened
	if now == nil { // the checks of most gates count none, then as now
		most = 1
	}
	own := s.index.at(gate.Seq).signer
	for seq, n := gate.Seq-1, 0; seq >= 0 && n < gatesRead && opened < most; seq-- {
		if m := s.index.at(seq); m.kind != kindGate || m.flags&flagFinal == 0 || gate.Level >= receipts.LevelKey && m.signer != own {
			continue
		}
		n++
		e := s.entry(seq)
		if e == nil {
			return now
		}
		old, ok := body(e).(*receipts.Gate)
		if !ok || old.Tree == nil || old.Tree.Matches(*g.Tree) || e.Level < q.Level || len(old.Members) > membersKnown {
			continue
		}
		opened++
		below := Result{}
		s.flatten(old, &below)
		var before *receipts.Tests
		for _, m := range below.Members {
			if r := receipt(m); r != nil && r.Tests != nil && ours[r.Binding] {
				if before == nil {
					before = new(receipts.Tests)
				}
				before.Add(*r.Tests)
			}
		}
		if before != nil {
			if now == nil {
				now = new(receipts.Tested)
			}
			now.Before, now.Gate = before, e.SHA
			return now
		}
	}
	return now
}

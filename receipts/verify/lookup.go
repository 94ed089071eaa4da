package verify

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/receipts"
)

// A LookupError says that an id names no record, or several.
type LookupError struct {
	ID      string
	Bad     bool // it cannot be the id of a record
	Matches []receipts.Hash
}

func (e *LookupError) Error() string {
	switch {
	case e.Bad:
		return fmt.Sprintf("%q is not an id: want a SHA-256, a prefix of at least %d hex digits, g-... or r-...", e.ID, minPrefix)
	case len(e.Matches) == 0:
		return "no record " + e.ID
	}
	names := make([]string, len(e.Matches))
	for i, h := range e.Matches {
		names[i] = h.String()[:max(len(e.ID)+4, 16)]
	}
	return fmt.Sprintf("%s is not unique: %s", e.ID, strings.Join(names, ", "))
}

// A ProblemError says that the log is not what was logged.
type ProblemError struct{ Problem }

func (e *ProblemError) Error() string { return e.Message }

// Entry returns the record that id names, with what the log says of it. The error is a
// [*LookupError], a [*ProblemError], or the log's.
func (s *Session) Entry(id string) (receipts.Entry, error) {
	var e *receipts.Entry
	if len(s.problems) == 0 && s.err == nil {
		seq, err := s.find(id)
		if err != nil {
			return receipts.Entry{}, err
		}
		if e = s.entry(seq); e != nil {
			s.follow(map[receipts.Hash]*receipts.Entry{e.SHA: e})
		}
	}
	if len(s.problems) > 0 {
		return receipts.Entry{}, &ProblemError{s.problems[0]}
	}
	if s.err != nil {
		return receipts.Entry{}, s.err
	}
	return *e, nil
}

const (
	minPrefix  = 6 // hex digits
	maxMatches = 8
)

// find returns the index of the record that id names: a SHA-256, a unique prefix of
// one, or the g-... of a gate.
func (s *Session) find(id string) (int64, error) {
	id = strings.TrimSpace(id)
	prefix, isGate := strings.CutPrefix(strings.ToLower(id), "g-")
	if len(prefix) < minPrefix || len(prefix) > 64 {
		return -1, &LookupError{ID: id, Bad: true}
	}
	whole, err := hex.DecodeString(prefix + strings.Repeat("0", 64-len(prefix)))
	if err != nil {
		return -1, &LookupError{ID: id, Bad: true}
	}
	var found []int64
	for seq := range s.index.marks {
		m := &s.index.marks[seq]
		if m.sha[0] != whole[0] || m.sha[1] != whole[1] || isGate && m.kind != kindGate || !hasPrefix(m.sha, whole, len(prefix)) {
			continue
		}
		if found = append(found, int64(seq)); len(found) == maxMatches {
			break
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	e := &LookupError{ID: id}
	for _, seq := range found {
		e.Matches = append(e.Matches, s.index.at(seq).sha)
	}
	return -1, e
}

// hasPrefix reports whether h begins with the first n hex digits of whole.
func hasPrefix(h receipts.Hash, whole []byte, n int) bool {
	for i := range n / 2 {
		if h[i] != whole[i] {
			return false
		}
	}
	return n%2 == 0 || h[n/2]>>4 == whole[n/2]>>4
}

// bySHA returns the records with the hashes that are asked for, and what the log says of
// them: one lookup in the index, however many there are.
func (s *Session) bySHA(hashes ...receipts.Hash) map[receipts.Hash]*receipts.Entry {
	want := make(map[uint64]bool, len(hashes))
	for _, h := range hashes {
		want[short(h)] = true
	}
	list := make(map[receipts.Hash]*receipts.Entry, len(hashes))
	s.index.named(want, func(seq int64) {
		sha := s.index.at(seq).sha
		if list[sha] != nil {
			return
		}
		if e := s.entry(seq); e != nil {
			list[sha] = e
		}
	})
	s.follow(list)
	return list
}

// follow sets what later records of the log say of entries: the first that consumed
// one, the first that settled it.
func (s *Session) follow(list map[receipts.Hash]*receipts.Entry) {
	want := make(map[uint64]bool, len(list))
	for h, e := range list {
		if e.Consumption == nil || e.Settlement == nil {
			want[short(h)] = true
		}
	}
	if len(want) == 0 {
		return
	}
	for _, seqs := range s.index.speaking(want) {
		for _, seq := range seqs {
			if k := s.index.at(seq).kind; k != kindConsumption && k != kindSettlement {
				continue
			}
			by := s.entry(seq)
			if by == nil {
				return
			}
			switch b := body(by).(type) {
			case *receipts.Consumption:
				for _, h := range b.Consumed {
					if e := list[h]; e != nil && e.Consumption == nil && e.Seq < seq {
						_, err := receipts.ParseHash(b.By)
						e.Consumption = &receipts.ConsumedBy{By: b.By, At: b.Timestamp, Seq: seq, Gate: err == nil}
					}
				}
			case *receipts.Settlement:
				if e := list[b.Receipt]; e != nil && e.Settlement == nil && e.Seq < seq {
					e.Settle(*by)
				}
			}
		}
	}
}

// body returns the strictly parsed body of e; nil if it is not of the form.
func body(e *receipts.Entry) any {
	e.Remember()
	return e.Made()
}

// receipt returns the body of e if it is a receipt's, else nil.
func receipt(e *receipts.Entry) *receipts.Receipt {
	r, _ := body(e).(*receipts.Receipt)
	return r
}

// accepted reports whether a failure was accepted by a record of no lower level, after
// it: who has no key cannot wave away what a key has signed.
func (s *Session) accepted(failures []*receipts.Entry) map[receipts.Hash]bool {
	if len(failures) == 0 {
		return nil
	}
	want := make(map[uint64]bool, len(failures))
	for _, f := range failures {
		want[short(f.SHA)] = true
	}
	list := make(map[receipts.Hash]bool)
	said := s.index.speaking(want)
	for _, f := range failures {
		for _, seq := range said[short(f.SHA)] {
			if s.index.at(seq).kind != kindTrust {
				continue
			}
			by := s.entry(seq)
			if by == nil {
				return nil
			}
			t, ok := body(by).(*receipts.Trust)
			if ok && t.What == receipts.TrustFlaky && by.Level >= f.Level && seq > f.Seq && slices.Contains(t.Receipts, f.SHA) {
				list[f.SHA] = true
			}
		}
	}
	return list
}

// A history is what the log knows of a tree.
type history struct {
	s     *Session
	trees map[receipts.Tree]bool
	// Of each command, by commandKey: the records about it in the order of the log.
	about map[uint64][]int64
	runs  []int64
	gates []int64
}

// history gathers what the log knows of some trees, in one pass over the index: of the
// commands in only, by commandKey, or of all if it is nil.
func (s *Session) history(only map[uint64]bool, trees ...receipts.Tree) *history {
	h := &history{s: s, trees: make(map[receipts.Tree]bool), about: make(map[uint64][]int64)}
	var keys treeKeys
	for _, t := range trees {
		h.trees[t] = true
		keys.add(t)
	}
	for i := range s.index.marks {
		m := &s.index.marks[i]
		if !keys.mayHold(m) {
			continue
		}
		seq := int64(i)
		switch m.kind {
		case kindReceipt:
			if only == nil || only[m.command] {
				h.about[m.command] = append(h.about[m.command], seq)
			}
		case kindRun:
			h.runs = append(h.runs, seq)
		case kindGate:
			h.gates = append(h.gates, seq)
		}
	}
	return h
}

// ofTree reports whether the receipt r ran on one of the trees.
func (h *history) ofTree(r *receipts.Receipt) bool {
	if r.Workspace == nil {
		return false
	}
	if h.trees[r.Workspace.Before] {
		return r.Workspace.Before.Matches(r.Workspace.Before) // not if it has no digest
	}
	for t := range h.trees {
		if r.Workspace.Before.Matches(t) {
			return true
		}
	}
	return false
}

// ends returns the records about the command of r, in its directory and place, that
// have one of the flags, of no lower level than level; below counts those that have one.
func (h *history) ends(command uint64, flags uint8, level int) (list []*receipts.Entry, below int) {
	for _, seq := range h.about[command] {
		if h.s.index.at(seq).flags&flags == 0 {
			continue
		}
		e := h.s.entry(seq)
		if e == nil {
			return nil, 0
		}
		r := receipt(e)
		if r == nil || !h.ofTree(r) || commandKey(r.Command, r.Dir, r.Place) != command {
			continue
		}
		if e.Level < level {
			below++
			continue
		}
		list = append(list, e)
	}
	return list, below
}

// lastWords returns, for each binding under which the command ran on one of the trees, the
// last record of an answer, yes or no, of no lower level than level; below counts those of
// a lower one that came after it. What ran under no binding, or under another one, was not
// held to the same expectations: its pass is not the last word about this one.
func (h *history) lastWords(command uint64, level int) (list []*receipts.Entry, below int) {
	about := h.about[command]
	known := make(map[uint64]bool)
	for i := len(about) - 1; i >= 0; i-- {
		m := h.s.index.at(about[i])
		if m.flags&(flagPassed|flagFailed) == 0 || known[m.binding] {
			continue
		}
		e := h.s.entry(about[i])
		if e == nil {
			return nil, 0
		}
		r := receipt(e)
		if r == nil || !h.ofTree(r) || commandKey(r.Command, r.Dir, r.Place) != command {
			continue
		}
		if e.Level < level {
			below++
			continue
		}
		known[m.binding] = true
		list = append(list, e)
	}
	return list, below
}

package verify

import (
	"math"
	"slices"

	"github.com/command-dialect/dialect/receipts"
)

// within knows which records belong to runs that lines started. Those records need not be signed: a later receipt or gate of the
// enclosing run, which has the level, vouches for them. So they count at any level, even if they do not record their files.
type within struct {
	s     *Session
	level int  // of what vouches
	every bool // the asker's level is not known yet, so no run is left out as apart ([receipts.Receipt.Apart])
	below map[string]below
	left  map[string]left
}

// below describes the lines that enclose a run. The zero value means that none is known.
type below struct {
	apart bool    // a line around it is apart ([receipts.Receipt.Apart]): the rest is not known
	until int64   // the index of the last record that vouches for what the run did
	ended int64   // the index of the last receipt of the first line around it to end, of those that have one; 0 for none
	lines []int64 // the receipts, with files, of the line that started the run, or else of the nearest line around it that has such
	bound []int64 // a receipt of each line around it that has one, the nearest last: of the outermost maxDepth
	gap   bool    // bound lacks a line: it has no receipt of the level, had ended before, or is deeper than maxDepth
}

// A left has the receipts and gates of one run that have the required level: the index of the last one, and those of the receipts of each step.
type left struct {
	last  int64
	steps map[string][]int64 // those that record their files
	seen  map[string]int64   // the last receipt of each step
	apart map[string]bool    // the steps that are apart
}

// vouches treats the gate that is about to be made as the last record of run.
func (w *within) vouches(run string) {
	l := w.of(run)
	l.last = math.MaxInt64
	w.left[run] = l
}

// has reports whether a record is of a run that a line started.
func (w *within) has(e *receipts.Entry) bool {
	return w != nil && e.Seq < w.around(receipt(e).Run).until
}

// believed reports whether the pass e may say anything in favour: it has the level that is asked for, or may excuse without it.
func (w *within) believed(e *receipts.Entry) bool { return e.Level >= w.level || w.excuses(e) }

// excuses reports whether e, of a lower level than is asked for, may excuse a failure. It may not if it came after the receipt of the line that started its run: the signer of that receipt
// never saw it. What accuses counts until the end of the run around it, see has.
func (w *within) excuses(e *receipts.Entry) bool {
	return w != nil && e.Seq < w.around(receipt(e).Run).ended
}

// later reports whether the failure f came after the pass e: it was recorded after it or, in another run, began after it. Receipts of one run come into
// the log in their order; those of two as their writers get to it, which may hold a pass back until what failed since is recorded. What was recorded
// before the run of the pass began is earlier, whatever the clocks say. A pass that repeats another one is as old as that.
func (s *Session) later(f, e *receipts.Entry) bool {
	e = s.original(e)
	a, b := receipt(f), receipt(e)
	return f.Seq > e.Seq || a.Run != b.Run && f.Seq >= s.sinceBegin(e) && a.Timestamp.After(b.Timestamp.Time)
}

// original returns the receipt whose result e repeats, or e.
func (s *Session) original(e *receipts.Entry) *receipts.Entry {
	if h := receipt(e).Reused; !h.IsZero() {
		if first := s.bySHA(h)[h]; first != nil && receipt(first) != nil {
			return first
		}
	}
	return e
}

// around returns the lines that enclose a run. Each run on the way up is looked at once, however deep the nesting.
func (w *within) around(run string) below {
	type link struct{ run, step string }
	var chain []link
	known, ok := w.below[run]
	for !ok {
		step := w.s.startedBy(run)
		w.below[run] = below{} // and a run that started itself is of none
		if step == "" {
			break
		}
		chain = append(chain, link{run, step})
		run = runOf(step)
		known, ok = w.below[run]
	}
	for _, l := range slices.Backward(chain) {
		of := w.of(runOf(l.step))
		switch lines := of.steps[l.step]; {
		case known.apart:
		case of.apart[l.step] && !w.every:
			known = below{apart: true}
		case len(lines) > 0:
			known.lines = lines
			fallthrough
		default:
			known.until = max(known.until, of.last)
			seq, ok := of.seen[l.step]
			if b := w.s.begun(l.run); b != nil && b.Seq > seq {
				ok = false // it began when the line had ended: what it says of its parent is not so
			}
			if ok && (known.ended == 0 || seq < known.ended) {
				known.ended = seq
			}
			if ok && len(known.bound) < maxDepth { // each run has a copy
				known.bound = append(slices.Clip(known.bound), seq)
			} else {
				known.gap = true
			}
		}
		w.below[l.run] = known
	}
	return known
}

// of returns what a run left that has the level.
func (w *within) of(run string) left {
	l, ok := w.left[run]
	if ok {
		return l
	}
	l.steps, l.seen, l.apart = make(map[string][]int64), make(map[string]int64), make(map[string]bool)
	for _, seq := range w.s.ofRun(run) {
		e := w.s.entry(seq)
		if e == nil || e.Level < w.level {
			continue
		}
		switch b := body(e).(type) {
		case *receipts.Receipt:
			if b.Run == run {
				step := stepOf(b)
				_, seen := l.seen[step]
				l.apart[step] = b.Apart && (l.apart[step] || !seen)
				l.last, l.seen[step] = e.Seq, e.Seq
				if b.Workspace != nil {
					l.steps[step] = append(l.steps[step], e.Seq)
				}
			}
		case *receipts.Gate:
			if b.Run == run {
				l.last = e.Seq
			}
		}
	}
	w.left[run] = l
	return l
}

// A stand lists the trees a record is about: those the command may have begun on, and the one it left if it changed files.
type stand struct{ begun, left []receipts.Tree }

// standOf is the stand of a receipt that says it.
func standOf(r *receipts.Receipt) (st stand) {
	if r == nil || r.Workspace == nil {
		return st
	}
	st.begun = []receipts.Tree{r.Workspace.Before}
	if t, ok := r.Workspace.Left(); ok {
		st.left = []receipts.Tree{t}
	}
	return st
}

// stand returns the trees that a record is about. A record that does not name its files, of a run that a line started, is about those
// that the line began with and those that it left.
func (w *within) stand(e *receipts.Entry) stand {
	r := receipt(e)
	if r == nil || r.Workspace != nil || w == nil {
		return standOf(r)
	}
	line := w.line(e)
	if line == nil {
		return stand{}
	}
	st := standOf(receipt(line))
	st.begun = append(st.begun, st.left...)
	return st
}

// line returns the receipt of the nearest line around e's run that records its files. Of several attempts it is the first that ended after
// e, or else the last. It is nil if no record vouches for e.
func (w *within) line(e *receipts.Entry) *receipts.Entry {
	if !w.has(e) {
		return nil
	}
	lines := w.around(receipt(e).Run).lines
	i, _ := slices.BinarySearch(lines, e.Seq)
	if i = min(i, len(lines)-1); i < 0 {
		return nil
	}
	return w.s.entry(lines[i])
}

// holds reports whether a record with the stand f is about the same files as a pass with the stand st: it began on a tree that the pass
// began on or left, or it left the tree that the pass left.
func (st stand) holds(f stand) bool {
	return meet(f.begun, st.begun) || meet(f.begun, st.left) || meet(f.left, st.left)
}

// has reports whether t is among the files of st.
func (st stand) has(t receipts.Tree) bool {
	return slices.ContainsFunc(st.begun, t.Matches) || slices.ContainsFunc(st.left, t.Matches)
}

func meet(a, b []receipts.Tree) bool {
	return slices.ContainsFunc(a, func(t receipts.Tree) bool { return slices.ContainsFunc(b, t.SameFiles) })
}

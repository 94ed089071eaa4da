package verify

import (
	"bytes"
	"maps"
	"math"
	"slices"

	"github.com/command-dialect/dialect/receipts"
)

// A ProblemError says that the log was changed after it was written.
type ProblemError struct{ Problem }

func (e *ProblemError) Error() string { return e.Message }

// Entry returns the record that id names, with its later consumption and settlement. The error is a
// [*LookupError], a [*ProblemError], or the log's.
func (s *Session) Entry(id string) (receipts.Entry, error) {
	var e *receipts.Entry
	if len(s.problems) == 0 && s.err == nil {
		seq, err := s.find(id)
		if err != nil && len(s.problems) == 0 {
			return receipts.Entry{}, err
		}
		if err == nil {
			e = s.entry(seq)
		}
		if e != nil {
			s.follow(map[receipts.Hash]*receipts.Entry{e.SHA: e})
		}
	}
	if err := s.fault(); err != nil {
		return receipts.Entry{}, err
	}
	return *e, nil
}

// fault is why nothing is answered: a [*ProblemError], or the error of the log.
func (s *Session) fault() error {
	if len(s.problems) > 0 {
		return &ProblemError{s.problems[0]}
	}
	return s.err
}

// Receipts returns all receipts and gates, in the order of the log. The error is as that of
// [Session.Entry].
func (s *Session) Receipts() (list []receipts.Entry, err error) {
	for seq := range s.index.len() {
		if k := s.index.at(seq).kind; k != kindReceipt && k != kindGate {
			continue
		}
		if s.stopped() || len(s.problems) > 0 {
			break
		}
		if e := s.entry(seq); e != nil {
			list = append(list, *e)
		}
	}
	return list, s.fault()
}

// OfRun returns the beginnings, receipts and gates of a run, in the order of the log. The error is as that of [Session.Entry].
func (s *Session) OfRun(run string) (list []receipts.Entry, err error) {
	key := shortText(run)
	for seq := range s.index.len() {
		if m := s.index.at(seq); m.run != key || m.kind != kindRun && m.kind != kindReceipt && m.kind != kindGate {
			continue
		}
		if s.stopped() || len(s.problems) > 0 {
			break
		}
		e := s.entry(seq)
		if e == nil {
			break
		}
		of := ""
		switch b := body(e).(type) {
		case *receipts.Run:
			of = b.Run
		case *receipts.Receipt:
			of = b.Run
		case *receipts.Gate:
			of = b.Run
		}
		if of == run {
			list = append(list, *e)
		}
	}
	return list, s.fault()
}

// find returns the index of the record that id names: a SHA-256, a unique prefix of
// one, the g-... of a gate, or the r-... of a run's start.
func (s *Session) find(text string) (int64, error) {
	id, err := ParseID(text)
	if err != nil {
		return -1, err
	}
	none := &LookupError{ID: id.Text}
	if id.Run != "" {
		if e := s.beginning(id.Run); e != nil {
			return e.Seq, nil
		}
		if s.err != nil {
			return -1, s.err
		}
		return -1, none
	}
	found := int64(-1)
	for seq := range s.index.marks {
		m := &s.index.marks[seq]
		if bytes.Compare(m.sha[:], id.First[:]) < 0 || bytes.Compare(m.sha[:], id.Last[:]) > 0 || id.Gate && m.kind != kindGate {
			continue
		}
		found = int64(seq)
		if none.Matches = append(none.Matches, m.sha); len(none.Matches) == MaxMatches {
			break
		}
	}
	if len(none.Matches) == 1 {
		return found, nil
	}
	return -1, none
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
// one, the first that settled it, if there is one of no lower level than its own.
func (s *Session) follow(list map[receipts.Hash]*receipts.Entry) {
	want := make(map[uint64]bool, len(list))
	for h, e := range list {
		if !s.followed[e.Seq] { // the log does not grow while it is asked
			want[short(h)] = true
		}
	}
	if len(want) == 0 {
		return
	}
	defer func() {
		if s.err == nil {
			for _, e := range list {
				s.followed[e.Seq] = s.entries[e.Seq] == e
			}
		}
	}()
	weaker := make(map[receipts.Hash]*receipts.Entry)
	settle := func(e, by *receipts.Entry) {
		level := e.Level
		if e.Settle(*by); e.Settlement != nil {
			s.settled[e.Seq] = settled{by.Seq, level}
		}
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
					if e := list[h]; e != nil && e.Consumption == nil && e.Seq < seq && (s.resumed.IsZero() || b.By != s.resumed.String()) {
						_, err := receipts.ParseHash(b.By)
						e.Consumption = &receipts.ConsumedBy{By: b.By, At: b.Timestamp, Gate: err == nil}
					}
				}
			case *receipts.Settlement:
				e := list[b.Receipt]
				switch {
				case e == nil || e.Settlement != nil || e.Seq >= seq:
				case by.Level < e.Level: // one of the receipt's own level goes before it
					if weaker[b.Receipt] == nil {
						weaker[b.Receipt] = by
					}
				default:
					settle(e, by)
				}
			}
		}
	}
	for sha, by := range weaker {
		if e := list[sha]; e.Settlement == nil {
			settle(e, by)
		}
	}
}

// A settled says by which record a pending receipt was settled, and what level it had before.
type settled struct {
	by    int64
	level int
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

// acceptances returns, for each of the failures that was accepted, the records that accept it: those after it of no lower level than it, and of no
// lower one than level. A producer without a key cannot accept a failure that a key has signed, or one in a run that a signed line started.
func (s *Session) acceptances(failures []*receipts.Entry, level int) map[receipts.Hash][]*receipts.Trust {
	want := make(map[uint64]bool, len(failures))
	for _, f := range failures {
		want[short(f.SHA)] = true
	}
	list := make(map[receipts.Hash][]*receipts.Trust)
	if len(failures) == 0 {
		return list
	}
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
			if ok && by.Level >= max(f.Level, level) && seq > f.Seq && slices.Contains(t.Receipts, f.SHA) { // only an acceptance names receipts
				list[f.SHA] = append(list[f.SHA], t)
			}
		}
	}
	return list
}

// accepted reports whether the failure f was accepted: see acceptances.
func (s *Session) accepted(f *receipts.Entry, level int) bool {
	return len(s.acceptances([]*receipts.Entry{f}, level)) > 0
}

// A history has the records of the log about some trees: of commands that began on them, and of commands that left them.
type history struct {
	s    *Session
	on   map[receipts.Tree]bool
	left map[receipts.Tree]bool
	// Of each command, by commandKey: the records about it in the order of the log.
	about  map[uint64][]int64
	runs   []int64
	gates  []int64
	within *within // nil where only what is of the level that is asked for counts, and says on what files it ran
}

// history gathers what the log knows of some trees, in one pass over the index: of the
// commands in only, by commandKey, or of all if it is nil.
func (s *Session) history(only map[uint64]bool, trees ...receipts.Tree) *history {
	return s.historyOf(only, nil, nil, trees...)
}

// historyOf is history also of the files that receipts stand for. A pass and a failure count for the same trees. What lines within started
// counts as well, unless it is nil.
func (s *Session) historyOf(only map[uint64]bool, stands []stand, within *within, trees ...receipts.Tree) *history {
	h := &history{s: s, on: make(map[receipts.Tree]bool), left: make(map[receipts.Tree]bool), about: make(map[uint64][]int64), within: within}
	var on, left treeKeys
	for _, st := range stands {
		trees = append(append(trees, st.begun...), st.left...)
		for _, t := range st.left {
			h.left[t] = true
			left.add(t)
		}
	}
	for _, t := range trees {
		h.on[t] = true
		on.add(t)
	}
	for i := range s.index.marks {
		m := &s.index.marks[i]
		loose := within != nil && m.kind == kindReceipt && m.bytes == 0 && m.git == 0 // a line around it may say the files
		if !loose && !on.mayHold(m.bytes, m.git) && !left.mayHold(m.leftBytes, m.leftGit) {
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

// has reports whether a record is about one of the trees.
func (h *history) has(e *receipts.Entry) bool {
	if h.within != nil && h.within.every && receipt(e).Workspace == nil {
		return h.within.has(e) // which files it is about depends on the asker's level
	}
	st := h.within.stand(e)
	return slices.ContainsFunc(st.begun, func(t receipts.Tree) bool { return among(h.on, t) }) ||
		slices.ContainsFunc(st.left, func(t receipts.Tree) bool { return among(h.left, t) })
}

// among reports whether the files of t are those of one of trees.
func among(trees map[receipts.Tree]bool, t receipts.Tree) bool {
	if trees[t] {
		return t.SameFiles(t) // not if it has no digest
	}
	for o := range trees {
		if t.SameFiles(o) {
			return true
		}
	}
	return false
}

// An answer is the result of a record's command, with its settlement taken into account.
type answer uint8

const (
	noAnswer answer = iota
	yes
	no
	early // it was ended before it could, or did not run
)

// answers are those of which a mark can be; a receipt that was pending is what its
// settlement says, which only a look at it tells.
const answers = flagPassed | flagFailed | flagPending

func answerOf(e *receipts.Entry) answer {
	r := receipt(e)
	if r == nil {
		return noAnswer
	}
	if r.Status == receipts.Pending {
		switch {
		case e.Settlement == nil:
			return early
		case e.Settlement.Status == receipts.Succeeded:
			return yes
		}
		return no
	}
	switch {
	case r.Status == receipts.Succeeded:
		return yes
	case r.Failed():
		return no
	case r.EndedEarly():
		return early
	}
	return noAnswer
}

// read returns the record at seq if it is about the command on one of the trees; nil if
// not, or after an error.
func (h *history) read(seq int64, command uint64) *receipts.Entry {
	e := h.s.entry(seq)
	if e == nil {
		return nil
	}
	r := receipt(e)
	if r == nil || commandKey(r.Command, r.Dir, r.Place) != command || !h.has(e) {
		return nil
	}
	if r.Status == receipts.Pending {
		h.s.follow(map[receipts.Hash]*receipts.Entry{e.SHA: e})
	}
	return e
}

// ends returns the records about the command that gave the answer, of no lower level than
// level or of a run that a line started, in the order of the log; it adds the others to below.
func (h *history) ends(command uint64, want answer, level int, below map[int64]bool) (list []*receipts.Entry) {
	var flags uint8 = flagEarly | flagPending
	if want != early {
		flags = answers
	}
	for _, seq := range h.about[command] {
		m := h.s.index.at(seq)
		if m.flags&flags == 0 || want == no && m.flags&flagPassed != 0 {
			continue
		}
		e := h.read(seq, command)
		switch {
		case h.s.err != nil:
			return nil
		case e != nil && want == early && e.Level < level && h.s.settled[seq].level >= level && e.Settlement != nil:
			list = append(list, e) // who settled it has no say for this level: it is as pending as it was
		case e == nil || answerOf(e) != want:
		case e.Level < level && !h.within.has(e):
			below[seq] = true
		default:
			list = append(list, e)
		}
	}
	return list
}

// lastWords returns, for each binding under which the command ran on one of the trees, the last failure that no later pass undoes and that is not
// excused, and the last pass of each that did not fail after it. A pass undoes a failure of its own binding and of no higher level: a run under no
// binding, or under another one, did not have to meet the same expectations, and a producer without the key cannot undo what a key has signed. A
// failure under no binding is also undone by a later pass under any, which had to meet at least as much. Passes that did not leave the present
// inputs, and failures that neither began with nor left them, are skipped. Records of a lower level than the query's are added to below.
func (h *history) lastWords(q Query, command uint64, below map[int64]bool, excused func(*receipts.Entry) bool) (failures, passes []*receipts.Entry) {
	type word struct {
		passes []*receipts.Entry
		before [3]int64 // by level: what was recorded before this index is undone by a pass of no lower one
		known  bool
	}
	over := func(passes []*receipts.Entry, f *receipts.Entry) bool {
		return slices.ContainsFunc(passes, func(p *receipts.Entry) bool { return p.Level >= f.Level && !h.s.later(f, p) })
	}
	undoes := func(w *word, f *receipts.Entry) bool { return f.Seq < w.before[f.Level] || over(w.passes, f) }
	key := receipts.LevelKey // without keys there is one level: nothing before the last word matters
	if h.s.keys == nil {
		key = receipts.LevelHash
	}
	// A binding of another matrix is another binding. A pass under the query's rules replaces the passes of either.
	type under struct {
		binding uint64
		matrix  receipts.Hash
	}
	words := make(map[under]*word)
	of := func(binding uint64, matrix receipts.Hash) *word {
		w := words[under{binding, matrix}]
		if w == nil {
			w = new(word)
			words[under{binding, matrix}] = w
		}
		return w
	}
	var bound []*receipts.Entry // passes under a binding
	about := h.about[command]
	for i := len(about) - 1; i >= 0; i-- {
		m := h.s.index.at(about[i])
		if m.flags&answers == 0 || !q.Matrix.IsZero() && about[i] < of(m.binding, q.Matrix).before[key] {
			continue
		}
		e := h.read(about[i], command)
		if h.s.err != nil {
			return nil, nil
		}
		if e == nil {
			continue
		}
		r, a := receipt(e), answerOf(e)
		w := of(m.binding, r.Matrix)
		if w.known || about[i] < w.before[key] {
			continue
		}
		now, ok := q.present(r)
		switch {
		case a != yes && a != no, !h.within.counts(q, e), ok && a == yes && r.HeldInputs() != now, ok && a == no && !r.HadInputs(now):
		case e.Level < q.Level && (a == no && !h.within.has(e) || a == yes && !h.within.excuses(e)):
			below[about[i]] = true
		case a == yes:
			if len(w.passes) == 0 {
				passes = append(passes, e)
			}
			if w.passes = append(w.passes, e); r.Binding != "" {
				bound = append(bound, e)
			}
			for l := range e.Level + 1 {
				w.before[l] = max(w.before[l], h.s.sinceBegin(h.s.original(e)))
			}
		case !undoes(w, e) && !undoes(of(m.binding, q.Matrix), e) && !(r.Binding == "" && over(bound, e)) && !excused(e):
			w.known = true
			failures = append(failures, e)
		}
	}
	return failures, passes
}

// unordered is how many records before a receipt of a run whose beginning is not known may have begun after it.
const unordered = 256

// sinceBegin returns an index before which no record began after the receipt e: the beginning of a run is recorded before its first command starts.
func (s *Session) sinceBegin(e *receipts.Entry) int64 {
	if b := s.begun(receipt(e).Run); b != nil {
		return b.Seq
	}
	return max(0, e.Seq-unordered)
}

// again returns the pass of a later attempt of the step of a failure, under its binding and of no lower level; nil if there is none.
// Under no binding, or another one, a pass did not have to meet what the failure had to.
func (s *Session) again(f *receipts.Entry, w *within) *receipts.Entry {
	r, on := receipt(f), w.stand(f)
	command, of := s.index.at(f.Seq).command, s.ofRun(r.Run)
	i, _ := slices.BinarySearch(of, f.Seq+1)
	for _, seq := range of[i:] {
		if m := s.index.at(seq); m.kind != kindReceipt || m.command != command || m.flags&flagPassed == 0 {
			continue
		}
		e := s.entry(seq)
		if e == nil {
			return nil
		}
		if p := receipt(e); p != nil && p.Run == r.Run && p.Step == r.Step && p.Command == r.Command && p.Attempt > r.Attempt && e.Level >= f.Level && (rules{}).heldTo(p, r) && w.believed(e) && on.holds(w.stand(e)) && answerOf(e) == yes {
			return e
		}
	}
	return nil
}

// anyone is the key for the records of all signers, and of none.
const anyone = math.MaxUint64

// Around returns what else the log says of the trees that receipts ran on: answers of no,
// commands that were ended early, the last words, controls, and what was accepted, settled or consumed
// of them. A bundle without it would hide failures that came before its gate.
func (s *Session) Around(hashes ...receipts.Hash) (list []receipts.Entry, err error) {
	if len(s.problems) == 0 && s.err == nil {
		named := s.bySHA(hashes...)
		p := s.passes(nil, receipts.LevelHash, "")
		p.within.every = true
		commands := make(map[uint64]bool)
		var stands []stand
		var trees []receipts.Tree
		var since []*receipts.Entry
		for _, e := range named {
			switch b := body(e).(type) {
			case *receipts.Receipt:
				commands[commandKey(b.Command, b.Dir, b.Place)] = true
				stands = append(stands, p.within.stand(e))
			case *receipts.Gate:
				if b.Tree != nil {
					trees = append(trees, *b.Tree)
				}
				var members []*receipts.Entry
				for _, h := range b.Members {
					if m := named[h]; m != nil {
						members = append(members, m)
					}
				}
				for sha, m := range s.bySHA(s.since(e, members, receipts.LevelHash)...) {
					if r := receipt(m); named[sha] == nil {
						commands[commandKey(r.Command, r.Dir, r.Place)] = true
						stands, since = append(stands, p.within.stand(m)), append(since, m)
					}
				}
			}
		}
		h := s.historyOf(nil, stands, nil, trees...)
		found := make(map[int64]*receipts.Entry)
		add := func(es ...*receipts.Entry) {
			for _, e := range es {
				found[e.Seq] = e
			}
		}
		add(since...)
		for _, e := range named {
			if g, ok := body(e).(*receipts.Gate); ok { // what it names may have been settled since
				for _, f := range s.bySHA(slices.Concat(g.Failed, g.Early)...) {
					add(f)
				}
			}
		}
		about := make(map[uint64]bool)
		for _, sha := range hashes {
			about[short(sha)] = true
		}
		for key := range h.about {
			aside := make(map[int64]bool)
			for _, f := range h.ends(key, no, receipts.LevelHash, aside) {
				add(f)
				if e := s.again(f, p.within); e != nil {
					add(e)
				}
			}
			add(h.ends(key, early, receipts.LevelHash, aside)...)
			for _, seq := range h.about[key] {
				if e := s.entry(seq); e != nil && s.index.at(seq).flags&flagControl != 0 {
					add(e)
				}
			}
		}
		seen := make(map[receipts.Tree]bool)
		for _, st := range append(stands, stand{begun: trees}) {
			for _, t := range append(slices.Clip(st.begun), st.left...) {
				if seen[t] {
					continue
				}
				seen[t] = true
				on := s.historyOf(nil, nil, s.passes(nil, receipts.LevelHash, "").within, t)
				for key, all := range on.about {
					// The asker decides whose signatures count: so this has the last words of each of the signers.
					of := map[uint64][]int64{anyone: all}
					for _, seq := range all {
						if by := s.index.at(seq).signer; by != 0 {
							of[by] = append(of[by], seq)
						}
					}
					for _, about := range of {
						on.about[key] = about
						for _, clean := range []bool{false, true} { // of whom clean checkouts alone count for
							_, passes := on.lastWords(Query{Clean: clean}, key, make(map[int64]bool), func(f *receipts.Entry) bool {
								add(f)
								e := s.again(f, p.within)
								if e != nil {
									add(e)
								}
								return e != nil || s.accepted(f, receipts.LevelHash)
							})
							add(passes...)
						}
					}
				}
			}
		}
		// All records of runs that lines started: which of them count depends on the level that the asker requires.
		below := s.historyOf(nil, stands, p.within, trees...)
		for key, seqs := range below.about {
			for _, seq := range seqs {
				if e := below.read(seq, key); e != nil && p.within.has(e) {
					add(e)
				}
			}
		}
		for _, e := range found {
			about[short(e.SHA)] = true
		}
		for _, seqs := range s.index.speaking(about) {
			for _, seq := range seqs {
				if e := s.entry(seq); e != nil {
					found[seq] = e
				}
			}
		}
		for _, seq := range slices.Sorted(maps.Keys(found)) {
			list = append(list, *found[seq])
		}
	}
	return list, s.fault()
}

package verify

import (
	"fmt"
	"slices"

	"github.com/command-dialect/dialect/receipts"
)

// Scopes say which of the present files the verdicts of bindings are about.
type Scopes struct {
	// Of returns, for a binding of the trusted matrix, the digest of the present files that it names; zero where it
	// names none, or they match nothing. See Scope of [receipts.Receipt].
	Of func(binding string) receipts.Hash
	// Rest returns the digest of the present files that none of the bindings names; zero where none of them names
	// any. See Rest of [receipts.Gate].
	Rest func(bindings []string) receipts.Hash
}

// A line is what has to pass again: a command under a binding, in a place.
type line struct {
	binding string
	command receipts.Hash
	dir     receipts.Datum
	place   receipts.Datum
}

func lineOf(r *receipts.Receipt) line { return line{r.Binding, r.Command, r.Dir, r.Place} }

// A basis is a full run that present files can be compared with: since then no file has changed that none of its
// lines names.
type basis struct {
	*Result                 // of the gate on its own tree, where it is VERIFIED
	own     map[line]bool   // its lines
	passes  map[line]passed // the newest that hold for the present files, and its files that no line names
	failed  map[line]bool   // lines that have failed on the present files since, and have not passed after that
	flaky   map[line]bool   // lines that failed on the present files at all, not counting failures that their retries allow
	times   int             // how often those of the full run did
	ended   int             // how often they were ended before they could answer
	aside   [2]int          // two counts of failures that refuse nothing: outside of a clean checkout (where one is asked for), and with other inputs
	newest  int64           // index of the newest gate that was used
}

// A passed is a receipt of a pass, and the least level of it and its gate.
type passed struct {
	*receipts.Entry
	level int
}

// undoes reports whether p came after a failure of its line, and is of no lower level.
func (s *Session) undoes(p passed, f *receipts.Entry) bool {
	return p.Entry != nil && !s.later(f, p.Entry) && p.level >= f.Level
}

const (
	// maxScoped bounds how many failures since a full run are weighed.
	maxScoped = 4096
	// maxFull bounds how many gates of the level that is asked for are judged as full runs, or as passes since.
	maxFull = 64
)

// holds reports whether a pass, or a failure, of r is about the present files: r only read, and the files that
// its binding names are the present ones, or all files are.
func (q Query) holds(r *receipts.Receipt) bool {
	if r == nil || r.Binding == "" || r.Workspace == nil || r.Workspace.After != nil || r.Place != q.Place {
		return false
	}
	return q.scope(r) || r.Workspace.Before.Matches(*q.Tree)
}

// mayHold reports whether a failure of r may be about the present files: it is, or that is not known, since no scope was
// recorded (of files some of which could not be read) or what it left is of other files.
func (q Query) mayHold(r *receipts.Receipt) bool {
	if r.Binding == "" || r.Place != q.Place {
		return false
	}
	return q.holds(r) || r.Scope.IsZero() || r.Workspace == nil || r.Workspace.After != nil && q.scope(r)
}

// scope reports whether the files that the binding of r names are the present ones. No digest is equal to none.
func (q Query) scope(r *receipts.Receipt) bool {
	if r.Scope.IsZero() {
		return false
	}
	return r.Scope == q.Scopes.Of(r.Binding)
}

// basis looks for the newest full run that ok accepts, by its lines and by whether each of them has a pass that holds for the present files. Each gate that
// is used, final or not, has to be VERIFIED on its own tree under the present rules. It returns nil where there is no such run, and then the newest that
// came near: one that ok accepts, and that does not count for another reason.
func (s *Session) basis(q Query, ok func(lines map[line]bool, each bool) bool) (*basis, miss) {
	var near miss
	if q.Scopes == nil || q.Tree == nil || q.Commit || q.Policy != "" || q.Matrix.IsZero() || s.partial {
		return nil, near
	}
	missed := func(e *receipts.Entry, why string) {
		if near.gate == nil {
			near = miss{e, why}
		}
	}
	b := &basis{failed: make(map[line]bool), flaky: make(map[line]bool), newest: -1}
	// Keyed by Rest, the digest of the files that no line names: a pass with another Rest does not count. The zero
	// key holds passes on exactly the present tree.
	passes := make(map[receipts.Hash]map[line]passed)
	for seq, n := s.index.len()-1, 0; seq >= 0 && n < maxFull; seq-- {
		if s.index.at(seq).kind != kindGate || s.weaker(q, seq) {
			continue
		}
		e := s.entry(seq)
		if e == nil || s.stopped() {
			return nil, miss{}
		}
		if e.Level < q.Level {
			continue // anybody may write those
		}
		n++
		g, isGate := body(e).(*receipts.Gate)
		if !isGate || g.Tree == nil || g.Place != q.Place || g.Matrix != q.Matrix {
			continue
		}
		then, x := q, whole
		then.Tree = g.Tree
		if !g.Final {
			then.Require, x = nil, part
		}
		res := s.judge(then, e, x)
		if res.Verdict != "" {
			if had := linesOf(res.Members); g.Final && ok(had, false) {
				missed(e, res.Refusals[0].Message)
			}
			continue
		}
		lines, bindings, reads := linesOf(res.Members), []string{}, true
		for _, m := range res.Members {
			r := receipt(m)
			l := lineOf(r)
			bindings = append(bindings, r.Binding)
			reads = reads && r.Binding != "" && r.Workspace != nil && r.Workspace.After == nil
			rest := g.Rest
			if r.Workspace != nil && r.Workspace.Before.Matches(*q.Tree) {
				rest = receipts.Hash{}
			} else if rest.IsZero() {
				continue
			}
			if old, known := passes[rest][l]; q.holds(r) && (!known || old.Seq < m.Seq) {
				if passes[rest] == nil {
					passes[rest] = make(map[line]passed)
				}
				passes[rest][l] = passed{m, res.Level}
				b.newest = max(b.newest, seq)
			}
		}
		each := true
		for l := range lines {
			each = each && (passes[g.Rest][l].Entry != nil || passes[receipts.Hash{}][l].Entry != nil)
		}
		if !g.Final || !ok(lines, each) {
			continue
		}
		slices.Sort(bindings)
		switch id := "the gate " + receipts.GateID(e.SHA); {
		case !reads:
			missed(e, "a line of "+id+" changes files, or does not say which files it saw")
			continue
		case g.Rest.IsZero():
			missed(e, id+" does not say what the files were that no line names")
			continue
		case s.ofPart(e):
			missed(e, id+" is of a part of a run")
			continue
		case g.Rest != q.Scopes.Rest(slices.Compact(bindings)):
			missed(e, "")
			continue
		}
		if s.lookAround(then, res); res.Verdict != "" { // another line has failed on its tree
			missed(e, res.Refusals[0].Message)
			continue
		}
		b.Result, b.newest, b.passes = res, max(b.newest, seq), make(map[line]passed)
		for _, of := range []receipts.Hash{g.Rest, {}} {
			for l, p := range passes[of] {
				if b.passes[l].Entry == nil || b.passes[l].Seq < p.Seq {
					b.passes[l] = p
				}
			}
		}
		if !s.failures(q, b) {
			return nil, miss{e, fmt.Sprintf("more than %d commands have failed since the gate %s", maxScoped, receipts.GateID(e.SHA))}
		}
		return b, miss{}
	}
	return nil, near
}

// A miss is a full run that no present files can be compared with.
type miss struct {
	gate *receipts.Entry
	why  string // a sentence; empty where a file has changed that none of its lines names
}

func linesOf(members []*receipts.Entry) map[line]bool {
	lines := make(map[line]bool)
	for _, m := range members {
		lines[lineOf(receipt(m))] = true
	}
	return lines
}

// failures notes what has failed on the present files, by the files that its binding names: since the gate of b and,
// of a line of b, since its pass, which may be older than that gate. It returns false where that is not known.
func (s *Session) failures(q Query, b *basis) bool {
	own, from := make(map[line]bool), b.Gate.Seq
	b.own = own
	commands, counted := make(map[uint64][]*receipts.Receipt), make(map[int64]bool)
	inPlace, others := make(map[int64]bool), make(map[int64]bool)
	for _, m := range b.Members {
		r := receipt(m)
		l := lineOf(r)
		key := commandKey(r.Command, r.Dir, r.Place)
		commands[key] = append(commands[key], r)
		if own[l] = true; b.passes[l].Entry != nil {
			from = min(from, s.sinceBegin(s.original(b.passes[l].Entry))-1)
		}
	}
	note := func(f *receipts.Entry, l line, w weight) {
		switch w {
		case elsewhere:
			inPlace[f.Seq] = inPlace[f.Seq] || own[l]
		case otherInputs:
			others[f.Seq] = others[f.Seq] || own[l]
		case after:
			b.failed[l] = true
			fallthrough
		case before:
			b.flaky[l] = true
			fallthrough
		case permitted:
			if own[l] && !counted[f.Seq] {
				b.times++
			}
			counted[f.Seq] = true
		}
	}
	rules, read, below := q.bound(), 0, s.passes(nil, q.Level, "").within
	for seq := from + 1; seq < s.index.len(); seq++ {
		if m := s.index.at(seq); m.kind != kindReceipt || m.flags&(answers|flagEarly) == 0 || m.flags&flagPassed != 0 {
			continue
		}
		e := s.entry(seq)
		if e == nil || s.stopped() {
			return false
		}
		r := receipt(e)
		if r == nil || e.Level < q.Level && !below.has(e) {
			continue
		}
		if read++; read > maxScoped {
			return false
		}
		l := lineOf(r)
		var under *receipts.Receipt
		// A failure below a line of the full run, at any depth, counts as a failure of that line.
		for by, n := below.line(e), 0; by != nil && !own[l] && n < maxDepth; by, n = below.line(by), n+1 {
			if of := receipt(by); own[lineOf(of)] {
				r, l, under = of, lineOf(of), of
			}
		}
		if !q.mayHold(r) {
			continue
		}
		p, passed := b.passes[l]
		if seq < b.Gate.Seq && !(own[l] && passed && s.later(e, p.Entry)) {
			continue
		}
		if receipt(e).Status == receipts.Pending {
			s.follow(map[receipts.Hash]*receipts.Entry{e.SHA: e})
		}
		switch answerOf(e) {
		case early:
			if own[l] && below.counts(q, e) && q.holds(r) {
				b.ended++
			}
		case no:
			note(e, l, s.weigh(q, rules, below, Leaf{Entry: p.Entry, Inner: under != nil, By: under}, e,
				s.accepted(e, q.Level), func() bool { return !s.undoes(p, e) }))
		}
	}
	// A failure on exactly the present files counts, however old it is and under any binding, as for a gate over them.
	all := make(map[uint64]bool, len(commands))
	for command := range commands {
		all[command] = true
	}
	inner := make(map[uint64][]line) // of commands of runs that lines of the full run started: those lines
	for _, m := range b.Inner {
		if m.By != nil && !m.Foreign {
			r := receipt(m.Entry)
			key := commandKey(r.Command, r.Dir, r.Place)
			if all[key] = true; !slices.Contains(inner[key], lineOf(m.By)) {
				inner[key] = append(inner[key], lineOf(m.By))
			}
		}
	}
	h := s.historyOf(all, nil, below, *q.Tree)
	for command, lines := range inner {
		failures := h.ends(command, no, q.Level, make(map[int64]bool))
		accepted := s.acceptances(failures, q.Level)
		for _, f := range failures {
			for _, l := range lines {
				p := b.passes[l]
				note(f, l, s.weigh(q, rules, below, Leaf{Entry: p.Entry}, f, accepted[f.SHA] != nil, func() bool { return !s.undoes(p, f) }))
			}
		}
	}
	for command, members := range commands {
		failures := h.ends(command, no, q.Level, make(map[int64]bool))
		accepted := s.acceptances(failures, q.Level)
		for _, f := range failures {
			if counted[f.Seq] {
				continue
			}
			for _, m := range members {
				if l := lineOf(m); !rules.others(m, receipt(f)) {
					p := b.passes[l]
					note(f, l, s.weigh(q, rules, below, Leaf{Entry: p.Entry}, f, accepted[f.SHA] != nil, func() bool { return !s.undoes(p, f) }))
				}
			}
		}
	}
	for i, list := range [...]map[int64]bool{inPlace, others} {
		for seq, of := range list {
			if of && !counted[seq] { // for one line it may be aside, and for another not
				b.aside[i]++
			}
		}
	}
	return s.err == nil
}

// concern reports whether lines has a line of the full run, or any line if nothing is required.
func (b *basis) concern(q Query, lines map[line]bool) bool {
	for l := range lines {
		if len(q.Require) == 0 || b.own[l] {
			return true
		}
	}
	return false
}

// scoped answers a query that no gate over the present files answers, by a full run on others: [Scoped], or nil.
func (s *Session) scoped(q Query) *Result {
	if q.ChecksTested {
		return nil // controls are about whole trees, not scopes
	}
	b, _ := s.basis(q, func(_ map[line]bool, each bool) bool { return each })
	if b == nil || b.concern(q, b.failed) || q.Strict && b.concern(q, b.flaky) {
		return nil
	}
	res := &Result{Gate: b.Gate, Body: b.Body, Level: b.Level, below: make(map[int64]bool), newest: b.newest,
		Failures: b.Failures + b.times, Early: b.Early + b.ended, InPlace: b.aside[0], OtherInputs: b.aside[1]}
	for _, m := range b.Members {
		p := b.passes[lineOf(receipt(m))]
		if res.Level = min(res.Level, p.level); p.Seq > b.Gate.Seq {
			res.Since++
		}
		res.Members = append(res.Members, p.Entry)
	}
	if q.ground(res); res.Verdict != "" {
		return nil
	}
	s.around(q, res) // for its notes: what failed on the present files has refused the query before, in anyGate
	res.Verdict = Scoped
	return res
}

// A Standing is how lines stand, by the files that they name.
type Standing struct {
	Gate   *receipts.Entry // of the full run that it rests on; nil where there is none, and all lines are to be run
	Passed []bool          // of each line that was asked about: it passed on the files that are present

	// Near is the gate of the newest full run of these lines where Gate is nil; nil where none is known under these rules. Why says why nothing rests on
	// it; it is empty where a file has changed that none of its lines names.
	Near *receipts.Entry
	Why  string
}

// Standing says which of some commands need not run again: since a full run that had them all no file has changed
// that none of its lines names, and the files that their own bindings name are as they were when they passed. That
// is advice about what to run. Whether the present files are tested is for [Session.Verify] to say.
func (s *Session) Standing(q Query, commands []Requirement) (*Standing, error) {
	lines := make([]line, len(commands))
	for i, c := range commands {
		lines[i] = line{c.Binding, c.Command, c.Dir, q.Place}
	}
	st := &Standing{Passed: make([]bool, len(commands))}
	if len(s.problems) == 0 && s.err == nil {
		b, near := s.basis(q, func(had map[line]bool, _ bool) bool {
			return !slices.ContainsFunc(lines, func(l line) bool { return !had[l] })
		})
		if st.Near, st.Why = near.gate, near.why; b != nil {
			st.Gate = b.Gate
			for i, l := range lines {
				_, ok := b.passes[l]
				st.Passed[i] = ok && !b.failed[l]
			}
		}
	}
	return st, s.fault()
}

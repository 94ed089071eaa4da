package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/command-dialect/dialect/receipts"
)

// A Leaf is a receipt whose command the log is searched for: a member of a gate, or one of a run that a command of a member
// started, whose gate the outer one took in, or that an agent handed back. The latter cover no requirement. What the log says of
// their commands counts all the same, or a line that starts a run would be a place where failures are forgotten.
type Leaf struct {
	*receipts.Entry
	Inner bool
	By    *receipts.Receipt // of an inner one: the member whose command started its run; nil if that is not known
	// Foreign says that a gate has it, which anyone could make, and that its own run is known to be another one: what it says in favour does not count.
	Foreign bool
}

// Leaves returns the members of a result, and what is below them.
func (r *Result) Leaves() []Leaf {
	list := make([]Leaf, 0, len(r.Members)+len(r.Inner))
	for _, m := range r.Members {
		list = append(list, Leaf{Entry: m})
	}
	return append(list, r.Inner...)
}

// nameLeaf names the line of a receipt for messages, and the one that started its run.
func (q Query) nameLeaf(m Leaf) string {
	text := q.describe(receipt(m.Entry))
	if m.By != nil {
		text += ", in a run that " + q.describe(m.By) + " started"
	}
	return text
}

// describeLeaf is nameLeaf before a verb.
func (q Query) describeLeaf(m Leaf) string {
	if m.By != nil {
		return q.nameLeaf(m) + ","
	}
	return q.nameLeaf(m)
}

// inner returns the receipts below the gates in nested, and below those that commands of members were handed, all the way
// down. Hashes that the log does not have are skipped; lost is called for each that a bundle leaves out, and gate for each gate on the way.
func (s *Session) inner(nested []receipts.Hash, members []*receipts.Entry, lost func(receipts.Hash), gate func(*receipts.Gate)) (list []Leaf) {
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
			steps[stepOf(r)] = r
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
				gate(b)
				by = cmp.Or(s.outer(steps, s.startedBy(b.Run)), by, s.outer(steps, b.Parent))
			case *receipts.Receipt:
				if reason, _ := e.Succeeded(b); reason != "" {
					continue
				}
				// Its run says which line that was, and not a gate, which anyone could make over it.
				of := s.outer(steps, s.startedBy(b.Run))
				list = append(list, Leaf{e, true, cmp.Or(of, by), of == nil && s.known(e, b.Run)})
			}
			if below := receipts.TookIn(body(e)); len(below) > 0 {
				todo = append(todo, level{below, by})
			}
		}
	}
	return list
}

// known reports whether the log has the beginning of the run of a receipt. That of a run with the key it always has.
func (s *Session) known(e *receipts.Entry, run string) bool {
	return s.begun(run) != nil || e.Level > receipts.LevelHash && !s.partial
}

// stepOf names the step of a receipt, as in [receipts.Gate.Parent].
func stepOf(r *receipts.Receipt) string { return receipts.StepName(r.Run, r.Step) }

// nested returns the gates and receipts that a gate over records has to take in: those of runs that steps of its own run started, unless
// the step is apart ([receipts.Receipt.Apart]), and those of runs that records of other runs started. It leaves out what others of them, or
// earlier gates of the run, took in, and what is not among the first n records. unspent are the gates that nobody has consumed: a receipt may have been left for another gate.
func (s *Session) nested(n int64, g receipts.GateRequest, records []*receipts.Entry) (list, unspent []receipts.Hash) {
	runs, steps, taken := map[string]bool{g.Run: true}, make(map[string]bool), make(map[receipts.Hash]bool)
	for _, e := range records {
		switch b := body(e).(type) {
		case *receipts.Gate:
			var earlier Result
			s.flatten(b, &earlier)
			for _, h := range earlier.nested {
				taken[h] = true
			}
		case *receipts.Receipt:
			if b.Run != g.Run {
				runs[b.Run], steps[stepOf(b)] = true, true
			}
		}
	}
	below := s.below(n, runs, g.Level, func(parent string) bool {
		return steps[parent] || runOf(parent) == g.Run
	})
	if len(below) == 0 {
		return nil, nil
	}
	loose := make(map[receipts.Hash]*receipts.Entry)
	for _, e := range below {
		if receipt(e) != nil {
			loose[e.SHA] = e
		}
	}
	matters := s.matters(g, loose)
	for _, e := range below {
		r := receipt(e)
		switch {
		case taken[e.SHA], r != nil && !matters(e):
			continue
		case r == nil && e.Consumption == nil:
			unspent = append(unspent, e.SHA)
		}
		list = append(list, e.SHA)
	}
	return list, unspent
}

// since returns passes below the lines of the gate e that it did not take in, because nothing contradicted them then, and that a failure now known,
// or recorded since, contradicts. What anyone said of them since does not matter.
func (s *Session) since(e *receipts.Entry, members []*receipts.Entry, level int) []receipts.Hash {
	g := body(e).(*receipts.Gate)
	if g.Run == "" {
		return nil
	}
	list, _ := s.nested(e.Seq, receipts.GateRequest{Run: g.Run, Level: level, Tree: g.Tree}, members)
	within := s.passes(nil, level, "").within
	return slices.DeleteFunc(list, func(h receipts.Hash) bool {
		e := s.bySHA(h)[h]
		return e == nil || receipt(e) == nil || e.Level < level && !within.has(e)
	})
}

// matters returns a predicate: does the gate g have to take in this receipt of loose? There may be very many such receipts, and most are
// passes that nothing contradicts.
func (s *Session) matters(g receipts.GateRequest, loose map[receipts.Hash]*receipts.Entry) func(*receipts.Entry) bool {
	p := s.passes(g.Tree, receipts.LevelHash, g.Run)
	p.within.every = true
	for _, e := range loose {
		p.add(Leaf{Entry: e})
	}
	h, bad := p.history(slices.Collect(maps.Values(loose))), make(map[uint64][]*receipts.Entry)
	for key := range p.list {
		aside := make(map[int64]bool)
		bad[key] = append(h.ends(key, no, receipts.LevelHash, aside), h.ends(key, early, receipts.LevelHash, aside)...)
	}
	return func(e *receipts.Entry) bool {
		r := receipt(e)
		return !r.Reused.IsZero() || slices.ContainsFunc(bad[commandKey(r.Command, r.Dir, r.Place)], func(f *receipts.Entry) bool {
			// A record without files is about its line's files. Which record of the line says which files those are depends on the asker's level.
			about, _ := p.about(e, f)
			return about || r.Workspace == nil || receipt(f).Workspace == nil
		})
	}
}

// below returns the gates and the receipts of successes of runs that steps of some runs started, for the steps that of accepts, and of runs that the
// steps of those started, without records that others of the gates took in: as far as they are among the first n records. Only a record of the level can
// say that a step is apart.
func (s *Session) below(n int64, runs map[string]bool, level int, of func(parent string) bool) (list []*receipts.Entry) {
	keys, underKeys := make(map[uint64]bool, len(runs)), make(map[uint64]bool)
	for run := range runs {
		keys[shortText(run)] = run != ""
	}
	if !slices.ContainsFunc(s.index.marks, func(m mark) bool { return m.parent != 0 && keys[m.parent] }) {
		return nil // and no receipt of the runs is read
	}
	under, parents, apart := make(map[string]bool), make(map[string]string), make(map[string]bool) // the last are steps
	taken, found := make(map[receipts.Hash]bool), make(map[receipts.Hash]*receipts.Entry)
	// A run begins after the one that started it, and ends in its gate: one pass finds them all.
	for seq := range s.index.marks[:n] {
		m := &s.index.marks[seq]
		begins := m.parent != 0 && (m.kind == kindRun || m.kind == kindGate) && (keys[m.parent] || underKeys[m.parent])
		if !begins && !(m.kind == kindReceipt && (keys[m.run] || m.flags&flagPassed != 0 && underKeys[m.run])) {
			continue
		}
		e := s.entry(int64(seq))
		if e == nil {
			return nil
		}
		run, parent := "", ""
		switch b := body(e).(type) {
		case *receipts.Run:
			run, parent = b.Run, b.Parent
		case *receipts.Gate:
			run, parent = b.Run, b.Parent
		case *receipts.Receipt:
			if e.Level >= level {
				was, known := apart[stepOf(b)]
				apart[stepOf(b)] = b.Apart && (was || !known)
			}
			if under[b.Run] {
				list, found[e.SHA] = append(list, e), e
			}
			continue
		}
		if b := s.begun(run); b != nil {
			parent = body(b).(*receipts.Run).Parent // what others say of it does not count
		} else if !s.speaks(e, run) {
			continue
		}
		if of := of(parent) || under[runOf(parent)]; !of || run == "" {
			continue
		}
		parents[run] = cmp.Or(parents[run], parent)
		if under[run], underKeys[shortText(run)] = true, true; m.kind != kindGate {
			continue
		}
		list, found[e.SHA] = append(list, e), e
	}
	s.follow(found)
	decides := func(run string) bool {
		for range maxDepth {
			if apart[parents[run]] {
				return false
			}
			run = runOf(parents[run])
		}
		return true
	}
	list = slices.DeleteFunc(list, func(e *receipts.Entry) bool {
		switch b := body(e).(type) {
		case *receipts.Gate:
			return !decides(b.Run)
		case *receipts.Receipt:
			return !decides(b.Run)
		}
		return true
	})
	for _, e := range list { // of those that decide alone: what is in the others is not looked at
		if m := s.index.at(e.Seq); m.kind == kindGate {
			for _, h := range receipts.TookIn(body(e)) {
				taken[h] = true
			}
		}
	}
	return slices.DeleteFunc(list, func(e *receipts.Entry) bool { return taken[e.SHA] })
}

// startedRuns reports whether the command of the receipt e started runs that left a trace, or rests on a gate that an agent handed back.
func (s *Session) startedRuns(e *receipts.Entry) bool {
	return !receipt(e).HandedBack.IsZero() || len(s.ownRuns(e)) > 0
}

// ownRuns returns what the runs left that the command of the receipt e started, as [Session.below] does: until the last record of e's run, as nobody vouches for
// what came after that.
func (s *Session) ownRuns(e *receipts.Entry) (list []receipts.Hash) {
	r := receipt(e)
	last := s.passes(nil, e.Level, "").within.of(r.Run).last
	below := s.below(max(last, e.Seq)+1, map[string]bool{r.Run: true}, e.Level, func(parent string) bool { return parent == stepOf(r) })
	for _, e := range below {
		list = append(list, e.SHA)
	}
	return list
}

// A passes has, by command, the passes that a gate rests on.
type passes struct {
	s      *Session
	rules  rules
	tree   *receipts.Tree // of the gate; nil for none
	within *within
	list   map[uint64][]*receipts.Entry
	// What is asked for each leaf: see [passes.undo] by failure, and the failures of a command with those that were accepted.
	undone   map[int64]bool
	named    map[receipts.Hash]bool // see [receipts.Gate.Failed]
	failures map[uint64]failures
}

// passes are those of a gate over a tree, with what vouches for runs that its lines started from a level on. run is that of a gate that is
// about to be made.
func (s *Session) passes(tree *receipts.Tree, level int, run string) passes {
	w := &within{s: s, level: level, below: make(map[string]below), left: make(map[string]left)}
	if run != "" {
		w.vouches(run)
	}
	return passes{s, rules{}, tree, w, make(map[uint64][]*receipts.Entry), make(map[int64]bool), make(map[receipts.Hash]bool), make(map[uint64]failures)}
}

func (p passes) add(m Leaf) {
	if r := receipt(m.Entry); r != nil && !p.weak(m) {
		key := commandKey(r.Command, r.Dir, r.Place)
		p.list[key] = append(p.list[key], m.Entry)
	}
}

// weak reports whether a pass may say nothing in favour: it is foreign, or has not the level that is asked for and came after the receipt of its line.
func (p passes) weak(m Leaf) bool { return m.Foreign || !p.within.believed(m.Entry) }

// stand returns on what files a pass was: those of the gate, if nothing says it.
func (p passes) stand(e *receipts.Entry) stand {
	st := p.within.stand(e)
	if len(st.begun) == 0 && p.tree != nil {
		st.begun = []receipts.Tree{*p.tree}
	}
	return st
}

// about reports whether the record f counts beside the pass e of the same command: it is about the files that the pass speaks for, or about those
// of the gate, where the pass was on others.
func (p passes) about(e, f *receipts.Entry) (counts, same bool) {
	if p.others(e, f) {
		return false, false
	}
	st := p.within.stand(f)
	same = p.stand(e).holds(st)
	return same || p.tree != nil && meet(st.begun, []receipts.Tree{*p.tree}), same
}

// undo reports whether a later pass of the command undoes its failure f: under f's binding (any, if f has none), on the same files, of no
// lower level than f, and either of the level that is asked for or seen by who signed the line around it; or a later attempt of its step: see
// [Session.again].
func (p passes) undo(command uint64, f *receipts.Entry) bool {
	undone, known := p.undone[f.Seq]
	if known {
		return undone
	}
	undone = slices.ContainsFunc(p.list[command], func(e *receipts.Entry) bool {
		return !p.s.later(f, e) && e.Level >= f.Level &&
			p.rules.heldTo(receipt(e), receipt(f)) && !p.others(e, f) && p.stand(e).holds(p.within.stand(f))
	}) || p.s.again(f, p.within) != nil
	p.undone[f.Seq] = undone
	return undone
}

// others reports whether two records of one command are about two things: their bindings set other variables, or those of the lines that
// started their runs do.
func (p passes) others(a, b *receipts.Entry) bool {
	if p.rules.others(receipt(a), receipt(b)) {
		return true
	}
	x, inX := p.around(receipt(a).Run)
	y, inY := p.around(receipt(b).Run)
	return inX && inY && !slices.Equal(x, y)
}

// around returns what variables the bindings of the lines around a run set, and whether that is known: of a line that has no record, or is of another
// matrix, it is not.
func (p passes) around(run string) (env []string, known bool) {
	if len(p.rules.env) == 0 {
		return nil, false
	}
	b := p.within.around(run)
	if b.gap {
		return nil, false
	}
	for _, seq := range b.bound {
		e := p.s.entry(seq)
		if e == nil || !p.rules.of(receipt(e)) {
			return nil, false
		}
		if of := p.rules.envOf(receipt(e)); of != "" {
			env = append(env, of)
		}
	}
	return env, len(b.bound) > 0
}

// history is what the log knows of the commands of passes on their files, and on those of the gate.
func (p passes) history(of []*receipts.Entry) *history {
	var stands []stand
	commands := make(map[uint64]bool)
	for _, e := range of {
		if r := receipt(e); r != nil {
			commands[commandKey(r.Command, r.Dir, r.Place)] = true
			stands = append(stands, p.stand(e))
		}
	}
	if p.tree == nil {
		return p.s.historyOf(commands, stands, p.within)
	}
	return p.s.historyOf(commands, stands, p.within, *p.tree)
}

// ofRun returns the indexes of the receipts and gates of a run, as the marks have it, in the order of the log.
func (s *Session) ofRun(run string) []int64 {
	if s.byRun == nil {
		s.byRun = make(map[uint64][]int64)
		for seq := range s.index.marks {
			if m := &s.index.marks[seq]; m.kind == kindReceipt || m.kind == kindGate {
				s.byRun[m.run] = append(s.byRun[m.run], int64(seq))
			}
		}
	}
	return s.byRun[shortText(run)]
}

// beginning returns the record that says that a run began: of several under one id the first of the highest level, as anyone can write one before
// the run does. It is nil if none is known.
func (s *Session) beginning(run string) (first *receipts.Entry) {
	for _, seq := range s.index.begins(shortText(run)) {
		e := s.entry(seq)
		if e == nil {
			return nil
		}
		if b, ok := body(e).(*receipts.Run); ok && b.Run == run && (first == nil || e.Level > first.Level) {
			first = e
		}
	}
	return first
}

// begun is beginning for who believes it.
func (s *Session) begun(run string) *receipts.Entry {
	e, known := s.beginnings[run]
	if known || run == "" {
		return e
	}
	if e = s.beginning(run); e != nil && !s.speaks(e, run) {
		e = nil
	}
	s.beginnings[run] = e
	return e
}

// speaks reports whether e may say what a run is: a record without the key says nothing of a run that has records with it.
func (s *Session) speaks(e *receipts.Entry, run string) bool {
	if e.Level > receipts.LevelHash || s.keys == nil {
		return true
	}
	signed, known := s.withKey[run]
	if !known {
		signed = slices.ContainsFunc(s.ofRun(run), func(seq int64) bool {
			if s.index.at(seq).signer == 0 { // it names no key
				return false
			}
			of := s.entry(seq)
			return of == nil || of.Level > receipts.LevelHash
		})
		s.withKey[run] = signed
	}
	return !signed
}

// startedBy returns the step that started a run, as "RUN/STEP"; empty if none did.
func (s *Session) startedBy(run string) string {
	if e := s.begun(run); e != nil {
		return body(e).(*receipts.Run).Parent
	}
	return ""
}

// maxDepth bounds how many runs lie between a receipt and the step of a gate.
const maxDepth = 16

// outer returns the one of steps that a run belongs to which the step parent started, through the runs between; nil if none is known.
func (s *Session) outer(steps map[string]*receipts.Receipt, parent string) *receipts.Receipt {
	for range maxDepth {
		if parent == "" || steps[parent] != nil {
			break
		}
		parent = s.startedBy(runOf(parent))
	}
	return steps[parent]
}

// A rules is what a matrix in a place says of its bindings, by name: which have retries, and what variables they set. What a record says
// of attempts counts from a level on.
type rules struct {
	retries map[string]bool
	env     map[string]string
	matrix  receipts.Hash
	place   receipts.Datum
	level   int
}

// envOf returns the digest of the variables that the binding of a record sets; empty if the rules do not have the binding.
func (x rules) envOf(r *receipts.Receipt) string {
	if !x.of(r) {
		return ""
	}
	return x.env[r.Binding]
}

func (x rules) of(r *receipts.Receipt) bool {
	return r.Binding != "" && !x.matrix.IsZero() && r.Matrix == x.matrix && r.Place == x.place
}

// heldTo reports whether the pass r had to meet the expectations of the failure f: those of the same binding of the same matrix, or of the rules. A
// failure under no binding had none to meet.
func (x rules) heldTo(r, f *receipts.Receipt) bool {
	return f.Binding == "" || r.Binding == f.Binding && (r.Matrix == f.Matrix || x.of(r))
}

// others reports whether records of one command are about two things: their bindings set other variables. What ran under no binding, or
// under other rules, is about each.
func (x rules) others(a, b *receipts.Receipt) bool {
	return x.of(a) && x.of(b) && x.envOf(a) != x.envOf(b)
}

// allowed reports whether retries permit the failure f before the pass m. A producer without the key cannot claim retries: for a failure
// below a line, the retries of f's binding in the rules (see retried), or of the line's binding, count. Nor does a worker's key say that the run
// handed a later attempt out: anybody who can start workflows may have it sign one.
func (s *Session) allowed(x rules, w *within, m Leaf, f *receipts.Receipt) bool {
	r := receipt(m.Entry)
	switch {
	case r.Attempt > 1 && m.Level >= x.level && f.Run == r.Run && f.Step == r.Step && (!Handed(r) || x.retries[r.Binding]):
		return true
	case !m.Inner:
		return x.retries[r.Binding] && f.Binding == r.Binding
	case m.By != nil && x.retries[m.By.Binding] && s.belowSame(x, w, m, f):
		return true // it failed below a line of that binding, and not in a run of its own
	case m.By != nil && m.By.Attempt > 1 && s.outer(map[string]*receipts.Receipt{stepOf(m.By): m.By}, s.startedBy(f.Run)) != nil:
		return true
	}
	return x.retried(f)
}

// retried reports whether the rules give the binding of f retries.
func (x rules) retried(f *receipts.Receipt) bool {
	return x.retries[f.Binding] && f.Matrix == x.matrix && f.Place == x.place
}

// belowSame reports whether the failure f of a run that a line started is below a line of the same binding as the inner pass m.
func (s *Session) belowSame(x rules, w *within, m Leaf, f *receipts.Receipt) bool {
	return m.By != nil && slices.ContainsFunc(w.around(f.Run).bound, func(seq int64) bool {
		e := s.entry(seq)
		return e != nil && receipt(e).Binding == m.By.Binding && x.of(receipt(e))
	})
}

// repeated counts the results that inner runs repeat.
func (r *Result) repeated() (n int) {
	for _, m := range r.Inner {
		if !receipt(m.Entry).Reused.IsZero() {
			n++
		}
	}
	return n
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

// unlike returns why the gate that an agent handed back does not match the receipt of its task, or "". It compares matrix, project and
// files, since others may have been in place for a moment.
func (s *Session) unlike(r *receipts.Receipt) string {
	if r.HandedBack.IsZero() {
		return ""
	}
	e := s.bySHA(r.HandedBack)[r.HandedBack]
	if e == nil {
		return "is not in the log"
	}
	g, ok := body(e).(*receipts.Gate)
	switch w := r.Workspace; {
	case !ok:
		return "is not a gate"
	case g.Matrix != r.Matrix:
		return "was made under another matrix than the task"
	case g.Place != r.Place:
		return "is of another project"
	case w != nil && (g.Tree == nil || !g.Tree.Matches(w.Held())):
		return "is about other files than the task left"
	}
	return ""
}

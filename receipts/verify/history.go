package verify

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// lookAround adds failures that are the last word on this tree: of required commands, or of all
// bound lines if nothing is required.
func (s *Session) lookAround(q Query, res *Result) {
	if q.Tree == nil || s.err != nil {
		return
	}
	h := s.historyOf(nil, nil, s.passes(nil, q.Level, "").within, q.files(res)...)
	named := make(map[receipts.Hash]bool)
	for _, r := range res.Refusals {
		named[r.SHA] = true
	}
	keys := make([]uint64, 0, len(h.about))
	for k := range h.about {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var last, aside []*receipts.Entry // failures that are the last word, and those of what is not required
	for _, k := range keys {
		if q.Strict && len(q.Require) > 0 && !q.asks(k) {
			continue
		}
		failures, passes := h.lastWords(q, k, res.below, func(f *receipts.Entry) bool {
			return s.accepted(f, q.Level) || s.again(f, h.within) != nil
		})
		for _, f := range failures {
			switch {
			case named[f.SHA]:
			case len(q.Require) > 0 && !q.asksOf(k, receipt(f)):
				aside = append(aside, f)
			default:
				last = append(last, f)
			}
		}
		for _, p := range passes {
			q.outside(res, p)
		}
	}
	q.lastWords(res, last)
	if q.Strict {
		return
	}
	slices.SortFunc(aside, func(a, b *receipts.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	aside = slices.DeleteFunc(aside, func(f *receipts.Entry) bool { return receipt(f).Binding == "" || receipt(f).Place != q.Place })
	for i, f := range aside {
		if i == maxRuns {
			res.Notes = append(res.Notes, fmt.Sprintf("and %d more", len(aside)-i))
			break
		}
		res.Notes = append(res.Notes, fmt.Sprintf("%s, which is not required, failed on this tree%s: receipt %s", q.describe(receipt(f)), q.notSince(receipt(f)), f.SHA.Short()))
	}
}

// lastWords adds the refusals for failures that are the last word about a command under a binding, or about one that is asked for, in the order of
// lines, and first those of the script that failed last.
func (q Query) lastWords(res *Result, failures []*receipts.Entry) {
	newest := make(map[string]int64) // by script
	for _, f := range failures {
		file := receipt(f).Line.File.Text
		newest[file] = max(newest[file], f.Seq)
	}
	slices.SortFunc(failures, func(a, b *receipts.Entry) int {
		x, y := receipt(a), receipt(b)
		return cmp.Or(cmp.Compare(newest[y.Line.File.Text], newest[x.Line.File.Text]), cmp.Compare(x.Line.Number, y.Line.Number), cmp.Compare(b.Seq, a.Seq))
	})
	var list []receipts.Refusal
	for _, last := range failures {
		r := receipt(last)
		if r.Place != q.Place || r.Binding == "" && !q.asks(commandKey(r.Command, r.Dir, r.Place)) {
			continue
		}
		res.Failures++
		list = append(list, receipts.Refusal{Reason: receipts.NotSucceeded, SHA: last.SHA, Step: r.Step,
			Message: fmt.Sprintf("%s failed on this tree%s: receipt %s", q.describe(r), q.notSince(r), last.SHA.Short())})
	}
	if len(list) > 0 {
		res.add(Failed, list...)
	}
}

// outside adds the refusal for a pass of a required command under no binding.
func (q Query) outside(res *Result, pass *receipts.Entry) {
	r := receipt(pass)
	if r.Place != q.Place || r.Binding != "" || res.Verdict == "" || res.Verdict == Verified {
		return
	}
	for _, need := range q.Require {
		if need.Command == r.Command && need.Dir == r.Dir {
			res.add(Outside, receipts.Refusal{Reason: receipts.Outside, SHA: pass.SHA,
				Message: fmt.Sprintf("%s ran on this tree, but not as a line of a script: receipt %s", need.Words, pass.SHA.Short())})
		}
	}
}

// last checks each member against the other records of its command on its tree,
// whatever the environment. If the gate is about other files than the present ones, a failure
// on those files only does not count for the present ones: the answer is STALE.
func (s *Session) last(q Query, res *Result) {
	var gate *receipts.Tree
	switch {
	case res.Body != nil:
		gate = res.Body.Tree
	case q.Tree != nil && res.isOf(*q.Tree):
		gate = q.Tree
	}
	stale := q.Tree != nil && !res.isOf(*q.Tree)
	last := s.passes(gate, q.Level, "")
	last.rules = q.bound()
	if res.Body != nil {
		last.rules.matrix, last.rules.place = res.Body.Matrix, res.Body.Place
	}
	leaves := res.Leaves()
	all := make([]*receipts.Entry, len(leaves))
	for i, m := range leaves {
		all[i] = m.Entry
		last.add(m)
	}
	h := last.history(all)
	type line struct {
		command uint64
		binding string
		inputs  receipts.Hash
		clean   bool
		setup   receipts.Hash
		ruled   bool   // by the rules that are asked for, which know its variables
		env     string // what these are
		own     bool   // the present inputs are compared with its own
		again   string // the step, where this is not its first attempt: which failures that excuses is of the step
		files   [3]receipts.Tree
		by      *receipts.Receipt // of an inner one: the line whose command started its run
		level   int
		weak    bool // see [passes.weak]: it does not stand for one that is not
	}
	type refusal struct {
		sha receipts.Hash
		weight
		same bool
	}
	res.weighed = make(map[receipts.Hash]answer)
	asked, counted := make(map[line]bool), make(map[receipts.Hash]bool)
	inPlace, others, refused := make(map[receipts.Hash]bool), make(map[receipts.Hash]bool), make(map[refusal]bool)
	for _, m := range leaves {
		if s.stopped() {
			return
		}
		r, q := receipt(m.Entry), q
		if m.Inner {
			if res.Body == nil || r.Matrix != res.Body.Matrix || r.Place != res.Body.Place {
				q.Inputs = nil // of bindings of another matrix, or of another folder's files
			}
		}
		if q.Fresh && !r.Reused.IsZero() {
			res.no(Missing, receipts.ReusedResult, m.SHA, "%s repeats the result of %s", q.describeLeaf(m), r.Reused.Short())
		}
		if now, ok := q.present(r); ok && r.Binding != "" && r.HeldInputs() != now {
			res.no(Stale, receipts.InputsChanged, m.SHA, "%s: the files that its binding names as `inputs` are not those that it ran with", q.nameLeaf(m))
		}
		if !m.Inner {
			s.executableNote(res, m.Entry, r)
		}
		key := commandKey(r.Command, r.Dir, r.Place)
		l := line{command: key, binding: r.Binding, inputs: r.Inputs, clean: r.Clean != nil, setup: installed(r), by: m.By,
			ruled: last.rules.of(r), env: last.rules.envOf(r), own: q.Inputs != nil, level: m.Level, weak: last.weak(m)}
		if r.Attempt > 1 {
			l.again = stepOf(r)
		}
		st := last.stand(m.Entry)
		copy(l.files[:], st.begun)
		copy(l.files[2:], st.left)
		if asked[l] {
			continue
		}
		asked[l] = true
		for _, e := range h.ends(key, early, q.Level, res.below) {
			about, _ := last.about(m.Entry, e)
			if about {
				s.attempt(res, e, early)
			}
			if about && !counted[e.SHA] && last.within.counts(q, e) {
				counted[e.SHA] = true
				res.Early++
			}
		}
		for _, seq := range h.about[key] { // what was pending when the gate was made, and was settled since
			if x, ok := s.settled[seq]; ok && x.by > res.Gate.Seq {
				if e := h.read(seq, key); e != nil {
					if about, _ := last.about(m.Entry, e); about {
						s.attempt(res, e, early)
					}
				}
			}
		}
		for _, f := range last.words(q, m, h, res.below) {
			s.attempt(res, f.Entry, no)
			switch f.weight {
			case elsewhere:
				inPlace[f.SHA] = true
				continue
			case otherInputs:
				others[f.SHA] = true
				continue
			case acceptedBy:
				for _, t := range f.accepted {
					if text := fmt.Sprintf("accepted by %s: %q", t.By, t.Reason); !slices.Contains(res.Accepted, text) {
						res.Accepted = append(res.Accepted, text)
					}
				}
				continue
			}
			if stale && !last.stand(f.Entry).has(*q.Tree) {
				res.contradicted = res.contradicted || f.weight == after || q.Strict && f.weight == before
				continue
			}
			if !counted[f.SHA] { // a failure that does not count for one leaf may count for another
				counted[f.SHA] = true
				res.Failures++
			}
			x := refusal{f.SHA, f.weight, f.same}
			if refused[x] { // for another line of the command
				continue
			}
			refused[x] = true
			switch {
			case f.weight == after && f.same:
				res.no(Failed, receipts.Superseded, f.SHA, "%s failed on this tree%s after it had passed, receipt %s", q.describeLeaf(m), q.apart(receipt(f.Entry)), f.SHA.Short())
			case f.weight == after:
				res.no(Failed, receipts.Superseded, f.SHA, "%s failed on this tree%s and passed on other files alone, receipt %s", q.describeLeaf(m), q.apart(receipt(f.Entry)), f.SHA.Short())
			case f.weight == before && q.Strict:
				res.no(Flaky, receipts.FlakyPass, f.SHA, "%s passed on this tree only after it had failed on it%s, receipt %s", q.describeLeaf(m), q.apart(receipt(f.Entry)), f.SHA.Short())
			}
		}
	}
	aside := func(list map[receipts.Hash]bool) (n int) {
		for h := range list {
			if !counted[h] {
				n++
			}
		}
		return n
	}
	res.InPlace, res.OtherInputs = res.InPlace+aside(inPlace), res.OtherInputs+aside(others)
}

// attempt notes that an attempt was weighed, if it came before the gate, which then counts it as what it was: one that was settled since was pending.
func (s *Session) attempt(res *Result, e *receipts.Entry, a answer) {
	if x, ok := s.settled[e.Seq]; ok && x.by > res.Gate.Seq {
		a = early
	}
	if e.Seq < res.Gate.Seq {
		res.weighed[e.SHA] = a
	}
}

// apart returns " in a clean checkout" for such a failure, unless the query asks about clean checkouts only: in place, the same command may
// always pass.
func (q Query) apart(f *receipts.Receipt) string {
	if f.Clean == nil || q.Clean {
		return ""
	}
	return " in a clean checkout"
}

// notSince says of a failure that no pass followed it: none with the same inputs, where its binding names some. One with others may have.
func (q Query) notSince(f *receipts.Receipt) string {
	if now, ok := q.present(f); ok && !f.Inputs.IsZero() && f.HeldInputs() == now {
		return " with the inputs that are here, and has not passed with them since"
	}
	return q.apart(f) + ", and has not passed on it since"
}

// present returns the present inputs of r's binding. ok is false if they are not known, or if r ran in a clean checkout: its inputs were
// what was installed or shared there, not files of the working tree, so the two cannot be compared.
func (q Query) present(r *receipts.Receipt) (now receipts.Hash, ok bool) {
	if r.Clean != nil {
		return now, false
	}
	now, ok = q.Inputs[r.Binding]
	return now, ok
}

// excused reports whether failure does not count against pass because it ran with different inputs, namely those of the failure's own
// binding. In clean checkouts that is so only if their setups installed different files: other differences come from the machine or from
// earlier lines, and anyone who wants a pass can create them. The inputs of a clean checkout and those of the working tree cannot be
// compared: they excuse nothing. If the present inputs are not known, the newest record has the last word: it says which were there last.
func (s *Session) excused(q Query, pass, failure *receipts.Entry) bool {
	r, f := receipt(pass), receipt(failure)
	now, ok := q.present(f)
	switch {
	case !ok && s.later(failure, pass):
		return false
	case (r.Clean == nil) != (f.Clean == nil), !ok && f.Binding != r.Binding:
		return false
	case r.Clean != nil:
		return f.Inputs != r.Inputs && installed(f) != installed(r)
	case !ok:
		now = r.HeldInputs()
	}
	return !f.HadInputs(now)
}

// installed is the digest of what a setup installed for the command of r.
func installed(r *receipts.Receipt) (sum receipts.Hash) {
	if r.Clean != nil && r.Clean.Setup != nil {
		sum = r.Clean.Setup.Result
	}
	return sum
}

// isOf reports whether the record of the result is about a tree. A failure on the tree
// that is asked about does not contradict a pass on another one.
func (r *Result) isOf(t receipts.Tree) bool {
	if r.Body != nil {
		return r.Body.Tree != nil && r.Body.Tree.Matches(t)
	}
	w := receipt(r.Gate).Workspace
	return w != nil && w.Before.Matches(t)
}

// maxBefore bounds how many earlier receipts of a binding are read for its executable.
const maxBefore = 4096

// executableNote adds a note if a binding's executable differs from that of its previous receipt of no lower level and, with a key, of that key. Others
// are skipped: running a planted tool without the key must not make it the usual one.
func (s *Session) executableNote(res *Result, m *receipts.Entry, r *receipts.Receipt) {
	if r.Binding == "" || r.Executable == nil || r.Executable.SHA256.IsZero() {
		return
	}
	key, own := shortText(r.Binding), s.index.at(m.Seq).signer
	for seq, read := m.Seq-1, 0; seq >= 0 && read < maxBefore; seq-- {
		at := s.index.at(seq)
		if at.kind != kindReceipt || at.binding != key || m.Level >= receipts.LevelKey && at.signer != own {
			continue
		}
		e := s.entry(seq)
		if read++; e == nil {
			return
		}
		p := receipt(e)
		if p == nil || e.Level < m.Level || p.Binding != r.Binding || p.Executable == nil || p.Executable.SHA256.IsZero() {
			continue
		}
		if p.Executable.SHA256 == r.Executable.SHA256 {
			return
		}
		where := r.Executable.Path.Text
		if p.Executable.Path != r.Executable.Path {
			where = p.Executable.Path.Text + ", now " + where
		}
		note := fmt.Sprintf("the executable of %s changed since %s: %s", r.Binding, p.Timestamp.Format(time.DateTime), where)
		if !slices.Contains(res.Notes, note) {
			res.Notes = append(res.Notes, note)
		}
		return
	}
}

// ranAll reports whether each command that a run had planned is among the steps that have a
// receipt. A gate step without a command is one that the run deferred. A gate step with a command but no receipt was refused, or not
// reached.
func ranAll(run *receipts.Run, steps map[string]bool) bool {
	return run.More == 0 && !slices.ContainsFunc(run.Planned, func(p receipts.Planned) bool { return !p.Command.IsZero() && !steps[p.Step] })
}

// files are those that the query is about: of a commit also the bytes that a gate over it has, as git may have had no tree for those before.
func (q Query) files(res *Result) []receipts.Tree {
	if q.Commit && res.Body != nil && res.Body.Tree != nil && res.Body.Tree.Matches(*q.Tree) {
		return []receipts.Tree{*q.Tree, *res.Body.Tree}
	}
	return []receipts.Tree{*q.Tree}
}

// looseRuns returns the beginnings of runs that do not say on what files they began, and that a line on the files of t started.
func (s *Session) looseRuns(w *within, t receipts.Tree) (list []int64) {
	for i := range s.index.marks {
		m := &s.index.marks[i]
		if m.kind != kindRun || m.parent == 0 || m.bytes != 0 || m.git != 0 {
			continue
		}
		e := s.entry(int64(i))
		if e == nil {
			return list
		}
		run, ok := body(e).(*receipts.Run)
		if ok && slices.ContainsFunc(w.around(run.Run).lines, func(seq int64) bool {
			line := s.entry(seq)
			return line != nil && standOf(receipt(line)).has(t)
		}) {
			list = append(list, int64(i))
		}
	}
	return list
}

// maxRuns bounds how many a result names.
const maxRuns = 5

// unfinished adds notes about runs on this tree that have no gate. A run that is killed before it fails leaves that
// trace, also if a line started it. Records below the required level do not end a run of that level: anybody may write
// them in its name. If nothing is verified, such a run explains why these files have no gate.
func (s *Session) unfinished(q Query, res *Result) {
	if q.Tree == nil {
		return
	}
	type later struct {
		seq           int64
		level         int // of the beginning
		gated, failed bool
		steps         map[string]bool // with a receipt
	}
	below := s.passes(nil, q.Level, "").within
	runs := make(map[uint64]*later)
	var order []*later
	files := q.files(res)
	begun := s.history(map[uint64]bool{}, files...).runs
	for _, t := range files {
		begun = append(begun, s.looseRuns(below, t)...)
	}
	slices.Sort(begun)
	begun = slices.Compact(begun)
	for _, seq := range begun {
		id, e := s.index.at(seq).run, s.entry(seq)
		if e == nil {
			return
		}
		l := runs[id]
		switch { // no record under its id takes the place of a run's beginning, but one of a higher level
		case l == nil:
			runs[id] = &later{seq: seq, level: e.Level, steps: make(map[string]bool)}
			order = append(order, runs[id])
		case e.Level > l.level:
			l.seq, l.level = seq, e.Level
		}
	}
	if len(order) == 0 {
		return
	}
	// Gates first: the receipts of a run with a gate need not be read.
	for _, kind := range []uint8{kindGate, kindReceipt} {
		for seq := begun[0]; seq < s.index.len(); seq++ {
			m := s.index.at(seq)
			l := runs[m.run]
			if l == nil || l.gated || m.kind != kind {
				continue
			}
			// A mark decides nothing, and an unsigned record cannot end a signed run.
			e, begun := s.entry(seq), s.entry(l.seq)
			if e == nil || begun == nil {
				return
			}
			run, ok := body(begun).(*receipts.Run)
			if !ok {
				continue
			}
			around := below.around(run.Run)
			if e.Level < begun.Level || e.Level < q.Level && begun.Level < q.Level && e.Seq >= cmp.Or(around.ended, around.until) {
				continue
			}
			switch b := body(e).(type) {
			case *receipts.Gate:
				l.gated = b.Run == run.Run
			case *receipts.Receipt:
				if b.Run == run.Run {
					l.failed = l.failed || b.Control == nil && (b.Failed() || b.EndedEarly())
					l.steps[b.Step] = true
				}
			}
		}
	}
	named := 0
	for i := len(order) - 1; i >= 0; i-- {
		l := order[i]
		if l.gated {
			continue
		}
		e := s.entry(l.seq)
		if e == nil {
			return
		}
		run, ok := body(e).(*receipts.Run)
		if !ok || e.Level < q.Level && e.Seq >= below.around(run.Run).until || run.Tree != nil && !slices.ContainsFunc(files, run.Tree.SameFiles) {
			continue
		}
		when := "later "
		switch {
		case res.Gate == nil:
			when = ""
		case l.seq < res.Gate.Seq:
			when = "earlier "
		}
		switch {
		case l.failed && when == "earlier ": // which is counted, where it is of these lines
			continue
		case !l.failed && ranAll(run, l.steps):
			continue
		}
		if named++; named > maxRuns {
			continue
		}
		if l.failed {
			res.Notes = append(res.Notes, fmt.Sprintf("the %srun %s of %s on this tree did not pass", when, run.Run, run.Script.Path.Text))
		} else {
			res.Notes = append(res.Notes, fmt.Sprintf("the %srun %s of %s on this tree did not reach its gate: it was stopped, killed or refused, or is still running", when, run.Run, run.Script.Path.Text))
		}
	}
	if named > maxRuns {
		res.Notes = append(res.Notes, fmt.Sprintf("and %d more runs", named-maxRuns))
	}
}

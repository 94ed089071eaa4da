package verify

import (
	"fmt"
	"slices"

	"github.com/command-dialect/dialect/receipts"
)

// Decide compares the records of a gate request with its expectations, and
// returns what is to be consumed. It changes nothing: the caller consumes, in the
// transaction that the session reads in, if nothing is refused.
func (s *Session) Decide(g receipts.GateRequest) (receipts.Decision, []receipts.Hash, error) {
	var d receipts.Decision
	if s.refuse(&d) {
		return d, nil, s.err
	}
	if g.Resumed {
		s.resumed = s.decided(g)
	}
	var hashes []receipts.Hash
	for _, x := range g.Expect {
		if !x.SHA.IsZero() {
			hashes = append(hashes, x.SHA)
		}
	}
	list := s.bySHA(hashes...)
	last := s.passes(g.Tree, g.Level, g.Run)
	last.rules = rules{g.Retries, g.Env, g.Matrix, g.Place, g.Level}
	var named []*receipts.Entry
	for _, x := range g.Expect {
		if e := list[x.SHA]; e != nil {
			named = append(named, e)
			last.add(Leaf{Entry: e})
		}
	}
	// The lines that earlier gates of the run took in are judged once more: what happened since is about them, too.
	var earlier Result
	for _, e := range named {
		if b, ok := body(e).(*receipts.Gate); ok {
			s.flatten(b, &earlier)
		}
	}
	for _, e := range earlier.Members {
		last.add(Leaf{Entry: e})
	}
	nested, unspent := s.nested(s.index.len(), g, named)
	came := 0
	leaves := s.inner(slices.Concat(earlier.nested, nested), slices.Concat(earlier.Members, named), func(receipts.Hash) {}, func(b *receipts.Gate) { came += cameBelow(g.Tree, b) })
	if came > 0 && g.AnyRun { // a run goes on, and its verdict says so
		d.Refusals = append(d.Refusals, receipts.Refusal{Reason: receipts.Inexact, Message: fmt.Sprintf("runs below the receipts may have read %s; run again", gone(nil, came))})
	}
	all := slices.Concat(earlier.Members, named)
	for _, m := range leaves {
		last.add(m)
		all = append(all, m.Entry)
	}
	h := last.history(all)
	var members []receipts.Hash
	seen := make(map[receipts.Hash]bool, len(g.Expect))
	counted := make(map[receipts.Hash]bool)
	for _, x := range g.Expect {
		name := "step " + x.Step
		if x.Binding != "" {
			name += " (" + x.Binding + ")"
		}
		if x.Step == "" {
			name = "the request"
		}
		no := func(reason receipts.Reason, format string, args ...any) {
			d.Refusals = append(d.Refusals, receipts.Refusal{
				Reason: reason, SHA: x.SHA, Step: x.Step, Message: name + fmt.Sprintf(format, args...),
			})
		}
		if x.SHA.IsZero() {
			if x.Required {
				no(receipts.Missing, " left no receipt, and one is required")
			}
			continue
		}
		if seen[x.SHA] {
			no(receipts.Repeated, ": the receipt %s stands for another step too", x.SHA.Short())
			continue
		}
		seen[x.SHA] = true
		e := list[x.SHA]
		if e == nil {
			no(receipts.Missing, ": the store has no receipt %s", x.SHA.Short())
			continue
		}
		if len(d.Records) == 0 || e.Level < d.Level {
			d.Level = e.Level
		}
		d.Records = append(d.Records, *e)
		reason, text := expected(g, x, e)
		if r := receipt(e); reason == "" && r != nil {
			if why := s.unlike(r); why != "" {
				reason, text = receipts.NotCovered, "rests on the gate "+receipts.GateID(r.HandedBack)+", which was handed back and "+why
			}
		}
		if reason == "" {
			reason, text = s.lastWord(g, Leaf{Entry: e}, h, last, counted, &d)
		}
		if reason != "" {
			no(reason, ": the receipt %s %s", x.SHA.Short(), text)
			continue
		}
		if r := receipt(e); r != nil && !r.Reused.IsZero() {
			d.Reused++
		}
		members = append(members, x.SHA)
	}
	if d.Passed() {
		s.decideEarlier(g, &d, &earlier, h, last, counted)
	}
	if d.Passed() {
		d.Nested, d.Unspent = nested, unspent
		if len(d.Nested) > receipts.MaxMembers/4 {
			d.Refusals = append(d.Refusals, receipts.Refusal{Reason: receipts.Missing,
				Message: fmt.Sprintf("runs started by this run left %d gates or receipts of earlier failures; one gate can take in %d", len(d.Nested), receipts.MaxMembers/4)})
		} else {
			s.decideInner(g, &d, leaves, h, last, counted)
		}
	}
	if s.refuse(&d) {
		return d, nil, s.err
	}
	if d.Passed() {
		d.Gate = s.resumed
	}
	return d, members, nil
}

// decided returns the gate of the log that was made of the request g, by its run and at its level; zero if there is none. What it consumed is to be
// judged as it was before: the gate alone grants nothing.
func (s *Session) decided(g receipts.GateRequest) (sha receipts.Hash) {
	var members []receipts.Hash
	for _, x := range g.Expect {
		if !x.SHA.IsZero() {
			members = append(members, x.SHA)
		}
	}
	run := shortText(g.Run)
	for seq := s.index.len() - 1; seq >= 0 && g.Tree != nil; seq-- {
		if m := s.index.at(seq); m.kind != kindGate || m.run != run {
			continue
		}
		e := s.entry(seq)
		if e == nil {
			return sha
		}
		b, ok := body(e).(*receipts.Gate)
		if ok && e.Level >= g.Level && b.Run == g.Run && b.Nonce == g.Nonce && b.Final == g.Final && b.Covers == g.Covers && b.Script == g.Script && b.Matrix == g.Matrix &&
			b.Tree != nil && b.Tree.SameFiles(*g.Tree) && slices.Equal(b.Members, members) {
			return e.SHA
		}
	}
	return sha
}

// Gather sets what a gate request expects to the records that ids name, judges each as
// [Session.Consume] does, and returns why they are not what q asks for; nothing is gated
// then. Failures before a pass are for [Session.Decide], which may accept them.
func (s *Session) Gather(g *receipts.GateRequest, q Query, ids ...string) (refused []receipts.Refusal) {
	need := q.Require
	q.Require, q.Strict = nil, false
	no := func(reason receipts.Reason, sha receipts.Hash, format string, args ...any) {
		refused = append(refused, receipts.Refusal{Reason: reason, SHA: sha, Message: fmt.Sprintf(format, args...)})
	}
	var given []*receipts.Receipt
	for i, id := range ids {
		seq, err := s.find(id)
		if err != nil {
			no(receipts.Missing, receipts.Hash{}, "%v", err)
			continue
		}
		e := s.entry(seq)
		if e == nil {
			return nil // Decide says why
		}
		s.follow(map[receipts.Hash]*receipts.Entry{e.SHA: e}) // which lowers the level of what a weaker record settled
		x := receipts.Expectation{SHA: e.SHA, Step: fmt.Sprint(i + 1), Required: true}
		if r := receipt(e); r != nil {
			x.Binding = r.Binding
			given = append(given, r)
			for _, x := range s.judgeLeaf(q, e).Refusals {
				if x.Reason != receipts.NotTerminal && x.Reason != receipts.NotSucceeded { // Decide names the step
					refused = append(refused, x)
				}
			}
		}
		g.Expect = append(g.Expect, x)
	}
	for _, n := range need {
		if slices.ContainsFunc(given, n.Meets) {
			continue
		}
		i := slices.IndexFunc(given, func(r *receipts.Receipt) bool { return r.Command == n.Command && r.Dir == n.Dir })
		switch {
		case i >= 0 && given[i].Binding == "":
			no(receipts.NotCovered, receipts.Hash{}, "%s: a receipt is of its command, and was not taken under the binding; take it by `dialect exec --as %s -- %s`", n.Binding, n.Binding, n.Words)
		case i >= 0:
			no(receipts.NotCovered, receipts.Hash{}, "%s: a receipt is of its command, as a line of %s", n.Binding, given[i].Binding)
		default:
			no(receipts.NotCovered, receipts.Hash{}, "%s: none of the receipts is of its command: %s", n.Binding, n.Words)
		}
	}
	return refused
}

// refuse adds the faults of the log to a decision, and reports whether there are any.
func (s *Session) refuse(d *receipts.Decision) bool {
	for _, p := range s.problems {
		d.Refusals = append(d.Refusals, receipts.Refusal{Reason: receipts.Tampered, SHA: p.SHA, Message: "TAMPERED: " + p.Message})
	}
	if len(s.problems) > 0 {
		s.err = nil
		return true
	}
	return s.err != nil
}

// expected returns why the entry e is not what x expects; an empty reason if it is.
func expected(g receipts.GateRequest, x receipts.Expectation, e *receipts.Entry) (receipts.Reason, string) {
	var run, session, nonce string
	switch b := body(e).(type) {
	case *receipts.Receipt:
		if x.Gate {
			return receipts.NotReceipt, "is not a gate receipt"
		}
		run, session, nonce = b.Run, b.Session, b.Nonce
		if reason, text := e.Succeeded(b); reason != "" {
			return reason, text
		}
		if len(x.Argv) > 0 && b.Command != receipts.CommandHash(x.Argv) {
			return receipts.CommandDiffers, fmt.Sprintf("is of another command: %s", b)
		}
		if b.Place != g.Place {
			return receipts.OtherPlace, "is of the project in " + placeName(b.Place) + ", and this one is in " + placeName(g.Place)
		}
		if g.AnyRun && b.Binding != "" && b.Matrix != g.Matrix {
			return receipts.OtherPolicy, "is of another matrix than the present one"
		}
		if reason, text := expectedTree(g, x, e, b); reason != "" {
			return reason, text
		}
	case *receipts.Gate:
		if !x.Gate {
			return receipts.NotReceipt, "is a gate receipt"
		}
		run, session, nonce = b.Run, b.Session, b.Nonce
	default:
		return receipts.NotReceipt, fmt.Sprintf("is a record of kind %s", e.Kind)
	}
	switch {
	case !g.AnyRun && run != g.Run, session != g.Session && !g.AnySession:
		return receipts.OtherRun, fmt.Sprintf("is of run %s in session %s", run, session)
	case nonce != g.Nonce && !(g.AnyRun && g.Nonce == ""):
		return receipts.OtherNonce, "does not carry the nonce of this run"
	case e.Consumption != nil:
		return receipts.Consumed, fmt.Sprintf("was consumed by %s at %s", e.Consumption.Who(), e.Consumption.At)
	}
	return "", ""
}

// unlooked is why a receipt cannot be used in a gate other than its own run's.
const unlooked = "does not record that the files were unchanged when the command ended; run it again, with --defer-gate if another run's gate is to use it"

// looked reports whether a receipt records the files after its command had ended. A settled receipt counts, too: its settler vouches for it.
func looked(e *receipts.Entry, r *receipts.Receipt) bool {
	return r.Workspace.Looked() || e.Settlement != nil
}

// expectedTree returns why the tree that a command ran on is not the expected one.
func expectedTree(g receipts.GateRequest, x receipts.Expectation, e *receipts.Entry, r *receipts.Receipt) (receipts.Reason, string) {
	w := r.Workspace
	switch {
	case x.Moved != "":
		return receipts.TreeChanged, "ran while files that " + x.Moved + " names changed; run it again, and leave what the tool itself writes out of the inputs"
	case len(x.Changed) > 0:
		return receipts.TreeChanged, "is not about the files as they are: " + receipts.ListPaths(x.Changed) + " changed since it began: run it again if it was edited meanwhile; what a tool writes needs effect = \"write\" of its binding or, where it is not part of the project, a tracked .gitignore that names it, and no place in the index (git rm --cached)"
	case x.Tree != nil && (w == nil || !w.Before.Matches(*x.Tree)):
		return receipts.TreeChanged, "is of another tree than the run's"
	case !g.AnyRun:
		return "", ""
	case g.Tree == nil || w == nil:
		return receipts.NoTree, "does not say what tree it ran on: take it without --no-tree"
	case !w.Before.Matches(*g.Tree):
		return receipts.TreeChanged, "is of another tree than the present one: run it again"
	case w.After != nil && !w.After.Matches(*g.Tree):
		return receipts.TreeChanged, "is of a command that changed the tree: run it again"
	case !looked(e, r):
		return receipts.TreeChanged, unlooked
	}
	return "", ""
}

// lastWord returns why the pass m does not count: the same command failed on the same
// tree later, or, if the request is strict, before. It also counts the other failures and early ends.
func (s *Session) lastWord(g receipts.GateRequest, m Leaf, h *history, last passes, counted map[receipts.Hash]bool, d *receipts.Decision) (receipts.Reason, string) {
	r := receipt(m.Entry)
	if r == nil {
		return "", ""
	}
	key := commandKey(r.Command, r.Dir, r.Place)
	aside := make(map[int64]bool)
	first := func(e *receipts.Entry) bool { // false where it was counted for another record
		was := counted[e.SHA]
		counted[e.SHA] = true
		return !was
	}
	name := func(list *[]receipts.Hash, e *receipts.Entry) {
		if !last.named[e.SHA] {
			last.named[e.SHA], *list = true, append(*list, e.SHA)
		}
	}
	for _, e := range h.ends(key, early, g.Level, aside) {
		if about, _ := last.about(m.Entry, e); about {
			if e.Settlement != nil && e.Settlement.Signer != "" && !last.named[e.SHA] {
				d.OtherSettled++
			}
			if name(&d.Ended, e); first(e) {
				d.Early++
			}
		}
	}
	for _, seq := range h.about[key] { // what another key signed: who asks may know that
		x := s.index.at(seq)
		if x.signer == 0 || x.flags&(answers|flagEarly) == 0 || x.flags&flagPassed != 0 {
			continue
		}
		if e := h.read(seq, key); e != nil && e.Level < g.Level {
			switch about, _ := last.about(m.Entry, e); {
			case !about:
			case answerOf(e) == no:
				name(&d.OtherFailed, e)
			case answerOf(e) == early:
				name(&d.OtherEnded, e)
			}
		}
	}
	var earlier []word
	for _, f := range last.words(Query{}, m, h, aside) {
		switch f.weight {
		case after:
			if !f.same {
				return receipts.Superseded, fmt.Sprintf("ran on other files than the gate's; on the gate's files the same command failed (receipt %s) and has not passed", f.SHA.Short())
			}
			return receipts.Superseded, fmt.Sprintf("is superseded: the same command failed on the same tree later, receipt %s", f.SHA.Short())
		case before, permitted:
			earlier = append(earlier, f)
			fallthrough
		case acceptedBy:
			name(&d.Failed, f.Entry)
		}
	}
	flaky := ""
	for _, f := range earlier {
		switch {
		case g.AcceptFlaky != "" && s.accepts(last, m, f.Entry):
			if !slices.Contains(d.Accepted, f.SHA) {
				d.Accepted = append(d.Accepted, f.SHA)
			}
			continue
		case first(f.Entry):
			d.Failures++
		}
		if f.weight == before {
			flaky = f.SHA.Short() // the last one
		}
	}
	if !g.Strict || flaky == "" {
		return "", ""
	}
	return receipts.FlakyPass, fmt.Sprintf("is flaky: the same command failed on the same tree before, receipt %s; change what is wrong, give the binding `retries`, or accept it with `--accept-flaky REASON`", flaky)
}

// accepts reports whether a run that accepts failures accepts f for its pass m: else a record without the key, a weaker line, or an inner run of another line
// than f is below, would have the run accept what its own lines never met.
func (s *Session) accepts(p passes, m Leaf, f *receipts.Entry) bool {
	if p.weak(m) || m.Level < f.Level || !p.rules.heldTo(receipt(m.Entry), receipt(f)) {
		return false
	}
	above := p.within.around(receipt(f).Run)
	return !m.Inner || len(above.bound) == 0 && !above.gap || s.belowSame(p.rules, p.within, m, receipt(f))
}

// decideEarlier refuses a gate for what is known of the lines that earlier gates of its run took in.
func (s *Session) decideEarlier(g receipts.GateRequest, d *receipts.Decision, earlier *Result, h *history, last passes, counted map[receipts.Hash]bool) {
	for _, m := range earlier.Members {
		if reason, text := s.lastWord(g, Leaf{Entry: m}, h, last, counted, d); reason != "" {
			earlier.no(Failed, reason, m.SHA, "%s: the receipt %s %s", Query{Place: g.Place}.describe(receipt(m)), m.SHA.Short(), text)
		}
	}
	d.Refusals = append(d.Refusals, earlier.Refusals...)
}

// decideInner refuses a gate for what is known of the commands of runs that its lines started, as [Session.last] does.
func (s *Session) decideInner(g receipts.GateRequest, d *receipts.Decision, leaves []Leaf, h *history, last passes, counted map[receipts.Hash]bool) {
	if len(leaves) == 0 {
		return
	}
	names, steps := make(map[receipts.Hash]string), make(map[string]string) // of the steps, as the request has them
	for _, x := range g.Expect {
		names[x.SHA] = x.Step
	}
	for i := range d.Records {
		if r := receipt(&d.Records[i]); r != nil {
			steps[stepOf(r)] = names[d.Records[i].SHA]
		}
	}
	for _, m := range leaves {
		step := ""
		if m.By != nil {
			step = steps[stepOf(m.By)]
		}
		if reason, text := s.lastWord(g, m, h, last, counted, d); reason != "" {
			d.Refusals = append(d.Refusals, receipts.Refusal{Reason: reason, SHA: m.SHA, Step: step,
				Message: fmt.Sprintf("%s: the receipt %s %s", Query{Place: g.Place}.nameLeaf(m), m.SHA.Short(), text)})
		}
	}
}

// Consume judges what is to be consumed: each record that ids name as [Session.Verify]
// judges a gate; other records skip the conditions that are for final gates.
// It returns the records, and the hashes of all that they cover. It changes nothing.
func (s *Session) Consume(q Query, ids ...string) (receipts.Decision, Covered, error) {
	var d receipts.Decision
	var none Covered
	if s.refuse(&d) {
		return d, none, s.err
	}
	q.Strict = true
	seen := make(map[receipts.Hash]bool)
	list := make(map[receipts.Hash]*receipts.Entry)
	for _, id := range ids {
		e := s.pick(id, &d)
		if e == nil {
			continue
		}
		if seen[e.SHA] {
			d.Refusals = append(d.Refusals, receipts.Refusal{Reason: receipts.Repeated, SHA: e.SHA, Message: e.SHA.Short() + " is named twice"})
			continue
		}
		seen[e.SHA] = true
		list[e.SHA] = e
	}
	s.follow(list)
	for i := range d.Records {
		e := list[d.Records[i].SHA]
		d.Records[i] = *e
		if c := e.Consumption; c != nil {
			d.Refusals = append(d.Refusals, receipts.Refusal{Reason: receipts.Consumed, SHA: e.SHA,
				Message: fmt.Sprintf("%s was consumed by %s at %s", e.SHA.Short(), c.Who(), c.At)})
			continue
		}
		res, err := s.conclude(q, s.judgeAny(q, e))
		if err != nil {
			return d, none, err
		}
		for _, r := range res.Refusals {
			r.Message = fmt.Sprintf("%s: %s", res.Verdict, r.Message)
			d.Refusals = append(d.Refusals, r)
		}
		if res.Verdict != Verified && len(res.Refusals) == 0 {
			return d, none, fmt.Errorf("the verdict %s without a reason", res.Verdict)
		}
		d.Failures, d.Early = d.Failures+res.Failures, d.Early+res.Early
		if res.Tested != nil {
			if d.Tested == nil {
				d.Tested = make(map[receipts.Hash]*receipts.Tested)
			}
			d.Tested[e.SHA] = res.Tested
		}
		if n := res.repeated(); n > 0 {
			if d.Repeated == nil {
				d.Repeated = make(map[receipts.Hash]int)
			}
			d.Repeated[e.SHA] = n
		}
	}
	if !d.Passed() {
		return d, none, nil
	}
	c := Covered{Taken: s.allBelow(list, false)}
	c.Apart = slices.DeleteFunc(s.allBelow(list, true), func(h receipts.Hash) bool {
		_, taken := slices.BinarySearchFunc(c.Taken, h, compareHashes)
		return taken
	})
	if s.refuse(&d) {
		return d, none, s.err
	}
	return d, c, nil
}

// Covered are the hashes of records that are consumed and of all below them, sorted. Apart are those of gates of inner runs that, says the log, were
// consumed by somebody else before the gate above took them in, and of all below these. Anybody who can write the log can say so.
type Covered struct{ Taken, Apart []receipts.Hash }

func compareHashes(a, b receipts.Hash) int { return slices.Compare(a[:], b[:]) }

// judgeAny judges a record by its kind.
func (s *Session) judgeAny(q Query, e *receipts.Entry) *Result {
	g, ok := body(e).(*receipts.Gate)
	switch {
	case !ok:
		return s.judgeLeaf(q, e)
	case g.Final || len(q.Require) > 0:
		return s.around(q, s.judge(q, e, whole))
	}
	return s.judge(q, e, part)
}

// One answers a query by the record that id names.
func (s *Session) One(q Query, id string) (*Result, error) {
	if len(s.problems) > 0 || s.err != nil {
		return s.conclude(q, &Result{})
	}
	seq, err := s.find(id)
	if err != nil && len(s.problems) == 0 {
		return nil, err
	}
	if len(s.problems) > 0 {
		return s.conclude(q, &Result{})
	}
	e := s.entry(seq)
	if e == nil {
		return s.conclude(q, &Result{})
	}
	s.follow(map[receipts.Hash]*receipts.Entry{e.SHA: e})
	return s.conclude(q, s.around(q, s.judge(q, e, whole)))
}

// Validate says whether records are evidence of a success: there, of no lower level than level, and succeeded. It
// does not care about trees, or whether they were consumed.
func (s *Session) Validate(level int, ids ...string) (receipts.Decision, error) {
	var d receipts.Decision
	if s.refuse(&d) {
		return d, s.err
	}
	list := make(map[receipts.Hash]*receipts.Entry)
	for _, id := range ids {
		if e := s.pick(id, &d); e != nil {
			list[e.SHA] = e
		}
	}
	s.follow(list)
	for i := range d.Records {
		e := list[d.Records[i].SHA]
		d.Records[i] = *e
		if r := receipts.Valid(*e); r != nil {
			d.Refusals = append(d.Refusals, *r)
		} else if e.Level < level {
			d.Refusals = append(d.Refusals, receipts.Refusal{Reason: receipts.LevelTooLow, SHA: e.SHA, Message: tooLow(e.SHA.Short(), level, e.Level)})
		}
	}
	s.refuse(&d)
	return d, s.err
}

// Unsettled returns the pending receipt that id names, if it can be settled by a record of a
// level: it was not settled yet, or by one below its own level that this one goes before.
func (s *Session) Unsettled(id string, level int) (receipts.Decision, error) {
	var d receipts.Decision
	if s.refuse(&d) {
		return d, s.err
	}
	e := s.pick(id, &d)
	if e == nil {
		s.refuse(&d)
		return d, s.err
	}
	own := e.Level
	s.follow(map[receipts.Hash]*receipts.Entry{e.SHA: e})
	if s.refuse(&d) {
		return d, s.err
	}
	d.Records[0] = *e
	no := func(reason receipts.Reason, format string, args ...any) {
		d.Refusals = append(d.Refusals, receipts.Refusal{Reason: reason, SHA: e.SHA, Message: e.SHA.Short() + " " + fmt.Sprintf(format, args...)})
	}
	switch r, t := receipt(e), e.Settlement; {
	case r == nil:
		no(receipts.NotReceipt, "is not a receipt")
	case r.Status != receipts.Pending:
		no(receipts.Repeated, "is not pending: it says %s", r.Status)
	case t != nil && (e.Level == own || level <= e.Level):
		no(receipts.Repeated, "was settled as %s by %s at %s", t.Status, t.By, t.Timestamp)
	}
	return d, s.err
}

// pick finds a record for a decision; a missing record is a refusal.
func (s *Session) pick(id string, d *receipts.Decision) *receipts.Entry {
	seq, err := s.find(id)
	if err != nil {
		d.Refusals = append(d.Refusals, receipts.Refusal{Reason: receipts.Missing, Message: err.Error()})
		return nil
	}
	e := s.entry(seq)
	if e == nil {
		return nil
	}
	if len(d.Records) == 0 || e.Level < d.Level {
		d.Level = e.Level
	}
	d.Records = append(d.Records, *e)
	return e
}

// allBelow returns the hashes of records and of all that the gates among them took in, or, with apart, also of gates that somebody else had consumed.
func (s *Session) allBelow(list map[receipts.Hash]*receipts.Entry, apart bool) []receipts.Hash {
	var all []receipts.Hash
	seen := make(map[receipts.Hash]bool)
	for len(list) > 0 {
		var next []receipts.Hash
		for h, e := range list {
			if seen[h] {
				continue
			}
			seen[h] = true
			all = append(all, h)
			below := receipts.TookIn(body(e))
			if g, ok := body(e).(*receipts.Gate); ok {
				below = append(s.took(e, g.Nested, apart), g.Members...)
			}
			for _, m := range below {
				if !seen[m] {
					next = append(next, m)
				}
			}
		}
		if len(next) == 0 {
			break
		}
		list = s.bySHA(next...)
		for _, h := range next {
			if list[h] == nil && !seen[h] {
				seen[h] = true
				all = append(all, h)
			}
		}
	}
	slices.SortFunc(all, compareHashes)
	return all
}

// took returns those of nested records, gates, that were consumed with the gate e, and by nobody before, unless apart is set.
func (s *Session) took(e *receipts.Entry, nested []receipts.Hash, apart bool) (list []receipts.Hash) {
	if len(nested) == 0 {
		return nil
	}
	found := s.bySHA(nested...)
	for _, h := range nested {
		if n := found[h]; n == nil || receipt(n) == nil && (apart || n.Consumption == nil || n.Consumption.By == e.SHA.String()) {
			list = append(list, h)
		}
	}
	return list
}

// Met reports whether the last word about a command, on the tree and in the place of q and under its matrix, is a pass that meets accepts.
func (s *Session) Met(q Query, meets func(*receipts.Receipt) bool) (bool, error) {
	if len(s.problems) > 0 || s.err != nil || q.Tree == nil {
		return false, s.fault()
	}
	h := s.historyOf(nil, nil, s.passes(nil, q.Level, "").within, *q.Tree) // as [Session.lookAround] asks
	for key := range h.about {
		_, passes := h.lastWords(q, key, make(map[int64]bool), func(*receipts.Entry) bool { return false })
		if slices.ContainsFunc(passes, func(e *receipts.Entry) bool {
			r := receipt(e)
			return r.Place == q.Place && (q.Matrix.IsZero() || r.Matrix == q.Matrix) && meets(r)
		}) {
			return true, s.fault()
		}
	}
	return false, s.fault()
}

// Passed returns the newest receipt about a command on a tree, if it says that the
// command succeeded: what `run --reuse` may repeat. One that started runs is not repeated as a whole, since what is known of these
// would be lost; they may repeat their own.
func (s *Session) Passed(command receipts.Hash, dir, place receipts.Datum, t receipts.Tree) (receipts.Entry, bool, error) {
	if len(s.problems) > 0 || s.err != nil {
		return receipts.Entry{}, false, s.fault()
	}
	key := commandKey(command, dir, place)
	h := s.history(map[uint64]bool{key: true}, t)
	about := h.about[key]
	if len(about) == 0 {
		return receipts.Entry{}, false, nil
	}
	e := s.entry(about[len(about)-1])
	if e == nil {
		return receipts.Entry{}, false, s.fault()
	}
	s.follow(map[receipts.Hash]*receipts.Entry{e.SHA: e})
	r := receipt(e)
	if r == nil || r.Workspace == nil || !r.Workspace.Before.Matches(t) || r.Command != command || r.Dir != dir || r.Place != place || receipts.Valid(*e) != nil || s.startedRuns(e) {
		return receipts.Entry{}, false, s.fault()
	}
	// The newest record may be of a pass that began before a failure, and was recorded after it.
	if slices.ContainsFunc(h.ends(key, no, receipts.LevelHash, make(map[int64]bool)), func(f *receipts.Entry) bool { return s.later(f, e) }) {
		return receipts.Entry{}, false, s.fault()
	}
	return *e, true, s.fault()
}

// How far [Session.Counted] looks back, in records, and how many receipts it reads of each binding.
const (
	countedLooked = 100_000
	countedRead   = 200
)

// Counted returns, for each of some commands, the newest receipt, not of run, of a success that counted tests, signed by signer, if that is not empty. One that lies further
// back than it looks, or behind more receipts of its binding than it reads, is not found.
func (s *Session) Counted(asked []receipts.Counting, run, signer string) (map[receipts.Counting]receipts.Entry, error) {
	type wanted struct {
		left  map[receipts.Hash]receipts.Counting
		reads int
	}
	bindings := make(map[uint64]*wanted)
	for _, c := range asked {
		w := bindings[shortText(c.Binding)]
		if w == nil {
			w = &wanted{left: make(map[receipts.Hash]receipts.Counting)}
			bindings[shortText(c.Binding)] = w
		}
		w.left[c.Command] = c
	}
	newest, entries := make(map[receipts.Counting]receipts.Hash), make(map[receipts.Hash]*receipts.Entry)
	not, by := shortText(run), shortText(signer)
	for seq, n := s.index.len()-1, 0; seq >= 0 && n < countedLooked && len(bindings) > 0 && len(s.problems) == 0; seq, n = seq-1, n+1 {
		m := s.index.at(seq)
		if m.flags&flagTests == 0 || m.flags&flagPassed == 0 || m.kind != kindReceipt || m.run == not || by != 0 && m.signer != by {
			continue
		}
		w := bindings[m.binding]
		if w == nil {
			continue
		}
		e := s.entry(seq)
		if e == nil {
			break
		}
		if r := receipt(e); r != nil && r.Run != run && r.Tests != nil && (by == 0 || e.Level >= receipts.LevelKey) {
			if c, ok := w.left[r.Command]; ok && c.Binding == r.Binding {
				delete(w.left, r.Command)
				entries[e.SHA], newest[c] = e, e.SHA
			}
		}
		if w.reads++; len(w.left) == 0 || w.reads == countedRead {
			delete(bindings, m.binding)
		}
	}
	s.follow(entries)
	found := make(map[receipts.Counting]receipts.Entry, len(newest))
	for c, sha := range newest {
		found[c] = *entries[sha]
	}
	return found, s.fault()
}

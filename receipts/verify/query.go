package verify

import (
	"fmt"
	"slices"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// A Verdict is the answer to whether a tree was tested, in one word.
type Verdict string

// The verdicts. Only Verified means tested. If several apply, the first of this order is
// given.
const (
	Tampered Verdict = "TAMPERED"               // the log is not what was logged
	Degraded Verdict = "DEGRADED"               // the log cannot be read
	Policy   Verdict = "POLICY CHANGED"         // the matrix is not the trusted one
	Failed   Verdict = "FAILED"                 // the last word about this tree is a failure
	Flaky    Verdict = "FLAKY"                  // a pass after a failure on the same tree
	Outside  Verdict = "RAN OUTSIDE THE MATRIX" // the command ran, but not as a bound line
	Stale    Verdict = "STALE"                  // it passed on another tree
	Missing  Verdict = "MISSING"                // no gate speaks for it
	Verified Verdict = "VERIFIED"

	// Scoped is weaker than Verified, for files that no gate covers: see the package documentation.
	Scoped Verdict = "VERIFIED FOR CHANGED PATHS"
)

var gravity = []Verdict{Tampered, Degraded, Policy, Failed, Flaky, Outside, Stale, Missing}

// A Requirement is one command that must have passed.
type Requirement struct {
	Name    string // as it was asked for: "quality"
	Binding string
	Command receipts.Hash
	Dir     receipts.Datum // that the command must have run in, as in [receipts.Receipt]
	Words   string         // the command, for messages
}

// Meets reports whether r is a receipt of what q asks for. A receipt that was taken by itself, not under the binding, does not count: it
// ran in any environment, its program may have been found elsewhere, and no rules applied to runs that it started.
func (q Requirement) Meets(r *receipts.Receipt) bool {
	return r.Binding == q.Binding && r.Command == q.Command && r.Dir == q.Dir
}

// A Query asks whether a tree was tested: by any gate, or by certain records.
type Query struct {
	Tree   *receipts.Tree // the present one; of a commit, without Bytes
	NoTree string         // why there is none
	// Outside says that the question is asked outside of any project, where receipts
	// have no tree: one without is judged without.
	Outside bool
	Commit  bool           // the tree is that of a commit: only exact trees answer for it
	Place   receipts.Datum // of the project, as in [receipts.Receipt]
	Clean   bool           // all has to have run in a clean checkout, confined to it
	// ChecksTested asks that each required check, or each where nothing is required, noticed on the tree
	// of the gate what was broken on purpose.
	ChecksTested bool

	// From is the folder in which the reader of messages stands, from the root of the project, with slashes: records
	// name scripts from the root. It is empty for the root.
	From string
	// Root is the root of the project as it is named where the reader stands outside of it; empty inside.
	Root string

	Require []Requirement
	// Strict refuses a pass that came after a failure on the same tree. Otherwise the
	// result only counts the failure.
	Strict bool

	Matrix         receipts.Hash            // the digest that the gate's matrix must have; zero for any
	Policy         string                   // why the present matrix is not the trusted one; empty if it is
	Inputs         map[string]receipts.Hash // the present inputs of bindings; see [receipts.Receipt]
	Retries        map[string]bool          // names of bindings of the matrix of which a pass after a failure will do
	Env            map[string]string        // for each binding that sets variables, a digest of them: bindings that run one command with different variables are judged separately
	Session, Nonce string                   // empty for any
	After          string                   // a run: what answers has to have been recorded after it began; empty for any
	Level          int                      // the least trust level
	Kept           bool                     // a checkpoint that the verifier kept has to cover the gate: records that were cut off after that cannot be detected
	MaxAge         time.Duration
	Now            time.Time
	Fresh          bool // refuse repeated results

	// Scopes allows the answer [Scoped]; nil does not.
	Scopes *Scopes
}

// A Result is the answer to a query.
type Result struct {
	Verdict  Verdict
	Refusals []receipts.Refusal // why it is not Verified, the gravest first
	Gate     *receipts.Entry    // that it rests on, or that comes nearest
	Body     *receipts.Gate     // of Gate
	Members  []*receipts.Entry  // the receipts below Gate
	Inner    []Leaf             // those of runs that commands of Members started
	Level    int                // lowest of Gate and Members; 0 without a gate
	Ground   receipts.Ground    // the least of where Members ran
	Lowered  []string           // what members saw of the machine in spite of a clean checkout
	Setups   []string           // what was installed in the clean checkouts of members, in words
	// Kept says that a checkpoint that the verifier kept covers the gate.
	Kept bool
	// Failures, Early and OtherInputs count what else the log knows of the commands on
	// this tree: answers of no, ends before an answer, and answers of no under other
	// inputs. They are of no lower level than the query's, but for those of runs that lines started.
	Failures, Early, OtherInputs int
	// InPlace counts failures outside of a clean checkout, if the query asks about one.
	InPlace  int
	Accepted []string // who accepted failures, and why: `accepted by ann: "no network"`
	// Below counts records about this tree that were left aside for their level.
	Below  int
	below  map[int64]bool
	nested []receipts.Hash // [receipts.Gate.Nested] of the gate, and of those among the members
	// failed and early are [receipts.Gate.Failed] and Early, likewise; weighed are those that the log shows, and what their answers are.
	failed, early []receipts.Hash
	weighed       map[receipts.Hash]answer
	came          int // [receipts.Gate.Came] of the gates among the members and below them
	// Ungated are receipts that a gate made now would take, and that with it would answer
	// the query; they count for nothing before. Nil where the result is Verified.
	Ungated []*receipts.Entry
	Notes   []string // what the asker should know

	Since  int   // of Scoped: how many Members are of runs after Gate
	newest int64 // of Scoped: index of the newest gate that it rests on

	contradicted bool             // of a gate over other files than the present ones: what is known of those refuses it there
	Tested       *receipts.Tested // of Members; nil if none of them counted its tests

	// Records counts those that were authenticated: all of the log, or those of the bundle. Remembered of them are
	// answered for by the [Memory].
	Records, Remembered int64
	Checks              *Checks // of Members; nil if no check was ever tested
}

// Contradicted reports whether the gate is about other files than the present ones and would be refused on those files too. No answer for
// changed paths can rest on such a gate.
func (r *Result) Contradicted() bool { return r.contradicted }

// Verify answers a query. The error says that the log could not be read.
func (s *Session) Verify(q Query) (*Result, error) {
	r := s.anyGate(q)
	if r.Gate != nil {
		s.follow(map[receipts.Hash]*receipts.Entry{r.Gate.SHA: r.Gate})
	}
	if (r.Verdict == Stale || r.Verdict == Missing) && !r.contradicted { // a gate over the present files may be of other lines alone
		if by := s.scoped(q); by != nil {
			return s.conclude(q, by)
		}
	}
	if r.Verdict == Missing || r.Verdict == Stale || r.Verdict == Outside {
		r.Ungated = s.ungated(q)
	}
	return s.conclude(q, r)
}

// conclude replaces a result by the faults of the log that were found meanwhile.
func (s *Session) conclude(q Query, r *Result) (*Result, error) {
	if len(s.problems) > 0 {
		t := &Result{Verdict: Tampered}
		for _, p := range s.problems {
			t.Refusals = append(t.Refusals, receipts.Refusal{Reason: receipts.Tampered, SHA: p.SHA, Message: p.Message})
		}
		return t, nil
	}
	if s.err != nil {
		return nil, s.err
	}
	if r.Verdict == "" {
		r.Verdict = Verified
	}
	r.Below += len(r.below)
	r.Records, r.Remembered = s.index.len(), s.start
	if r.Gate != nil {
		r.Kept = s.keeps(max(r.Gate.Seq, r.newest))
	}
	if r.Gate != nil && len(r.Members) > 0 {
		r.Tested = s.tested(q, r.Gate, r.Members)
		if r.Body != nil {
			r.Checks = s.checks(q, r.Body, r.Members)
		}
		if len(s.problems) > 0 || s.err != nil { // what was read for it
			return s.conclude(q, r)
		}
	}
	r.Notes = append(r.Notes, s.notes...)
	if s.partial {
		r.Notes = append(r.Notes, "from a bundle: records that it leaves out, and later ones, are not known")
	}
	return r, nil
}

// keeps reports whether a checkpoint that the verifier kept covers the record at seq.
func (s *Session) keeps(seq int64) bool {
	if s.partial {
		return s.kept != nil && s.bundled[seq].Seq < s.kept.Count && !s.gaps()
	}
	return seq < s.answered || s.kept != nil && seq < s.kept.Count
}

// gaps reports whether a bundle lacks records that the kept checkpoint covers: that the log lost none says nothing of the bundle. Its records are in the
// order of the log.
func (s *Session) gaps() bool {
	n := s.kept.Count
	return n > s.index.len() || n > 0 && s.bundled[n-1].Seq != n-1
}

// mustKeep checks that a checkpoint that was kept covers the record of a result, where that is asked for.
func (s *Session) mustKeep(q Query, res *Result, name string) {
	if at := res.Gate.Seq; q.Kept && s.partial && s.kept != nil && s.bundled[at].Seq < s.kept.Count && s.gaps() {
		res.no(Missing, receipts.NotKept, res.Gate.SHA, "the bundle leaves out records that the kept checkpoint covers: export it with --since")
	} else if q.Kept && !s.keeps(at) {
		res.no(Missing, receipts.NotKept, res.Gate.SHA, "%s came after the kept checkpoint: records that were cut off the log since then leave no trace", name)
	}
}

// mustFollow checks that the record of a result and its members came after the run began that the query names.
func (s *Session) mustFollow(q Query, res *Result, name string) {
	if q.After == "" {
		return
	}
	begun, err := s.find(q.After)
	if err != nil {
		res.no(Missing, receipts.OtherRun, res.Gate.SHA, "the beginning of the run %s is not in the log", q.After)
		return
	}
	for _, m := range append(res.Leaves(), Leaf{Entry: res.Gate}) {
		if m.Seq <= begun {
			res.no(Missing, receipts.OtherRun, m.SHA, "%s includes records from before the run %s began", name, q.After)
			return
		}
	}
}

// add adds refusals of the verdict v, before those of a lesser one.
func (r *Result) add(v Verdict, list ...receipts.Refusal) {
	if r.Verdict == "" || r.Verdict == Verified || slices.Index(gravity, v) < slices.Index(gravity, r.Verdict) {
		r.Verdict = v
		r.Refusals = slices.Insert(r.Refusals, 0, list...)
		return
	}
	r.Refusals = append(r.Refusals, list...)
}

func (r *Result) no(v Verdict, reason receipts.Reason, sha receipts.Hash, format string, args ...any) {
	r.add(v, receipts.Refusal{Reason: reason, SHA: sha, Message: fmt.Sprintf(format, args...)})
}

// around adds to a judgement of a final gate what the other records of the log say about the tree.
// A query that names a gate is judged as strictly as one that does not.
func (s *Session) around(q Query, res *Result) *Result {
	s.lookAround(q, res)
	if res.Verdict == "" || res.Verdict == Stale || res.Verdict == Missing {
		s.unfinished(q, res)
	}
	return res
}

// belowText says how many gates have a lower level.
func belowText(n int) string {
	if n == 1 {
		return "the newest one is not"
	}
	return fmt.Sprintf("the newest %d are not", n)
}

// maxNear bounds how many gates about other trees are read for the one that says best what is missing. None of them can answer the query.
const maxNear = 64

// weaker reports whether the record at seq is below the level that is asked for, by the signer that it names, as each writer with a key does.
// Without it anybody who can write the store could make a question read as many records as he likes: one of each signer is read.
func (s *Session) weaker(q Query, seq int64) bool {
	by := s.index.at(seq).signer
	if q.Level <= receipts.LevelHash || by == 0 {
		return q.Level > receipts.LevelHash
	}
	if strange, known := s.strange[by]; known {
		return strange
	}
	e := s.entry(seq)
	if e == nil {
		return false
	}
	signer, below := receipts.SignerOf(body(e)), e.Level <= receipts.LevelHash
	if shortText(signer) == by { // else not of the strict form: it says nothing of others that name its signer
		below = below && !receipts.KnowsKey(s.keys, signer)
		s.strange[by] = below
	}
	return below
}

// nearest returns the newest final gate of the project under the trusted rules, or, if there
// is not one among the newest, the newest of all. below counts gates of a lower level.
func (s *Session) nearest(q Query, below *int) *receipts.Entry {
	var newest *receipts.Entry
	for seq, n := s.index.len()-1, 0; seq >= 0 && n < maxNear; seq-- {
		if m := s.index.at(seq); m.kind != kindGate || m.flags&flagFinal == 0 {
			continue
		}
		if s.weaker(q, seq) {
			*below++
			continue
		}
		e := s.entry(seq)
		if n++; e == nil {
			return nil
		}
		if e.Level < q.Level {
			*below++
			continue
		}
		if s.ofPart(e) {
			continue
		}
		g, ok := body(e).(*receipts.Gate)
		if ok && g.Place == q.Place && (q.Matrix.IsZero() || g.Matrix == q.Matrix) {
			return e
		}
		if newest == nil {
			newest = e
		}
	}
	return newest
}

// asks reports whether a requirement is about the command.
func (q Query) asks(command uint64) bool {
	return slices.ContainsFunc(q.Require, func(r Requirement) bool { return commandKey(r.Command, r.Dir, q.Place) == command })
}

// asksOf is asks for one record: a record under a binding whose variables differ from the requirement's does not count.
func (q Query) asksOf(command uint64, r *receipts.Receipt) bool {
	rules := q.bound()
	return slices.ContainsFunc(q.Require, func(need Requirement) bool {
		return commandKey(need.Command, need.Dir, q.Place) == command && (!rules.of(r) || rules.env[need.Binding] == rules.env[r.Binding])
	})
}

// bound returns what the query's rules say about bindings.
func (q Query) bound() rules { return rules{q.Retries, q.Env, q.Matrix, q.Place, q.Level} }

// An extent says how much a record has to speak for.
type extent bool

const (
	whole extent = true  // a final gate, that covers what is required
	part  extent = false // whatever it is about
)

// judge answers a query by one gate.
func (s *Session) judge(q Query, e *receipts.Entry, x extent) *Result {
	res := &Result{Gate: e, Level: e.Level, below: make(map[int64]bool)}
	id := receipts.GateID(e.SHA)
	g, ok := body(e).(*receipts.Gate)
	if !ok {
		res.no(Missing, receipts.NotReceipt, e.SHA, "%s is not a gate receipt", e.SHA.Short())
		return res
	}
	res.Body = g
	s.flatten(g, res)
	for _, m := range res.Members {
		res.Level = min(res.Level, m.Level)
	}
	res.Inner = s.inner(append(res.nested, s.since(e, res.Members, q.Level)...), res.Members, func(sha receipts.Hash) {
		res.no(Missing, receipts.Missing, sha, "the bundle leaves out %s, of a run that a line of the gate %s started", sha.Short(), id)
	}, func(b *receipts.Gate) { res.came += cameBelow(g.Tree, b) })
	// A producer's own word is never raised, only lowered.
	res.Level = min(res.Level, max(g.Level, receipts.LevelHash))

	switch {
	case len(res.Members) == 0 && res.Verdict == "":
		res.no(Missing, receipts.NotCovered, e.SHA, "the gate %s covers no command", id)
	case x == whole && !g.Final:
		res.no(Missing, receipts.NotFinal, e.SHA, "the gate %s is not final: it covers only lines %d to %d of its script", id, g.Covers.FirstLine, g.Covers.LastLine)
	}
	name := "the gate " + id
	q.identify(res, e.SHA, name, g.Session, g.Nonce, g.Timestamp.Time, g.Place)
	s.mustKeep(q, res, name)
	s.mustFollow(q, res, name)
	q.rules(res, e.SHA, name, g.Matrix)
	q.trees(g, res, id)
	s.handedExact(q, g, res)
	if x == whole {
		q.covered(res, id)
		s.checksTested(q, g, res)
	}
	q.ground(res)
	for _, m := range res.Members {
		r := receipt(m)
		if r.Place != g.Place {
			res.no(Missing, receipts.OtherPlace, m.SHA, "%s ran in another project than its gate is of", q.describe(r))
		}
		if why := s.unlike(r); why != "" {
			res.no(Missing, receipts.NotCovered, m.SHA, "%s: the gate %s that was handed back %s", q.describe(r), receipts.GateID(r.HandedBack), why)
		}
		if r.Binding != "" && r.Matrix != g.Matrix {
			res.no(Policy, receipts.OtherPolicy, m.SHA, "%s is of another matrix than its gate", q.describe(r))
		}
	}
	s.repeats(q, res)
	s.aged(q, res)
	s.last(q, res)
	s.keepsAttempts(q.Level, res, id)
	return res
}

// judgeLeaf answers a query by one receipt, as far as one receipt can.
func (s *Session) judgeLeaf(q Query, e *receipts.Entry) *Result {
	res := &Result{Gate: e, Level: e.Level, Members: []*receipts.Entry{e}, below: make(map[int64]bool)}
	r := receipt(e)
	if r == nil {
		res.no(Missing, receipts.NotReceipt, e.SHA, "%s is a record of kind %s, not a receipt", e.SHA.Short(), e.Kind)
		return res
	}
	name := "the receipt " + e.SHA.Short()
	if len(q.Require) > 0 {
		res.no(Missing, receipts.NotFinal, e.SHA, "%s is of one command, and a final gate is required: make one with `dialect gate`", name)
	}
	reason, text := e.Succeeded(r)
	if reason != "" {
		res.no(Failed, reason, e.SHA, "%s %s", name, text)
	}
	res.Inner = s.inner(s.ownRuns(e), res.Members, func(sha receipts.Hash) {
		res.no(Missing, receipts.Missing, sha, "the bundle leaves out %s, of a run that %s started", sha.Short(), name)
	}, func(b *receipts.Gate) { res.came += cameBelow(q.Tree, b) })
	if res.came > 0 {
		res.no(Stale, receipts.Inexact, e.SHA, "runs that %s started may have read %s", name, gone(nil, res.came))
	}
	q.identify(res, e.SHA, name, r.Session, r.Nonce, r.Timestamp.Time, r.Place)
	s.repeats(q, res)
	s.aged(q, res)
	s.mustKeep(q, res, name)
	s.mustFollow(q, res, name)
	q.ground(res)
	if r.Binding != "" {
		q.rules(res, e.SHA, name, r.Matrix)
	}
	if why := s.unlike(r); why != "" {
		res.no(Missing, receipts.NotCovered, e.SHA, "%s rests on the gate %s, which was handed back and %s", name, receipts.GateID(r.HandedBack), why)
	}
	w := r.Workspace
	switch {
	case q.Outside && w == nil:
	case q.Tree == nil:
		res.no(Stale, receipts.NoTree, receipts.Hash{}, "the present tree is not known: %s", q.NoTree)
	case w == nil:
		res.no(Stale, receipts.NoTree, e.SHA, "%s does not say what tree it ran on: take it without --no-tree", name)
	case !w.Before.Matches(*q.Tree) || w.After != nil && !w.After.Matches(*q.Tree):
		res.no(Stale, receipts.TreeChanged, e.SHA, "the files changed since %s", name)
	case !looked(e, r):
		res.no(Stale, receipts.TreeChanged, e.SHA, "%s %s", name, unlooked)
	}
	if reason == "" { // else it is not a pass that anything could contradict
		s.last(q, res)
	}
	return res
}

// tooLow says that a record has another level than the higher one that is asked for.
func tooLow(name string, level, has int) string {
	if level >= receipts.LevelNotary && has >= receipts.LevelKey {
		return name + " is signed with a key that counts here, but not at the level of a notary: no notary recorded it, or a command ran in the working tree, or a command could read files that its user can write"
	}
	return name + " is not signed with a key that counts here, and a signed one is asked for"
}

// identify checks where and when a record was made, and for whom.
func (q Query) identify(res *Result, sha receipts.Hash, name, session, nonce string, at time.Time, place receipts.Datum) {
	switch {
	case q.Session != "" && session != q.Session:
		res.no(Missing, receipts.OtherRun, sha, "%s is of session %s", name, session)
	case q.Nonce != "" && nonce != q.Nonce:
		res.no(Missing, receipts.OtherNonce, sha, "%s does not carry the nonce that was asked for", name)
	}
	if place != q.Place {
		res.no(Missing, receipts.OtherPlace, sha, "%s is of the project in %s, and this one is in %s", name, placeName(place), placeName(q.Place))
	}
	if res.Level < q.Level {
		res.no(Missing, receipts.LevelTooLow, sha, "%s", tooLow(name, q.Level, res.Level))
	}
	if q.MaxAge <= 0 {
		return
	}
	switch age := q.Now.Sub(at); {
	case age > q.MaxAge:
		res.no(Stale, receipts.TooOld, sha, "%s is %v old; at most %v is accepted", name, age.Round(time.Millisecond), q.MaxAge)
	case age < -time.Minute:
		res.no(Stale, receipts.TooOld, sha, "%s is dated %v in the future: a clock was changed", name, (-age).Round(time.Second))
	}
}

// counts reports whether r counts for where the query asks. If the query asks for a clean checkout, runs elsewhere count neither as
// passes nor as failures, except failures in a confined checkout that shared something with the machine.
func (q Query) counts(r *receipts.Receipt) bool {
	g, _ := r.Ground()
	return !q.Clean || g == receipts.InClean || r.Clean != nil && !r.Clean.Unconfined && (r.Failed() || r.EndedEarly())
}

// ground finds out where the members ran.
func (q Query) ground(res *Result) {
	least, said := receipts.InClean, false
	for _, m := range res.Members {
		r := receipt(m)
		g, ok := r.Ground()
		if !ok {
			continue
		}
		least, said = min(least, g), true
		var saw []string
		if r.Clean != nil {
			for _, d := range r.Clean.Lowered {
				if saw = append(saw, d.Text); !slices.Contains(res.Lowered, d.Text) {
					res.Lowered = append(res.Lowered, d.Text)
				}
			}
			if s := r.Clean.Setup; s != nil && !slices.Contains(res.Setups, s.String()) {
				res.Setups = append(res.Setups, s.String())
			}
		}
		if !q.Clean || g == receipts.InClean {
			continue
		}
		why := "ran in the working tree, and not in a clean checkout"
		switch {
		case len(saw) > 0:
			why = "ran in a clean checkout that shared " + receipts.ListPaths(saw) + " with the machine: its user can change that"
		case g == receipts.Unconfined:
			why = "ran in a clean checkout, but unconfined: absolute paths led to the machine"
		}
		res.no(Missing, receipts.NotClean, m.SHA, "%s %s", q.describe(r), why)
	}
	switch {
	case said:
		res.Ground = least
	case q.Clean:
		res.no(Missing, receipts.NotClean, receipts.Hash{}, "nothing ran in a clean checkout: built-ins look at no file")
	}
}

func placeName(d receipts.Datum) string {
	if d.IsZero() {
		return "the root of the working tree"
	}
	return d.Text
}

// rules checks the matrix of a record. A gate about other files is STALE; its matrix may
// differ as well.
func (q Query) rules(res *Result, sha receipts.Hash, name string, matrix receipts.Hash) {
	verdict := Policy
	if q.Tree == nil || !res.isOf(*q.Tree) {
		verdict = Stale
	}
	switch {
	case q.Policy != "":
		res.no(Policy, receipts.OtherPolicy, sha, "%s", q.Policy)
	case !q.Matrix.IsZero() && matrix != q.Matrix:
		res.no(verdict, receipts.OtherPolicy, sha, "%s was made under other rules: the matrix, or a file that it pins, differs", name)
	}
}

// flatten adds the receipts below a gate, in their order, those of gates among its
// members included. It keeps its own stack: how deep gates lie within gates is for the
// writers of the log to say.
func (s *Session) flatten(g *receipts.Gate, res *Result) {
	type level struct {
		left []receipts.Hash
		list map[receipts.Hash]*receipts.Entry
	}
	seen := make(map[receipts.Hash]bool)
	res.nested, res.failed = append(res.nested, g.Nested...), append(res.failed, g.Failed...)
	res.early = append(res.early, g.Early...)
	stack := []level{{g.Members, s.bySHA(g.Members...)}}
	for len(stack) > 0 && s.err == nil {
		top := &stack[len(stack)-1]
		if len(top.left) == 0 {
			stack = stack[:len(stack)-1]
			continue
		}
		sha := top.left[0]
		e := top.list[sha]
		top.left = top.left[1:]
		if seen[sha] {
			continue
		}
		seen[sha] = true
		if e == nil {
			res.no(Tampered, receipts.Missing, sha, "the member %s of the gate is not in the log", sha.Short())
			continue
		}
		switch b := body(e).(type) {
		case *receipts.Receipt:
			if reason, text := e.Succeeded(b); reason != "" {
				res.no(Tampered, reason, sha, "the member %s of the gate %s", sha.Short(), text)
			}
			res.Members = append(res.Members, e)
		case *receipts.Gate:
			res.Level = min(res.Level, e.Level)
			res.came += b.Came
			res.nested, res.failed = append(res.nested, b.Nested...), append(res.failed, b.Failed...)
			res.early = append(res.early, b.Early...)
			stack = append(stack, level{b.Members, s.bySHA(b.Members...)})
		default:
			res.no(Tampered, receipts.NotReceipt, sha, "the member %s of the gate is not a receipt", sha.Short())
		}
	}
}

// keepsAttempts refuses a gate that names attempts, on which its commands failed or were ended early, of which one is gone. In a bundle each has to be
// what the gate says, by what else the bundle has: the judgement weighed it.
func (s *Session) keepsAttempts(level int, res *Result, id string) {
	attempts := slices.Concat(res.failed, res.early)
	found, weighed := s.bySHA(attempts...), 0
	for i, sha := range attempts {
		e, own := found[sha], 0 // the level that it has without its settlement
		if e != nil {
			if own = e.Level; e.Settlement != nil {
				own = s.settled[e.Seq].level
			}
		}
		switch {
		case e == nil && s.partial:
			res.no(Missing, receipts.Missing, sha, "the bundle leaves out %s, an earlier attempt on the same files that the gate %s names", sha.Short(), id)
		case e == nil:
			res.no(Tampered, receipts.Missing, sha, "%s, an earlier attempt on the same files that the gate %s names, is not in the log", sha.Short(), id)
		case s.partial && own < level && s.index.at(e.Seq).signer != 0: // of a key that is not asked for
		case s.partial && (res.weighed[sha] == noAnswer || i < len(res.failed) && res.weighed[sha] != no):
			res.no(Missing, receipts.Missing, sha, "the bundle leaves out what shows that %s is an earlier attempt, as the gate %s says", sha.Short(), id)
		}
	}
	for _, a := range res.weighed {
		if a == no {
			weighed++
		}
	}
	if n := len(res.Body.Failed) + res.Body.FailedMore; s.partial && res.Body.FailedMore > 0 && weighed < n {
		res.no(Missing, receipts.Missing, receipts.Hash{}, "the bundle has %d of the %d failures that came before the gate %s", weighed, n, id)
	}
	if n := len(res.Body.Early) + res.Body.EarlyMore; s.partial && res.Body.EarlyMore > 0 && len(res.weighed)-weighed < n {
		res.no(Missing, receipts.Missing, receipts.Hash{}, "the bundle has %d of the %d early ends that came before the gate %s", len(res.weighed)-weighed, n, id)
	}
	if at := res.Gate.Seq; s.partial && res.Body.OtherMore > 0 && s.bundled[at].Seq != at {
		res.no(Missing, receipts.Missing, receipts.Hash{}, "the gate %s does not name %d attempts that other keys may have signed, and the bundle leaves out records that came before it: export it with --since", id, res.Body.OtherMore)
	}
}

// trees compares the tree of the gate, and that of each member, with the one that is
// asked about.
func (q Query) trees(g *receipts.Gate, res *Result, id string) {
	none := receipts.Hash{}
	switch {
	case q.Tree == nil:
		res.no(Stale, receipts.NoTree, none, "the present tree is not known: %s", q.NoTree)
		return
	case g.Tree == nil:
		res.no(Stale, receipts.NoTree, none, "the gate %s does not say what tree it is about", id)
		return
	case q.Commit && g.Tree.Tree == "":
		res.no(Stale, receipts.NoTree, none, "the gate %s has no tree of git to compare the commit with: git did not answer when it was made, or there was no repository", id)
		return
	case !g.Tree.Matches(*q.Tree):
		if q.Commit {
			res.no(Stale, receipts.TreeChanged, none, "the commit has other files than the gate %s is about", id)
		} else {
			res.no(Stale, receipts.TreeChanged, none, "the files changed since the gate %s", id)
		}
		return
	case g.Came+res.came > 0 && (g.Tree.Exact || !q.Commit):
		res.no(Stale, receipts.Inexact, none, "lines of the gate %s may have read %s", id, gone(g, g.Came+res.came))
	case q.Commit && !g.Tree.Exact:
		res.no(Stale, receipts.Inexact, none, "the gate %s tested other files than a clone of the commit has: %s", id, beyond(g))
	case q.Commit:
		// A gate over receipts of others knows the files at its own time alone.
		for _, m := range res.Members {
			if !receipt(m).Workspace.ExactOn(*g.Tree) {
				res.no(Stale, receipts.Inexact, m.SHA, "%s ran on other files than a clone of the commit has", q.describe(receipt(m)))
			}
		}
	}
	final := make(map[line]int64) // the last pass of each command on the files of the gate: a script may check, write, and check again
	for _, m := range res.Members {
		if r := receipt(m); r.Workspace != nil && r.Workspace.Held().Matches(*g.Tree) {
			final[lineOf(r)] = max(final[lineOf(r)], m.Seq)
		}
	}
	changed := "" // the last line that changed the tree, and what
	for i := len(res.Members) - 1; i >= 0; i-- {
		m := res.Members[i]
		r := receipt(m)
		w := r.Workspace
		if w == nil {
			if q.needs(r) {
				res.no(Stale, receipts.NoTree, m.SHA, "%s does not say what tree it ran on", q.describe(r))
			}
			continue
		}
		held := w.Held()
		switch {
		case held.Matches(*g.Tree) || final[lineOf(r)] > m.Seq:
		case q.needs(r):
			by := changed
			if by == "" {
				by = "the files changed since it ran"
			}
			res.no(Stale, receipts.TreeChanged, m.SHA, "%s ran on another tree: %s", q.describe(r), by)
		case changed != "":
			res.Notes = append(res.Notes, fmt.Sprintf("%s passed on other files and did not run on the present ones: %s", q.describe(r), changed))
		}
		if len(w.Changed) > 0 {
			res.Notes = append(res.Notes, fmt.Sprintf("files changed while %s ran: its pass is about the files as they were afterwards", q.describe(r)))
			paths := make([]string, len(w.Changed))
			for i, p := range w.Changed {
				paths[i] = p.Text
			}
			changed = fmt.Sprintf("%s changed %s after it", q.describe(r), receipts.ListPaths(paths))
		}
	}
}

// needs reports whether the member r has to be of the present tree: what is required,
// or, if nothing is, what changed no file.
func (q Query) needs(r *receipts.Receipt) bool {
	if len(q.Require) > 0 {
		return q.asksOf(commandKey(r.Command, r.Dir, r.Place), r)
	}
	w := r.Workspace
	return w == nil || w.After == nil || w.After.SameFiles(w.Before)
}

// covered compares the members with the requirements.
func (q Query) covered(res *Result, id string) {
	for _, need := range q.Require {
		var other, bare *receipts.Receipt
		met := slices.ContainsFunc(res.Members, func(m *receipts.Entry) bool {
			r := receipt(m)
			switch {
			case need.Meets(r):
				return true
			case r.Binding == need.Binding:
				other = r
			case r.Binding == "" && r.Command == need.Command:
				bare = r
			}
			return false
		})
		switch {
		case met:
		case other != nil:
			res.no(Missing, receipts.CommandDiffers, receipts.Hash{}, "%s: the gate %s covers it by another command: %s, not %s", need.Binding, id, other, need.Words)
		case bare != nil:
			res.no(Missing, receipts.NotCovered, receipts.Hash{}, "%s: the gate %s covers the same command, but not under this binding; run it with `dialect exec --as %s`", need.Binding, id, need.Binding)
		default:
			res.no(Missing, receipts.NotCovered, receipts.Hash{}, "%s: the gate %s does not cover it (%s)", need.Binding, id, need.Words)
		}
	}
}

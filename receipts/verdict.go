package receipts

import (
	"fmt"
	"slices"
	"time"
)

// A Verdict answers the question whether a tree was tested.
type Verdict string

// The verdicts, the gravest first.
const (
	VerdictTampered Verdict = "TAMPERED"               // the store is not what was logged
	VerdictDegraded Verdict = "DEGRADED"               // the store cannot be read
	VerdictPolicy   Verdict = "POLICY CHANGED"         // the matrix is not the trusted one
	VerdictFailed   Verdict = "FAILED"                 // the last word about this tree is a failure
	VerdictFlaky    Verdict = "FLAKY"                  // a pass after a failure on the same tree
	VerdictOutside  Verdict = "RAN OUTSIDE THE MATRIX" // the command ran, but not as a bound line
	VerdictStale    Verdict = "STALE"                  // it passed on another tree
	VerdictMissing  Verdict = "MISSING"                // no gate speaks for it
	Verified        Verdict = "VERIFIED"
)

var gravity = []Verdict{VerdictTampered, VerdictDegraded, VerdictPolicy, VerdictFailed, VerdictFlaky, VerdictOutside, VerdictStale, VerdictMissing}

// A Requirement is one command that must have passed.
type Requirement struct {
	Name    string // as it was asked for: "quality"
	Binding string
	Command Hash
	Dir     Datum  // that the command must have run in, as in [Receipt]
	Words   string // the command, for messages
	Flaky   bool   // a pass after a failure will do
}

// An Inquiry asks whether a tree was tested: by any gate, or by a certain one.
type Inquiry struct {
	Tree    *Tree // the present one; of a commit, without Bytes
	NoTree  string
	Require []Requirement

	Gate           Hash   // the gate to judge; zero for any
	Matrix         Hash   // the digest that the gate's matrix must have; zero for any
	Policy         string // why the present matrix is not the trusted one; empty if it is
	Session, Nonce string // empty for any
	Level          int    // the least trust level
	MaxAge         time.Duration
	Now            time.Time
	Fresh          bool // refuse repeated results
}

// A Book looks up what an inquiry needs, in one moment of a store.
type Book interface {
	View
	// Gates returns final gates, the newest first.
	Gates(limit int) ([]Entry, error)
	// OnTree returns receipts of commands that ran on a tree, in the order of the log.
	OnTree(t Tree) ([]Entry, error)
	// Before returns the receipt of a binding before that at seq, if there is one.
	Before(binding string, seq int64) (Entry, bool, error)
}

// An Answer is that to an inquiry.
type Answer struct {
	Verdict  Verdict
	Refusals []Refusal // why it is not Verified, the gravest first
	Gate     *Entry    // that it rests on, or that comes nearest
	Body     *Gate     // of Gate
	Members  []Entry   // the receipts below Gate
	Level    int       // lowest of Gate and Members; 0 without a gate
	Notes    []string  // what whoever asks should know
}

// maxGates bounds how many gates an inquiry looks at, the newest first.
const maxGates = 200

// Ask answers an inquiry. The error is the book's.
func Ask(in Inquiry, b Book) (*Answer, error) {
	if !in.Gate.IsZero() {
		e, ok, err := b.Record(in.Gate)
		if err != nil {
			return nil, err
		}
		if !ok {
			return &Answer{Verdict: VerdictMissing, Refusals: []Refusal{{Reason: Missing, SHA: in.Gate, Message: "there is no gate " + GateID(in.Gate)}}}, nil
		}
		return judge(in, e, b)
	}
	gates, err := b.Gates(maxGates)
	if err != nil {
		return nil, err
	}
	var best *Answer
	for _, e := range gates {
		// Of gates about other trees the newest is enough to say what is wrong.
		if best != nil && !in.isGateOf(e) {
			continue
		}
		a, err := judge(in, e, b)
		if err != nil {
			return nil, err
		}
		if a.Verdict == Verified {
			return a, nil
		}
		// The newest of this tree says most about what is wrong; else the newest.
		if best == nil || in.isOf(a) && !in.isOf(best) {
			best = a
		}
	}
	if best == nil {
		best = &Answer{Verdict: VerdictMissing}
		best.add(VerdictMissing, Refusal{Reason: Missing, Message: "no run has ended in a gate here"})
	}
	if in.Policy != "" && best.Verdict != VerdictPolicy {
		best.add(VerdictPolicy, Refusal{Reason: OtherPolicy, Message: in.Policy})
	}
	return best, lookAround(in, best, b)
}

// isGateOf reports whether e is a gate about the tree of the inquiry.
func (in Inquiry) isGateOf(e Entry) bool {
	v, _ := e.Parse()
	g, ok := v.(*Gate)
	return ok && in.isOf(&Answer{Body: g})
}

// isOf reports whether the gate of a is about the tree of the inquiry.
func (in Inquiry) isOf(a *Answer) bool {
	return in.Tree != nil && a.Body != nil && a.Body.Tree != nil && a.Body.Tree.Is(*in.Tree)
}

func (a *Answer) add(v Verdict, r Refusal) {
	if a.Verdict == "" || slices.Index(gravity, v) < slices.Index(gravity, a.Verdict) {
		a.Verdict = v
		a.Refusals = slices.Insert(a.Refusals, 0, r)
		return
	}
	a.Refusals = append(a.Refusals, r)
}

// lookAround looks for what failed on this tree, and for what ran outside of the
// matrix, where no gate answers the inquiry.
func lookAround(in Inquiry, a *Answer, b Book) error {
	if in.Tree == nil {
		return nil
	}
	on, err := b.OnTree(*in.Tree)
	if err != nil {
		return err
	}
	last := make(map[Hash]Entry)
	for _, e := range on {
		if r, _ := e.receipt(); r != nil && (r.Status == Succeeded || r.Failed()) {
			last[r.Command] = e
		}
	}
	for _, e := range on {
		r, _ := e.receipt()
		if r == nil || last[r.Command].SHA != e.SHA || r.Status != StatusFailed || !in.about(r) {
			continue
		}
		a.add(VerdictFailed, Refusal{Reason: NotSucceeded, SHA: e.SHA, Line: r.Line.Number, Step: r.Step,
			Message: fmt.Sprintf("%s failed on this tree, receipt %s", describe(r), e.SHA.Short())})
	}
	for _, q := range in.Require {
		e, ok := last[q.Command]
		if !ok {
			continue
		}
		r, _ := e.receipt()
		if r.Binding == "" && r.Status == Succeeded && q.Meets(r) {
			a.add(VerdictOutside, Refusal{Reason: Outside, SHA: e.SHA,
				Message: fmt.Sprintf("%s ran on this tree, but not as a line of a script: receipt %s; run the script, or `dialect gate` the receipt", q.Words, e.SHA.Short())})
		}
	}
	return nil
}

// about reports whether the inquiry is about r: all of it, if nothing is required.
func (in Inquiry) about(r *Receipt) bool {
	return len(in.Require) == 0 && r.Binding != "" ||
		slices.ContainsFunc(in.Require, func(q Requirement) bool { return q.Command == r.Command })
}

func describe(r *Receipt) string {
	if r.Binding == "" {
		return r.String()
	}
	return fmt.Sprintf("line %d (%s)", r.Line.Number, r.Line.Text.Text)
}

// judge answers an inquiry by one gate.
func judge(in Inquiry, e Entry, b Book) (*Answer, error) {
	e.remember()
	a := &Answer{Gate: &e, Level: e.Level}
	no := func(v Verdict, reason Reason, sha Hash, format string, args ...any) {
		a.add(v, Refusal{Reason: reason, SHA: sha, Message: fmt.Sprintf(format, args...)})
	}
	id := GateID(e.SHA)
	if reason, text := Intact(e); reason != "" {
		no(VerdictTampered, reason, e.SHA, "the gate %s %s", id, text)
		return a, nil
	}
	v, err := e.Parse()
	g, ok := v.(*Gate)
	if err != nil || !ok {
		no(VerdictMissing, NotReceipt, e.SHA, "%s is no gate receipt", e.SHA.Short())
		return a, nil
	}
	a.Body = g
	if a.Members, err = flatten(g, b, a, make(map[Hash]bool)); err != nil {
		return nil, err
	}
	for _, m := range a.Members {
		a.Level = min(a.Level, m.Level)
	}
	// A producer's own word is never raised, only lowered.
	a.Level = min(a.Level, max(g.Level, LevelHash))

	switch {
	case len(a.Members) == 0 && a.Verdict == "":
		no(VerdictMissing, NotCovered, e.SHA, "the gate %s covers no command", id)
	case !g.Final:
		no(VerdictMissing, NotFinal, e.SHA, "the gate %s is not final: it speaks for lines %d to %d of its script alone", id, g.Covers.FirstLine, g.Covers.LastLine)
	case in.Session != "" && g.Session != in.Session:
		no(VerdictMissing, OtherRun, e.SHA, "the gate %s is of session %s", id, g.Session)
	case in.Nonce != "" && g.Nonce != in.Nonce:
		no(VerdictMissing, OtherNonce, e.SHA, "the gate %s does not carry the nonce that was asked for", id)
	}
	if in.Level > a.Level {
		no(VerdictMissing, LevelTooLow, e.SHA, "the gate %s has trust level L%d, and L%d is asked for", id, a.Level, in.Level)
	}
	if in.Policy != "" {
		no(VerdictPolicy, OtherPolicy, e.SHA, "%s", in.Policy)
	} else if !in.Matrix.IsZero() && g.Matrix != in.Matrix {
		no(VerdictPolicy, OtherPolicy, e.SHA, "the gate %s is of another matrix than the present one", id)
	}
	in.holdAge(g, id, no)
	in.holdTrees(g, a, id, no)
	in.holdCover(a, id, no)
	if err := in.holdHistory(a, b, no); err != nil {
		return nil, err
	}
	if a.Verdict == "" {
		a.Verdict = Verified
	}
	return a, nil
}

type refuser func(v Verdict, reason Reason, sha Hash, format string, args ...any)

// flatten returns the receipts below a gate, in their order, those of gates among
// its members included.
func flatten(g *Gate, b Book, a *Answer, seen map[Hash]bool) ([]Entry, error) {
	var list []Entry
	for _, sha := range g.Members {
		if seen[sha] {
			continue
		}
		seen[sha] = true
		e, ok, err := b.Record(sha)
		if err != nil {
			return nil, err
		}
		if !ok {
			a.add(VerdictTampered, Refusal{Reason: Missing, SHA: sha, Message: fmt.Sprintf("the member %s of the gate is not in the store", sha.Short())})
			continue
		}
		if reason, text := Intact(e); reason != "" {
			a.add(VerdictTampered, Refusal{Reason: reason, SHA: sha, Message: fmt.Sprintf("the member %s of the gate %s", sha.Short(), text)})
			continue
		}
		e.remember()
		v, err := e.Parse()
		switch body := v.(type) {
		case *Receipt:
			if reason, text := e.succeeded(body); reason != "" {
				a.add(VerdictTampered, Refusal{Reason: reason, SHA: sha, Message: fmt.Sprintf("the member %s of the gate %s", sha.Short(), text)})
			}
			list = append(list, e)
		case *Gate:
			a.Level = min(a.Level, e.Level)
			below, err := flatten(body, b, a, seen)
			if err != nil {
				return nil, err
			}
			list = append(list, below...)
		default:
			a.add(VerdictTampered, Refusal{Reason: NotReceipt, SHA: sha, Message: fmt.Sprintf("the member %s of the gate is no receipt (%v)", sha.Short(), err)})
		}
	}
	return list, nil
}

func (in Inquiry) holdAge(g *Gate, id string, no refuser) {
	if in.MaxAge <= 0 {
		return
	}
	switch age := in.Now.Sub(g.Timestamp.Time); {
	case age > in.MaxAge:
		no(VerdictStale, TooOld, Hash{}, "the gate %s is %v old, and %v is the most", id, age.Round(time.Second), in.MaxAge)
	case age < -time.Minute:
		no(VerdictStale, TooOld, Hash{}, "the gate %s is of %v in the future: a clock was set", id, (-age).Round(time.Second))
	}
}

// holdTrees holds the tree of the gate, and that of each member, against the one
// that the inquiry is about.
func (in Inquiry) holdTrees(g *Gate, a *Answer, id string, no refuser) {
	switch {
	case in.Tree == nil:
		no(VerdictStale, NoTree, Hash{}, "the present tree is not known: %s", in.NoTree)
		return
	case g.Tree == nil:
		no(VerdictStale, NoTree, Hash{}, "the gate %s does not say what tree it is about", id)
		return
	case !g.Tree.Is(*in.Tree):
		no(VerdictStale, TreeChanged, Hash{}, "the tree is not the one that the gate %s is about", id)
		return
	}
	changed := "" // the last line that changed the tree, and what
	for i := len(a.Members) - 1; i >= 0; i-- {
		m := a.Members[i]
		r, _ := m.receipt()
		w := r.Workspace
		if w == nil {
			if in.needs(r) {
				no(VerdictStale, NoTree, m.SHA, "%s does not say what tree it ran on", describe(r))
			}
			continue
		}
		held := w.Held()
		now := held.Is(*g.Tree) || slices.Contains(g.Also, held.Bytes) && !held.Bytes.IsZero()
		if !now && in.needs(r) {
			by := changed
			if by == "" {
				by = "the files changed since it ran"
			}
			no(VerdictStale, TreeChanged, m.SHA, "%s ran on another tree: %s", describe(r), by)
		}
		if len(w.Changed) > 0 {
			paths := make([]string, len(w.Changed))
			for i, p := range w.Changed {
				paths[i] = p.Text
			}
			changed = fmt.Sprintf("%s changed %s after it", describe(r), listPaths(paths))
		}
	}
}

// needs reports whether the inquiry needs the member r to be of the present tree:
// what is required, or, if nothing is, what only reads.
func (in Inquiry) needs(r *Receipt) bool {
	if len(in.Require) > 0 {
		return in.about(r)
	}
	return r.Workspace == nil || r.Workspace.After == nil
}

// Meets reports whether r is a receipt of what q asks for. One that was not taken as
// a line, and gated all the same, counts by its command.
func (q Requirement) Meets(r *Receipt) bool {
	return (r.Binding == q.Binding || r.Binding == "") && r.Command == q.Command && r.Dir == q.Dir
}

// holdCover holds the members against the requirements.
func (in Inquiry) holdCover(a *Answer, id string, no refuser) {
	for _, q := range in.Require {
		var other *Receipt
		covered := slices.ContainsFunc(a.Members, func(m Entry) bool {
			r, _ := m.receipt()
			if r.Binding == q.Binding && !q.Meets(r) {
				other = r
			}
			return q.Meets(r)
		})
		switch {
		case covered:
		case other != nil:
			no(VerdictMissing, CommandDiffers, Hash{}, "%s: the gate %s covers it by another command: %s, not %s", q.Binding, id, other, q.Words)
		default:
			no(VerdictMissing, NotCovered, Hash{}, "%s: the gate %s does not cover it (%s)", q.Binding, id, q.Words)
		}
	}
}

// holdHistory holds each member against what else is known of its command.
func (in Inquiry) holdHistory(a *Answer, b Book, no refuser) error {
	for _, m := range a.Members {
		r, _ := m.receipt()
		if r.Binding != "" && r.Matrix != a.Body.Matrix {
			no(VerdictPolicy, OtherPolicy, m.SHA, "%s is of another matrix than its gate", describe(r))
		}
		if in.Fresh && !r.Reused.IsZero() {
			no(VerdictMissing, ReusedResult, m.SHA, "%s repeats the result of %s", describe(r), r.Reused.Short())
		}
		if err := executableNote(a, m, r, b); err != nil {
			return err
		}
		if r.Workspace == nil {
			continue
		}
		failures, err := b.Failures(r)
		if err != nil {
			return err
		}
		flaky := slices.ContainsFunc(in.Require, func(q Requirement) bool { return q.Binding == r.Binding && q.Flaky }) || r.Attempt > 1
		for _, f := range failures {
			switch {
			case f.Seq > m.Seq:
				no(VerdictFailed, Superseded, f.SHA, "%s failed on this tree after it had passed, receipt %s", describe(r), f.SHA.Short())
			case !flaky:
				no(VerdictFlaky, FlakyPass, f.SHA, "%s passed on this tree only after it had failed on it, receipt %s", describe(r), f.SHA.Short())
			}
		}
	}
	return nil
}

// executableNote says that the executable of a binding is another one than before.
func executableNote(a *Answer, m Entry, r *Receipt, b Book) error {
	if r.Binding == "" || r.Executable == nil || r.Executable.SHA256.IsZero() {
		return nil
	}
	e, ok, err := b.Before(r.Binding, m.Seq)
	if err != nil || !ok {
		return err
	}
	p, _ := e.receipt()
	if p == nil || p.Executable == nil || p.Executable.SHA256.IsZero() || p.Executable.SHA256 == r.Executable.SHA256 {
		return nil
	}
	where := r.Executable.Path.Text
	if p.Executable.Path != r.Executable.Path {
		where = p.Executable.Path.Text + ", now " + where
	}
	a.Notes = append(a.Notes, fmt.Sprintf("the executable of %s changed since %s: %s", r.Binding, p.Timestamp.Format(time.DateTime), where))
	return nil
}

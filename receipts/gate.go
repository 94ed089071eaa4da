package receipts

import (
	"fmt"
	"slices"
	"strings"
)

// A Reason says why a receipt was refused.
type Reason string

// The reasons.
const (
	Missing        Reason = "missing"         // no such record
	Tampered       Reason = "tampered"        // the record's bytes are not those that its hash names
	NotInLog       Reason = "not_in_log"      // a row that the log does not hold
	NotReceipt     Reason = "not_a_receipt"   // a record of another kind
	OtherRun       Reason = "other_run"       // of another run or session
	OtherNonce     Reason = "other_nonce"     // not of the orchestrator's nonce
	NotTerminal    Reason = "not_terminal"    // pending
	NotSucceeded   Reason = "not_succeeded"   // failed or not configured
	Consumed       Reason = "consumed"        // already
	CommandDiffers Reason = "command_differs" // not the command of the plan
	TreeChanged    Reason = "tree_changed"    // the files are not those that it ran on
	Degraded       Reason = "degraded"        // no store
	Repeated       Reason = "repeated"        // named twice in one request
	Superseded     Reason = "superseded"      // the same command failed later, on the same tree
	FlakyPass      Reason = "flaky"           // the same command failed before, on the same tree
	NoTree         Reason = "no_tree"         // what it ran on is not known
	OtherPolicy    Reason = "policy_changed"  // the matrix is not the trusted one
	NotFinal       Reason = "not_final"       // a gate over a part of a script
	NotCovered     Reason = "not_covered"     // a requirement that no member meets
	Outside        Reason = "outside_matrix"  // the command ran, but not as a bound line
	ReusedResult   Reason = "reused"          // a fresh result was asked for
	TooOld         Reason = "too_old"         // or of the future
	LevelTooLow    Reason = "level_too_low"   // not signed by a known key
	Spent          Reason = "spent"           // in the ledger of the consumer
)

// A Refusal is one reason why a gate, a validation or a consumption said no.
type Refusal struct {
	Reason  Reason
	SHA     Hash   // zero if there is none
	Step    string // of the plan; empty outside a run
	Line    int
	Message string // what is wrong, and with what
}

func (r Refusal) Error() string { return r.Message }

// An Expectation is what a gate expects of one command of a plan.
type Expectation struct {
	SHA      Hash // of its receipt, or of an earlier gate; zero if none was taken
	Step     string
	Line     int
	Binding  string
	Argv     []string // empty where any command will do
	Required bool
	Gate     bool // SHA names an earlier gate of the same run

	Tree    *Tree    // that it must have run on; nil where none was taken
	Changed []string // paths that changed under it since
	Flaky   bool     // a pass after a failure will do
}

// A GateRequest asks for a gate.
type GateRequest struct {
	Run, Session, Nonce string
	At                  Time
	Final, Part         bool
	Script, Matrix      Hash
	Covers              Covers
	Expect              []Expectation

	Policy      string // see [Gate]
	Tree        *Tree  // at the gate; nil where none is taken
	Place       Datum  // as in [Gate]
	Also        []Hash
	Parent      string
	AcceptFlaky string // why passes after failures are accepted; empty: they are not
	By          string // who accepts
	AnyRun      bool   // the receipts may be of any run, but all of Tree
	AnySession  bool   // and of any session
}

// A Decision is the answer to a gate, a validation or a consumption. It passed if
// it has no refusals; otherwise nothing was changed.
type Decision struct {
	Refusals []Refusal
	Records  []Entry // that were asked about and found
	Gate     Hash    // of the gate receipt, if a gate passed
	Level    int     // lowest trust level of the records
	Reused   int     // of them, those that repeat an earlier result
	Nested   []Hash  // gates of nested runs, to be consumed too
	Accepted []Hash  // failures that the request accepts
}

// Passed reports whether nothing was refused.
func (d Decision) Passed() bool { return len(d.Refusals) == 0 }

// An Entry is a record as a store holds it.
type Entry struct {
	Record
	Seq         int64 // index in the log, 0-based
	SHA         Hash  // under which the store knows it
	Signature   Signature
	Level       int    // trust level, under the keys that the store was opened with
	Key         string // name of the key that signed it; empty if none of those did
	InLog       bool   // the log's leaf at Seq is that of the record
	Consumption *ConsumedBy
	Settlement  *Settlement // of a receipt that was pending
}

// Settle attaches the settlement that the record s is to e, which has no higher level
// then than s: whoever settles vouches for how it ended.
func (e *Entry) Settle(s Entry) {
	if reason, _ := Intact(s); reason != "" {
		return
	}
	v, _ := s.Parse()
	if t, ok := v.(*Settlement); ok && t.Receipt == e.SHA {
		e.Settlement = t
		if s.Level < e.Level {
			e.Level, e.Key = s.Level, s.Key
		}
	}
}

// A ConsumedBy says who consumed a record.
type ConsumedBy struct {
	By   string
	At   Time
	Seq  int64 // of the consumption's record
	Gate bool  // By is the hash of a gate receipt
}

// Who names the consumer for people.
func (c *ConsumedBy) Who() string {
	if c.Gate {
		if h, err := ParseHash(c.By); err == nil {
			return GateID(h)
		}
	}
	return c.By
}

// A View looks records up for a decision, inside one transaction.
type View interface {
	// Record returns the record with the hash sha.
	Record(sha Hash) (e Entry, ok bool, err error)
	// Failures returns the receipts that say that the command of r failed on the
	// tree, with the executable and in the environment of r, those apart that
	// somebody of no lower level has accepted, in the order of the log. A command
	// that could not be completed did not fail.
	Failures(r *Receipt) ([]Entry, error)
	// Nested returns the unconsumed final gates of runs that steps of run started.
	Nested(run string) ([]Entry, error)
}

// Decide holds the receipts of a gate request against what is expected, and
// returns what is to be consumed. It changes nothing: whoever calls it consumes,
// in the same transaction, if nothing is refused. The error is the view's.
func Decide(g GateRequest, view View) (Decision, []Hash, error) {
	var d Decision
	var members []Hash
	seen := make(map[Hash]bool, len(g.Expect))
	first := true
	for _, x := range g.Expect {
		name := "step " + x.Step
		if x.Binding != "" {
			name += " (" + x.Binding + ")"
		}
		if x.Step == "" {
			name = "the request"
		}
		if x.SHA.IsZero() {
			if x.Required {
				d.refuse(x, Missing, "%s left no receipt, and one is required", name)
			}
			continue
		}
		if seen[x.SHA] {
			d.refuse(x, Repeated, "%s: the receipt %s stands for another step too", name, x.SHA.Short())
			continue
		}
		seen[x.SHA] = true
		e, ok, err := view.Record(x.SHA)
		if err != nil {
			return Decision{}, nil, err
		}
		if !ok {
			d.refuse(x, Missing, "%s: the store has no receipt %s", name, x.SHA.Short())
			continue
		}
		e.remember()
		d.Records = append(d.Records, e)
		if first || e.Level < d.Level {
			d.Level, first = e.Level, false
		}
		reason, text := g.hold(x, e)
		if reason == "" {
			reason, text, err = g.lastWord(x, e, view, &d)
			if err != nil {
				return Decision{}, nil, err
			}
		}
		if reason != "" {
			d.refuse(x, reason, "%s: the receipt %s %s", name, x.SHA.Short(), text)
			continue
		}
		if r, _ := e.receipt(); r != nil && !r.Reused.IsZero() {
			d.Reused++
		}
		members = append(members, x.SHA)
	}
	if d.Passed() {
		nested, err := view.Nested(g.Run)
		if err != nil {
			return Decision{}, nil, err
		}
		for _, e := range nested {
			if reason, _ := Intact(e); reason == "" && len(d.Nested) < MaxMembers/4 {
				d.Nested = append(d.Nested, e.SHA)
			}
		}
	}
	return d, members, nil
}

// remember parses the body of e once for all who ask later. What cannot be parsed says
// so each time.
func (e *Entry) remember() {
	if v, err := e.Parse(); err == nil {
		e.made, _ = v.(body)
	}
}

// receipt returns the body of e if it is a receipt's, else nil.
func (e Entry) receipt() (*Receipt, error) {
	v, err := e.Parse()
	r, _ := v.(*Receipt)
	return r, err
}

// lastWord returns why the pass e does not count: a failure of the same command on
// the same tree came after it, or before it. Otherwise whoever runs a check often
// enough would have it pass.
func (g GateRequest) lastWord(x Expectation, e Entry, view View, d *Decision) (Reason, string, error) {
	r, err := e.receipt()
	if r == nil || err != nil || r.Workspace == nil {
		return "", "", nil
	}
	failures, err := view.Failures(r)
	if err != nil {
		return "", "", err
	}
	for _, f := range failures {
		if f.Seq > e.Seq {
			return Superseded, fmt.Sprintf("is superseded: the same command failed on the same tree later, receipt %s", f.SHA.Short()), nil
		}
	}
	if len(failures) == 0 || x.Flaky {
		return "", "", nil
	}
	if g.AcceptFlaky != "" {
		for _, f := range failures {
			if !slices.Contains(d.Accepted, f.SHA) {
				d.Accepted = append(d.Accepted, f.SHA)
			}
		}
		return "", "", nil
	}
	f := failures[len(failures)-1]
	return FlakyPass, fmt.Sprintf("is flaky: the same command failed on the same tree before, receipt %s; change what is wrong, give the binding `retries`, or accept it with --accept-flaky REASON", f.SHA.Short()), nil
}

func (d *Decision) refuse(x Expectation, reason Reason, format string, args ...any) {
	d.Refusals = append(d.Refusals, Refusal{
		Reason: reason, SHA: x.SHA, Step: x.Step, Line: x.Line, Message: fmt.Sprintf(format, args...),
	})
}

// hold returns why the entry e is not what x expects; an empty reason if it is.
func (g GateRequest) hold(x Expectation, e Entry) (Reason, string) {
	reason, text := Intact(e)
	if reason != "" {
		return reason, text
	}
	v, err := e.Parse()
	if err != nil {
		return Tampered, "cannot be read: " + err.Error()
	}
	var run, session, nonce string
	switch b := v.(type) {
	case *Receipt:
		if x.Gate {
			return NotReceipt, "is no gate receipt"
		}
		run, session, nonce = b.Run, b.Session, b.Nonce
		if reason, text := e.succeeded(b); reason != "" {
			return reason, text
		}
		if len(x.Argv) > 0 && b.Command != CommandHash(x.Argv) {
			return CommandDiffers, fmt.Sprintf("is of another command: %s", b)
		}
		if g.AnyRun && b.Binding != "" && b.Matrix != g.Matrix {
			return OtherPolicy, "is of another matrix than the present one"
		}
		if reason, text := g.holdTree(x, b); reason != "" {
			return reason, text
		}
	case *Gate:
		if !x.Gate {
			return NotReceipt, "is a gate receipt"
		}
		run, session, nonce = b.Run, b.Session, b.Nonce
	default:
		return NotReceipt, fmt.Sprintf("is a record of kind %s", e.Kind)
	}
	switch {
	case !g.AnyRun && run != g.Run, session != g.Session && !g.AnySession:
		return OtherRun, fmt.Sprintf("is of run %s in session %s", run, session)
	case nonce != g.Nonce && !(g.AnyRun && g.Nonce == ""):
		return OtherNonce, "does not carry the nonce of this run"
	case e.Consumption != nil:
		return Consumed, fmt.Sprintf("was consumed by %s at %s", e.Consumption.Who(), e.Consumption.At)
	}
	return "", ""
}

// succeeded returns why the receipt of e says of no success.
func (e Entry) succeeded(r *Receipt) (Reason, string) {
	status := r.Status
	if status == Pending && e.Settlement != nil {
		status = e.Settlement.Status
	}
	switch status {
	case Succeeded:
		return "", ""
	case Pending:
		return NotTerminal, "is pending: settle it before it can pass a gate"
	}
	return NotSucceeded, fmt.Sprintf("says %s; a receipt of a failure is never consumed", status)
}

// holdTree returns why the tree that a command ran on is not the expected one.
func (g GateRequest) holdTree(x Expectation, r *Receipt) (Reason, string) {
	w := r.Workspace
	switch {
	case len(x.Changed) > 0:
		return TreeChanged, "does not speak for the files as they are: " + listPaths(x.Changed) + " changed since it began; what tools write belongs into a tracked .gitignore"
	case x.Tree != nil && (w == nil || !w.Before.Is(*x.Tree)):
		return TreeChanged, "is of another tree than the run's"
	case !g.AnyRun:
		return "", ""
	case g.Tree == nil || w == nil:
		return NoTree, "does not say what tree it ran on: take it without --no-tree"
	case !w.Before.Is(*g.Tree):
		return TreeChanged, "is of another tree than the present one: run it again"
	case w.After != nil && !w.After.Is(*g.Tree):
		return TreeChanged, "is of a command that changed the tree: run it again"
	}
	return "", ""
}

// Is reports whether t and o are the same state of the files, as far as both say.
func (t Tree) Is(o Tree) bool {
	switch {
	case t.Bytes.IsZero() || o.Bytes.IsZero():
		return t.Tree != "" && t.Tree == o.Tree
	case t.Bytes != o.Bytes:
		return false
	}
	return t.Tree == o.Tree || t.Tree == "" || o.Tree == ""
}

// listPaths renders some of paths for a message.
func listPaths(paths []string) string {
	const most = 5
	text := strings.Join(paths[:min(len(paths), most)], ", ")
	if n := len(paths) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// Intact holds an entry against its own hash and the log.
func Intact(e Entry) (Reason, string) {
	switch {
	case e.Record.SHA() != e.SHA:
		return Tampered, "was tampered with: its bytes do not have the hash that names it"
	case !e.InLog:
		return NotInLog, "is not in the log"
	}
	return "", ""
}

// Body returns the gate receipt of a request that was granted with decision d.
func (g GateRequest) Body(members []Hash, d *Decision) *Gate {
	required := 0
	for _, x := range g.Expect {
		if x.Required {
			required++
		}
	}
	if members == nil {
		members = []Hash{}
	}
	policy := g.Policy
	if policy == "" {
		policy = PolicyUnpinned
	}
	return &Gate{
		Version: 1, Run: g.Run, Session: g.Session, Timestamp: g.At, Nonce: g.Nonce,
		Final: g.Final && !g.Part, Part: g.Part, Script: g.Script, Matrix: g.Matrix, Covers: g.Covers,
		Members: members, Required: required, Reused: d.Reused, Level: d.Level, Policy: policy,
		Tree: g.Tree, Also: g.Also, Parent: g.Parent, Place: g.Place,
	}
}

// A ConsumeRequest asks for records to be consumed, all or none.
type ConsumeRequest struct {
	IDs     []string // hashes, unique prefixes, gate ids
	By      string
	Purpose string
	At      Time

	// Judge, if set, is asked about the records in the transaction that consumes
	// them; what it refuses is not consumed.
	Judge func(Book, []Entry) ([]Refusal, error)
	// Spend, if set, is called last before the records are consumed, with their
	// hashes and those of all that they took in: the place that decides once.
	Spend func([]Hash) (*Refusal, error)
}

// Consumable returns why e cannot be consumed; nil if it can.
func Consumable(e Entry) *Refusal {
	no := func(reason Reason, format string, args ...any) *Refusal {
		return &Refusal{Reason: reason, SHA: e.SHA, Message: e.SHA.Short() + " " + fmt.Sprintf(format, args...)}
	}
	if r := Valid(e); r != nil {
		return r
	}
	if c := e.Consumption; c != nil {
		return no(Consumed, "was consumed by %s at %s", c.Who(), c.At)
	}
	return nil
}

// Valid returns why e is no evidence of a success, consumed or not; nil if it is.
func Valid(e Entry) *Refusal {
	no := func(reason Reason, format string, args ...any) *Refusal {
		return &Refusal{Reason: reason, SHA: e.SHA, Message: e.SHA.Short() + " " + fmt.Sprintf(format, args...)}
	}
	if reason, text := Intact(e); reason != "" {
		return no(reason, "%s", text)
	}
	v, err := e.Parse()
	if err != nil {
		return no(Tampered, "cannot be read: %v", err)
	}
	switch b := v.(type) {
	case *Receipt:
		if reason, text := e.succeeded(b); reason != "" {
			return no(reason, "%s", text)
		}
		return nil
	case *Gate:
		return nil
	default:
		return no(NotReceipt, "is a record of kind %s, not a receipt", e.Kind)
	}
}

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
	NoTree         Reason = "no_tree"         // its tree is not known
	OtherPolicy    Reason = "policy_changed"  // the matrix is not the trusted one
	NotFinal       Reason = "not_final"       // a gate over a part of a script
	NotCovered     Reason = "not_covered"     // a requirement that no member meets
	Outside        Reason = "outside_matrix"  // the command ran, but not as a bound line
	ReusedResult   Reason = "reused"          // a fresh result was asked for
	TooOld         Reason = "too_old"         // or of the future
	LevelTooLow    Reason = "level_too_low"   // not signed by a known key
	NotKept        Reason = "not_kept"        // not below the checkpoint that the verifier kept
	Cut            Reason = "cut"             // the session of a notary is not all there
	Spent          Reason = "spent"           // in the ledger of the consumer
	OtherPlace     Reason = "other_place"     // of another project of the working tree
	InputsChanged  Reason = "inputs_changed"  // files that the binding names as inputs are others
	Inexact        Reason = "inexact"         // the tested files differ from those of a clone
	NotClean       Reason = "not_clean"       // it did not run in a clean checkout
	Untested       Reason = "untested"        // no record shows the check refusing anything
)

// A Refusal is one reason why a gate, a validation or a consumption said no.
type Refusal struct {
	Reason  Reason
	SHA     Hash   // zero if there is none
	Step    string // of the plan; empty outside a run
	Message string // what is wrong, and with what
}

func (r Refusal) Error() string { return r.Message }

// An Expectation is what a gate expects of one command of a plan.
type Expectation struct {
	SHA      Hash // of its receipt, or of an earlier gate; zero if none was taken
	Step     string
	Binding  string
	Argv     []string // empty where any command will do
	Required bool
	Gate     bool // SHA names an earlier gate of the same run

	Tree    *Tree    // that it must have run on; nil where none was taken
	Changed []string // paths that changed under it since
	Moved   string   // its inputs, as the matrix has them, where they changed while it ran
}

// A GateRequest asks for a gate.
type GateRequest struct {
	Run, Session, Nonce string
	At                  Time
	Final, Part         bool
	Script, Matrix      Hash
	Covers              Covers
	Expect              []Expectation

	Policy      string  // see [Gate]
	Tree        *Tree   // at the gate; nil where none is taken
	Place       Datum   // as in [Gate]
	Rest        Hash    // likewise
	Beyond      []Datum // see [Gate]
	BeyondMore  int
	Came        int // likewise
	Parent      string
	AcceptFlaky string            // why passes after failures are accepted; empty: they are not
	Strict      bool              // refuse passes after failures
	Retries     map[string]bool   // names of bindings of the matrix of which a pass after a failure will do
	Env         map[string]string // for each binding that sets variables, a digest of them: bindings that run one command with different variables are judged separately
	Level       int               // of the gate receipt: failures of a lower one do not count
	By          string            // who accepts
	AnyRun      bool              // the receipts may be of any run, but all of Tree
	AnySession  bool              // and of any session
	Resumed     bool              // a process before this one, which is gone, may have had the same decided: its gate then stands, if the decision is the same
}

// A Decision is the answer to a gate, a validation or a consumption. It passed if
// it has no refusals; otherwise nothing was changed.
type Decision struct {
	Refusals []Refusal
	Records  []Entry // that were asked about and found
	Gate     Hash    // of the gate receipt, if a gate passed
	Level    int     // lowest trust level of the records
	Reused   int     // of them, those that repeat an earlier result
	Nested   []Hash  // see [Gate]
	Unspent  []Hash  // of Nested, the gates that are not consumed yet
	Accepted []Hash  // failures that the request accepts
	// Failures and Early count answers of no, and ends before an answer, of the same
	// commands on the same tree.
	Failures, Early int
	Failed, Ended   []Hash // both, in the decision about a gate, with those that were accepted: see [Gate.Failed]
	// OtherFailed and OtherEnded are those of a lower level that name a key: who asks may know it.
	OtherFailed, OtherEnded []Hash
	OtherSettled            int              // of Ended, those that another key may have settled: see [Gate.OtherMore]
	Tested                  map[Hash]*Tested // of gates that are consumed; nil where no test was counted
	Repeated                map[Hash]int     // of what is consumed: how many results the runs that its lines started repeat; nil for none
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

// Settle attaches the settlement that the record s is to e, if e is a receipt that is
// pending. It has no higher level then than s: who settles it vouches for how it ended.
func (e *Entry) Settle(s Entry) {
	if reason, _ := Intact(s); reason != "" {
		return
	}
	own, _ := e.Parse()
	if r, ok := own.(*Receipt); !ok || r.Status != Pending {
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
	Gate bool // By is the hash of a gate receipt
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

// Remember parses the body of e once for all who ask later. What cannot be parsed says
// so each time.
func (e *Entry) Remember() {
	if e.made != nil {
		return
	}
	if v, err := e.Parse(); err == nil {
		e.made, _ = v.(body)
	}
}

// Made returns the body that [Entry.Remember] parsed, as [Record.Parse] does; nil if it
// is not of the form.
func (e *Entry) Made() any {
	if e.made == nil {
		return nil
	}
	return e.made
}

// Succeeded returns why r, the receipt of e, is not of a success; an empty reason if
// it is. A receipt that was pending is what its settlement says. That of a control is never one: its line ran on files
// that were broken on purpose.
func (e Entry) Succeeded(r *Receipt) (Reason, string) {
	if r.Control != nil {
		return NotReceipt, "is of a control: the line ran on files that were broken on purpose"
	}
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

// Matches reports whether t and o are the same state of the files, by the digests that
// both have. Without the digest of the bytes on both sides that is the git tree alone,
// which is not proof of what ran unless it is Exact.
func (t Tree) Matches(o Tree) bool {
	switch {
	case t.Bytes.IsZero() || o.Bytes.IsZero():
		return t.Tree != "" && t.Tree == o.Tree
	case t.Bytes != o.Bytes:
		return false
	}
	return t.Tree == o.Tree || t.Tree == "" || o.Tree == ""
}

// SameFiles reports whether a command that ran on the files of t ran on those of o: the same
// bytes, whatever git would call them. Without the digest of the bytes on both sides it is the git tree.
func (t Tree) SameFiles(o Tree) bool {
	if t.Bytes.IsZero() || o.Bytes.IsZero() {
		return t.Tree != "" && t.Tree == o.Tree
	}
	return t.Bytes == o.Bytes
}

// Left returns the tree that the command left, if that is another one than it began on.
func (w *Workspace) Left() (Tree, bool) {
	if w.After == nil || w.After.SameFiles(w.Before) {
		return Tree{}, false
	}
	return *w.After, true
}

// ListPaths renders some of paths for a message.
func ListPaths(paths []string) string {
	const most = 5
	text := strings.Join(paths[:min(len(paths), most)], ", ")
	if n := len(paths) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// Intact checks an entry against its own hash and the log.
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
	others := d.OtherSettled
	newest := func(own, other []Hash) (named []Hash, more int) {
		more = max(0, len(own)-MaxFailed)
		own = own[more:]
		left := max(0, len(other)-MaxFailed+len(own))
		others += left
		return slices.Concat(own, other[left:]), more
	}
	failed, failedMore := newest(d.Failed, d.OtherFailed)
	early, earlyMore := newest(d.Ended, d.OtherEnded)
	return &Gate{
		Version: 1, Run: g.Run, Session: g.Session, Timestamp: g.At, Nonce: g.Nonce,
		Final: g.Final && !g.Part, Part: g.Part, Script: g.Script, Matrix: g.Matrix, Covers: g.Covers,
		Members: members, Required: required, Reused: d.Reused, Level: d.Level, Policy: policy,
		Tree: g.Tree, Beyond: g.Beyond, BeyondMore: g.BeyondMore, Came: g.Came, Parent: g.Parent, Place: g.Place, Rest: g.Rest, Clean: GroundOf(d.Records).Name(),
		Failed: failed, FailedMore: failedMore, Early: early, EarlyMore: earlyMore, OtherMore: others,
	}
}

// Valid returns why e is not evidence of a success, consumed or not; nil if it is.
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
		if reason, text := e.Succeeded(b); reason != "" {
			return no(reason, "%s", text)
		}
		return nil
	case *Gate:
		return nil
	default:
		return no(NotReceipt, "is a record of kind %s, not a receipt", e.Kind)
	}
}

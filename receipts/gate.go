package receipts

import "fmt"

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
}

// A GateRequest asks for a gate.
type GateRequest struct {
	Run, Session, Nonce string
	At                  Time
	Final, Part         bool
	Script, Matrix      Hash
	Covers              Covers
	Expect              []Expectation
}

// A Decision is the answer to a gate, a validation or a consumption. It passed if
// it has no refusals; otherwise nothing was changed.
type Decision struct {
	Refusals []Refusal
	Records  []Entry // that were asked about and found
	Gate     Hash    // of the gate receipt, if a gate passed
	Level    int     // lowest trust level of the records
}

// Passed reports whether nothing was refused.
func (d Decision) Passed() bool { return len(d.Refusals) == 0 }

// An Entry is a record as a store holds it.
type Entry struct {
	Record
	Seq         int64 // index in the log, 0-based
	SHA         Hash  // under which the store knows it
	Level       int   // trust level
	InLog       bool  // the log's leaf at Seq is that of the record
	Consumption *ConsumedBy
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
type View func(sha Hash) (e Entry, ok bool, err error)

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
		e, ok, err := view(x.SHA)
		if err != nil {
			return Decision{}, nil, err
		}
		if !ok {
			d.refuse(x, Missing, "%s: the store has no receipt %s", name, x.SHA.Short())
			continue
		}
		d.Records = append(d.Records, e)
		if first || e.Level < d.Level {
			d.Level, first = e.Level, false
		}
		if reason, text := g.hold(x, e); reason != "" {
			d.refuse(x, reason, "%s: the receipt %s %s", name, x.SHA.Short(), text)
			continue
		}
		members = append(members, x.SHA)
	}
	return d, members, nil
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
		switch {
		case b.Status == Pending:
			return NotTerminal, "is pending: settle it before it can pass a gate"
		case b.Status != Succeeded:
			return NotSucceeded, fmt.Sprintf("says %s; a receipt of a failure is never consumed", b.Status)
		case len(x.Argv) > 0 && b.Command != CommandHash(x.Argv):
			return CommandDiffers, fmt.Sprintf("is of another command: %s", b)
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
	case run != g.Run || session != g.Session:
		return OtherRun, fmt.Sprintf("is of run %s in session %s", run, session)
	case nonce != g.Nonce:
		return OtherNonce, "does not carry the nonce of this run"
	case e.Consumption != nil:
		return Consumed, fmt.Sprintf("was consumed by %s at %s", e.Consumption.Who(), e.Consumption.At)
	}
	return "", ""
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

// Body returns the gate receipt of a request that was granted.
func (g GateRequest) Body(members []Hash, level int) *Gate {
	required := 0
	for _, x := range g.Expect {
		if x.Required {
			required++
		}
	}
	if members == nil {
		members = []Hash{}
	}
	return &Gate{
		Version: 1, Run: g.Run, Session: g.Session, Timestamp: g.At, Nonce: g.Nonce,
		Final: g.Final && !g.Part, Part: g.Part, Script: g.Script, Matrix: g.Matrix, Covers: g.Covers,
		Members: members, Required: required, Level: level, Policy: "unpinned",
	}
}

// A ConsumeRequest asks for records to be consumed, all or none.
type ConsumeRequest struct {
	IDs     []string // hashes, unique prefixes, gate ids
	By      string
	Purpose string
	At      Time
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
		switch b.Status {
		case Succeeded:
			return nil
		case Pending:
			return no(NotTerminal, "is pending")
		default:
			return no(NotSucceeded, "says %s", b.Status)
		}
	case *Gate:
		return nil
	default:
		return no(NotReceipt, "is a record of kind %s, not a receipt", e.Kind)
	}
}

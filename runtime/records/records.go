// Package records renders records of the log, and decisions about them, for people and as
// documents.
package records

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
)

// A Record is the document of one: its body as it is hashed, and what the store knows beside it.
type Record struct {
	SHA256   string          `json:"sha256"`
	ID       string          `json:"id,omitempty"` // of a gate
	Kind     string          `json:"kind"`
	Seq      int64           `json:"seq"`
	Level    string          `json:"level"`
	Consumed bool            `json:"consumed"`
	By       string          `json:"consumed_by,omitempty"`
	At       string          `json:"consumed_at,omitempty"`
	Body     json.RawMessage `json:"body"`
	Tests    *Tests          `json:"tests,omitempty"` // of a gate that is shown: what is below it counted

	entry  receipts.Entry
	tested *receipts.Tested
}

// New makes the document of a record.
func New(e receipts.Entry) Record {
	d := Record{
		SHA256: e.SHA.String(), Kind: string(e.Kind), Seq: e.Seq, Level: fmt.Sprintf("L%d", e.Level), Body: json.RawMessage(e.Body), entry: e,
	}
	if e.Kind == receipts.KindGate {
		d.ID = receipts.GateID(e.SHA)
	}
	if c := e.Consumption; c != nil {
		d.Consumed, d.By, d.At = true, c.By, c.At.UTC().Format(time.RFC3339Nano)
	}
	if !json.Valid(e.Body) {
		d.Body, _ = json.Marshal(string(e.Body)) // damaged: as a text
	}
	return d
}

// Count adds to the document of a gate how many tests are below it, and how many were at the last one before it.
func (r *Record) Count(t *receipts.Tested) { r.tested, r.Tests = t, NewTests(r.entry.SHA, t) }

// A List is what `dialect receipts list --json` prints.
type List struct {
	Schema  string   `json:"schema"` // dialect.receipts/1
	Records []Record `json:"records"`
}

// NewList makes the document of some records.
func NewList(es []receipts.Entry) List {
	l := List{Schema: "dialect.receipts/1", Records: make([]Record, 0, len(es))}
	for _, e := range es {
		l.Records = append(l.Records, New(e))
	}
	return l
}

// WriteText writes receipts and gates for people, a line each.
func (l List) WriteText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tWHEN\tSTATUS\tCONSUMED\tRUN\tWHAT")
	for _, r := range l.Records {
		e := r.entry
		id, when, status, run, what := e.SHA.Short(), "", "", "", ""
		v, err := e.Parse()
		switch b := v.(type) {
		case *receipts.Receipt:
			when, status, run, what = Stamp(b.Timestamp.Time), string(b.Status), b.Run, b.Line.Text.Text
			if strings.Contains(b.Step, ".") {
				what += " (" + b.Binding + ")"
			}
		case *receipts.Gate:
			id, when, status, run = receipts.GateID(e.SHA), Stamp(b.Timestamp.Time), "passed", b.Run
			what = fmt.Sprintf("gate over %d", len(b.Members))
			if b.Final {
				what += ", final"
			}
		default:
			status, what = "UNREADABLE", fmt.Sprint(err)
		}
		if reason, _ := receipts.Intact(e); reason != "" {
			status = "TAMPERED"
		}
		consumed := "-"
		if c := e.Consumption; c != nil {
			consumed = c.Who()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", id, when, status, diag.Printable(consumed), diag.Printable(run), diag.Printable(what))
	}
	return w.Flush()
}

// Stamp is a time for people, in their own time zone.
func Stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// When is the time of a receipt for people. Where it repeats an earlier result, nothing ran then.
func When(r *receipts.Receipt) string {
	if !r.Reused.IsZero() {
		return Stamp(r.Timestamp.Time) + " (reused: nothing was executed)"
	}
	return Stamp(r.Timestamp.Time)
}

// WriteText writes all that the record says, for people: what is empty has no row.
func (r Record) WriteText(out io.Writer) error {
	e := r.entry
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); text != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, diag.Printable(text))
		}
	}
	row("sha256", "%s", e.SHA)
	row("kind", "%s, record %d of the log", e.Kind, e.Seq)
	if reason, text := receipts.Intact(e); reason != "" {
		row("INVALID", "%s", text)
	}
	v, err := e.Parse()
	switch b := v.(type) {
	case *receipts.Receipt:
		row("line", "%s:%d: %s", b.Line.File.Text, b.Line.Number, b.Line.Text.Text)
		row("binding", "%s", b.Binding)
		row("command", "%s", b)
		if c := b.Control; c != nil {
			row("control of", "%s, command %s", c.Binding, c.Command)
			row("broke", "%s:%d %s", c.Path.Text, c.Line, c.Test.Text)
			if row("outcome", "%s", c.Outcome); c.Places > 1 {
				row("", "%d places were broken at once", c.Places)
			}
		}
		row("status", "%s", b.Status)
		row("stop reason", "%s", b.StopReason)
		if b.ExitCode != nil {
			row("exit code", "%d", *b.ExitCode)
		}
		row("signal", "%s", b.Signal)
		if t := b.Tests; t != nil {
			row("tests", "%s", &receipts.Tested{Tests: *t})
		}
		row("started", "%s", b.Timestamp.UTC().Format(time.RFC3339Nano))
		row("took", "%v", b.Duration())
		row("stdout", "%d bytes, sha256 %s", b.Stdout.Bytes, b.Stdout.SHA256)
		row("stderr", "%d bytes, sha256 %s", b.Stderr.Bytes, b.Stderr.SHA256)
		row("in", "%s", b.Dir.Text)
		if at, _ := b.Ground(); b.Clean != nil {
			row("clean", "%s", cmp.Or(at.String(), "in a clean checkout that shared:"))
			for _, d := range b.Clean.Lowered {
				row("", "%s", d.Text)
			}
			if s := b.Clean.Setup; s != nil {
				row("setup", "%s", s)
				row("", "key %s", s.Key)
				if !s.Result.IsZero() {
					row("", "installed %s", s.Result)
				}
			}
		}
		if !b.Place.IsZero() {
			row("project", "%s of the worktree", b.Place.Text)
		}
		if !b.Scope.IsZero() {
			row("files", "sha256 %s", b.Scope)
		}
		if !b.Inputs.IsZero() {
			row("inputs", "sha256 %s", b.Inputs)
		}
		if x := b.Executable; x != nil {
			row("executable", "%s, sha256 %s", x.Path.Text, x.SHA256)
		}
		if w := b.Workspace; w != nil {
			row("ran on", "%s", TreeText(w.Before))
			if w.After != nil && *w.After != w.Before {
				row("left", "%s", TreeText(*w.After))
			}
			for _, p := range w.Changed {
				row("", "%s", p.Text)
			}
		}
		if !b.Reused.IsZero() {
			row("reused", "%s: nothing was executed", b.Reused)
		}
		if b.Apart {
			row("started runs", "decide nothing for this one")
		}
		if !b.HandedBack.IsZero() {
			row("handed back", "%s", receipts.GateID(b.HandedBack))
		}
		if h := b.Handle; h != nil {
			row("handle", "%s", strings.Join(strings.Fields(fmt.Sprint(h.Route, " ", h.Type, " ", h.Operation, " ", h.ExternalID, " ", h.VerifiableURL)), " "))
		}
		if t := e.Settlement; t != nil {
			row("settled", "%s by %s at %s", t.Status, t.By, t.Timestamp.UTC().Format(time.RFC3339Nano))
		}
		row("run", "%s, session %s", diag.Name(b.Run), diag.Name(b.Session))
	case *receipts.Gate:
		row("id", "%s", receipts.GateID(e.SHA))
		row("final", "%v", b.Final)
		row("covers", "lines %d to %d, %s", b.Covers.FirstLine, b.Covers.LastLine, diag.Number(b.Covers.Commands, "command"))
		row("members", "%d, of which %d required", len(b.Members), b.Required)
		for _, m := range b.Members {
			row("", "%s", m)
		}
		if b.Reused > 0 {
			row("reused", "%d", b.Reused)
		}
		for _, n := range b.Nested {
			row("nested", "%s", n) // a gate, or a receipt of a run that left none
		}
		if !b.Place.IsZero() {
			row("project", "%s of the worktree", b.Place.Text)
		}
		if r.tested != nil {
			row("tests", "%s", r.tested)
		}
		row("rules", "%s", rulesWords(b.Policy))
		if b.Tree != nil {
			row("tree", "%s", TreeText(*b.Tree))
		}
		row("run", "%s, session %s", diag.Name(b.Run), diag.Name(b.Session))
		row("at", "%s", b.Timestamp.UTC().Format(time.RFC3339Nano))
	case *receipts.Run:
		row("run", "%s, session %s", diag.Name(b.Run), diag.Name(b.Session))
		row("script", "%s, sha256 %s", b.Script.Path.Text, b.Script.SHA256)
		row("started", "%s", b.Started.UTC().Format(time.RFC3339Nano))
		row("planned", "%s", diag.Number(len(b.Planned)+b.More, "command"))
		row("started by", "%s", b.Parent)
	case *receipts.Settlement:
		row("settles", "%s as %s, by %s", b.Receipt, b.Status, b.By)
	case *receipts.Trust:
		row("trusts", "%s, says %s", b.What, b.By)
		for _, f := range b.Files {
			row("", "%s, sha256 %s", f.Path.Text, f.SHA256)
		}
		for _, h := range b.Receipts {
			row("", "%s", h)
		}
		row("reason", "%s", b.Reason)
	case *receipts.Notary:
		row("notary", "session %s, mode %s, Landlock ABI %d", diag.Name(b.Session), b.Mode, b.ABI)
		row("key", "%s", b.Key)
		row("project", "%s", b.Project)
		row("baseline", "%s", b.Baseline)
		if b.InPlace {
			row("place", "the working tree, which the asker can change under commands")
		}
		for _, l := range []struct {
			name string
			list []receipts.Datum
		}{{"shared", b.Shares}, {"listening", b.Listeners}, {"masked", b.Masks}} {
			for _, d := range l.list {
				row(l.name, "%s", d)
			}
		}
		row("started", "%s", b.Started.UTC().Format(time.RFC3339Nano))
	case *receipts.Closing:
		row("closes", "session %s after %s", diag.Name(b.Session), diag.Number(int(b.Count), "record"))
		row("at", "%s", b.Timestamp.UTC().Format(time.RFC3339Nano))
	case *receipts.Consumption:
		row("by", "%s", b.By)
		row("consumed", "%s", diag.Number(len(b.Consumed), "record"))
	default:
		row("unreadable", "%v", err)
	}
	if c := e.Consumption; c != nil {
		row("consumed", "by %s at %s", c.Who(), c.At.UTC().Format(time.RFC3339Nano))
	} else if e.Kind == receipts.KindReceipt || e.Kind == receipts.KindGate {
		row("consumed", "no")
	}
	switch {
	case e.Key != "" && e.Level < receipts.LevelKey:
		row("recorded", "by itself: signed by %s, but the key could have been read", e.Key)
	case e.Level >= receipts.LevelNotary:
		row("recorded", "by the notary, under the key %s", e.Key)
	case e.Key != "":
		row("recorded", "under the key %s", e.Key)
	case e.Signature != "":
		row("recorded", "by itself: signed, by none of the keys that were given with --key")
	default:
		row("recorded", "by itself: not signed")
	}
	return w.Flush()
}

// rulesWords says what a gate was made under.
func rulesWords(name string) string {
	switch name {
	case receipts.PolicyPinned:
		return "as in the baseline that was named, or pinned"
	case receipts.PolicyNew:
		return "new: HEAD had no matrix"
	case receipts.PolicyChanged:
		return "CHANGED: not those of the baseline"
	case receipts.PolicyUnpinned:
		return "compared with HEAD only, or with nothing"
	}
	return name
}

// TreeText names a tree for people.
func TreeText(t receipts.Tree) string {
	if t.Tree == "" {
		return "bytes " + t.Bytes.String()
	}
	return "tree " + t.Tree + ", bytes " + t.Bytes.Short()
}

// RecordedBy says who recorded a gate.
func RecordedBy(level int, key string) string {
	switch {
	case level < receipts.LevelKey:
		return "recorded by itself"
	case level >= receipts.LevelNotary:
		return "recorded by the notary"
	case key != "":
		return "recorded under the key " + diag.Name(key)
	}
	return "recorded under a key"
}

// A Refusal is one reason in a document for machines.
type Refusal struct {
	Reason  string `json:"reason"` // see [receipts.Reason]
	SHA256  string `json:"sha256,omitempty"`
	Message string `json:"message"`
}

// Refusals makes the documents of refusals.
func Refusals(list []receipts.Refusal) (docs []Refusal) {
	for _, r := range list {
		x := Refusal{Reason: string(r.Reason), Message: diag.Printable(r.Message)}
		if !r.SHA.IsZero() {
			x.SHA256 = r.SHA.String()
		}
		docs = append(docs, x)
	}
	return docs
}

// A Decision is what consume, gate, validate and settle print as JSON.
type Decision struct {
	Schema   string    `json:"schema"`  // dialect.decision/1
	Verdict  string    `json:"verdict"` // "refused", or what was done: "consumed", "gated", "valid", "settled as ..."
	Level    string    `json:"level"`   // lowest of the records
	Records  []Record  `json:"records"`
	Refusals []Refusal `json:"refusals,omitempty"`
	Next     []string  `json:"next,omitempty"` // what to do: commands, and behind "# " what a person decides or does

	Tests []Tests `json:"tests,omitempty"` // of the gates that were consumed

	tested  map[receipts.Hash]*receipts.Tested
	inner   map[receipts.Hash]int // results that inner runs repeat
	Summary string                `json:"-"` // what to write for people where it passed; empty for a line of each record
}

// NewDecision makes the document of a decision; done is the word for what passed, next what to do where
// it did not.
func NewDecision(d receipts.Decision, done string, next []string) Decision {
	doc := Decision{
		Schema: "dialect.decision/1", Verdict: done, Level: fmt.Sprintf("L%d", d.Level),
		Records: NewList(d.Records).Records, Refusals: Refusals(d.Refusals), Next: next,
	}
	if !d.Passed() {
		doc.Verdict = "refused"
	}
	doc.tested, doc.inner = d.Tested, d.Repeated
	for _, e := range d.Records {
		if t := d.Tested[e.SHA]; t != nil {
			doc.Tests = append(doc.Tests, *NewTests(e.SHA, t))
		}
	}
	return doc
}

// Tests counts the tests behind a gate, and those of the same bindings at the last gate before it.
type Tests struct {
	Gate   string          `json:"gate"`
	Now    receipts.Tests  `json:"now"`
	Before *receipts.Tests `json:"before,omitempty"`
	At     string          `json:"before_gate,omitempty"`
}

// NewTests makes the document of the tests behind the gate; nil if none was counted.
func NewTests(gate receipts.Hash, t *receipts.Tested) *Tests {
	if t == nil {
		return nil
	}
	doc := &Tests{Gate: receipts.GateID(gate), Now: t.Tests, Before: t.Before}
	if t.Before != nil {
		doc.At = receipts.GateID(t.Gate)
	}
	return doc
}

// Passed reports whether nothing was refused.
func (d Decision) Passed() bool { return len(d.Refusals) == 0 }

// WriteText writes what became of each record, or why it was refused and what to do.
func (d Decision) WriteText(w io.Writer) error {
	var b strings.Builder
	if d.Summary != "" {
		fmt.Fprintln(&b, d.Summary)
	} else if d.Passed() {
		for _, r := range d.Records {
			e, state := r.entry, ""
			if e.Consumption != nil {
				state = ", consumed by " + diag.Printable(e.Consumption.Who())
			}
			v, _ := e.Parse()
			g, ok := v.(*receipts.Gate)
			if !ok && d.Verdict == "consumed" {
				state += "; one command alone"
			}
			if ok && !g.Final {
				state += fmt.Sprintf("; of lines %d to %d alone", g.Covers.FirstLine, g.Covers.LastLine)
			}
			if ok && g.Reused > 0 {
				state += fmt.Sprintf("; %d reused", g.Reused)
			}
			if n := d.inner[e.SHA]; n > 0 {
				state += fmt.Sprintf("; %d reused in runs that its lines started", n)
			}
			if t := d.tested[e.SHA]; t != nil {
				state += "; " + t.String()
			}
			fmt.Fprintf(&b, "%s %s (%s%s)\n", e.SHA, d.Verdict, RecordedBy(e.Level, e.Key), state)
		}
	} else {
		for _, r := range d.Refusals {
			fmt.Fprintf(&b, "refused: %s: %s\n", r.Reason, r.Message)
		}
		for _, n := range d.Next {
			fmt.Fprintf(&b, "  next: %s\n", diag.Printable(n))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Package why lists what a verdict was decided from, one condition after the other: the long form that
// `dialect verify --why` prints. A query, its result, and what the asker named come in; conditions come out. It
// decides nothing: a condition does not hold if the result refuses it, and where the verdict is a refusal only what
// is compared for every gate holds; the rest is not decided.
package why

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/records"
)

// A State says what became of a condition.
type State string

const (
	Holds   State = "holds"
	Refused State = "does not hold"
	Open    State = "not decided"       // another condition refused first
	Unasked State = "not asked"         // nobody asked for it, so that it refuses nothing
	Told    State = "decides nothing"   // it is for people to read
	Scoped  State = "for changed paths" // it holds of the files that the lines name
)

// A Condition is one of those that a verdict rests on. The package documentation of receipts/verify numbers them.
type Condition struct {
	Name  string   `json:"condition"`
	State State    `json:"state"` // "holds", "does not hold", "not decided", "not asked", "decides nothing", "for changed paths"
	From  []string `json:"from"`  // what it was decided from
}

// Facts are what a verdict was decided from.
type Facts struct {
	Query  verify.Query
	Result *verify.Result

	Source     string              // the store or the bundle that was asked
	Subject    string              // "the present files", or the revision that was asked about
	Matrix     string              // its name; empty without one
	Rules      string              // in words, what the matrix was compared with
	Checkpoint string              // the file of --since; empty without
	State      string              // the folder of --state; empty without
	Keys       []string            // as they were named
	Inputs     map[string][]string // patterns of `inputs`, by binding
	Scopes     map[string][]string // patterns of `files`, by binding
}

// of names the condition that a refusal for a reason is about.
var of = map[receipts.Reason]string{
	receipts.Tampered: "log", receipts.Degraded: "log", receipts.NotInLog: "log", receipts.NotKept: "log",
	receipts.TreeChanged: "files", receipts.NoTree: "files", receipts.Inexact: "files", receipts.OtherPlace: "files",
	receipts.OtherPolicy: "rules",
	receipts.NotFinal:    "gate", receipts.Missing: "gate", receipts.NotReceipt: "gate",
	receipts.NotCovered: "required", receipts.CommandDiffers: "required", receipts.Outside: "required",
	receipts.NotTerminal:  "commands",
	receipts.NotSucceeded: "last word", receipts.Superseded: "last word", receipts.FlakyPass: "last word",
	receipts.LevelTooLow:   "recorded by",
	receipts.InputsChanged: "inputs",
	receipts.OtherRun:      "session and age", receipts.OtherNonce: "session and age", receipts.TooOld: "session and age", receipts.ReusedResult: "session and age",
	receipts.NotClean: "clean checkout", receipts.Untested: "tests", receipts.Cut: "log",
}

// Of lists the conditions of a verdict, in the order in which they are decided.
func Of(f Facts) []Condition {
	list := []Condition{f.log(), f.files(), f.rules(), f.gate(), f.recorded(), f.required(), f.commands(), f.tests(), f.inputs(), f.asked(), f.clean(), f.lastWord()}
	for i := range list {
		c := &list[i]
		refused := f.refusals(c.Name)
		switch {
		case len(refused) > 0:
			c.State, c.From = Refused, append(refused, c.From...)
		case c.State == Holds && (f.Result.Gate == nil && c.Name != "log" && c.Name != "rules" || f.broken()):
			c.State = Open
		}
		c.From = append([]string{}, slices.Compact(c.From)...)
	}
	return list
}

// broken reports whether the log or the rules could not be read, so that nothing was compared.
func (f Facts) broken() bool {
	return f.Result.Verdict == verify.Tampered || f.Result.Verdict == verify.Degraded
}

// yes reports whether the verdict is a yes.
func (f Facts) yes() bool {
	return f.Result.Verdict == verify.Verified || f.Result.Verdict == verify.Scoped
}

func (f Facts) refusals(name string) (list []string) {
	for _, r := range f.Result.Refusals {
		at := cmp.Or(of[r.Reason], "gate")
		if f.broken() {
			at = "log"
		}
		if at == name && !slices.Contains(list, r.Message) {
			list = append(list, r.Message)
		}
	}
	return list
}

func (f Facts) log() Condition {
	c := Condition{"log", Holds, nil}
	res := f.Result
	if res.Records == 0 {
		c.State = Open
	} else {
		text := fmt.Sprintf("%s: %s of its log, authenticated", f.Source, diag.Number(int(res.Records), "record"))
		if res.Remembered > 0 {
			text += fmt.Sprintf(", %d of them by what an earlier verification kept", res.Remembered)
		}
		c.From = append(c.From, text)
	}
	switch {
	case f.Checkpoint != "":
		c.From = append(c.From, "it begins with the records of the checkpoint "+f.Checkpoint)
	case f.State != "":
		c.From = append(c.From, "it begins with the records that "+f.State+" remembers")
	}
	switch {
	case f.broken() || res.Gate == nil:
	case res.Kept:
		c.From = append(c.From, "the gate is among the records that the verifier kept a checkpoint of")
	default:
		c.From = append(c.From, "nobody kept a checkpoint that covers the gate: records cut off its end leave no trace")
	}
	return c
}

func (f Facts) files() Condition {
	c := Condition{"files", Holds, nil}
	if t := f.Query.Tree; t != nil {
		c.From = append(c.From, f.Subject+": "+records.TreeText(*t))
	}
	if !f.Query.Place.IsZero() {
		c.From = append(c.From, "the project in "+f.Query.Place.Text+" of the working tree")
	}
	switch g := f.Result.Body; {
	case f.Result.Verdict == verify.Scoped:
		c.State = Scoped
		c.From = append(c.From, "the full run was about other files; those that no line names are the same")
	case g == nil || g.Tree == nil || f.Query.Tree == nil:
	case g.Tree.Matches(*f.Query.Tree):
		c.From = append(c.From, "the gate is about them")
	default:
		c.From = append(c.From, "the gate is about others: "+records.TreeText(*g.Tree))
	}
	return c
}

func (f Facts) rules() Condition {
	c := Condition{"rules", Holds, nil}
	if f.Matrix == "" {
		c.State, c.From = Unasked, []string{"no matrix"}
		return c
	}
	text := f.Matrix
	if !f.Query.Matrix.IsZero() {
		text += ", sha256 " + f.Query.Matrix.String()
	}
	c.From = append(c.From, text, f.Rules)
	if g := f.Result.Body; g != nil && g.Matrix == f.Query.Matrix && !g.Matrix.IsZero() {
		c.From = append(c.From, "the gate was made under it")
	}
	return c
}

func (f Facts) gate() Condition {
	c := Condition{"gate", Holds, nil}
	g := f.Result.Body
	if g == nil {
		return c
	}
	kind := "not final"
	if g.Final {
		kind = "final"
	}
	text := fmt.Sprintf("%s, %s, of run %s at %s", receipts.GateID(f.Result.Gate.SHA), kind, g.Run, records.Stamp(g.Timestamp.Time))
	if g.Covers.LastLine > 0 {
		text += fmt.Sprintf(", over lines %d to %d", g.Covers.FirstLine, g.Covers.LastLine)
	}
	c.From = append(c.From, text, diag.Number(len(f.Result.Members), "command")+" below it")
	if g.Reused > 0 {
		c.From = append(c.From, fmt.Sprintf("%d of them reused: nothing was executed for these", g.Reused))
	}
	return c
}

func (f Facts) recorded() Condition {
	c := Condition{"recorded by", Unasked, nil}
	if f.Result.Gate != nil {
		c.From = append(c.From, fmt.Sprintf("%s (L%d, the lowest of the gate and its commands)", strings.TrimPrefix(records.RecordedBy(f.Result.Level, f.Result.Gate.Key), "recorded by "), f.Result.Level))
	}
	switch {
	case f.Query.Level > receipts.LevelHash:
		c.State = Holds
		c.From = append(c.From, "a signature of "+strings.Join(f.Keys, ", ")+" is asked for")
	default:
		c.From = append(c.From, "no signature is asked for: anyone who writes the store could have made these records")
	}
	if n := f.Result.Below; n > 0 {
		c.From = append(c.From, diag.Number(n, "record")+" without such a signature did not count")
	}
	return c
}

func (f Facts) required() Condition {
	c := Condition{"required", Holds, nil}
	if f.Result.Body == nil { // of one receipt nothing is required
		c.State = Open
	}
	if len(f.Query.Require) == 0 {
		c.State, c.From = Unasked, []string{"neither --require nor [verify] of the matrix names a binding"}
		return c
	}
	for _, need := range f.Query.Require {
		text := need.Binding + ": " + need.Words
		for _, m := range f.Result.Members {
			if r := receipt(m); r != nil && need.Meets(r) {
				text += ", by receipt " + m.SHA.Short()
				break
			}
		}
		c.From = append(c.From, text)
	}
	return c
}

func (f Facts) commands() Condition {
	c := Condition{"commands", Holds, nil}
	inner := make(map[string]int) // by the step that started their runs
	for _, m := range f.Result.Inner {
		if m.By != nil {
			inner[receipts.StepName(m.By.Run, m.By.Step)]++
		}
	}
	for _, m := range f.Result.Members {
		r := receipt(m)
		if r == nil {
			continue
		}
		text := r.String()
		if r.Binding != "" {
			text = fmt.Sprintf("%s:%d %s", diag.Name(cmp.Or(r.Line.File.Text, "-e")), r.Line.Number, diag.Name(r.Binding))
		}
		text += fmt.Sprintf(": %s at %s in %v, receipt %s", r.Status, records.When(r), r.Duration().Round(time.Millisecond), m.SHA.Short())
		if t := r.Tests; t != nil {
			text += ", " + (&receipts.Tested{Tests: *t}).String()
		}
		if !r.Reused.IsZero() {
			text += ", reused from " + r.Reused.Short()
		}
		if !r.HandedBack.IsZero() {
			text += ", by the gate " + receipts.GateID(r.HandedBack)
		}
		if n := inner[receipts.StepName(r.Run, r.Step)]; n > 0 {
			text += fmt.Sprintf(", with %s of runs that it started", diag.Number(n, "receipt"))
		}
		if f.Result.Verdict == verify.Scoped {
			text += ", on " + strings.Join(f.Scopes[r.Binding], ", ")
		}
		c.From = append(c.From, text)
	}
	return c
}

// tests is a count for people to read, which has no part in the verdict. What refuses because a check was not tested stands here, too.
func (f Facts) tests() Condition {
	c := Condition{"tests", Told, nil}
	t := f.Result.Tested
	switch {
	case f.Result.Gate == nil:
	case t == nil:
		c.From = append(c.From, "no command counted its tests")
	default:
		c.From = append(c.From, "now: "+counts(t.Tests))
		if t.Before != nil {
			c.From = append(c.From, fmt.Sprintf("at the last green gate of other files, %s, by the same bindings: %s", receipts.GateID(t.Gate), counts(*t.Before)))
		} else {
			c.From = append(c.From, "no earlier green gate of other files counted any of the same bindings")
		}
	}
	return c
}

func counts(t receipts.Tests) string {
	text := fmt.Sprintf("%s ran", diag.Number(t.Ran(), "test"))
	if t.Failed > 0 {
		text += fmt.Sprintf(", %d failed", t.Failed)
	}
	if t.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", t.Skipped)
	}
	return text
}

func (f Facts) inputs() Condition {
	c := Condition{"inputs", Unasked, nil}
	var names, clean []string
	for _, m := range f.Result.Members {
		switch r := receipt(m); {
		case r == nil || len(f.Inputs[r.Binding]) == 0:
		case r.Clean != nil:
			clean = append(clean, r.Binding)
		default:
			names = append(names, r.Binding)
		}
	}
	slices.Sort(clean)
	for _, name := range slices.Compact(clean) {
		c.From = append(c.From, name+": those of its clean checkout, which are not compared with the working tree")
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if _, compared := f.Query.Inputs[name]; compared {
			c.State = Holds
			c.From = append(c.From, name+": "+strings.Join(f.Inputs[name], ", "))
		} else {
			c.From = append(c.From, name+": not compared: --tree and --bundle do not see these files")
		}
	}
	if len(c.From) == 0 {
		c.From = append(c.From, "no binding of these commands names `inputs`")
	}
	return c
}

func (f Facts) asked() Condition {
	c := Condition{"session and age", Unasked, nil}
	q := f.Query
	for _, x := range []struct {
		is   bool
		text string
	}{
		{q.Session != "", "session " + q.Session}, {q.Nonce != "", "nonce " + q.Nonce},
		{q.MaxAge > 0, fmt.Sprintf("at most %v old", q.MaxAge)}, {q.Fresh, "no reused result"},
	} {
		if x.is {
			c.State = Holds
			c.From = append(c.From, x.text)
		}
	}
	if c.State == Unasked {
		c.From = []string{"no --session, --nonce, --max-age or --fresh"}
	}
	return c
}

func (f Facts) clean() Condition {
	c := Condition{"clean checkout", Unasked, nil}
	if f.Query.Clean {
		c.State = Holds
	}
	if f.Result.Gate != nil {
		c.From = append(c.From, cmp.Or(f.Result.Ground.String(), "the commands ran in the working tree"))
	}
	if n := f.Result.InPlace; n > 0 {
		c.From = append(c.From, fmt.Sprintf("failures outside of a clean checkout: %d", n))
	}
	for _, l := range f.Result.Lowered {
		c.From = append(c.From, "shared with the machine: "+l)
	}
	c.From = append(c.From, f.Result.Setups...)
	return c
}

func (f Facts) lastWord() Condition {
	c := Condition{"last word", Holds, nil}
	res := f.Result
	if !f.yes() {
		c.State = Open
	}
	if res.Gate == nil || f.broken() {
		return c
	}
	switch {
	case !f.yes():
	case res.Failures+res.OtherInputs+res.InPlace+res.Below+len(res.Accepted) == 0:
		c.From = append(c.From, "the log has no failure of these commands on these files")
	default:
		c.From = append(c.From, "a pass followed each failure that counts, or a person accepted it")
	}
	for _, n := range []struct {
		n    int
		what string
	}{{res.Failures, "failures on these files"}, {res.Early, "ends before an answer (timeouts, kills)"}, {res.OtherInputs, "failures with other inputs"}} {
		if n.n > 0 {
			c.From = append(c.From, fmt.Sprintf("%s: %d", n.what, n.n))
		}
	}
	for _, a := range res.Accepted {
		c.From = append(c.From, "a failure was "+a)
	}
	if f.Query.Strict {
		c.From = append(c.From, "strict: a pass after a failure on the same files is refused")
	} else {
		c.From = append(c.From, "not strict: a pass after a failure on the same files counts")
	}
	return c
}

// receipt returns the body of a record if it is a receipt.
func receipt(e *receipts.Entry) *receipts.Receipt {
	v, _ := e.Parse()
	r, _ := v.(*receipts.Receipt)
	return r
}

// WriteText writes conditions for people: the name, its state, and below it what it was decided from.
func WriteText(w io.Writer, list []Condition) error {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "  %s: %s\n", c.Name, c.State)
		for _, text := range c.From {
			fmt.Fprintf(&b, "    %s\n", diag.Printable(text))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

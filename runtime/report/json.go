package report

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/diag/output"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// Schema names the document that [JSON] writes. Keys are only ever added to it;
// a change of meaning gets a new number.
const Schema = "dialect.report/1"

// A Document is the report of a run, or of a script that could not be run, as
// one JSON object. Absent members are left out. Times are RFC 3339 in UTC,
// durations are seconds with millisecond precision, hashes are hex.
type Document struct {
	Schema     string       `json:"schema"`
	Verdict    string       `json:"verdict"` // passed, failed, fault, refused, interrupted
	ExitStatus int          `json:"exit_status"`
	Script     DocScript    `json:"script"`
	Matrix     *DocMatrix   `json:"matrix,omitempty"`
	Run        string       `json:"run,omitempty"`
	Session    string       `json:"session,omitempty"`
	Nonce      string       `json:"nonce,omitempty"`
	Started    string       `json:"started,omitempty"`
	Elapsed    float64      `json:"elapsed_seconds"`
	Signal     string       `json:"signal,omitempty"`
	Limit      string       `json:"limit,omitempty"` // why the run's own budget ended it
	KeepGoing  bool         `json:"keep_going,omitempty"`
	Clean      bool         `json:"clean,omitempty"`    // commands were to run in a clean checkout
	Degraded   string       `json:"degraded,omitempty"` // why receipts were not kept
	Store      string       `json:"store,omitempty"`
	Checkpoint string       `json:"checkpoint,omitempty"` // signed, of the log as the run left it, for --since; absent without a key
	Counts     DocCounts    `json:"counts"`
	Tests      *DocTests    `json:"tests,omitempty"` // of all lines
	Lines      []*DocResult `json:"lines"`
	Gate       *DocGate     `json:"gate,omitempty"`
	Findings   []DocFinding `json:"diagnostics,omitempty"`

	live *engine.Outcome // that it was made of; nil of a document that was read
}

// DocScript names the script.
type DocScript struct {
	Name   string `json:"name"`
	Path   string `json:"path,omitempty"` // absolute; absent if it is not a file
	SHA256 string `json:"sha256,omitempty"`
	Part   bool   `json:"part,omitempty"`
	// Flags are those of the command line that say how the script is run, such as --set and --routing: a line that is
	// run again needs them.
	Flags []string `json:"flags,omitempty"`
}

// DocMatrix names the routing matrix.
type DocMatrix struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// DocCounts counts the lines by verdict.
type DocCounts struct {
	Lines     int `json:"lines"`
	Passed    int `json:"passed"`
	Failed    int `json:"failed"`
	Fault     int `json:"fault"`
	Flaky     int `json:"flaky"`
	Skipped   int `json:"skipped"`
	Cancelled int `json:"cancelled"`
}

// DocResult is one line, or one member of a composite.
type DocResult struct {
	ID       string       `json:"id"`
	File     string       `json:"file"`
	Line     int          `json:"line"`
	Text     string       `json:"text"`
	Binding  string       `json:"binding"`
	Verb     string       `json:"verb,omitempty"`
	Noun     string       `json:"noun,omitempty"`
	Kind     string       `json:"kind"`
	Effect   string       `json:"effect"`
	Argv     []string     `json:"argv,omitempty"`
	Dir      string       `json:"dir,omitempty"` // absolute; of a process
	Verdict  string       `json:"verdict"`
	Reason   string       `json:"reason,omitempty"`
	Detail   string       `json:"detail,omitempty"`
	By       string       `json:"by,omitempty"`
	ExitCode *int         `json:"exit_code,omitempty"`
	Signal   string       `json:"signal,omitempty"`
	Started  string       `json:"started,omitempty"`
	Elapsed  float64      `json:"elapsed_seconds"`
	Waited   float64      `json:"waited_seconds,omitempty"` // for a lock
	Attempts int          `json:"attempts,omitempty"`
	Tests    *DocTests    `json:"tests,omitempty"`
	Baseline *DocBaseline `json:"baseline,omitempty"`
	Error    *DocError    `json:"error,omitempty"`       // the first of Errors
	Errors   []*DocError  `json:"errors,omitempty"`      // the tests that failed, or the errors of a tool: the first 64
	Count    int          `json:"error_count,omitempty"` // of all
	Stdout   *DocOutput   `json:"stdout,omitempty"`
	Stderr   *DocOutput   `json:"stderr,omitempty"`
	Receipt  string       `json:"receipt,omitempty"`          // absent where it is lost
	Earlier  []string     `json:"earlier_receipts,omitempty"` // of the attempts before the last; likewise
	Required bool         `json:"receipt_required,omitempty"`
	Degraded bool         `json:"degraded,omitempty"` // the receipt was lost
	Notes    []string     `json:"notes,omitempty"`
	Fault    *DocFault    `json:"fault,omitempty"`
	Gate     *DocGate     `json:"gate,omitempty"`
	Members  []*DocResult `json:"members,omitempty"`

	live   *engine.Result // that it was made of; nil of a document that was read
	summed bool           // Gate is that of the run
}

// DocTests counts tests, as the tools did.
type DocTests struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

// DocBaseline is an earlier pass, the last one, in which more tests passed.
type DocBaseline struct {
	Passed int    `json:"passed"`
	Run    string `json:"run"`
	Gate   string `json:"gate,omitempty"` // that consumed it
}

// DocError is a test that failed, or an error that a tool reports. The file is as the tool wrote it, of go test
// with its folder; line and column are 1-based, absent if not known.
type DocError struct {
	Test    string   `json:"test,omitempty"`
	Package string   `json:"package,omitempty"` // of go test
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	Column  int      `json:"column,omitempty"`
	Message string   `json:"message"`
	Detail  []string `json:"detail,omitempty"` // lines beside the message: values, a diff
}

// DocOutput describes one output stream.
type DocOutput struct {
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	Log    string `json:"log,omitempty"`
}

// DocFault is the line-fault contract: what a repair agent needs and no more.
// StopReason is null when the tool ran to its end.
type DocFault struct {
	GateID     string    `json:"gate_id"`
	Invocation string    `json:"invocation"`
	Elapsed    float64   `json:"elapsed_seconds"`
	LastOutput []string  `json:"last_output_lines"` // at most 50
	StopReason *string   `json:"stop_reason"`
	ReproHints []string  `json:"repro_hints"`
	Line       int       `json:"line"`
	Text       string    `json:"text"`
	Error      *DocError `json:"error,omitempty"`
	Receipt    string    `json:"receipt,omitempty"`
	Log        []string  `json:"log,omitempty"`
}

// DocGate is the decision of a gate.
type DocGate struct {
	Verdict  string `json:"verdict"`
	ID       string `json:"id,omitempty"`
	SHA256   string `json:"sha256,omitempty"`
	Final    bool   `json:"final"`
	Level    string `json:"level,omitempty"`      // "L0": recorded by itself; "L1": under a key; "L2": by a notary
	Rules    string `json:"rules,omitempty"`      // see [receipts.Gate], Policy
	Clean    string `json:"clean,omitempty"`      // "clean": all ran in a clean checkout; "unconfined": in one without namespaces
	Failures int    `json:"failures,omitempty"`   // of the commands on exactly these files
	Early    int    `json:"early_ends,omitempty"` // likewise

	Members  int          `json:"members"`
	Required int          `json:"required"`
	Reused   int          `json:"reused,omitempty"`
	Tree     *DocTree     `json:"tree,omitempty"`
	New      []string     `json:"new_files,omitempty"` // that came during the run, and are not in tree: lines may have read them, and no clone has them
	Beyond   []string     `json:"beyond,omitempty"`    // why tree is not exact: "PATH: reason", the first of them
	Refusals []DocRefusal `json:"refusals,omitempty"`
	Detail   string       `json:"detail,omitempty"`

	noted int // how many there are, of which New has the first
}

// DocTree is the state of the files that a gate is about.
type DocTree struct {
	Tree  string `json:"tree,omitempty"` // as git would name it; absent outside of a repository
	Bytes string `json:"bytes"`
	Exact bool   `json:"exact"` // a clone of a commit of tree has these bytes
}

// DocRefusal is one reason why a gate refused.
type DocRefusal struct {
	Reason  string `json:"reason"`
	Step    string `json:"step,omitempty"`
	Message string `json:"message"`
}

// DocFinding is one diagnostic.
type DocFinding struct {
	Code      string   `json:"code"`
	Severity  string   `json:"severity"`
	File      string   `json:"file"`
	Line      int      `json:"line,omitempty"`
	Column    int      `json:"column,omitempty"`
	EndLine   int      `json:"end_line,omitempty"`
	EndColumn int      `json:"end_column,omitempty"`
	Message   string   `json:"message"`
	Hint      string   `json:"hint,omitempty"`
	Fixes     []DocFix `json:"fixes,omitempty"`
}

// DocFix is a change that would take the finding away. Its applicability is one of rustc's:
// MachineApplicable, MaybeIncorrect or HasPlaceholders.
type DocFix struct {
	Message       string    `json:"message"`
	Applicability string    `json:"applicability"`
	Edits         []DocEdit `json:"edits"`
}

// DocEdit replaces the bytes from Start to End (0-based, half open) of a file, which begin at
// Line and Column (1-based, code points).
type DocEdit struct {
	File   string `json:"file"`
	Start  int    `json:"start"`
	End    int    `json:"end"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	New    string `json:"new"`
}

// JSON writes d.
func JSON(w io.Writer, d *Document) error { return output.WriteJSON(w, d) }

// NewDocument makes the document of the outcome o, with the findings of the stages before.
// store is the path of the store, empty if there was none.
func NewDocument(o *engine.Outcome, findings diag.List, store string) *Document {
	d := &Document{
		Schema: Schema, Verdict: o.Verdict(), ExitStatus: o.ExitStatus(),
		Script:  script(o.Plan),
		Matrix:  &DocMatrix{Name: o.Plan.Matrix.Name, SHA256: o.Plan.Matrix.SHA256},
		Run:     o.Run,
		Session: o.Session, Nonce: o.Nonce, Started: stamp(o.Started), Elapsed: elapsed(o.Duration),
		Signal: o.Signal, Limit: o.Limit, KeepGoing: o.KeepGoing, Clean: o.Clean, Degraded: o.Degraded, Store: store,
		Counts: DocCounts{
			Lines: len(o.Results), Passed: o.Count(schedule.Passed), Failed: o.Count(schedule.Failed), Fault: o.Count(schedule.Fault),
			Flaky: o.Count(schedule.Flaky), Skipped: o.Count(schedule.Skipped), Cancelled: o.Count(schedule.Cancelled),
		},
		Tests:    tests(o.Tests()),
		Lines:    results(o.Plan, o.Results),
		Gate:     gate(o.Gate),
		Findings: Findings(findings),
		live:     o,
	}
	d.leaves(func(l *DocResult) { l.summed = l.live.Gate != nil && l.live.Gate == o.Gate })
	return d
}

// Read reads a document that [JSON] wrote.
func Read(r io.Reader) (*Document, error) {
	d := new(Document)
	if err := json.NewDecoder(r).Decode(d); err != nil {
		return nil, err
	}
	if d.Schema != Schema {
		return nil, fmt.Errorf("it is not a %s", Schema)
	}
	d.Lines = present(d.Lines)
	return d, nil
}

// present returns lines without what is null, and with the errors of documents that named the first alone.
func present(lines []*DocResult) []*DocResult {
	lines = slices.DeleteFunc(lines, func(l *DocResult) bool { return l == nil })
	for _, l := range lines {
		l.Members = present(l.Members)
		l.Errors = slices.DeleteFunc(l.Errors, func(e *DocError) bool { return e == nil })
		if len(l.Errors) == 0 && l.Error != nil {
			l.Errors, l.Count = []*DocError{l.Error}, 1
		}
		if l.Count = max(l.Count, len(l.Errors)); l.Error == nil {
			l.Error = first(l.Errors)
		}
	}
	return lines
}

// leaves calls f for each leaf below lines, in order.
func (d *Document) leaves(f func(*DocResult)) { leaves(d.Lines, f) }

// Contradictions says in a sentence each how the summary of a document that was read is not that of its lines and its gate.
func (d *Document) Contradictions() (list []string) {
	var counts DocCounts
	var sum DocTests
	fault, failed, refused := false, false, false
	for _, l := range d.Lines {
		counts.Lines++
		switch l.Verdict {
		case "passed":
			counts.Passed++
		case "failed":
			counts.Failed++
		case "fault":
			counts.Fault++
			fault = true
		case "flaky":
			counts.Flaky++
		case "skipped":
			counts.Skipped++
		case "cancelled":
			counts.Cancelled++
		}
		if l.Bad() || len(l.Members) == 0 {
			continue
		}
		leaves(l.Members, func(m *DocResult) {
			if m.Bad() {
				list = append(list, fmt.Sprintf("Line %s is %s, and its member %s %s.", clean(l.ID), clean(l.Verdict), clean(m.ID), clean(m.Verdict)))
			}
		})
	}
	d.leaves(func(l *DocResult) {
		if t := l.Tests; t != nil {
			sum.Passed, sum.Failed, sum.Skipped = sum.Passed+t.Passed, sum.Failed+t.Failed, sum.Skipped+t.Skipped
		}
		failed = failed || l.Verdict == "failed" && l.Reason != string(receipts.StopGateRefused)
		refused = refused || l.Gate != nil && l.Gate.Verdict == string(attempt.GateRefusal)
	})
	if counts != d.Counts {
		list = append(list, "The counts are not those of its lines: "+strings.Join(append([]string{diag.Number(counts.Lines, "line")}, counts.list()...), ", ")+".")
	}
	var tests DocTests
	if d.Tests != nil {
		tests = *d.Tests
	}
	if tests != sum {
		list = append(list, "The tests are not those of its lines: "+sum.String()+".")
	}
	gate := ""
	if d.Gate != nil {
		gate = d.Gate.Verdict
	}
	verdict := "passed"
	switch {
	case d.Signal != "":
		verdict = "interrupted"
	case d.Limit != "" || gate == string(attempt.GateVacuous) || fault:
		verdict = "fault"
	case failed:
		verdict = "failed"
	case refused || gate == string(attempt.GateRefusal) || gate == string(attempt.GateNotRun) || gate == "":
		verdict = "refused"
	}
	if verdict != d.Verdict {
		list = append(list, "Its lines and its gate make the run "+verdict+".")
	}
	return list
}

// Faults are the line faults of a run.
type Faults struct {
	Schema  string      `json:"schema"` // "dialect.faults/1"
	Run     string      `json:"run"`
	Script  string      `json:"script"`
	Verdict string      `json:"verdict"`
	Faults  []StepFault `json:"faults"`
}

// A StepFault is the line fault of a step.
type StepFault struct {
	Step string `json:"step"`
	*DocFault
}

// Faults returns the line faults of the document, in order.
func (d *Document) Faults() Faults {
	doc := Faults{Schema: "dialect.faults/1", Run: d.Run, Script: d.Script.Name, Verdict: d.Verdict, Faults: []StepFault{}}
	d.leaves(func(l *DocResult) {
		if l.Fault != nil {
			doc.Faults = append(doc.Faults, StepFault{l.ID, l.Fault})
		}
	})
	return doc
}

func leaves(lines []*DocResult, f func(*DocResult)) {
	for _, l := range lines {
		if len(l.Members) > 0 {
			leaves(l.Members, f)
		} else {
			f(l)
		}
	}
}

// At is the place of a line in its file, as `dialect run FILE:AT` takes it: LINE, or LINE.MEMBER of a member of its
// composite.
func (l *DocResult) At() string { return at(l.ID, l.Line) }

func at(id string, line int) string {
	_, member, ok := strings.Cut(id, ".")
	if ok {
		member = "." + member
	}
	return strconv.Itoa(line) + member
}

// Title is what a line is called: its text, or, of a member of a composite, the words of
// its binding.
func (l *DocResult) Title() string { return title(l.ID, l.Verb, l.Noun, l.Text) }

func title(id, verb, noun, text string) string {
	if strings.Contains(id, ".") && verb != "" {
		return verb + " " + noun
	}
	return text
}

// fewer reports whether fewer tests passed than in the last green run.
func (l *DocResult) fewer() bool { return l.Baseline != nil }

// missing says how many fewer: "17 fewer tests than g-6310ea6a781d". A run that counted none may have run them all.
func (l *DocResult) missing() string {
	if l.Tests == nil {
		return fmt.Sprintf("no test counted, %d passed in %s", l.Baseline.Passed, clean(cmp.Or(l.Baseline.Gate, l.Baseline.Run)))
	}
	n := l.Baseline.Passed - l.Tests.Passed
	word := "tests"
	if n == 1 {
		word = "test"
	}
	return fmt.Sprintf("%d fewer %s than %s", n, word, clean(cmp.Or(l.Baseline.Gate, l.Baseline.Run)))
}

// Bad reports whether the line failed or could not be completed.
func (l *DocResult) Bad() bool { return l.Verdict == "failed" || l.Verdict == "fault" }

// IsGate reports whether the line is a gate: its receipt, if it has one, is that of the gate.
func (l *DocResult) IsGate() bool {
	return l.Gate != nil && l.Kind == string(plan.Builtin) && len(l.Argv) > 0 && l.Argv[0] == plan.GateResults
}

// How says how the line ended: "failed, exit 1".
func (l *DocResult) How() string {
	text := l.Verdict
	if l.Verdict == "fault" {
		text += " " + l.Reason
	}
	if l.Detail != "" {
		text += ", " + clean(l.Detail)
	}
	return text
}

// String renders t: "3 tests (1 failed, 2 skipped)", where the 3 ran and the skipped ones did not.
func (t *DocTests) String() string { return diag.Number(t.Passed+t.Failed, "test") + t.notes() }

// count renders t where a heading says that tests are counted: "3 (1 failed, 2 skipped)".
func (t *DocTests) count() string { return fmt.Sprint(t.Passed+t.Failed) + t.notes() }

func (t *DocTests) notes() string {
	var notes []string
	if t.Failed > 0 {
		notes = append(notes, fmt.Sprintf("%d failed", t.Failed))
	}
	if t.Skipped > 0 {
		notes = append(notes, fmt.Sprintf("%d skipped", t.Skipped))
	}
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, ", ") + ")"
}

// list is the counts that are not 0, the worst first.
func (c DocCounts) list() (parts []string) {
	for _, x := range []struct {
		n    int
		word string
	}{{c.Fault, "fault"}, {c.Failed, "failed"}, {c.Flaky, "flaky"}, {c.Cancelled, "cancelled"}, {c.Skipped, "skipped"}, {c.Passed, "passed"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.word))
		}
	}
	return parts
}

// String is the error as one line: "file:line: test: message".
func (e *DocError) String() string {
	f := diagnose.Failure{Finding: diagnose.Finding{File: e.File, Line: e.Line, Message: e.Message}, Test: e.Test}
	return f.String()
}

// name is what a list calls the error: its test, else its place.
func (e *DocError) name() string {
	switch {
	case e.Test != "":
		return diag.ClipBytes(e.Test, 80)
	case e.File != "":
		return diagnose.Finding{File: e.File, Line: e.Line}.Place()
	}
	return diag.ClipBytes(e.Message, 60)
}

func tests(t *receipts.Tests) *DocTests {
	if t == nil {
		return nil
	}
	return &DocTests{t.Passed, t.Failed, t.Skipped}
}

func docErrors(list diagnose.Failures) (docs []*DocError) {
	for _, f := range list.List {
		d := &DocError{Test: clean(f.Test), Package: clean(f.Package), File: clean(f.File), Line: f.Line, Column: f.Column, Message: clean(f.Message)}
		for _, l := range f.Detail {
			d.Detail = append(d.Detail, clean(l))
		}
		docs = append(docs, d)
	}
	return docs
}

func first(docs []*DocError) *DocError {
	if len(docs) == 0 {
		return nil
	}
	return docs[0]
}

// StaticJSON writes the document of a script that did not run because of its
// findings.
func StaticJSON(w io.Writer, name string, findings diag.List, status int) error {
	return output.WriteJSON(w, &Document{
		Schema: Schema, Verdict: "fault", ExitStatus: status,
		Script: DocScript{Name: name}, Lines: []*DocResult{}, Findings: Findings(findings),
	})
}

// Unended returns the document of a run of a script that has no other, and why.
func Unended(script, why string) *Document {
	return &Document{Schema: Schema, Verdict: "fault", ExitStatus: 2, Script: DocScript{Name: script}, Limit: why, Lines: []*DocResult{}}
}

// Findings converts diagnostics to their JSON form.
func Findings(l diag.List) []DocFinding {
	out := make([]DocFinding, 0, len(l))
	for _, d := range l {
		d = d.HideKeys()
		out = append(out, DocFinding{
			Code: string(d.Code), Severity: d.Severity.String(), File: d.File,
			Line: d.Span.Start.Line, Column: d.Span.Start.Column, EndLine: d.Span.End.Line, EndColumn: d.Span.End.Column,
			Message: d.Message, Hint: d.Hint, Fixes: docFixes(d.Fixes),
		})
	}
	return out
}

func docFixes(fixes []diag.Fix) (out []DocFix) {
	for _, f := range fixes {
		x := DocFix{Message: f.Message, Applicability: f.Applicability.String()}
		for _, e := range f.Edits {
			at := e.Span.Start
			x.Edits = append(x.Edits, DocEdit{e.File, at.Offset, e.Span.End.Offset, at.Line, at.Column, e.New})
		}
		out = append(out, x)
	}
	return out
}

func script(p *plan.Plan) DocScript {
	return DocScript{Name: p.Script.Name, Path: p.Script.Path, SHA256: p.Script.SHA256, Part: p.Script.Part, Flags: p.Script.Flags}
}

func results(p *plan.Plan, rs []*engine.Result) []*DocResult {
	out := make([]*DocResult, 0, len(rs))
	for _, r := range rs {
		out = append(out, newResult(p, r))
	}
	return out
}

// newResult makes the part of a document that is about one line or member.
func newResult(p *plan.Plan, r *engine.Result) *DocResult {
	s := r.Step
	d := &DocResult{
		ID: s.ID, File: s.Line.File, Line: s.Line.Number, Text: s.Line.Text, Binding: s.Binding,
		Verb: s.Verb, Noun: s.Noun,
		Waited: elapsed(r.Waited), Tests: tests(r.Tests), Errors: docErrors(r.Failures), Count: r.Failures.Total,
		Kind: string(s.Kind), Effect: string(s.Effect), Argv: s.Argv,
		Verdict: string(r.Verdict), Reason: string(r.Reason), Detail: r.Detail, By: r.By,
		Started: stamp(r.Started), Elapsed: elapsed(r.Duration), Attempts: r.Attempts,
		Required: s.ReceiptRequired, Degraded: r.Degraded, Gate: gate(r.Gate), live: r,
	}
	d.Error = first(d.Errors)
	if s.Kind == plan.Process {
		d.Dir = s.Dir
	}
	if !r.Receipt.IsZero() && !r.Degraded { // else it is in no store
		d.Receipt = r.Receipt.String()
	}
	for _, e := range r.Earlier {
		d.Earlier = append(d.Earlier, e.String())
	}
	if b := r.Baseline; b != nil {
		d.Baseline = &DocBaseline{b.Passed, b.Run, b.Gate}
	}
	if pr := r.Process; pr != nil {
		if pr.ExitCode >= 0 && pr.Signal == "" {
			d.ExitCode = &pr.ExitCode
		}
		d.Signal, d.Notes = pr.Signal, pr.Notes
		d.Stdout, d.Stderr = docOutput(pr.Stdout), docOutput(pr.Stderr)
	}
	if r.Verdict.Bad() && s.Kind != plan.Composite && r.Gate == nil {
		d.Fault = Fault(p, r)
	}
	if s.Kind == plan.Composite {
		d.Members = results(p, r.Members)
	}
	return d
}

// Fault is the line-fault contract of a result that failed or could not be
// completed.
func Fault(p *plan.Plan, r *engine.Result) *DocFault {
	const most = 50
	line := r.Step.Line
	f := &DocFault{
		GateID: r.Step.Binding, Invocation: Command(r.Step.Argv), Elapsed: elapsed(r.Duration),
		ReproHints: []string{rerun(script(p), line.File, at(r.Step.ID, line.Number), line.Text)},
		Line:       line.Number, Text: line.Text, Error: first(docErrors(r.Failures)),
	}
	if r.Process != nil {
		f.LastOutput = lastLines(outputLines(r.Process.Tail), most, math.MaxInt)
		for _, out := range []process.Output{r.Process.Stdout, r.Process.Stderr} {
			if out.Log != "" {
				f.Log = append(f.Log, filepath.Clean(out.Log))
			}
		}
	}
	if f.LastOutput == nil {
		f.LastOutput = []string{}
	}
	missing := r.Reason == receipts.StopEnvMissing
	switch unfetched, command := f.Unfetched(); {
	case missing && r.Step.Install != "":
		f.ReproHints = append(f.ReproHints, r.Step.Install)
	case command != "":
		f.ReproHints = append(f.ReproHints, "its output says that a package could not be fetched: run `"+command+"`")
	case unfetched != "":
		f.ReproHints = append(f.ReproHints, "its output says that a package could not be fetched: look at the network")
	case !missing && r.Step.Hint != "":
		f.ReproHints = append(f.ReproHints, r.Step.Hint)
	}
	if r.Verdict == schedule.Fault {
		reason := string(r.Reason)
		f.StopReason = &reason
	}
	if !r.Receipt.IsZero() && !r.Degraded {
		f.Receipt = r.Receipt.String()
	}
	return f
}

// Unfetched returns what the last output says of a package that could not be fetched, and the command that fetches it, as
// [diagnose.Unfetched] does. A test that failed may print what it likes: where one did, both are empty.
func (f *DocFault) Unfetched() (line, command string) {
	if f.Error != nil && f.Error.Test != "" {
		return "", ""
	}
	line, command = diagnose.Unfetched([]byte(strings.Join(f.LastOutput, "\n")))
	return Plain(line), command
}

func gate(g *attempt.Decision) *DocGate {
	if g == nil {
		return nil
	}
	d := &DocGate{
		Verdict: string(g.Verdict), ID: g.ID, Final: g.Final,
		Members: g.Members, Required: g.Required, Detail: g.Detail,
	}
	if g.Verdict == attempt.GatePassed {
		d.SHA256, d.Level, d.Rules, d.Failures, d.Early = g.SHA.String(), "L"+string(rune('0'+g.Level)), g.Policy, g.Failures, g.Early
		d.Reused, d.Clean = g.Reused, g.Ground.Name()
	}
	if g.Tree != nil {
		d.Tree = &DocTree{g.Tree.Tree, g.Tree.Bytes.String(), g.Tree.Exact}
	}
	for _, b := range g.Beyond {
		d.Beyond = append(d.Beyond, clean(b))
	}
	d.noted = len(g.Noted)
	for _, f := range g.Noted[:min(len(g.Noted), 100)] {
		d.New = append(d.New, clean(f))
	}
	for _, r := range g.Refusals {
		d.Refusals = append(d.Refusals, DocRefusal{Reason: string(r.Reason), Step: r.Step, Message: clean(r.Error())})
	}
	return d
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func elapsed(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

// CheckSchema names the document that [CheckJSON] writes.
const CheckSchema = "dialect.check/1"

// A CheckDocument is what `dialect check --json` prints.
type CheckDocument struct {
	Schema   string       `json:"schema"`
	Errors   int          `json:"errors"`
	Warnings int          `json:"warnings"`
	Findings []DocFinding `json:"diagnostics"`
}

// CheckJSON writes findings as one JSON document.
func CheckJSON(w io.Writer, l diag.List) error {
	return output.WriteJSON(w, &CheckDocument{CheckSchema, l.Count(diag.Error), l.Count(diag.Warning), Findings(l)})
}

func docOutput(o process.Output) *DocOutput {
	return &DocOutput{SHA256: hex.EncodeToString(o.SHA256[:]), Bytes: o.Bytes, Log: o.Log}
}

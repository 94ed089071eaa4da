package receipts

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Status is how a command ended, in the words of the receipt doctrine.
type Status string

// The statuses. All but Pending are terminal.
const (
	Succeeded     Status = "succeeded"
	StatusFailed  Status = "failed"
	NotConfigured Status = "not_configured"
	Pending       Status = "pending"
)

// A Receipt says that a command was carried out, and with what result. Absent
// members are left out of the body.
//
// What it does not say: that the command did what its name promises, or that
// its writer told the truth; see the trust levels of the README.
type Receipt struct {
	Version int `json:"version"` // 1

	// Command is [CommandHash] of Argv, the template's argv after substitution and
	// before PATH look-up. Argv may carry arguments by digest, or without their secrets;
	// Command is over all that the package documentation says.
	Argv    []Datum `json:"argv"`
	Command Hash    `json:"command"`
	Kind    string  `json:"kind"` // "process", "builtin", "mcp", "task"
	Attempt int     `json:"attempt"`
	// Dispatch counts the machines that the attempt was handed to, 1-based; absent where the orchestrator
	// itself carried it out. Only the last one reports.
	Dispatch int `json:"dispatch,omitempty"`

	Timestamp  Time  `json:"timestamp"`   // of the start
	DurationNS int64 `json:"duration_ns"` // at most 2^53-1

	Status     Status     `json:"status"`
	StopReason StopReason `json:"stop_reason,omitempty"`
	ExitCode   *int       `json:"exit_code,omitempty"` // absent if it did not exit
	Signal     string     `json:"signal,omitempty"`
	Stdout     Stream     `json:"stdout"`
	Stderr     Stream     `json:"stderr"`

	Session string `json:"session"`
	Run     string `json:"run"`
	Step    string `json:"step"` // "3.2": the second member of the third command
	Line    Line   `json:"line"`
	Binding string `json:"binding,omitempty"`
	Dir     Datum  `json:"dir,omitzero"` // it ran in, relative to the root of the project; absent for the root
	// Place is the root of the project, relative to that of the working tree; absent
	// where they are the same. A run in one place proves nothing for another.
	Place  Datum   `json:"place,omitzero"`
	Values []Value `json:"values,omitempty"`

	Executable  *File `json:"executable,omitempty"`
	Environment Hash  `json:"environment,omitzero"`
	Matrix      Hash  `json:"matrix,omitzero"`
	Script      Hash  `json:"script,omitzero"`
	// Inputs is the digest of the files outside of the tree that the binding names as
	// deciding (`inputs` of the matrix); absent if it names none. With Clean it is the digest of the files in the
	// clean checkout, and does not describe the working tree.
	Inputs Hash `json:"inputs,omitzero"`
	// InputsAfter is that digest after the command had ended, if the command may write and the inputs changed: a pass is about these.
	InputsAfter Hash `json:"inputs_after,omitzero"`
	// Scope is the digest of those files of Workspace.Before that the binding names as what its verdict is
	// about (`files` of the matrix; package runtime/scope has the formula). It is absent where it names none, where
	// they match nothing, and where the command may write.
	Scope     Hash       `json:"scope,omitzero"`
	Workspace *Workspace `json:"workspace,omitempty"`
	// Clean is absent for what ran in the working tree itself.
	Clean *Clean `json:"clean,omitempty"`
	// Control is absent but for a command that ran on files that were broken on purpose.
	Control *Control `json:"control,omitempty"`
	Nonce   string   `json:"nonce,omitempty"`

	// Request is what a tool was asked that is not a process, in the canonical form of its
	// protocol (package runtime/mcpclient); Stdout is its answer then.
	Request *Stream `json:"request,omitempty"`

	// Signer is the id of the key that signs the record; absent where none does. With it
	// a signature that was taken away is missed.
	Signer string `json:"signer,omitempty"`

	// Reused is the receipt whose result this one repeats: nothing was executed.
	Reused Hash `json:"reused,omitzero"`

	// Apart says that the runs that the command started do not count for it: the runs of an agent, except the gate that it handed back, and
	// those of a line whose binding says so. Package verify calls the command's step, and these runs, apart.
	Apart bool `json:"apart,omitempty"`
	// HandedBack is the gate that the agent of a task handed back, and that this success rests on.
	HandedBack Hash `json:"handed_back,omitzero"`

	// What the tool itself claims.
	Result  Datum   `json:"result,omitzero"`  // its own JSON, as an opaque text
	Effects Datum   `json:"effects,omitzero"` // likewise
	Handle  *Handle `json:"handle,omitempty"`
	Tests   *Tests  `json:"tests,omitempty"`
}

// A Stream describes one output.
type Stream struct {
	SHA256 Hash  `json:"sha256"` // of the whole output
	Bytes  int64 `json:"bytes"`
	Log    Hash  `json:"log,omitzero"` // of what was kept, where that is not all
}

// A Line is the place in a script that a command came from.
type Line struct {
	File   Datum `json:"file"`
	Number int   `json:"number"` // 1-based
	Text   Datum `json:"text"`
}

// A Value is a value of the line, and the placeholder that it filled.
type Value struct {
	Name string `json:"name,omitempty"`
	Text Datum  `json:"text"`
}

// A File is a file by path and content.
type File struct {
	Path   Datum `json:"path"`
	SHA256 Hash  `json:"sha256,omitzero"`
}

// A Workspace says what tree a command ran on. After a command that only reads no snapshot is taken: the gate of its run looks
// whether the tree is still the one before it. Who may use the receipt without that gate needs Still: a pass that a
// later run reuses, or that is gated elsewhere.
type Workspace struct {
	Before  Tree    `json:"before"`
	After   *Tree   `json:"after,omitempty"`
	Still   bool    `json:"still,omitempty"`   // a command that only reads: the files were those of Before, and its inputs the same, when it had ended
	Changed []Datum `json:"changed,omitempty"` // paths that differ between the two, at most MaxChanged
	More    int     `json:"more,omitempty"`    // of them that found no room
}

// MaxChanged is the greatest number of changed paths in a [Workspace].
const MaxChanged = 20

// Held returns the tree that the result of the command speaks for: that before it,
// unless it changed it.
func (w *Workspace) Held() Tree {
	if w.After != nil {
		return *w.After
	}
	return w.Before
}

// At is the place of the line of r in its file, as `dialect run FILE:AT` takes it: LINE, or LINE.MEMBER of a member of a composite.
func (r *Receipt) At() string {
	text := strconv.Itoa(r.Line.Number)
	if _, member, ok := strings.Cut(r.Step, "."); ok {
		text += "." + member
	}
	return text
}

// IsMember reports whether r is of a member of a composite: the text of its line is that of the composite.
func (r *Receipt) IsMember() bool { return strings.Contains(r.Step, ".") }

// HeldInputs is the digest of the inputs that r vouches for.
func (r *Receipt) HeldInputs() Hash {
	if !r.InputsAfter.IsZero() {
		return r.InputsAfter
	}
	return r.Inputs
}

// HadInputs reports whether inputs are those that the command of r began with, or those that it left: where it fails, nobody knows
// which of them that was about.
func (r *Receipt) HadInputs(inputs Hash) bool { return inputs == r.Inputs || inputs == r.HeldInputs() }

// Looked reports whether the files were looked at when the command had ended.
func (w *Workspace) Looked() bool { return w != nil && (w.Still || w.After != nil) }

// ExactOn reports whether each tree of w that is t is exact.
func (w *Workspace) ExactOn(t Tree) bool {
	return w == nil || (w.Before.Exact || !w.Before.Matches(t)) && (w.After == nil || w.After.Exact || !w.After.Matches(t))
}

// A Tree is a state of the files: the git tree id that they would have if
// committed, and a digest of their bytes.
type Tree struct {
	Tree  string `json:"tree,omitempty"` // hex, as git prints it
	Bytes Hash   `json:"bytes"`
	// Exact says that a clone of a commit of Tree has just these bytes. Without it
	// Tree is a name for what git would store, and not for what ran.
	Exact bool `json:"exact,omitempty"`
}

// A Handle is a mutating tool's reference to what it made or changed.
type Handle struct {
	Route         Datum `json:"route,omitzero"`
	Type          Datum `json:"type,omitzero"`
	Operation     Datum `json:"operation,omitzero"`
	Status        Datum `json:"status,omitzero"`
	ExternalID    Datum `json:"external_id,omitzero"`
	VerifiableURL Datum `json:"verifiable_url,omitzero"`
	Preview       Datum `json:"preview,omitzero"`
	Error         Datum `json:"error,omitzero"`
}

// Tests counts what a test runner ran.
type Tests struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

// Add adds the counts of o.
func (t *Tests) Add(o Tests) {
	t.Passed, t.Failed, t.Skipped = t.Passed+o.Passed, t.Failed+o.Failed, t.Skipped+o.Skipped
}

// Ran is the number of tests that came to a result.
func (t Tests) Ran() int { return t.Passed + t.Failed }

// A Counting names a command under a binding, whose tests are asked for.
type Counting struct {
	Binding string
	Command Hash
}

// Tested counts the tests of a gate, and those of the last gate before it.
type Tested struct {
	Tests
	Before *Tests // of the same bindings at Gate, which is about other files; nil if there is none
	Gate   Hash
}

// String renders t: "253 tests, 17 fewer than at g-6310ea6a781d".
func (t *Tested) String() string {
	if t.Before != nil && t.Tests == (Tests{}) { // nothing was said of tests, or that there were none
		return fmt.Sprintf("no test counted, %d ran at %s", t.Before.Ran(), GateID(t.Gate))
	}
	number := func(n int, word string) string {
		if n == 1 {
			return "1 " + word
		}
		return fmt.Sprintf("%d %ss", n, word)
	}
	text := number(t.Ran(), "test")
	switch {
	case t.Failed > 0 && t.Skipped > 0:
		text += fmt.Sprintf(" (%d failed, %d skipped)", t.Failed, t.Skipped)
	case t.Failed > 0: // and the exit status passed
		text += fmt.Sprintf(" (%d failed)", t.Failed)
	case t.Skipped > 0:
		text += fmt.Sprintf(" (%d skipped)", t.Skipped)
	}
	if t.Before != nil {
		switch n := t.Ran() - t.Before.Ran(); {
		case n < 0:
			text += fmt.Sprintf(", %d fewer than at %s", -n, GateID(t.Gate))
		case n > 0:
			text += fmt.Sprintf(", %d more than at %s", n, GateID(t.Gate))
		default:
			text += ", as many as at " + GateID(t.Gate)
		}
	}
	return text
}

// Record returns the record of r. Its body always fits: where it would be larger than
// [MaxBody], the longest texts are carried by digest; if that is not enough all of Argv
// is, as one Datum with the digest Command, and then all of Values, as one Datum over
// their canonical JSON; the directories come last.
func (r *Receipt) Record() (Record, error) {
	c := r.copy()
	return fit(KindReceipt, c, c.texts(),
		once(func() { c.Argv = c.wholeArgv() }), once(func() { c.Values = c.wholeValues() }),
		once(func() { c.Dir, c.Place = c.Dir.Digest(), c.Place.Digest() }))
}

func (r *Receipt) check() error {
	switch {
	case r.Version != 1:
		return fmt.Errorf("version %d; this is version 1", r.Version)
	case len(r.Argv) == 0:
		return errors.New("no argv")
	case r.Attempt < 1:
		return errors.New("attempts count from 1")
	case r.Dispatch < 0:
		return errors.New("dispatches count from 1")
	case r.DurationNS < 0:
		return errors.New("a negative duration")
	case !slices.Contains([]Status{Succeeded, StatusFailed, NotConfigured, Pending}, r.Status):
		return fmt.Errorf("unknown status %q", r.Status)
	case !r.StopReason.Known():
		return fmt.Errorf("unknown stop reason %q", r.StopReason)
	case r.Line.Number < 1:
		return errors.New("lines count from 1")
	case r.Stdout.Bytes < 0 || r.Stderr.Bytes < 0 || r.Request != nil && r.Request.Bytes < 0:
		return errors.New("a negative length")
	}
	whole := true
	argv := make([]string, len(r.Argv))
	for i, d := range r.Argv {
		argv[i], whole = d.Text, whole && d.Carried()
	}
	if whole && CommandHash(argv) != r.Command {
		return errors.New("the command's digest is not that of argv")
	}
	if w := r.Workspace; w != nil && (len(w.Changed) > MaxChanged || w.More < 0 || w.After == nil && len(w.Changed) > 0) {
		return errors.New("a list of changed paths that cannot be")
	}
	if err := errors.Join(r.Clean.check(), r.Control.check(r)); err != nil {
		return err
	}
	if r.Executable != nil && r.Executable.Path.IsZero() {
		return errors.New("an executable without a path")
	}
	texts := []string{r.Kind, r.Signal, r.Signer, r.Session, r.Run, r.Step, r.Binding, r.Nonce}
	for _, v := range r.Values {
		texts = append(texts, v.Name)
	}
	if w := r.Workspace; w != nil {
		texts = append(texts, w.Before.Tree)
		if w.After != nil {
			texts = append(texts, w.After.Tree)
		}
	}
	return checkNames(texts...)
}

// A Run says that a run began. It is durable before the first command starts,
// so that killing a run that is about to fail leaves a trace.
type Run struct {
	Version int    `json:"version"` // 1
	Run     string `json:"run"`
	Session string `json:"session"`
	Started Time   `json:"started"`
	Nonce   string `json:"nonce,omitempty"`
	Script  File   `json:"script"`
	Matrix  *File  `json:"matrix,omitempty"`
	Part    bool   `json:"part,omitempty"` // one line of the script was asked for
	// Parent is the step of another run that started this one: "RUN/STEP".
	Parent string `json:"parent,omitempty"`
	// Signer is as in [Receipt].
	Signer string `json:"signer,omitempty"`
	// Tree is that of the workspace before the first command.
	Tree    *Tree     `json:"tree,omitempty"`
	Planned []Planned `json:"planned"`
	// More is the number of planned commands that found no room.
	More    int    `json:"more,omitempty"`
	Dialect string `json:"dialect"` // version of the program
	System  string `json:"system"`  // "linux/amd64"
}

// A Planned is a command that a run set out to carry out.
type Planned struct {
	Step     string `json:"step"`
	Line     int    `json:"line"`
	Binding  string `json:"binding,omitempty"`
	Command  Hash   `json:"command,omitzero"` // see [CommandHash]; zero for what a run --defer-gate may have no receipt of: gates, and lines for after a failure
	Required bool   `json:"required,omitempty"`
}

// Record returns the record of r. Planned commands beyond what a body holds are
// counted in More, and a path of a length that no system has is carried by digest.
func (r *Run) Record() (Record, error) {
	c := *r
	names(&c.Run, &c.Session, &c.Nonce, &c.Parent, &c.Signer, &c.Dialect, &c.System)
	c.Tree, c.Planned = r.Tree.name(), slices.Clone(r.Planned)
	for i := range c.Planned {
		names(&c.Planned[i].Step, &c.Planned[i].Binding)
	}
	paths := []*Datum{&c.Script.Path}
	if r.Matrix != nil {
		m := *r.Matrix
		c.Matrix = &m
		paths = append(paths, &m.Path)
	}
	for _, p := range paths {
		if len(p.Text) > MaxText {
			*p = p.Digest()
		}
	}
	return fit(KindRun, &c, nil, func() bool {
		n := len(c.Planned)
		c.Planned, c.More = c.Planned[:n/2], c.More+n-n/2
		return n > 0
	})
}

func (r *Run) check() error {
	switch {
	case r.Version != 1:
		return fmt.Errorf("version %d; this is version 1", r.Version)
	case r.Run == "" || r.Session == "":
		return errors.New("a run without an id or a session")
	case r.Planned == nil:
		return errors.New("no list of planned commands")
	}
	texts := []string{r.Run, r.Session, r.Nonce, r.Parent, r.Signer, r.Dialect, r.System}
	for _, p := range r.Planned {
		texts = append(texts, p.Step, p.Binding)
	}
	if r.Tree != nil {
		texts = append(texts, r.Tree.Tree)
	}
	return checkNames(texts...)
}

// A Gate is a gate receipt: it says that the receipts of certain lines were valid
// and were consumed for it. A gate that refuses leaves no record.
type Gate struct {
	Version   int    `json:"version"` // 1
	Run       string `json:"run"`
	Session   string `json:"session"`
	Timestamp Time   `json:"timestamp"`
	Nonce     string `json:"nonce,omitempty"`

	// Final says that it ended a whole script. Part says that only one line of
	// the script was asked for; it is then never final.
	Final  bool   `json:"final"`
	Part   bool   `json:"part,omitempty"`
	Script Hash   `json:"script,omitzero"`
	Matrix Hash   `json:"matrix,omitzero"`
	Covers Covers `json:"covers"`
	Place  Datum  `json:"place,omitzero"` // as in [Receipt]
	// Clean is the [Ground.Name] of the least of where its members ran, as its producer counts.
	Clean string `json:"clean,omitempty"`

	// Members are the receipts and the earlier gates that it consumed, in the
	// order of the script. There are at most MaxMembers: a larger gate has gates
	// over parts of them as its members.
	Members  []Hash `json:"members"`
	Required int    `json:"required"`         // how many of them the matrix insists on
	Reused   int    `json:"reused,omitempty"` // how many of them repeat an earlier result
	Level    int    `json:"level"`            // lowest trust level of the members
	Policy   string `json:"policy"`           // what the producer compared the matrix with; see the constants
	Tree     *Tree  `json:"tree,omitempty"`
	// Rest is the digest of those files of Tree that the binding of no line of the script names, of those lines
	// too that did not run; absent where none of them names any. See Scope of [Receipt].
	Rest Hash `json:"rest,omitzero"`
	// Beyond says why Tree is not exact: "PATH: reason", at most MaxBeyond of them, and
	// BeyondMore counts the others.
	Beyond     []Datum `json:"beyond,omitempty"`
	BeyondMore int     `json:"beyond_more,omitempty"`
	// Came is how many files, not tracked and not in Tree, came or were written while a command read, or were left by the last command, which
	// wrote: commands may have read them.
	Came int `json:"came,omitempty"`

	// Parent is the step of another run that started this gate's run: "RUN/STEP".
	Parent string `json:"parent,omitempty"`
	// Nested are the gates of runs that commands of this one started, and receipts of such runs that no gate took in, of which more is known
	// than that they passed. Gates that nobody has consumed yet are consumed with it. They prove nothing for it: a command can
	// write anything into the store. Failures and repeated results in them count for it nevertheless.
	Nested []Hash `json:"nested,omitempty"`
	// Failed are the receipts of failures of its commands on the same files that were known when it was made, accepted or not: the last
	// MaxFailed of them, and, where there is room, those that other keys signed. FailedMore counts the others of the gate's level. A bundle without them would answer as if there had been none.
	// Early are likewise those of commands that were ended before they could answer.
	Failed     []Hash `json:"failed,omitempty"`
	FailedMore int    `json:"failed_more,omitempty"`
	Early      []Hash `json:"early,omitempty"`
	EarlyMore  int    `json:"early_more,omitempty"`
	// OtherMore counts those that name other keys, and for which neither had room, and those of Early that other keys settled.
	OtherMore int    `json:"other_more,omitempty"`
	Signer    string `json:"signer,omitempty"` // as in [Receipt]
}

// StepName names a step of a run for the runs that its command starts, as in [Gate.Parent]: "RUN/STEP".
func StepName(run, step string) string { return run + "/" + step }

// SplitStep returns the run and the step that [StepName] names.
func SplitStep(name string) (run, step string) {
	run, step, _ = strings.Cut(name, "/")
	return run, step
}

// TookIn returns the records that the one with this body rests on, or has taken in: the members of a gate and the gates nested
// in it, or the gate that an agent handed back.
func TookIn(body any) []Hash {
	switch b := body.(type) {
	case *Gate:
		return slices.Concat(b.Members, b.Nested)
	case *Receipt:
		if !b.HandedBack.IsZero() {
			return []Hash{b.HandedBack}
		}
	}
	return nil
}

// WrittenDuringRun begins the reason that it has for the place of a report that the run itself writes.
const WrittenDuringRun = "it is written while the run goes on"

// CameDuringRun is the reason that [Gate.Beyond] has for a file that came while the run went on.
const CameDuringRun = "it was created during the run"

// MaxFailed is the greatest number of receipts in [Gate.Failed], and in [Gate.Early].
const MaxFailed = 64

// MaxBeyond is the greatest number of reasons in [Gate.Beyond].
const MaxBeyond = 20

// What the producer of a gate compared its matrix with.
const (
	PolicyUnpinned = "unpinned" // against HEAD alone, or nothing
	PolicyPinned   = "pinned"   // against a pin of the user, or a named revision
	PolicyNew      = "new"      // HEAD does not have the matrix yet, and nobody named another baseline
	PolicyChanged  = "changed"  // it differs from what it was compared with
)

// Covers says which lines of the script a gate speaks for: all commands from the
// first line to the last. Lines are 1-based; all is zero where there is no script.
type Covers struct {
	FirstLine int `json:"first_line"`
	LastLine  int `json:"last_line"`
	Commands  int `json:"commands"`
}

// MaxMembers is the greatest number of members of one gate, and of records that
// one consumption names, so that a body keeps below MaxBody.
const MaxMembers = 512

// Record returns the record of g. Its lists are bounded, and so fit; the texts in Beyond
// are carried by digest where they are too long.
func (g *Gate) Record() (Record, error) {
	c := *g
	names(&c.Run, &c.Session, &c.Nonce, &c.Policy, &c.Parent, &c.Signer)
	c.Tree, c.Beyond = g.Tree.name(), slices.Clone(g.Beyond)
	if _, err := ParseGround(c.Clean); err != nil {
		c.Clean = "" // the least claim
	}
	var texts []*Datum
	for i := range c.Beyond {
		texts = append(texts, &c.Beyond[i])
	}
	return fit(KindGate, &c, texts, once(func() { c.Place = c.Place.Digest() }))
}

func (g *Gate) check() error {
	switch {
	case g.Version != 1:
		return fmt.Errorf("version %d; this is version 1", g.Version)
	case g.Run == "" || g.Session == "":
		return errors.New("a gate without a run or a session")
	case g.Members == nil:
		return errors.New("a gate without a list of members")
	case g.Came < 0:
		return errors.New("a number of files below zero")
	case len(g.Beyond) > MaxBeyond || g.BeyondMore < 0 || len(g.Beyond) > 0 && (g.Tree == nil || g.Tree.Exact):
		return errors.New("a list of what is beyond the tree that cannot be")
	case len(g.Members)+len(g.Nested) > MaxMembers:
		return fmt.Errorf("%d members; at most %d", len(g.Members)+len(g.Nested), MaxMembers)
	case max(len(g.Failed), len(g.Early)) > MaxFailed || min(g.FailedMore, g.EarlyMore, g.OtherMore) < 0:
		return fmt.Errorf("%d failures and %d early ends; at most %d of each", len(g.Failed), len(g.Early), MaxFailed)
	case g.Final && g.Part:
		return errors.New("a gate of a part is never final")
	}
	if g.Tree != nil {
		if err := checkNames(g.Tree.Tree); err != nil {
			return err
		}
	}
	if _, err := ParseGround(g.Clean); err != nil {
		return err
	}
	return checkNames(g.Run, g.Session, g.Nonce, g.Policy, g.Parent, g.Signer)
}

// GateID returns the short name of a gate receipt: "g-" and 12 hex digits. It is
// a name for people and prompts, looked up by unique prefix; it proves nothing.
func GateID(sha Hash) string { return "g-" + sha.Short() }

// A Consumption says that records were consumed. A record is consumed at most
// once in a store.
type Consumption struct {
	Version   int    `json:"version"` // 1
	Consumed  []Hash `json:"consumed"`
	By        string `json:"by"` // the gate's hash, or the consumer
	Purpose   string `json:"purpose,omitempty"`
	Timestamp Time   `json:"timestamp"`
	Signer    string `json:"signer,omitempty"` // as in [Receipt]
}

// Record returns the record of c.
func (c *Consumption) Record() (Record, error) {
	d := *c
	names(&d.By, &d.Signer)
	d.Purpose = short(d.Purpose, MaxText)
	return fit(KindConsumption, &d, nil)
}

func (c *Consumption) check() error {
	switch {
	case c.Version != 1:
		return fmt.Errorf("version %d; this is version 1", c.Version)
	case len(c.Consumed) == 0:
		return errors.New("nothing is consumed")
	case len(c.Consumed) > MaxMembers:
		return fmt.Errorf("%d records are consumed at once; at most %d", len(c.Consumed), MaxMembers)
	case c.By == "":
		return errors.New("nobody consumes")
	}
	seen := make(map[Hash]bool, len(c.Consumed))
	for _, h := range c.Consumed {
		if seen[h] {
			return fmt.Errorf("%s is consumed twice", h.Short())
		}
		seen[h] = true
	}
	return errors.Join(checkNames(c.By, c.Signer), checkTexts(MaxText, c.Purpose))
}

// A Settlement ends a receipt that was pending, once.
type Settlement struct {
	Version   int     `json:"version"` // 1
	Receipt   Hash    `json:"receipt"`
	Status    Status  `json:"status"` // terminal
	Handle    *Handle `json:"handle,omitempty"`
	By        string  `json:"by"`
	Timestamp Time    `json:"timestamp"`
	Signer    string  `json:"signer,omitempty"` // as in [Receipt]
}

// Record returns the record of s.
func (s *Settlement) Record() (Record, error) {
	c := *s
	names(&c.By, &c.Signer)
	c.Handle = s.Handle.copy()
	return fit(KindSettlement, &c, c.Handle.texts())
}

func (s *Settlement) check() error {
	switch {
	case s.Version != 1:
		return fmt.Errorf("version %d; this is version 1", s.Version)
	case s.Receipt.IsZero():
		return errors.New("nothing is settled")
	case !slices.Contains([]Status{Succeeded, StatusFailed, NotConfigured}, s.Status):
		return fmt.Errorf("settled as %q, which is not terminal", s.Status)
	case s.By == "":
		return errors.New("nobody settles")
	}
	return checkNames(s.By, s.Signer)
}

// A Trust is a decision of a person that a verdict rests on: that a matrix is
// trusted, or that a failure before a pass does not matter.
type Trust struct {
	Version   int    `json:"version"` // 1
	What      string `json:"what"`    // TrustMatrix or TrustFlaky
	Matrix    Hash   `json:"matrix,omitzero"`
	Files     []File `json:"files,omitempty"`    // that make up the policy; Matrix is over all of them
	More      int    `json:"more,omitempty"`     // of them that found no room
	Receipts  []Hash `json:"receipts,omitempty"` // of failures that are accepted, at most MaxMembers
	Reason    string `json:"reason,omitempty"`
	By        string `json:"by"`
	Timestamp Time   `json:"timestamp"`
	Signer    string `json:"signer,omitempty"` // as in [Receipt]
}

// SignerOf returns the id of the key that a body says has signed its record; empty if it
// says none.
func SignerOf(body any) string {
	switch b := body.(type) {
	case *Run:
		return b.Signer
	case *Receipt:
		return b.Signer
	case *Gate:
		return b.Signer
	case *Consumption:
		return b.Signer
	case *Settlement:
		return b.Signer
	case *Trust:
		return b.Signer
	case *Notary:
		return b.Signer
	case *Closing:
		return b.Signer
	}
	return ""
}

// What a [Trust] is about.
const (
	TrustMatrix = "matrix"
	TrustFlaky  = "flaky"
)

// Record returns the record of t. Files beyond what a body holds are counted in More.
func (t *Trust) Record() (Record, error) {
	c := *t
	names(&c.By, &c.Signer)
	c.Reason, c.Files = short(t.Reason, MaxText), slices.Clone(t.Files)
	var texts []*Datum
	for i := range c.Files {
		texts = append(texts, &c.Files[i].Path)
	}
	return fit(KindTrust, &c, texts, func() bool {
		n := len(c.Files)
		c.Files, c.More = c.Files[:n/2], c.More+n-n/2
		return n > 0
	})
}

func (t *Trust) check() error {
	switch {
	case t.Version != 1:
		return fmt.Errorf("version %d; this is version 1", t.Version)
	case t.What == TrustMatrix && !t.Matrix.IsZero() && len(t.Receipts) == 0:
	case t.What == TrustFlaky && len(t.Receipts) > 0 && t.Reason != "":
	default:
		return fmt.Errorf("trust in %q, without what it is about", t.What)
	}
	switch {
	case t.By == "":
		return errors.New("nobody trusts")
	case len(t.Receipts) > MaxMembers:
		return fmt.Errorf("%d failures are accepted at once; at most %d", len(t.Receipts), MaxMembers)
	case t.More < 0:
		return errors.New("a negative number of files")
	}
	return errors.Join(checkNames(t.What, t.By, t.Signer), checkTexts(MaxText, t.Reason))
}

// String returns the command of r as words, for people; arguments that are
// carried by digest are shown as such.
func (r *Receipt) String() string {
	words := make([]string, len(r.Argv))
	for i, d := range r.Argv {
		words[i] = d.String()
	}
	return strings.Join(words, " ")
}

// Duration returns the time that the command took.
func (r *Receipt) Duration() time.Duration { return time.Duration(r.DurationNS) }

package receipts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
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
// whoever wrote it told the truth; see the trust levels of the README.
type Receipt struct {
	Version int `json:"version"` // 1

	// Command is [CommandHash] of Argv, the template's argv after substitution and
	// before PATH look-up. Argv may carry arguments by digest; Command never does.
	Argv    []Datum `json:"argv"`
	Command Hash    `json:"command"`
	Kind    string  `json:"kind"` // "process", "builtin", "mcp", "task"
	Attempt int     `json:"attempt"`

	Timestamp  Time  `json:"timestamp"`   // of the start
	DurationNS int64 `json:"duration_ns"` // at most 2^53-1

	Status     Status `json:"status"`
	StopReason string `json:"stop_reason,omitempty"` // why it did not run to its end
	ExitCode   *int   `json:"exit_code,omitempty"`   // absent if it did not exit
	Signal     string `json:"signal,omitempty"`
	Stdout     Stream `json:"stdout"`
	Stderr     Stream `json:"stderr"`

	Session string  `json:"session"`
	Run     string  `json:"run"`
	Step    string  `json:"step"` // "3.2": the second member of the third command
	Line    Line    `json:"line"`
	Binding string  `json:"binding,omitempty"`
	Values  []Value `json:"values,omitempty"`

	Executable  *File      `json:"executable,omitempty"`
	Environment Hash       `json:"environment,omitzero"`
	Matrix      Hash       `json:"matrix,omitzero"`
	Script      Hash       `json:"script,omitzero"`
	Workspace   *Workspace `json:"workspace,omitempty"`
	Nonce       string     `json:"nonce,omitempty"`

	// What the tool itself claims.
	Result  string  `json:"result,omitempty"`  // its own JSON, as an opaque text
	Effects string  `json:"effects,omitempty"` // likewise
	Handle  *Handle `json:"handle,omitempty"`
	Tests   *Tests  `json:"tests,omitempty"`
}

// A Stream describes one output.
type Stream struct {
	SHA256 Hash  `json:"sha256"` // of all that was written
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

// A Workspace says what tree a command ran on, before and after.
type Workspace struct {
	Before Tree `json:"before"`
	After  Tree `json:"after"`
}

// A Tree is a state of the files: the git tree id that they would have if
// committed, and a digest of their bytes.
type Tree struct {
	Tree  string `json:"tree,omitempty"` // hex, as git prints it
	Bytes Hash   `json:"bytes"`
}

// A Handle is what a mutating tool returns of what it did.
type Handle struct {
	Route         string `json:"route,omitempty"`
	Type          string `json:"type,omitempty"`
	Operation     string `json:"operation,omitempty"`
	Status        string `json:"status,omitempty"`
	ExternalID    string `json:"external_id,omitempty"`
	VerifiableURL string `json:"verifiable_url,omitempty"`
	Preview       string `json:"preview,omitempty"`
	Error         string `json:"error,omitempty"`
}

// Tests counts what a test runner ran.
type Tests struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

// Record returns the record of r. Where the body would be larger than [MaxBody],
// long texts are carried by digest, and if that is not enough all of Argv is, as
// one Datum over its canonical JSON.
func (r *Receipt) Record() (Record, error) {
	rec, err := record(KindReceipt, r)
	if err == nil || !r.tooLarge() {
		return rec, err
	}
	s := *r
	s.shorten(256)
	if rec, err = record(KindReceipt, &s); err == nil || !s.tooLarge() {
		return rec, err
	}
	s.shorten(32)
	var n int64
	for _, d := range s.Argv {
		n += max(d.Bytes, int64(len(d.Text)))
	}
	s.Argv = []Datum{{SHA256: r.Command, Bytes: n}}
	if len(s.Values) > 64 {
		s.Values = s.Values[:64]
	}
	return record(KindReceipt, &s)
}

func (r *Receipt) tooLarge() bool {
	b, err := encode(r)
	return err == nil && len(b) > MaxBody
}

// shorten carries texts longer than limit bytes by digest.
func (r *Receipt) shorten(limit int) {
	short := func(d *Datum) {
		if len(d.Text) > limit {
			*d = d.Digest()
		}
	}
	r.Argv, r.Values = slices.Clone(r.Argv), slices.Clone(r.Values)
	for i := range r.Argv {
		short(&r.Argv[i])
	}
	for i := range r.Values {
		short(&r.Values[i].Text)
	}
	short(&r.Line.Text)
	short(&r.Line.File)
	for _, s := range []*string{&r.Result, &r.Effects} {
		if len(*s) > limit {
			*s = ""
		}
	}
}

func (r *Receipt) check() error {
	switch {
	case r.Version != 1:
		return fmt.Errorf("version %d; this is version 1", r.Version)
	case len(r.Argv) == 0:
		return errors.New("no argv")
	case r.Attempt < 1:
		return errors.New("attempts count from 1")
	case r.DurationNS < 0:
		return errors.New("a negative duration")
	case !slices.Contains([]Status{Succeeded, StatusFailed, NotConfigured, Pending}, r.Status):
		return fmt.Errorf("unknown status %q", r.Status)
	case r.Line.Number < 1:
		return errors.New("lines count from 1")
	case r.Stdout.Bytes < 0 || r.Stderr.Bytes < 0:
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
	if r.Executable != nil && r.Executable.Path.IsZero() {
		return errors.New("an executable without a path")
	}
	texts := []string{r.Kind, r.StopReason, r.Signal, r.Session, r.Run, r.Step, r.Binding, r.Nonce, r.Result, r.Effects}
	for _, v := range r.Values {
		texts = append(texts, v.Name)
	}
	if h := r.Handle; h != nil {
		texts = append(texts, h.Route, h.Type, h.Operation, h.Status, h.ExternalID, h.VerifiableURL, h.Preview, h.Error)
	}
	return checkTexts(texts...)
}

func checkTexts(texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return fmt.Errorf("%q is not UTF-8", s)
		}
	}
	return nil
}

// A Run says that a run began. It is durable before the first command starts,
// so that killing a run that is about to fail leaves a trace.
type Run struct {
	Version int       `json:"version"` // 1
	Run     string    `json:"run"`
	Session string    `json:"session"`
	Started Time      `json:"started"`
	Nonce   string    `json:"nonce,omitempty"`
	Script  File      `json:"script"`
	Matrix  *File     `json:"matrix,omitempty"`
	Part    bool      `json:"part,omitempty"` // one line of the script was asked for
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
	Command  Hash   `json:"command,omitzero"` // of a process; see [CommandHash]
	Required bool   `json:"required,omitempty"`
}

// Record returns the record of r. Planned commands beyond what a body holds are
// counted in More.
func (r *Run) Record() (Record, error) {
	rec, err := record(KindRun, r)
	for keep := len(r.Planned); err != nil && keep > 0; {
		keep /= 2
		s := *r
		s.Planned, s.More = r.Planned[:keep], r.More+len(r.Planned)-keep
		rec, err = record(KindRun, &s)
	}
	return rec, err
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
	texts := []string{r.Run, r.Session, r.Nonce, r.Dialect, r.System}
	for _, p := range r.Planned {
		texts = append(texts, p.Step, p.Binding)
	}
	return checkTexts(texts...)
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

	// Members are the receipts and the earlier gates that it consumed, in the
	// order of the script. There are at most MaxMembers: a larger gate has gates
	// over parts of them as its members.
	Members  []Hash `json:"members"`
	Required int    `json:"required"` // how many of them the matrix insists on
	Level    int    `json:"level"`    // lowest trust level of the members
	Policy   string `json:"policy"`   // "unpinned"
	Tree     *Tree  `json:"tree,omitempty"`
}

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

// Record returns the record of g.
func (g *Gate) Record() (Record, error) { return record(KindGate, g) }

func (g *Gate) check() error {
	switch {
	case g.Version != 1:
		return fmt.Errorf("version %d; this is version 1", g.Version)
	case g.Run == "" || g.Session == "":
		return errors.New("a gate without a run or a session")
	case g.Members == nil:
		return errors.New("a gate without a list of members")
	case len(g.Members) > MaxMembers:
		return fmt.Errorf("%d members; at most %d", len(g.Members), MaxMembers)
	case g.Final && g.Part:
		return errors.New("a gate of a part is never final")
	}
	return checkTexts(g.Run, g.Session, g.Nonce, g.Policy)
}

// GateID returns the short name of a gate receipt: "g-" and 12 hex digits. It is
// a name for people and prompts, looked up by unique prefix; it proves nothing.
func GateID(sha Hash) string { return "g-" + sha.Short() }

// A Consumption says that records were consumed. A record is consumed at most
// once in a store.
type Consumption struct {
	Version   int    `json:"version"` // 1
	Consumed  []Hash `json:"consumed"`
	By        string `json:"by"` // the gate's hash, or whoever consumed
	Purpose   string `json:"purpose,omitempty"`
	Timestamp Time   `json:"timestamp"`
}

// Record returns the record of c.
func (c *Consumption) Record() (Record, error) { return record(KindConsumption, c) }

func (c *Consumption) check() error {
	switch {
	case c.Version != 1:
		return fmt.Errorf("version %d; this is version 1", c.Version)
	case len(c.Consumed) == 0:
		return errors.New("nothing is consumed")
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
	return checkTexts(c.By, c.Purpose)
}

// String returns the command of r as words, for people; arguments that are
// carried by digest are shown as such.
func (r *Receipt) String() string {
	words := make([]string, len(r.Argv))
	for i, d := range r.Argv {
		words[i] = d.Text
		if !d.Carried() {
			words[i] = fmt.Sprintf("<%d bytes, sha256 %s>", d.Bytes, d.SHA256.Short())
		}
	}
	return strings.Join(words, " ")
}

// Duration returns the time that the command took.
func (r *Receipt) Duration() time.Duration { return time.Duration(r.DurationNS) }

package attempt

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/blob"
	"github.com/command-dialect/dialect/runtime/cleanroom"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
	"github.com/command-dialect/dialect/runtime/tempdir"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// # Elsewhere
//
// An attempt can be made on another machine, by an executor of its own, with the plan that it made of the same script
// and matrix. What comes back is a [Delivery]: the receipt, signed by the key of that machine, and what people are shown.
// [Executor.Accept] believes what the receipt says and a key that it was given has signed, and of that nothing that
// contradicts its own plan. What is shown beside it, such as the last lines of output, is the word of the machine.

// A Delivery is what became of an attempt on another machine. Its secrets are taken out.
type Delivery struct {
	Step     string `json:"step"`
	Attempt  int    `json:"attempt"`
	Dispatch int    `json:"dispatch"`

	Body      []byte             `json:"body"` // of the receipt
	Signature receipts.Signature `json:"signature"`

	Brief    schedule.Brief    `json:"brief"`
	Started  time.Time         `json:"started"`
	Duration time.Duration     `json:"duration"`
	Process  *process.Result   `json:"process,omitempty"` // without its error, and without paths of the machine
	Failures diagnose.Failures `json:"failures,omitzero"`
	Cases    []diagnose.Case   `json:"cases,omitempty"`   // all tests, as files of test results have them; left out where they are too large
	Changed  []string          `json:"changed,omitempty"` // files that changed while a step ran which only reads
	Moved    string            `json:"moved,omitempty"`   // its inputs, where they did

	// Commit is what the depot of the run calls the files that a step left which changed some; empty for none.
	Commit string `json:"commit,omitempty"`

	// Output is what was written to standard output and standard error, where that is not too large; see [MaxOutput].
	Output [2][]byte `json:"output,omitempty"`
}

// MaxOutput is the greatest size of one stream that is delivered whole.
const MaxOutput = 1 << 20

// MaxDelivery bounds the text of a delivery, in bytes.
const MaxDelivery = 8 << 20

// Deliver returns what is sent of the report of an attempt, with the record that its store was given.
func (x *Executor) Deliver(r *Report, dispatch int, rec receipts.Record, g receipts.Signature) *Delivery {
	d := &Delivery{
		Step: r.Step.ID, Attempt: max(r.Attempts, 1), Dispatch: dispatch, Body: rec.Body, Signature: g,
		Brief: r.Brief(), Started: r.Started, Duration: r.Duration, Failures: r.Failures, Cases: r.Cases, Changed: r.changed, Moved: r.moved,
	}
	d.Brief.Text = x.opt.Redact.Text(d.Brief.Text)
	if p := r.Process; p != nil {
		own := *p
		own.Err, own.Left, own.Stdout.Head, own.Stderr.Head = nil, nil, nil, nil
		own.Tail = x.opt.Redact.Bytes(own.Tail)
		own.Notes = nil
		for _, n := range p.Notes {
			own.Notes = append(own.Notes, x.opt.Redact.Text(n))
		}
		for i, out := range []*process.Output{&own.Stdout, &own.Stderr} {
			d.Output[i] = logOf(x.opt.LogDir, out)
			out.Log = ""
		}
		d.Process = &own
	}
	return d
}

// logOf reads what was kept of a stream; nil if nothing was, or too much.
func logOf(dir string, out *process.Output) []byte {
	if dir == "" || out.Log == "" {
		return nil
	}
	f, _, err := blob.Open(context.Background(), dir, out.LogSHA256, MaxOutput)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil
	}
	return text
}

// A Worker says whose receipts are accepted.
type Worker struct {
	Keys   note.Verifiers
	Origin string // of the store that the receipts are for

	// Tree is what the run began with, where a process before this one began it.
	Tree *receipts.Tree
	// Files writes below dir, which it makes, the files that an attempt left.
	Files func(seq, dispatch int, commit, dir string) error
	// Snapshot reads the files below dir as those of the working tree are read.
	Snapshot func(dir string) (*workspace.Snapshot, error)
}

// Hand notes that an attempt is handed to another machine: what its files are now is what its receipt has to name.
func (x *Executor) Hand(a schedule.Action) {
	x.mu.Lock()
	last := x.reports[a.ID]
	x.mu.Unlock()
	res := &Report{Step: x.steps[a.ID], action: a, before: last}
	if a.Alone {
		x.trees.before(writes(res.Step), false)
	}
	res.epoch = x.trees.epoch
	res.Started = x.opt.Now()
	x.handed[a.Seq] = res
	x.emit(Started{Step: res.Step, Attempt: a.Attempt, At: res.Started})
}

// Accept takes in what became of an attempt that was handed out. The error says why it is not accepted, or that what it wrote is not
// brought back: the report is a fault then. What is not accepted has no receipt but one of our own.
func (x *Executor) Accept(seq, dispatch int, d *Delivery) (*Report, error) {
	res := x.handed[seq]
	if res == nil {
		return nil, fmt.Errorf("attempt: no action %d was handed out", seq)
	}
	delete(x.handed, seq)
	res.Attempts, res.dispatch = res.action.Attempt, dispatch
	err := x.accept(res, d)
	if err == nil && writes(res.Step) && res.epoch != nil {
		if err = x.bringBack(res, seq, d.Commit); err != nil {
			res.end(schedule.Fault, receipts.StopUnrecordable, err.Error())
		}
	} else if err != nil {
		res.Process, res.Failures, res.Cases, res.Tests, res.changed, res.moved, res.still = nil, diagnose.Failures{}, nil, nil, nil, "", false
		res.end(schedule.Fault, receipts.StopUntrusted, "the worker's result is not accepted: "+err.Error())
		res.Duration = x.opt.Now().Sub(res.Started)
		x.record(res, nil)
	}
	x.keep(res)
	return res, err
}

// Missing takes in that the worker of an attempt does not report, or refused it; it is recorded as our own.
func (x *Executor) Missing(seq, dispatch int, b schedule.Brief) *Report {
	res := x.handed[seq]
	if res == nil {
		return nil
	}
	delete(x.handed, seq)
	res.Attempts, res.dispatch = res.action.Attempt, dispatch
	res.Duration = x.opt.Now().Sub(res.Started)
	res.end(b.Verdict, b.Reason, b.Text)
	x.record(res, nil)
	x.keep(res)
	return res
}

// LostOnce records that the worker of a dispatch was lost whose attempt is handed out again.
func (x *Executor) LostOnce(seq, dispatch int, b schedule.Brief) {
	if at := x.handed[seq]; at != nil {
		res := *at
		res.Attempts, res.dispatch = res.action.Attempt, dispatch
		res.end(b.Verdict, b.Reason, b.Text)
		x.record(&res, nil)
	}
}

func (x *Executor) keep(res *Report) {
	if res.before != nil {
		res.before.Trim(0)
		res.before.Failures = diagnose.Failures{}
	}
	x.mu.Lock()
	x.reports[res.Step.ID] = res
	x.mu.Unlock()
}

// maxSkew is by how much the clock of another machine may differ: what is signed for the future would be fresh for longer.
const maxSkew = 5 * time.Minute

var errForged = errors.New("no key that is accepted has signed its receipt")

func (x *Executor) accept(res *Report, d *Delivery) error {
	s := res.Step
	rec := receipts.Record{Kind: receipts.KindReceipt, Body: d.Body}
	v, err := rec.Parse()
	r, ok := v.(*receipts.Receipt)
	if err != nil || !ok {
		return fmt.Errorf("its receipt cannot be read: %v", err)
	}
	sha := rec.SHA()
	if _, key := d.Signature.Check(x.opt.Worker.Origin, sha, x.opt.Worker.Keys); key == "" || r.Signer != d.Signature.ID() {
		return errForged
	}
	for _, same := range []struct {
		what      string
		got, want any
	}{
		{"run", r.Run, x.opt.Run}, {"session", r.Session, x.opt.Session}, {"nonce", r.Nonce, x.opt.Nonce},
		{"step", r.Step, s.ID}, {"attempt", r.Attempt, res.action.Attempt}, {"dispatch", r.Dispatch, res.dispatch},
		{"kind", r.Kind, string(s.Kind)}, {"binding", r.Binding, s.Binding}, {"command", r.Command, receipts.CommandHash(s.Identity())},
		{"matrix", r.Matrix, parseHash(x.plan.Matrix.SHA256)}, {"script", r.Script, parseHash(x.plan.Script.SHA256)},
		{"line", r.Line.Number, s.Line.Number}, {"directory", r.Dir, x.dir(s)}, {"reused", r.Reused, receipts.Hash{}},
		{"handed-back gate", r.HandedBack, receipts.Hash{}}, // no log here has it
		{"say on its runs", r.Apart, apart(s)},
	} {
		if same.got != same.want {
			return fmt.Errorf("its receipt is of another %s: %v, and not %v", same.what, same.got, same.want)
		}
	}
	if e := res.epoch; e != nil {
		switch {
		case r.Workspace == nil || !r.Workspace.Before.Matches(e.tree) || r.Workspace.Before.Bytes != e.tree.Bytes:
			return errors.New("its receipt is of other files")
		case r.Place != e.place:
			return errors.New("its receipt is of another place in the files")
		case !writes(s) && r.Workspace.After != nil:
			return errors.New("its receipt says that a step wrote which only reads")
		case writes(s) && r.Workspace.After == nil:
			return errors.New("its receipt does not say what the files were after it")
		case writes(s) && r.Workspace.After.Bytes != e.tree.Bytes && !workspace.IsHash(d.Commit) && r.Status == receipts.Succeeded:
			return errors.New("it does not say where the files are that it changed")
		}
	}
	if at := r.Timestamp.Time; at.Before(x.began.Add(-maxSkew)) || at.After(x.opt.Now().Add(maxSkew)) {
		return fmt.Errorf("its receipt is of another time, %s: its clock differs by more than %s", at.UTC().Format(time.RFC3339), maxSkew)
	}
	if passed := d.Brief.Verdict == schedule.Passed; passed != (r.Status == receipts.Succeeded) {
		return fmt.Errorf("it says %s, and its receipt %s", d.Brief.Verdict, r.Status)
	}
	if r.Status == receipts.Pending || !d.Brief.Verdict.Bad() && d.Brief.Verdict != schedule.Passed && d.Brief.Verdict != schedule.Cancelled {
		return fmt.Errorf("an attempt cannot end as %q", d.Brief.Verdict)
	}
	res.end(d.Brief.Verdict, d.Brief.Reason, d.Brief.Text)
	if d.Brief.Verdict == schedule.Passed {
		res.Reason = ""
	}
	if r.Workspace != nil {
		res.left = r.Workspace.After
	}
	res.Duration, res.Tests, res.Failures, res.changed, res.moved = d.Duration, r.Tests, d.Failures, d.Changed, d.Moved
	if len(d.Cases) <= diagnose.MaxCases+1 { // one more says that they are not all
		res.Cases = d.Cases
		x.keepCases(res)
	}
	if !d.Started.IsZero() {
		res.Started = d.Started
	}
	if p := d.Process; p != nil {
		own := *p
		own.Stdout, own.Stderr = x.delivered(r.Stdout, p.Stdout, d.Output[0]), x.delivered(r.Stderr, p.Stderr, d.Output[1])
		if own.ExitCode = -1; r.ExitCode != nil {
			own.ExitCode = *r.ExitCode
		}
		own.Signal = r.Signal
		res.Process = &own
	}
	if x.ledger.store == nil {
		return nil
	}
	res.Receipt, res.ticket = sha, x.ledger.submitSigned(rec, d.Signature, x.opt.Worker.Keys)
	x.names.add(Durable{s, res.Attempts, sha}, res.ticket)
	return nil
}

// bringBack makes the files of the working tree those that a step left that passed, and has the epoch that follows begin with
// what it left in any case.
func (x *Executor) bringBack(res *Report, seq int, commit string) error {
	after := res.left
	if after == nil {
		return nil // what its receipt said was not accepted
	}
	if res.Verdict == schedule.Passed && after.Bytes != x.trees.now.Bytes {
		if err := x.bring(res, seq, commit); err != nil {
			return err
		}
	}
	x.trees.after()
	x.trees.continueWith(*after)
	return nil
}

func (x *Executor) bring(res *Report, seq int, commit string) error {
	w := x.opt.Worker
	now := x.trees.now
	if now.Bytes != res.epoch.tree.Bytes {
		return errors.New("what it wrote is not brought back: the files here are not those that it began with")
	}
	dir, remove, err := tempdir.New(tempdir.Tree)
	if err != nil {
		return err
	}
	defer remove()
	dir = filepath.Join(dir, "files")
	if err := w.Files(seq, res.dispatch, commit, dir); err != nil {
		return fmt.Errorf("the files that it left cannot be fetched: %w", err)
	}
	theirs, err := w.Snapshot(dir)
	if err != nil {
		return fmt.Errorf("the files that it left cannot be read: %w", err)
	}
	if theirs.Bytes != res.left.Bytes {
		return errors.New("the files that it sent are not those that its receipt names")
	}
	var names []string
	for _, c := range workspace.Diff(now, theirs) {
		names = append(names, c.Path)
	}
	return cleanroom.BringBack(x.ending, now, cleanroom.Below(dir), names)
}

// delivered is a stream as the receipt has it. Its text is kept where it is what the receipt names.
func (x *Executor) delivered(s receipts.Stream, o process.Output, text []byte) process.Output {
	out := process.Output{SHA256: s.SHA256, Bytes: s.Bytes, Cut: o.Cut, Redacted: o.Redacted, LogSHA256: s.SHA256}
	if !s.Log.IsZero() {
		out.LogSHA256 = s.Log
	}
	if len(text) == 0 || x.opt.LogDir == "" || sha256.Sum256(text) != out.LogSHA256 {
		return out
	}
	path := blob.Path(x.opt.LogDir, out.LogSHA256)
	if blob.Write(path, text, 0o600) == nil {
		out.Log = path
	}
	return out
}

// Knows reports whether the plan has a step of that name that is carried out.
func (x *Executor) Knows(id string) bool {
	s := x.steps[id]
	return s != nil && s.Kind != plan.Composite && !IsGate(s)
}

// NotElsewhere returns the first step that another machine cannot carry out, and why; nil if there is none.
func NotElsewhere(p *plan.Plan) (step *plan.Step, why string) { return notElsewhere(p.Steps, false) }

func notElsewhere(steps []*plan.Step, parallel bool) (step *plan.Step, why string) {
	for _, s := range steps {
		switch {
		case s.Kind == plan.Composite:
			if step, why = notElsewhere(s.Members, parallel || s.Parallel); step != nil {
				return step, why
			}
		case s.Kind == plan.Builtin:
		case s.Effect == plan.Write && parallel:
			return s, `changes files while others run, and on a worker what changes files runs alone: give its composite order = "sequence", or its binding effect = "read" if it only looks`
		case s.Kind == plan.Task:
			return s, "is a task, and a task is answered on this machine alone: bind it as a tool, or run it without --engine"
		case slices.ContainsFunc(s.Values, func(v plan.Value) bool { return v.Secret }):
			return s, "takes a secret, and no secret is sent: have the tool read it from its environment, which is that of the worker"
		}
	}
	return nil, ""
}

// mostLocked is how many attempts the steps of a composite with a lock may have: a history does not go on in a new one while its run holds
// a lock, and the server bounds it.
const mostLocked = 4000

// Apart returns the first step that the task queues of p keep from being carried out as the plan says, and why; nil if there is none. own
// is the queue of the steps that name none.
func Apart(p *plan.Plan, own string) (step *plan.Step, why string) {
	files := "" // the queue of the worker that keeps what steps have changed
	var leaf func(s *plan.Step)
	leaf = func(s *plan.Step) {
		queue := cmp.Or(s.Queue, own)
		switch {
		case step != nil || s.Kind == plan.Builtin:
		case s.Kind == plan.Composite:
			attempts := 0
			plan.Walk(s.Members, func(m *plan.Step) { attempts += 1 + m.Budget.Retries })
			if s.Exclusive != "" && attempts > mostLocked {
				step, why = s, fmt.Sprintf("holds the lock %q for up to %d attempts, and a lock on workers is held for %d at most: give it to fewer steps", s.Exclusive, attempts, mostLocked)
				return
			}
			for _, m := range s.Members {
				if !m.Finally {
					leaf(m)
				}
			}
			for _, m := range s.Members { // which come last
				if m.Finally {
					leaf(m)
				}
			}
		case files != "" && s.Queue != "" && s.Queue != files:
			step, why = s, fmt.Sprintf("has queue = %q, and the files that a line before it changes stay on a worker of the task queue %q: say queue = %[1]q of that one, too, or make it a script of its own", s.Queue, files)
		case s.Effect == plan.Write && files == "":
			files = queue
		}
	}
	for _, s := range p.Steps {
		leaf(s)
	}
	return step, why
}

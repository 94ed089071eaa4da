package notary

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/prove"
	"github.com/command-dialect/dialect/runtime/recording"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A run is one run of a script, with its events.
type run struct {
	id      string
	by      Peer
	control engine.JobControl
	cancel  context.CancelCauseFunc

	mu     sync.Mutex
	more   sync.Cond // an event came, or the run is over; on mu
	events [][]byte  // frames
	output int       // bytes of those events that carry output
	size   int       // bytes of all events
	over   bool
	ended  bool   // it is to end, and is not paused any more
	resume func() // of a pause; nil while it runs
}

// maxOutput is how much output of a run is kept for those who ask for its events, in bytes; what comes after that is
// left out of the events. The log of a command has all of it.
const maxOutput = 8 << 20

// maxEvents is how much of a run is kept for those who ask for its events, in bytes: after that much, of a line only its verdict
// alone. Its log and its receipt have the rest.
const maxEvents = 32 << 20

// keptRuns is how many runs that are over are kept for those who ask for their events.
const keptRuns = 8

func newRun(by Peer) *run {
	r := &run{by: by}
	r.more.L = &r.mu
	return r
}

func (r *run) note(text string) { r.tell(&event{Kind: "note", Text: text}) }

// tell appends an event. Of a result that is too large it leaves out the cases, and then all but its verdict.
func (r *run) tell(e *event) {
	f, err := frame(answer{Event: e})
	for _, shorten := range []func(*result){
		func(c *result) { c.Cases = nil },
		func(c *result) { c.Failures, c.Process = diagnose.Failures{Total: c.Failures.Total}, nil },
	} {
		if e.Result == nil || err == nil && r.fits(len(f)) {
			break
		}
		c := *e.Result
		shorten(&c)
		e = &event{Kind: e.Kind, Step: e.Step, Result: &c}
		f, err = frame(answer{Event: e})
	}
	if err != nil {
		f, _ = frame(answer{Event: &event{Kind: "note", Text: fmt.Sprintf("an event %s of the step %s was too large to be sent", e.Kind, e.Step)}})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Kind == "output" {
		if r.output += len(f); r.output > maxOutput {
			return
		}
	}
	r.events, r.size = append(r.events, f), r.size+len(f)
	r.more.Broadcast()
}

// fits reports whether so many bytes more of events are kept.
func (r *run) fits(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.size+n <= maxEvents
}

// pause stops what runs, or continues it.
func (r *run) pause(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case on && r.resume == nil && !r.ended:
		r.resume = r.control.Pause()
	case !on && r.resume != nil:
		r.resume()
		r.resume = nil
	}
}

// wake continues for good a run that is to end: while it is paused no grace passes, and what takes no SIGTERM would never end.
func (r *run) wake() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.pause(false)
}

// end says that no event follows, but for the last one.
func (r *run) end(last answer) {
	f, err := frame(last)
	if err != nil {
		f, _ = frame(answer{Refused: refuse("the outcome of the run cannot be sent: %v", err)})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events, r.over = append(r.events, f), true
	r.more.Broadcast()
}

// follow calls send for each event from a number on, until the run is over, send fails or ctx ends.
func (r *run) follow(ctx context.Context, from int, send func([]byte) error) error {
	defer context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.more.Broadcast()
	})()
	for i := max(from, 0); ; i++ {
		r.mu.Lock()
		for i >= len(r.events) && !r.over && ctx.Err() == nil {
			r.more.Wait()
		}
		if ctx.Err() != nil {
			r.mu.Unlock()
			return context.Cause(ctx)
		}
		if i >= len(r.events) {
			r.mu.Unlock()
			return nil
		}
		f := r.events[i]
		r.mu.Unlock()
		if err := send(f); err != nil {
			return err
		}
	}
}

// refuse makes a refusal.
func refuse(format string, args ...any) *Refused { return &Refused{Text: fmt.Sprintf(format, args...)} }

// start begins a run of what a client asks for.
func (n *Notary) start(spec *Spec, by Peer) (*run, *Refused) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.closed:
		return nil, refuse("the notary was closed")
	case len(spec.Name) > maxScriptName:
		return nil, refuse("a script with a name of %d bytes; a notary takes %d", len(spec.Name), maxScriptName)
	case n.asked >= maxRuns+maxWaiting:
		return nil, &Refused{Text: fmt.Sprintf("the notary has %d runs to do", n.asked), Hint: "try again later", Busy: true}
	}
	n.asked++
	r := newRun(by)
	var ctx context.Context
	ctx, r.cancel = context.WithCancelCause(n.ctx)
	wake := context.AfterFunc(ctx, r.wake)
	n.last.Go(func() {
		ran := Ran{Script: diag.Printable(spec.Name), Started: time.Now()}
		var last answer // of the client, once the status has what became of the run
		defer func() {
			if v := recover(); v != nil {
				fmt.Fprintf(os.Stderr, "notary: a run panicked: %v\n%s", v, debug.Stack())
				last = answer{Refused: refuse("internal error of the notary")}
				ran.Verdict, ran.Why = "fault", "internal error"
			}
			wake()
			r.cancel(nil)
			n.note(r, ran)
			r.end(last)
		}()
		select {
		case n.turns <- struct{}{}:
			defer func() { <-n.turns }()
		case <-ctx.Done():
			ran.Verdict = "interrupted"
			last.Refused = refuse("the run was ended before its turn came")
			return
		}
		end, refused := n.carryOut(ctx, r, spec, &ran)
		if refused != nil {
			ran.Verdict, ran.Why = "refused", refused.Text
			last.Refused = refused
			return
		}
		last.Event = end
	})
	return r, nil
}

// note keeps what became of a run.
func (n *Notary) note(r *run, ran Ran) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked--
	ran.Script, ran.Why = diag.ClipBytes(ran.Script, longestKept), diag.ClipBytes(ran.Why, longestKept)
	n.counts[ran.Verdict]++
	if n.ran = append(n.ran, ran); len(n.ran) > maxRan {
		i := oldest(n.ran)
		n.ran = slices.Delete(n.ran, i, i+1)
	}
	if r.id == "" {
		return
	}
	if n.order = append(n.order, r.id); len(n.order) > keptRuns {
		delete(n.runs, n.order[0])
		n.order = n.order[1:]
	}
}

// longestKept is how much a status has of a text that the asker chose, in bytes.
const longestKept = 500

// oldest is the first one of the runs whose verdict most of a list have, so that many of one kind push away none of another.
func oldest(list []Ran) int {
	count, most := make(map[string]int), ""
	for _, r := range list {
		if count[r.Verdict]++; count[r.Verdict] > count[most] || most == "" {
			most = r.Verdict
		}
	}
	return slices.IndexFunc(list, func(r Ran) bool { return r.Verdict == most })
}

// find returns the run of an id that a user asked for; nil if there is none.
func (n *Notary) find(id string, by Peer) *run {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r := n.runs[id]; r != nil && r.by.UID == by.UID {
		return r
	}
	return nil
}

// carryOut binds what a client asks for, and runs it. It returns the last event.
func (n *Notary) carryOut(ctx context.Context, r *run, spec *Spec, ran *Ran) (*event, *Refused) {
	p, policy, refused := n.bind(ctx, spec)
	if refused != nil {
		return nil, refused
	}
	if err := n.settle(ctx); err != nil {
		return nil, &Refused{Text: err.Error(), Hint: "make space where the notary keeps its store: nothing runs before"}
	}
	m := p.Plan.Matrix
	p.Plan.Script.Flags = spec.Flags
	rec := recording.Open(m.Root, m.Caches, recording.Options{
		Store: n.path(), Session: spec.Session, Nonce: spec.Nonce, Clean: !n.c.InPlace || spec.Prove, Helper: n.c.Room, Share: slices.Concat(m.Clean.Share, n.c.Share),
		Environ: n.c.Environ, Private: n.c.Folder, Away: n.away, Confined: n.c.Facts.Mode != ModeNone, Asker: r.by.UID, Signer: n.signer, Slow: func() {}, Waits: r.note, Still: n.still, Git: n.git,
	})
	k := n.keeper(r)
	defer func() {
		rec.Close(nil)
		if err := n.over(ctx, k); err != nil {
			if ran.Why = err.Error(); ran.Verdict == "passed" {
				ran.Verdict = "fault"
			}
		}
	}()
	options := func(part *plan.Plan) engine.Options {
		opt := rec.Options(part)
		opt.Store = k.of(opt.Store)
		opt.Guard, opt.Version, opt.By = n.c.Guard, n.c.Version, "uid "+strconv.Itoa(r.by.UID)
		opt.Jobs = least(n.c.Jobs, spec.Jobs)
		b := part.Budget
		opt.Budget = plan.Budget{Timeout: least(b.Timeout, spec.Timeout), Stall: least(b.Stall, spec.Stall), MaxOutput: least(b.MaxOutput, spec.MaxOutput)}
		opt.Policy, opt.JobControl = policy, &r.control
		return opt
	}
	opt := options(p.Plan)
	if opt.Degraded != "" {
		return nil, refuse("nothing could be recorded: %s", opt.Degraded)
	}
	opt.FailFast, opt.DeferGate, opt.Reuse, opt.Output = spec.FailFast, spec.DeferGate, spec.Reuse, spec.Output
	r.id, ran.Run = opt.Run, opt.Run
	n.mu.Lock()
	n.runs[r.id] = r
	n.mu.Unlock()
	r.tell(&event{Kind: "run", Run: r.id})
	if spec.Prove {
		return provedBy(ctx, prove.Options{
			Program: p, Room: rec.Room(), Timeout: spec.Timeout, Secret: rec.Secret, Run: options,
			Note: r.note,
		}, ran)
	}
	for _, text := range rec.Begin(opt.Run, p.Script.Name) {
		r.note(text)
	}
	defer rec.End()
	opt.Listen = (&listener{run: r, lines: report.Lines{Secret: rec.Secret}}).listen
	o := engine.Run(ctx, p.Plan, opt)
	rec.Close(o)
	doc := report.NewDocument(o, p.Findings, rec.Path)
	rec.Keep(doc)
	ran.Verdict = o.Verdict()
	if o.Gate.Verdict == attempt.GatePassed {
		ran.Gate = o.Gate.ID
	}
	var all func(list []*engine.Result)
	all = func(list []*engine.Result) {
		for _, res := range list {
			r.tell(&event{Kind: "result", Step: res.Step.ID, Result: wireResult(res)})
			all(res.Members)
		}
	}
	all(o.Results)
	return &event{Kind: "outcome", Outcome: wireOutcome(o)}, nil
}

// provedBy tests the checks of a program.
func provedBy(ctx context.Context, o prove.Options, ran *Ran) (*event, *Refused) {
	doc, err := prove.Run(ctx, o)
	if err != nil {
		return nil, refuse("%v", err)
	}
	ran.Checks = fmt.Sprintf("checks tested: %d of %d", doc.Tested, doc.Of)
	switch doc.Status() {
	case 0:
		ran.Verdict = "passed"
	case 1:
		ran.Verdict = "failed"
	case 2:
		ran.Verdict = "fault"
	case 3:
		ran.Verdict = "refused"
	default:
		ran.Verdict = "interrupted"
	}
	return &event{Kind: "proof", Proof: doc}, nil
}

// least is the smaller one of two bounds; 0 stands for no bound.
func least[T int | int64 | time.Duration](a, b T) T {
	if a <= 0 || b > 0 && b < a {
		return max(b, 0)
	}
	return a
}

// bind reads the rules and binds a script to them. What the asker says of paths is where it looks, within the tree.
func (n *Notary) bind(ctx context.Context, spec *Spec) (*project.Program, func(root string) string, *Refused) {
	s := &project.Script{
		Name: spec.Name, Path: spec.Path, Line: spec.Line, Member: spec.Member, Part: spec.Part, Text: spec.Script, Folder: spec.Folder,
		Env: lookup(n.c.Environ),
	}
	dir, err := s.Dir()
	if err == nil && !filepath.IsAbs(dir) {
		err = fmt.Errorf("%s is not an absolute path", dir)
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, nil, refuse("the notary cannot look for the matrix: %v", err)
	}
	if _, in := git.Within(n.tree, dir); !in {
		return nil, nil, refuse("%s is not in %s, which is the working tree of this notary", dir, n.tree)
	}
	p, err := project.Load(s, "")
	if err != nil {
		return nil, nil, refuse("the notary: %v", err)
	}
	if root, err := filepath.EvalSymlinks(p.Matrix.Root); err != nil || !within(n.tree, root) {
		return nil, nil, refuse("the matrix %s is not in %s, which is the working tree of this notary", p.Matrix.Path, n.tree)
	}
	vars := spec.Vars
	if vars == nil {
		vars = map[string]string{}
	}
	p.Resolve(vars, spec.Lines)
	if p.Findings.Count(diag.Error) > 0 || p.Plan == nil {
		return nil, nil, refuse("the notary cannot bind %s: %s", diag.Printable(spec.Name), p.Findings.Summary())
	}
	if text := foreign(p.Plan.Steps); text != "" {
		return nil, nil, refuse("%s", text)
	}
	if text := n.edited(p.Plan.Matrix); text != "" {
		return nil, nil, &Refused{Text: text, Hint: "a person changes the rules: commit them, and start the session again", Rules: true}
	}
	policy := func(string) string { return receipts.PolicyUnpinned }
	if n.baseline != "" {
		_, _, state, err := project.Trusted(ctx, n.git, p.Matrix, n.baseline, dir)
		if err != nil {
			return nil, nil, refuse("the rules cannot be compared with the baseline: %v", err)
		}
		if text := state.Complaint(); text != "" || state.New {
			if text == "" {
				text = "the baseline has no " + place.Short(p.Matrix.Path)
			}
			return nil, nil, &Refused{Text: text, Hint: "a person changes the rules: commit them, and start the session again", Rules: true}
		}
		policy = func(root string) string { return state.At(root).Name() }
	} else if n.matrix != p.Matrix.Path {
		return nil, nil, &Refused{Text: place.Short(p.Matrix.Path) + " was not there when the session began", Hint: "start the session again", Rules: true}
	}
	return p, policy, nil
}

// foreign says which step would run where the notary does not hold it; empty if none would.
func foreign(steps []*plan.Step) (text string) {
	plan.Walk(steps, func(s *plan.Step) {
		if text == "" && (s.Kind == plan.MCP || s.Kind == plan.Task) {
			text = fmt.Sprintf("line %d (%s) is of an MCP server or another agent, which a notary does not start: run it without one", s.Line.Number, diag.Printable(s.Line.Text))
		}
	})
	return text
}

// still fails if a snapshot is not of the tree that the notary serves: after the notary has looked, the asker may replace its tree,
// or a directory in it, by a link to the files of others.
func (n *Notary) still(s *workspace.Snapshot) error {
	if !within(n.tree, s.Root) && !within(s.Root, n.tree) {
		return fmt.Errorf("%s is not in %s, which is the working tree of this notary", s.Root, n.tree)
	}
	real, err := filepath.EvalSymlinks(n.tree)
	if err != nil {
		return err
	}
	info, err := os.Lstat(real)
	if err != nil {
		return err
	}
	if real != n.tree || !os.SameFile(info, n.is) {
		return fmt.Errorf("%s is not the directory any more that this notary serves", n.tree)
	}
	// What was read is the directory that was opened: the path may have led elsewhere at that moment.
	was := n.above[s.Root]
	if was == nil { // in the tree: found there without a link that leads out
		tree, err := os.OpenRoot(n.tree)
		if err != nil {
			return err
		}
		defer tree.Close()
		if is, err := tree.Stat("."); err != nil || !os.SameFile(is, n.is) {
			return errors.Join(fmt.Errorf("%s is not the directory any more that this notary serves", n.tree), err)
		}
		inner, _ := git.Within(n.tree, s.Root)
		if was, err = tree.Stat(filepath.FromSlash(inner)); err != nil {
			return err
		}
	}
	if !os.SameFile(was, s.At) {
		return fmt.Errorf("%s was another directory while it was read", s.Root)
	}
	return nil
}

func within(root, path string) bool { _, in := git.Within(root, path); return in }

// edited says what the matrix is made of that is not as it was when the session began; empty if all is, or if it was
// not looked at then.
func (n *Notary) edited(m plan.Matrix) string {
	was, now := n.files, sums(m)
	if m.Path != n.matrix || maps.Equal(was, now) {
		return ""
	}
	var what []string
	for path, sum := range now {
		switch old, ok := was[path]; {
		case !ok:
			what = append(what, place.Short(path)+" was not one of them")
		case old != sum:
			what = append(what, place.Short(path)+" differs")
		}
	}
	for path := range was {
		if _, ok := now[path]; !ok {
			what = append(what, place.Short(path)+" is gone")
		}
	}
	slices.Sort(what)
	return "the rules are not those that the session began with: " + strings.Join(what, ", ")
}

// sums are the digests of the files that a matrix is made of, by their paths.
func sums(m plan.Matrix) map[string][32]byte {
	files := make(map[string][32]byte)
	for _, f := range m.Files {
		if !f.Absent {
			files[f.Path] = f.SHA256
		}
	}
	return files
}

// lookup returns what looks up variables in an environment.
func lookup(environ []string) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		for _, kv := range environ {
			if k, v, ok := strings.Cut(kv, "="); ok && k == name {
				return v, true
			}
		}
		return "", false
	}
}

// A listener makes events of those of a run.
type listener struct {
	run   *run
	lines report.Lines
}

func (l *listener) output(step string, stream process.Stream, line []byte) {
	l.run.tell(&event{Kind: "output", Step: step, Stream: stream, Data: append(slices.Clone(line), '\n')})
}

func (l *listener) listen(e engine.Event) {
	switch e := e.(type) {
	case engine.RunStarted:
		l.run.tell(&event{Kind: "begun", Run: e.Run, Session: e.Session, At: e.At})
	case engine.StepWaiting:
		l.run.tell(&event{Kind: "waiting", Step: e.Step.ID, Lock: e.Lock, Holder: e.Holder, At: e.At})
	case attempt.Started:
		l.run.tell(&event{Kind: "started", Step: e.Step.ID, Attempt: e.Attempt, At: e.At})
	case attempt.Output:
		l.lines.Add(e, func(line []byte) { l.output(e.Step.ID, e.Stream, line) })
	case engine.StepFinished:
		l.lines.Flush(e.Result.Step, func(stream process.Stream, line []byte) { l.output(e.Result.Step.ID, stream, line) })
		l.run.tell(&event{Kind: "finished", Step: e.Result.Step.ID, Result: wireResult(e.Result)})
	case attempt.Durable:
		l.run.tell(&event{Kind: "durable", Step: e.Step.ID, Attempt: e.Attempt, Receipt: e.Receipt})
	}
}

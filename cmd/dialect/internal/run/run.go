// Package run runs the scripts, or the one command, that a command line names: in come its arguments and the wishes of the
// user, out come runs that are shown while they last, recorded and reported, and the exit status. It orders no lines and
// judges nothing: the engine and the packages below it do.
package run

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/cmd/dialect/internal/script"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/cmd/dialect/internal/temporal"
	"github.com/command-dialect/dialect/cmd/dialect/internal/voice"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/suggest"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/history"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/recording"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/report"
)

// Options are the wishes of the user, as flags say them.
type Options struct {
	Recorded
	Lines     []string // of -e, instead of a file
	Set       []string // NAME=VALUE
	Routing   string
	Jobs      int
	FailFast  bool
	KeepGoing bool
	DryRun    bool
	JSON      bool
	DeferGate bool
	Failed    bool // only the lines that did not pass last time
	Changed   bool // only the lines whose files changed

	Budget                      plan.Budget
	MaxOutput                   string // of Budget, as text; empty for none
	Output, Events, JUnit, HTML string

	Notary string           // the socket of the notary that runs it; empty for none
	Far    temporal.Options // where it is carried out

	InPlace           bool // whatever the matrix says
	Base, AcceptFlaky string
	Reuse             bool

	Given []string // the names of the flags that were given
	Again []string // the flags, as they were given, that a run of one of the lines again needs

	command string                             // that was typed; empty for run
	spent   map[*project.Program]time.Duration // of the timeout of the run, by --changed
}

// outputs are the values of --output.
var outputs = []string{"auto", "live", "group", "stream", "tail", "none"}

// Check says what is wrong with the options themselves, and bounds them as the environment does.
func (o *Options) Check() error {
	switch {
	case o.Clean && o.InPlace:
		return exit.Usagef("--clean and --in-place exclude each other")
	case o.FailFast && o.KeepGoing:
		return exit.Usagef("--fail-fast and --keep-going exclude each other")
	case o.Jobs < 0:
		return exit.Usagef("--jobs %d: want a positive number, or 0 for the number of CPUs", o.Jobs)
	case o.Changed && (o.Failed || o.NoTree):
		return exit.Usagef("--changed goes with neither --failed nor --no-tree")
	case o.Budget.Timeout < 0:
		return exit.Usagef("--timeout %v: want a positive duration", o.Budget.Timeout)
	case o.DeferGate && o.AcceptFlaky != "":
		return exit.Usagef("--defer-gate and --accept-flaky exclude each other: the gate accepts that is made later")
	case strings.HasSuffix(o.AcceptFlaky, ".dlct"): // which stands where the reason was forgotten
		return exit.Usagef("--accept-flaky %s: want a REASON, and that is the name of a script", o.AcceptFlaky).Hint("--accept-flaky \"the network was down\" %s", o.AcceptFlaky)
	case o.AcceptFlaky == "REASON":
		return exit.Usagef("--accept-flaky REASON: say why, in your own words")
	case o.Budget.Stall < 0:
		return exit.Usagef("--stall %v: want a positive duration", o.Budget.Stall)
	case !slices.Contains(outputs, o.Output):
		e := exit.Usagef("--output %q: want auto, live, group, stream, tail or none", o.Output)
		if near := suggest.Near(o.Output, outputs); near != "" {
			e.Hint("did you mean %s?", near)
		}
		return e
	}
	if err := o.Far.Check(); err != nil {
		return err
	}
	if o.MaxOutput != "" {
		n, ok := routing.ParseSize(o.MaxOutput)
		if !ok || n == 0 {
			return exit.Usagef("--max-output %q: want a size: 10MB, 1GiB", o.MaxOutput)
		}
		o.Budget.MaxOutput = n
	}
	if why := attempt.TooDeep(os.Environ()); why != "" {
		return exit.Failf(exit.Fault, "%s", why).Hint("`dialect runs` lists the runs around this one; take the line out of the script that it starts")
	}
	// What started this run, or the user, bounds it: nested runs do not multiply.
	if text := os.Getenv(attempt.JobsVariable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return exit.Usagef("DIALECT_JOBS=%q: want a positive number", text)
		}
		if o.Jobs == 0 || o.Jobs > n {
			o.Jobs = n
		}
	}
	return nil
}

// Run reads the scripts that args name, or the default script, binds them all, and then runs and reports one after
// the other. It goes on after a failure, unless --fail-fast says otherwise, and ends with the status of the first.
func (o *Options) Run(v *voice.Voice, args []string) error {
	if err := o.Check(); err != nil {
		return err
	}
	if err := o.Take(v); err != nil {
		return err
	}
	args, err := o.orDefault(v, args)
	if err != nil {
		return err
	}
	if len(args) < 2 || len(o.Lines) > 0 {
		p, err := o.Bind(v, args)
		if err != nil || p == nil {
			return err
		}
		return o.execute(v, p)
	}
	if o.Events+o.JUnit+o.HTML+o.KeyFD != "" {
		return exit.Usagef("--events, --junit, --html and --key-fd are of one run: name one script")
	}
	if slices.Contains(args, "-") {
		return exit.Usagef("standard input is a script of its own: leave the others out")
	}
	vars, err := script.Variables(o.Set)
	if err != nil {
		return err
	}
	loaded := make([]*project.Program, len(args))
	for i := range args {
		if loaded[i], err = o.load(v, args[i:i+1]); err != nil {
			return err
		}
	}
	if err := script.Used(vars, loaded...); err != nil {
		return err
	}
	var programs []*project.Program
	for _, p := range loaded {
		if p, err = o.bind(v, p, maps.Clone(vars)); err != nil {
			return err
		}
		if p != nil {
			programs = append(programs, p)
		}
	}
	var first error
	for _, p := range programs {
		err := o.execute(v, p)
		first = cmp.Or(first, err)
		var st exit.Status
		if err != nil && (o.FailFast || !errors.As(err, &st) || int(st) > exit.Refused) {
			break // the rest was not wanted, or could not run either
		}
	}
	return first
}

// orDefault returns the default script where neither args, nor lines, nor standard input name one.
func (o *Options) orDefault(v *voice.Voice, args []string) ([]string, error) {
	if len(args) > 0 || len(o.Lines) > 0 || v.Piped() {
		return args, nil
	}
	name, err := script.Default(o.Routing)
	return []string{name}, err
}

// Bind reads the script that args name and binds it. There is no program where nothing of it is to be run: with
// --dry-run, which prints the plan, and with --changed.
func (o *Options) Bind(v *voice.Voice, args []string) (*project.Program, error) {
	vars, err := script.Variables(o.Set)
	if err != nil {
		return nil, err
	}
	p, err := o.load(v, args)
	if err != nil {
		return nil, err
	}
	if err := script.Used(vars, p); err != nil {
		return nil, err
	}
	return o.bind(v, p, vars)
}

// load reads the script that args name, and what binds it.
func (o *Options) load(v *voice.Voice, args []string) (*project.Program, error) {
	var in io.Reader = v.In
	if t := o.Budget.Timeout; t > 0 {
		in = script.Within(in, t)
	}
	s, err := script.Read(cmp.Or(o.command, "run"), in, v.Note, args, o.Lines)
	if err != nil {
		return nil, err
	}
	if (o.Failed || o.Changed) && s.Line > 0 {
		return nil, exit.Usagef("--failed and --changed look for lines of %s itself: leave :%d out", s.Name, s.Line)
	}
	p, err := project.Load(s, o.Routing)
	return p, exit.NoMatrix(err)
}

// bind binds a program that was loaded, as Bind does.
func (o *Options) bind(v *voice.Voice, p *project.Program, vars map[string]string) (*project.Program, error) {
	lines, flags, none, err := o.selected(v, p, vars)
	if err != nil {
		return nil, err
	}
	if none {
		return nil, o.nothing(v, p)
	}
	p.Resolve(vars, lines)
	return o.bound(v, p, flags...)
}

// selected returns the lines of a script that --failed and --changed select; nil for all, and true if there are none. Lines that are
// left over of a run have its variables: they come into vars, and flags say so.
func (o *Options) selected(v *voice.Voice, p *project.Program, vars map[string]string) (lines []int, flags []string, none bool, err error) {
	if rules, set := os.LookupEnv(policy.Variable); (o.Failed || o.Changed) && os.Getenv(attempt.ParentVariable) != "" && !(set && rules == "") {
		v.Note("--failed and --changed leave no line out here: a line of another run started this one, whose verdict could not tell")
		return nil, nil, false, nil
	}
	if o.Failed {
		_, logs := o.Paths(p.Matrix.Root)
		if copied, err := store.Copied(o.Notary); err != nil {
			return nil, nil, false, NoNotary(err)
		} else if copied != "" {
			logs = archive.Of(copied)
		}
		left, given, why := (history.Documents{Archive: logs}).LeftOver(p)
		if lines = left; why != "" {
			v.Note(why)
		}
		if flags, err = o.as(v, given, vars); err != nil {
			return nil, nil, false, err
		}
	}
	if o.Changed {
		if p.Resolve(vars, nil); p.Findings.Count(diag.Error) == 0 {
			some, whole, why, err := o.changed(p)
			if err != nil {
				return nil, nil, false, err
			}
			if v.Note(why); len(some) == 0 && !whole {
				return nil, nil, true, nil
			}
			lines = some
		}
	}
	return lines, flags, false, nil
}

// changed is [inquiry.Changed], within the time that the run has: the snapshot that it takes may last.
func (o *Options) changed(p *project.Program) (lines []int, all bool, why string, err error) {
	began := time.Now()
	ctx, stop := interrupt.Context()
	defer stop()
	most := cmp.Or(o.Budget.Timeout, p.Plan.Budget.Timeout)
	if most > 0 {
		var end func()
		ctx, end = context.WithTimeoutCause(ctx, most, errSpent)
		defer end()
	}
	lines, all, why, err = inquiry.Changed(ctx, o.asked(p), p.Plan)
	if err != nil && context.Cause(ctx) == errSpent {
		err = exit.Failf(exit.Fault, "the run took longer than its timeout of %v: it ended while --changed looked at which files have changed, before any line began", most)
	}
	if o.spent == nil {
		o.spent = make(map[*project.Program]time.Duration)
	}
	o.spent[p] = time.Since(began)
	return lines, all, why, err
}

var errSpent = errors.New("the timeout of the run is over")

// asked says what passes have to be for --changed to leave their lines out: as those of this run would be.
func (o *Options) asked(p *project.Program) inquiry.Options {
	q := inquiry.Options{Store: o.Store, Notary: o.Notary, Routing: o.Routing, Own: true, Session: o.Session, Nonce: o.Nonce,
		Clean: o.Clean || p.Matrix.Clean.Run && !o.InPlace}
	if o.Signer != nil && o.Signer.Level() >= receipts.LevelKey {
		q.Keys, q.Level = o.Signer.Keys(), "key"
	}
	return q
}

// nothing reports a program of which no line is to be run, where a report was asked for.
func (o *Options) nothing(v *voice.Voice, p *project.Program) error {
	if o.DryRun {
		return nil
	}
	path, logs := o.Paths(p.Matrix.Root)
	events := outfile.File{Flag: "--events", Name: o.Events, Stream: true}
	junit, html := outfile.File{Flag: "--junit", Name: o.JUnit}, outfile.File{Flag: "--html", Name: o.HTML}
	if err := outfile.Settle(outfile.InUse{Files: append(project.Rules(p.Plan.Matrix), p.Script.Path), Store: path}, &events, &junit, &html); err != nil {
		return err
	}
	rec := &recording.Recording{Path: path, Secret: recording.Redactor(p.Plan, logs)}
	log, err := openEvents(&events, rec.Secret) // nothing happens: it is empty
	if err != nil {
		return err
	}
	log.close()
	p.Plan.Steps = nil
	doc := report.NewDocument(&engine.Outcome{Plan: p.Plan, Started: time.Now(), Gate: new(attempt.Decision)}, p.Findings, path)
	doc.Gate = nil
	if o.JSON {
		if err := report.JSON(v.Out, doc); err != nil {
			return err
		}
	}
	return o.files(v, doc, p, rec, &junit, &html)
}

// bound says what was found in a program that was bound, and returns it if it is to be run.
// flags are what it was given besides.
func (o *Options) bound(v *voice.Voice, p *project.Program, flags ...string) (*project.Program, error) {
	bad := p.Findings.Count(diag.Error) > 0
	if bad && o.JSON {
		if err := report.StaticJSON(v.Out, p.Script.Name, p.Findings, exit.Fault); err != nil {
			return nil, err
		}
	}
	if err := v.Faults(p.Findings, p.Sources); err != nil {
		return nil, err
	}
	if bad {
		if !o.DryRun {
			o.faulty(v, p)
		}
		v.Notef("%s in %s: nothing was run", p.Findings.Summary(), p.Script.Name)
		return nil, exit.Status(exit.Fault)
	}
	p.Plan.Script.Flags = script.Flags(p, append(flags, o.Again...))
	if err := marked(p); err != nil {
		return nil, err
	}
	if err := ofOuter(p.Plan, exit.Refused); err != nil && !o.DryRun {
		return nil, err
	}
	if o.DryRun {
		return nil, recording.Redactor(p.Plan, "").Through(v.Out, report.Syntax(o.JSON), func(w io.Writer) error {
			if o.JSON {
				return report.PlanJSON(w, p.Plan)
			}
			report.Plan(w, p.Plan)
			return nil
		})
	}
	return p, nil
}

// marked refuses a line that was copied from a report, with what stands there for a secret: it would be carried out with that. What a
// file says of its own is not of a report.
func marked(p *project.Program) (err error) {
	var set []string
	for _, v := range p.Vars {
		if redact.Marked(v) {
			set = append(set, v)
		}
	}
	plan.Walk(p.Plan.Steps, func(s *plan.Step) {
		for _, v := range s.Values {
			copied := p.Script.Path == "" || slices.ContainsFunc(set, func(text string) bool { return strings.Contains(v.Text, text) })
			if copied && redact.Marked(v.Text) && err == nil {
				err = exit.Usagef("%s:%d: %s stands for a secret that dialect has taken out of what it shows and keeps", s.Line.File, s.Line.Number, diag.Printable(v.Text)).
					Hint("write the value itself")
			}
		}
	})
	return err
}

// Rerun runs again what the run, or the line of one, that id names ran; the last run without an id.
func (o *Options) Rerun(v *voice.Voice, id string) error {
	h, path, err := store.Place{Name: o.Store, Notary: o.Notary}.Documents()
	if err != nil {
		return err
	}
	d, l, err := h.Line(id)
	if err != nil {
		return store.NotKept(err)
	}
	if err := o.Check(); err != nil {
		return err
	}
	if err := o.Take(v); err != nil {
		return err
	}
	again, err := h.Again(path, d, l)
	if err != nil {
		return store.NotKept(err)
	}
	o.Clean = o.Clean || d.Clean && !o.InPlace
	if what := again.Script; id == "" {
		if what == "" {
			what = strings.Join(again.Lines, ", ")
		}
		v.Notef("running again what %s ran: %s", d.Run, diag.Printable(what))
	}
	vars, err := script.Variables(o.Set)
	if err != nil {
		return err
	}
	flags, err := o.as(v, again.Given, vars)
	if err != nil {
		return err
	}
	o.Again = append(flags, o.Again...)
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		o.Set = append(o.Set, name+"="+vars[name])
	}
	if again.Script == "" {
		o.Lines = again.Lines
		return o.Run(v, nil)
	}
	if again.Note != "" {
		v.Note(again.Note)
	}
	return o.Run(v, []string{again.Script})
}

// as has a script run as it was run before: vars get what an earlier run was given, but for what is set now. It returns the flags that say
// so. A matrix has to be named again: the folder that its name was of is not known.
func (o *Options) as(v *voice.Voice, given history.Given, vars map[string]string) (flags []string, err error) {
	if given.Routing != "" && o.Routing == "" {
		return nil, exit.Usagef("%s was run with --routing %s: say which matrix is meant", given.Run, diag.Printable(given.Routing)).
			Hint("with %s, from the folder that it is named from", report.Command([]string{"--routing", given.Routing}))
	}
	if given.Engine != "" && given.Engine != "local" && o.Far.Engine == "" {
		return nil, exit.Usagef("%s was run with --engine %s: say where the lines are to be carried out", given.Run, diag.Printable(given.Engine)).
			Hint("with --engine local on this machine, else with the flags that it had: --engine, --task-queue, --remote, --worker-key")
	}
	before, err := script.Variables(given.Set)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, set := vars[name]; !set {
			vars[name] = before[name]
			flags = append(flags, "--set", name+"="+before[name])
		}
	}
	if len(flags) > 0 {
		v.Note("as it was run before: " + report.Command(flags))
	}
	return flags, nil
}

// Attach takes up a run of another engine again, and reports it.
func (o *Options) Attach(v *voice.Voice, id string) error {
	if err := o.Far.Demand(); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	p, err := o.Far.Resume(id, v.Err)
	if err != nil {
		return err
	}
	if p, err = o.bound(v, p); err != nil || p == nil {
		return err
	}
	return o.execute(v, p)
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/cmd/dialect/internal/script"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/cmd/dialect/internal/temporal"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/suggest"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/history"
	"github.com/command-dialect/dialect/runtime/notary"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/recording"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/view"
)

// runFlags say how a program is run.
type runFlags struct {
	recordFlags
	lines     []string
	set       []string
	routing   string
	jobs      int
	failFast  bool
	keepGoing bool
	dryRun    bool
	json      bool
	deferGate bool
	failed    bool
	changed   bool

	budget                      plan.Budget
	maxOutput                   string
	output, events, junit, html string

	notary string           // the socket of the notary that runs it; empty for none
	far    temporal.Options // where it is carried out

	inPlace           bool // whatever the matrix says
	base, acceptFlaky string
	reuse             bool

	given *pflag.FlagSet
}

// again are the flags, as they were given, that a run of one of the lines again needs: not those that choose lines or
// say where a report goes, which would take the place of the report of them all.
func (f *runFlags) again() (words []string) {
	f.given.Visit(func(x *pflag.Flag) {
		switch x.Name {
		case "line", "failed", "changed", "dry-run", "json", "output", "events", "junit", "html":
			return
		}
		if list, ok := x.Value.(pflag.SliceValue); ok {
			for _, v := range list.GetSlice() {
				words = append(words, "--"+x.Name, v)
			}
			return
		}
		if words = append(words, "--"+x.Name); x.Value.Type() != "bool" {
			words = append(words, x.Value.String())
		}
	})
	return words
}

// add adds the flags that run and rerun have in common.
func (f *runFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	f.given = fl
	fl.SortFlags = false
	noFiles := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveNoFileComp)
	fl.StringArrayVar(&f.set, "set", nil, "set a variable of the script, `NAME=VALUE`; may be repeated")
	fl.StringVar(&f.routing, "routing", "", "use the matrix `FILE` instead of the nearest routing.toml")
	fl.IntVarP(&f.jobs, "jobs", "j", 0, "run at most `N` commands at the same time (0: the number of CPUs; DIALECT_JOBS bounds it)")
	fl.BoolVar(&f.failFast, "fail-fast", false, "stop at the first failure")
	fl.BoolVar(&f.keepGoing, "keep-going", false, "run lines that change state even after a failure")
	fl.DurationVar(&f.budget.Timeout, "timeout", 0, "end the run after `DURATION` (default: [run] of the matrix)")
	fl.DurationVar(&f.budget.Stall, "stall", 0, "end the run if nothing in it writes anything for `DURATION`")
	fl.StringVar(&f.maxOutput, "max-output", "", "end the run once it wrote `SIZE`: 10MB, 1GiB")
	fl.BoolVarP(&f.dryRun, "dry-run", "n", false, "print what would run, and run nothing")
	fl.StringVar(&f.output, "output", "auto", "show the run as `MODE`: live, group, stream, tail, none; auto is live on a terminal")
	fl.BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	fl.StringVar(&f.events, "events", "", "write what happens to `FILE` as it happens, as JSON Lines")
	fl.StringVar(&f.junit, "junit", "", "write JUnit XML to `FILE`: a case for each test that a tool names, else for each line")
	fl.StringVar(&f.html, "html", "", "write a page with the timeline to `FILE`")
	fl.BoolVar(&f.deferGate, "defer-gate", false, "leave the receipts for a gate elsewhere")
	fl.BoolVar(&f.reuse, "reuse", false, "let an earlier pass on the same files stand for a line whose binding has reuse = true")
	fl.BoolVar(&f.inPlace, "in-place", false, "run in the working tree although [run] of the matrix says clean = true")
	fl.StringVar(&f.base, "base", "", "say in the gate receipt whether the matrix is that of the revision `REF`")
	fl.StringVar(&f.notary, "notary", os.Getenv(notary.Variable), "have the notary that listens on the socket `PATH` run it (DIALECT_NOTARY)")
	fl.Lookup("notary").DefValue = ""
	fl.StringVar(&f.acceptFlaky, "accept-flaky", "", "accept passes after failures on the same files, and record `REASON`")
	addEngineFlags(cmd, &f.far)
	f.recordFlags.add(cmd)
	for _, name := range []string{"set", "jobs", "timeout", "stall", "max-output"} {
		_ = cmd.RegisterFlagCompletionFunc(name, noFiles)
	}
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{
		"auto\tlive on a terminal, else a progress line every 30 s", "live\twhat runs now, redrawn in place", "group\tthe output of each step when it ends",
		"stream\teach line of output as it comes", "tail\thow each step ended, and its last lines", "none\tnothing before the report",
	}, cobra.ShellCompDirectiveNoFileComp))
}

// outputs are the values of --output.
var outputs = []string{"auto", "live", "group", "stream", "tail", "none"}

// check says what is wrong with the flags themselves.
func (f *runFlags) check() error {
	switch {
	case f.Clean && f.inPlace:
		return exit.Usagef("--clean and --in-place exclude each other")
	case f.failFast && f.keepGoing:
		return exit.Usagef("--fail-fast and --keep-going exclude each other")
	case f.jobs < 0:
		return exit.Usagef("--jobs %d: want a positive number, or 0 for the number of CPUs", f.jobs)
	case f.changed && (f.failed || f.NoTree):
		return exit.Usagef("--changed goes with neither --failed nor --no-tree")
	case f.budget.Timeout < 0:
		return exit.Usagef("--timeout %v: want a positive duration", f.budget.Timeout)
	case f.acceptFlaky == "REASON":
		return exit.Usagef("--accept-flaky REASON: say why, in your own words")
	case f.budget.Stall < 0:
		return exit.Usagef("--stall %v: want a positive duration", f.budget.Stall)
	case !slices.Contains(outputs, f.output):
		e := exit.Usagef("--output %q: want auto, live, group, stream, tail or none", f.output)
		if near := suggest.Near(f.output, outputs); near != "" {
			e.Hint("did you mean %s?", near)
		}
		return e
	}
	if f.notary != "" {
		_ = os.Setenv(notary.Variable, f.notary) // for what is asked of its store
	}
	if err := f.far.Check(); err != nil {
		return err
	}
	if f.maxOutput != "" {
		n, err := byteSize(f.maxOutput)
		if err != nil || n == 0 {
			return exit.Usagef("--max-output %q: want a size: 10MB, 1GiB", f.maxOutput)
		}
		f.budget.MaxOutput = n
	}
	// What started this run, or the user, bounds it: nested runs do not multiply.
	if text := os.Getenv(attempt.JobsVariable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return exit.Usagef("DIALECT_JOBS=%q: want a positive number", text)
		}
		if f.jobs == 0 || f.jobs > n {
			f.jobs = n
		}
	}
	return nil
}

// run reads the scripts that args name, binds them all, and then runs and reports one after the other. It
// goes on after a failure, unless --fail-fast says otherwise, and ends with the status of the first.
func (f *runFlags) run(u *ui, args []string) error {
	if len(args) < 2 {
		p, err := f.bind(u, args)
		if err != nil || p == nil {
			return err
		}
		return f.execute(u, p)
	}
	if f.events+f.junit+f.html+f.keyFD != "" {
		return exit.Usagef("--events, --junit, --html and --key-fd are of one run: name one script")
	}
	var programs []*project.Program
	for i := range args {
		if args[i] == "-" {
			return exit.Usagef("standard input is a script of its own: leave the others out")
		}
		p, err := f.bind(u, args[i:i+1])
		if err != nil {
			return err
		}
		if p != nil {
			programs = append(programs, p)
		}
	}
	var first error
	for _, p := range programs {
		err := f.execute(u, p)
		first = cmp.Or(first, err)
		var st exit.Status
		if err != nil && (f.failFast || !errors.As(err, &st) || int(st) > exit.Refused) {
			break // the rest was not wanted, or could not run either
		}
	}
	return first
}

// bind reads the script that args name and binds it. There is no program where nothing of it is to be run: with
// --dry-run, which prints the plan, and with --changed.
func (f *runFlags) bind(u *ui, args []string) (*project.Program, error) {
	vars, err := script.Variables(f.set)
	if err != nil {
		return nil, err
	}
	s, err := readScript(u, args, f.lines)
	if err != nil {
		return nil, err
	}
	if (f.failed || f.changed) && s.Line > 0 {
		return nil, exit.Usagef("--failed and --changed look for lines of %s itself: leave :%d out", s.Name, s.Line)
	}
	p, err := project.Load(s, f.routing)
	if err != nil {
		return nil, exit.NoMatrix(err)
	}
	var lines []int
	if f.failed {
		_, logs := f.Paths(p.Matrix.Root)
		if copied, err := store.Copied(); err != nil {
			return nil, err
		} else if copied != "" {
			logs = archive.Of(copied)
		}
		var why string
		if lines, why = (history.Documents{Archive: logs}).LeftOver(p); why != "" {
			u.note(why)
		}
	}
	if f.changed {
		all, err := project.Load(s, f.routing)
		if err != nil {
			return nil, exit.NoMatrix(err)
		}
		if all.Resolve(vars, nil); all.Findings.Count(diag.Error) == 0 {
			ctx, stop := interrupt.Context()
			defer stop()
			some, whole, why, err := inquiry.Changed(ctx, inquiry.Options{Store: f.Store, Routing: f.routing, Own: true}, all.Plan)
			if err != nil {
				return nil, err
			}
			if u.note(why); len(some) == 0 && !whole {
				return nil, nil
			}
			lines = some
		}
	}
	p.Resolve(vars, lines)
	return f.bound(u, p)
}

// bound says what was found in a program that was bound, and returns it if it is to be run.
func (f *runFlags) bound(u *ui, p *project.Program) (*project.Program, error) {
	bad := p.Findings.Count(diag.Error) > 0
	if bad && f.json {
		if err := report.StaticJSON(u.out, p.Script.Name, p.Findings, exit.Fault); err != nil {
			return nil, err
		}
	}
	if err := u.diagnostics(u.err, u.errTTY, p.Findings, p.Sources); err != nil {
		return nil, err
	}
	if bad {
		u.notef("%s in %s: nothing was run", p.Findings.Summary(), p.Script.Name)
		return nil, exit.Status(exit.Fault)
	}
	p.Plan.Script.Flags = f.again()
	if f.dryRun {
		return nil, recording.Redactor(p.Plan, "").Through(u.out, func(w io.Writer) error {
			if f.json {
				return report.PlanJSON(w, p.Plan)
			}
			report.Plan(w, p.Plan)
			return nil
		})
	}
	return p, nil
}

// execute runs a program that binds, and reports it.
func (f *runFlags) execute(u *ui, p *project.Program) error {
	if f.notary != "" {
		return f.notarize(u, p)
	}
	m := p.Plan.Matrix
	if f.far.On() {
		if err := f.far.Fill(p); err != nil {
			return err
		}
		f.Workers, _ = f.far.Workers()
	}
	store, _ := f.Paths(m.Root)
	events := outfile.File{Flag: "--events", Name: f.events, Stream: true}
	junit, html := outfile.File{Flag: "--junit", Name: f.junit}, outfile.File{Flag: "--html", Name: f.html}
	if err := outfile.Settle(outfile.InUse{Files: append(project.Rules(m), p.Script.Path), Store: store}, &events, &junit, &html); err != nil {
		return err
	}
	if t := f.budget.Timeout; t > 0 && t < maxPatience {
		f.Patience = t
	}
	f.Writing = events.Path
	f.Clean = f.Clean || m.Clean.Run && !f.inPlace
	p.Plan.Matrix.Clean.Run, f.Share = f.Clean, m.Clean.Share
	rec, err := f.open(u, m.Root, m.Caches)
	if err != nil {
		return err
	}
	defer rec.Close(nil)
	caught := make(chan *interrupt.Catcher, 1)
	go func() { caught <- interrupt.Catch() }() // which starts a thread
	opt := runOptions(rec, p.Plan)
	sig := <-caught
	defer sig.Stop()
	opt.Jobs, opt.FailFast, opt.KeepGoing, opt.DeferGate = f.jobs, f.failFast, f.keepGoing, f.deferGate
	opt.AcceptFlaky, opt.Reuse, opt.Budget, opt.Control = f.acceptFlaky, f.reuse, f.budget, sig.Control
	if opt.Store != nil && !f.deferGate { // else no gate will say it
		if opt.Policy, err = recording.Policy(sig.Context, m, f.base, f.budget.Timeout); err != nil {
			return exit.Usagef("%v", err)
		}
	}
	if f.far.On() {
		c, err := f.far.Conduct(sig.Context, p, rec, &opt, u.err)
		if err != nil {
			return err
		}
		defer c.Close()
	}
	for _, text := range rec.Begin(opt.Run, p.Script.Name) {
		u.note(text)
	}
	defer rec.End()
	var eventsFile io.WriteCloser
	if f.events != "" {
		if eventsFile, err = events.Open(); err != nil {
			return exit.Usagef("--events %s: %v", f.events, err)
		}
		defer eventsFile.Close()
	}
	shown, mode := u.watch(f.output, f.json, rec.Secret)
	queue := u.queue
	hide := func() {
		shown.Hide()
		// One that does not read is not waited for.
		ctx, cancel := context.WithTimeout(context.Background(), hideGrace)
		defer cancel()
		queue.Wait(ctx)
	}
	sig.Hide.Store(&hide)
	opt.Output = mode == view.Live || mode == view.Stream || f.events != ""
	opt.Listen, opt.Hold = shown.Listen, queue.Hold
	eventsQueue := view.NewQueue(view.QueueOptions{Patience: view.Patience, Whole: true})
	var log *report.Events
	if eventsFile != nil {
		log = report.NewEvents(eventsQueue.To(eventsFile), rec.Secret, nil)
		opt.Listen = func(e engine.Event) { shown.Listen(e); log.Listen(e) }
		opt.Hold = func() <-chan struct{} {
			if ch := queue.Hold(); ch != nil {
				return ch
			}
			return eventsQueue.Hold()
		}
	}
	o := engine.Run(sig.Context, p.Plan, opt)
	rec.Close(o)
	sig.Bound(o.ExitStatus(), rec.End)
	u.unwatch(shown)
	unread := !eventsQueue.Flush(sig.Context)
	doc := report.NewDocument(o, p.Findings, rec.Path)
	rec.Keep(doc)
	if err := rec.Secret.Through(u.out, func(w io.Writer) error { return f.printOutcome(u, w, doc) }); err != nil {
		return err
	}
	if err := f.files(u, doc, p, rec, &junit, &html); err != nil {
		return err
	}
	if log != nil {
		if err := log.Err(); err != nil {
			return exit.Failf(exit.Internal, "--events: %v", err)
		}
		if err := eventsQueue.Err(); err != nil || unread {
			return exit.Failf(exit.Internal, "--events: %v", cmp.Or(err, view.ErrUnread))
		}
	}
	return exit.Of(o.ExitStatus())
}

// maxPatience is how long a run waits for a store that another process holds.
const maxPatience = 20 * time.Second

// hideGrace is how long a terminal may take to have a drawing taken away.
const hideGrace = 300 * time.Millisecond

// files writes the reports that are files, and what GitHub's runner reads.
func (f *runFlags) files(u *ui, doc *report.Document, p *project.Program, rec *recording.Recording, junit, html *outfile.File) error {
	public := func(write func(io.Writer) error) func(io.Writer) error {
		return func(w io.Writer) error { return rec.Secret.Through(w, write) }
	}
	store := cmp.Or(rec.Path, os.DevNull)
	if err := junit.Write(u.out, public(func(w io.Writer) error {
		return report.JUnit(w, doc, report.JUnitOptions{Output: history.Outputs(archive.Of(store))})
	})); err != nil {
		return err
	}
	if err := html.Write(u.out, public(func(w io.Writer) error { return history.HTML(context.Background(), w, doc, store, nil, version()) })); err != nil {
		return err
	}
	if os.Getenv("GITHUB_ACTIONS") != "true" || os.Getenv(report.AgentVariable) != "" {
		return nil
	}
	root := cmp.Or(os.Getenv("GITHUB_WORKSPACE"), p.Plan.Matrix.Root)
	if !f.json {
		if err := public(func(w io.Writer) error { return report.Annotations(w, doc, root) })(u.out); err != nil {
			return err
		}
	}
	if name := os.Getenv("GITHUB_STEP_SUMMARY"); name != "" {
		summary := outfile.File{Flag: "GITHUB_STEP_SUMMARY", Name: name}
		err := outfile.Settle(outfile.InUse{Files: append(project.Rules(p.Plan.Matrix), p.Script.Path), Store: rec.Path}, &summary)
		if err == nil {
			err = summary.Append(public(func(w io.Writer) error { return report.Markdown(w, doc) }))
		}
		if err != nil {
			u.warnf("the step summary was not written: %v", err)
		}
	}
	return nil
}

// reportOptions are those of a report that is printed.
func reportOptions(u *ui) report.Options {
	here, _ := store.Place{Name: os.Getenv("DIALECT_STORE")}.Path() // where there is none, "dialect log" needs a flag
	return report.Options{Color: color(u.outTTY), Rel: place.Short, Store: here}
}

// printOutcome prints the report of a run.
func (f *runFlags) printOutcome(u *ui, w io.Writer, d *report.Document) error {
	if f.json {
		return report.JSON(w, d)
	}
	opt := reportOptions(u)
	switch {
	case u.outTTY:
		opt.Form = report.Terminal
	case inCI():
		opt.Form = report.CI
	}
	return report.Text(w, d, opt)
}

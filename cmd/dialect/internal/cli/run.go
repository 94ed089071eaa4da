package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/history"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/runner"
	"github.com/command-dialect/dialect/runtime/view"
)

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

	budget                      plan.Budget
	maxOutput                   string
	output, events, junit, html string

	base, acceptFlaky string
	reuse             bool
}

const runLong = `Run a script: bind every line, run the lines in order, keep a receipt of each
command, and gate on the receipts at the end.

FILE is a script, FILE:LINE one line of it, - standard input. Text that is piped
in runs without the dash. Nothing runs unless the whole script binds.

A line that only reads runs whatever happened before it, so that one run reports
every problem; a line that changes state does not run after a failure.`

const runExample = `  dialect run quality.dlct
  dialect run quality.dlct:3              # only line 3, again
  dialect run -e "Test with go"           # one line, without a file
  printf 'Check with vet\n' | dialect run
  dialect run --failed quality.dlct       # only what did not pass last time
  dialect run --json quality.dlct | jq .verdict`

func newRun(u *ui) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:     "run [flags] [FILE[:LINE] | -]",
		Short:   "run a script and gate on its receipts",
		Long:    runLong,
		Example: runExample,
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"dlct"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && len(f.lines) == 0 && term.IsTerminal(int(u.in.Fd())) {
				_ = cmd.Help()
				return exit.Usagef("no script: name a FILE, or pipe one in")
			}
			if err := f.check(); err != nil {
				return err
			}
			return runScript(u, args, &f)
		},
	}
	f.add(cmd, true)
	return cmd
}

// add adds the flags of run; script says whether those that say what to run are among them.
func (f *runFlags) add(cmd *cobra.Command, script bool) {
	fl := cmd.Flags()
	fl.SortFlags = false
	noFiles := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveNoFileComp)
	if script {
		fl.StringArrayVarP(&f.lines, "line", "e", nil, "run `LINE` instead of a file; may be repeated")
		fl.BoolVar(&f.failed, "failed", false, "run only the lines that did not pass when this script was last run")
		_ = cmd.RegisterFlagCompletionFunc("line", noFiles)
	}
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
	fl.StringVar(&f.junit, "junit", "", "write JUnit XML to `FILE`")
	fl.StringVar(&f.html, "html", "", "write a page with the timeline to `FILE`")
	fl.BoolVar(&f.deferGate, "defer-gate", false, "leave the receipts for a gate elsewhere")
	fl.BoolVar(&f.reuse, "reuse", false, "let an earlier pass on the same files stand for a line whose binding has reuse = true")
	fl.StringVar(&f.base, "base", "", "say in the gate receipt whether the matrix is that of the revision `REF`")
	fl.StringVar(&f.acceptFlaky, "accept-flaky", "", "accept passes after failures on the same files, and record `REASON`")
	f.recordFlags.add(cmd)
	for _, name := range []string{"set", "jobs", "timeout", "stall", "max-output"} {
		_ = cmd.RegisterFlagCompletionFunc(name, noFiles)
	}
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{
		"auto\tlive on a terminal, else signs of life", "live\twhat runs now, drawn anew", "group\tthe output of each step when it ends",
		"stream\teach line of output as it comes", "tail\thow each step ended, and its last lines", "none\tnothing before the report",
	}, cobra.ShellCompDirectiveNoFileComp))
}

// check says what is wrong with the flags themselves.
func (f *runFlags) check() error {
	switch {
	case f.failFast && f.keepGoing:
		return exit.Usagef("--fail-fast and --keep-going exclude each other")
	case f.jobs < 0:
		return exit.Usagef("--jobs %d: want a positive number, or 0 for the number of CPUs", f.jobs)
	case f.budget.Timeout < 0:
		return exit.Usagef("--timeout %v: want a positive duration", f.budget.Timeout)
	case f.acceptFlaky == "REASON":
		return exit.Usagef("--accept-flaky REASON: say why, in your own words")
	case f.budget.Stall < 0:
		return exit.Usagef("--stall %v: want a positive duration", f.budget.Stall)
	case !slices.Contains([]string{"auto", "live", "group", "stream", "tail", "none"}, f.output):
		return exit.Usagef("--output %q: want auto, live, group, stream, tail or none", f.output)
	}
	if f.maxOutput != "" {
		n, err := byteSize(f.maxOutput)
		if err != nil || n == 0 {
			return exit.Usagef("--max-output %q: want a size: 10MB, 1GiB", f.maxOutput)
		}
		f.budget.MaxOutput = n
	}
	// What started this run, or the user, bounds it: nested runs do not multiply.
	if text := os.Getenv(runner.JobsVariable); text != "" {
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

func runScript(u *ui, args []string, f *runFlags) error {
	vars, err := variables(f.set)
	if err != nil {
		return err
	}
	s, err := readScript(u, args, f.lines)
	if err != nil {
		return err
	}
	if f.failed && s.Line > 0 {
		return exit.Usagef("--failed looks for lines of %s itself: leave :%d out", s.Name, s.Line)
	}
	p, err := project.Load(s, f.routing)
	if err != nil {
		return exit.NoMatrix(err)
	}
	var lines []int
	if f.failed {
		_, logs := f.paths(p.Matrix.Root)
		var why string
		if lines, why = leftOver(history.Documents{Archive: logs}, s, p.File); why != "" {
			u.notef("%s", why)
		}
	}
	p.Resolve(vars, lines)
	if p.Findings.Count(diag.Error) > 0 {
		if f.json {
			if err := report.StaticJSON(u.out, s.Name, p.Findings, exit.Fault); err != nil {
				return err
			}
		}
		if err := u.diagnostics(u.err, u.errTTY, p.Findings, p.Sources); err != nil {
			return err
		}
		u.notef("%s in %s: nothing was run", p.Findings.Summary(), s.Name)
		return exit.Status(exit.Fault)
	}
	if len(p.Findings) > 0 {
		if err := u.diagnostics(u.err, u.errTTY, p.Findings, p.Sources); err != nil {
			return err
		}
	}
	if f.dryRun {
		return dryRun(u, p.Plan, f.json)
	}
	return f.execute(u, p)
}

// execute runs a program that binds, and reports it.
func (f *runFlags) execute(u *ui, p *project.Program) error {
	store, _ := f.paths(p.Plan.Matrix.Root)
	events := outfile.File{Flag: "--events", Name: f.events, Stream: true}
	junit, html := outfile.File{Flag: "--junit", Name: f.junit}, outfile.File{Flag: "--html", Name: f.html}
	if err := outfile.Settle(outfile.InUse{Files: append(project.Rules(p.Plan.Matrix), p.Script.Path), Store: store}, &events, &junit, &html); err != nil {
		return err
	}
	if t := f.budget.Timeout; t > 0 && t < maxPatience {
		f.patience = t
	}
	rec, err := f.open(u, p.Plan.Matrix.Root, p.Plan.Matrix.Caches, events.Path)
	if err != nil {
		return err
	}
	defer rec.close(nil)
	rec.warn(u)
	caught := make(chan *interrupt.Catcher, 1)
	go func() { caught <- interrupt.Catch() }() // which starts a thread
	opt := rec.options(&f.recordFlags, p.Plan)
	sig := <-caught
	defer sig.Stop()
	opt.Jobs, opt.FailFast, opt.KeepGoing, opt.DeferGate = f.jobs, f.failFast, f.keepGoing, f.deferGate
	opt.AcceptFlaky, opt.Reuse, opt.Budget, opt.Control = f.acceptFlaky, f.reuse, f.budget, sig.Control
	if opt.Store != nil && !f.deferGate { // else no gate will say it
		if f.base != "" {
			ctx, done := sig.Context, context.CancelFunc(func() {})
			if f.budget.Timeout > 0 {
				ctx, done = context.WithTimeoutCause(ctx, f.budget.Timeout, fmt.Errorf("git did not answer within the run's timeout of %v", f.budget.Timeout))
			}
			s, err := project.Check(ctx, p.Plan.Matrix, f.base)
			if err != nil && ctx.Err() != nil && sig.Context.Err() == nil {
				err = context.Cause(ctx)
			}
			done()
			if err != nil {
				return exit.Usagef("--base: %v", err)
			}
			opt.Policy = s.Name
		} else {
			opt.Policy = policyOf(sig.Context, p.Plan.Matrix)
		}
	}
	var marked *archive.Mark
	if rec.store != nil {
		tellKilled(u, rec.logs, rec.store)
		marked = rec.logs.Begin(opt.Run, p.Script.Name)
		defer func() { marked.End() }()
	}
	var eventsFile io.WriteCloser
	if f.events != "" {
		if eventsFile, err = events.Open(); err != nil {
			return exit.Usagef("--events %s: %v", f.events, err)
		}
		defer eventsFile.Close()
	}
	shown, mode := u.watch(f.output, f.json, rec.secret)
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
		log = report.NewEvents(eventsQueue.To(eventsFile), rec.secret, nil)
		opt.Listen = func(e runner.Event) { shown.Listen(e); log.Listen(e) }
		opt.Hold = func() <-chan struct{} {
			if ch := queue.Hold(); ch != nil {
				return ch
			}
			return eventsQueue.Hold()
		}
	}
	o := runner.Run(sig.Context, p.Plan, opt)
	rec.close(o)
	sig.Bound(o.ExitStatus(), marked.End)
	u.unwatch(shown)
	unread := !eventsQueue.Flush(sig.Context)
	doc := report.NewDocument(o, p.Findings, rec.path)
	if rec.store != nil {
		rec.logs.KeepRun(o.Run, rec.secret.Bytes(marshal(doc)))
	}
	if err := printOutcome(u, doc, f.json, rec); err != nil {
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
	if st := o.ExitStatus(); st != 0 {
		return exit.Status(st)
	}
	return nil
}

// maxPatience is how long a run waits for a store that another process holds.
const maxPatience = 20 * time.Second

// hideGrace is how long a terminal may take to have a drawing taken away.
const hideGrace = 300 * time.Millisecond

func marshal(doc *report.Document) []byte {
	text, _ := json.Marshal(doc) // it is plain data
	return append(text, '\n')
}

// files writes the reports that are files, and what GitHub's runner reads.
func (f *runFlags) files(u *ui, doc *report.Document, p *project.Program, rec *record, junit, html *outfile.File) error {
	public := func(write func(io.Writer) error) func(io.Writer) error {
		return func(w io.Writer) error {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				return err
			}
			_, err := w.Write(rec.secret.Bytes(b.Bytes()))
			return err
		}
	}
	if err := junit.Write(u.out, public(func(w io.Writer) error { return report.JUnit(w, doc) })); err != nil {
		return err
	}
	store := rec.path
	if store == "" {
		store = os.DevNull
	}
	if err := html.Write(u.out, public(func(w io.Writer) error { return history.HTML(context.Background(), w, doc, store, nil, version()) })); err != nil {
		return err
	}
	if os.Getenv("GITHUB_ACTIONS") != "true" || os.Getenv(report.AgentVariable) != "" {
		return nil
	}
	root := os.Getenv("GITHUB_WORKSPACE")
	if root == "" {
		root = p.Plan.Matrix.Root
	}
	if !f.json {
		if err := public(func(w io.Writer) error { return report.Annotations(w, doc, root) })(u.out); err != nil {
			return err
		}
	}
	if name := os.Getenv("GITHUB_STEP_SUMMARY"); name != "" {
		summary := outfile.File{Flag: "GITHUB_STEP_SUMMARY", Name: name}
		err := outfile.Settle(outfile.InUse{Files: append(project.Rules(p.Plan.Matrix), p.Script.Path), Store: rec.path}, &summary)
		if err == nil {
			err = summary.Append(public(func(w io.Writer) error { return report.Markdown(w, doc) }))
		}
		if err != nil {
			u.warnf("the step summary was not written: %v", err)
		}
	}
	return nil
}

// policyOf begins to compare the matrix with its baseline, beside the run, and
// returns what waits for the answer. The run is the producer's own: a policy that
// changed is said in its gate receipt, and refused by whoever verifies.
func policyOf(ctx context.Context, m plan.Matrix) func() string {
	answer := make(chan string, 1)
	go func() {
		s, err := project.Check(ctx, m, "")
		if err == nil {
			answer <- s.Name()
			return
		}
		// Where no pin can be looked for, HEAD is what there is.
		if s, err = project.Check(ctx, m, "HEAD"); err != nil || s.Complaint() != "" {
			answer <- receipts.PolicyChanged
			return
		}
		answer <- receipts.PolicyUnpinned
	}()
	return func() string { return <-answer }
}

// warn says what the user should know of the key.
func (r *record) warn(u *ui) {
	if r.key != nil && r.key.Weakness != "" {
		u.warnf("signed, and still trust level L0: %s", r.key.Weakness)
	}
}

func printOutcome(u *ui, d *report.Document, asJSON bool, rec *record) error {
	var b bytes.Buffer
	if err := writeOutcome(&b, u, d, asJSON); err != nil {
		return err
	}
	_, err := u.out.Write(rec.secret.Bytes(b.Bytes()))
	return err
}

func writeOutcome(w io.Writer, u *ui, d *report.Document, asJSON bool) error {
	if asJSON {
		return report.JSON(w, d)
	}
	opt := report.Options{Color: color(u.outTTY), Rel: place.Short}
	switch {
	case u.outTTY:
		opt.Form = report.Terminal
	case inCI():
		opt.Form = report.CI
	}
	return report.Text(w, d, opt)
}

// dryRun prints what each line would run.
func dryRun(u *ui, p *plan.Plan, asJSON bool) error {
	var b bytes.Buffer
	if asJSON {
		if err := report.PlanJSON(&b, p); err != nil {
			return err
		}
	} else {
		report.Plan(&b, p)
	}
	_, err := u.out.Write(redactor(p, "").Bytes(b.Bytes()))
	return err
}

// newRunID returns a fresh run id: "r-" and 16 hex digits.
func newRunID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return "r-" + hex.EncodeToString(b[:])
}

// quoteArgs renders arguments for a message.
func quoteArgs(args []string) string {
	q := make([]string, len(args))
	for i, a := range args {
		q[i] = fmt.Sprintf("%q", a)
	}
	return strings.Join(q, " ")
}

package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/runner"
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
				return usagef("no script: name a FILE, or pipe one in")
			}
			if f.failFast && f.keepGoing {
				return usagef("--fail-fast and --keep-going exclude each other")
			}
			if f.jobs < 0 {
				return usagef("--jobs %d: want a positive number, or 0 for the number of CPUs", f.jobs)
			}
			return runScript(u, args, &f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVarP(&f.lines, "line", "e", nil, "run `LINE` instead of a file; may be repeated")
	fl.StringArrayVar(&f.set, "set", nil, "set a variable of the script, `NAME=VALUE`; may be repeated")
	fl.StringVar(&f.routing, "routing", "", "use the matrix `FILE` instead of the nearest routing.toml")
	fl.IntVarP(&f.jobs, "jobs", "j", 0, "run at most `N` commands at the same time (0: the number of CPUs)")
	fl.BoolVar(&f.failFast, "fail-fast", false, "stop at the first failure")
	fl.BoolVar(&f.keepGoing, "keep-going", false, "run lines that change state even after a failure")
	fl.BoolVarP(&f.dryRun, "dry-run", "n", false, "print what would run, and run nothing")
	fl.BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	fl.BoolVar(&f.deferGate, "defer-gate", false, "leave the receipts for a gate elsewhere")
	fl.BoolVar(&f.reuse, "reuse", false, "let an earlier pass on the same files stand for a line whose binding has reuse = true")
	fl.StringVar(&f.base, "base", "", "say in the gate receipt whether the matrix is that of the revision `REF`")
	fl.StringVar(&f.acceptFlaky, "accept-flaky", "", "accept passes after failures on the same files, and record `REASON`")
	f.recordFlags.add(cmd)
	noFiles := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveNoFileComp)
	for _, name := range []string{"set", "jobs", "line"} {
		_ = cmd.RegisterFlagCompletionFunc(name, noFiles)
	}
	return cmd
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
	p, err := bind(s, f.routing, vars)
	if err != nil {
		return err
	}
	if p.findings.Count(diag.Error) > 0 {
		if f.json {
			if err := report.StaticJSON(u.out, s.name, p.findings, exitFault); err != nil {
				return err
			}
		}
		if err := u.diagnostics(u.err, u.errTTY, p.findings, p.sources); err != nil {
			return err
		}
		u.notef("%s in %s: nothing was run", countFindings(p.findings), s.name)
		return exitStatus(exitFault)
	}
	if len(p.findings) > 0 {
		if err := u.diagnostics(u.err, u.errTTY, p.findings, p.sources); err != nil {
			return err
		}
	}
	if f.dryRun {
		return dryRun(u, p.plan, f.json)
	}

	rec, err := f.open(u, p.plan.Matrix.Root, p.plan.Matrix.Caches)
	if err != nil {
		return err
	}
	defer rec.close()
	rec.warn(u)
	ctx, _, stop := signals()
	defer stop()

	terminal := u.outTTY && !f.json
	watch := newWatch(u, terminal && u.errTTY)
	opt := rec.options(&f.recordFlags, p.plan)
	opt.Jobs, opt.FailFast, opt.KeepGoing, opt.DeferGate = f.jobs, f.failFast, f.keepGoing, f.deferGate
	opt.AcceptFlaky, opt.Reuse, opt.Listen = f.acceptFlaky, f.reuse, watch.listen
	if opt.Store != nil && !f.deferGate { // else no gate will say it
		if f.base != "" {
			s, err := policy.Check(ctx, p.plan.Matrix, f.base)
			if err != nil {
				return usagef("--base: %v", err)
			}
			opt.Policy = s.Name
		} else {
			opt.Policy = policyOf(ctx, p.plan.Matrix)
		}
	}
	o := runner.Run(ctx, p.plan, opt)
	watch.close()
	if err := printOutcome(u, o, p, f.json, rec); err != nil {
		return err
	}
	if st := o.ExitStatus(); st != 0 {
		return exitStatus(st)
	}
	return nil
}

// policyOf begins to hold the matrix against its yardstick, beside the run, and
// returns what waits for the answer. The run is the producer's own: a policy that
// changed is said in its gate receipt, and refused by whoever verifies.
func policyOf(ctx context.Context, m plan.Matrix) func() string {
	answer := make(chan string, 1)
	go func() {
		s, err := policy.Check(ctx, m, "")
		if err != nil {
			answer <- receipts.PolicyChanged
			return
		}
		answer <- s.Name()
	}()
	return func() string { return <-answer }
}

// warn says what the user should know of the key.
func (r *record) warn(u *ui) {
	if r.key != nil && r.key.Weakness != "" {
		u.notef("signed, and still trust level L0: %s", r.key.Weakness)
	}
}

func printOutcome(u *ui, o *runner.Outcome, p *program, asJSON bool, rec *record) error {
	var b bytes.Buffer
	if err := writeOutcome(&b, u, o, p, asJSON, rec); err != nil {
		return err
	}
	_, err := u.out.Write(rec.secret.Bytes(b.Bytes()))
	return err
}

func writeOutcome(w io.Writer, u *ui, o *runner.Outcome, p *program, asJSON bool, rec *record) error {
	if asJSON {
		return report.JSON(w, o, p.findings, rec.path)
	}
	opt := report.Options{
		Color: color(u.outTTY), Rel: shortPath, Store: rec.path,
		Rerun: func(s *plan.Step) string { return report.Rerun(p.plan, s) },
	}
	switch {
	case u.outTTY:
		opt.Form = report.Terminal
	case os.Getenv("CI") != "" && os.Getenv("CI") != "false":
		opt.Form = report.CI
	}
	return report.Text(w, o, opt)
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
	_, err := u.out.Write((&record{}).redactor(p).Bytes(b.Bytes()))
	return err
}

// signals returns a context that the signals that end a run cancel, with the
// signal as its cause. Further signals change nothing: the run ends within the
// grace that its processes have, and leaves none of them behind.
func signals() (ctx context.Context, cancel context.CancelCauseFunc, stop func()) {
	ctx, cancel = context.WithCancelCause(context.Background())
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		if sig, ok := <-ch; ok {
			name := map[os.Signal]string{os.Interrupt: "SIGINT", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP"}[sig]
			cancel(runner.Signal{Name: name})
		}
	}()
	return ctx, cancel, func() {
		signal.Stop(ch)
		close(ch)
		cancel(nil)
	}
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

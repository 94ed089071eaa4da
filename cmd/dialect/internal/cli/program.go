package cli

import (
	"os"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/run"
	"github.com/command-dialect/dialect/runtime/notary"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// runFlags are the flags of the commands that run scripts.
type runFlags struct {
	run.Options
	set *pflag.FlagSet
}

// given returns the options, which know now which flags were given. Those that a run of one of the lines again needs are
// not those that choose lines or say where a report goes, which would take the place of the report of them all.
func (f *runFlags) given() *run.Options {
	f.set.Visit(func(x *pflag.Flag) {
		f.Given = append(f.Given, x.Name)
		switch x.Name {
		case "line", "failed", "changed", "dry-run", "json", "output", "events", "junit", "html":
			return
		}
		values := []string{x.Value.String()}
		if list, ok := x.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			switch boolean := x.Value.Type() == "bool"; {
			case boolean && v == "true":
				f.Again = append(f.Again, "--"+x.Name)
			case boolean, strings.HasPrefix(v, "-"): // in one word, so that a value is not taken for a flag
				f.Again = append(f.Again, "--"+x.Name+"="+v)
			default:
				f.Again = append(f.Again, "--"+x.Name, v)
			}
		}
	})
	return &f.Options
}

// addNotaryFlag adds the flag that says who runs it.
func addNotaryFlag(fl *pflag.FlagSet, socket *string) {
	fl.StringVar(socket, "notary", os.Getenv(notary.Variable), "have the notary that listens on the socket `PATH` run it (DIALECT_NOTARY)")
	fl.Lookup("notary").DefValue = ""
}

// add adds the flags that run and rerun have in common.
func (f *runFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	f.set = fl
	fl.SortFlags = false
	noFiles := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveNoFileComp)
	fl.StringArrayVar(&f.Set, "set", nil, "set a variable of the script, `NAME=VALUE`; may be repeated")
	fl.StringVar(&f.Routing, "routing", "", "use the matrix `FILE` instead of the nearest routing.toml")
	fl.IntVarP(&f.Jobs, "jobs", "j", 0, "run at most `N` commands at the same time (0: the number of CPUs; DIALECT_JOBS bounds it)")
	fl.BoolVar(&f.FailFast, "fail-fast", false, "stop at the first failure")
	fl.BoolVar(&f.KeepGoing, "keep-going", false, "run lines that change state even after a failure")
	fl.DurationVar(&f.Budget.Timeout, "timeout", 0, "end the run after `DURATION` (default: [run] of the matrix)")
	fl.DurationVar(&f.Budget.Stall, "stall", 0, "end the run if nothing in it writes anything for `DURATION`")
	fl.StringVar(&f.MaxOutput, "max-output", "", "end the run once it wrote `SIZE`: 10MB, 1GiB")
	fl.BoolVarP(&f.DryRun, "dry-run", "n", false, "print what would run, and run nothing")
	fl.StringVar(&f.Output, "output", "auto", "show the run as `MODE`: live, group, stream, tail, none; auto is live on a terminal")
	fl.BoolVar(&f.JSON, "json", false, "print one JSON document on standard output")
	fl.StringVar(&f.Events, "events", "", "write what happens to `FILE` as it happens, as JSON Lines")
	fl.StringVar(&f.JUnit, "junit", "", "write JUnit XML to `FILE`: a case for each test that a tool names, else for each line")
	fl.StringVar(&f.HTML, "html", "", "write a page with the timeline to `FILE`")
	fl.BoolVar(&f.DeferGate, "defer-gate", false, "leave the receipts for a gate elsewhere")
	fl.BoolVar(&f.Reuse, "reuse", false, "let an earlier pass on the same files stand for a line whose binding has reuse = true")
	fl.BoolVar(&f.InPlace, "in-place", false, "run in the working tree although [run] of the matrix says clean = true")
	fl.StringVar(&f.Base, "base", "", "say in the gate receipt whether the matrix is that of the revision `REF`")
	addNotaryFlag(fl, &f.Notary)
	fl.StringVar(&f.AcceptFlaky, "accept-flaky", "", "accept passes after failures on the same files, and record `REASON`")
	addEngineFlags(cmd, &f.Far)
	addRecordFlags(cmd, &f.Recorded)
	for _, name := range []string{"set", "jobs", "timeout", "stall", "max-output"} {
		_ = cmd.RegisterFlagCompletionFunc(name, noFiles)
	}
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{
		"auto\tlive on a terminal, else a progress line every 30 s", "live\twhat runs now, redrawn in place", "group\tthe output of each step when it ends",
		"stream\teach line of output as it comes", "tail\thow each step ended, and its last lines", "none\tnothing before the report",
	}, cobra.ShellCompDirectiveNoFileComp))
}

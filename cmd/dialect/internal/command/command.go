// Package command makes the program of `dialect exec`, which is one command and no script, and says with
// what exit status it ends. It runs nothing.
package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// Root is the directory whose store exec uses: the nearest project's, else dir.
func Root(dir string) string {
	if path, _, err := project.FindMatrix(dir, ""); err == nil {
		return filepath.Dir(path)
	}
	return dir
}

// Bare is the plan of a command that no binding speaks for.
func Bare(dir string, args []string) *plan.Plan {
	return &plan.Plan{
		Script: plan.Script{Name: "exec", Part: true},
		Matrix: plan.Matrix{Root: dir},
		Steps: []*plan.Step{{
			ID: "1", Line: line(args), Kind: plan.Process, Argv: args, Dir: dir, Effect: plan.Write, Expect: plan.Expect{MinTests: -1},
		}},
	}
}

func line(args []string) plan.Line {
	return plan.Line{File: "exec", Number: 1, Text: report.Command(args)}
}

// As is the plan of the binding called name of the nearest matrix, which the command args must be.
func As(dir, name string, args []string) (*plan.Plan, error) {
	flag := "--as " + name
	fail := func(format string, a ...any) *exit.Failure {
		return exit.Failf(process.StatusNotBegun, "%s: %s", flag, fmt.Sprintf(format, a...))
	}
	m, findings, err := project.LoadMatrix(dir, "")
	if err != nil {
		var f *exit.Failure
		if err = exit.NoMatrix(fmt.Errorf("%s: %w", flag, err)); errors.As(err, &f) {
			f.Status = process.StatusNotBegun
		}
		return nil, err
	}
	if findings.Count(diag.Error) > 0 {
		return nil, fail("the matrix %s does not load: %s", m.Name, findings.Summary()).Hint("`dialect check` says what is wrong")
	}
	b, several := m.Named(name)
	switch {
	case b == nil:
		return nil, exit.NoBinding(process.StatusNotBegun, flag, m, name, several)
	case b.Kind == plan.Composite:
		f := fail("it is a composite, and a command is one of its members")
		for _, member := range b.Members {
			f.Hint("--as %s", member.Name)
		}
		return nil, f
	case b.Kind != plan.Process:
		return nil, fail("it runs no program of its own").Hint("dialect run -e %q", b.Usage())
	}
	file, parsed := lang.Parse(diag.NewSource("--as", []byte(b.Verb+" "+b.Noun+"\n")))
	p, list := resolve.Resolve(file, m, resolve.Options{Parsed: parsed, Script: plan.Script{Name: "exec", Part: true}})
	if list.Count(diag.Error) > 0 || len(p.Steps) != 1 {
		f := fail("it takes values, and a receipt of exec carries none")
		for _, d := range list {
			f.Hint("%s", d.Message)
		}
		return nil, f.Hint("dialect run -e %q", b.Usage())
	}
	s := p.Steps[0]
	if !slices.Equal(s.Argv, args) {
		return nil, fail("the command is not the binding's, which is: %s", report.Command(s.Argv)).
			Hint("dialect exec --as %s -- %s", b.Name, report.Command(s.Argv))
	}
	s.Line = line(args)
	// It was asked for, and runs now. That it counts as writing takes a snapshot after it.
	s.WhenFailure, s.Finally, s.Effect = false, false, plan.Write
	return p, nil
}

// Status is the exit status for what became of the command; judged says that a binding's expectations
// decide, and lost that a receipt was asked for and could not be kept. A command that failed keeps its own status.
func Status(o *engine.Outcome, judged, lost bool) int {
	if status := statusOf(o, judged); status != 0 || !lost {
		return status
	}
	return process.StatusNotBegun
}

func statusOf(o *engine.Outcome, judged bool) int {
	r := o.Results[0]
	p := r.Process
	missing := r.Reason == receipts.StopEnvMissing && (p == nil || p.Stop != "") // else it ran, and said so itself
	switch {
	case o.Signal != "":
		return o.ExitStatus()
	case judged && (r.Verdict == schedule.Passed || r.Verdict == schedule.Flaky):
		return 0
	case missing && isFile(r.Step.Argv[0]):
		return process.StatusNotRunnable
	case missing:
		return process.StatusNotFound
	case r.Reason == receipts.StopTimeout:
		return process.StatusTimedOut
	case p == nil || r.Reason == receipts.StopStartFailed:
		return process.StatusNotBegun
	case p.Signal != "":
		return process.SignalStatus(p.Signal)
	case p.ExitCode != 0:
		return p.ExitCode
	case judged && r.Verdict == schedule.Fault:
		return exit.Fault
	case r.Reason == receipts.StopUnrecordable: // what it wrote in a clean checkout is not here, for one
		return process.StatusNotBegun
	case judged:
		return exit.Failed
	}
	return 0
}

// isFile reports whether name is the path of something that is there: then it
// was found, and cannot be run.
func isFile(name string) bool {
	_, err := os.Stat(name)
	return err == nil && strings.ContainsRune(name, os.PathSeparator)
}

package inquiry

import (
	"context"
	"errors"
	"fmt"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/receipts/verify"
)

// Changed returns the numbers of the lines of p that have to run, since files that they name have changed since their
// last pass. There are none, and all is true, where all lines have to; why says in any case what that rests on. The
// error is that of [New].
func Changed(ctx context.Context, o Options, p *plan.Plan) (lines []int, all bool, why string, err error) {
	q, err := New(ctx, o, "")
	if err != nil {
		return nil, false, "", err
	}
	whole := func(format string, args ...any) ([]int, bool, string, error) {
		return nil, true, "all lines run: " + fmt.Sprintf(format, args...), nil
	}
	switch {
	case q.matrix.Path != p.Matrix.Path:
		return whole("the script is of the project in %s: ask there", p.Matrix.Root)
	case q.Policy != "":
		return whole("%s", q.Policy)
	case q.snapshot == nil:
		return whole("%s", q.NoTree)
	case len(p.Named) == 0:
		return whole("no line of %s has a binding with `files`", p.Script.Name)
	}
	q.Require, q.Strict, q.Scopes = nil, false, scopes(q.matrix.Scopes, q.snapshot)
	var commands []verify.Requirement
	first := make([]int, len(p.Steps)+1) // of the commands of each line
	for i, line := range p.Steps {
		plan.Walk([]*plan.Step{line}, func(s *plan.Step) {
			if s.Kind != plan.Composite && s.Kind != plan.Builtin {
				commands = append(commands, verify.Requirement{Binding: s.Binding, Command: receipts.CommandHash(s.Identity()), Dir: dirOf(p.Matrix.Root, s)})
			}
		})
		first[i+1] = len(commands)
	}
	options := q.storeOptions()
	options.ReadOnly = true
	var st *verify.Standing
	err = interrupt.Await(ctx, func() error {
		s, err := sqlite.Open(ctx, q.path, options)
		if err != nil {
			return err
		}
		defer s.Close()
		st, err = s.Standing(ctx, q.Query, commands)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return nil, false, "", exit.Status(interrupt.Status(ctx))
	case errors.Is(err, sqlite.ErrNoStore):
		return whole("nothing has run here before")
	case err != nil:
		return whole("%v", err)
	case st.Gate == nil:
		return whole("no full run of them is known under these rules, or a file that no line names has changed since")
	}
	runs := 0
	for i, line := range p.Steps {
		if first[i] == first[i+1] {
			continue // a gate
		}
		runs++
		for _, passed := range st.Passed[first[i]:first[i+1]] {
			if !passed {
				lines = append(lines, line.Line.Number)
				break
			}
		}
	}
	if len(lines) == runs {
		return whole("the `files` of each have a path that has changed")
	}
	if len(lines) == 0 {
		return nil, false, fmt.Sprintf("nothing to run: the files of its %s are as they were when they passed; full run: gate %s", diag.Number(runs, "line"), receipts.GateID(st.Gate.SHA)), nil
	}
	return lines, false, fmt.Sprintf("%d of %d lines run: the files of the others are as they were when they passed; full run: gate %s", len(lines), runs, receipts.GateID(st.Gate.SHA)), nil
}

package inquiry

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/scope"
)

// Changed returns the numbers of the lines of p that have to run, since files that they name have changed since their
// last pass. There are none, and all is true, where all lines have to; why says in any case what that rests on. The
// error is that of [New].
func Changed(ctx context.Context, o Options, p *plan.Plan) (lines []int, all bool, why string, err error) {
	q, err := New(ctx, o, "")
	if err != nil {
		return nil, false, "", err
	}
	s, err := q.standing(ctx, p)
	switch {
	case err != nil:
		return nil, false, "", err
	case s.whole != "":
		return nil, true, "all lines run: " + s.whole, nil
	case len(s.lines) == 0:
		return nil, false, fmt.Sprintf("nothing to run: the files of its %s are as they were when they passed; full run: gate %s", diag.Number(s.of, "line"), s.gate), nil
	}
	return s.lines, false, fmt.Sprintf("%d of %d lines run: the files of the others are as they were when they passed; full run: gate %s", len(s.lines), s.of, s.gate), nil
}

// A standing says which lines of a script have to run, as Changed does.
type standing struct {
	lines   []int
	of      int    // how many lines the script has, without its gates
	gate    string // the full run that it rests on
	whole   string // why all lines have to run; empty where some are enough
	unnamed bool   // the reason is that a file has changed that no line names
}

// standing is [Changed] for a question that was made.
func (q *Question) standing(ctx context.Context, p *plan.Plan) (s standing, err error) {
	whole := func(format string, args ...any) (standing, error) {
		return standing{whole: fmt.Sprintf(format, args...)}, nil
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
	of := q.Query
	of.Require, of.Strict, of.Scopes = nil, false, scopes(ctx, q.matrix.Scopes, q.snapshot)
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
		log, err := sqlite.Open(ctx, q.path, options)
		if err != nil {
			return err
		}
		defer log.Close()
		st, err = log.Standing(ctx, of, commands)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return s, exit.Status(interrupt.Status(ctx))
	case errors.Is(err, sqlite.ErrNoStore):
		return whole("nothing has run here before")
	case err != nil:
		return whole("%v", err)
	case st.Gate == nil && st.Near == nil:
		return whole("no full run of them is known under these rules")
	case st.Gate == nil && st.Why != "":
		return whole("%s", st.Why)
	case st.Gate == nil:
		return standing{whole: q.unnamed(ctx, st.Near, p.Named), unnamed: true}, nil
	}
	s.gate = receipts.GateID(st.Gate.SHA)
	for i, line := range p.Steps {
		if first[i] == first[i+1] {
			continue // a gate
		}
		s.of++
		for _, passed := range st.Passed[first[i]:first[i+1]] {
			if !passed {
				s.lines = append(s.lines, line.Line.Number)
				break
			}
		}
	}
	if len(s.lines) == s.of {
		return whole("none of them has passed on its files as they are now")
	}
	return s, nil
}

// unnamed says which of the paths that changed since a gate the patterns do not match.
func (q *Question) unnamed(ctx context.Context, gate *receipts.Entry, patterns []string) string {
	v, _ := gate.Parse()
	g, _ := v.(*receipts.Gate)
	changed, _ := q.changedSince(ctx, g)
	var paths []string
	for _, text := range changed {
		path := text[:strings.LastIndex(text, " (")]
		below, ok := strings.CutPrefix(path, q.snapshot.Place+"/")
		if q.snapshot.Place == "" {
			below, ok = path, true
		}
		if !ok || !scope.Names(patterns, below) {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 { // the old names are not kept, or it was reached through a link
		return "a file that no line names in its `files` has changed since the gate " + receipts.GateID(gate.SHA)
	}
	return "no line names " + receipts.ListPaths(quoted(paths)) + " in its `files`"
}

// someLines says, of a stale gate whose lines name files, what `run --changed` would run of the default script. It asks the log as that does.
func (q *Question) someLines(ctx context.Context, res *verify.Result) string {
	if res.Verdict != verify.Stale || len(q.changed) == 0 || q.snapshot == nil || q.Policy != "" || q.Scopes == nil { // without the last no run of some lines answers
		return ""
	}
	if res.Contradicted() {
		return "a line of that run also failed on that run's own files, so all lines have to run"
	}
	path, _ := project.DefaultScript(filepath.Join(q.root, filepath.FromSlash(q.From)), q.rules)
	text, err := regular.Read(path, maxScript)
	if err != nil {
		return ""
	}
	p, err := project.Load(&project.Script{Name: place.Short(path), Path: path, Text: text}, q.o.Routing)
	if err != nil {
		return ""
	}
	if p.Resolve(nil, nil); p.Findings.Count(diag.Error) > 0 {
		return ""
	}
	switch s, err := q.standing(ctx, p.Plan); {
	case err != nil:
		return ""
	case s.unnamed:
		return s.whole + ", so that all lines have to run"
	case s.whole != "" || len(s.lines) == 0:
		return ""
	default:
		return fmt.Sprintf("`%s` runs %d of %d lines: the files of the others are as they were when they passed", q.run("--changed", place.Short(path)), len(s.lines), s.of)
	}
}

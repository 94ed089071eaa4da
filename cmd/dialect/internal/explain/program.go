package explain

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
)

// Steps writes what each step is bound to, what it runs and within what bounds. receipts says in a line
// what receipts a binding has; empty for nothing.
func Steps(w io.Writer, steps []*plan.Step, receipts func(binding string) string) error {
	for _, s := range steps {
		fmt.Fprintln(w, diag.Printable(s.Line.Text))
		rows := report.Explain(s)
		if text := receipts(s.Binding); text != "" {
			rows = append(rows, report.Row{Name: "receipts", Text: text})
		}
		err := table(w, func(w io.Writer) {
			for _, r := range rows {
				fmt.Fprintf(w, "  %s\t%s\n", r.Name, diag.Printable(r.Text))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Resolve resolves a program that was loaded for [Script]. A variable that vars does not set is shown by its
// name, so that the lines resolve all the same.
func Resolve(p *project.Program, vars map[string]string) {
	shown := maps.Clone(vars)
	for _, v := range lang.Variables(p.File) {
		if _, set := shown[v.Name]; !set && p.Matrix.Vars[v.Name] == "" && !slices.Contains(p.Matrix.Environment, strings.TrimPrefix(v.Name, "env.")) {
			shown[v.Name] = "<" + v.Name + ">"
		}
	}
	p.Resolve(shown, nil)
}

// Script writes what each line of a resolved program does, and what variables it takes.
func Script(w io.Writer, p *project.Program, vars map[string]string) error {
	taken := lang.Variables(p.File)
	return table(w, func(w io.Writer) {
		if p.Plan != nil {
			for _, step := range p.Plan.Steps {
				fmt.Fprintf(w, "%d\t%s\t%s\n", step.Line.Number, diag.Printable(step.Line.Text), diag.Printable(report.Does(step)))
			}
		}
		if len(taken) > 0 {
			fmt.Fprintf(w, "\nvariables\n")
		}
		for _, v := range taken {
			value, known := vars[v.Name]
			if !known {
				value, known = p.Matrix.Vars[v.Name]
			}
			state := "not set: --set " + v.Name + "=VALUE"
			switch env, isEnv := strings.CutPrefix(v.Name, "env."); {
			case known:
				state = "= " + strconv.Quote(value)
			case isEnv && slices.Contains(p.Matrix.Environment, env):
				state = "from the environment"
			case isEnv:
				state = "not allowed: environment = [" + strconv.Quote(env) + "]"
			case len(v.Lines) == 0:
				state = "declared but not used"
			}
			fmt.Fprintf(w, "  {%s}\t%s\t%s\n", v.Name, diag.Printable(state), diag.Printable(v.Text))
		}
	})
}

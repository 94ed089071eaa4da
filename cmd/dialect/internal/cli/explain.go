package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/explain"
	"github.com/command-dialect/dialect/cmd/dialect/internal/script"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing/reference"
	"github.com/command-dialect/dialect/lang/suggest"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/recording"
	"github.com/command-dialect/dialect/runtime/report"
)

type explainFlags struct {
	set                  []string
	routing, store       string
	codes, schema, skill bool
	json                 bool
}

func newExplain(u *ui) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   `explain "LINE" | FILE | WORD`,
		Short: "explain a line, a script, a word of a report, a diagnostic or a key of routing.toml",
		Long: `Explain a line: its binding, what it runs, its budgets, and its receipts.

For a script (FILE.dlct) it summarizes each line, and lists the variables: those that a comment
declares, "# dialect: var ticket  the issue to close", and those that a line uses.

A word of a report or a verdict, such as flaky, vacuous or L0, is explained with what to do about
it. So is a binding, by its name. The code of a diagnostic, such as unbound-verb, is explained with
an example that has the fault and one that does not; --codes lists all codes.

A key of routing.toml, such as effect, run.timeout or servers.NAME.env, is explained with its
values, its default and an example. A key without a table stands for that key in every table.
--schema prints a JSON Schema of all keys, for editors with Taplo (Even Better TOML).

--skill prints the skill of a line, or the skill of that name: the SKILL.md of the project
(.dialect/skills, .claude/skills, .kilocode/skills, .agents/skills), else the one of the standard
library.`,
		Example: `  dialect explain "Test with pytest"
  dialect explain flaky
  dialect explain unbound-verb
  dialect explain effect`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return explain.Words(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case f.codes:
				return u.Print(f.json, explain.AllCodes())
			case f.schema:
				_, err := u.Out.Write(reference.Schema())
				return err
			case len(args) == 0:
				return exit.Usagef("nothing to explain: name a line in quotes, a word of a report, the code of a diagnostic, or a key of routing.toml")
			case f.skill:
				return f.printSkill(u, strings.Join(args, " "))
			case len(args) == 1 && filepath.Ext(args[0]) == ".dlct":
				return f.script(u, args[0])
			case len(args) == 1:
				if docs := explain.Word(args[0]); len(docs) > 0 {
					return f.word(u, docs)
				}
				if strings.ContainsAny(args[0], " \t:=") {
					break
				}
				// One word is not a line: it is the name of a binding, or a slip.
				if m, _, err := loadMatrix(f.routing); err == nil {
					if b, _ := m.Named(args[0]); b != nil {
						return f.line(u, []string{b.Verb, b.Noun})
					}
				}
				e := exit.Usagef("nothing is called %q: no word of a report, no code, no key and no binding", args[0])
				if near := suggest.Near(args[0], explain.Words()); near != "" {
					e.Hint("did you mean %q?", near)
				}
				return e.Hint("a line is a verb, a preposition and a noun: dialect explain \"Test with go\"")
			}
			return f.line(u, args)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVar(&f.set, "set", nil, "set a variable of the line, `NAME=VALUE`; may be repeated")
	fl.StringVar(&f.routing, "routing", "", "use the matrix `FILE` instead of the nearest routing.toml")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	fl.BoolVar(&f.codes, "codes", false, "list the codes of all diagnostics")
	fl.BoolVar(&f.skill, "skill", false, "print the skill of a line, or of that name")
	fl.BoolVar(&f.schema, "schema", false, "print a JSON Schema of routing.toml")
	addStoreFlag(cmd, &f.store)
	return cmd
}

// word prints what a word means; as JSON that is the first of its meanings.
func (f *explainFlags) word(u *ui, docs []explain.Document) error {
	if f.json {
		docs = docs[:1]
	}
	for i, d := range docs {
		if i > 0 {
			fmt.Fprintln(u.Out)
		}
		if err := u.Print(f.json, d); err != nil {
			return err
		}
	}
	return nil
}

// load reads a script, or a line, and what binds it.
func (f *explainFlags) load(u *ui, args, line []string) (*project.Program, map[string]string, error) {
	vars, err := script.Variables(f.set)
	if err != nil {
		return nil, nil, err
	}
	s, err := readScript(u, "explain", args, line)
	if err != nil {
		return nil, nil, err
	}
	p, err := project.Load(s, f.routing)
	if err != nil {
		return nil, nil, exit.NoMatrix(err)
	}
	return p, vars, script.Used(vars, p)
}

// script prints what the lines of a script run, and what variables it takes.
func (f *explainFlags) script(u *ui, name string) error {
	p, vars, err := f.load(u, []string{name}, nil)
	if err != nil {
		return err
	}
	explain.Resolve(p, vars)
	err = recording.Redactor(p.Plan, "").Through(u.Out, report.Syntax(false), func(w io.Writer) error { return explain.Script(w, p, vars) })
	if err != nil {
		return err
	}
	if p.Findings.Count(diag.Error) == 0 {
		return nil
	}
	if err := u.Diagnostics(u.Err, u.ErrTTY, p.Findings, p.Sources); err != nil {
		return err
	}
	return exit.Status(exit.Failed)
}

// line prints what a line, whose words are args, is bound to.
func (f *explainFlags) line(u *ui, args []string) error {
	p, vars, err := f.load(u, nil, []string{strings.Join(args, " ")})
	if err != nil {
		return err
	}
	p.Resolve(vars, nil)
	if err := u.Diagnostics(u.Err, u.ErrTTY, p.Findings, p.Sources); err != nil {
		return err
	}
	switch {
	case p.Findings.Count(diag.Error) > 0:
		return exit.Status(exit.Failed)
	case len(p.Plan.Steps) == 0:
		return exit.Usagef("there is no command in %s", quoteArgs(args))
	}
	return recording.Redactor(p.Plan, "").Through(u.Out, report.Syntax(f.json), func(w io.Writer) error {
		if f.json {
			return report.PlanJSON(w, p.Plan)
		}
		return explain.Steps(w, p.Plan.Steps, store.Place{Name: f.store}.Last)
	})
}

// printSkill prints the skill of that name, or of a line.
func (f *explainFlags) printSkill(u *ui, name string) error {
	m, _, err := loadMatrix(f.routing)
	if err != nil && f.routing != "" {
		return err
	}
	file, text, err := explain.Skill(m, name)
	if file != "" {
		text, err = script.File("skill", file)
	}
	if err != nil {
		return err
	}
	_, err = u.Out.Write(text)
	return err
}

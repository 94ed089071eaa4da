package cli

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/lint"
	"github.com/command-dialect/dialect/lang/routing/reference"
	"github.com/command-dialect/dialect/lang/suggest"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/records"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/stdlib"
)

func newExplain(u *ui) *cobra.Command {
	var f struct {
		set     []string
		routing string
		store   string
		json    bool
		codes   bool
		skill   bool
		schema  bool
	}
	cmd := &cobra.Command{
		Use:   `explain "LINE" | FILE | CODE | KEY`,
		Short: "say what a line is bound to and runs, what a script takes, or what a diagnostic or a key of routing.toml means",
		Long: `Say what a line is bound to, what it runs, within what budgets, and what receipts it has.

Of a script (FILE.dlct) each line is said in short, and the variables that it takes: those that a
comment declares, "# dialect: var ticket  the issue to close", and those that it uses.

The code of a diagnostic, such as unbound-verb, is explained with an example that has the
fault and one that has not; --codes lists them all.

A key of routing.toml, such as effect, run.timeout or servers.NAME.env, is explained with what it takes,
its default and an example; without a table before it, that of each table. --schema prints a
JSON Schema of all keys, for editors with Taplo (Even Better TOML).

With --skill the skill that the binding names is printed, or the one of that name: the SKILL.md
of the project (.dialect/skills, .claude/skills, .kilocode/skills, .agents/skills), else that of the
stdlib.`,
		Example: `  dialect explain "Test with pytest"
  dialect explain unbound-verb
  dialect explain effect`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return explained(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.codes {
				return listCodes(u, f.json)
			}
			if f.schema {
				_, err := u.out.Write(reference.Schema())
				return err
			}
			if len(args) == 0 {
				return exit.Usagef("explain what? a line in quotes, the code of a diagnostic, or a key of routing.toml")
			}
			if f.skill {
				return explainSkill(u, strings.Join(args, " "), f.routing)
			}
			if len(args) == 1 {
				p, isCode := diag.PageOf(diag.Code(args[0]))
				keys := reference.Find(args[0])
				if isCode {
					if err := explainCode(u, p, f.json); err != nil || f.json || len(keys) == 0 {
						return err
					}
					fmt.Fprintln(u.out) // "deprecated" is a code and a key
				}
				if len(keys) > 0 {
					return explainKeys(u, keys, f.json)
				}
				// One word is never a line: it is a slip of a code or of a key.
				if near := suggest.Near(args[0], explained()); near != "" && !strings.ContainsAny(args[0], " \t") && filepath.Ext(args[0]) != ".dlct" {
					return exit.Usagef("there is no code and no key %q", args[0]).Hint("did you mean %q?", near)
				}
			}
			vars, err := variables(f.set)
			if err != nil {
				return err
			}
			if len(args) == 1 && filepath.Ext(args[0]) == ".dlct" {
				return explainScript(u, args[0], f.routing, vars)
			}
			s, err := readScript(u, nil, []string{strings.Join(args, " ")})
			if err != nil {
				return err
			}
			p, err := bind(s, f.routing, vars)
			if err != nil {
				return err
			}
			if len(p.Findings) > 0 {
				if err := u.diagnostics(u.err, u.errTTY, p.Findings, p.Sources); err != nil {
					return err
				}
			}
			switch {
			case p.Findings.Count(diag.Error) > 0:
				return exit.Status(exit.Failed)
			case len(p.Plan.Steps) == 0:
				return exit.Usagef("there is no command in %s", quoteArgs(args))
			}
			var b bytes.Buffer
			if f.json {
				err = report.PlanJSON(&b, p.Plan)
			} else {
				for _, step := range p.Plan.Steps {
					explainStep(&b, step, f.store)
				}
			}
			if err != nil {
				return err
			}
			_, err = u.out.Write((&record{}).redactor(p.Plan).Bytes(b.Bytes()))
			return err
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

// explainScript says what the lines of a script run, and what variables it takes.
func explainScript(u *ui, name, routingFile string, vars map[string]string) error {
	s, err := readScript(u, []string{name}, nil)
	if err != nil {
		return err
	}
	// What is not set is shown by its name, so that the lines can be said all the same.
	shown := maps.Clone(vars)
	p, err := bind(s, routingFile, shown)
	if err != nil {
		return err
	}
	taken := lang.Variables(p.File)
	for _, v := range taken {
		if _, set := shown[v.Name]; !set && p.Matrix.Vars[v.Name] == "" && !slices.Contains(p.Matrix.Environment, strings.TrimPrefix(v.Name, "env.")) {
			shown[v.Name] = "<" + v.Name + ">"
		}
	}
	if p, err = bind(s, routingFile, shown); err != nil {
		return err
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if p.Plan != nil {
		for _, step := range p.Plan.Steps {
			fmt.Fprintf(w, "%d\t%s\t%s\n", step.Line.Number, diag.Printable(step.Line.Text), diag.Printable(report.Does(step)))
		}
	}
	if list := taken; len(list) > 0 {
		fmt.Fprintf(w, "\nvariables\n")
		for _, v := range list {
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
				state = "declared, and not used"
			}
			fmt.Fprintf(w, "  {%s}\t%s\t%s\n", v.Name, diag.Printable(state), diag.Printable(v.Text))
		}
	}
	_ = w.Flush() // to a buffer
	text := b.Bytes()
	if p.Plan != nil {
		text = (&record{}).redactor(p.Plan).Bytes(text)
	}
	if _, err := u.out.Write(text); err != nil {
		return err
	}
	if p.Findings.Count(diag.Error) > 0 {
		if err := u.diagnostics(u.err, u.errTTY, p.Findings, p.Sources); err != nil {
			return err
		}
		return exit.Status(exit.Failed)
	}
	return nil
}

// explainSkill prints the skill called name, or the one that the binding of a line names.
func explainSkill(u *ui, name, routingFile string) error {
	dir, err := os.Getwd()
	if err != nil {
		return exit.Failf(exit.Internal, "%v", err)
	}
	m, _, err := loadMatrix(dir, routingFile)
	if err != nil && routingFile != "" {
		return err
	}
	if verb, noun, ok := words(name); ok && m != nil {
		b := m.Lookup(verb, noun)
		if b == nil {
			return exit.Usagef("nothing is bound to %q", name)
		}
		if name = b.Skill; name == "" {
			return exit.Usagef("the binding %s names no skill", b.Name)
		}
	}
	if m != nil {
		if path, ok := lint.SkillFile(m.Root, name); ok {
			text, err := readFile("skill", path)
			if err != nil {
				return err
			}
			_, err = u.out.Write(text)
			return err
		}
	}
	text, ok := stdlib.Skill(name)
	if !ok {
		return exit.Usagef("there is no skill %q", name).Hint("the stdlib has: %s", strings.Join(stdlib.Skills(), ", "))
	}
	_, err = u.out.Write(text)
	return err
}

// words returns verb and noun of a line; ok is false if it is none.
func words(line string) (verb, noun string, ok bool) {
	f, _ := lang.Parse(diag.NewSource("-e", []byte(line)))
	if len(f.Commands) != 1 || f.Commands[0].Bad {
		return "", "", false
	}
	return f.Commands[0].Verb.Text, f.Commands[0].Noun.Text, true
}

// docPage is the page of a code as JSON.
type docPage struct {
	Code   string `json:"code"`
	Text   string `json:"text"`
	Matrix bool   `json:"matrix,omitempty"` // the examples are of routing.toml
	Bad    string `json:"bad,omitempty"`
	Good   string `json:"good,omitempty"`
}

func newDocPage(p diag.Page) docPage {
	return docPage{string(p.Code), p.Text, p.Matrix, p.Bad, p.Good}
}

func explainCode(u *ui, p diag.Page, asJSON bool) error {
	if asJSON {
		return writeJSON(u, newDocPage(p))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n%s\n", p.Code, p.Text)
	what := "a script"
	if p.Matrix {
		what = "routing.toml"
	}
	for _, x := range []struct{ name, text string }{{"has it", p.Bad}, {"has not", p.Good}} {
		if x.text == "" {
			continue
		}
		fmt.Fprintf(&b, "\n%s that %s:\n\n", what, x.name)
		for line := range strings.Lines(x.text) {
			if line = strings.TrimSuffix(line, "\n"); diag.Printable(line) != line || !utf8.ValidString(line) {
				line = strings.Trim(strconv.QuoteToASCII(line), `"`) // what cannot be seen
			}
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	_, err := u.out.Write(b.Bytes())
	return err
}

// explained are the words that explain knows without a matrix: codes and keys.
func explained() (names []string) {
	for _, code := range diag.Codes() {
		names = append(names, string(code))
	}
	for _, k := range routing.Keys() {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// explainKeys says what keys of a matrix mean.
func explainKeys(u *ui, keys []routing.Key, asJSON bool) error {
	if asJSON {
		return writeJSON(u, struct {
			Schema string            `json:"schema"`
			Keys   []reference.Entry `json:"keys"`
		}{"dialect.keys/1", reference.Entries(keys)})
	}
	_, err := u.out.Write([]byte(reference.Explain(keys)))
	return err
}

func listCodes(u *ui, asJSON bool) error {
	var docs []docPage
	w := tabwriter.NewWriter(u.out, 0, 0, 2, ' ', 0)
	for _, code := range diag.Codes() {
		p, _ := diag.PageOf(code)
		if docs = append(docs, newDocPage(p)); !asJSON {
			first, _, _ := strings.Cut(p.Text, ". ")
			fmt.Fprintf(w, "%s\t%s\n", p.Code, strings.TrimSuffix(first, "."))
		}
	}
	if asJSON {
		return writeJSON(u, struct {
			Schema string    `json:"schema"`
			Codes  []docPage `json:"codes"`
		}{"dialect.codes/1", docs})
	}
	return w.Flush()
}

func explainStep(out *bytes.Buffer, s *plan.Step, store string) {
	fmt.Fprintln(out, diag.Printable(s.Line.Text))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	rows := report.Explain(s)
	if text := lastReceipt(s.Binding, store); text != "" {
		rows = append(rows, report.Row{Name: "receipts", Text: text})
	}
	for _, r := range rows {
		fmt.Fprintf(w, "  %s\t%s\n", r.Name, diag.Printable(r.Text))
	}
	_ = w.Flush() // to a buffer
}

// lastReceipt says in a line what receipts a binding has; empty if there is no
// store to look in.
func lastReceipt(binding, store string) string {
	path, err := findStore(store)
	if err != nil {
		return ""
	}
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return ""
	}
	defer s.Close()
	es, err := s.List(ctx, sqlite.Filter{Kinds: []receipts.Kind{receipts.KindReceipt}, Binding: binding})
	if err != nil {
		return ""
	}
	if len(es) == 0 {
		return "none"
	}
	last := es[len(es)-1]
	v, err := last.Parse()
	if err != nil {
		return ""
	}
	b := v.(*receipts.Receipt)
	return fmt.Sprintf("%d; the last is %s, %s, %s", len(es), last.SHA.Short(), b.Status, records.Stamp(b.Timestamp.Time))
}

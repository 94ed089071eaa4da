package cli

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/report"
)

func newExplain(u *ui) *cobra.Command {
	var f struct {
		set     []string
		routing string
		store   string
		json    bool
		codes   bool
	}
	cmd := &cobra.Command{
		Use:   `explain "LINE" | CODE`,
		Short: "say what a line is bound to and runs, or what a diagnostic means",
		Long: `Say what a line is bound to, what it runs, within what budgets, and what receipts it has.

The code of a diagnostic, such as unbound-verb, is explained with an example that has the
fault and one that has not; --codes lists them all.`,
		Example: `  dialect explain "Test with pytest"
  dialect explain unbound-verb`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if len(args) == 0 {
				for _, code := range diag.Codes() {
					names = append(names, string(code))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.codes {
				return listCodes(u, f.json)
			}
			if len(args) == 0 {
				return usagef("explain what? a line in quotes, or the code of a diagnostic")
			}
			if p, ok := diag.PageOf(diag.Code(args[0])); ok && len(args) == 1 {
				return explainCode(u, p, f.json)
			}
			vars, err := variables(f.set)
			if err != nil {
				return err
			}
			s, err := readScript(u, nil, []string{strings.Join(args, " ")})
			if err != nil {
				return err
			}
			p, err := bind(s, f.routing, vars)
			if err != nil {
				return err
			}
			if len(p.findings) > 0 {
				if err := u.diagnostics(u.err, u.errTTY, p.findings, p.sources); err != nil {
					return err
				}
			}
			switch {
			case p.findings.Count(diag.Error) > 0:
				return exitStatus(exitFailed)
			case len(p.plan.Steps) == 0:
				return usagef("there is no command in %s", quoteArgs(args))
			}
			var b bytes.Buffer
			if f.json {
				err = report.PlanJSON(&b, p.plan)
			} else {
				for _, step := range p.plan.Steps {
					explainStep(&b, step, f.store)
				}
			}
			if err != nil {
				return err
			}
			_, err = u.out.Write((&record{}).redactor(p.plan).Bytes(b.Bytes()))
			return err
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVar(&f.set, "set", nil, "set a variable of the line, `NAME=VALUE`; may be repeated")
	fl.StringVar(&f.routing, "routing", "", "use the matrix `FILE` instead of the nearest routing.toml")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	fl.BoolVar(&f.codes, "codes", false, "list the codes of all diagnostics")
	addStoreFlag(cmd, &f.store)
	return cmd
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
			if line = strings.TrimSuffix(line, "\n"); printable(line) != line || !utf8.ValidString(line) {
				line = strings.Trim(strconv.QuoteToASCII(line), `"`) // what cannot be seen
			}
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	_, err := u.out.Write(b.Bytes())
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
	fmt.Fprintln(out, printable(s.Line.Text))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %s\t%s\n", name, printable(fmt.Sprintf(format, args...)))
	}
	row("binding", "%s (%s:%d)", s.Binding, s.Origin.File, s.Origin.Line)
	switch s.Kind {
	case plan.Process:
		row("runs", "%s", report.Command(s.Argv))
		for i, a := range s.Argv {
			row("", "argv[%d] = %q", i, a)
		}
		row("in", "%s", s.Dir)
	case plan.Composite:
		order := "in order"
		if s.Parallel {
			order = "in parallel"
		}
		row("runs", "%d members %s", len(s.Members), order)
		for _, m := range s.Members {
			what := report.Command(m.Argv)
			if m.Kind != plan.Process {
				what = string(m.Kind) + " " + m.Target
			}
			row("", "%s %s: %s", m.Verb, m.Noun, what)
		}
	default:
		row("runs", "%s %s", s.Kind, s.Target)
	}
	effect := "only reads: runs whatever happened before it"
	if s.Effect == plan.Write {
		effect = "changes state: does not run after a failure"
	}
	row("effect", "%s", effect)
	if s.Kind != plan.Composite {
		required := "left, and not required by the gate"
		if s.ReceiptRequired {
			required = "required by the gate"
		}
		row("receipt", "%s", required)
		row("budget", "%s", budget(s.Budget))
	}
	if s.Finally {
		row("finally", "runs in any case: as a member of a composite after the others, if one of them was started")
	}
	if s.Exclusive != "" {
		row("exclusive", "never at the same time as another that says %q, here or in another process", s.Exclusive)
	}
	switch x := s.Expect; {
	case x.JUnit != "":
		row("tests", "counted in %s", x.JUnit)
	case x.MinTests > 0:
		row("tests", "at least %d must pass", x.MinTests)
	}
	if s.Reuse {
		row("reuse", "with run --reuse, an earlier pass on the same files may stand for it")
	}
	if s.Skill != "" {
		row("skill", "%s", s.Skill)
	}
	if s.Hint != "" {
		row("hint", "%s", s.Hint)
	}
	if text := lastReceipt(s.Binding, store); text != "" {
		row("receipts", "%s", text)
	}
	_ = w.Flush() // to a buffer
}

func budget(b plan.Budget) string {
	parts := []string{"no timeout"}
	if b.Timeout > 0 {
		parts[0] = "timeout " + shortDuration(b.Timeout)
	}
	if b.Stall > 0 {
		parts = append(parts, "stall "+shortDuration(b.Stall))
	}
	if b.MaxOutput > 0 {
		parts = append(parts, fmt.Sprintf("at most %d bytes of output", b.MaxOutput))
	}
	if b.Retries > 0 {
		parts = append(parts, fmt.Sprintf("%d retries", b.Retries))
	}
	return strings.Join(parts, ", ")
}

// shortDuration renders 10m0s as 10m.
func shortDuration(d time.Duration) string {
	s := d.String()
	s = strings.TrimSuffix(s, "0s")
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	if s == "" || strings.HasSuffix(d.String(), "0s") && !strings.HasSuffix(d.String(), "m0s") {
		return d.String()
	}
	return s
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
	return fmt.Sprintf("%d; the last is %s, %s, %s", len(es), last.SHA.Short(), b.Status, stamp(b.Timestamp))
}

package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

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
	}
	cmd := &cobra.Command{
		Use:     `explain "LINE"`,
		Short:   "say what a line is bound to, what it runs, and what receipts it has",
		Example: `  dialect explain "Test with pytest"`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
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
	fl.BoolVar(&f.json, "json", false, "print the plan of the line as one JSON document")
	addStoreFlag(cmd, &f.store)
	return cmd
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

package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
)

// A Row is a name and its text; the name is empty where it is that of the row above.
type Row struct{ Name, Text string }

// Explain says what a step is bound to, what it runs, and within what bounds.
func Explain(s *plan.Step) []Row {
	var rows []Row
	row := func(name, format string, args ...any) {
		if text := clean(fmt.Sprintf(format, args...)); text != "" {
			rows = append(rows, Row{name, text})
		}
	}
	row("binding", "%s (%s:%d)", s.Binding, s.Origin.File, s.Origin.Line)
	switch s.Kind {
	case plan.Process:
		row("runs", "%s", Command(s.Argv))
		for i, a := range s.Argv {
			row("", "argv[%d] = %q", i, a)
		}
		row("in", "%s", s.Dir)
	case plan.Composite:
		row("runs", "%s", members(s))
		for _, m := range s.Members {
			row("", "%s %s: %s", m.Verb, m.Noun, Does(m))
		}
	default:
		row("runs", "%s", Does(s))
		row("arguments", "%s", s.Arguments)
		if s.Kind == plan.Task && len(s.Argv) > 0 {
			row("agent", "%s", Command(s.Argv))
			if len(s.Require) > 0 {
				row("accepted", "with a gate that covers %s", strings.Join(s.Require, ", "))
			} else {
				row("accepted", "without a gate: by its exit status")
			}
		}
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
	if s.Queue != "" {
		row("queue", "with --engine temporal, carried out by the workers of the task queue %q", s.Queue)
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
	row("files", "%s", strings.Join(s.Files, " "))
	for i, p := range s.Inputs {
		name := ""
		if i == 0 {
			name = "inputs"
		}
		row(name, "%s", p)
	}
	if s.Reuse {
		row("reuse", "with run --reuse, an earlier pass on the same files may stand for it")
	}
	row("skill", "%s", s.Skill)
	row("hint", "%s", s.Hint)
	row("install", "%s", s.Install)
	return rows
}

// Does is what a step carries out, in a line.
func Does(s *plan.Step) string {
	switch s.Kind {
	case plan.Process:
		return Command(s.Argv)
	case plan.Composite:
		return fmt.Sprintf("%d members", len(s.Members))
	}
	return string(s.Kind) + " " + s.Target
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

package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/command-dialect/dialect/lang/diag/output"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/engine"
)

// Plan writes what each step of p would run.
func Plan(w io.Writer, p *plan.Plan) {
	together := engine.Together(p)
	for _, s := range p.Steps {
		planStep(w, s, together[s.ID], 0)
	}
}

// planStep writes a step; together names the lines that it runs at the same time as, if there are any.
func planStep(w io.Writer, s *plan.Step, together string, depth int) {
	indent := strings.Repeat("  ", depth)
	title := s.Line.Text
	if depth > 0 {
		title = s.Verb + " " + s.Noun
	}
	var marks []string
	if together != "" {
		marks = append(marks, strings.Replace(together, "-", " to ", 1)+" in parallel")
	}
	if s.Kind == plan.Composite {
		marks = append(marks, members(s))
	}
	if s.Effect == plan.Write {
		marks = append(marks, "writes")
	}
	if s.ReceiptRequired && s.Kind != plan.Composite {
		marks = append(marks, "receipt required")
	}
	if s.WhenFailure {
		marks = append(marks, "only after a failure")
	}
	fmt.Fprintf(w, "%s%s  %s", indent, s.ID, clean(title))
	if s.Finally {
		marks = append(marks, "in any case")
	}
	if s.Exclusive != "" {
		marks = append(marks, "exclusive "+s.Exclusive)
	}
	if s.Queue != "" {
		marks = append(marks, "queue "+s.Queue)
	}
	if len(marks) > 0 {
		fmt.Fprintf(w, "  (%s)", strings.Join(marks, ", "))
	}
	fmt.Fprintln(w)
	switch s.Kind {
	case plan.Process:
		fmt.Fprintf(w, "%s   $ %s\n", indent, Command(s.Argv))
	case plan.Composite:
		for _, m := range s.Members {
			planStep(w, m, "", depth+1)
		}
	default:
		fmt.Fprintf(w, "%s   %s\n", indent, strings.TrimSuffix(string(s.Kind)+":"+s.Target, ":"))
	}
}

// members says how many members a composite has, and in what order they run.
func members(s *plan.Step) string {
	if s.Parallel {
		return Does(s) + " in parallel"
	}
	return Does(s) + " in order"
}

// PlanSchema names the document that [PlanJSON] writes.
const PlanSchema = "dialect.plan/1"

// A PlanDocument is what a script would run.
type PlanDocument struct {
	Schema string     `json:"schema"`
	Script DocScript  `json:"script"`
	Matrix DocMatrix  `json:"matrix"`
	Lines  []*DocStep `json:"lines"`
}

// A DocStep is one line of a plan, or a member of one.
type DocStep struct {
	ID       string     `json:"id"`
	File     string     `json:"file"`
	Line     int        `json:"line"`
	Text     string     `json:"text"`
	Binding  string     `json:"binding"`
	Kind     string     `json:"kind"`
	Target   string     `json:"target,omitempty"`
	Argv     []string   `json:"argv,omitempty"`
	Dir      string     `json:"dir,omitempty"`
	Effect   string     `json:"effect"`
	Required bool       `json:"receipt_required,omitempty"`
	Timeout  float64    `json:"timeout_seconds,omitempty"`
	Parallel bool       `json:"parallel,omitempty"`
	Together string     `json:"together,omitempty"` // of lines with the same text here, which run at the same time: "1-3"
	Finally  bool       `json:"finally,omitempty"`
	Lock     string     `json:"exclusive,omitempty"`
	Queue    string     `json:"queue,omitempty"` // of the workers, with --engine temporal
	Retries  int        `json:"retries,omitempty"`
	Members  []*DocStep `json:"members,omitempty"`
}

// PlanJSON writes p as one JSON document.
func PlanJSON(w io.Writer, p *plan.Plan) error {
	return output.WriteJSON(w, &PlanDocument{
		Schema: PlanSchema, Script: script(p),
		Matrix: DocMatrix{Name: p.Matrix.Name, SHA256: p.Matrix.SHA256}, Lines: docSteps(p.Steps, engine.Together(p)),
	})
}

func docSteps(steps []*plan.Step, together map[string]string) []*DocStep {
	out := make([]*DocStep, 0, len(steps))
	for _, s := range steps {
		d := &DocStep{
			ID: s.ID, File: s.Line.File, Line: s.Line.Number, Text: s.Line.Text, Binding: s.Binding,
			Kind: string(s.Kind), Target: s.Target, Argv: s.Argv, Dir: s.Dir, Effect: string(s.Effect),
			Required: s.ReceiptRequired, Timeout: elapsed(s.Budget.Timeout), Parallel: s.Parallel, Together: together[s.ID],
			Finally: s.Finally, Lock: s.Exclusive, Queue: s.Queue, Retries: s.Budget.Retries,
		}
		if s.Kind == plan.Composite {
			d.Members = docSteps(s.Members, nil)
		}
		out = append(out, d)
	}
	return out
}

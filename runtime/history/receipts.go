package history

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/records"
)

// A Report is what the store knows of earlier runs: the document of `dialect runs --json`.
type Report struct {
	Schema string  `json:"schema"` // dialect.runs/1
	Runs   []*Run  `json:"runs"`   // the newest last
	Lines  []*Line `json:"lines"`
}

// A Run is a run as its receipts show it.
type Run struct {
	Run      string  `json:"run"`
	Script   string  `json:"script"`
	Part     bool    `json:"part,omitempty"`
	Prove    bool    `json:"prove,omitempty"` // its commands ran on files that were broken on purpose
	Started  string  `json:"started"`
	Elapsed  float64 `json:"elapsed_seconds"` // until its last command had ended
	Verdict  string  `json:"verdict"`         // passed (its final gate did), gated (a gate over a part did), failed, unfinished, or ungated
	Gate     string  `json:"gate,omitempty"`
	Commands int     `json:"commands"` // that were planned
	Failed   int     `json:"failed"`

	Began time.Time `json:"-"`
	Ended int       `json:"-"` // commands that have a receipt
	Next  string    `json:"-"` // the first command that has none: `line 3 (test_go)`

	seq   int64
	steps map[string]bool // with the last status of each
	plan  []receipts.Planned
}

// A Line is what the store knows of one line of a script.
type Line struct {
	Line    string  `json:"line"`
	Binding string  `json:"binding"`
	Runs    int     `json:"runs"`
	Failed  int     `json:"failed"`
	Median  float64 `json:"median_seconds"`
	Slowest float64 `json:"slowest_seconds"`
	// Trees is the number of states of the files that the command ran on, and Flaked of
	// those on which it both passed and failed.
	Trees  int `json:"trees"`
	Flaked int `json:"flaked"`

	took  []float64
	trees map[receipts.Hash]uint8
	last  int64
}

// WriteText writes the runs and their lines, in two tables.
func (h *Report) WriteText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTARTED\tTOOK\tVERDICT\tCOMMANDS\tSCRIPT")
	for _, r := range h.Runs {
		commands := fmt.Sprint(r.Commands)
		if r.Failed > 0 {
			commands += fmt.Sprintf(", %d failed", r.Failed)
		}
		if r.Verdict == "unfinished" {
			commands = fmt.Sprintf("%d of %d", r.Ended, r.Commands)
		}
		script := diag.Name(r.Script)
		switch {
		case r.Prove:
			script += " (prove)"
		case r.Part:
			script += " (part)"
		}
		fmt.Fprintf(w, "%s\t%s\t%.2f s\t%s\t%s\t%s\n", diag.Printable(r.Run), records.Stamp(r.Began), r.Elapsed, r.Verdict, commands, script)
	}
	if err := w.Flush(); err != nil || len(h.Lines) == 0 {
		return err
	}
	fmt.Fprintln(out)
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	const most = 80 // characters of a line
	fmt.Fprintln(w, "LINE\tRUNS\tFAILED\tMEDIAN\tSLOWEST\tFLAKY")
	for _, l := range h.Lines {
		flaky := "-"
		if l.Trees > 0 {
			flaky = fmt.Sprintf("%d of %s", l.Flaked, diag.Number(l.Trees, "tree"))
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%.2f s\t%.2f s\t%s\n", diag.Clip(diag.Printable(l.Line), most), l.Runs, l.Failed, l.Median, l.Slowest, flaky)
	}
	return w.Flush()
}

// maxRuns bounds how many runs are looked through for those of a script.
const maxRuns = 2000

// Newest reports the newest runs, at most limit, of a script if one is named, and their lines.
func Newest(ctx context.Context, s *sqlite.Store, script string, limit int) (*Report, error) {
	r := &Report{Schema: "dialect.runs/1", Runs: []*Run{}, Lines: []*Line{}}
	most := limit
	if script != "" {
		most = maxRuns
	}
	es, err := s.List(ctx, sqlite.Filter{Kinds: []receipts.Kind{receipts.KindRun}, Limit: most})
	if err != nil {
		return nil, err
	}
	began := runs(es)
	if script != "" {
		began = slices.DeleteFunc(began, func(r *Run) bool { return r.Script != script })
	}
	if began = began[max(0, len(began)-limit):]; len(began) == 0 {
		return r, nil
	}
	wanted := make(map[string]bool)
	for _, r := range began {
		wanted[r.Run] = true
	}
	es, err = s.List(ctx, sqlite.Filter{Kinds: []receipts.Kind{receipts.KindRun, receipts.KindReceipt, receipts.KindGate}, From: began[0].seq})
	if err != nil {
		return nil, err
	}
	r.Runs = slices.DeleteFunc(runs(es), func(r *Run) bool { return !wanted[r.Run] })
	r.Lines = append(r.Lines, lines(es, wanted)...)
	return r, nil
}

// mostKilled is how many killed runs are named one by one.
const mostKilled = 3

// Killed says of each run that was killed since this was last asked how far it came; of more than a few how many there are.
func Killed(ctx context.Context, a archive.Archive, s *sqlite.Store) (texts []string) {
	list := a.Killed()
	slices.SortStableFunc(list, func(a, b archive.Mark) int { return a.Started.Compare(b.Started) })
	for _, m := range list[max(0, len(list)-mostKilled):] {
		text := fmt.Sprintf("the run %s of %s, begun %s, was killed", m.Run, diag.Name(m.Script), records.Stamp(m.Started))
		if far := howFar(ctx, s, m.Run); far != "" {
			text += ": " + far
		}
		texts = append(texts, text)
	}
	if len(list) > mostKilled {
		return []string{fmt.Sprintf("%d runs were killed; `dialect runs` lists them. The last of them: %s", len(list), texts[len(texts)-1])}
	}
	return texts
}

// howFar says how far a run came that was killed; it is empty where the store does not know.
func howFar(ctx context.Context, s *sqlite.Store, run string) string {
	es, err := s.List(ctx, sqlite.Filter{Run: run, Kinds: []receipts.Kind{receipts.KindRun, receipts.KindReceipt}})
	if err != nil {
		return ""
	}
	r := runs(es)
	if len(r) != 1 {
		return ""
	}
	text := fmt.Sprintf("%d of %d commands had ended", r[0].Ended, r[0].Commands)
	if r[0].Next != "" {
		text += "; " + r[0].Next + " had not"
	}
	return text
}

// runs makes runs of records that are in the order of the log.
func runs(es []receipts.Entry) (list []*Run) {
	byID := make(map[string]*Run)
	for _, e := range es {
		v, _ := e.Parse()
		switch b := v.(type) {
		case *receipts.Run:
			r := &Run{
				Run: b.Run, Script: b.Script.Path.Text, Part: b.Part, Started: b.Started.UTC().Format(time.RFC3339), Began: b.Started.Time,
				Commands: len(b.Planned) + b.More, plan: b.Planned, steps: make(map[string]bool), seq: e.Seq,
			}
			byID[b.Run] = r
			list = append(list, r)
		case *receipts.Receipt:
			if r := byID[b.Run]; r != nil {
				r.Prove = r.Prove || b.Control != nil
				r.steps[b.Step] = b.Status == receipts.Succeeded
				r.Elapsed = max(r.Elapsed, b.Timestamp.Add(b.Duration()).Sub(r.Began).Seconds())
			}
		case *receipts.Gate:
			if r := byID[b.Run]; r != nil {
				r.Gate = receipts.GateID(e.SHA)
				r.Verdict = "gated"
				if b.Final {
					r.Verdict = "passed"
				}
			}
		}
	}
	for _, r := range list {
		r.Ended = len(r.steps)
		for _, ok := range r.steps {
			if !ok {
				r.Failed++
			}
		}
		for _, p := range r.plan {
			if _, ok := r.steps[p.Step]; !ok && p.Binding != "gate_results" {
				r.Next = fmt.Sprintf("line %d (%s)", p.Line, p.Binding)
				break
			}
		}
		switch {
		case r.Verdict != "" && r.Failed == 0:
		case r.Failed > 0:
			r.Verdict = "failed"
		case r.Next != "":
			r.Verdict = "unfinished"
		default:
			r.Verdict = "ungated"
		}
	}
	return list
}

// lines makes statistics of the lines of the wanted runs, in the order in which they ran last.
func lines(es []receipts.Entry, wanted map[string]bool) (list []*Line) {
	byName := make(map[string]*Line)
	for _, e := range es {
		v, _ := e.Parse()
		b, ok := v.(*receipts.Receipt)
		if !ok || !wanted[b.Run] || !b.Reused.IsZero() || b.Control != nil {
			continue
		}
		name := b.Line.Text.Text
		if strings.Contains(b.Step, ".") {
			name += " (" + b.Binding + ")"
		}
		key := name + "\x00" + b.Binding
		l := byName[key]
		if l == nil {
			l = &Line{Line: name, Binding: b.Binding, trees: make(map[receipts.Hash]uint8)}
			byName[key] = l
			list = append(list, l)
		}
		l.last = e.Seq
		l.Runs++
		bit := uint8(1)
		if b.Status != receipts.Succeeded {
			l.Failed++
			bit = 2
		}
		l.took = append(l.took, b.Duration().Seconds())
		if w := b.Workspace; w != nil {
			l.trees[w.Before.Bytes] |= bit
		}
	}
	for _, l := range list {
		slices.Sort(l.took)
		l.Median, l.Slowest = l.took[len(l.took)/2], l.took[len(l.took)-1]
		l.Trees = len(l.trees)
		for _, seen := range l.trees {
			if seen == 3 {
				l.Flaked++
			}
		}
	}
	slices.SortFunc(list, func(a, b *Line) int { return cmp.Compare(a.last, b.last) })
	return list
}

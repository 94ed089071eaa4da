package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
)

// howFar says how far a run came that was killed.
func howFar(s *sqlite.Store, run string) string {
	es, err := s.List(context.Background(), sqlite.Filter{Run: run, Kinds: []receipts.Kind{receipts.KindRun, receipts.KindReceipt}})
	if err != nil {
		return ""
	}
	r := pastRuns(es)
	if len(r) != 1 {
		return ""
	}
	text := fmt.Sprintf("%d of %d commands had ended", r[0].ended, r[0].planned)
	if r[0].next != "" {
		text += "; " + r[0].next + " had not"
	}
	return text
}

// A pastRun is a run as the store has it.
type pastRun struct {
	Run      string  `json:"run"`
	Script   string  `json:"script"`
	Part     bool    `json:"part,omitempty"`
	Started  string  `json:"started"`
	Elapsed  float64 `json:"elapsed_seconds"` // until its last command had ended
	Verdict  string  `json:"verdict"`         // passed (its final gate did), gated (a gate over a part did), failed, unfinished, or ungated
	Gate     string  `json:"gate,omitempty"`
	Commands int     `json:"commands"`
	Failed   int     `json:"failed"`

	seq            int64
	began          time.Time
	planned, ended int
	next           string
	steps          map[string]bool // with the last status of each
	plan           []receipts.Planned
}

// A pastLine is what the store knows of one line of a script.
type pastLine struct {
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

// pastRuns makes runs of records that are in the order of the log.
func pastRuns(es []receipts.Entry) (list []*pastRun) {
	runs := make(map[string]*pastRun)
	for _, e := range es {
		v, _ := e.Parse()
		switch b := v.(type) {
		case *receipts.Run:
			r := &pastRun{
				Run: b.Run, Script: b.Script.Path.Text, Part: b.Part, Started: b.Started.UTC().Format(time.RFC3339), began: b.Started.Time,
				planned: len(b.Planned) + b.More, plan: b.Planned, steps: make(map[string]bool), seq: e.Seq,
			}
			runs[b.Run] = r
			list = append(list, r)
		case *receipts.Receipt:
			if r := runs[b.Run]; r != nil {
				r.steps[b.Step] = b.Status == receipts.Succeeded
				r.Elapsed = max(r.Elapsed, b.Timestamp.Add(b.Duration()).Sub(r.began).Seconds())
			}
		case *receipts.Gate:
			if r := runs[b.Run]; r != nil {
				r.Gate = receipts.GateID(e.SHA)
				r.Verdict = "gated"
				if b.Final {
					r.Verdict = "passed"
				}
			}
		}
	}
	for _, r := range list {
		r.ended, r.Commands = len(r.steps), r.planned
		for _, ok := range r.steps {
			if !ok {
				r.Failed++
			}
		}
		for _, p := range r.plan {
			if _, ok := r.steps[p.Step]; !ok && p.Binding != "gate_results" {
				r.next = fmt.Sprintf("line %d (%s)", p.Line, p.Binding)
				break
			}
		}
		switch {
		case r.Verdict != "" && r.Failed == 0:
		case r.Failed > 0:
			r.Verdict = "failed"
		case r.next != "":
			r.Verdict = "unfinished"
		default:
			r.Verdict = "ungated"
		}
	}
	return list
}

// pastLines makes statistics of the lines of the runs that keep is true of.
func pastLines(es []receipts.Entry, keep func(run string) bool) (list []*pastLine) {
	lines := make(map[string]*pastLine)
	for _, e := range es {
		v, _ := e.Parse()
		b, ok := v.(*receipts.Receipt)
		if !ok || !keep(b.Run) || !b.Reused.IsZero() {
			continue
		}
		name := b.Line.Text.Text
		if strings.Contains(b.Step, ".") {
			name += " (" + b.Binding + ")"
		}
		key := name + "\x00" + b.Binding
		l := lines[key]
		if l == nil {
			l = &pastLine{Line: name, Binding: b.Binding, trees: make(map[receipts.Hash]uint8)}
			lines[key] = l
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
	slices.SortFunc(list, func(a, b *pastLine) int { return cmp.Compare(a.last, b.last) })
	return list
}

const runsLong = `Show the runs that the store knows, the newest last, and how their lines did: how often each
ran and failed, how long it takes, and on how many states of the files it both passed and
failed, which is what a flaky check does. With SCRIPT only those of the script that was run
under that name.

What it says is read from the receipts. A run is "passed" if its final gate passed, "gated" if
a gate over a part of the script did, "unfinished" if a command that it planned has no receipt.`

func newRuns(u *ui) *cobra.Command {
	var f struct {
		store string
		limit int
		json  bool
	}
	cmd := &cobra.Command{
		Use:   "runs [SCRIPT]",
		Short: "show earlier runs, and how each line did",
		Long:  runsLong,
		Args:  cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"dlct"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if f.limit < 1 {
				return usagef("--limit %d: want a positive number", f.limit)
			}
			return withStore(f.store, true, func(ctx context.Context, s *sqlite.Store) error {
				list, es, err := newestRuns(ctx, s, arg(args), f.limit)
				if err != nil {
					return err
				}
				shown := make(map[string]bool)
				for _, r := range list {
					shown[r.Run] = true
				}
				lines := pastLines(es, func(run string) bool { return shown[run] })
				if f.json {
					return writeJSON(u, struct {
						Schema string      `json:"schema"`
						Runs   []*pastRun  `json:"runs"`
						Lines  []*pastLine `json:"lines"`
					}{"dialect.runs/1", nonNil(list), nonNil(lines)})
				}
				return printRuns(u, list, lines)
			})
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVarP(&f.limit, "limit", "n", 20, "show the newest `N` runs")
	fl.BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	addStoreFlag(cmd, &f.store)
	return cmd
}

// maxHistory bounds how many runs are looked through for those of a script.
const maxHistory = 2000

// newestRuns returns the newest runs, of a script if one is named, and all records since the
// first of them.
func newestRuns(ctx context.Context, s *sqlite.Store, script string, limit int) ([]*pastRun, []receipts.Entry, error) {
	most := limit
	if script != "" {
		most = maxHistory
	}
	es, err := s.List(ctx, sqlite.Filter{Kinds: []receipts.Kind{receipts.KindRun}, Limit: most})
	if err != nil {
		return nil, nil, err
	}
	began := pastRuns(es)
	if script != "" {
		began = slices.DeleteFunc(began, func(r *pastRun) bool { return r.Script != script })
	}
	began = began[max(0, len(began)-limit):]
	if len(began) == 0 {
		return nil, nil, nil
	}
	wanted := make(map[string]bool)
	for _, r := range began {
		wanted[r.Run] = true
	}
	es, err = s.List(ctx, sqlite.Filter{Kinds: []receipts.Kind{receipts.KindRun, receipts.KindReceipt, receipts.KindGate}, From: began[0].seq})
	if err != nil {
		return nil, nil, err
	}
	list := slices.DeleteFunc(pastRuns(es), func(r *pastRun) bool { return !wanted[r.Run] })
	return list, es, nil
}

func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func printRuns(u *ui, list []*pastRun, lines []*pastLine) error {
	if len(list) == 0 {
		u.notef("no runs")
		return nil
	}
	w := tabwriter.NewWriter(u.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTARTED\tTOOK\tVERDICT\tCOMMANDS\tSCRIPT")
	for _, r := range list {
		commands := fmt.Sprint(r.Commands)
		if r.Failed > 0 {
			commands += fmt.Sprintf(", %d failed", r.Failed)
		}
		if r.Verdict == "unfinished" {
			commands = fmt.Sprintf("%d of %d", r.ended, r.planned)
		}
		script := printable(r.Script)
		if r.Part {
			script += " (part)"
		}
		fmt.Fprintf(w, "%s\t%s\t%.2f s\t%s\t%s\t%s\n", printable(r.Run), r.began.Local().Format("2006-01-02 15:04:05"), r.Elapsed, r.Verdict, commands, script)
	}
	if err := w.Flush(); err != nil || len(lines) == 0 {
		return err
	}
	fmt.Fprintln(u.out)
	w = tabwriter.NewWriter(u.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LINE\tRUNS\tFAILED\tMEDIAN\tSLOWEST\tFLAKY")
	for _, l := range lines {
		flaky := "-"
		if l.Trees > 0 {
			flaky = fmt.Sprintf("%d of %d trees", l.Flaked, l.Trees)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%.2f s\t%.2f s\t%s\n", printable(l.Line), l.Runs, l.Failed, l.Median, l.Slowest, flaky)
	}
	return w.Flush()
}

package cli

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/history"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
)

// leftOver returns the lines of a script, by number, that did not pass when it was last
// run, found by their text: lines move. It is nil if all did, or if there is no such run;
// then the whole script is to be run, and why says so.
func leftOver(h history.Documents, s *project.Script, file *lang.File) (lines []int, why string) {
	d := h.Last(s.Path, s.SHA256())
	if d == nil {
		return nil, fmt.Sprintf("no earlier run of %s is kept: running all of it", s.Name)
	}
	texts := make(map[string]bool)
	for _, l := range d.Lines {
		if l == nil || l.Gate != nil || l.Verdict == "passed" || l.Verdict == "flaky" || l.Reason == "no_failure" || l.Reason == "not_needed" {
			continue
		}
		texts[l.Text] = true
	}
	for _, c := range file.Commands {
		if texts[c.Text] {
			lines = append(lines, c.Span.Start.Line)
		}
	}
	lines = slices.Compact(lines)
	if len(lines) == 0 {
		return nil, fmt.Sprintf("nothing of %s is left over from %s: running all of it", s.Name, d.Run)
	}
	return lines, ""
}

const rerunLong = `Run again what an earlier run ran: its script as it is now, or the same lines where it was
run from standard input or with -e. RUN/STEP, or the id of a receipt, is one line of it. The
files, the matrix and the script are those of today; the run is a new one, with receipts of
its own. Without an id it is the last run.`

func newRerun(u *ui) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:               "rerun [RUN[/STEP] | RECEIPT]",
		Short:             "run again what an earlier run ran",
		Long:              rerunLong,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			h, path, err := findHistory(f.store)
			if err != nil {
				return err
			}
			d, l, err := h.Line(arg(args))
			if err != nil {
				return notKept(err)
			}
			if err := f.check(); err != nil {
				return err
			}
			args, err = f.again(u, path, d, l)
			if err != nil {
				return err
			}
			return runScript(u, args, &f)
		},
	}
	f.add(cmd, false)
	return cmd
}

func arg(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// projectOf returns the root of the project whose store is at a path; empty if it is no project's.
func projectOf(store string) string {
	abs, err := filepath.Abs(store)
	if root := filepath.Dir(filepath.Dir(abs)); err == nil && archive.Store(root) == abs {
		return root
	}
	return ""
}

// again turns a document, or one line of it, into the arguments of run.
func (f *runFlags) again(u *ui, store string, d *report.Document, l *report.DocResult) ([]string, error) {
	if d.Script.Path == "" {
		for _, line := range d.Lines {
			if line != nil && (l == nil || l.Line == line.Line) {
				f.lines = append(f.lines, line.Text)
			}
		}
		return nil, nil
	}
	// The document is the word of whoever can write the store.
	if root := projectOf(store); root != "" {
		if rel, err := filepath.Rel(root, d.Script.Path); err != nil || !filepath.IsLocal(rel) {
			return nil, exit.Failf(exit.Failed, "%s is outside of the project of that run, %s", d.Script.Path, root).Hint("run it by its name, if that is what you want")
		}
	}
	name := place.Short(d.Script.Path)
	text, err := regular.Read(d.Script.Path, project.MaxScript)
	if err != nil {
		return nil, exit.Failf(exit.Failed, "the script of %s is not there any more: %v", d.Run, err)
	}
	s := project.Script{Text: text}
	switch {
	case s.SHA256() == d.Script.SHA256:
	case l != nil:
		return nil, exit.Failf(exit.Failed, "%s has changed since %s: line %d may be another", name, d.Run, l.Line).
			Hint("run what is meant: dialect run -e %s", report.Command([]string{l.Text}))
	default:
		u.notef("%s has changed since %s", name, d.Run)
	}
	if l != nil {
		name += fmt.Sprintf(":%d", l.Line)
	} else if d.Script.Part && len(d.Lines) == 1 {
		name += fmt.Sprintf(":%d", d.Lines[0].Line)
	}
	return []string{name}, nil
}

const faultLong = `Print the line faults of a run for whoever is to mend them: the contract of each line that
failed or could not be completed, with its invocation, its last lines of output, the first error
and how to reproduce it. With RUN/STEP, or the id of a receipt, it is that one object. Without
an id it is the last run.`

func newFault(u *ui) *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:   "fault [RUN[/STEP] | RECEIPT]",
		Short: "print the line faults of a run as JSON, for a repair agent",
		Long:  faultLong,
		Example: `  dialect fault
  dialect fault r-3c5f0f7e21a9b6d4/3.2 | jq -r '.last_output_lines[]'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			h, _, err := findHistory(store)
			if err != nil {
				return err
			}
			d, l, err := h.Line(arg(args))
			if err != nil {
				return notKept(err)
			}
			if l != nil {
				if l.Fault == nil {
					return exit.Failf(exit.Failed, "the line %s of %s has no fault: it %s", l.ID, d.Run, l.How())
				}
				return writeJSON(u, l.Fault)
			}
			type fault struct {
				Step string `json:"step"`
				*report.DocFault
			}
			doc := struct {
				Schema  string  `json:"schema"`
				Run     string  `json:"run"`
				Script  string  `json:"script"`
				Verdict string  `json:"verdict"`
				Faults  []fault `json:"faults"`
			}{"dialect.faults/1", d.Run, d.Script.Name, d.Verdict, []fault{}}
			d.Leaves(func(l *report.DocResult) {
				if l.Fault != nil {
					doc.Faults = append(doc.Faults, fault{l.ID, l.Fault})
				}
			})
			return writeJSON(u, doc)
		},
	}
	addStoreFlag(cmd, &store)
	return cmd
}

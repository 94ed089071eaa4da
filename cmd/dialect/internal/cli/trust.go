package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/project"
)

const trustLong = `Pin the matrix of this project, with all that it extends and the files that its bindings pin
(pins = [...]), in your own configuration, outside of the project. From then on "verify",
"consume" and "gate" refuse receipts of runs under another matrix, or where the project is part
of another working tree than now: files beside it would not count.

The command first shows what changed since your last pin, or since HEAD. On a terminal it asks;
elsewhere it needs --yes.

An agent that runs as you and can write your configuration directory can pin its own rules, with
--yes or without dialect. A pin protects against an agent that is another user, or that a sandbox
keeps out of that directory. A pin that another user owns or could write is refused.`

type trustFlags struct {
	routing, store    string
	yes, show, remove bool
}

func newTrust(u *ui) *cobra.Command {
	var f trustFlags
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "pin the matrix: verdicts refuse any other",
		Long:  trustLong,
		Example: `  dialect trust              # show what changes, and ask
  dialect trust --yes
  dialect trust --show       # what is pinned, and whether it still holds
  dialect trust --remove`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if f.show && f.remove {
				return exit.Usagef("--show and --remove exclude each other")
			}
			return f.trust(u)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	fl.BoolVar(&f.show, "show", false, "show what is pinned, and change nothing; exit 3 if it does not hold")
	fl.BoolVar(&f.remove, "remove", false, "remove the pin of this project")
	fl.StringVar(&f.routing, "routing", "", "use the matrix `FILE` instead of the nearest routing.toml")
	addStoreFlag(cmd, &f.store)
	return cmd
}

// trust shows the pin of the project, removes it or makes a new one.
func (f *trustFlags) trust(u *ui) error {
	ctx := context.Background()
	m, findings, err := loadMatrix(f.routing)
	if f.remove {
		return f.unpin(u, m, err)
	}
	if err != nil {
		return err
	}
	if findings.Count(diag.Error) > 0 {
		return exit.Failf(exit.Fault, "the matrix %s does not load: %s", m.Name, findings.Summary()).Hint("`dialect check` says what is wrong")
	}
	pm := resolve.Matrix(m)
	old, err := policy.Load(m.Root)
	if err != nil && f.show {
		return exit.Failf(exit.Refused, "%v", err)
	}
	_, _, state, err := project.Trusted(ctx, nil, m, "", "")
	if err != nil {
		state = policy.State{} // a damaged pin is made anew
	}
	worktree, err := project.Worktree(ctx, pm)
	if err != nil {
		return exit.Failf(exit.Failed, "cannot take a snapshot of the working tree: %v", err)
	}
	state = state.At(worktree)
	if f.show {
		return showPin(u, old, state)
	}
	if err := u.Changes(state.Changes); err != nil {
		return err
	}
	switch complaint := state.Complaint(); {
	case len(state.Changes) > 0:
	case complaint != "":
		fmt.Fprintln(u.Out, diag.Printable(complaint))
	case old != nil && old.Worktree == worktree:
		fmt.Fprintf(u.Out, "nothing changes: it is pinned since %s\n", old.At.Format(time.DateOnly))
		return nil
	case state.Against != "":
		fmt.Fprintf(u.Out, "nothing changed since %s; to be pinned:\n", state.Against)
	}
	for _, file := range pm.Files {
		if !file.Absent {
			fmt.Fprintf(u.Out, "%s\n", diag.Printable(place.Short(file.Path)))
		}
	}
	if !f.yes {
		if !u.Typed() {
			return exit.Usagef("nothing was pinned: there is no terminal to ask on").Hint("--yes pins without asking")
		}
		fmt.Fprint(u.Err, "trust these files? [y/N] ")
		answer, _ := bufio.NewReader(u.In).ReadString('\n')
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			u.Notef("nothing was pinned")
			return exit.Status(exit.Failed)
		}
	}
	pin, err := policy.New(pm, worktree, time.Now(), func(f plan.File) bool { return project.Foreign(m.Root, f) })
	if err == nil && f.routing == "" {
		err = pin.Here()
	}
	if err != nil {
		return exit.Failf(exit.Failed, "nothing was pinned: %v", err)
	}
	file, err := pin.Save()
	if err != nil {
		return exit.Failf(exit.Failed, "the pin cannot be kept: %v", err)
	}
	u.Stands()
	fmt.Fprintf(u.Out, "pinned %s in %s\n", diag.Number(len(pin.Files), "file"), file)
	if err := (store.Place{Name: f.store}).Trust(pin, userName()); err != nil {
		u.Warnf("the pin holds, and was not recorded in the store: %v", err)
	}
	return nil
}

// unpin removes the pin of the project of m, or, where err says that there is no matrix, of the nearest folder that has one.
func (f *trustFlags) unpin(u *ui, m *routing.Matrix, err error) error {
	root, werr := os.Getwd()
	switch {
	case err == nil:
		root = m.Root
	case !errors.Is(err, routing.ErrNotFound) || werr != nil:
		return err
	default:
		for at := root; ; at = filepath.Dir(at) {
			if policy.IsPinned(at) {
				root = at
				break
			}
			if at == filepath.Dir(at) {
				return err
			}
		}
	}
	was, err := policy.Remove(root)
	if err != nil {
		return exit.Failf(exit.Internal, "%v", err)
	}
	if !was {
		u.Notef("nothing was pinned for %s", root)
		return nil
	}
	u.Notef("removed the pin of %s: verdicts compare the matrix with HEAD", root)
	return nil
}

func showPin(u *ui, pin *policy.Pin, s policy.State) error {
	if pin == nil {
		fmt.Fprintln(u.Out, "nothing is pinned: verdicts compare the matrix with HEAD only, and say so")
		return nil
	}
	fmt.Fprintf(u.Out, "pinned on %s\n", pin.At.Format(time.RFC3339))
	for _, f := range pin.Files {
		state := "as it is"
		if slices.ContainsFunc(s.Changes, func(c policy.Change) bool { return c.Path == f.Path }) {
			state = "CHANGED"
		}
		fmt.Fprintf(u.Out, "  %s  %s  %s\n", f.SHA256().Short(), diag.Printable(f.Path), state)
	}
	if err := u.Changes(s.Changes); err != nil {
		return err
	}
	complaint := s.Complaint()
	if complaint == "" {
		return nil
	}
	if len(s.Changes) == 0 {
		fmt.Fprintln(u.Out, diag.Printable(complaint))
	}
	return exit.Status(exit.Refused)
}

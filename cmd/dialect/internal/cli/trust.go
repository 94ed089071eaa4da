package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/project"
)

const trustLong = `Pin the matrix of this project, with all that it extends and the files that its
bindings pin (pins = [...]), in your own configuration, outside of the project. From
then on "verify", "consume" and "gate" refuse what ran under another one.

What changes against your last pin, or against HEAD, is shown first. On a terminal you
are asked; elsewhere --yes is needed.

An agent that runs as you and can write your configuration directory can pin its own
rules, with --yes or without dialect. A pin protects from an agent that is another user,
or that a sandbox keeps out of that directory. One that another user owns or could write
is refused.`

func newTrust(u *ui) *cobra.Command {
	var f struct {
		routing, store    string
		yes, show, remove bool
	}
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "pin the matrix, so that another one is refused",
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
			return trust(u, f.routing, f.store, f.yes, f.show, f.remove)
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

func trust(u *ui, routingFile, store string, yes, show, remove bool) error {
	ctx := context.Background()
	m, findings, err := loadMatrix(".", routingFile)
	if err != nil {
		return err
	}
	if findings.Count(diag.Error) > 0 {
		return exit.Failf(exit.Fault, "the matrix %s does not load: %s", m.Name, findings.Summary()).Hint("`dialect check` says what is wrong")
	}
	pm := resolve.Matrix(m)
	if remove {
		was, err := policy.Remove(m.Root)
		if err != nil {
			return exit.Failf(exit.Internal, "%v", err)
		}
		if !was {
			u.notef("nothing was pinned for %s", m.Root)
		}
		return nil
	}
	old, err := policy.Load(m.Root)
	if err != nil && show {
		return exit.Failf(exit.Refused, "%v", err)
	}
	_, _, state, err := project.Trusted(ctx, m, "", "")
	if err != nil {
		state = policy.State{} // a damaged pin is made anew
	}
	if show {
		return showPin(u, old, state)
	}
	if err := printDiff(u, state.Changes); err != nil {
		return err
	}
	if len(state.Changes) == 0 && old != nil {
		fmt.Fprintf(u.out, "nothing changes: it is pinned since %s\n", old.At.Format(time.DateOnly))
		return nil
	}
	for _, f := range pm.Files {
		if !f.Absent {
			fmt.Fprintf(u.out, "%s\n", diag.Printable(place.Short(f.Path)))
		}
	}
	if !yes {
		if !term.IsTerminal(int(u.in.Fd())) {
			return exit.Usagef("nothing was pinned: there is no terminal to ask on").Hint("--yes pins without asking")
		}
		fmt.Fprint(u.err, "trust these files? [y/N] ")
		answer, _ := bufio.NewReader(u.in).ReadString('\n')
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			u.notef("nothing was pinned")
			return exit.Status(exit.Failed)
		}
	}
	pin, err := policy.New(pm, time.Now())
	if err != nil {
		return exit.Failf(exit.Failed, "%v", err)
	}
	file, err := pin.Save()
	if err != nil {
		return exit.Failf(exit.Failed, "the pin cannot be kept: %v", err)
	}
	fmt.Fprintf(u.out, "pinned %s in %s\n", diag.Number(len(pin.Files), "file"), file)
	return logTrust(ctx, u, store, pin)
}

// logTrust records the decision in the store of the project, if it has one.
func logTrust(ctx context.Context, u *ui, store string, pin *policy.Pin) error {
	t := &receipts.Trust{Version: 1, What: receipts.TrustMatrix, Matrix: pin.Matrix, By: defaultConsumer(), Timestamp: receipts.Time{Time: time.Now()}}
	for _, f := range pin.Files {
		t.Files = append(t.Files, receipts.File{Path: receipts.Text(f.Path), SHA256: f.SHA256()})
	}
	rec, err := t.Record()
	if err != nil {
		return exit.Failf(exit.Internal, "%v", err)
	}
	path, err := findStore(store)
	if err != nil {
		return nil // no run has left a store yet
	}
	if err = archive.CheckStore(path); err == nil {
		var s *sqlite.Store
		if s, err = sqlite.Open(ctx, path, sqlite.Options{Existing: true}); err == nil {
			err = errors.Join(s.Append(ctx, rec), s.Close())
		}
	}
	if err != nil {
		u.warnf("the pin holds, and was not recorded in the store: %v", err)
	}
	return nil
}

func showPin(u *ui, pin *policy.Pin, s policy.State) error {
	if pin == nil {
		fmt.Fprintln(u.out, "nothing is pinned: verdicts compare the matrix with HEAD only, and say so")
		return nil
	}
	fmt.Fprintf(u.out, "pinned on %s\n", pin.At.Format(time.RFC3339))
	for _, f := range pin.Files {
		state := "as it is"
		if slices.ContainsFunc(s.Changes, func(c policy.Change) bool { return c.Path == f.Path }) {
			state = "CHANGED"
		}
		fmt.Fprintf(u.out, "  %s  %s  %s\n", f.SHA256().Short(), diag.Printable(f.Path), state)
	}
	if err := printDiff(u, s.Changes); err != nil {
		return err
	}
	if len(s.Changes) > 0 {
		return exit.Status(exit.Refused)
	}
	return nil
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/command"
	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/guard"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/cmd/dialect/internal/voice"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/report"
)

const guardLong = `Run a coding agent, or any command, where it cannot reach the store and the key of its runs.

The agent works, builds, commits and uses the network as always. This process stays outside: it is the
notary. When the agent runs "dialect run", the notary loads the rules of the commit at the start, runs
the lines in a clean checkout that the agent cannot reach, records and signs; the agent sees output and
exit status as always. At the end a summary lists the runs and the failures, and --bundle writes
the proof, red runs included.

The terminal, job control, signals and the exit status are the agent's. It is 125 if the agent was not started, or
if its work cannot be proven.

"dialect help guard" says what this holds, and what it does not.`

func newGuard(u *ui) *cobra.Command {
	var o guard.Options
	var bundle string
	var json bool
	cmd := &cobra.Command{
		Use:   "guard [flags] [--] AGENT [ARGUMENT]...",
		Short: "run an agent where it cannot reach what proves its work",
		Long:  guardLong,
		Example: `  dialect guard -- claude
  dialect guard --bundle proof.json --identity 3 -- codex exec "fix the test" 3< <(cat boss.key)
  dialect guard status`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Failf(process.StatusNotBegun, "no agent: dialect guard -- AGENT [ARGUMENT]...")
			}
			dir, err := os.Getwd()
			if err != nil {
				return exit.Failf(process.StatusNotBegun, "%v", err)
			}
			file := outfile.File{Flag: "--bundle", Name: bundle}
			if err := outfile.Settle(outfile.InUse{}, &file); err != nil {
				return exit.Failf(process.StatusNotBegun, "%v", err)
			}
			o.Argv, o.Root, o.Version = args, command.Root(dir), version()
			o.Helper, o.Room, o.Guard = []string{domainName}, []string{roomName}, []string{guardName, guardArgument}
			o.Note, o.Warn = u.Notef, u.Warnf
			o.Kept = bundle != ""
			r, err := guard.Run(context.Background(), o)
			if f := new(exit.Failure); r == nil && o.Base != "" && errors.As(err, &f) {
				f.Hints = append(f.Hints, inquiry.NoCommit(cmd.Context(), "--base", dir, o.Base, err).Hints...)
			}
			if r == nil {
				return err
			}
			if len(r.Bundle) > 0 { // first: the agent may have filled, or closed, what the summary goes to
				e := file.Write(u.Out, func(w io.Writer) error {
					_, err := w.Write(r.Bundle)
					return err
				})
				err = cmp.Or(err, e)
			}
			err = cmp.Or(err, voice.Write(u.Err, json, r))
			if err != nil {
				return exit.Failf(process.StatusNotBegun, "%v", err)
			}
			if len(r.Notary.Runs) > 0 && !json && bundle != "-" {
				u.Notef("%s", kept(bundle, args[0]))
			}
			return exit.Of(r.Exit)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.SetInterspersed(false)
	fl.StringVar(&bundle, "bundle", "", "write the proof of the session to `FILE`")
	fl.StringVar(&o.Identity, "identity", "", "the key that the file descriptor `N` holds vouches for the session")
	fl.StringVar(&o.Base, "base", "", "take the rules from the revision `REV` (default: HEAD, as it is at the start)")
	fl.BoolVar(&o.InPlace, "in-place", false, "run commands in the working tree, where the agent can change files under them: a lower level")
	fl.BoolVar(&o.Unguarded, "allow-unguarded", false, "where this machine gives no domain run the agent without one, and record at level L0")
	fl.BoolVar(&o.SSHAgent, "ssh-agent", false, "the agent may use your ssh-agent, which can load libraries for it outside; that is in the record")
	fl.BoolVar(&json, "json", false, "print the summary as one JSON document, on standard error")
	cmd.AddCommand(newGuardStatus(u))
	return cmd
}

// kept says how to ask about what a session recorded once it has ended: by its bundle, or not at all.
func kept(bundle, agent string) string {
	if bundle == "" {
		return "no later question finds the gates of this session, whose records ended with it; to keep their proof: dialect guard --bundle FILE -- " + report.Command([]string{agent}) + " ..."
	}
	return "next: " + report.Command([]string{"dialect", "verify", "--bundle", bundle})
}

func newGuardStatus(u *ui) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "say what the notaries of this user have recorded so far",
		Long: `Say what the notary has recorded so far: inside of a guard that of the guard, outside those of all guards of
this user that run.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := guard.Status(cmd.Context())
			if s != nil {
				if e := u.Print(json, s); err == nil {
					err = e
				}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&json, "json", false, "print one JSON document")
	return cmd
}

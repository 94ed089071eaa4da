package cli

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/cmd/dialect/internal/run"
	"github.com/command-dialect/dialect/runtime/keyfd"
	"github.com/command-dialect/dialect/runtime/notary"
)

const notaryLong = `A notary runs scripts for others, and keeps the receipts where they cannot reach them: it loads the
rules itself, runs the lines in a clean checkout, records and signs. "dialect run" asks it where
DIALECT_NOTARY or --notary names its socket. "dialect help notary" says what that proves.

"dialect guard" starts one for a session. This command is for one that stays, under a user of its own.`

func newNotary(u *ui) *cobra.Command {
	cmd := &cobra.Command{Use: "notary", Short: "record the runs of others, as a service", Long: notaryLong, Args: unknownCommand}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		_ = cmd.Help()
		return exit.Status(exit.Usage)
	}
	cmd.AddCommand(newNotaryServe(u), newNotaryStatus(u))
	return cmd
}

const serveLong = `Answer "dialect run" of the users and working trees that are named, until SIGTERM. The kernel says who
asks (SO_PEERCRED): the owner of a --tree may ask about it, and USER about the directory of USER:DIR.

Each tree has a store of its own below --state, a directory that only this user can reach. The key is in
a file that only this user can read, or a credential of systemd. Each record is signed with it; a
verifier names its public key: dialect verify --key notary.pub --level notary.

Commands run as this user, in namespaces in which they see no process of the notary, and not its
directories. Run it as a user of its own, that owns nothing else.`

func newNotaryServe(u *ui) *cobra.Command {
	var socket, state, key, base string
	var trees []string
	var inPlace bool
	var jobs int
	cmd := &cobra.Command{
		Use:     "serve --tree [USER:]DIR... [flags]",
		Short:   "answer the runs of others",
		Long:    serveLong,
		Example: "  dialect notary serve --socket /run/dialect/notary --state /var/lib/dialect --key notary.key --tree ann:/srv/project",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if os.Geteuid() == 0 {
				return exit.Usagef("as root the commands could reach all that the notary has: run it as a user of its own")
			}
			if len(trees) == 0 {
				return exit.Usagef("--tree: name the working trees that may be asked about")
			}
			if state = cmp.Or(state, os.Getenv("STATE_DIRECTORY")); state == "" {
				return exit.Usagef("--state: name a directory that only this user can reach")
			}
			if dir := os.Getenv("CREDENTIALS_DIRECTORY"); key == "" && dir != "" {
				key = filepath.Join(dir, "key")
			}
			if key == "" {
				return exit.Usagef("--key: name the file of the key").Hint("dialect receipts keygen notary FILE >notary.pub")
			}
			key, err := filepath.Abs(key)
			if err != nil {
				return exit.Usagef("--key: %v", err)
			}
			var grants []notary.Grant
			for _, text := range trees {
				g, err := notary.ParseGrant(text)
				if err != nil {
					return exit.Usagef("--tree: %v", err)
				}
				grants = append(grants, g)
			}
			if err := keyfd.Seal(); err != nil {
				return exit.Failf(exit.Failed, "%v", err)
			}
			signer, err := notary.ReadKey(key)
			if err != nil {
				return exit.Usagef("--key: %v", err)
			}
			s, err := notary.NewService(state, grants, notary.Config{
				Key: signer, Base: base, InPlace: inPlace, Jobs: jobs, Hide: []string{filepath.Dir(key)}, Socket: socket,
				Room: []string{roomName}, Guard: []string{guardName, guardArgument}, Version: version(),
			})
			if err != nil {
				return exit.Failf(exit.Failed, "%v", err)
			}
			l, err := notary.Listen(socket)
			if err != nil {
				return exit.Failf(exit.Failed, "%v", err)
			}
			ctx, stop := interrupt.Context()
			defer stop()
			u.Notef("listening on %s as uid %d, key %s", l.Addr(), os.Geteuid(), signer.Public())
			err = s.Serve(ctx, l)
			if e := s.Close(context.WithoutCancel(ctx)); err == nil {
				err = e
			}
			if err != nil {
				return exit.Failf(exit.Failed, "%v", err)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&socket, "socket", "", "listen on the UNIX socket `PATH` (default: the one that systemd hands over)")
	fl.StringArrayVar(&trees, "tree", nil, "answer the owner of `DIR`, or USER for USER:DIR, about that working tree; may be repeated")
	fl.StringVar(&state, "state", "", "keep the stores in `DIR` (default: STATE_DIRECTORY, as systemd sets it)")
	fl.StringVar(&key, "key", "", "sign with the key in `FILE` (default: the credential \"key\" of systemd)")
	fl.StringVar(&base, "base", "", "take the rules from the revision `REV` (default: HEAD, as it is when a tree is asked about first)")
	fl.IntVarP(&jobs, "jobs", "j", 0, "run at most `N` commands of a run at the same time (0: the number of CPUs)")
	fl.BoolVar(&inPlace, "in-place", false, "run commands in the working tree, where the asker can change files under them: a lower level")
	return cmd
}

func newNotaryStatus(u *ui) *cobra.Command {
	var socket string
	var json bool
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "say what a notary has recorded",
		Long:    "Say what the notary that listens on a socket has recorded of the working tree here.",
		Example: "  dialect notary status --notary /run/dialect/notary",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if socket == "" {
				return exit.Usagef("--notary: name the socket of the notary, or set %s", notary.Variable)
			}
			ctx, stop := interrupt.Context()
			defer stop()
			c, err := notary.Dial(ctx, socket)
			if err != nil {
				return run.NoNotary(err)
			}
			s, err := c.Status(ctx)
			if err != nil {
				return run.NoNotary(err)
			}
			return u.Print(json, s)
		},
	}
	cmd.Flags().StringVar(&socket, "notary", os.Getenv(notary.Variable), "ask the notary that listens on the socket `PATH` (DIALECT_NOTARY)")
	cmd.Flags().Lookup("notary").DefValue = ""
	cmd.Flags().BoolVar(&json, "json", false, "print one JSON document")
	return cmd
}

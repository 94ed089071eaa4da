package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/receipts"
)

const keygenLong = `Make a key that signs receipts. The private key goes to FILE, which only you can read; the public
key, which the verifier needs, goes to standard output.

Hand the private key to dialect by a file descriptor, from another user than the agent's:
  dialect run --key-fd 3 quality.dlct 3< <(cat boss.key)

A key that the commands of a run can read proves nothing and gives level L0. So the user of the
commands must not be able to read the dialect binary (sudo make install). If they can, the run says
so; "dialect doctor" says it before the run.`

func newReceiptsKeygen(u *ui) *cobra.Command {
	return &cobra.Command{
		Use:     "keygen NAME FILE",
		Short:   "make a key that signs receipts",
		Long:    keygenLong,
		Example: "  dialect receipts keygen boss boss.key >boss.pub",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			private, public, err := receipts.GenerateKey(args[0])
			if err != nil {
				return exit.Usagef("%v", err)
			}
			file := outfile.File{Flag: "key", Name: args[1], Fresh: true}
			if err := outfile.Settle(outfile.InUse{}, &file); err != nil {
				return exit.Usagef("%v", err)
			}
			if err := file.Create([]byte(private+"\n"), 0o600); err != nil {
				return exit.Failf(exit.Failed, "%v", err)
			}
			u.Stands()
			_, err = fmt.Fprintln(u.Out, public)
			return err
		},
	}
}

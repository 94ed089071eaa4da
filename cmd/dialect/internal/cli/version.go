package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newVersion(u *ui) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(u.Out, versionString())
			return err
		},
	}
}

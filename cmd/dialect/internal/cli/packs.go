package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/explain"
	"github.com/command-dialect/dialect/stdlib"
)

func newPacks(u *ui) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "packs [show NAME]",
		Short: "list the packs of bindings that a matrix can extend, or print one",
		Long: `List the packs that a matrix can extend: extends = ["python"]. A pack is a routing matrix like any
other; a project replaces a binding of a pack by its name, or by its verb and noun. A pack of your
own is a file: extends = ["./team.toml"].`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return u.Print(asJSON, explain.AllPacks())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	cmd.AddCommand(&cobra.Command{
		Use:   "show NAME",
		Short: "print a pack",
		Args:  cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return stdlib.Packs(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			text, ok := stdlib.Pack(args[0])
			if !ok {
				return exit.Usagef("there is no pack %q", args[0]).Hint("packs: %s", strings.Join(stdlib.Packs(), ", "))
			}
			_, err := u.Out.Write(text)
			return err
		},
	})
	return cmd
}

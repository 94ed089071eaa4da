package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/stdlib"
)

func newPacks(u *ui) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "packs [show NAME]",
		Short: "list the packs of bindings that a matrix can extend, or print one",
		Long: `List the packs that a matrix can extend: extends = ["python"]. A pack is a routing matrix like
any other; a project replaces what it binds itself, by name or by verb and noun.
A pack of your own is a file: extends = ["./team.toml"].`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			type pack struct {
				Name string `json:"name"`
				Text string `json:"text"`
			}
			var list []pack
			w := tabwriter.NewWriter(u.out, 0, 0, 2, ' ', 0)
			for _, name := range stdlib.Packs() {
				text, _ := stdlib.Pack(name)
				// The first sentence of the comment that it begins with.
				var words []string
				for line := range strings.Lines(string(text)) {
					rest, ok := strings.CutPrefix(line, "# ")
					if !ok {
						break
					}
					words = append(words, strings.TrimSpace(rest))
				}
				first, _, _ := strings.Cut(strings.Join(words, " "), ". ")
				if list = append(list, pack{name, strings.TrimSuffix(first, ".")}); !asJSON {
					fmt.Fprintf(w, "%s\t%s\n", name, list[len(list)-1].Text)
				}
			}
			if asJSON {
				return writeJSON(u, struct {
					Schema string `json:"schema"`
					Packs  []pack `json:"packs"`
				}{"dialect.packs/1", list})
			}
			return w.Flush()
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
			_, err := u.out.Write(text)
			return err
		},
	})
	return cmd
}

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/explain"
	"github.com/command-dialect/dialect/lang/suggest"
	"github.com/command-dialect/dialect/stdlib"
)

// newHelp makes the command that cobra has for help, with the pages of the documentation beside the commands.
func newHelp(u *ui) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND... | TOPIC]",
		Short: "print the help of a command, or a topic of the documentation",
		Long: `Print the help of a command, or a topic of the documentation. Without either it lists the commands
and the topics.`,
		Example: `  dialect help run
  dialect help first-steps`,
		ValidArgsFunction: completeHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if len(args) == 0 {
				return root.Help()
			}
			page, topic := explain.FindTopic(args[0])
			found, rest, err := root.Find(args)
			command := err == nil && len(rest) == 0
			if topic && len(args) == 1 {
				if err := page.WriteText(u.Out); err != nil || !command {
					return err
				}
				_, err := fmt.Fprintf(u.Out, "\n`%s --help` lists its flags.\n", found.CommandPath())
				return err
			}
			if command {
				found.InitDefaultHelpFlag()
				found.InitDefaultVersionFlag()
				return found.Help()
			}
			f := exit.Usagef("there is no command and no topic %q", strings.Join(args, " "))
			var names []string
			for _, c := range root.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name())
				}
			}
			for _, t := range stdlib.Topics() {
				names = append(names, t.Name)
			}
			if near := suggest.Near(strings.ToLower(args[0]), names); near != "" {
				f.Hint("did you mean `dialect help %s`?", near)
			}
			return f.Hint("`dialect help` lists the commands and the topics")
		},
	}
}

// completeHelp completes commands at any depth, and topics in the first place.
func completeHelp(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	found, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, c := range found.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name()+"\t"+c.Short)
		}
	}
	if len(args) == 0 {
		for _, t := range stdlib.Topics() {
			names = append(names, t.Name+"\t"+t.Title)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

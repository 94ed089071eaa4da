package cli

import (
	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/project"
)

// nearest loads the nearest matrix, as far as that goes; nil if there is none.
func nearest() *routing.Matrix {
	m, _, err := project.LoadMatrix(".", "")
	if err != nil {
		return nil
	}
	return m
}

// completeVerbs completes the verbs of the nearest matrix.
func completeVerbs(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if m := nearest(); m != nil && len(args) == 0 {
		return m.Verbs(), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completeBindings completes the names of the bindings of the nearest matrix.
func completeBindings(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	if m := nearest(); m != nil {
		for _, b := range m.Bindings {
			names = append(names, b.Name+"\t"+b.Verb+" "+b.Noun)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeIDs completes the newest receipts and gates of the store at hand.
func completeIDs(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	name, _ := cmd.Flags().GetString("store") // it has the flag
	return store.Place{Name: name}.IDs(), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeRuns completes the runs that are kept.
func completeRuns(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	name, _ := cmd.Flags().GetString("store") // it has the flag
	h, _, err := (store.Place{Name: name}).Documents()
	if err != nil || len(args) > 0 {
		return nil, none
	}
	names := h.Runs()
	return names[:min(len(names), 50)], none | cobra.ShellCompDirectiveKeepOrder
}

package cli

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/records"
)

// completeIDs completes the newest receipts and gates of the store at hand.
func completeIDs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	name, _ := cmd.Flags().GetString("store") // it has the flag
	path, err := findStore(name)
	if err != nil {
		return nil, none
	}
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return nil, none
	}
	defer s.Close()
	es, err := s.List(ctx, sqlite.Filter{Limit: 50})
	if err != nil {
		return nil, none
	}
	var ids []string
	for i := len(es) - 1; i >= 0; i-- {
		id, what := es[i].SHA.Short(), ""
		v, _ := es[i].Parse() // what cannot be read has an id all the same
		switch b := v.(type) {
		case *receipts.Gate:
			id, what = receipts.GateID(es[i].SHA), "gate, "+records.Stamp(b.Timestamp.Time)
		case *receipts.Receipt:
			what = string(b.Status) + ": " + b.Line.Text.Text
		}
		ids = append(ids, id+"\t"+strings.ReplaceAll(diag.Printable(what), "\n", " "))
	}
	return ids, none | cobra.ShellCompDirectiveKeepOrder
}

// completeVerbs completes the verbs of the nearest matrix.
func completeVerbs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	dir, err := os.Getwd()
	if err != nil || len(args) > 0 {
		return nil, none
	}
	path, err := routing.Find(dir)
	if err != nil {
		return nil, none
	}
	m, _ := routing.Load(path, path, routing.Options{})
	return m.Verbs(), none
}

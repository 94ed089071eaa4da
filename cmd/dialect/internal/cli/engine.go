package cli

import (
	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/temporal"
)

// addEngineFlags adds the flags that say where a run is carried out.
func addEngineFlags(cmd *cobra.Command, o *temporal.Options) {
	fl := cmd.Flags()
	fl.StringVar(&o.Engine, "engine", "", "have the lines carried out by `ENGINE`: local, temporal (see: dialect help temporal)")
	addServerFlags(cmd, o)
	fl.StringVar(&o.Depot, "remote", "", "send the files to the workers through the git repository `URL`")
	fl.StringArrayVar(&o.Keys, "worker-key", nil, "believe receipts that the public `KEY` has signed; may be repeated")
	fl.BoolVar(&o.Untracked, "send-untracked", false, "also send files that git does not track")
	_ = cmd.RegisterFlagCompletionFunc("engine", cobra.FixedCompletions([]string{"local\ton this machine", "temporal\tby the workers of a Temporal server"}, cobra.ShellCompDirectiveNoFileComp))
}

// addServerFlags adds the flags that say where the engine is.
func addServerFlags(cmd *cobra.Command, o *temporal.Options) {
	fl := cmd.Flags()
	fl.StringVar(&o.Address, "address", "", "of the Temporal server, `HOST:PORT` (TEMPORAL_ADDRESS)")
	fl.StringVar(&o.Namespace, "namespace", "", "`NAMESPACE` of the Temporal server (TEMPORAL_NAMESPACE)")
	fl.StringVar(&o.Queue, "task-queue", "", "hand the lines to the workers of the task queue `QUEUE`")
}

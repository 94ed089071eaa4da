package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/doctor"
	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
)

func newDoctor(u *ui) *cobra.Command {
	var f struct {
		routing string
		store   string
		json    bool
		online  bool
	}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "diagnose the set-up: matrix, tools, store, trust, MCP servers",
		Long: `Look at all that a run needs, and say what is broken and what to do: the matrix and its tools, the
store of receipts, whether a key would count, git, what the matrix is compared with, which variables
of the environment tools do not get, and which domain "dialect guard" would give an agent. --online
also starts the MCP servers.

The exit status is 1 if something is broken.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			r := doctor.Examine(doctor.Options{Dir: ".", Routing: f.routing, Store: f.store, Online: f.online, Version: version(), Environ: os.Environ(), Domain: []string{domainName}})
			err := u.Print(f.json, r)
			if err == nil && r.Broken() {
				return exit.Status(exit.Failed)
			}
			return err
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.routing, "routing", "", "use the matrix `FILE` instead of the nearest routing.toml")
	fl.BoolVar(&f.online, "online", false, "start the MCP servers of the matrix, and ask each for its tools")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	addStoreFlag(cmd, &f.store)
	return cmd
}

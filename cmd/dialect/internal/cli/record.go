package cli

import (
	"os"

	"github.com/command-dialect/dialect/cmd/dialect/internal/run"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/keyfd"
	"github.com/spf13/cobra"
)

// addRecordFlags adds the flags of the commands that leave receipts.
func addRecordFlags(cmd *cobra.Command, f *run.Recorded) {
	f.By, f.Version, f.Helper, f.Guard = userName(), version(), []string{roomName}, []string{guardName, guardArgument}

	addStoreFlag(cmd, &f.Store)
	fl := cmd.Flags()
	fl.StringVar(&f.Session, "session", os.Getenv(attempt.SessionVariable), "name the `SESSION` that receipts belong to (default: the run's own id; DIALECT_SESSION)")
	fl.StringVar(&f.Nonce, "nonce", os.Getenv(attempt.NonceVariable), "bind receipts to the orchestrator's `NONCE` (DIALECT_NONCE)")
	fl.StringVar(&f.KeyFD, "key-fd", os.Getenv(keyfd.Variable), "sign receipts with the key that the file descriptor `N` holds (DIALECT_KEY_FD)")
	fl.BoolVar(&f.Clean, "clean", false, "run in a checkout of exactly the project's files, apart from the working tree")
	fl.BoolVar(&f.NoTree, "no-tree", false, "take no snapshots of the files: the receipts do not say what was tested")
	// The default is what the environment holds at this moment; it is not a text for the help.
	for _, name := range []string{"session", "nonce", "key-fd"} {
		fl.Lookup(name).DefValue = ""
	}
}

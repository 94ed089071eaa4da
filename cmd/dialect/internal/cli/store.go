package cli

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/records"
)

// What the commands have in common that are about a store of receipts.

// storeFlags say which store is asked, and whose signatures count.
type storeFlags struct {
	store string
	keys  []string
}

func (f *storeFlags) add(cmd *cobra.Command) {
	addKeyFlag(cmd, &f.keys)
	addStoreFlag(cmd, &f.store)
}

func addKeyFlag(cmd *cobra.Command, keys *[]string) {
	cmd.Flags().StringArrayVar(keys, "key", nil, "trust signatures of the public key `PUB`, or of the keys in the file PUB; may be repeated")
}

func addStoreFlag(cmd *cobra.Command, store *string) {
	fl := cmd.Flags()
	fl.StringVar(store, "store", os.Getenv(attempt.StoreVariable), "use the store `PATH`, or \"none\" for no store (default: .dialect/store/receipts.db at the project's root; DIALECT_STORE)")
	fl.Lookup("store").DefValue = ""
}

// place returns the store that the flags name.
func (f *storeFlags) place() (store.Place, error) {
	keys, err := store.ReadKeys(f.keys)
	return store.Place{Name: f.store, Keys: keys}, err
}

// userName is who does it, where nobody is named.
func userName() string {
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}

// addAs adds --as, which says who does it.
func addAs(cmd *cobra.Command, as *string, usage string) {
	cmd.Flags().StringVar(as, "as", userName(), usage)
	cmd.Flags().Lookup("as").DefValue = "the user"
}

// sinceUsage is that of --since where a log is compared with a checkpoint.
const sinceUsage = "compare the log with the checkpoint that you kept in `FILE` (see receipts checkpoint)"

// tellDecision prints a decision, and ends with exit status 3 where it is a refusal. A decision stands in the log whether or not it
// could be printed: where standard output was closed by its reader, standard error has it.
func tellDecision(u *ui, d records.Decision, asJSON bool) error {
	u.Stands()
	err := u.Print(asJSON, d)
	if errors.Is(err, syscall.EPIPE) {
		u.TellLost()
	}
	if !d.Passed() {
		return exit.Status(exit.Refused)
	}
	return err
}

package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/keyfd"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/recording"
)

// recordFlags are the flags of the commands that leave receipts.
type recordFlags struct {
	recording.Options
	keyFD string
}

func (f *recordFlags) add(cmd *cobra.Command) {
	addStoreFlag(cmd, &f.Store)
	fl := cmd.Flags()
	fl.StringVar(&f.Session, "session", os.Getenv("DIALECT_SESSION"), "name the `SESSION` that receipts belong to (default: the run's own id; DIALECT_SESSION)")
	fl.StringVar(&f.Nonce, "nonce", os.Getenv("DIALECT_NONCE"), "bind receipts to the orchestrator's `NONCE` (DIALECT_NONCE)")
	fl.StringVar(&f.keyFD, "key-fd", os.Getenv(keyfd.Variable), "sign receipts with the key that the file descriptor `N` holds (DIALECT_KEY_FD)")
	fl.BoolVar(&f.Clean, "clean", false, "run in a checkout of exactly the project's files, apart from the working tree")
	fl.BoolVar(&f.NoTree, "no-tree", false, "take no snapshots of the files: the receipts do not say what was tested")
	// The default is what the environment holds at this moment; it is not a text for the help.
	for _, name := range []string{"session", "nonce", "key-fd"} {
		fl.Lookup(name).DefValue = ""
	}
}

// open opens the store for a run in the project at root. Without a key that was asked for the run must not begin.
func (f *recordFlags) open(u *ui, root string, caches []string) (*recording.Recording, error) {
	for flag, name := range map[string]string{"--session": f.Session, "--nonce": f.Nonce} {
		if receipts.Name(name) != name {
			return nil, exit.Usagef("%s: want UTF-8 of at most %d bytes", flag, receipts.MaxName)
		}
	}
	f.Helper = []string{roomName}
	if err := f.Check(root); err != nil {
		return nil, exit.Usagef("%v", err)
	}
	var err error
	if f.Signer, err = takeKey(u, f.keyFD); err != nil {
		return nil, err
	}
	f.Slow = func() {
		u.notef("reading the files below %s; --no-tree leaves that out, and proves less", place.Short(root))
	}
	return recording.Open(root, caches, f.Options), nil
}

// runOptions are those of a run of p that is recorded in r.
func runOptions(r *recording.Recording, p *plan.Plan) engine.Options {
	o := r.Options(p)
	o.Guard, o.Version, o.By = []string{guardName, guardArgument}, version(), userName()
	return o
}

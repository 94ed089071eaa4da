package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/runner"
)

// recordFlags are the flags of the commands that leave receipts.
type recordFlags struct {
	store   string
	session string
	nonce   string
}

func (f *recordFlags) add(cmd *cobra.Command) {
	addStoreFlag(cmd, &f.store)
	fl := cmd.Flags()
	fl.StringVar(&f.session, "session", os.Getenv("DIALECT_SESSION"), "name the `SESSION` that receipts belong to (default: the run's own id; DIALECT_SESSION)")
	fl.StringVar(&f.nonce, "nonce", os.Getenv("DIALECT_NONCE"), "bind receipts to the orchestrator's `NONCE` (DIALECT_NONCE)")
	// The default is what the environment holds at this moment; it is no text for the help.
	for _, name := range []string{"session", "nonce"} {
		fl.Lookup(name).DefValue = ""
	}
}

func addStoreFlag(cmd *cobra.Command, store *string) {
	fl := cmd.Flags()
	fl.StringVar(store, "store", os.Getenv("DIALECT_STORE"), "keep receipts in `PATH`, or \"none\" for nowhere (default: .dialect/receipts.db at the project's root; DIALECT_STORE)")
	fl.Lookup("store").DefValue = ""
}

const (
	storeDir  = ".dialect"
	storeFile = "receipts.db"
)

// A record is where a run is recorded: an open store, or the reason why there is
// none.
type record struct {
	store  *sqlite.Store // nil if there is none
	path   string        // of the store; empty if there is none
	logs   string        // directory for output; empty if there is none
	reason string        // why there is no store
}

// open opens the store that the flags name, or the project's own below root. It
// never fails: without a store the run is degraded, and says so.
func (f *recordFlags) open(root string) *record {
	if f.store == "none" {
		return &record{reason: "--store none"}
	}
	r := &record{path: f.store, logs: f.store + ".log"}
	if r.path == "" {
		dir := filepath.Join(root, storeDir)
		r.path, r.logs = filepath.Join(dir, storeFile), filepath.Join(dir, "log")
		if err := makeStoreDir(dir); err != nil {
			return &record{reason: err.Error()}
		}
	}
	s, err := sqlite.Open(context.Background(), r.path, sqlite.Options{})
	if err != nil {
		r.reason = err.Error()
		r.path = ""
		return r
	}
	r.store = s
	return r
}

// recorder returns the store as the runner takes it: a nil interface if there is
// none.
func (r *record) recorder() runner.Store {
	if r.store == nil {
		return nil
	}
	return r.store
}

func (r *record) close() {
	if r.store != nil {
		_ = r.store.Close() // all that was acknowledged is durable already
	}
}

// makeStoreDir makes the directory of a project's store: private, ignored by
// git, and a directory, not a link that leads elsewhere.
func makeStoreDir(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link; remove it, or name a store with --store", dir)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600)
}

// findStore returns the path of the store that --store names, or of the nearest
// project's, walking up from the working directory.
func findStore(store string) (string, error) {
	if store != "" {
		return store, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		path := filepath.Join(at, storeDir, storeFile)
		if _, err := os.Lstat(path); err == nil {
			return path, nil
		}
		if at == filepath.Dir(at) {
			return "", failf(exitFailed, "there is no store of receipts in %s or above it", dir).
				hint("a run makes one: dialect run FILE; --store PATH names another")
		}
	}
}

package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/keyfd"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/runner"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// recordFlags are the flags of the commands that leave receipts.
type recordFlags struct {
	store   string
	session string
	nonce   string
	keyFD   string
	noTree  bool

	patience time.Duration // how long to wait for a store that another process holds; 0 for the store's own
}

func (f *recordFlags) add(cmd *cobra.Command) {
	addStoreFlag(cmd, &f.store)
	fl := cmd.Flags()
	fl.StringVar(&f.session, "session", os.Getenv("DIALECT_SESSION"), "name the `SESSION` that receipts belong to (default: the run's own id; DIALECT_SESSION)")
	fl.StringVar(&f.nonce, "nonce", os.Getenv("DIALECT_NONCE"), "bind receipts to the orchestrator's `NONCE` (DIALECT_NONCE)")
	fl.StringVar(&f.keyFD, "key-fd", os.Getenv(keyfd.Variable), "sign receipts with the key that the file descriptor `N` holds (DIALECT_KEY_FD)")
	fl.BoolVar(&f.noTree, "no-tree", false, "take no snapshots of the files: the receipts do not say what was tested")
	// The default is what the environment holds at this moment; it is no text for the help.
	for _, name := range []string{"session", "nonce", "key-fd"} {
		fl.Lookup(name).DefValue = ""
	}
}

func addStoreFlag(cmd *cobra.Command, store *string) {
	fl := cmd.Flags()
	fl.StringVar(store, "store", os.Getenv("DIALECT_STORE"), "keep receipts in `PATH`, or \"none\" for nowhere (default: .dialect/receipts.db at the project's root; DIALECT_STORE)")
	fl.Lookup("store").DefValue = ""
}

// A record is where a run is recorded: an open store, or the reason why there is
// none.
type record struct {
	store  *sqlite.Store   // nil if there is none
	path   string          // of the store; empty if there is none
	logs   archive.Archive // for output; empty if there is none
	reason string          // why there is no store
	closed bool            // store is
	key    *keyfd.Key      // nil without one
	files  runner.Workspace
	ahead  *ahead // what takes the snapshots, also if they are not used; nil for none
	secret *redact.Redactor
}

// open opens the store that the flags name, or the project's own below root. The file
// writing, if any, is one that this command writes while its snapshots are taken. Without
// a store the run is degraded, and says so; without a key that was asked for it must
// not begin.
func (f *recordFlags) open(u *ui, root string, caches []string, writing string) (*record, error) {
	for flag, name := range map[string]string{"--session": f.session, "--nonce": f.nonce} {
		if receipts.Name(name) != name {
			return nil, exit.Usagef("%s: want UTF-8 of at most %d bytes", flag, receipts.MaxName)
		}
	}
	var key *keyfd.Key
	if f.keyFD != "" {
		var err error
		if key, err = keyfd.Take(f.keyFD); err != nil {
			return nil, exit.Usagef("--key-fd: %v", err)
		}
	}
	var files *ahead
	if !f.noTree && f.store != "none" && project.IsProject(root) {
		path, _ := f.paths(root)
		at := ""
		if abs := absolute([]string{writing}); len(abs) > 0 {
			at = abs[0]
		}
		files = &ahead{
			Tracker: workspace.NewTracker(root, workspace.Options{Caches: caches, Except: archive.Except(root, path), Writing: at}),
			say: func() {
				u.notef("reading the files below %s; --no-tree leaves that out, and proves less", place.Short(root))
			},
		}
		files.begin()
	}
	r := f.openStore(root, key)
	r.key, r.ahead = key, files
	if files != nil && r.store != nil {
		r.files = files
	}
	return r, nil
}

// paths returns the path of the store that the flags name, and its archive.
func (f *recordFlags) paths(root string) (store string, logs archive.Archive) {
	if store = f.store; store == "" {
		store = archive.Store(root)
	}
	return store, archive.Of(store)
}

// An ahead takes the first snapshot while the store is opened, and says once if one
// takes its time.
type ahead struct {
	*workspace.Tracker
	say    func()
	once   sync.Once
	first  chan struct{} // closed when the first snapshot is there; nil once it was handed out
	cancel context.CancelFunc

	snapshot *workspace.Snapshot
	err      error
}

const slowSnapshot = 2 * time.Second

func (a *ahead) begin() {
	var ctx context.Context
	ctx, a.cancel = context.WithCancel(context.Background())
	a.first = make(chan struct{})
	go func() {
		defer close(a.first)
		a.snapshot, a.err = a.take(ctx)
	}()
}

func (a *ahead) take(ctx context.Context) (*workspace.Snapshot, error) {
	timer := time.AfterFunc(slowSnapshot, func() { a.once.Do(a.say) })
	defer timer.Stop()
	return a.Tracker.Take(ctx)
}

// Take hands out the first snapshot, and takes those after it. It is called by one
// goroutine at a time.
func (a *ahead) Take(ctx context.Context) (*workspace.Snapshot, error) {
	if a.first == nil {
		return a.take(ctx)
	}
	defer context.AfterFunc(ctx, a.cancel)()
	<-a.first
	a.first = nil
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return a.snapshot, a.err
}

// end ends a snapshot that nobody took.
func (a *ahead) end() {
	a.cancel()
	if a.first != nil {
		<-a.first
	}
}

// redactor makes what takes the secrets of the environment, and of a plan if there is one, out of text.
func redactor(p *plan.Plan, logs archive.Archive) *redact.Redactor {
	o := redact.Options{Environ: os.Environ(), Key: logs.RedactKey()}
	if p == nil {
		p = new(plan.Plan)
	}
	plan.Walk(p.Steps, func(s *plan.Step) {
		for _, v := range s.Values {
			if v.Secret {
				o.Declared = append(o.Declared, v.Text)
			}
		}
	})
	return redact.New(o)
}

// absolute returns the paths of names, those of nothing apart.
func absolute(names []string) (paths []string) {
	for _, name := range names {
		if abs, err := filepath.Abs(name); err == nil && name != "" && name != "-" {
			paths = append(paths, abs)
		}
	}
	return paths
}

// signer is the signer of the key; nil without one.
func (r *record) signer() *receipts.Signer {
	if r.key == nil {
		return nil
	}
	return r.key.Signer
}

func (f *recordFlags) openStore(root string, key *keyfd.Key) *record {
	if f.store == "none" {
		return &record{reason: "--store none"}
	}
	r := &record{key: key}
	r.path, r.logs = f.paths(root)
	dir, err := filepath.Dir(r.path), error(nil)
	if f.store == "" {
		err = archive.Make(dir)
	} else {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return &record{reason: err.Error()}
	}
	if err := r.logs.Check(); err != nil {
		return &record{reason: err.Error()}
	}
	s, err := sqlite.Open(context.Background(), r.path, sqlite.Options{Signer: r.signer(), BusyTimeout: f.patience})
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

// keep keeps the list of the files that a gate is about, under its own digest: it tells later
// what changed since. Without it no more than that is lost.
func (r *record) keep(s *workspace.Snapshot) { r.logs.Keep(s.Bytes, s.Manifest) }

// relaxGC lets the heap of a short run grow before it is collected: a few megabytes
// against some per cent of its time. A run of a few steps is over before it is full. GOGC in the environment goes before it.
func relaxGC(p *plan.Plan) {
	steps := 0
	plan.Walk(p.Steps, func(*plan.Step) { steps++ })
	if steps > 10 && steps <= 1000 && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// options are those of a run of p that is recorded in r.
func (r *record) options(f *recordFlags, p *plan.Plan) runner.Options {
	relaxGC(p)
	r.secret = redactor(p, r.logs)
	o := runner.Options{
		Self: self(), StorePath: r.path, MCP: mcpHelper,
		Redact: r.secret, Guard: []string{guardName, guardArgument},
		LockDir: archive.Locks(p.Matrix.Root), Locks: runner.ParseLocks(os.Getenv(runner.LocksVariable)),
		Run: newRunID(), Session: f.session, Nonce: f.nonce, Version: version(),
		Store: r.recorder(), Degraded: r.reason, LogDir: string(r.logs), Environ: os.Environ(),
		Workspace: r.files, Keep: r.keep, Parent: os.Getenv(runner.ParentVariable), By: defaultConsumer(),
	}
	exclusive := false
	plan.Walk(p.Steps, func(s *plan.Step) { exclusive = exclusive || s.Exclusive != "" })
	if exclusive {
		_ = archive.Make(filepath.Dir(o.LockDir)) // else the first lock says why not
	}
	if r.key != nil {
		o.Level, o.Signer, o.Key = r.key.Signer.Level(), r.key.Signer.ID(), r.key.Signer.Public()
	}
	return o
}

// close closes the store, once. Where the store could not keep something after all, the
// outcome o of the run, which is nil if there was none, is degraded.
func (r *record) close(o *runner.Outcome) {
	if r.ahead != nil {
		r.ahead.end()
	}
	if r.store == nil || r.closed {
		return
	}
	r.closed = true
	closed := make(chan error, 1)
	go func() { closed <- r.store.Close() }()
	var late <-chan time.Time
	if o != nil && (o.Signal != "" || o.Limit != "") {
		late = time.After(closeGrace)
	}
	var err error
	select {
	case err = <-closed:
	case <-late:
		err = errors.New("the store did not close in time: another process may hold it locked")
	}
	if err != nil && o != nil && o.Degraded == "" {
		o.Degraded = err.Error()
	}
}

// closeGrace is how long a run that was cut short waits for its store to close.
const closeGrace = time.Second

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
	if path, ok := archive.Nearest(dir); ok {
		return path, nil
	}
	f := exit.Failf(exit.Failed, "there is no store of receipts in %s or above it", dir)
	if below := archive.Below(); len(below) > 0 {
		return "", f.Hint("a run keeps its receipts beside its matrix: --store %s", strings.Join(below[:min(len(below), 3)], " or --store "))
	}
	return "", f.Hint("a run makes one: dialect run FILE; --store PATH names another")
}

// self is the command that runs dialect; nil if the system does not say.
func self() []string {
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{path}
}

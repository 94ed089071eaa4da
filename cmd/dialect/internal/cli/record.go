package cli

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/keyfd"
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

const (
	storeDir  = ".dialect"
	storeFile = "receipts.db"
	lockDir   = "lock"
)

// A record is where a run is recorded: an open store, or the reason why there is
// none.
type record struct {
	store  *sqlite.Store // nil if there is none
	path   string        // of the store; empty if there is none
	logs   string        // directory for output; empty if there is none
	reason string        // why there is no store
	closed bool          // store is
	key    *keyfd.Key    // nil without one
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
			return nil, usagef("%s: want UTF-8 of at most %d bytes", flag, receipts.MaxName)
		}
	}
	var key *keyfd.Key
	if f.keyFD != "" {
		var err error
		if key, err = keyfd.Take(f.keyFD); err != nil {
			return nil, usagef("--key-fd: %v", err)
		}
	}
	var files *ahead
	if !f.noTree && f.store != "none" && isProject(root) {
		path, logs := f.paths(root)
		place := ""
		if abs := absolute([]string{writing}); len(abs) > 0 {
			place = abs[0]
		}
		files = &ahead{
			Tracker: workspace.NewTracker(root, workspace.Options{Caches: caches, Except: storeFiles(root, path, logs), Writing: place}),
			say: func() {
				u.notef("reading the files below %s; --no-tree leaves that out, and proves less", shortPath(root))
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

// paths are those of the store and of the logs that the flags name.
func (f *recordFlags) paths(root string) (store, logs string) {
	if store = f.store; store == "" {
		store = filepath.Join(root, storeDir, storeFile)
	}
	return store, logsOf(store)
}

// isProject reports whether dir is the root of a matrix or in a worktree of git: else
// it could be anything, such as a whole disk, and no snapshot is taken of it.
func isProject(dir string) bool {
	if _, ok := projectRoot(dir); ok {
		return true
	}
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
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

// redactor makes what takes the secrets of a plan and of the environment out of text.
func (r *record) redactor(p *plan.Plan) *redact.Redactor {
	o := redact.Options{Environ: os.Environ(), Key: r.redactKey()}
	plan.Walk(p.Steps, func(s *plan.Step) {
		for _, v := range s.Values {
			if v.Secret {
				o.Declared = append(o.Declared, v.Text)
			}
		}
	})
	return redact.New(o)
}

// redactKey returns the key of the marks, which is kept beside the logs: with it the
// same secret has the same mark in all runs, and without it nobody can try one out.
// Where it cannot be kept it is made for this run alone.
func (r *record) redactKey() []byte {
	const size = 32
	path := filepath.Join(r.logs, "redact.key")
	if b, err := regular.ReadOwn(path, size); r.logs != "" && err == nil && len(b) == size {
		return b
	}
	key := make([]byte, size)
	_, _ = rand.Read(key) // never fails (crypto/rand)
	if r.logs == "" || os.MkdirAll(r.logs, 0o700) != nil {
		return key
	}
	temp, err := os.CreateTemp(r.logs, ".log-*")
	if err != nil {
		return key
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(key)
	if cerr := temp.Close(); err != nil || cerr != nil {
		return key
	}
	// Of two that make it at once the first wins.
	if os.Link(temp.Name(), path) != nil {
		if b, err := regular.ReadOwn(path, size); err == nil && len(b) == size {
			return b
		}
	}
	return key
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

// storeFiles are the files of a store, and the locks of a project below root, which are no
// part of the project.
func storeFiles(root, path, logs string) []string {
	return absolute(append(filesOf(path), logs, filepath.Join(root, storeDir, lockDir)))
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
		err = makeStoreDir(dir)
	} else {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return &record{reason: err.Error()}
	}
	if err := checkLogs(r.logs); err != nil {
		return &record{reason: err.Error()}
	}
	s, err := sqlite.Open(context.Background(), r.path, sqlite.Options{Signer: r.signer()})
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

// keep keeps the list of the files that a gate is about beside the logs, under its
// own digest: it tells later what changed since. Without it no more than that is lost.
func (r *record) keep(s *workspace.Snapshot) {
	if r.logs == "" || checkLogs(r.logs) != nil {
		return
	}
	path := blobPath(r.logs, s.Bytes)
	if _, err := os.Lstat(path); err == nil {
		return
	}
	_ = place(filepath.Dir(path), filepath.Base(path), s.Manifest())
}

// tempIn makes a temporary file in a directory of the logs, and the directory if need be.
// What a killed run leaves of it is swept by gc.
func tempIn(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".log-*")
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			f, err = os.CreateTemp(dir, ".log-*")
		}
	}
	return f, err
}

// place puts a file into a directory of the logs, whole or not at all.
func place(dir, name string, text []byte) error {
	f, err := tempIn(dir)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// maxManifest bounds what is read of a list of files, in bytes.
const maxManifest = 1 << 30

// kept returns the snapshot that keep has kept under a digest; nil if there is none,
// or another text.
func kept(logs string, bytes receipts.Hash) *workspace.Snapshot {
	text, err := regular.ReadOwn(blobPath(logs, bytes), maxManifest)
	if err != nil || sha256.Sum256(text) != bytes {
		return nil
	}
	s, err := workspace.ParseManifest(text)
	if err != nil {
		return nil
	}
	return s
}

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
	r.secret = r.redactor(p)
	o := runner.Options{
		Self: self(), StorePath: r.path, MCP: mcpHelper,
		Redact: r.secret, Guard: []string{guardName, guardArgument},
		LockDir: filepath.Join(p.Matrix.Root, storeDir, lockDir), Locks: runner.ParseLocks(os.Getenv(runner.LocksVariable)),
		Run: newRunID(), Session: f.session, Nonce: f.nonce, Version: version(),
		Store: r.recorder(), Degraded: r.reason, LogDir: r.logs, Environ: os.Environ(),
		Workspace: r.files, Keep: r.keep, Parent: os.Getenv(runner.ParentVariable), By: defaultConsumer(),
	}
	exclusive := false
	plan.Walk(p.Steps, func(s *plan.Step) { exclusive = exclusive || s.Exclusive != "" })
	if exclusive {
		_ = makeStoreDir(filepath.Dir(o.LockDir)) // else the first lock says why not
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

// checkLogs returns an error if the directory of logs, or one in it that is written to,
// leads elsewhere.
func checkLogs(logs string) error {
	for _, dir := range []string{logs, filepath.Join(logs, "runs"), filepath.Join(logs, "runs", "live"), filepath.Join(logs, "sha256")} {
		if err := regular.Folder(dir); err != nil {
			return err
		}
	}
	blobs, _ := os.ReadDir(filepath.Join(logs, "sha256"))
	for _, e := range blobs {
		if !e.IsDir() {
			return fmt.Errorf("%s is not a directory; remove it", filepath.Join(logs, "sha256", e.Name()))
		}
	}
	return nil
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
			f := failf(exitFailed, "there is no store of receipts in %s or above it", dir)
			if below, _ := filepath.Glob(filepath.Join("*", storeDir, storeFile)); len(below) > 0 {
				return "", f.hint("a run keeps its receipts beside its matrix: --store %s", strings.Join(below[:min(len(below), 3)], " or --store "))
			}
			return "", f.hint("a run makes one: dialect run FILE; --store PATH names another")
		}
	}
}

// self is the command that runs dialect; nil if the system does not say.
func self() []string {
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{path}
}

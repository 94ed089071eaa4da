// Package recording opens what a run is recorded in: the store of receipts, the archive beside it, and
// what takes snapshots of the files. In come the wishes of the asker, out come an open [Recording],
// which its caller closes, and the options of a run. It runs nothing, and prints nothing.
package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/cleanroom"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/history"
	"github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// Options say where a run is recorded, and as what.
type Options struct {
	Store          string // path of the store; empty for the project's own, "none" for none
	Session, Nonce string
	NoTree         bool // take no snapshots

	Clean  bool     // commands run in a clean checkout
	Helper []string // see [cleanroom.Options]
	Share  []string // likewise

	// Environ is what commands start from; nil for that of this process, with what a run that started this one
	// says there.
	Environ []string
	// Private is a folder of the recorder's own, in which the checkouts of rooms, rooms and locks are; empty for the user's
	// and the project's. With one, commands are kept apart, and do not see what is in Away.
	Private  string
	Away     *cleanroom.Away
	Confined bool       // no command runs where it cannot be kept apart; see [cleanroom.Options]
	Asker    int        // who asked for the run, where Private is set
	Git      git.Runner // starts git; nil for this process
	// Still says why a snapshot does not count; nil for one of a tree that is the recorder's own.
	Still func(*workspace.Snapshot) error
	// First is called once with the first snapshot, before any command runs, in a goroutine of its own; nil for nothing.
	First func(*workspace.Snapshot)

	Signer   *receipts.Signer  // nil for none
	Workers  note.Verifiers    // keys of others whose receipts a run takes in; nil for none
	Patience time.Duration     // how long to wait for a store that another process holds; 0 for the store's own
	Writing  string            // a file that the command writes while snapshots are taken; empty for none
	Slow     func()            // is called once if a snapshot takes its time
	Waits    func(text string) // is called if the run waits for another one, with whom for; nil for nobody
}

// Paths returns the path of the store for a project at root, and its archive.
func (o *Options) Paths(root string) (string, archive.Archive) {
	path := o.Store
	if path == "" {
		path = archive.Store(root)
	}
	return path, archive.Of(path)
}

// Check says why a run in the project at root cannot be recorded so.
func (o *Options) Check(root string) error {
	switch {
	case o.Clean && o.NoTree:
		return errors.New("--clean and --no-tree exclude each other: a clean checkout is one of the files of a snapshot")
	case o.Clean && !project.IsProject(root):
		return errors.New("--clean: there is no project here whose files could be checked out: no routing.toml, and no git")
	}
	return nil
}

// A Recording is what a run is recorded in: an open store, or the reason why there is none.
type Recording struct {
	Path   string           // of the store; empty if there is none
	Secret *redact.Redactor // of the run; nil before [Recording.Options]

	o       Options
	store   *sqlite.Store   // nil if there is none
	archive archive.Archive // empty if there is none
	reason  string          // why there is no store
	closed  bool            // store is, or is about to be
	shut    bool            // store is
	room    *cleanroom.Room // nil for the working tree
	ahead   *ahead          // what takes the snapshots, also if they are not used; nil for none
	mark    *archive.Mark   // that the run lasts; nil for none
}

// Open opens the store for a project at root, whose snapshots leave caches out. Without a store the run
// is degraded, and says so: that is not an error.
func Open(root string, caches []string, o Options) *Recording {
	r := &Recording{o: o}
	path, logs := o.Paths(root)
	if !o.NoTree && (o.Store != attempt.NoStore || o.Clean) && project.IsProject(root) { // a checkout is of a snapshot
		w := workspace.Options{Caches: caches, Except: archive.Except(root, path), Git: o.Git}
		if abs, err := filepath.Abs(o.Writing); err == nil && o.Writing != "" {
			w.Writing = abs
		}
		r.ahead = begin(workspace.NewTracker(root, w), o.Slow, o.Still, o.First)
	}
	if o.Clean {
		room := cleanroom.Options{Root: root, Cache: cleanroom.Cache(), Helper: o.Helper, Share: o.Share, Git: o.Git, Waits: o.Waits}
		if o.Private != "" {
			room.Cache, room.Temp, room.Apart = filepath.Join(o.Private, "clean"), filepath.Join(o.Private, "tmp"), true
			room.Away, room.Confined, room.Asker = o.Away, o.Confined, o.Asker
		}
		if s := o.Signer; s != nil {
			room.Seal = func(sum [32]byte) (string, error) {
				seal, err := s.Sign(sealOrigin, sum)
				return string(seal), err
			}
			room.Sealed = func(sum [32]byte, seal string) bool {
				level, key := receipts.Signature(seal).Check(sealOrigin, sum, s.Keys())
				return key != "" && level >= s.Level()
			}
		}
		r.room = cleanroom.New(r.ahead, room)
	}
	if o.Store == attempt.NoStore {
		r.reason = "--store none"
		return r
	}
	var err error
	switch folder, in := archive.FolderOf(path); {
	case o.Store == "":
		err = archive.Make(root)
	case in: // that of this project or of another
		if err = os.MkdirAll(filepath.Dir(folder), 0o700); err == nil {
			err = archive.Make(filepath.Dir(folder))
		}
	default:
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = errors.Join(archive.CheckStore(path), logs.Check())
	}
	if err == nil {
		r.archive = logs
		s := sqlite.Options{Signer: o.Signer, BusyTimeout: o.Patience}
		if o.Signer != nil && o.Workers != nil {
			s.Keys = several{o.Signer.Keys(), o.Workers}
		}
		r.store, err = sqlite.Open(context.Background(), path, s)
	}
	if err != nil {
		r.reason = err.Error()
		if _, lerr := os.Lstat(string(logs)); o.Store != "" && lerr != nil {
			r.archive = "" // no log folder beside a file that the user named by mistake
		}
		return r
	}
	r.Path = path
	return r
}

// sealOrigin is the origin of signatures of what setups installed; no store has it, so that none is that of a record.
const sealOrigin = "dialect-setup"

// Room is where commands run instead of the working tree; nil for the working tree.
func (r *Recording) Room() *cleanroom.Room { return r.room }

// several are the keys of several lists.
type several []note.Verifiers

func (s several) Verifier(name string, hash uint32) (v note.Verifier, err error) {
	for _, keys := range s {
		if v, err = keys.Verifier(name, hash); err == nil {
			return v, nil
		}
	}
	return nil, err
}

// Origin returns what signatures of records of the store are made for.
func (r *Recording) Origin(ctx context.Context) (string, error) {
	if r.store == nil {
		return "", errors.New(r.reason)
	}
	return r.store.Origin(ctx)
}

// Signer signs what the store records; nil where nothing does.
func (r *Recording) Signer() *receipts.Signer { return r.o.Signer }

// Archive is what lies beside the store; empty if there is none.
func (r *Recording) Archive() archive.Archive { return r.archive }

// Snapshot returns the snapshot of the project that the run begins with.
func (r *Recording) Snapshot(ctx context.Context) (*workspace.Snapshot, error) {
	switch {
	case r.ahead == nil:
		return nil, errors.New("there is no project here whose files could be named, or --no-tree")
	case r.ahead.first != nil: // nobody has asked for it yet
		return r.ahead.Take(ctx)
	}
	return r.ahead.snapshot, r.ahead.err
}

// maxAround bounds how many runs are looked at that lie around one.
const maxAround = 16

// Repeats says why a run that a step started, which is named as in [receipts.Gate.Parent], repeats no result: the verdict on the run of
// that step, or on one around it, could not tell, or would have to refuse. It is empty if the run may.
func (r *Recording) Repeats(ctx context.Context, step string) string {
	for range maxAround {
		if step == "" {
			return ""
		}
		run, _ := receipts.SplitStep(step)
		if r.store == nil {
			break
		}
		e, _, err := r.store.Authentic(ctx, run)
		if err != nil {
			break
		}
		v, _ := e.Parse()
		begun, ok := v.(*receipts.Run)
		switch {
		case !ok:
			return "its receipts are in another store"
		case begun.Signer != "":
			return "a run around it is signed, and no result of this one is"
		}
		step = begun.Parent
	}
	return "its receipts are in another store"
}

// Options are those of a run of p, with a new id.
func (r *Recording) Options(p *plan.Plan) engine.Options {
	relaxGC(p)
	environ, locks, held, parent := r.o.Environ, filepath.Join(r.o.Private, "lock"), []string(nil), ""
	if environ == nil {
		environ, held, parent = os.Environ(), attempt.ParseLocks(os.Getenv(attempt.LocksVariable)), os.Getenv(attempt.ParentVariable)
	}
	if r.o.Private == "" {
		locks = archive.Locks(p.Matrix.Root)
	}
	r.Secret = redactor(environ, p, r.archive)
	o := engine.Options{
		LockDir: locks, Locks: held,
		Options: attempt.Options{
			MCP: mcpclient.Helper, Redact: r.Secret,
			Run: archive.NewRun(), Session: r.o.Session, Nonce: r.o.Nonce,
			Degraded: r.reason, LogDir: string(r.archive), Environ: environ, Parent: parent,
			// The list of the files that a gate is about tells later what changed since.
			Keep: func(s *workspace.Snapshot) { r.archive.Keep(s.Bytes, s.Manifest) },
		},
	}
	if o.StorePath = r.Path; r.Path != "" {
		if abs, err := filepath.Abs(r.Path); err == nil {
			o.StorePath = abs // agents of tasks, and who takes in their gates, run elsewhere
		}
	}
	if r.store != nil { // else it is a nil interface
		o.Store = r.store
	}
	if r.ahead != nil && r.o.Store != attempt.NoStore { // files that change are a reason to refuse also where the store cannot be used
		o.Workspace = r.ahead
	}
	if o.Room = r.room; o.Room == nil && r.o.Private != "" {
		o.Apart = func(shown ...string) (*process.Room, error) {
			return cleanroom.Masked(r.o.Helper, r.o.Away, shown...)
		}
	}
	if self, err := os.Executable(); err == nil {
		o.Self = []string{self}
	}
	exclusive := false
	plan.Walk(p.Steps, func(s *plan.Step) { exclusive = exclusive || s.Exclusive != "" })
	if exclusive && r.o.Private == "" {
		_ = archive.Make(p.Matrix.Root) // else the first lock says why not
	}
	if s := r.o.Signer; s != nil {
		o.Level, o.Signer, o.Key = s.Level(), s.ID(), s.Public()
	}
	return o
}

// Redactor takes the secrets of the environment, and of a plan if that is not nil, out of text, with the
// marks of an archive.
func Redactor(p *plan.Plan, a archive.Archive) *redact.Redactor { return redactor(os.Environ(), p, a) }

func redactor(environ []string, p *plan.Plan, a archive.Archive) *redact.Redactor {
	return redact.New(redact.Options{Environ: slices.Concat(environ, p.Environ()), Declared: p.Secrets(), Key: a.RedactKey()})
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

// howFar bounds how long it is looked up how far runs came that were killed: a store that somebody changed may never say it.
const howFar = 2 * time.Second

// Begin marks that a run of a script lasts, and says of each run that was killed before how far it came.
func (r *Recording) Begin(run, script string) (killed []string) {
	if r.store == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), howFar)
	defer cancel()
	killed = history.Killed(ctx, r.archive, r.store)
	r.mark = r.archive.Begin(run, script)
	return killed
}

// End takes the mark of [Recording.Begin] away.
func (r *Recording) End() { r.mark.End() }

// Keep keeps the document of the run, if there is a store.
func (r *Recording) Keep(d *report.Document) {
	if r.store != nil {
		text, _ := json.Marshal(d) // it is plain data
		r.archive.KeepRun(d.Run, r.Secret.Document(append(text, '\n'), report.Syntax(true)))
	}
}

// Close closes the store, once. Where the store could not keep something after all, the
// outcome o of the run, which is nil if there was none, is degraded.
func (r *Recording) Close(o *engine.Outcome) {
	if r.room != nil {
		r.room.Close()
	}
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
		r.shut = true
	case <-late:
		err = errors.New("the store did not close in time: another process may hold it locked")
	}
	if err != nil && o != nil && o.Degraded == "" {
		o.Degraded = err.Error()
	}
}

// Left is the signed checkpoint of the log as the run left it, once the recording is closed; empty for none.
func (r *Recording) Left() string {
	if r.store == nil || !r.shut {
		return ""
	}
	return r.store.Left()
}

// closeGrace is how long a run that was cut short waits for its store to close.
const closeGrace = time.Second

// Policy compares the matrix with the commit base, within the timeout of the run, 0 for none, or, without a base,
// with the baseline, beside the run; the function that it returns waits for the answer then. The run
// is the producer's own: its gate receipt says that the policy changed, and the verifier refuses it.
func Policy(ctx context.Context, m plan.Matrix, base string, timeout time.Duration) (func(root string) string, error) {
	if base != "" {
		within := ctx
		if timeout > 0 {
			var done context.CancelFunc
			within, done = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("git did not answer within the run's timeout of %v", timeout))
			defer done()
		}
		s, err := project.Check(within, m, base)
		if err != nil && within.Err() != nil && ctx.Err() == nil {
			err = context.Cause(within)
		}
		if err != nil {
			return nil, fmt.Errorf("--base: %w", err)
		}
		return func(root string) string { return s.At(root).Name() }, nil
	}
	own := sync.OnceValue(func() policy.State { return ownPolicy(ctx, m) })
	go own()
	return func(root string) string { return own().At(root).Name() }, nil
}

func ownPolicy(ctx context.Context, m plan.Matrix) policy.State {
	s, err := project.Check(ctx, m, "")
	if err == nil {
		return s
	}
	// Where no pin can be looked for, HEAD is what there is.
	if s, err = project.Check(ctx, m, "HEAD"); err != nil {
		s.Unknown = err.Error()
	}
	s.Pinned = false
	return s
}

// An ahead takes the first snapshot while the store is opened, and says once if one
// takes its time.
type ahead struct {
	*workspace.Tracker
	slow   func()
	still  func(*workspace.Snapshot) error // see Options.Still
	once   sync.Once
	first  chan struct{} // closed when the first snapshot is there; nil once it was handed out
	cancel context.CancelFunc

	snapshot *workspace.Snapshot
	err      error
}

// begin begins to take the first snapshot.
func begin(t *workspace.Tracker, slow func(), still func(*workspace.Snapshot) error, first func(*workspace.Snapshot)) *ahead {
	ctx, cancel := context.WithCancel(context.Background())
	a := &ahead{Tracker: t, slow: slow, still: still, first: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(a.first)
		if a.snapshot, a.err = a.take(ctx); a.err == nil && first != nil {
			first(a.snapshot)
		}
	}()
	return a
}

func (a *ahead) take(ctx context.Context) (*workspace.Snapshot, error) {
	timer := time.AfterFunc(workspace.Slow, func() { a.once.Do(a.slow) })
	defer timer.Stop()
	s, err := a.Tracker.Take(ctx)
	if err == nil && a.still != nil {
		err = a.still(s)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
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

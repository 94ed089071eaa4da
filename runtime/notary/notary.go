package notary

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/cleanroom"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// Config says what a notary serves, and how it records.
type Config struct {
	// Tree is the project's directory, absolute. Scripts of other trees are refused.
	Tree string
	// Folder is where the notary keeps the store, outputs and checkouts; absolute, empty or not there, below a
	// directory that only it can reach.
	Folder string

	// Key signs instead of a key that Open makes, for a notary that outlives its process; nil for a key of the session.
	Key *receipts.Signer
	// Identity vouches for the session; nil for nobody, and then it proves nothing to others.
	Identity *receipts.Signer
	// Facts are what the caller found before the agent started. Open fills in the rest.
	Facts Facts

	Base    string   // the revision that the rules come from; empty: HEAD as it is when Open is called
	Hide    []string // directories beside Folder that commands and git do not see
	Socket  string   // on which it listens, so that no command of its user puts another one there; empty for one in Folder or of systemd
	Temp    string   // what TMPDIR of this process is set to, a directory in one of Hide; empty for one in Folder
	InPlace bool     // commands run in the working tree, which the agent can change under them
	Share   []string // what the room shows beside what the matrix shares
	Environ []string // the environment that commands start from; nil for that of this process
	Jobs    int      // commands at the same time, at most; 0 for the number of CPUs

	// Room and Guard are the commands of this program that become a room and a guard: see process.Room and
	// process.Options.
	Room, Guard []string
	Version     string // of dialect

	// May says whether a peer may ask. nil: only processes of this user may.
	May func(Peer) error

	is    fs.FileInfo   // what Tree was before anybody asked; nil for what it is
	grace time.Duration // that runs have to end in once it closes, and clients to hear that; 0 for closing
}

// Facts are what a session rests on, as its caller found it.
type Facts struct {
	Mode      string   // ModeNamespaces, ModeLandlock, ModeService or ModeNone
	ABI       int      // of Landlock; 0 for none
	Listeners []string // what outside of the domain could run things for the agent
	Masks     []string // what the domain hides, and so commands and git do not see either
}

// The modes of a session, as [receipts.Notary] has them.
const (
	ModeNamespaces = receipts.NotaryNamespaces // namespaces, masks and Landlock scopes
	ModeLandlock   = receipts.NotaryLandlock   // full Landlock, without user namespaces
	ModeService    = receipts.NotaryService    // another user
	ModeNone       = receipts.NotaryUnguarded  // nothing keeps the agent from the notary
)

// A Peer is the process at the other end of a connection, as the kernel says it.
type Peer struct{ UID int }

// Variable names the variable of the environment that says where the notary listens.
const Variable = attempt.NotaryVariable

// A Notary is an open session.
type Notary struct {
	c       Config
	tree    string                 // Config.Tree without links
	is      fs.FileInfo            // what tree was when the session began
	above   map[string]fs.FileInfo // likewise: tree, and the directories that it is in
	away    *cleanroom.Away
	git     git.Runner
	session string
	signer  *receipts.Signer
	lock    *flock.Flock
	started time.Time

	baseline string
	matrix   string              // the path of that of the tree; empty if Open found none
	files    map[string][32]byte // what it was made of then

	turns chan struct{} // one for each run that may last at the same time

	mu     sync.Mutex
	store  *sqlite.Store // nil once closed
	closed bool
	runs   map[string]*run // that last, or whose events are kept
	order  []string        // ids of runs, the oldest first
	ran    []Ran
	counts map[string]int // of all that were in ran, by their verdict
	last   sync.WaitGroup // runs
	stop   context.CancelCauseFunc
	ctx    context.Context // of the runs
	asked  int             // runs that wait for their turn, or last
	keep   []*keeper       // of runs that last, or whose records are not in the store

	settling sync.Mutex // held while what could not be recorded is
}

// Bounds on what is done at the same time; a refusal says to try again later.
const (
	maxRuns    = 4
	maxWaiting = 64
)

// closing is how long runs may last once they are to end. Commands are killed long before: what takes longer is stuck, and waiting
// for it would keep what was recorded from the one who started the session.
const closing = time.Minute

// Open makes the key of the session, opens its store, finds the baseline and records what the session rests on. It is
// called before the agent starts, by a process that is undumpable already. It sets TMPDIR of this process to a
// directory in the folder; each git that the session starts runs apart from this process.
func Open(ctx context.Context, c Config) (n *Notary, err error) {
	n = &Notary{c: c, started: time.Now(), runs: make(map[string]*run), turns: make(chan struct{}, maxRuns), counts: make(map[string]int)}
	n.c.grace = cmp.Or(c.grace, closing)
	n.ctx, n.stop = context.WithCancelCause(context.Background())
	if n.tree, err = filepath.EvalSymlinks(c.Tree); err != nil {
		return nil, err
	}
	if n.is = c.is; n.is == nil {
		if n.is, err = os.Lstat(n.tree); err != nil {
			return nil, err
		}
	}
	n.above = map[string]fs.FileInfo{n.tree: n.is}
	for dir := filepath.Dir(n.tree); n.above[dir] == nil; dir = filepath.Dir(dir) {
		if n.above[dir], err = os.Lstat(dir); err != nil {
			return nil, err
		}
	}
	if c.Environ == nil {
		n.c.Environ = os.Environ()
	}
	n.c.Environ = slices.DeleteFunc(slices.Clone(n.c.Environ), func(kv string) bool {
		// Of a run around this one, and of the notary: only what is secret there is secret here.
		return strings.HasPrefix(kv, "DIALECT_") && !strings.HasPrefix(kv, redact.Variable+"=")
	})
	if err := n.furnish(); err != nil {
		return nil, err
	}
	made := n
	defer func() {
		if err != nil {
			if made.store != nil {
				_ = made.store.Close() // err says why
			}
			made.release()
			n = nil
		}
	}()
	if n.away, err = cleanroom.NewAway(n.hide(), n.masks()); err != nil {
		return nil, err
	}
	if n.git, err = runGit(c.Room, n.away, n.temp()); err != nil {
		return nil, err
	}
	if err := n.rules(ctx); err != nil {
		return nil, err
	}
	if err := n.keys(); err != nil {
		return nil, err
	}
	if n.store, err = sqlite.Open(ctx, n.path(), sqlite.Options{Signer: n.signer}); err != nil {
		return nil, err
	}
	return n, n.begin(ctx)
}

// furnish makes the folder, and takes it for this process.
func (n *Notary) furnish() error {
	folder := n.c.Folder
	if !filepath.IsAbs(folder) {
		return fmt.Errorf("the notary's folder %q is not an absolute path", folder)
	}
	if err := regular.Folder(folder); err != nil {
		return err
	}
	for _, dir := range []string{folder, filepath.Join(folder, "store"), filepath.Join(folder, "tmp"), filepath.Join(folder, "lock"), filepath.Join(folder, "home")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := private(dir); err != nil {
			return err
		}
	}
	n.lock = flock.New(filepath.Join(folder, "lock", "notary"), flock.SetFlag(os.O_CREATE|os.O_RDWR|regular.OwnFlags), flock.SetPermissions(0o600))
	switch ok, err := n.lock.TryLock(); {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("another notary uses %s", folder)
	}
	if n.c.Key == nil { // else the log goes on
		if _, err := os.Lstat(n.path()); !errors.Is(err, fs.ErrNotExist) {
			_ = n.lock.Unlock()
			return fmt.Errorf("%s has a store already: a session begins with none", folder)
		}
	}
	return os.Setenv("TMPDIR", n.temp())
}

// temp is where temporary files of this process are.
func (n *Notary) temp() string { return cmp.Or(n.c.Temp, filepath.Join(n.c.Folder, "tmp")) }

// hide returns the directories that commands and git do not see.
func (n *Notary) hide() []string { return append([]string{n.c.Folder}, n.c.Hide...) }

// masks returns the paths whose sockets commands and git do not see.
func (n *Notary) masks() []string {
	if n.c.Socket == "" {
		return n.c.Facts.Masks
	}
	return append(slices.Clone(n.c.Facts.Masks), n.c.Socket)
}

// private returns an error if a directory is not this user's alone.
func private(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s is open to others (mode %o): chmod 700 it", dir, info.Mode().Perm())
	case regular.Owner(info) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user", dir)
	}
	return nil
}

func (n *Notary) path() string { return filepath.Join(n.c.Folder, "store", archive.StoreFile) }

// rules finds the baseline, and keeps what the matrix of the tree is made of.
func (n *Notary) rules(ctx context.Context) error {
	c, err := workspace.Resolve(ctx, n.tree, cmp.Or(n.c.Base, "HEAD"), workspace.Options{Git: n.git})
	switch {
	case err == nil:
		n.baseline = c.ID
	case n.c.Base != "":
		return fmt.Errorf("the base: %w", err)
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		if !errors.Is(err, workspace.ErrNoCommit) && !errors.Is(err, workspace.ErrNoRepository) {
			return err
		}
		if err := workspace.Unborn(ctx, n.tree, workspace.Options{Git: n.git}); err != nil {
			return err
		}
	}
	m, _, err := project.LoadMatrix(n.tree, "")
	if err != nil {
		return nil // there is none yet, and none is trusted then
	}
	n.matrix, n.files = m.Path, sums(resolve.Matrix(m))
	return nil
}

// keys makes the name and the key of the session.
func (n *Notary) keys() error {
	var id [6]byte
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	n.session = "n-" + hex.EncodeToString(id[:])
	if n.signer = n.c.Key; n.signer != nil {
		return nil
	}
	key, _, err := receipts.GenerateKey(n.session)
	switch {
	case err != nil:
	case n.c.Facts.Mode == ModeNone: // anyone may have read the key
		n.signer, err = receipts.NewSigner(key, false)
	default:
		n.signer, err = receipts.NewNotarySigner(key)
	}
	return err
}

// begin appends the statement of the session.
func (n *Notary) begin(ctx context.Context) error {
	head, _, err := n.store.Checkpoint(ctx)
	if err != nil {
		return err
	}
	s := receipts.Notary{
		Version: 1, Origin: head.Origin, Session: n.session, Started: receipts.Time{Time: n.started}, Key: n.signer.Public(), Signer: n.signer.ID(),
		Mode: n.c.Facts.Mode, ABI: n.c.Facts.ABI, Project: receipts.Text(n.c.Tree), Baseline: n.baseline, InPlace: n.c.InPlace,
		Shares: texts(n.c.Share), Listeners: texts(n.c.Facts.Listeners), Masks: texts(n.c.Facts.Masks),
		Dialect: cmp.Or(n.c.Version, "devel"), System: runtime.GOOS + "/" + runtime.GOARCH,
	}
	rec, err := s.Record(n.c.Identity)
	if err == nil {
		err = n.store.Append(ctx, rec)
	}
	return err
}

func texts(list []string) (data []receipts.Datum) {
	for _, s := range list {
		data = append(data, receipts.Text(s))
	}
	return data
}

// Key returns the public key of the session.
func (n *Notary) Key() string { return n.signer.Public() }

// Status says what the session has come to so far.
func (n *Notary) Status(ctx context.Context) Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := Status{
		Key: n.signer.Public(), Mode: n.c.Facts.Mode, ABI: n.c.Facts.ABI, Tree: n.c.Tree, Baseline: n.baseline, InPlace: n.c.InPlace,
		Listeners: few(n.c.Facts.Listeners), Masks: few(n.c.Facts.Masks),
		Started: n.started, Closed: n.closed, Running: n.asked, Runs: slices.Clone(n.ran), Counts: maps.Clone(n.counts),
	}
	if n.c.Identity != nil {
		s.Identity = n.c.Identity.Name()
	}
	if n.store != nil {
		if head, _, err := n.store.Checkpoint(ctx); err == nil {
			s.Records = head.Count
		}
	}
	if err := behind(n.keep); err != nil {
		s.Lost = err.Error()
	}
	return s
}

// few is the begin of a list that finds no room in a record either.
func few(list []string) []string {
	if more := len(list) - receipts.MaxNamed; more > 0 {
		list = append(slices.Clone(list[:receipts.MaxNamed]), fmt.Sprintf("and %d more", more))
	}
	return list
}

// errClosed is why the runs of a session end that is closed.
var errClosed = errors.New("the notary was closed")

// Close ends the runs that last, appends the closing record and closes the store: the key signs nothing more. Where not all could be recorded, or a run does not end, the
// closing record is left out, and the error says so.
func (n *Notary) Close(ctx context.Context) (Status, error) {
	n.mu.Lock()
	was := n.closed
	n.closed = true
	n.mu.Unlock()
	if was {
		return n.Status(ctx), nil
	}
	n.stop(errClosed)
	err := n.wait(ctx)
	if err == nil {
		err = n.settle(ctx)
	}
	s := n.Status(ctx)
	var head receipts.Checkpoint
	if err == nil {
		head, _, err = n.store.Checkpoint(ctx)
	}
	if err == nil {
		var rec receipts.Record
		rec, err = (&receipts.Closing{Version: 1, Session: n.session, Count: head.Count, Timestamp: receipts.Time{Time: time.Now()}, Signer: n.signer.ID()}).Record()
		if err == nil {
			err = n.store.Append(ctx, rec)
			s.Records = head.Count + 1
		}
	}
	n.mu.Lock()
	err = errors.Join(err, n.store.Close())
	n.store = nil
	n.mu.Unlock()
	n.release()
	return s, err
}

// wait waits until the runs have ended, for as long as they may take.
func (n *Notary) wait(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.last.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	case <-time.After(n.c.grace):
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked == 0 {
		return nil // all is recorded, and the last answer is on its way
	}
	return fmt.Errorf("%s did not end within %v, so that the log has no closing record", diag.Number(n.asked, "run"), n.c.grace)
}

// release lets another notary use the folder.
func (n *Notary) release() {
	if n.lock != nil {
		_ = n.lock.Unlock()
	}
}

// Bundle writes the log of the session with its proofs: see [receipts.Bundle]. It is the proof of the session once that
// is closed.
func (n *Notary) Bundle(ctx context.Context, w io.Writer) error {
	if err := n.settle(ctx); err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, n.path(), sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer s.Close()
	b, err := s.WholeBundle(ctx)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(b)
}

package worker

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/carry"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/remote"
	"github.com/command-dialect/dialect/runtime/tempdir"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

func sum(text []byte) [32]byte { return sha256.Sum256(text) }

// A checkout is the files of a run, and the script of it, resolved there.
type checkout struct {
	key     string
	dir     string
	tracker *workspace.Tracker
	snap    *workspace.Snapshot
	plan    *plan.Plan
	dirty   bool
	traces  [32]byte // before anything was carried out in it
}

// changed returns the files of the snapshot that an attempt has changed, and the snapshot after it. A checkout with any change is not
// used again for another run.
func (c *checkout) changed(ctx context.Context) (paths []string, s *workspace.Snapshot, err error) {
	s, err = c.tracker.Take(ctx)
	if err != nil {
		c.dirty = true
		return nil, nil, err
	}
	for _, ch := range workspace.Diff(c.snap, s) {
		if !c.dirty { // a seat is from the start, and several read it
			c.dirty = true
		}
		if ch.Kind != workspace.Added || !ch.Untracked {
			paths = append(paths, ch.Path)
		}
	}
	return paths, s, nil
}

// traces is a digest of what each file of a checkout is, those that git ignores and those of git itself among them: what a line changes,
// makes or removes changes it, as far as the clock of the file system tells. No file is opened.
func traces(ctx context.Context, dir string) (sum [32]byte, err error) {
	h := sha256.New()
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		id, err := identity(path)
		fmt.Fprintf(h, "%q %s %d %d %s\n", path, info.Mode(), info.Size(), info.ModTime().UnixNano(), id)
		return err
	})
	return [32]byte(h.Sum(nil)), err
}

// A pool keeps checkouts warm: each attempt has one of its own while it is made.
type pool struct {
	o Options

	mu   sync.Mutex
	free []*checkout
	all  map[string]func()       // by the folder of a checkout, what removes it
	held map[string]*carry.Cache // by the format of objects
}

// cache is what is kept of fetched commits of a format.
func (p *pool) cache(format string) *carry.Cache {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.held[format]
	if c == nil {
		c = &carry.Cache{Depot: carry.Depot{Remote: p.o.Depot, Format: format}, Folder: filepath.Join(p.o.Folder, "commits-"+path.Base(format+"git"))}
		p.held[format] = c
	}
	return c
}

// maxFree is how many checkouts are kept that nothing uses.
const maxFree = 16

func (p *pool) init(o Options) {
	p.o, p.all, p.held = o, make(map[string]func()), make(map[string]*carry.Cache)
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, remove := range p.all {
		remove()
	}
	p.free, p.all = nil, make(map[string]func())
}

// trees is the folder of the checkouts: each is in a temporary directory, which is locked as long as its worker lives. Other workers may have
// the same folder.
func (p *pool) trees() string { return filepath.Join(p.o.Folder, "trees") }

// How long what commands wrote is kept in the folder of a worker, once it was delivered, and how much of it, in bytes.
const (
	logAge  = 24 * time.Hour
	logSize = 1 << 30
)

func (p *pool) logs() archive.Archive { return archive.Archive(filepath.Join(p.o.Folder, "log")) }

// sweep removes what killed workers left, and old logs.
func (p *pool) sweep() {
	tempdir.Sweep(p.trees())
	_, _ = p.logs().Collect(time.Now(), archive.Limits{Age: logAge, Size: logSize}) // the next one tries again
}

// keyOf is what two runs have to have in common to use the same checkout, resolved in the same way.
func keyOf(s *remote.Spec) string {
	return fmt.Sprintf("%#v", []any{s.Commit, s.Tree, s.Script, s.Name, s.Line, s.Member, s.Part, s.Lines, s.Vars, s.Matrix, s.Place, s.ScriptSHA, s.MatrixSHA})
}

func (p *pool) take(ctx context.Context, s *remote.Spec) (*checkout, error) {
	key := keyOf(s)
	p.mu.Lock()
	for i := 0; i < len(p.free); i++ {
		c := p.free[i]
		if c.key != key {
			continue
		}
		p.free = slices.Delete(p.free, i, i+1)
		p.mu.Unlock()
		// Now, and not when it was given back: what a line left running may have written since.
		if now, err := traces(ctx, c.dir); err == nil && now == c.traces {
			return c, nil
		}
		p.drop(c.dir)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p.mu.Lock()
		i = -1 // others may have come and gone
	}
	p.mu.Unlock()
	folder, remove, err := tempdir.NewIn(p.trees(), tempdir.Tree)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(folder, "files")
	p.mu.Lock()
	p.all[dir] = remove
	p.mu.Unlock()
	c, err := p.make(ctx, s, dir)
	if err == nil {
		c.traces, err = traces(ctx, dir)
	}
	if err != nil {
		p.drop(dir)
		return nil, err
	}
	c.key = key
	return c, nil
}

func (p *pool) drop(dir string) {
	p.mu.Lock()
	remove := p.all[dir]
	delete(p.all, dir)
	p.mu.Unlock()
	if remove != nil {
		remove()
	}
}

func (p *pool) put(c *checkout) {
	if c.dirty {
		p.drop(c.dir)
		return
	}
	p.mu.Lock()
	p.free = append(p.free, c)
	var old *checkout
	if len(p.free) > maxFree {
		old, p.free = p.free[0], p.free[1:]
	}
	p.mu.Unlock()
	if old != nil {
		p.drop(old.dir)
	}
}

func local(text string) error {
	if text != "" && !filepath.IsLocal(filepath.FromSlash(text)) {
		return fmt.Errorf("the path %q leads out of the files of the run", text)
	}
	return nil
}

func (p *pool) make(ctx context.Context, s *remote.Spec, dir string) (*checkout, error) {
	if err := errors.Join(s.Check(), local(s.Script), local(s.Matrix), local(s.Place), receipts.CheckOrigin(s.Origin)); err != nil {
		return nil, err
	}
	switch s.Format {
	case "", string(git.FormatSHA1), string(git.FormatSHA256):
	default:
		return nil, errors.New("the run has a format of objects that git has not")
	}
	if receipts.Name(s.Run) != s.Run || s.Run == "" {
		return nil, errors.New("the run has no name that a receipt can hold")
	}
	if err := p.cache(s.Format).Checkout(ctx, s.Ref("tree"), s.Commit, dir); err != nil {
		return nil, fmt.Errorf("the files of the run cannot be fetched: %w", err)
	}
	c := &checkout{dir: dir}
	root := filepath.Join(dir, filepath.FromSlash(s.Place))
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(s.Script)))
	if err != nil {
		return nil, err
	}
	script := &project.Script{Name: s.Name, Path: filepath.Join(dir, filepath.FromSlash(s.Script)), Line: s.Line, Member: s.Member, Part: s.Part, Text: text}
	if script.SHA256() != s.ScriptSHA.String() {
		return nil, errors.New("the script is not the one that the run names")
	}
	program, err := project.Load(script, filepath.Join(dir, filepath.FromSlash(s.Matrix)))
	if err != nil {
		return nil, err
	}
	program.Resolve(s.Vars, s.Lines)
	if program.Plan == nil || program.Findings.Count(diag.Error) > 0 {
		return nil, errors.New("the script does not bind here: " + strings.TrimSpace(firstError(program.Findings)))
	}
	c.plan = program.Plan
	if c.plan.Matrix.SHA256 != s.MatrixSHA.String() {
		return nil, errors.New("the rules are not those that the run names: its matrix, packs or pinned files differ here")
	}
	if step, why := attempt.NotElsewhere(c.plan); step != nil {
		return nil, fmt.Errorf("line %d %s", step.Line.Number, why)
	}
	c.tracker = workspace.NewTracker(root, workspace.Options{Caches: c.plan.Matrix.Caches})
	if c.snap, err = c.tracker.Take(ctx); err != nil {
		return nil, err
	}
	if c.snap.Bytes != s.Tree.Bytes {
		return nil, errors.New("the files are not those that the run names")
	}
	return c, nil
}

func firstError(list diag.List) string {
	for _, d := range list {
		if d.Severity == diag.Error {
			return d.Message
		}
	}
	return "nothing is bound"
}

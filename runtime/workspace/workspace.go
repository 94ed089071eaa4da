package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/workspace/git"
	"github.com/command-dialect/dialect/runtime/workspace/ignore"
)

// DefaultCaches are the names of directories that never count, wherever they are,
// except for what is tracked in them: tools write them while they only read. There
// is no .cache, build or node_modules here: a project that has those says so in a
// tracked ignore file, or adds them to [Options.Caches].
func DefaultCaches() []string {
	return []string{archive.Folder, ".mypy_cache", ".pytest_cache", ".ruff_cache", "__pycache__"}
}

// ofStore reports whether name, a cache or a path inside of it, is the folder of the store of a project or what
// dialect itself makes there, of that kind. The folder is empty for a moment, before the first run of a
// project makes its store.
func (p place) ofStore(name string, folder bool) bool {
	if !p.project || name == p.cache {
		return p.project && folder
	}
	as, ok := archive.Makes(name[len(p.cache)+1:])
	return ok && as == folder
}

// Slow is how long a snapshot may take before a program says what it waits for. A filter of the project, which git runs over its files, can
// take a quarter of an hour.
const Slow = 2 * time.Second

// Options say how a snapshot is taken. The zero Options are fine.
type Options struct {
	Caches []string         // names of directories that never count, beside [DefaultCaches]; one of those is named as a tracked ignore file would
	Except []archive.Exempt // never count unless they are tracked: the receipt store and its like

	// Writing is a file, by absolute path, that the caller writes while snapshots are
	// taken. As a regular file that is not tracked it does not count, and where nothing
	// else hides it no snapshot is exact. Empty for none.
	Writing string

	Git git.Runner // starts git; nil for this process

	// Distrust has git run no program that the repository's own configuration names, such as a filter, as in a repository of
	// another user: what asks stands outside of the sandbox of anyone who can write that configuration.
	Distrust bool
}

// A Snapshot says what the files of a worktree were.
type Snapshot struct {
	Root   string   // absolute path of the worktree; of the project's directory where there is none
	Place  string   // of the project's directory, relative to Root, with slashes; empty where they are the same
	Tree   string   // name of the git tree that a commit of everything would have, in hexadecimal; empty: see Reason
	Bytes  [32]byte // digest of the raw content; see the package documentation
	Files  int      // that are in Bytes
	Reason string   // why there is no Tree; empty if there is one

	Untracked List // files in Bytes that no index holds
	Absent    List // files in Tree that a sparse checkout left out: nothing that ran has seen them
	Unmerged  bool // the index has conflicts: there is no Tree before they are resolved

	// Exact says that a clone of a commit of Tree has these Bytes. Where it is false
	// and there is a Tree, Beyond says why.
	Exact   bool
	Beyond  Differences
	Written bool // the file of [Options.Writing] is there, and in nothing of this
	Stored  List // files of Tree whose content is in LFS: a clone must fetch it from there
	// Nested are the repositories and worktrees in Root that are not submodules, sorted by path: git
	// adds such a one as the name of its commit, without its files. Where there is one without a commit, which git does not
	// add, there is no Tree, and these are all that have none.
	Nested []Nested

	// At is the directory that Root led to when it was read: whatever is there now. It is nil for a snapshot that was kept.
	At fs.FileInfo

	entries entryList
	hides   func(path string) string // see [walk.hides]; nil for a snapshot that was kept
}

// A Nested is a repository inside of another that is not a submodule of it.
type Nested struct {
	Path    string // from the root, with slashes
	Tracked bool   // git add has added it
}

// A List is a list of paths, cut after the first hundred.
type List struct {
	Paths []string // sorted
	Count int      // of all
}

func (l *List) add(path string) {
	if l.Count++; len(l.Paths) < 100 {
		l.Paths = append(l.Paths, path)
	}
}

// Same reports whether two snapshots are of the same files: neither has a digest
// that differs from the other's.
func (s *Snapshot) Same(o *Snapshot) bool { return s.Tree == o.Tree && s.Bytes == o.Bytes }

// Open opens the directory that the snapshot is of. Another one may have been put in its place since, or a link to what its owner
// could not read or write: it is found by what it is, and nothing that is opened below it is outside of it.
func (s *Snapshot) Open() (*os.Root, error) {
	live, err := os.OpenRoot(s.Root)
	if err != nil {
		return nil, err
	}
	is, err := live.Stat(".")
	if err == nil && s.At != nil && !os.SameFile(is, s.At) {
		err = fmt.Errorf("%s is not the directory any more that the snapshot was taken of", s.Root)
	}
	if err != nil {
		live.Close()
		return nil, err
	}
	return live, nil
}

// An Error names the file that a snapshot failed at.
type Error struct {
	Path string // from the root of the worktree
	Err  error
}

func (e *Error) Error() string { return "snapshot of " + git.Display(e.Path) + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Take takes a snapshot of the worktree that holds dir, and reads every file.
func Take(ctx context.Context, dir string, o Options) (*Snapshot, error) {
	return NewTracker(dir, o).Take(ctx)
}

// A Tracker takes snapshots of one worktree again and again, and reads only the
// files whose status changed. It is safe for concurrent use; one snapshot is taken
// at a time.
type Tracker struct {
	dir     string
	options Options

	mu     sync.Mutex
	memory map[string]*memory // by root: it may change when a .git appears
	// stood has, by root, the caches and empty directories that the first snapshot found.
	// What comes after it is made by the commands of the run, and by those of a clone too;
	// what is gone again has had its part in them.
	stood map[string]map[string]string
}

// NewTracker returns a tracker for the worktree that holds dir.
func NewTracker(dir string, o Options) *Tracker { return &Tracker{dir: dir, options: o} }

// Forget makes the next Take read every file.
func (t *Tracker) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.memory = nil
}

// Take takes a snapshot. A git that cannot do its part is not an error but a Reason; a
// file that cannot be read, or does not stop changing, is an [*Error].
func (t *Tracker) Take(ctx context.Context) (*Snapshot, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	dir, err := physical(t.dir)
	if err != nil {
		return nil, err
	}
	s, err := t.take(ctx, dir)
	if errors.Is(err, errChanged) {
		s, err = t.take(ctx, dir)
	}
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if s != nil {
		s.Place, _ = git.Within(s.Root, dir)
	}
	return s, err
}

// Place returns the directory dir relative to the root of the worktree that holds it, as
// [Snapshot.Place] has it: for a question about a commit, which takes no snapshot. It is
// empty where there is no worktree. Git decides what a worktree is, as it does for
// snapshots, so that the two never disagree.
func Place(ctx context.Context, dir string, o Options) (string, error) {
	dir, err := physical(dir)
	if err != nil {
		return "", err
	}
	r, err := git.Discover(ctx, o.Git, dir)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil && r.Root == "" {
		return "", nil
	}
	place, _ := git.Within(r.Root, dir)
	return place, nil
}

// physical returns the absolute path of a directory, without links.
func physical(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

func (t *Tracker) take(ctx context.Context, dir string) (*Snapshot, error) {
	r, err := git.Discover(ctx, t.options.Git, dir)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if t.options.Distrust {
		r.Distrust()
	}
	if err != nil {
		if r.Root == "" {
			r.Root = dir
		}
		return t.plain(ctx, r.Root, reason(err))
	}
	idx, c, err := r.Read(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return t.plain(ctx, r.Root, reason(err))
	}
	w, err := t.begin(ctx, r.Root, r.Format)
	if err != nil {
		return nil, err
	}
	w.repo = &r
	w.project, _ = git.Within(r.Root, dir)
	if err := w.run(&worktree{index: idx, sparse: c.Sparse, outer: true, env: git.Here(r.Root)}, workers()); err != nil {
		return nil, err
	}
	if !w.reached.Load() {
		return t.plain(ctx, dir, "the repository at "+git.Display(r.Root)+" ignores the project's directory")
	}
	if err := w.understood(); err != nil {
		return nil, err
	}
	s := &Snapshot{Root: r.Root}
	m := t.memory[r.Root]
	sum := digesting(w.entries) // while git's tree is made of the same entries
	switch {
	case idx.Conflict != "":
		s.Unmerged, s.Reason = true, git.Display(idx.Conflict)+" is unmerged: resolve the conflict, then git add"
	case len(w.obstacles) > 0:
		slices.Sort(w.obstacles)
		slices.SortFunc(w.unborn, func(a, b Nested) int { return cmp.Compare(a.Path, b.Path) })
		s.Reason, s.Nested = w.obstacles[0], w.unborn
	default:
		err := m.converter.convert(ctx, &r, &c, &idx, w)
		var file *Error
		if errors.As(err, &file) || ctx.Err() != nil {
			return nil, cmp.Or(err, ctx.Err()) // it may end just after the last conversion
		}
		if err != nil {
			s.Reason = reason(err)
			break
		}
		leaves := w.leaves()
		if c.Sparse {
			leaves = s.absent(leaves, &idx)
		}
		w.stood = t.first(w)
		var tree git.ObjectID
		var making sync.WaitGroup
		making.Go(func() { tree = r.Format.Tree(leaves) })
		err = w.exact(s, &m.converter, &c)
		if making.Wait(); err != nil {
			return nil, err
		}
		s.Tree = r.Format.Format(tree)
	}
	s.Bytes = <-sum
	t.finish(w, s)
	return s, nil
}

// first returns [walk.left] as the first snapshot of a root had it, and [walk.unstored] of
// all that followed.
func (t *Tracker) first(w *walk) map[string]string {
	if t.stood == nil {
		t.stood = make(map[string]map[string]string)
	}
	if t.stood[w.root] == nil {
		t.stood[w.root] = w.left
	}
	for path := range w.unstored {
		t.stood[w.root][path] = unstored
	}
	return t.stood[w.root]
}

// reason says in short why git could not do its part.
func reason(err error) string {
	var failed *git.Error
	if errors.As(err, &failed) {
		return "git: " + failed.Says()
	}
	return err.Error()
}

// plain takes a snapshot of all files below root without git, for a reason. Nothing
// but caches is hidden then.
func (t *Tracker) plain(ctx context.Context, root, why string) (*Snapshot, error) {
	w, err := t.begin(ctx, root, git.FormatSHA1)
	if err != nil {
		return nil, err
	}
	if err := w.run(&worktree{}, workers()); err != nil {
		return nil, err
	}
	s := &Snapshot{Root: root, Reason: why, Bytes: digest(w.entries)}
	t.finish(w, s)
	return s, nil
}

func workers() int { return min(4, max(2, runtime.GOMAXPROCS(0))) }

func (t *Tracker) begin(ctx context.Context, root string, f git.ObjectFormat) (*walk, error) {
	w := &walk{
		ctx: ctx, root: root, format: f, start: time.Now(), matches: ignore.NewBudget(ctx),
		first: t.stood[root] == nil, left: make(map[string]string), unstored: make(map[string]bool),
		caches: make(map[string]bool), unnamed: make(map[string]bool), except: make(map[string]archive.Exempt), attributes: make(map[string][]byte), rules: make(map[string][]byte), heads: make(map[string]checkedOut), places: make(map[string]place),
	}
	for _, name := range slices.Concat(DefaultCaches(), t.options.Caches) {
		if name == "" || strings.ContainsAny(name, `/\`) {
			return nil, fmt.Errorf("cache %s: want the name of a directory, not a path", git.Display(name))
		}
		w.caches[name] = true
	}
	for _, name := range DefaultCaches() {
		w.unnamed[name] = name == archive.Folder || !slices.Contains(t.options.Caches, name)
	}
	// The file itself need not be there, and is never followed. Nor need its folder: both may be made while the snapshot is taken.
	inRoot := func(file string) (string, bool) {
		parent, err := filepath.EvalSymlinks(filepath.Dir(file))
		if errors.Is(err, fs.ErrNotExist) {
			return relative(root, file)
		}
		path, ok := git.Within(root, filepath.Join(parent, filepath.Base(file)))
		return path, ok && err == nil
	}
	for _, x := range t.options.Except {
		if !filepath.IsAbs(x.Path) {
			return nil, fmt.Errorf("excepted file %s: the path is not absolute", git.Display(x.Path))
		}
		if path, ok := inRoot(x.Path); ok {
			w.except[path] = x
		}
	}
	if t.options.Writing != "" {
		w.writing, _ = inRoot(t.options.Writing)
	}
	m := t.memory[root]
	if m == nil || m.format != f {
		if t.memory == nil {
			t.memory = make(map[string]*memory)
		}
		m = &memory{format: f}
		t.memory[root] = m
	}
	w.known = m
	return w, nil
}

// leaves are the entries that a commit would have, sorted.
func (w *walk) leaves() []git.Leaf {
	leaves := make([]git.Leaf, 0, len(w.entries))
	for _, e := range w.entries {
		if e.inTree {
			leaves = append(leaves, git.Leaf{Path: e.path, Mode: e.kind.treeMode(), Id: e.id})
		}
	}
	return leaves
}

// absent adds to the leaves the files that a sparse checkout left out, unless
// something else is in their place.
func (s *Snapshot) absent(leaves []git.Leaf, idx *git.Index) []git.Leaf {
	var out []git.Leaf
	taken := make(map[string]bool)
	for _, l := range leaves {
		taken[l.Path] = true
	}
	folders := make(map[string]bool)
	for _, l := range leaves {
		eachFolder(l.Path, func(dir string) bool {
			known := folders[dir]
			folders[dir] = true
			return !known
		})
	}
	for _, e := range idx.All() {
		path := e.Path
		if !e.SkipWorktree || e.Stage != 0 || taken[path] || folders[path] {
			continue
		}
		free := true
		eachFolder(path, func(dir string) bool {
			free = !taken[dir]
			return free
		})
		if free {
			out = append(out, git.Leaf{Path: path, Mode: e.Mode, Id: e.Id})
		}
	}
	byPath := func(a, b git.Leaf) int { return strings.Compare(a.Path, b.Path) }
	slices.SortFunc(out, byPath)
	for _, l := range out {
		s.Absent.add(l.Path)
	}
	all := append(leaves, out...)
	slices.SortFunc(all, byPath)
	return all
}

// eachFolder calls f with the directories of path, the innermost first, while f
// says so.
func eachFolder(path string, f func(dir string) bool) {
	for i := strings.LastIndexByte(path, '/'); i > 0 && f(path[:i]); i = strings.LastIndexByte(path[:i], '/') {
	}
}

// finish computes what does not need git, and remembers the entries.
func (t *Tracker) finish(w *walk, s *Snapshot) {
	w.known = nil
	w.matches = ignore.NewBudget(context.Background()) // of the lookups to come
	s.entries, s.hides, s.At, s.Written = w.entries, w.hides, w.at, w.written.Load()
	settled := 0
	for _, e := range s.entries {
		if e.settled {
			settled++
		}
		if e.kind == kindRepository {
			continue
		}
		s.Files++
		if !e.tracked && w.repo != nil {
			s.Untracked.add(e.path)
		}
	}
	m := t.memory[w.root]
	if w.recalled != m.len() || w.recalled != settled {
		m.text = nil
	}
	m.entries, m.kept = s.entries, nil
}

// digesting computes the digest of entries beside what else is done with them, such as the names of their blobs, which are not in it.
func digesting(entries entryList) <-chan [sha256.Size]byte {
	sum := make(chan [sha256.Size]byte, 1)
	go func() { sum <- digest(entries) }()
	return sum
}

// digest computes [Snapshot.Bytes] of entries that are sorted by path.
func digest(entries entryList) [sha256.Size]byte {
	h := sha256.New()
	writeManifest(h, entries)
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	return sum
}

// writeManifest writes entries that are sorted by path to w, which never fails.
func writeManifest(w io.Writer, entries entryList) {
	b := append(make([]byte, 0, 4<<10), manifestLine...)
	for _, e := range entries {
		if e.kind == kindRepository {
			continue
		}
		b = append(b, byte(e.kind))
		b = binary.BigEndian.AppendUint64(b, uint64(len(e.path)))
		b = append(b, e.path...)
		if !e.kind.special() {
			b = binary.BigEndian.AppendUint64(b, uint64(e.size))
			b = append(b, e.sum[:]...)
		}
		if len(b) > 3<<10 {
			_, _ = w.Write(b)
			b = b[:0]
		}
	}
	_, _ = w.Write(b)
}

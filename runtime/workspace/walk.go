package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/workspace/git"
	"github.com/command-dialect/dialect/runtime/workspace/ignore"
)

// settling is how long a file must have been left alone before its status is
// believed to tell of every change: longer than the coarsest time stamp of a file
// system that is in use (FAT and ext3 have 1 to 2 s).
const settling = 2 * time.Second

// gone reports whether err says that the thing is not there any more.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// errChanged: what was read is not of one moment.
var errChanged = errors.New("it changed while it was read")

// A walk reads the files below a root, once.
type walk struct {
	ctx     context.Context
	root    string // absolute
	project string // the project's directory, from root; "" for root itself
	repo    *git.Repository
	format  git.ObjectFormat
	caches  map[string]bool
	unnamed map[string]bool           // those of [DefaultCaches] that [Options.Caches] does not name
	except  map[string]archive.Exempt // by path
	writing string                    // see [Options.Writing]
	known   *memory                   // by an earlier walk
	start   time.Time
	at      fs.FileInfo // root, as it was opened
	matches *ignore.Budget

	stood map[string]string // see [Tracker]
	first bool              // it is the first of its root: what stands there now stood there before

	reached atomic.Bool // project was walked
	written atomic.Bool // writing is there, and nothing hides it

	recalled int // see [scratch]

	mu         sync.Mutex
	entries    entryList
	attributes map[string][]byte     // path of a .gitattributes of the root's own repository -> content
	rules      map[string][]byte     // path of any file that steers git -> content, as it was understood
	kept       int                   // bytes of the content of rules
	paths      int                   // bytes of the paths of indexes of repositories below
	heads      map[string]checkedOut // path of a nested repository -> what it has checked out
	places     map[string]place      // directories below which other rules hide files than above
	obstacles  []string              // why git could not commit this
	unborn     []Nested              // without a commit: each is an obstacle
	left       map[string]string     // directory that no commit holds, and that no tracked ignore file names -> what it is
	unstored   map[string]bool       // see [walk.noGit]

	submodules map[string]map[string]bool // see [walk.modules]
}

// A worktree is a part of the walk with an index of its own: the root, or a
// submodule. The zero worktree tracks nothing, and so nothing in it is hidden.
type worktree struct {
	prefix string // "" or ending in a slash
	index  git.Index
	sparse bool
	outer  bool     // it is the root's own
	env    []string // for git to find its repository
}

// A place is a directory on the walk.
type place struct {
	tree   *worktree
	path   string // from the root; "" for the root itself
	ignore *ignore.File
	hidden bool   // only what is tracked counts in here
	cache  string // the cache, of [DefaultCaches], that alone hides this: from the root, empty for none
	fake   bool   // its .git is not a repository
	loose  bool   // it is below such a .git: no commit holds what is in here
	// project says that cache is the folder of a store beside which a matrix is, or which is in the root of the walk or of the project: elsewhere
	// dialect makes none.
	project bool
}

func (p place) join(name string) string {
	if p.path == "" {
		return name
	}
	return p.path + "/" + name
}

// inside is path as the index of the place's worktree has it.
func (p place) inside(path string) string { return path[len(p.tree.prefix):] }

// counts reports whether a directory, or its absence, may decide what commands do: it is
// not the root of a worktree, and no tracked ignore file hides it.
func (p place) counts() bool {
	return p.path != "" && p.path+"/" != p.tree.prefix && (!p.hidden || p.cache != "")
}

// A scratch is what one worker works with.
type scratch struct {
	buf      []byte
	sum      hash.Hash
	blob     hash.Hash
	entries  [][]entry // in chunks, which are not copied as they become more
	recalled int       // how many of them an earlier walk knew

	tracked, known int // where the last path was found in the index, and in what an earlier walk knew
}

// chunk is how many entries of a scratch stand together.
const chunk = 256

// add adds an entry, and returns it in its place.
func (s *scratch) add(e entry) *entry {
	if n := len(s.entries); n == 0 || len(s.entries[n-1]) == chunk {
		s.entries = append(s.entries, make([]entry, 0, chunk))
	}
	last := &s.entries[len(s.entries)-1]
	*last = append(*last, e)
	return &(*last)[len(*last)-1]
}

// drop takes the entry out that was added last.
func (s *scratch) drop() {
	last := &s.entries[len(s.entries)-1]
	*last = (*last)[:len(*last)-1]
}

// run walks the tree with a few workers and leaves the entries sorted.
func (w *walk) run(tree *worktree, workers int) error {
	d, err := openRoot(w.root)
	if err != nil {
		return err
	}
	if w.at, err = d.info(); err != nil {
		d.release()
		return err
	}
	c := newCrew(w.ctx)
	c.add(d, func(s *scratch) error { return w.folder(c, s, d, place{tree: tree}) })
	d.release()
	err = c.run(workers, func() *scratch {
		return &scratch{buf: make([]byte, 128<<10), sum: sha256.New(), blob: w.format.New()}
	}, func(s *scratch) {
		w.recalled += s.recalled
		for _, part := range s.entries {
			for i := range part {
				w.entries = append(w.entries, &part[i]) // an entry is large, and stays where it is
			}
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(w.entries, func(a, b *entry) int { return strings.Compare(a.path, b.path) })
	return nil
}

// share is how many names of a directory one worker takes at a time.
const share = 64

// folder walks an open directory.
func (w *walk) folder(c *crew, s *scratch, d *folder, p place) error {
	if p.path == w.project {
		w.reached.Store(true)
	}
	names, err := d.names(s.buf)
	if gone(err) {
		return nil
	}
	if err != nil {
		return w.fault(p.path, err)
	}
	if len(names) == 0 && p.counts() && (p.cache == "" || !p.ofStore(p.path, true)) {
		w.leave(p.path, "an empty directory"+remedy)
	}
	slices.Sort(names) // what is sorted is found at once, see [git.Index.Find]
	above := p.ignore
	if err := w.readIgnore(d, &p, slices.Contains(names, ".gitignore")); err != nil {
		return err
	}
	if p.ignore != above || p.path == strings.TrimSuffix(p.tree.prefix, "/") {
		w.mu.Lock()
		w.places[p.path] = p
		w.mu.Unlock()
	}
	for len(names) > share {
		part := names[len(names)-share:]
		names = names[:len(names)-share]
		c.add(d, func(s *scratch) error { return w.each(c, s, d, p, part) })
	}
	return w.each(c, s, d, p, names)
}

func (w *walk) each(c *crew, s *scratch, d *folder, p place, names []string) error {
	for _, name := range names {
		if name == ".git" && p.cache == "" {
			if own, err := w.ownGit(d, p); err != nil || own {
				if err != nil {
					return err
				}
				continue
			}
		}
		if err := w.look(c, s, d, p, name, false); err != nil {
			return err
		}
	}
	return w.ctx.Err()
}

// ownGit reports whether the .git of a place is that of a repository, whose inside is not of the files. Anything else of that name is a file like
// others, which no commit holds.
func (w *walk) ownGit(d *folder, p place) (own bool, err error) {
	switch {
	case p.fake:
		return false, nil
	case p.hidden, p.path == "" && w.repo != nil, p.path != "" && p.path+"/" == p.tree.prefix:
		return true, nil
	case w.repo == nil:
		return repository(d), nil
	}
	full := filepath.Join(w.root, filepath.FromSlash(p.path))
	if err := git.Readable(filepath.Join(full, ".git")); err != nil {
		return false, w.fault(p.path, err)
	}
	state, _, _, err := w.head(nestedEnv(full))
	if own = state != headNone; own && err == nil {
		w.noGit(p.join(".git"))
	}
	return own, w.fault(p.path, err)
}

// repository reports whether a directory has a .git that looks like a repository, where there is no git to ask: what it has under other names hides then.
func repository(d *folder) bool {
	git, err := d.sub(".git")
	if err != nil {
		return false
	}
	defer git.release()
	for _, name := range []string{"objects", "refs"} {
		if st, err := git.lstat(name); err != nil || st.kind != kindFolder {
			return false
		}
	}
	if st, err := git.lstat("HEAD"); err != nil || !st.kind.regular() || st.size > 1<<10 {
		return false
	}
	head, err := readAll(git, "HEAD", nil)
	text := strings.TrimSuffix(string(head), "\n")
	return err == nil && (strings.HasPrefix(text, "ref: refs/") || (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == "")
}

// nestedEnv is the environment in which git looks at the repository in a directory.
func nestedEnv(dir string) []string {
	return []string{"GIT_DIR=" + filepath.Join(dir, ".git"), "GIT_WORK_TREE=" + dir}
}

// ignores reports whether the ignore files hide a path of a place.
func (w *walk) ignores(p place, path, name string, dir bool) (bool, error) {
	hidden, err := p.ignore.Hides(w.matches, p.inside(path), name, dir)
	var file *ignore.Error
	if errors.As(err, &file) {
		err = w.fault(p.tree.prefix+file.Dir+".gitignore", file.Err)
	}
	return hidden, err
}

// look takes in one name of a directory. What is gone was not there; what changes
// under us is looked at once more (again), and then is an error.
func (w *walk) look(c *crew, s *scratch, d *folder, p place, name string, again bool) error {
	err := w.take(c, s, d, p, name, again)
	if errors.Is(err, errChanged) || swapped(err) || gone(err) {
		switch {
		case !again:
			return w.look(c, s, d, p, name, true)
		case gone(err):
			return nil
		}
		err = errChanged
	}
	if err == nil {
		return nil
	}
	return w.fault(p.join(name), err)
}

// fault names the path of an error, unless it has one.
func (w *walk) fault(path string, err error) error {
	var named *Error
	if err == nil || errors.As(err, &named) || w.ctx.Err() != nil {
		return err
	}
	if path == "" {
		path = "."
	}
	return &Error{Path: path, Err: err}
}

func (w *walk) take(c *crew, s *scratch, d *folder, p place, name string, again bool) error {
	st, err := d.lstat(name)
	if err != nil {
		return err
	}
	path := p.join(name)
	if len(path) > git.LongestPath {
		return errors.New("the path is too long")
	}
	known := p.tree.index.Find(p.inside(path), &s.tracked)
	tracked := known != nil
	if st.kind == kindFolder {
		link := tracked && known.Mode == git.ModeCommit
		below := p.tree.index.Folder(p.inside(path))
		named := p.hidden && p.cache == ""
		if !named {
			if named, err = w.ignores(p, path, name, true); err != nil {
				return err
			}
		}
		hidden, cache := named || p.hidden || w.caches[name], ""
		if x, ok := w.except[path]; ok && !named && !link && !below && p.cache == "" {
			if w.first {
				c.add(d, func(s *scratch) error { return w.beside(s, d, x, path, name, p) })
			}
			return nil
		}
		switch {
		case named:
		case p.cache != "":
			cache = p.cache
		case w.unnamed[name]:
			cache = path
		}
		if hidden && cache == "" && !link && !below {
			return nil
		}
		project := p.project
		if cache == path && name == archive.Folder {
			_, err := d.lstat(plan.MatrixFile)
			project = err == nil || p.path == "" || p.path == w.project
		}
		c.add(d, func(s *scratch) error {
			return w.enter(c, s, d, p, name, link, place{tree: p.tree, path: path, ignore: p.ignore, hidden: hidden, cache: cache, loose: p.loose || name == ".git", project: project}, again)
		})
		return nil
	}
	if st.kind.regular() && (name == ".gitattributes" || (name == ".gitmodules" || name == ".lfsconfig") && p.inside(path) == name) {
		content, err := readAll(d, name, s.buf)
		if err != nil {
			return err
		}
		if err := w.keep(path, content, name == ".gitattributes" && p.tree.outer); err != nil {
			return err
		}
	}
	if !tracked {
		named := st.kind.regular() && w.exempt(path, false) || p.hidden && p.cache == ""
		if !named {
			if named, err = w.ignores(p, path, name, false); err != nil {
				return err
			}
		}
		if !named && p.cache != "" && !(p.ofStore(path, false) && st.kind.regular()) {
			w.leave(p.cache, aCache+byMatrix)
		}
		if named || p.hidden {
			return nil
		}
	}
	if !tracked && path == w.writing && st.kind.regular() {
		w.written.Store(true)
		return nil
	}
	e := s.add(entry{path: path, kind: st.kind, tracked: tracked, inTree: p.tree.outer && !p.loose && name != ".git", status: st})
	if tracked {
		e.held = known.Id
	}
	if st.kind.special() {
		if e.inTree = false; tracked && p.tree.outer {
			w.obstacle(fmt.Sprintf("%s where a tracked file was: %s", st.kind, git.Display(path)))
		}
	} else if err := w.read(s, d, name, e); err != nil {
		s.drop()
		return err
	}
	return nil
}

// exempt reports whether a path is excepted as what it is.
func (w *walk) exempt(path string, folder bool) bool {
	x, ok := w.except[path]
	as, _ := x.Makes("")
	return ok && as == folder
}

// beside looks at the excepted directory name in d.
func (w *walk) beside(s *scratch, d *folder, x archive.Exempt, path, name string, p place) error {
	switch {
	case x.Whole:
		return nil
	case !w.exempt(path, true):
		w.leave(path, "a directory"+remedy)
		return nil
	}
	sub, err := d.sub(name)
	if gone(err) || swapped(err) || w.locked(place{cache: path}, path, err) {
		return nil // what stands there now came after the walk began
	}
	if err != nil {
		return w.fault(path, err)
	}
	defer sub.release()
	return w.strangers(s, sub, place{tree: p.tree, path: path, ignore: p.ignore, cache: path}, x.Makes)
}

// locked notes a folder of a store that cannot be read, as one that another user has made: nobody knows what it holds. It reports whether err says that;
// what a store holds belongs to no snapshot, so that none fails for it.
func (w *walk) locked(p place, path string, err error) bool {
	if !errors.Is(err, fs.ErrPermission) {
		return false
	}
	w.leave(p.cache, "the folder "+git.Display(path)+" in it cannot be read: it may hold what a clone lacks; give it to the user of this project (chown), or remove it")
	return true
}

// strangers notes what is in the folder of a store, of which nothing is tracked, and was not made by dialect, by names and kinds. Of blobs there may be
// very many: their names alone are looked at.
func (w *walk) strangers(s *scratch, d *folder, p place, makes func(name string) (folder, ok bool)) error {
	names, err := d.names(s.buf)
	if err != nil && !gone(err) {
		return w.fault(p.path, err)
	}
	for _, name := range names {
		path := p.join(name)
		stranger := func() { // never the whole folder: it has the receipts
			w.leaveFirst(p.cache, git.Display(path)+", not of dialect's own,"+remedy)
		}
		if named, err := w.ignores(p, path, name, false); err != nil || named {
			if err != nil {
				return err
			}
			continue
		}
		inside := path[len(p.cache)+1:]
		below, of := p, makes
		below.path = path
		folder, ok := makes(inside)
		if x, named := w.except[path]; named && !ok {
			folder, ok = x.Makes("")
			below.cache, of = path, x.Makes
		}
		switch {
		case !ok:
			stranger()
		case folder:
			sub, err := d.sub(name)
			if swapped(err) {
				stranger()
			}
			if gone(err) || swapped(err) || w.locked(below, path, err) {
				continue
			}
			if err != nil {
				return w.fault(path, err)
			}
			err = w.strangers(s, sub, below, of)
			sub.release()
			if err != nil {
				return err
			}
		case strings.HasPrefix(inside, "log/sha256/"), strings.HasPrefix(inside, "sha256/"):
		default:
			if st, err := d.lstat(name); err == nil && !st.kind.regular() {
				stranger()
			} else if err != nil && !gone(err) && !w.locked(p, p.path, err) {
				return w.fault(path, err)
			}
		}
	}
	return w.ctx.Err()
}

// enter walks a directory inside d, which may be a repository of its own.
func (w *walk) enter(c *crew, s *scratch, d *folder, p place, name string, link bool, inner place, again bool) error {
	sub, err := d.sub(name)
	path := inner.path
	store := inner.project && inner.cache == path && !p.tree.index.Folder(p.inside(path))
	if err != nil {
		if gone(err) || swapped(err) {
			if again {
				return w.fault(p.join(name), errChanged)
			}
			return w.look(c, s, d, p, name, true)
		}
		if store && w.locked(inner, path, err) {
			return nil
		}
		return w.fault(p.join(name), err)
	}
	defer sub.release()
	if store {
		if !w.first {
			return nil
		}
		return w.strangers(s, sub, inner, archive.Makes)
	}
	if w.repo == nil || p.tree.index.Folder(p.inside(path)) || inner.hidden && !link {
		return w.folder(c, s, sub, inner)
	}
	_, err = sub.lstat(".git")
	if err != nil && !gone(err) {
		return w.fault(path+"/.git", err)
	}
	nested := err == nil
	if !link && !nested {
		return w.folder(c, s, sub, inner)
	}

	// What a repository does not track, and what nobody does, is hidden by nothing.
	plain := inner
	inner = place{tree: &worktree{prefix: path + "/"}, path: path}
	e := entry{path: path, kind: kindRepository, tracked: link, inTree: p.tree.outer && !p.loose}
	if link {
		e.id = p.tree.index.Find(p.inside(path), nil).Id
	}
	if nested {
		full := filepath.Join(w.root, filepath.FromSlash(path))
		if err := git.Readable(filepath.Join(full, ".git")); err != nil {
			return w.fault(path, err)
		}
		env := nestedEnv(full)
		state, id, tree, err := w.head(env)
		if err != nil {
			return w.fault(path, err)
		}
		switch {
		case state == headCommit:
			e.id = id
			w.mu.Lock()
			w.heads[path] = checkedOut{tree}
			w.mu.Unlock()
		case link:
			inner.fake = state == headNone
		case state == headNone:
			// A .git that is not a repository: to git this is a directory like others.
			plain.fake = true
			return w.folder(c, s, sub, plain)
		case state == headUnborn && p.tree.outer:
			w.obstacle("nested repository without a commit: "+git.Display(path), Nested{path, link})
			return w.folder(c, s, sub, inner)
		default:
			w.noGit(path + "/.git")
			return w.folder(c, s, sub, inner)
		}
		if link && state != headNone {
			idx, err := w.repo.ReadIndex(w.ctx, w.root, env)
			if w.ctx.Err() != nil {
				return w.ctx.Err()
			}
			if err == nil {
				if err := w.hold(path, &idx); err != nil {
					return err
				}
				inner.tree.index, inner.tree.env = idx, env
			}
		}
	}
	s.add(e)
	return w.folder(c, s, sub, inner)
}

// maxPaths bounds, in bytes, the paths of the indexes of all repositories below together: they are kept until the snapshot is made.
const maxPaths = 256 << 20

// hold counts the paths of the index of the repository at path.
func (w *walk) hold(path string, idx *git.Index) error {
	n := 0
	for _, e := range idx.All() {
		n += len(e.Path)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paths += n; w.paths > maxPaths {
		return &Error{Path: path, Err: fmt.Errorf("with it the indexes of the repositories below take more than %d MiB of paths", maxPaths>>20)}
	}
	return nil
}

// A headState says what the .git of a nested directory is.
type headState uint8

const (
	headNone   headState = iota // no repository
	headUnborn                  // one without a commit
	headCommit
)

// head returns the commit that a nested repository has checked out, and the tree of
// it. The commit's name is recomputed; where it is not that of its content, the tree
// is zero.
func (w *walk) head(env []string) (state headState, commit, tree git.ObjectID, err error) {
	out, err := w.repo.Git.Run(w.ctx, w.root, env, []byte("HEAD\n"), "cat-file", "--batch")
	var failed *git.Error
	switch {
	case errors.As(err, &failed):
		return headNone, commit, tree, nil
	case err != nil:
		return headNone, commit, tree, err
	}
	line, content, _ := bytes.Cut(out, []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) != 3 || words[1] != "commit" {
		return headUnborn, commit, tree, nil
	}
	if commit, err = w.format.Parse(words[0]); err != nil {
		// A repository of the other object format: git refuses to add it.
		return headUnborn, git.ObjectID{}, tree, nil
	}
	content = bytes.TrimSuffix(content, []byte("\n"))
	if w.format.Object("commit", content) == commit {
		line, _, _ := strings.Cut(string(content), "\n")
		if name, ok := strings.CutPrefix(line, "tree "); ok {
			tree, _ = w.format.Parse(name)
		}
	}
	return headCommit, commit, tree, nil
}

// leave notes a directory that no commit holds, and why.
func (w *walk) leave(dir, why string) {
	w.mu.Lock()
	w.left[dir] = why
	w.mu.Unlock()
}

// leaveFirst is leave for a directory with several reasons, of which the first by name is kept.
func (w *walk) leaveFirst(dir, why string) {
	w.mu.Lock()
	if old := w.left[dir]; old == "" || why < old {
		w.left[dir] = why
	}
	w.mu.Unlock()
}

// noGit notes the .git in a directory that the enclosing index does not take for a repository.
func (w *walk) noGit(path string) {
	w.mu.Lock()
	w.unstored[path] = true
	w.mu.Unlock()
}

func (w *walk) obstacle(what string, nested ...Nested) {
	w.mu.Lock()
	w.obstacles, w.unborn = append(w.obstacles, what), append(w.unborn, nested...)
	w.mu.Unlock()
}

// readIgnore puts the ignore file of a directory before those above, if it is
// tracked. Of a sparse checkout that left it out, git takes the one in the index.
func (w *walk) readIgnore(d *folder, p *place, present bool) error {
	path := p.join(".gitignore")
	e := p.tree.index.Find(p.inside(path), nil)
	if e == nil || p.hidden {
		return nil
	}
	var content []byte
	switch {
	case present:
		st, err := d.lstat(".gitignore")
		if gone(err) || err == nil && (!st.kind.regular() || st.size > ignore.MaxFile) {
			return nil
		}
		if err == nil {
			if content, err = readAll(d, ".gitignore", nil); err == nil {
				if err := w.keep(path, content, false); err != nil {
					return err
				}
			}
		}
		if err != nil && !gone(err) {
			return w.fault(path, err)
		}
	case p.tree.sparse && e.SkipWorktree && e.Stage == 0 && (e.Mode == git.ModeFile || e.Mode == git.ModeExec):
		var err error
		content, err = w.repo.Git.Run(w.ctx, w.root, p.tree.env, nil, "cat-file", "blob", w.format.Format(e.Id))
		if w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		if err != nil || w.format.Object("blob", content) != e.Id { // git does not hash a loose object that it prints
			return nil // it hides nothing
		}
	}
	p.ignore = p.ignore.Under(strings.TrimSuffix(p.inside(path), ".gitignore"), content)
	return nil
}

// maxRules bounds, in bytes, what all files that say how git takes others hold together: they are kept until the snapshot is made.
const maxRules = 64 << 20

// keep keeps the content of a file that says how git takes others.
func (w *walk) keep(path string, content []byte, attributes bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kept += len(content); w.kept > maxRules {
		return &Error{Path: path, Err: fmt.Errorf("with it .gitattributes, .gitignore and .gitmodules files take more than %d MiB", maxRules>>20)}
	}
	if w.rules[path] = content; attributes {
		w.attributes[path] = content
	}
	return nil
}

// readAll returns the content of a small file, at most [ignore.MaxFile] bytes of it.
func readAll(d *folder, name string, buf []byte) ([]byte, error) {
	h, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer h.close()
	if buf == nil {
		buf = make([]byte, 16<<10)
	}
	var content []byte
	for len(content) < ignore.MaxFile {
		n, err := h.read(buf)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		content = append(content, buf[:n]...)
	}
	return content, nil
}

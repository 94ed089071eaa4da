package trial

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/cleanroom"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// Bounds of what is copied before a line is tried: the files of a snapshot that HEAD does not have as they stand. (To copy 20,000 files that it
// has makes init four times as slow.) Without a repository that is
// every file.
const (
	maxKept      = 512 << 20 // bytes
	maxKeptFiles = 50_000
)

// installs returns names of folders of packages and builds. Without a repository nothing says that their files are not the user's work, and
// there are too many to copy: they are not looked at, and stay as lines leave them.
func installs() []string { return []string{".venv", "node_modules", "target", "venv"} }

var errEdited = errors.New("it does not stop changing")

// A keeper puts the files of a project back as they were before a line was tried. A snapshot has no content: so before the first line the keeper
// copies what HEAD does not have as it stands, and before each other what is new since. A blob that only the index names does not count: a reset
// and a gc take it. What a line wrote over a file is copied, too, before the old one takes its place, since an editor may have saved the file
// while the line ran.
//
// Its folder is in the user's cache, or, if there is none, in $TMPDIR, which lines fill and empty. The copies are under kept/N, with the paths of
// the project, and files are put back from there: that needs no room. They are removed at the end only if all that lines took is back. A
// process that is killed leaves them.
type keeper struct {
	tracker *workspace.Tracker
	inGit   bool
	repo    *git.Repository        // nil for none
	now     *workspace.Snapshot    // of the files as they are; nil if that is not known
	first   *workspace.Snapshot    // that a line was tried on
	gone    map[string]bool        // the files of now that the index has and the user removed
	head    git.ObjectID           // when files were last kept; zero if that is not known
	base    *workspace.Snapshot    // that the last line was tried on
	kept    map[string]keptFile    // by path
	meta    map[string]fs.FileInfo // of the files of now and of their folders, by path
	bytes   int64                  // of kept
	copies  int                    // calls of keep that copied something
	lines   int                    // that changed something
	over    bool                   // the last line's after-N has something
	dir     string                 // empty if it cannot be made
	made    func(dir string)       // called before something is put into dir; nil calls nothing
	lost    error                  // why the files cannot be put back any more
	runs    bool                   // a line was begun, and what it did to the files is not known
	owes    bool                   // a line took what is not back
}

type keptFile struct {
	name string // of the copy
	file workspace.File
}

func newKeeper(ctx context.Context, dir string, o workspace.Options, made func(string)) *keeper {
	k := &keeper{kept: make(map[string]keptFile), made: made}
	if k.inGit = place.Exists(filepath.Join(place.Repository(dir), ".git")); k.inGit {
		if r, err := git.Discover(ctx, nil, dir); err == nil {
			k.repo = &r
		}
	} else {
		o.Caches = slices.Concat(o.Caches, installs())
		k.lost = measure(dir, o.Caches)
	}
	if own, err := makeFolder(); err != nil {
		k.lost = err
	} else if k.dir, err = filepath.Abs(own); err == nil {
		o.Except = append(slices.Clip(o.Except), archive.Exempt{Path: k.dir, Whole: true}) // it may be in the project
	}
	k.tracker = workspace.NewTracker(dir, o)
	return k
}

func makeFolder() (string, error) {
	const pattern = "dialect-init-"
	if cache, err := os.UserCacheDir(); err == nil {
		cache = filepath.Join(cache, "dialect", "init")
		if os.MkdirAll(cache, 0o700) == nil {
			if dir, err := os.MkdirTemp(cache, pattern); err == nil {
				return dir, nil
			}
		}
	}
	return os.MkdirTemp("", pattern)
}

// measure returns an error if the files below dir are more than are kept, without those in folders of these names.
func measure(dir string, without []string) error {
	files, size := 0, int64(0)
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != dir && (e.Name() == ".git" || slices.Contains(without, e.Name())):
			return fs.SkipDir
		case !e.Type().IsRegular():
			return nil
		}
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
		files++
		return tooMany(files, size)
	})
}

func tooMany(files int, size int64) error {
	if files > maxKeptFiles || size > maxKept {
		return fmt.Errorf("to put files back after a line, init copies those that are not committed, and these are more than %d files or %d MiB: commit or ignore some", maxKeptFiles, maxKept>>20)
	}
	return nil
}

// begin looks at the files before a line, and copies what could not be put back otherwise. No line is tried where it fails.
func (k *keeper) begin(ctx context.Context) error {
	err := k.lost
	for try := range 3 {
		if k.now == nil && err == nil {
			k.now, err = k.tracker.Take(ctx)
		}
		if err == nil && !k.covered() {
			err = k.keep(ctx)
		}
		if err == nil {
			if k.base = k.now; k.first == nil {
				k.first = k.now
			}
		}
		if !errors.Is(err, errEdited) {
			return err
		}
		if k.now = nil; try < 2 {
			err = nil
		}
	}
	return err
}

func (k *keeper) format() git.ObjectFormat {
	if k.repo != nil {
		return k.repo.Format
	}
	return git.FormatSHA1
}

func (k *keeper) files(s *workspace.Snapshot) map[string]workspace.File {
	all := make(map[string]workspace.File)
	for f := range s.Checkout(k.format()) {
		all[f.Path] = f
	}
	return all
}

func isFile(f workspace.File) bool {
	return f.Kind == workspace.Regular || f.Kind == workspace.Executable
}

// covered reports whether what was kept last is all that has to be: the files and HEAD are the same, and the copies are there.
func (k *keeper) covered() bool {
	for name, c := range k.kept {
		if info, err := os.Lstat(c.name); err != nil || info.Mode().IsRegular() && info.Size() != c.file.Size {
			delete(k.kept, name) // a line removed it
			k.bytes -= c.file.Size
			k.base = nil
		}
	}
	if k.now != k.base || k.repo == nil {
		return k.now == k.base
	}
	head, ok := k.repo.Head()
	return ok && head == k.head
}

// committed returns the names of the blobs in HEAD, none if it cannot be read.
func (k *keeper) committed(ctx context.Context) map[string]bool {
	if k.repo == nil {
		return nil
	}
	k.head, _ = k.repo.Head()
	list, err := k.repo.Git.Run(ctx, k.repo.Root, git.Here(k.repo.Root), nil, "ls-tree", "-r", "-z", "--full-tree", "HEAD")
	if err != nil {
		return nil
	}
	all := make(map[string]bool)
	for row := range strings.SplitSeq(string(list), "\x00") {
		head, _, _ := strings.Cut(row, "\t")
		if words := strings.Fields(head); len(words) == 3 && words[1] == "blob" { // mode, type, name
			all[words[2]] = true
		}
	}
	return all
}

// removed returns the files that the index has and the working tree has not, but for those that a sparse checkout leaves out.
func (k *keeper) removed(ctx context.Context) map[string]bool {
	if k.repo == nil {
		return nil
	}
	index, err := k.repo.ReadIndex(ctx, k.repo.Root, git.Here(k.repo.Root))
	if err != nil {
		return nil
	}
	all := make(map[string]bool)
	for _, e := range index.All() {
		if !e.SkipWorktree && !k.now.Has(e.Path) {
			all[e.Path] = true
		}
	}
	return all
}

func (k *keeper) keep(ctx context.Context) error {
	var list []workspace.File
	committed := k.committed(ctx)
	k.gone = k.removed(ctx)
	files, size := len(k.kept), k.bytes
	k.meta = make(map[string]fs.FileInfo)
	if info, err := os.Stat(k.now.Root); err == nil {
		k.meta["."] = info
	}
	for f := range k.now.Checkout(k.format()) {
		for name := f.Path; name != "." && k.meta[name] == nil; name = path.Dir(name) {
			if info, err := os.Lstat(filepath.Join(k.now.Root, filepath.FromSlash(name))); err == nil && (info.Mode().IsRegular() || info.IsDir() || info.Mode().Type() == fs.ModeSymlink) {
				k.meta[name] = info
			}
		}
		if _, kept := k.copyOf(f); kept || !isFile(f) && f.Kind != workspace.Link || f.Raw && committed[f.ID] {
			continue
		}
		list = append(list, f)
		files++
		size += f.Size
	}
	if err := tooMany(files, size); err != nil || len(list) == 0 {
		return err
	}
	live, err := k.now.Open()
	if err != nil {
		return err
	}
	defer live.Close()
	k.copies++
	to, err := k.folder(filepath.Join("kept", strconv.Itoa(k.copies)))
	if err != nil {
		return err
	}
	defer to.Close()
	for _, f := range list {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := k.copyLive(live, to, f); err != nil {
			return fmt.Errorf("%s cannot be kept: %w", git.Display(f.Path), err)
		}
		k.kept[f.Path] = keptFile{filepath.Join(to.Name(), filepath.FromSlash(f.Path)), f}
	}
	k.bytes = size
	return nil
}

// copyOf returns the path of the copy of f, if one was made.
func (k *keeper) copyOf(f workspace.File) (name string, ok bool) {
	c, ok := k.kept[f.Path]
	return c.name, ok && sameFile(c.file, f)
}

// folder makes a folder in that of the keeper.
func (k *keeper) folder(name string) (*os.Root, error) {
	if k.made != nil {
		k.made(k.dir)
	}
	name = filepath.Join(k.dir, name)
	if err := os.MkdirAll(name, 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(name)
}

// copyLive copies a file of the working tree, if it is still f.
func (k *keeper) copyLive(live, to *os.Root, f workspace.File) error {
	if f.Kind == workspace.Link {
		return link(to, f)
	}
	from, err := live.OpenFile(filepath.FromSlash(f.Path), os.O_RDONLY|regular.OwnFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return errEdited
	} else if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errEdited
	}
	return put(to, f, info.Mode(), from)
}

func link(to *os.Root, f workspace.File) error {
	name := filepath.FromSlash(f.Path)
	if err := to.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return to.Symlink(f.Target, name)
}

// put makes the file f below to, of a content that has to be its own.
func put(to *os.Root, f workspace.File, mode os.FileMode, content io.Reader) error {
	name := filepath.FromSlash(f.Path)
	if err := to.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), io.LimitReader(content, f.Size+1))
	if err == nil && [32]byte(h.Sum(nil)) != f.SHA256 {
		err = errEdited
	}
	if err = errors.Join(err, out.Chmod(mode.Perm()|0o400), out.Close()); err != nil {
		_ = to.Remove(name)
	}
	return err
}

// old returns the path of a file that is f as it was before the line: the copy, if it still is that, else what git has, in a folder of the
// line's own.
func (k *keeper) old(ctx context.Context, f workspace.File, number string) (name string, err error) {
	if name, ok := k.copyOf(f); ok {
		ok, err := holds(name, f)
		if err == nil && !ok {
			err = errEdited
		}
		return name, err
	}
	if !isFile(f) && f.Kind != workspace.Link {
		return "", errors.New("it is a FIFO, a socket or a device")
	}
	to, err := k.folder("before-" + number)
	if err != nil {
		return "", err
	}
	defer to.Close()
	name = filepath.Join(to.Name(), filepath.FromSlash(f.Path))
	if f.Kind == workspace.Link {
		return name, link(to, f)
	}
	id, err := k.format().Parse(f.ID)
	if err != nil || k.repo == nil {
		return "", errors.New("git does not have it")
	}
	_, content, ok := k.repo.Object(id)
	if !ok {
		if content, err = k.repo.Git.Run(ctx, k.repo.Root, git.Here(k.repo.Root), nil, "cat-file", "blob", f.ID); err != nil {
			return "", err
		}
	}
	mode := os.FileMode(0)
	if info := k.meta[f.Path]; info != nil {
		mode = info.Mode()
	}
	return name, put(to, f, mode, strings.NewReader(string(content)))
}

// holds reports whether the file at a path has the content of f, or is the same link.
func holds(name string, f workspace.File) (bool, error) {
	if f.Kind == workspace.Link {
		target, err := os.Readlink(name)
		return target == f.Target, err
	}
	from, err := regular.OpenOwn(name)
	if err != nil {
		return false, err
	}
	defer from.Close()
	h := sha256.New()
	_, err = io.Copy(h, io.LimitReader(from, f.Size+1))
	return [32]byte(h.Sum(nil)) == f.SHA256, err
}

// end says in r what its line did to the files, and puts them back.
func (k *keeper) end(ctx context.Context, r *Result) {
	if root := k.meta["."]; root != nil { // first: without its permissions it may not be opened
		if info, err := os.Stat(k.base.Root); err == nil && info.Mode() != root.Mode() {
			_ = os.Chmod(k.base.Root, root.Mode())
		}
	}
	before := k.base
	after, err := k.tracker.Take(ctx)
	for range 100 {
		var file *workspace.Error
		if !errors.As(err, &file) || k.metaBack() == 0 && !k.open(file.Path) {
			break
		}
		after, err = k.tracker.Take(ctx)
	}
	if err != nil {
		k.lose(r, err)
		return
	}
	was := k.files(before)
	changes := workspace.Diff(before, after)
	r.changes(changes, k.gone)
	held := k.held(r, was)
	if moded := k.metaBack() > 0; !moded && r.Changed == nil {
		if len(changes) > 0 {
			k.now = after
		}
		k.runs = false
		return
	} else if moded {
		if after, err = k.tracker.Take(ctx); err != nil {
			k.lose(r, err)
			return
		}
	}
	k.lines, k.over = k.lines+1, false
	number := strconv.Itoa(k.lines)
	bring := func(which func(string) bool) {
		names := slices.DeleteFunc(k.names(before, after, was), func(name string) bool { return held[name] || !which(name) })
		if err == nil && len(names) > 0 {
			k.bring(ctx, was, after, names, number)
			after, err = k.tracker.Take(ctx)
		}
	}
	// What an ignore file hides that the line changed is in no snapshot, nor is what a link hides that is in the place of a folder.
	bring(func(name string) bool {
		_, had := was[name]
		return !had || path.Base(name) == ".gitignore"
	})
	if err == nil {
		bring(func(string) bool { return true })
	}
	if err == nil && k.metaBack() > 0 {
		after, err = k.tracker.Take(ctx)
	}
	if err != nil {
		k.lose(r, err)
		return
	}
	k.now = after
	is := k.files(after)
	for _, c := range workspace.Diff(before, after) {
		name := strings.TrimSuffix(c.Path, "/")
		old, had := was[name]
		now, has := is[name]
		if held[name] || isNew(c, k.gone) || had && has && sameFile(old, now) && old.Kind != workspace.Repository {
			continue
		}
		k.stays(r, c.Path, old, number)
	}
	if own := filepath.Join(k.dir, "before-"+number); !slices.Contains(r.Old, own) {
		_ = os.RemoveAll(own)
	}
	if k.over {
		r.Over = k.dir
	} else {
		_ = os.RemoveAll(filepath.Join(k.dir, "after-"+number)) // folders at the most
	}
	r.wrote()
	k.runs = false
}

// held takes from what r says that its line changed the files that a process still has open for writing, such as the data of a server, or the log
// of this command. It may be their writer, and what it writes from now on would be in no file if another took the place of this one.
func (k *keeper) held(r *Result, was map[string]workspace.File) map[string]bool {
	var files []string
	for _, name := range r.Changed {
		files = append(files, filepath.Join(k.base.Root, filepath.FromSlash(name)))
	}
	held := make(map[string]bool)
	for file, pid := range writers(files) {
		name := r.Changed[slices.Index(files, file)]
		held[name] = true
		r.Held = append(r.Held, fmt.Sprintf("%s (process %d)", name, pid))
		if _, ok := k.copyOf(was[name]); ok {
			r.HeldOld = filepath.Join(k.dir, "kept")
			k.owes = true
		}
	}
	slices.Sort(r.Held)
	r.Changed = slices.DeleteFunc(r.Changed, func(name string) bool { return held[name] })
	if len(r.Changed) == 0 {
		r.Changed = nil
	}
	return held
}

// stays says in r that a path is not as it was, and where there is a copy of what was there.
func (k *keeper) stays(r *Result, name string, old workspace.File, number string) {
	k.owes = true
	r.Stays = append(r.Stays, name)
	file, kept := k.copyOf(old)
	dir := filepath.Join(k.dir, "kept")
	if !kept {
		dir = filepath.Join(k.dir, "before-"+number)
		file = filepath.Join(dir, filepath.FromSlash(old.Path))
	}
	if ok, err := holds(file, old); old.Path == "" || err != nil || !ok {
		r.Without = append(r.Without, name)
		r.Gone = r.Gone || kept
	} else if !slices.Contains(r.Old, dir) {
		r.Old = append(r.Old, dir)
	}
}

// lose says that what a line did is not known, and cannot be put back.
func (k *keeper) lose(r *Result, err error) {
	k.now, k.lost = nil, fmt.Errorf("after %s the files of the project cannot be looked at: %w", r.Line.Text, err)
	r.Outcome, r.Why = Writes, fmt.Sprintf("the files cannot be looked at after it, and may not be put back: %v", err)
	if len(k.kept) > 0 {
		r.Why += "; what is not committed of them is in " + filepath.Join(k.dir, "kept")
	}
}

func sameFile(a, b workspace.File) bool {
	return a.Kind == b.Kind && a.Size == b.Size && a.SHA256 == b.SHA256
}

// names returns what has to change for the files to be those of before: the files of it that are others now or are gone, what is in the way of
// these, and files that the index had and the user had removed. What else is new stays.
func (k *keeper) names(before, after *workspace.Snapshot, was map[string]workspace.File) (names []string) {
	is := k.files(after)
	back, above := make(map[string]bool), make(map[string]bool)
	changes := workspace.Diff(before, after)
	for _, c := range changes {
		old, had := was[c.Path]
		now, has := is[c.Path]
		if !had || has && sameFile(old, now) || !isFile(old) && old.Kind != workspace.Link {
			continue
		}
		names = append(names, c.Path)
		back[c.Path] = true
		for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
			above[dir] = true
		}
	}
	for _, c := range changes {
		if c.Kind != workspace.Added || strings.HasSuffix(c.Path, "/") {
			continue
		}
		inWay := above[c.Path]
		for dir := path.Dir(c.Path); dir != "." && !inWay; dir = path.Dir(dir) {
			inWay = back[dir]
		}
		if inWay || !isNew(c, k.gone) {
			names = append(names, c.Path)
		}
	}
	return names
}

// bring puts names back, each if it is still what the line left.
func (k *keeper) bring(ctx context.Context, was map[string]workspace.File, after *workspace.Snapshot, names []string, number string) {
	if len(names) == 0 {
		return
	}
	live, err := after.Open()
	if err != nil {
		return
	}
	defer live.Close()
	is := k.files(after)
	from := make(map[string]string)
	names = slices.DeleteFunc(names, func(name string) bool {
		if f, ok := was[name]; ok {
			if from[name], err = k.old(ctx, f, number); err != nil {
				return true
			}
		}
		f, ok := is[name]
		if !ok || !isFile(f) && f.Kind != workspace.Link {
			return false
		}
		return k.copyOver(live, f, number) != nil
	})
	source := func(name string) string { return from[name] }
	if cleanroom.BringBack(ctx, after, source, names) != nil { // all or none: so each for itself
		for _, name := range names {
			near := slices.DeleteFunc(slices.Clone(names), func(n string) bool {
				return n != name && !strings.HasPrefix(n, name+"/") && !strings.HasPrefix(name, n+"/")
			})
			if cleanroom.BringBack(ctx, after, source, near) != nil && len(near) > 1 {
				_ = cleanroom.BringBack(ctx, after, source, []string{name})
			}
		}
	}
}

// copyOver copies a file that a line left, which another is to take the place of.
func (k *keeper) copyOver(live *os.Root, f workspace.File, number string) error {
	to, err := k.folder("after-" + number)
	if err != nil {
		return err
	}
	defer to.Close()
	err = k.copyLive(live, to, f)
	k.over = k.over || err == nil
	return err
}

// metaBack gives files, links and folders that are still there the owner, the group and the permissions that they had, and returns how many
// had others.
func (k *keeper) metaBack() (n int) {
	var root *os.Root
	folders := map[string]bool{".": true}                   // that are there, and no links
	for _, name := range slices.Sorted(maps.Keys(k.meta)) { // a folder before what is in it
		was := k.meta[name]
		if !folders[path.Dir(name)] {
			continue
		}
		info, err := os.Lstat(filepath.Join(k.base.Root, filepath.FromSlash(name)))
		if err != nil || info.Mode().Type() != was.Mode().Type() {
			continue
		}
		owned := owner(info) == owner(was)
		if folders[name] = info.IsDir(); info.Mode() == was.Mode() && owned {
			continue
		}
		if root == nil {
			if root, err = k.base.Open(); err != nil {
				return n
			}
			defer root.Close()
		}
		own := filepath.FromSlash(name)
		back := !owned && root.Lchown(own, owner(was).user, owner(was).group) == nil
		if was.Mode().Type() != fs.ModeSymlink && (back || info.Mode() != was.Mode()) { // a change of the owner may take permissions
			back = root.Chmod(own, was.Mode()) == nil || back
		}
		if back {
			n++
		}
	}
	return n
}

type ids struct{ user, group int }

// open lets the owner read a file or folder that a line made, since no snapshot is without it, and reports whether that was to be done.
func (k *keeper) open(name string) bool {
	root, err := k.base.Open()
	if err != nil {
		return false
	}
	defer root.Close()
	info, err := root.Lstat(filepath.FromSlash(name))
	if err != nil || k.meta[name] != nil {
		return false
	}
	mode := info.Mode()
	switch {
	case mode.IsDir():
		mode |= 0o700
	case mode.IsRegular():
		mode |= 0o400
	}
	return mode != info.Mode() && root.Chmod(filepath.FromSlash(name), mode) == nil
}

// close removes the copies, if all that they are of is in the project as it was.
func (k *keeper) close() {
	if k.dir == "" {
		return
	}
	if !k.runs && !k.owes {
		_ = os.RemoveAll(filepath.Join(k.dir, "kept"))
	}
	_ = os.Remove(k.dir) // if nothing is in it
}

package cleanroom

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/overlay"
	"github.com/command-dialect/dialect/runtime/tempdir"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A layer is what a line that writes hands on to those after it: a copy of the files that it left, with modes of a clone. What the snapshot after
// it does not name is of ignored files alone.
type layer struct {
	dir     string
	files   []workspace.File // by kind Special, a mark of what is removed; by kind Repository, an empty directory
	opaque  []string         // directories that hide what the layers below have in their place
	has     *checkout        // of files, once it is sealed
	of      *workspace.Snapshot
	ignored []string // what of it is in no snapshot
	lowered []string // what the line saw of the machine
	rests   []string // what else decided what it left, of [Stay.Lower]
	modes   []string // files that have the mode that the line gave them until the layer is sealed, for the working tree
}

// A gathering copies what a line left in an upper layer.
type gathering struct {
	*layer
	room    *Room
	root    *os.Root // the upper layer
	changed []string // files that count
	size    int64    // of what was read
	buf     []byte
}

// gather copies what a line left, and returns it with the paths of files that count and that it changed, sorted. Caches are
// not copied: they are made again.
func (r *Room) gather(ctx context.Context, upper string) (*layer, []string, error) {
	root, err := os.OpenRoot(upper)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	r.gathered++
	g := &gathering{&layer{dir: filepath.Join(r.dir, fmt.Sprintf("layer%d", r.gathered)), of: r.snapshot}, r, root, nil, 0, make([]byte, 64<<10)}
	if err := errors.Join(os.Mkdir(g.dir, 0o755), g.take(ctx, "")); err != nil {
		_ = tempdir.RemoveAll(g.dir)
		return nil, nil, err
	}
	g.ignored = append(g.ignored, r.hiddenBy(g.layer)...)
	return g.layer, slices.Compact(slices.Sorted(slices.Values(g.changed))), nil
}

// maxLeft bounds what a line hands on, in bytes that are read: a file can be far larger than what is stored of it.
const maxLeft = 16 << 30

// take copies what is in a directory.
func (g *gathering) take(ctx context.Context, name string) error {
	if len(name) > maxPath {
		return fmt.Errorf("it left directories in each other, in a path of more than %d bytes", maxPath)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	dir, list, err := openDir(g.root, name)
	if err != nil {
		return err
	}
	defer dir.Close()
	before := len(g.files)
	now := g.room.now
	_, counts := now.dirs[name]
	for _, d := range list {
		if d.Name() != ".git" {
			if err := g.one(ctx, path.Join(name, d.Name()), d); err != nil {
				return err
			}
		} else if at := lasting(g.root, name); at != "" && (counts || g.room.snapshot.LookupIn(name+"/x").Hidden == "") { // what is hidden is gone with the run in any case
			return fmt.Errorf("it changed %s, and a commit in a clean checkout is gone with the run: run it without --clean", git.Display(at))
		}
	}
	switch {
	case overlay.Opaque(dir) && g.room.below(name):
		g.changed = append(g.changed, now.missing(name, list)...)
		if err := g.hide(name); err != nil {
			return err
		}
		if !counts {
			g.ignored = append(g.ignored, name)
		}
	case len(g.files) == before && now.replacedBy(name):
		return g.mark(name)
	case len(list) == 0 && !counts && g.room.snapshot.LookupIn(name+"/x").Hidden == workspace.Ignored:
		g.files, g.ignored = append(g.files, workspace.File{Path: name, Kind: workspace.Repository}), append(g.ignored, name)
		return os.MkdirAll(filepath.Join(g.dir, filepath.FromSlash(name)), 0o755)
	}
	return nil
}

// one copies one entry of a directory.
func (g *gathering) one(ctx context.Context, name string, d fs.DirEntry) error {
	now := g.room.now
	has := now.has(name)
	_, dir := now.dirs[name]
	switch {
	case d.IsDir():
		if now.replacedBy(name) {
			g.changed = append(g.changed, name)
		}
		return g.take(ctx, name)
	case d.Type()&fs.ModeDevice != 0, !d.Type().IsRegular() && d.Type() != fs.ModeSymlink && (has || dir): // a mark, or what no snapshot has
		if has {
			g.changed = append(g.changed, name)
		}
		g.changed = append(g.changed, now.below(name)...)
		if !has && !dir {
			g.ignored = append(g.ignored, name)
		}
		return g.mark(name)
	case !d.Type().IsRegular() && d.Type() != fs.ModeSymlink: // a FIFO or socket
		return nil
	}
	hidden := ""
	if !has {
		hidden = g.room.snapshot.LookupIn(name).Hidden
	}
	if hidden != "" && hidden != workspace.Ignored {
		return nil
	}
	to := filepath.Join(g.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	f := workspace.File{Path: name}
	if d.Type() == fs.ModeSymlink {
		f.Kind = workspace.Link
	} else if info, err := g.root.Lstat(filepath.FromSlash(name)); err == nil {
		if g.size += info.Size(); g.size > maxLeft {
			return fmt.Errorf("it left files of more than %d GiB, %s among them", maxLeft>>30, list([]string{name}))
		}
	}
	if err := copyOut(ctx, g.root, name, to, &f, g.buf); err != nil {
		return err
	}
	switch {
	case has && now.holds(&f):
		err := os.Remove(to)
		for dir := filepath.Dir(to); err == nil && dir != g.dir && os.Remove(dir) == nil; dir = filepath.Dir(dir) { // those that are empty now
		}
		return err
	case hidden == "":
		g.changed = append(append(g.changed, name), now.below(name)...) // it may take the place of a directory
	default:
		g.ignored = append(g.ignored, name)
	}
	g.files = append(g.files, f)
	if f.Kind == workspace.Link {
		if text := g.room.opens(filepath.Join(g.room.snapshot.Root, filepath.FromSlash(name)), f.Target); text != "" && hidden != "" && len(g.lowered) < maxOpen {
			g.lowered = append(g.lowered, text+"a link that an earlier line left leads to")
		}
		return nil
	}
	info, err := g.root.Lstat(filepath.FromSlash(name))
	switch {
	case err != nil:
		return err
	case hidden != "": // make compares times of what it made
		return os.Chtimes(to, info.ModTime(), info.ModTime())
	}
	g.modes = append(g.modes, name)
	return os.Chmod(to, info.Mode().Perm()|0o400)
}

// holds reports whether the snapshot has a file as f is.
func (c *checkout) holds(f *workspace.File) bool {
	own := c.file(f.Path)
	if own == nil || own.Kind != f.Kind {
		return false
	}
	if f.Kind == workspace.Link {
		return own.Target == f.Target
	}
	return own.Size == f.Size && own.SHA256 == f.SHA256
}

// mark marks a path as removed: a device in an upper layer hides what the layers below have there.
func (l *layer) mark(name string) error {
	full := filepath.Join(l.dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), tempdir.RemoveAll(full)); err != nil {
		return err
	}
	l.files = append(l.files, workspace.File{Path: name, Kind: workspace.Special})
	if err := unix.Mknod(full, unix.S_IFCHR, 0); err != nil {
		return &fs.PathError{Op: "mark as removed", Path: name, Err: err}
	}
	return nil
}

// hideStrays makes the layer that hides the strays among the objects of the repository, and returns its directory; empty where there are none, or it
// cannot be made.
func (r *Room) hideStrays() string {
	l := &layer{dir: filepath.Join(r.dir, "strays")}
	for _, name := range r.strays {
		if l.mark(name) != nil {
			return ""
		}
	}
	if len(r.strays) == 0 {
		return ""
	}
	return l.dir
}

// hide has a directory hide what the layers below have in its place.
func (l *layer) hide(name string) error {
	full := filepath.Join(l.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(full, 0o755); err != nil {
		return err
	}
	l.files, l.opaque = append(l.files, workspace.File{Path: name, Kind: workspace.Repository}), append(l.opaque, name)
	if err := unix.Setxattr(full, overlay.OpaqueName, []byte("y"), 0); err != nil {
		return &fs.PathError{Op: "setxattr", Path: name, Err: err}
	}
	return nil
}

// in reports whether a layer shows something at a path or below it.
func (l *layer) in(name string) bool {
	return slices.ContainsFunc(l.files, func(f workspace.File) bool {
		return f.Kind != workspace.Special && (f.Path == name || strings.HasPrefix(f.Path, name+"/"))
	})
}

// below reports whether the checkout has a directory at a path, or a layer that lines see already, or what was installed, something there or below it.
func (r *Room) below(name string) bool {
	_, dir := r.tree.dirs[name]
	return dir || r.beside(name)
}

// beside is below without the checkout itself.
func (r *Room) beside(name string) bool {
	in := r.installed
	return slices.ContainsFunc(r.layers, func(l *layer) bool { return l.in(name) }) || in != nil && in.has != nil && len(in.has.below("tree/"+name)) > 0
}

// hiddenBy returns where a layer takes away ignored files that commands saw before it, whatever is in their place: no snapshot tells.
func (r *Room) hiddenBy(l *layer) (names []string) {
	covers := make(map[string]bool, len(l.files)+len(l.opaque))
	l.covers(covers)
	look := func(name string) {
		for at := name; at != ""; at, _ = split(at) {
			if covers[at] {
				names = append(names, at)
				return
			}
		}
	}
	for _, was := range r.layers {
		for _, name := range was.ignored {
			look(name)
		}
	}
	if in := r.installed; in != nil && in.has != nil {
		for i := range in.has.files {
			if name, tree := strings.CutPrefix(in.has.files[i].Path, "tree/"); tree && !r.now.has(name) {
				look(name)
			}
		}
	}
	return names
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// covers adds the paths at which a layer hides what lies below it.
func (l *layer) covers(list map[string]bool) {
	for i := range l.files {
		if l.files[i].Kind != workspace.Repository {
			list[l.files[i].Path] = true
		}
	}
	for _, name := range l.opaque {
		list[name] = true
	}
}

// leftIgnored returns the ignored files that commands see of layers, that of a new one among them.
func (r *Room) leftIgnored(newest *layer) iter.Seq[string] {
	return func(yield func(string) bool) {
		hidden := make(map[string]bool)
		for _, l := range append([]*layer{newest}, r.layers...) {
			ignored := setOf(l.ignored)
			for i := range l.files {
				f := &l.files[i]
				if f.Kind == workspace.Special || f.Kind == workspace.Repository || !ignored[f.Path] {
					continue
				}
				at := f.Path
				for at != "" && !hidden[at] {
					at, _ = split(at)
				}
				if at == "" && !yield(f.Path) {
					return
				}
			}
			l.covers(hidden)
		}
	}
}

// left names what lowers the claim of a command that sees what lines before it left: ignored files are as good as the files that the
// line ran on, and say nothing of these where those were others.
func (r *Room) left() (names []string) {
	var other []string
	for _, l := range r.layers {
		if len(l.ignored) == 0 {
			continue
		}
		for _, name := range l.lowered {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		const most = 2
		for _, by := range l.rests {
			names = append(names, some(slices.Compact(slices.Sorted(slices.Values(l.ignored))), most)+", left by an earlier line of "+by)
		}
		if !l.of.Same(r.snapshot) {
			other = append(other, l.ignored...)
		}
	}
	if len(other) > 0 {
		slices.Sort(other)
		const most = 2
		names = append(names, some(slices.Compact(other), most)+", left by an earlier line that ran on other files")
	}
	return names
}

// prune removes directories that the files of the snapshot next are not in any more, and in which nothing else is: a clone has no empty directory.
func (l *layer) prune(r *Room, next *checkout) error {
	var gone []string
	for name := range r.now.dirs {
		parent, _ := split(name)
		_, there := next.dirs[name]
		_, above := next.dirs[parent]
		if !there && above && !next.has(name) && !l.in(name) && !r.beside(name) {
			gone = append(gone, name)
		}
	}
	for _, name := range gone {
		below := func(other string) bool { return other == name || strings.HasPrefix(other, name+"/") }
		l.files = slices.DeleteFunc(l.files, func(f workspace.File) bool { return below(f.Path) })
		l.opaque = slices.DeleteFunc(l.opaque, below)
		if err := l.mark(name); err != nil {
			return err
		}
	}
	return nil
}

// seal ends what is written of a layer. Its files that count, and its directories, get the time when, unless that is 0.
func (l *layer) seal(when int64) error {
	slices.SortFunc(l.files, func(a, b workspace.File) int { return strings.Compare(a.Path, b.Path) })
	l.files = slices.CompactFunc(l.files, func(a, b workspace.File) bool { return a.Path == b.Path })
	l.has = newCheckout(l.dir, l.files)
	l.has.opaque = l.opaque
	for name := range l.has.dirs {
		if err := os.Chmod(l.has.at(name), 0o755); err != nil { // whatever the umask
			return err
		}
	}
	for _, name := range l.modes {
		if i, ok := slices.BinarySearchFunc(l.files, name, func(f workspace.File, name string) int { return strings.Compare(f.Path, name) }); ok {
			if err := os.Chmod(l.has.at(name), os.FileMode(mode(l.files[i].Kind)&0o777)); err != nil {
				return err
			}
		}
	}
	if when == 0 {
		return nil
	}
	ignored := setOf(l.ignored)
	for i := range l.files {
		if f := &l.files[i]; f.Kind != workspace.Special && !ignored[f.Path] {
			if err := setTime(l.has.at(f.Path), when); err != nil {
				return err
			}
		}
	}
	l.has.when = when
	return l.has.settle()
}

// outdate has the ignored files of a layer be older than all that counts: it has changed since, and make has to make them again.
func (l *layer) outdate(when int64) error {
	for _, name := range l.ignored {
		if err := setTime(l.has.at(name), when-1); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// differs returns what is not as the line left it.
func (l *layer) differs(ctx context.Context) ([]string, error) {
	names, err := l.has.differs(ctx)
	for _, name := range l.opaque {
		value := make([]byte, 8)
		if n, e := unix.Lgetxattr(l.has.at(name), overlay.OpaqueName, value); e != nil || string(value[:n]) != "y" {
			names = append(names, name)
		}
	}
	return names, err
}

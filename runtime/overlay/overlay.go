// Package overlay reads what an overlay of directories shows, without mounting it: directories in their order and what is mounted
// over them come in, files by their paths go out. Who wrote what is in them may be hostile, and may still write:
//
//   - Everything is opened below the directories that came in. No link leads out of the tree; one that would, an absolute one among them, leads nowhere.
//   - Nothing waits: a FIFO, a socket or a device is listed, and never opened.
//   - A path is at most as long as the kernel allows, and has at most as many links.
//
// It follows the rules of the kernel for a mount with userxattr: of two entries with one name the upper one counts, directories are
// merged unless the upper one has the mark [Opaque], and a character device 0/0 hides what is below it. It writes nothing.
package overlay

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/command-dialect/dialect/lang/regular"
)

// maxPath bounds a path, in bytes.
const maxPath = 4096

var (
	errLeaves = errors.New("it leads out of the tree")
	errLinks  = errors.New("too many links")
	errLong   = errors.New("its path is too long")
)

// chunk is how many entries of a directory are read at once.
const chunk = 1024

// Files are the files of a tree. Paths are relative to its root and have slashes, on every system. *[Tree] and [Dir] are two.
type Files interface {
	Lstat(name string) (fs.FileInfo, error)
	Stat(name string) (fs.FileInfo, error)
	Readlink(name string) (string, error)
	// ReadDir calls each with the entries of a directory, some at a time and in no order, until it fails.
	ReadDir(name string, each func([]fs.DirEntry) error) error
	// Open opens a regular file, and fails with [regular.ErrKind] for any other.
	Open(name string) (*os.File, error)
}

// A Dir is one directory as it is.
type Dir struct{ *os.Root }

// ReadDir is that of [Files].
func (d Dir) ReadDir(name string, each func([]fs.DirEntry) error) error {
	f, err := openDir(d.Root, name)
	if err != nil {
		return err
	}
	defer f.Close()
	return entries(f, each)
}

// Open is that of [Files].
func (d Dir) Open(name string) (*os.File, error) { return openFile(d.Root, name) }

// open opens what is at a path of root, and waits for nothing. The mode is of what was opened.
func open(root *os.Root, name string) (*os.File, fs.FileMode, error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Mode(), nil
}

func openDir(root *os.Root, name string) (*os.File, error) {
	f, mode, err := open(root, name)
	if err == nil && !mode.IsDir() {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	return f, err
}

func openFile(root *os.Root, name string) (*os.File, error) {
	f, mode, err := open(root, name)
	if err == nil && !mode.IsRegular() {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: regular.ErrKind}
	}
	return f, err
}

func entries(f *os.File, each func([]fs.DirEntry) error) error {
	for {
		list, err := f.ReadDir(chunk)
		if e := each(list); e != nil {
			return e
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// A Mount is what is seen at a path instead of what the layers have there.
type Mount struct {
	At     string   // from the root of the tree, with slashes
	Layers []string // the uppermost first; a file, or one directory, alone, or directories
}

// A Tree is what layers show. It is not for use by several goroutines at once.
type Tree struct {
	top    *node
	mounts map[string]*entry
	known  map[string]*node
	opened []*os.Root
}

// A node is a directory of a tree.
type node struct {
	info fs.FileInfo // of the uppermost
	in   []spot      // the uppermost first
}

// A spot is a path below an open directory.
type spot struct {
	root *os.Root
	name string
}

// An entry is what a directory has under a name: a node for a directory.
type entry struct {
	info fs.FileInfo
	at   spot
	dir  *node
}

// New returns the tree of layers, the uppermost first.
func New(layers []string, mounts ...Mount) (_ *Tree, err error) {
	t := &Tree{mounts: make(map[string]*entry), known: make(map[string]*node)}
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	top, err := t.layers(layers)
	if err != nil {
		return nil, err
	}
	if t.top = top.dir; t.top == nil {
		return nil, &fs.PathError{Op: "open", Path: layers[0], Err: syscall.ENOTDIR}
	}
	for _, m := range mounts {
		e, err := t.layers(m.Layers)
		if err != nil {
			return nil, err
		}
		t.mounts[path.Clean(m.At)] = e
	}
	return t, nil
}

// layers opens directories that are one, or a file.
func (t *Tree) layers(names []string) (*entry, error) {
	e := &entry{}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		dir, base := name, "."
		if !info.IsDir() {
			dir, base = filepath.Split(name)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		t.opened = append(t.opened, root)
		if e.info == nil {
			e.info, e.at = info, spot{root, base}
		}
		if !info.IsDir() {
			break
		}
		if e.dir == nil {
			e.dir = &node{info: info}
		}
		e.dir.in = append(e.dir.in, spot{root, base})
	}
	return e, nil
}

// Below is what is below a directory of the tree, whose links may lead to all of it.
func (t *Tree) Below(dir string) Files { return below{t, dir} }

type below struct {
	tree *Tree
	dir  string
}

func (b below) Lstat(name string) (fs.FileInfo, error) { return b.tree.Lstat(path.Join(b.dir, name)) }
func (b below) Stat(name string) (fs.FileInfo, error)  { return b.tree.Stat(path.Join(b.dir, name)) }
func (b below) Readlink(name string) (string, error)   { return b.tree.Readlink(path.Join(b.dir, name)) }
func (b below) Open(name string) (*os.File, error)     { return b.tree.Open(path.Join(b.dir, name)) }
func (b below) ReadDir(name string, each func([]fs.DirEntry) error) error {
	return b.tree.ReadDir(path.Join(b.dir, name), each)
}

// Close closes the directories of the tree.
func (t *Tree) Close() {
	for _, r := range t.opened {
		r.Close()
	}
}

// above reports whether something is mounted below a path.
func (t *Tree) above(name string) bool {
	for at := range t.mounts {
		if strings.HasPrefix(at, name+"/") {
			return true
		}
	}
	return false
}

// entry returns what the directory dir at the path in has under a name, which no link is followed for.
func (t *Tree) entry(dir *node, in, base string) (*entry, error) {
	full := path.Join(in, base)
	if e := t.mounts[full]; e != nil {
		return e, nil
	}
	if n := t.known[full]; n != nil {
		return &entry{info: n.info, dir: n}, nil
	}
	var found *node
	for i, s := range dir.in {
		at := spot{s.root, path.Join(s.name, base)}
		info, err := at.root.Lstat(filepath.FromSlash(at.name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		switch {
		case err != nil:
			return nil, err
		case !info.IsDir() && found == nil && !removed(info):
			return &entry{info: info, at: at}, nil
		}
		if !info.IsDir() {
			break // it hides what is below
		}
		if found == nil {
			found = &node{info: info}
		}
		found.in = append(found.in, at)
		if i+1 == len(dir.in) {
			break
		}
		hides, err := hides(at)
		if err != nil {
			return nil, err
		}
		if hides {
			break
		}
	}
	if found == nil {
		if !t.above(full) {
			return nil, fs.ErrNotExist
		}
		found = &node{info: between{}}
	}
	t.known[full] = found
	return &entry{info: found.info, dir: found}, nil
}

// hides reports whether a directory hides what the layers below have in its place.
func hides(at spot) (bool, error) {
	f, err := openDir(at.root, at.name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return Opaque(f), nil
}

// find returns what is at a path; follow says whether a link at its end is followed.
func (t *Tree) find(name string, follow bool) (full string, e *entry, err error) {
	fail := func(err error) (string, *entry, error) {
		return "", nil, &fs.PathError{Op: "find", Path: name, Err: err}
	}
	if len(name) > maxPath {
		return fail(errLong)
	}
	full, e = ".", &entry{info: t.top.info, dir: t.top}
	way := regular.NewWay(name)
	var above []*entry // of full, from the top
	for base := way.Next(); base != ""; base = way.Next() {
		if base == ".." {
			if len(above) == 0 {
				return fail(errLeaves)
			}
			full, e = path.Dir(full), above[len(above)-1]
			above = above[:len(above)-1]
			continue
		}
		if e.dir == nil {
			return fail(fs.ErrNotExist)
		}
		next, err := t.entry(e.dir, full, base)
		if err != nil {
			return fail(err)
		}
		if next.info.Mode()&fs.ModeSymlink != 0 && (follow || way.More()) {
			target, err := next.at.root.Readlink(filepath.FromSlash(next.at.name))
			switch {
			case err != nil:
				return fail(err)
			case !way.Follow(filepath.ToSlash(target)):
				return fail(errLinks)
			case path.IsAbs(target) || filepath.IsAbs(target):
				return fail(errLeaves)
			}
			continue
		}
		above = append(above, e)
		if full, e = path.Join(full, base), next; len(full) > maxPath {
			return fail(errLong)
		}
	}
	return full, e, nil
}

func (t *Tree) stat(name string, follow bool) (fs.FileInfo, error) {
	full, e, err := t.find(name, follow)
	if err != nil {
		return nil, err
	}
	return named{e.info, path.Base(full)}, nil
}

// Lstat is that of [Files].
func (t *Tree) Lstat(name string) (fs.FileInfo, error) { return t.stat(name, false) }

// Stat is that of [Files].
func (t *Tree) Stat(name string) (fs.FileInfo, error) { return t.stat(name, true) }

// Readlink is that of [Files].
func (t *Tree) Readlink(name string) (string, error) {
	_, e, err := t.find(name, false)
	switch {
	case err != nil:
		return "", err
	case e.info.Mode()&fs.ModeSymlink == 0:
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return e.at.root.Readlink(filepath.FromSlash(e.at.name))
}

// Open is that of [Files].
func (t *Tree) Open(name string) (*os.File, error) {
	_, e, err := t.find(name, true)
	switch {
	case err != nil:
		return nil, err
	case e.dir != nil || !e.info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "open", Path: name, Err: regular.ErrKind}
	}
	return openFile(e.at.root, e.at.name)
}

// ReadDir is that of [Files].
func (t *Tree) ReadDir(name string, each func([]fs.DirEntry) error) error {
	full, e, err := t.find(name, true)
	if err != nil {
		return err
	}
	if e.dir == nil {
		return &fs.PathError{Op: "readdir", Path: name, Err: syscall.ENOTDIR}
	}
	seen := make(map[string]bool)
	var mounted []fs.DirEntry
	for at, m := range t.mounts {
		rest := at
		if full != "." {
			var in bool
			if rest, in = strings.CutPrefix(at, full+"/"); !in {
				continue
			}
		}
		base, _, below := strings.Cut(rest, "/")
		switch {
		case !below:
			seen[base] = true
			mounted = append(mounted, fs.FileInfoToDirEntry(named{m.info, base}))
		case !seen[base]:
			if e, err := t.entry(e.dir, full, base); err == nil {
				seen[base] = true
				mounted = append(mounted, fs.FileInfoToDirEntry(named{e.info, base}))
			}
		}
	}
	if err := each(mounted); err != nil {
		return err
	}
	for _, s := range e.dir.in {
		f, err := openDir(s.root, s.name)
		if err != nil {
			return err
		}
		err = entries(f, func(list []fs.DirEntry) error {
			list = slices.DeleteFunc(list, func(d fs.DirEntry) bool {
				was := seen[d.Name()]
				seen[d.Name()] = true
				if was || d.Type()&fs.ModeCharDevice == 0 {
					return was
				}
				info, err := s.root.Lstat(filepath.FromSlash(path.Join(s.name, d.Name())))
				return err != nil || removed(info)
			})
			return each(list)
		})
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// named is what is known of a file, under the name that the tree has for it.
type named struct {
	fs.FileInfo
	name string
}

func (n named) Name() string { return n.name }

// between is a directory that is there since something is mounted below it.
type between struct{}

func (between) Name() string       { return "" }
func (between) Size() int64        { return 0 }
func (between) Mode() fs.FileMode  { return fs.ModeDir | 0o755 }
func (between) ModTime() time.Time { return time.Time{} }
func (between) IsDir() bool        { return true }
func (between) Sys() any           { return nil }

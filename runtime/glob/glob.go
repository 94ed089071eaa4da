// Package glob expands a pattern of paths over a tree that somebody else may have made. In come a directory and a pattern; out
// come the files and directories that it matches, in the order of their names. It opens no file and judges nothing.
//
// A pattern has slashes. Its components are matched one by one, as [path.Match] does; each stands for exactly one name, and
// links are followed, as a shell follows them. Neither a tree that leads back into itself nor one of many names makes an
// expansion long:
//
//   - A directory is looked through once for each component of the pattern, under the first of its names: what further names
//     of it lead to are the same files. So at most one directory for each that there is goes on to the next component, and a
//     folder of links to itself costs one look at each link, not a power of them.
//   - A file is named once, under the first of its names.
//   - Bounds end it, and so does its context.
//
// Where the system does not number files (Windows) a directory can be met under several names; the bounds hold there, too.
package glob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/command-dialect/dialect/runtime/place"
)

// Bounds of one expansion.
const (
	MaxSeen  = 500_000 // names that are looked at
	MaxFiles = 20_000  // files that match
)

// ErrTooLarge means that an expansion went beyond the bounds of this package.
var ErrTooLarge = errors.New("too many files")

// A File is a file or directory that a pattern matches.
type File struct {
	Name string // the directory that was asked about and the rest, with the separators of the system
	Info fs.FileInfo
}

// Files are those of a tree, by paths from its root, with slashes.
type Files interface {
	Stat(name string) (fs.FileInfo, error)
	// ReadDir calls each with the entries of a directory, some at a time, until it fails.
	ReadDir(name string, each func([]fs.DirEntry) error) error
}

// Expand returns the files and directories of the machine that match pattern, an absolute path or one that begins at dir. A directory that
// cannot be read has none, as a shell has it. The error is that pattern is malformed, that there are too many names ([ErrTooLarge]), or that
// of ctx.
func Expand(ctx context.Context, dir, pattern string) ([]File, error) {
	if filepath.IsAbs(pattern) {
		dir = filepath.VolumeName(pattern) + string(filepath.Separator)
		pattern = pattern[len(filepath.VolumeName(pattern)):]
	}
	return expand(ctx, machine{}, filepath.Join, dir, pattern)
}

// In is Expand for the files of a tree: dir, pattern and the names that it returns are paths in it.
func In(ctx context.Context, files Files, dir, pattern string) ([]File, error) {
	return expand(ctx, files, path.Join, dir, pattern)
}

func expand(ctx context.Context, files Files, join func(...string) string, dir, pattern string) ([]File, error) {
	parts := strings.Split(strings.TrimPrefix(path.Clean(filepath.ToSlash(pattern)), "/"), "/")
	for _, p := range parts {
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("%q: %w", pattern, err)
		}
	}
	x := expansion{ctx: ctx, files: files, join: join, left: MaxSeen, most: MaxFiles}
	at := []File{{Name: dir}}
	for i, part := range parts {
		var err error
		if at, err = x.next(at, part, i+1 == len(parts)); err != nil {
			return nil, err
		}
	}
	return at, nil
}

type expansion struct {
	ctx   context.Context
	files Files
	join  func(...string) string // for paths of files
	left  int                    // names that may still be looked at
	most  int                    // files that may match
}

// next returns what the directories at have under names that part matches: directories alone if part is not the last.
func (x *expansion) next(at []File, part string, last bool) (found []File, err error) {
	type key struct {
		id         place.ID
		size, time int64 // where a network's file system numbers files anew, two that differ are two
	}
	known := make(map[key]bool)
	take := func(name string) error {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		info, err := x.files.Stat(name)
		if err != nil || !last && !info.IsDir() {
			return nil
		}
		if id, ok := place.Identity(info); ok {
			k := key{id, info.Size(), info.ModTime().UnixNano()}
			if known[k] {
				return nil
			}
			known[k] = true
		}
		if found = append(found, File{name, info}); last && len(found) > x.most {
			return fmt.Errorf("%w: the pattern matches more than %d", ErrTooLarge, x.most)
		}
		return nil
	}
	for _, dir := range at {
		if part == ".." || !strings.ContainsAny(part, `*?[\`) {
			err := x.see(1)
			if err == nil {
				err = take(x.join(dir.Name, part))
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		names, err := x.names(dir.Name, part)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if err := take(x.join(dir.Name, name)); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// names returns the names in a directory that part matches, sorted.
func (x *expansion) names(dir, part string) (names []string, err error) {
	var stop error
	_ = x.files.ReadDir(dir, func(list []fs.DirEntry) error {
		if stop = x.see(len(list)); stop != nil {
			return stop
		}
		for _, d := range list {
			if ok, _ := path.Match(part, d.Name()); ok { // the pattern was checked
				names = append(names, d.Name())
			}
		}
		return nil
	}) // what cannot be read has no more
	slices.Sort(names)
	return names, stop
}

// see counts n names that are looked at.
func (x *expansion) see(n int) error {
	if x.left -= n; x.left < 0 {
		return fmt.Errorf("%w: the pattern looks at more than %d names", ErrTooLarge, MaxSeen)
	}
	return x.ctx.Err()
}

// machine has the files of this machine, by paths of the system.
type machine struct{}

func (machine) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

func (machine) ReadDir(name string, each func([]fs.DirEntry) error) error {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO that took its place would wait for a writer
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		list, err := f.ReadDir(1024)
		if e := each(list); e != nil {
			return e
		}
		if err != nil { // the end, or what cannot be read
			return err
		}
	}
}

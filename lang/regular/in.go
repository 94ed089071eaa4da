package regular

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// In returns the paths below dir whose rest matches a pattern of [path.Match], with slashes, sorted. Only the pattern is one:
// what the name of dir has of its characters stands for itself.
func In(dir, pattern string) []string {
	list, _ := fs.Glob(os.DirFS(dir), pattern) // the patterns are good
	for i, name := range list {
		list[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return list
}

// ReadIn is [Read] for a file below the folder dir, from which no link leads out. Nothing is read of one that does not say how large it is, as
// those of /proc do not.
func ReadIn(dir, name string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if info, err := root.Stat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() { // opening a device can do something
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrKind}
	}
	f, err := root.OpenFile(name, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrKind}
	case info.Size() > limit:
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has more than %d bytes", limit)}
	}
	return io.ReadAll(io.LimitReader(f, info.Size()))
}

//go:build unix

package cleanroom

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/workspace"
)

// The files that a command left are read below one open directory: a process that still has a descriptor of a part of them can replace a directory
// by a link during the read, and that link must not lead to files that only this process can read. Each file is read once: its digest is that of the copy.

// openDir opens a directory of what a command left, and lists it, sorted by name.
func openDir(root *os.Root, name string) (*os.File, []fs.DirEntry, error) {
	open := func() (*os.File, error) {
		return root.OpenFile(cmp.Or(filepath.FromSlash(name), "."), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	}
	f, err := open()
	if errors.Is(err, fs.ErrPermission) && changeMode(root, name, 0o700) {
		f, err = open()
	}
	if err != nil {
		return nil, nil, err
	}
	list, err := f.ReadDir(-1)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return f, list, nil
}

// openLeft opens a regular file of what a command left, whatever its mode.
func openLeft(root *os.Root, name string) (*os.File, unix.Stat_t, error) {
	f, st, err := openRegular(root, name)
	if errors.Is(err, fs.ErrPermission) && changeMode(root, name, 0o600) {
		f, st, err = openRegular(root, name)
	}
	return f, st, err
}

// openRegular opens a regular file, and waits for no other.
func openRegular(root *os.Root, name string) (*os.File, unix.Stat_t, error) {
	var st unix.Stat_t
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, st, err
	}
	if err = unix.Fstat(int(f.Fd()), &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("it is not a regular file any more")}
	}
	if err != nil {
		f.Close()
		return nil, st, err
	}
	return f, st, nil
}

// changeMode changes the mode of a file or directory, never through a link. It is gone soon.
func changeMode(root *os.Root, name string, mode fs.FileMode) bool {
	name = cmp.Or(filepath.FromSlash(name), ".")
	info, err := root.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink == 0 && root.Chmod(name, mode) == nil
}

// copyOut copies a file or link of what a command left to a path where nothing is, with the mode of a clone, and notes in f what it is.
func copyOut(ctx context.Context, root *os.Root, name, to string, f *workspace.File, buf []byte) error {
	if f.Kind == workspace.Link {
		target, err := root.Readlink(filepath.FromSlash(name))
		if err != nil {
			return err
		}
		f.Target, f.SHA256 = target, sha256.Sum256([]byte(target))
		return os.Symlink(target, to)
	}
	from, st, err := openLeft(root, name)
	if err != nil {
		return err
	}
	defer from.Close()
	f.Kind, f.Size = workspace.Regular, st.Size
	if st.Mode&0o100 != 0 {
		f.Kind = workspace.Executable
	}
	fd, err := unix.Open(to, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return &fs.PathError{Op: "open", Path: to, Err: err}
	}
	sum, n, err := copyTo(ctx, fd, int(from.Fd()), f.Size, buf)
	if err == nil && n != f.Size {
		err = errors.New("it changed while it was copied")
	}
	if err == nil {
		err = unix.Fchmod(fd, mode(f.Kind)&0o777)
	}
	if e := unix.Close(fd); err == nil {
		err = e
	}
	if f.SHA256 = sum; err != nil {
		return &fs.PathError{Op: "copy", Path: name, Err: err}
	}
	return nil
}

// unchanged reports whether what a command left at a path of root is what the snapshot has there, or the snapshot has nothing there.
func (c *checkout) unchanged(ctx context.Context, root *os.Root, name string) (bool, error) {
	f := c.file(name)
	if f == nil {
		return true, nil
	}
	return holdsFile(ctx, root, name, f, openLeft)
}

type opener func(root *os.Root, name string) (*os.File, unix.Stat_t, error)

// holdsFile reports whether what is at a path of root is f, which open opens.
func holdsFile(ctx context.Context, root *os.Root, at string, f *workspace.File, open opener) (bool, error) {
	info, err := root.Lstat(filepath.FromSlash(at))
	if err != nil {
		return false, err
	}
	if f.Kind == workspace.Link {
		target, err := root.Readlink(filepath.FromSlash(at))
		return err == nil && target == f.Target, nil
	}
	// To a snapshot a mode is the executable bit of the owner.
	if !info.Mode().IsRegular() || info.Size() != f.Size || (info.Mode()&0o100 != 0) != (f.Kind == workspace.Executable) {
		return false, nil
	}
	from, _, err := open(root, at)
	if err != nil {
		return false, err
	}
	defer from.Close()
	sum, n, err := copyTo(ctx, -1, int(from.Fd()), f.Size, make([]byte, 32<<10))
	return n == f.Size && sum == f.SHA256, err
}

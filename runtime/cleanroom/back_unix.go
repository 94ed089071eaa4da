//go:build unix

package cleanroom

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A partError says that changes were made in part.
type partError struct {
	done, all int
	name      string
	err       error
}

func (e *partError) Error() string {
	return fmt.Sprintf("what a line wrote was brought back only in part, %d of %d files: %s: %v", e.done, e.all, e.name, e.err)
}

func (e *partError) Unwrap() error { return e.err }

var errEdited = errors.New("it was edited at this moment")

// BringBack makes the files in names of the tree that a snapshot is of those that from returns the paths of, all of them or, if the first
// look finds that one of them is not what the snapshot has there any more, none. A name for which from returns "" is removed.
func BringBack(ctx context.Context, s *workspace.Snapshot, from func(name string) string, names []string) error {
	live, err := s.Open()
	if err != nil {
		return err
	}
	defer live.Close()
	return newCheckout(s.Root, slices.Collect(s.Checkout(git.FormatSHA1))).bringBack(ctx, live, from, names)
}

// Below returns, for [BringBack], the files of a folder, such as an upper layer: what is neither a file nor a link in it is removed.
func Below(dir string) func(name string) string {
	return func(name string) string {
		file := filepath.Join(dir, filepath.FromSlash(name))
		st, err := lstat(file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG && st.Mode&unix.S_IFMT != unix.S_IFLNK {
			return ""
		}
		return file
	}
}

// bringBack makes changes in the tree live, whose files before are those of the checkout; see [BringBack].
func (c *checkout) bringBack(ctx context.Context, live *os.Root, from func(name string) string, names []string) error {
	ordered := slices.Clone(names)
	slices.Sort(ordered)
	goes := make(map[string]bool)
	for _, name := range ordered {
		if from(name) == "" {
			goes[name] = true
		}
	}
	// Removals come last, so that a moved file is in its new place before the old one goes, even if this is interrupted. Only a file that is in the way of
	// a new one goes first: below a folder that the new one replaces, in the place of its folder, or under a name that a file system may take for one of these.
	first, comes, above := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, name := range ordered {
		if !goes[name] {
			at := strings.ToLower(name)
			for comes[at] = true; at != ""; {
				at, _ = split(at)
				above[at] = true
			}
		}
	}
	for name := range goes {
		at := strings.ToLower(name)
		for first[name] = above[at]; at != "" && !first[name]; at, _ = split(at) {
			first[name] = comes[at]
		}
	}
	rank := func(name string) int {
		switch {
		case first[name]:
			return 0
		case goes[name]:
			return 2
		}
		return 1
	}
	slices.SortStableFunc(ordered, func(a, b string) int { return rank(a) - rank(b) })
	names = ordered
	var edited, inWay []string
	for _, name := range names {
		ok, way, err := c.untouched(ctx, live, name, goes)
		switch {
		case err != nil:
			return err
		case way != "" && !slices.Contains(inWay, way):
			inWay = append(inWay, way)
		case !ok && way == "":
			edited = append(edited, name)
		}
	}
	var why []string
	if len(edited) > 0 {
		why = append(why, "the working tree was edited meanwhile: "+list(edited))
	}
	if n := len(inWay); n == 1 {
		why = append(why, list(inWay)+" is in the way, which is not in the snapshot (git ignores it, or it was made meanwhile): move it away, and run the line again")
	} else if n > 1 {
		why = append(why, list(inWay)+" are in the way, which are not in the snapshot (git ignores them, or they were made meanwhile): move them away, and run the line again")
	}
	if len(why) > 0 {
		return errors.New("what it wrote is not brought back, since " + strings.Join(why, "; "))
	}
	for i, name := range names {
		var err error
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if ok := false; err == nil {
			if ok, _, err = c.untouched(ctx, live, name, goes); err == nil && !ok {
				err = errEdited
			}
		}
		if err == nil {
			err = c.writeBack(ctx, live, from(name), name)
		}
		if err != nil {
			return &partError{i, len(names), name, err}
		}
	}
	return nil
}

// untouched reports whether the tree live has at a path what the snapshot has there, or nothing: also where that is a folder all of
// whose files are among those that go. Where it has a file that the snapshot does not have, inWay is its name.
func (c *checkout) untouched(ctx context.Context, live *os.Root, name string, goes map[string]bool) (ok bool, inWay string, err error) {
	if c.has(name) {
		ok, err = c.isThere(ctx, live, name)
		return ok, "", err
	}
	info, err := live.Lstat(filepath.FromSlash(name))
	switch {
	case err == nil && info.IsDir() && !goes[name]:
		inWay, err = notGoing(ctx, live, name, goes)
		return inWay == "", inWay, err
	case err == nil:
		return false, name, nil
	case errors.Is(err, fs.ErrNotExist):
		return true, "", nil
	case errors.Is(err, unix.ENOTDIR): // below a file of the snapshot, which the command replaced by a directory
		parent, _ := split(name)
		for parent != "" && !c.has(parent) {
			if info, err := live.Lstat(filepath.FromSlash(parent)); err == nil && !info.IsDir() {
				return false, parent, nil
			}
			parent, _ = split(parent)
		}
		if parent == "" {
			return false, "", nil
		}
		ok, err = c.isThere(ctx, live, parent)
		return ok, "", err
	}
	return false, "", err
}

// isThere reports whether the tree live has the snapshot's file of a name, of which there is one.
func (c *checkout) isThere(ctx context.Context, live *os.Root, name string) (bool, error) {
	ok, err := c.old(ctx, live, name)(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return false, nil
	}
	return ok, err
}

// notGoing returns the first file of a folder that is not among those that go; empty for none.
func notGoing(ctx context.Context, live *os.Root, dir string, goes map[string]bool) (stays string, err error) {
	err = fs.WalkDir(live.FS(), dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !e.IsDir() && !goes[name]:
			stays = name
			return fs.SkipAll
		}
		return nil
	})
	return stays, err
}

// removeFolders removes a folder in which nothing is but folders.
func removeFolders(live *os.Root, dir string) error {
	var all []string
	err := fs.WalkDir(live.FS(), dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			all = append(all, name)
		}
		return err
	})
	for _, name := range slices.Backward(all) {
		if err == nil {
			err = live.Remove(name)
		}
	}
	return err
}

// isOld reports whether the file at a path of the working tree still has the content that the snapshot has for one name; the path may be
// another name's. It is nil for a name without a file in the snapshot.
type isOld func(at string) (bool, error)

// old returns the isOld of a name.
func (c *checkout) old(ctx context.Context, live *os.Root, name string) isOld {
	f := c.file(name)
	if f == nil {
		return nil
	}
	return func(at string) (bool, error) { return holdsFile(ctx, live, at, f, openRegular) }
}

// beside returns a name in the folder of name that nothing has.
func beside(name string) string {
	dir, base := split(name)
	return strings.TrimPrefix(fmt.Sprintf("%s/.%.200s.dialect-back-%08x", dir, base, rand.Uint32()), "/")
}

// writeBack gives a name of the working tree the file from, or removes it where that is empty. The new file takes its place whole. The old
// one is looked at after it was moved away, so that an edit that was saved until then is seen, and stays.
func (c *checkout) writeBack(ctx context.Context, live *os.Root, from, name string) error {
	gone := from == ""
	old := c.old(ctx, live, name)
	dir, _ := split(name)
	temp := beside(name)
	switch {
	case gone && old == nil: // what is there now was made at this moment
		return nil
	case gone:
		if err := takeAway(live, temp, name, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for dir, _ := split(name); dir != "" && live.Remove(dir) == nil; dir, _ = split(dir) { // empty directories are in no snapshot
		}
		return nil
	}
	st, err := lstat(from)
	if err != nil {
		return err
	}
	if dir != "" {
		if info, err := live.Lstat(dir); err == nil && !info.IsDir() {
			file := c.old(ctx, live, dir)
			if file == nil {
				return errEdited
			}
			if err := takeAway(live, beside(dir), dir, file); err != nil {
				return err
			}
		}
		if err := live.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if info, err := live.Lstat(name); err == nil && info.IsDir() {
		if err := removeFolders(live, name); err != nil { // its files went before it
			return err
		}
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		target, err := os.Readlink(from)
		if err == nil {
			err = live.Symlink(target, temp)
		}
		return settle(live, temp, name, old, err)
	}
	mode := os.FileMode(st.Mode & 0o777)
	var was *os.File                                                          // whose place it takes; nil for none
	if info, err := live.Lstat(name); err == nil && info.Mode().IsRegular() { // a private file stays one
		mode = info.Mode().Perm() &^ 0o111
		if st.Mode&0o100 != 0 {
			mode |= mode & 0o444 >> 2
		}
		switch was, err = live.OpenFile(name, os.O_RDONLY|regular.OwnFlags, 0); {
		case errors.Is(err, fs.ErrNotExist):
			return errEdited
		case err != nil:
			return err
		}
		defer was.Close()
	}
	fd, err := openFile(from)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	to, err := live.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, n, err := copyTo(ctx, int(to.Fd()), fd, st.Size, make([]byte, 64<<10))
	if err == nil && n != st.Size {
		err = errors.New("it changed while it was copied")
	}
	if was != nil {
		err = errors.Join(err, regular.Inherit(to, was, mode))
	} else {
		err = errors.Join(err, to.Chmod(mode))
	}
	return settle(live, temp, name, old, errors.Join(err, to.Close()))
}

// settle gives what was written at temp its name. Where that fails, or err says that it was not written, nothing of it is left.
func settle(live *os.Root, temp, name string, old isOld, err error) error {
	ours, serr := live.Lstat(temp)
	if err == nil && serr == nil {
		err = swapIn(live, temp, name, old)
	}
	if err == nil {
		return serr
	}
	if info, e := live.Lstat(temp); e == nil && serr == nil && !os.SameFile(ours, info) {
		return fmt.Errorf("%w; what was there is %s", err, temp)
	}
	_ = live.Remove(temp)
	return err
}

// takeAway removes the file of a name if it is the old one. It is moved to temp before it is looked at: nobody writes there.
func takeAway(live *os.Root, temp, name string, old isOld) error {
	if err := live.Rename(name, temp); err != nil {
		return err
	}
	ok, err := old(temp)
	if err == nil && ok {
		return live.Remove(temp)
	}
	if perr := swapIn(live, temp, name, nil); perr != nil {
		return fmt.Errorf("%w; it is %s", errEdited, temp)
	}
	return errors.Join(err, errEdited)
}

// replace is swapIn where the system cannot exchange two files. It looks right before the rename: an edit in between is lost.
func replace(live *os.Root, temp, name string, old isOld) error {
	ok, err := false, error(nil)
	if old != nil {
		ok, err = old(name)
	} else {
		_, err = live.Lstat(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		ok, err = old == nil, nil
	}
	if err == nil && !ok {
		err = errEdited
	}
	if err != nil {
		return err
	}
	return live.Rename(temp, name)
}

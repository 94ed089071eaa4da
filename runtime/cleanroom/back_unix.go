//go:build unix

package cleanroom

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// All changes are made or none. What a change takes the place of is kept beside it, as .NAME.dialect-back-NUMBER, until the last one is made,
// and is back in its place where one fails. So a run that is killed meanwhile leaves such names: each has a file or folder that was NAME, or,
// where NAME has that still, a new one that was on its way.

// A partError says that a part of the changes is left, or of what they took the place of.
type partError struct{ error }

func (e *partError) Unwrap() error { return e.error }

var errEdited = errors.New("it was edited at this moment")

// BringBack makes the files in names of the tree that a snapshot is of those that from returns the paths of, all of them or, where one of
// them is not what the snapshot has there any more or cannot be made, none. A name for which from returns "" is removed.
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
	b := &backing{checkout: c, live: live, swap: swapIn}
	return b.all(ctx, from, names)
}

// A backing is what was changed so far in the tree live.
type backing struct {
	*checkout
	live *os.Root
	swap swapper
	goes map[string]bool // the names, and whether each is removed
	done []*step
}

// A step is one change.
type step struct {
	name string
	temp string      // what had the name is kept there; empty for a folder that was made
	ours fs.FileInfo // what is to have the name; nil for nothing
	kept []entry     // what was looked at of what is kept, a folder before what is in it
}

// An entry is something that is kept, under the name of that of its step and what follows.
type entry struct {
	follows string
	info    fs.FileInfo
}

// same reports whether nobody wrote to a file, or put another one in its place.
func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// all makes the changes, or none.
func (b *backing) all(ctx context.Context, from func(name string) string, names []string) error {
	live := b.live
	ordered := slices.Clone(names)
	slices.Sort(ordered)
	goes := make(map[string]bool)
	for _, name := range ordered {
		goes[name] = from(name) == ""
	}
	b.goes = goes
	// Removals come last, so that a moved file is in its new place before the old one goes, and a reader of the tree meanwhile finds it. Only a file that is
	// in the way of a new one goes first: in the place of its folder, or under a name that a file system may take for one of these. What is in a folder that
	// a new file replaces goes with it.
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
		if !goes[name] {
			continue
		}
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
		ok, way, err := b.untouched(ctx, live, name, goes)
		switch {
		case err != nil:
			return b.undo(name, err)
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
	for _, name := range names {
		if b.inFolder(name) {
			continue
		}
		if err := b.change(ctx, from, name); err != nil {
			return b.undo(name, err)
		}
	}
	return b.end()
}

// inFolder reports whether a name is in a folder that a new file takes the place of.
func (b *backing) inFolder(name string) bool {
	for name != "" {
		name, _ = split(name)
		if goes, ok := b.goes[name]; ok && !goes {
			return true
		}
	}
	return false
}

// change makes the change of a name.
func (b *backing) change(ctx context.Context, from func(name string) string, name string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if ok, _, err := b.untouched(ctx, b.live, name, b.goes); err != nil {
		return err
	} else if !ok {
		return errEdited
	}
	if file := from(name); file != "" {
		return b.put(ctx, file, name)
	}
	if !b.has(name) { // what is there now was made at this moment
		return nil
	}
	if err := b.takeAway(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
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

// removeFolder removes a folder in which nothing is.
func removeFolder(live *os.Root, dir string) error {
	parent, err := live.Open(path.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	return unix.Unlinkat(int(parent.Fd()), path.Base(dir), unix.AT_REMOVEDIR) // never a file, which [os.Root.Remove] would take
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

// look returns nil if a path has the old file.
func (old isOld) look(at string) error {
	ok, err := old(at)
	if err == nil && !ok {
		err = errEdited
	}
	return err
}

// keeps returns the isOld of what a step keeps, and notes what it looks at: the file that the snapshot has, or a folder of files that go.
func (b *backing) keeps(ctx context.Context, s *step) isOld {
	return func(top string) (bool, error) {
		s.kept = nil
		var one func(at string) (bool, error)
		one = func(at string) (bool, error) {
			info, err := b.live.Lstat(at)
			if err != nil {
				return false, err
			}
			follows := strings.TrimPrefix(at, top)
			s.kept = append(s.kept, entry{follows, info})
			name := s.name + follows
			if old := b.old(ctx, b.live, name); old != nil && (follows == "" || b.goes[name]) {
				return old(at)
			} else if !info.IsDir() {
				return false, nil
			}
			list, err := emptiable(b.live, at, s.kept[0].info)
			for _, base := range list {
				if ok, err := one(at + "/" + base); err != nil || !ok {
					return false, err
				}
			}
			return err == nil, err
		}
		return one(top)
	}
}

// emptiable lists a folder if all in it can be removed, as far as that can be known: it is of the file system of the one that it goes with.
func emptiable(live *os.Root, dir string, with fs.FileInfo) ([]string, error) {
	f, err := live.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	was, same := with.Sys().(*syscall.Stat_t)
	if ok && same && is.Dev != was.Dev {
		return nil, errors.New("a file system is mounted in it")
	}
	list, err := f.Readdirnames(-1)
	if err == nil && len(list) > 0 {
		err = unix.Faccessat(int(f.Fd()), ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	}
	return list, err
}

// beside returns a random name in the folder of name. It does not look whether something has it: that has a chance of 1 in 2^32.
func beside(name string) string {
	dir, base := split(name)
	base = strings.ToValidUTF8(base[:min(len(base), 200)], "") // a name has up to 255 bytes
	return strings.TrimPrefix(fmt.Sprintf("%s/.%s.dialect-back-%08x", dir, base, rand.Uint32()), "/")
}

// takeAway moves the old file of a name beside it before it is looked at: nobody writes there.
func (b *backing) takeAway(ctx context.Context, name string) error {
	s := &step{name: name, temp: beside(name)}
	b.done = append(b.done, s)
	if err := b.live.Rename(name, s.temp); err != nil {
		return err
	}
	return b.keeps(ctx, s).look(s.temp)
}

// makeFolder makes a folder and those above it.
func (b *backing) makeFolder(dir string) error {
	if info, err := b.live.Stat(cmp.Or(dir, ".")); err == nil && info.IsDir() {
		return nil
	}
	above, _ := split(dir)
	if err := b.makeFolder(above); err != nil {
		return err
	}
	err := b.live.Mkdir(dir, 0o755)
	if err == nil {
		b.done = append(b.done, &step{name: dir})
	}
	return err
}

// put gives a name of the working tree the file from, which takes its place whole. What had the name is looked at after it was moved away, so that
// an edit that was saved until then is seen.
func (b *backing) put(ctx context.Context, from, name string) error {
	st, err := lstat(from)
	if err != nil {
		return err
	}
	dir, _ := split(name)
	if dir != "" {
		if info, err := b.live.Lstat(dir); err == nil && !info.IsDir() {
			if !b.has(dir) {
				return errEdited
			}
			if err := b.takeAway(ctx, dir); err != nil {
				return err
			}
		}
		if err := b.makeFolder(dir); err != nil {
			return err
		}
	}
	s := &step{name: name, temp: beside(name)}
	old := b.keeps(ctx, s)
	if info, err := b.live.Lstat(name); !b.has(name) && (err != nil || !info.IsDir()) {
		old = nil
	}
	if s.ours, err = b.write(ctx, from, &st, s.temp, name); err != nil {
		return err
	}
	b.done = append(b.done, s)
	return b.swap(b.live, s.temp, name, old)
}

// write writes the file from at temp as what is to have a name, and returns what it is. Where that fails nothing of it is left.
func (b *backing) write(ctx context.Context, from string, st *unix.Stat_t, temp, name string) (ours fs.FileInfo, err error) {
	live, made := b.live, false
	defer func() {
		if err == nil {
			ours, err = live.Lstat(temp)
		}
		if err != nil && made {
			_ = live.Remove(temp)
		}
	}()
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		target, err := os.Readlink(from)
		if err == nil {
			err = live.Symlink(target, temp)
			made = err == nil
		}
		return nil, err
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
			return nil, errEdited
		case err != nil:
			return nil, err
		}
		defer was.Close()
	}
	fd, err := openFile(from, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	to, err := live.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	made = true
	_, n, err := copyTo(ctx, int(to.Fd()), fd, st.Size, make([]byte, 64<<10))
	if err == nil && n != st.Size {
		err = errors.New("it changed while it was copied")
	}
	if was != nil {
		err = errors.Join(err, regular.Inherit(to, was, mode))
	} else {
		err = errors.Join(err, to.Chmod(mode))
	}
	return nil, errors.Join(err, to.Close())
}

// undo takes all changes back, the last one first, since that of a name failed. It returns why nothing is brought back.
func (b *backing) undo(name string, why error) error {
	why = fmt.Errorf("%s: %w", list([]string{name}), reason(why))
	var failed, edits []string
	for _, s := range slices.Backward(b.done) {
		edit, err := s.undo(b.live, b.swap)
		if err != nil {
			told := git.Display(s.name) + ": " + reason(err).Error()
			if _, err := b.live.Lstat(s.temp); err == nil && s.temp != "" {
				told += ", and " + git.Display(s.temp) + " is left"
			}
			failed = append(failed, told)
		} else if edit != "" {
			edits = slices.DeleteFunc(edits, func(e string) bool { return strings.HasPrefix(e, s.name+"/") }) // it is in there
			edits = append(edits, edit)
		}
	}
	text := ""
	if len(edits) > 0 {
		text = "; what was made or edited meanwhile is " + list(edits) + ": move it to where it belongs"
	}
	if len(failed) > 0 {
		return &partError{fmt.Errorf("what it wrote is brought back only in part, since %w, and not all of it can be undone: %s: look at what is there%s", why, strings.Join(failed, "; "), text)}
	}
	return fmt.Errorf("what it wrote is not brought back, since %w%s", why, text)
}

// undo takes a change back, as far as it was made. What somebody else put in its place meanwhile is left at edit.
func (s *step) undo(live *os.Root, swap swapper) (edit string, err error) {
	if s.temp == "" {
		err := removeFolder(live, s.name)
		if info, e := live.Lstat(s.name); e != nil || !info.IsDir() || errors.Is(err, fs.ErrExist) {
			err = nil // it is gone, or what is there is not of this run
		}
		return "", err
	}
	ours := func() bool {
		info, err := live.Lstat(s.temp)
		return err == nil && s.ours != nil && same(info, s.ours)
	}
	_, err = live.Lstat(s.temp)
	switch none := errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR); {
	case none && len(s.kept) > 0:
		return "", err
	case none && s.ours == nil: // it was not there
		return "", nil
	case none:
		if err = live.Rename(s.name, s.temp); errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			return "", nil
		}
	case err == nil && !ours():
		if err = swap(live, s.temp, s.name, nil); errors.Is(err, errEdited) {
			err = swap(live, s.temp, s.name, func(string) (bool, error) { return true, nil })
		}
	}
	if err != nil {
		return "", err
	}
	if ours() {
		return "", live.Remove(s.temp)
	}
	if _, err := live.Lstat(s.temp); err != nil {
		return "", nil
	}
	return s.temp, nil
}

// end removes what is kept, and then the folders that are empty without it: they are in no snapshot.
func (b *backing) end() error {
	var stays []string
	for _, s := range b.done {
		var failed error
		for _, e := range slices.Backward(s.kept) {
			at := s.temp + e.follows
			info, err := b.live.Lstat(at)
			switch {
			case err == nil && e.info.IsDir():
				err = removeFolder(b.live, at)
			case err == nil && !same(info, e.info):
				err = errEdited
			case err == nil:
				err = b.live.Remove(at)
			}
			if failed == nil && !errors.Is(err, fs.ErrNotExist) {
				failed = err
			}
		}
		if failed != nil {
			stays = append(stays, fmt.Sprintf("%s, which was %s: %v", git.Display(s.temp), git.Display(s.name), reason(failed)))
		}
	}
	for _, s := range b.done {
		if len(s.kept) > 0 && s.ours == nil {
			for dir, _ := split(s.name); dir != "" && removeFolder(b.live, dir) == nil; dir, _ = split(dir) {
			}
		}
	}
	if len(stays) > 0 {
		return &partError{errors.New("what it wrote is brought back, but not all is removed that was there before: " + strings.Join(stays, "; ") + ": look at it, and remove it")}
	}
	return nil
}

// reason is an error without the names that it begins with: they are those beside a file.
func reason(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}

// A swapper renames temp to name, in the same folder, if name is the old file, which is at temp then; with a nil old, if there is nothing. Where it fails
// each of the two may be at either place: [step.undo] looks.
type swapper func(live *os.Root, temp, name string, old isOld) error

// replace is swapIn where the system cannot exchange two files. It looks right before the rename: an edit in between is lost.
func replace(live *os.Root, temp, name string, old isOld) error {
	if old == nil {
		if _, err := live.Lstat(name); err == nil {
			return errEdited
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return live.Rename(temp, name)
	}
	info, err := live.Lstat(temp)
	if err != nil {
		return err
	}
	kept := beside(name)
	linked := !info.IsDir() && live.Link(name, kept) == nil // else one of the two is a folder, or the file system has no links
	if !linked {
		if err := live.Rename(name, kept); errors.Is(err, fs.ErrNotExist) {
			return errEdited
		} else if err != nil {
			return err
		}
	}
	err = old.look(kept)
	if err == nil && linked {
		is, e := live.Lstat(name)
		was, e2 := live.Lstat(kept)
		if err = errors.Join(e, e2); errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(is, was) {
			err = errEdited
		}
	}
	if err == nil {
		err = live.Rename(temp, name)
	}
	switch {
	case err == nil:
		err = live.Rename(kept, temp)
	case linked:
		return errors.Join(err, live.Remove(kept))
	default:
		if replace(live, kept, name, nil) == nil {
			return err
		}
	}
	if err != nil {
		err = fmt.Errorf("%w; what was there is %s", err, git.Display(kept))
	}
	return err
}

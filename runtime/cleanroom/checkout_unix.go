//go:build unix

package cleanroom

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/overlay"
	"github.com/command-dialect/dialect/runtime/tempdir"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// settling is how old the change time of a file has to be before it tells all later changes: see
// package workspace.
const settling = 2 * time.Second

// A status is what tells one state of a file from another.
type status struct {
	dev, ino, size uint64
	mode           uint32
	mtime, ctime   int64
}

func lstat(name string) (unix.Stat_t, error) {
	var st unix.Stat_t
	for {
		err := unix.Lstat(name, &st)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			err = &fs.PathError{Op: "lstat", Path: name, Err: err}
		}
		return st, err
	}
}

func statusOf(st *unix.Stat_t) status {
	return status{uint64(st.Dev), uint64(st.Ino), uint64(st.Size), uint32(st.Mode), unix.TimespecToNsec(st.Mtim), unix.TimespecToNsec(st.Ctim)}
}

// A checkout is a directory with the files of a snapshot.
type checkout struct {
	dir   string
	files []workspace.File    // sorted
	dirs  map[string][]string // directory, "" for the root -> what is in it

	states []state  // of files, by index
	opaque []string // directories that hide what the layers below have in their place; no other one has a mark

	when int64 // that each file was modified, in seconds, since [checkout.sync]; 0 for whenever
}

// A state is what is known of a file of the checkout.
type state struct {
	stat unix.Stat_t // when it was last looked at
	read status      // when its content was last read, or written
	at   int64       // when that was, in nanoseconds
}

func newCheckout(dir string, files []workspace.File) *checkout {
	c := &checkout{dir: dir, files: files, dirs: map[string][]string{"": nil}, states: make([]state, len(files))}
	var add func(name string)
	add = func(name string) {
		parent, base := split(name)
		if _, ok := c.dirs[parent]; !ok {
			c.dirs[parent] = nil
			add(parent)
		}
		c.dirs[parent] = append(c.dirs[parent], base)
	}
	for i := range files {
		if files[i].Kind != workspace.Repository {
			add(files[i].Path)
		} else if _, ok := c.dirs[files[i].Path]; !ok { // its files come after it
			c.dirs[files[i].Path] = nil
			add(files[i].Path)
		}
	}
	return c
}

func split(name string) (parent, base string) {
	parent, base = path.Split(name)
	return path.Clean("/" + parent)[1:], base
}

func (c *checkout) at(name string) string { return filepath.Join(c.dir, filepath.FromSlash(name)) }

// sync makes the directory hold the files and nothing else. What is missing or different is
// read from the working tree live.
func (c *checkout) sync(ctx context.Context, live *os.Root) error {
	c.when = timeOf(c.files)
	differs, err := c.walk(ctx, func(i int, buf []byte) error { return c.write(ctx, i, live, buf) }, false)
	if err != nil || len(differs) == 0 {
		return errors.Join(err, c.settle())
	}
	// What was written is looked at once more: two names may be one file here.
	if differs, err = c.walk(ctx, nil, true); err != nil || len(differs) == 0 {
		return errors.Join(err, c.settle())
	}
	return fmt.Errorf("%s has another content after it was checked out: the file system of %s takes two of the names for one, or somebody changes them", list(differs), c.dir)
}

// timeOf is the time that all files of a tree have. It is of the files alone, so that no earlier run decides which of two is the newer one, and
// another tree has another one, so that no cache takes a file for that of before.
func timeOf(files []workspace.File) int64 {
	h := sha256.New()
	for i := range files {
		fmt.Fprintf(h, "%d %q %x\n", files[i].Kind, files[i].Path, files[i].SHA256) // a hash returns no error
	}
	const first, span = 1_000_000_000, 1 << 29 // of 17 years since 2001
	return first + int64(binary.BigEndian.Uint64(h.Sum(nil))%span)
}

// settle gives the directories that time: they have changed with what is in them.
func (c *checkout) settle() error {
	for name := range c.dirs {
		if err := setTime(c.at(name), c.when); err != nil {
			return err
		}
	}
	return nil
}

// retime gives that time to all that the last look found to have another, and to the directories and links, which it changes itself. Runs that use the
// checkout at the same time do not notice: the time is of its files.
func (c *checkout) retime() error {
	for i := range c.files {
		f, st := &c.files[i], &c.states[i].stat
		if f.Kind == workspace.Repository || f.Kind != workspace.Link && c.then(st.Mtim) && c.then(st.Atim) {
			continue
		}
		full := c.at(f.Path)
		if err := setTime(full, c.when); err != nil {
			return err
		}
		var err error
		if *st, err = lstat(full); err != nil {
			return err
		}
	}
	return c.settle()
}

// changed is differs; if nothing differs, it returns what has been modified at another time.
func (c *checkout) changed(ctx context.Context) (names []string, err error) {
	if names, err = c.differs(ctx); err != nil || len(names) > 0 {
		return names, err
	}
	for i := range c.files {
		if c.files[i].Kind != workspace.Repository && !c.then(c.states[i].stat.Mtim) {
			names = append(names, c.files[i].Path)
		}
	}
	for name := range c.dirs {
		st, err := lstat(c.at(name))
		if err != nil {
			return nil, err
		}
		if !c.then(st.Mtim) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// then reports whether a time is that of the checkout.
func (c *checkout) then(t unix.Timespec) bool { return int64(t.Sec) == c.when && t.Nsec == 0 }

// setTime sets when a file, link or directory was modified, and last looked at.
func setTime(full string, when int64) error {
	at := unix.Timespec{Sec: when}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, full, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &fs.PathError{Op: "set the time", Path: full, Err: err}
	}
	return nil
}

// differs returns the paths that are not as the snapshot has them, and what is there beyond it.
func (c *checkout) differs(ctx context.Context) ([]string, error) { return c.walk(ctx, nil, false) }

// walk compares the directory with the files. What differs is listed and, where repair is not nil,
// repaired; repair writes the file of an index. A file is read unless its status is that of when it was read before, and it had
// been left alone for long enough then; with fresh, also if it had not.
func (c *checkout) walk(ctx context.Context, repair func(i int, buf []byte) error, fresh bool) (differs []string, err error) {
	var mu sync.Mutex
	differ := func(name string) {
		mu.Lock()
		differs = append(differs, name)
		mu.Unlock()
	}
	dirs := make([]string, 0, len(c.dirs))
	for name := range c.dirs {
		dirs = append(dirs, name)
	}
	slices.Sort(dirs) // parents come first
	for _, name := range dirs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ok, err := c.directory(name, repair != nil, differ)
		if err != nil {
			return nil, err
		}
		if !ok {
			differ(name)
		}
	}
	const share = 32
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(min(4, max(2, runtime.GOMAXPROCS(0))))
	for from := 0; from < len(c.files); from += share {
		g.Go(func() error {
			buf := make([]byte, 64<<10)
			for i := from; i < min(from+share, len(c.files)); i++ {
				if c.files[i].Kind == workspace.Repository {
					continue
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				ok, err := c.same(ctx, i, fresh, repair != nil, buf)
				if err == nil && !ok {
					differ(c.files[i].Path)
					if repair != nil {
						err = repair(i, buf)
					}
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = g.Wait()
	slices.Sort(differs)
	return differs, err
}

// directory reports whether a directory is there with nothing in it but what belongs there.
func (c *checkout) directory(name string, repair bool, differ func(string)) (bool, error) {
	full := c.at(name)
	st, err := lstat(full)
	switch {
	case err == nil && st.Mode == unix.S_IFDIR|0o755:
	case !repair && (err == nil || errors.Is(err, fs.ErrNotExist)):
		return false, nil
	case err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR:
		if err := os.Chmod(full, 0o755); err != nil {
			return false, err
		}
		differ(name)
	case err == nil || errors.Is(err, fs.ErrNotExist):
		if err := tempdir.RemoveAll(full); err != nil {
			return false, err
		}
		if err := os.Mkdir(full, 0o755); err != nil {
			return false, err
		}
		return false, errors.Join(overlay.Bare(full), os.Chmod(full, 0o755)) // whatever the umask
	default:
		return false, err
	}
	d, err := os.Open(full)
	if err != nil {
		return false, err
	}
	defer d.Close()
	marks, err := overlay.Marks(int(d.Fd()))
	if err != nil {
		return false, err
	}
	if slices.Contains(c.opaque, name) {
		marks = slices.DeleteFunc(marks, func(mark string) bool { return mark == overlay.OpaqueName })
	}
	if len(marks) > 0 {
		differ(name)
		if repair {
			if err := overlay.Unmark(int(d.Fd()), marks); err != nil {
				return false, err
			}
		}
	}
	names, err := d.Readdirnames(-1)
	if err != nil {
		return false, err
	}
	want := make(map[string]bool, len(c.dirs[name]))
	for _, n := range c.dirs[name] {
		want[n] = true
	}
	for _, n := range names {
		if want[n] {
			continue
		}
		differ(path.Join(name, n))
		if repair {
			if err := tempdir.RemoveAll(filepath.Join(full, n)); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

func mode(k workspace.FileKind) uint32 {
	switch k {
	case workspace.Executable:
		return unix.S_IFREG | 0o755
	case workspace.Link:
		return unix.S_IFLNK
	}
	return unix.S_IFREG | 0o644
}

// same reports whether a file is there as the snapshot has it; with timed it gets its time.
func (c *checkout) same(ctx context.Context, i int, fresh, timed bool, buf []byte) (bool, error) {
	f, known := &c.files[i], &c.states[i]
	full := c.at(f.Path)
	st, err := lstat(full)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	timed = timed && c.when != 0
	if timed && !(c.then(st.Mtim) && c.then(st.Atim)) { // its content is looked at below
		if err := setTime(full, c.when); err != nil {
			return false, err
		}
		if st, err = lstat(full); err != nil {
			return false, err
		}
	}
	known.stat = st
	switch f.Kind {
	case workspace.Link:
		target, err := os.Readlink(full)
		if err == nil && timed {
			err = setTime(full, c.when) // that look counts
		}
		return err == nil && target == f.Target, nil
	case workspace.Special: // of a layer: the mark of what is removed
		return st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0, nil
	}
	// A file with another name could be changed by that.
	if uint32(st.Mode) != mode(f.Kind) || st.Nlink != 1 || st.Size != f.Size {
		return false, nil
	}
	now := statusOf(&st)
	if known.at != 0 && known.read == now && (fresh || now.ctime < known.at-int64(settling)) {
		return true, nil
	}
	at := time.Now().UnixNano()
	fd, err := openFile(full, noAccess)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	if marks, err := overlay.Marks(fd); err != nil || len(marks) > 0 { // like what it contains, they change with its status alone
		return false, err
	}
	sum, n, err := copyTo(ctx, -1, fd, f.Size, buf)
	if err != nil {
		return false, &fs.PathError{Op: "read", Path: full, Err: err}
	}
	if n != f.Size || sum != f.SHA256 {
		return false, nil
	}
	known.read, known.at = now, at
	return true, nil
}

// openFile opens a file for reading, with more flags, follows no link in its place, and never waits.
func openFile(name string, more int) (fd int, err error) {
	for {
		fd, err = unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|more, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return -1, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return fd, nil
	}
}

// copyTo copies the first size bytes of a file, and returns how many there were, with their digest. to is -1 for a look alone, else
// a file that is empty; what is zero leaves a hole in it. A file can be far larger than what is stored of it, so that ctx ends this.
func copyTo(ctx context.Context, to, from int, size int64, buf []byte) (sum [32]byte, n int64, err error) {
	h := sha256.New()
	for n < size {
		if ctx.Err() != nil {
			return sum, n, context.Cause(ctx)
		}
		part := buf[:min(size-n, int64(len(buf)))]
		k, err := unix.Read(from, part)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return sum, n, err
		}
		if k <= 0 {
			break
		}
		part = part[:k]
		h.Write(part)
		for at := n; to >= 0 && len(part) > 0 && !zero(part); {
			k, err := unix.Pwrite(to, part, at)
			if err == unix.EINTR {
				continue
			}
			if err != nil {
				return sum, n, err
			}
			part, at = part[max(k, 0):], at+int64(max(k, 0))
		}
		n += int64(k)
	}
	if to >= 0 {
		err = unix.Ftruncate(to, n)
	}
	h.Sum(sum[:0])
	return sum, n, err
}

// zero reports whether there is nothing but zero bytes in b.
func zero(b []byte) bool { return len(b) == 0 || b[0] == 0 && bytes.Equal(b[1:], b[:len(b)-1]) }

// write writes one file, from the working tree live.
func (c *checkout) write(ctx context.Context, i int, live *os.Root, buf []byte) error {
	f := &c.files[i]
	full := c.at(f.Path)
	if c.states[i].stat.Ino != 0 || f.Kind == workspace.Link {
		if err := tempdir.RemoveAll(full); err != nil {
			return err
		}
	}
	if f.Kind == workspace.Link {
		return cmp.Or(os.Symlink(f.Target, full), setTime(full, c.when))
	}
	file, err := live.OpenFile(filepath.FromSlash(f.Path), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return fmt.Errorf("%s changed since the snapshot: %w", f.Path, err)
	}
	defer file.Close()
	from := int(file.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(from, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return fmt.Errorf("%s changed since the snapshot was taken: run it again", f.Path)
	}
	perm := mode(f.Kind) & 0o777
	to, err := unix.Open(full, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOFOLLOW, perm)
	switch {
	case err == unix.EEXIST:
		return fmt.Errorf("the file system of %s takes %s and another name of the tree for one: it cannot be checked out there", c.dir, f.Path)
	case err != nil:
		return &fs.PathError{Op: "open", Path: full, Err: err}
	}
	sum, n, err := copyTo(ctx, to, from, f.Size, buf)
	if err == nil {
		err = unix.Fstat(to, &st)
	}
	if err == nil && uint32(st.Mode)&0o7777 != perm { // the umask
		err = unix.Fchmod(to, perm)
	}
	if err == nil {
		err = cmp.Or(setTime(full, c.when), unix.Fstat(to, &st))
	}
	if err = cmp.Or(err, unix.Close(to)); err != nil {
		err = &fs.PathError{Op: "write", Path: full, Err: err}
	}
	if err == nil && (n != f.Size || sum != f.SHA256) {
		err = fmt.Errorf("%s changed since the snapshot was taken: run it again", f.Path)
	}
	if err != nil {
		_ = os.Remove(full) // the next walk misses it in any case
		return err
	}
	c.states[i].read, c.states[i].at = statusOf(&st), time.Now().UnixNano()
	return nil
}

// stat appends what an index of git says of the status of a file.
func (c *checkout) stat(b []byte, i int) ([]byte, error) {
	f, st := &c.files[i], &c.states[i].stat
	if st.Ino == 0 { // it was not there at the last look, or is a directory
		return statusIn(b, c.at(f.Path), f.Kind)
	}
	return appendStatus(b, st, f.Kind), nil
}

// statusIn appends the same of the file at a path.
func statusIn(b []byte, full string, kind workspace.FileKind) ([]byte, error) {
	st, err := lstat(full)
	if err != nil {
		return nil, err
	}
	return appendStatus(b, &st, kind), nil
}

func appendStatus(b []byte, st *unix.Stat_t, kind workspace.FileKind) []byte {
	size := uint32(st.Size)
	if kind == workspace.Repository {
		size = 0
	}
	for _, n := range []uint32{
		uint32(st.Ctim.Sec), uint32(st.Ctim.Nsec), uint32(st.Mtim.Sec), uint32(st.Mtim.Nsec), uint32(st.Dev), uint32(st.Ino), gitMode(kind),
		st.Uid, st.Gid, size,
	} {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return b
}

// has reports whether the snapshot has a file of that name.
func (c *checkout) has(name string) bool { return c.file(name) != nil }

// file returns the snapshot's file of a name; nil if it has none.
func (c *checkout) file(name string) *workspace.File {
	i, ok := slices.BinarySearchFunc(c.files, name, func(f workspace.File, name string) int { return cmp.Compare(f.Path, name) })
	if !ok {
		return nil
	}
	return &c.files[i]
}

// stale is how long a checkout is kept that no run uses.
const stale = 30 * 24 * time.Hour

// keep returns a checkout of the files of the working tree live: the one that is kept for it below
// cache, repaired, or, where there is no cache or another run uses it with other files, one in own.
func keep(ctx context.Context, cache, own string, files []workspace.File, live *os.Root) (c *checkout, unlock func(), err error) {
	if cache != "" {
		if c, unlock, err = kept(ctx, cache, files, live); c != nil || ctx.Err() != nil {
			return c, unlock, err
		}
	}
	c = newCheckout(own, files)
	return c, func() {}, c.sync(ctx, live)
}

// kept returns the checkout that is kept; nil if it cannot be used.
func kept(ctx context.Context, cache string, files []workspace.File, live *os.Root) (*checkout, func(), error) {
	name := sha256.Sum256([]byte(live.Name()))
	dir := filepath.Join(cache, hex.EncodeToString(name[:8]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, nil
	}
	st, err := lstat(dir)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 {
		return nil, nil, nil // somebody else could write in it
	}
	sweep(cache, dir, "")
	lock, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, nil
	}
	done := func() { lock.Close() }
	c := newCheckout(filepath.Join(dir, "tree"), files)
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		now := time.Now()
		_ = os.Chtimes(dir, now, now) // else it is swept too early, and made again
		if err = c.sync(ctx, live); err == nil {
			err = unix.Flock(int(lock.Fd()), unix.LOCK_SH)
		}
	} else if err = unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB); err == nil {
		var differs []string
		c.when = timeOf(files)
		if differs, err = c.differs(ctx); err == nil && len(differs) > 0 {
			err = errors.New("another run uses it with other files")
		}
		if err == nil {
			err = c.retime()
		}
		if err != nil && ctx.Err() == nil {
			done()
			return nil, nil, nil
		}
	} else {
		done()
		return nil, nil, nil // another run makes it
	}
	if err != nil {
		done()
		return c, nil, err
	}
	return c, done, nil
}

// sweep removes directories that no run used for long, but one, and of those whose names have a prefix all but the maxKept that were
// used last. The names are those of checkouts, or of what setups installed.
func sweep(cache, but, prefix string) {
	entries, _ := os.ReadDir(cache) // sorted
	used := make(map[string]time.Time)
	var several []string
	for _, d := range entries {
		info, err := d.Info()
		if err != nil || !d.IsDir() || !isKept(d.Name()) {
			continue
		}
		used[d.Name()] = info.ModTime()
		if prefix != "" && strings.HasPrefix(d.Name(), prefix) {
			several = append(several, d.Name())
		}
	}
	slices.SortStableFunc(several, func(a, b string) int { return used[b].Compare(used[a]) })
	for name, at := range used {
		if filepath.Join(cache, name) == but || time.Since(at) < stale && slices.Index(several, name) < maxKept {
			continue
		}
		_ = removeUnused(filepath.Join(cache, name))
	}
}

// isKept reports whether a name is of a checkout that is kept, or of what a setup installed.
func isKept(name string) bool {
	tree, key, both := strings.Cut(name, "-")
	_, err := hex.DecodeString(tree + key)
	return err == nil && len(tree) == 16 && (!both || len(key) == 32)
}

// removeUnused removes a directory that no run uses.
func removeUnused(dir string) error {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	return tempdir.RemoveAll(dir)
}

// below returns the files of the snapshot in a directory.
func (c *checkout) below(dir string) (names []string) {
	for i, _ := slices.BinarySearchFunc(c.files, dir+"/", func(f workspace.File, name string) int { return cmp.Compare(f.Path, name) }); i < len(c.files); i++ {
		if !strings.HasPrefix(c.files[i].Path, dir+"/") {
			break
		}
		names = append(names, c.files[i].Path)
	}
	return names
}

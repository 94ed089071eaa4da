package cleanroom

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/namespace"
	"github.com/command-dialect/dialect/runtime/overlay"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// noAccess has a look at a file leave the time of the last one alone; only its owner may.
const noAccess = unix.O_NOATIME

// A furniture is what a helper makes a room of. Paths need not be UTF-8.
type furniture struct {
	Lower  [][]byte // the layers of it, the uppermost first
	Stay   []byte   // has the directories upper, work and merged
	Away   []masked // is masked before all else, and so wherever it is moved to
	Mounts []mount  // in their order, the checkout among them
	Apart  bool     // its commands are to reach no process outside
}

// A mount shows a directory at another path.
type mount struct {
	From, To []byte // From is empty for the checkout
	NoLinks  bool   // From, or To of a mask, has none; a link that somebody put there since is an error
	Memory   bool   // an empty file system in memory instead

	// Over has directories upper and work for what is written at To, and Layers, the uppermost first, what was written there
	// before; empty for a place where writes go to From itself.
	Over   []byte
	Layers [][]byte

	Hide  [][]byte // what is not shown, from From
	Marks []byte   // a layer that hides it; empty where none could be made

	Mask     bool // hides what is at To in the room, if anything is
	Only     *only
	ReadOnly bool
}

// namespace describes the room of one command.
func (r *Room) namespace(s *Stay, lower []string) (*process.Room, error) {
	root := []byte(r.snapshot.Root)
	f := furniture{Stay: []byte(s.dir), Apart: r.o.Apart}
	for _, dir := range lower {
		f.Lower = append(f.Lower, []byte(dir))
	}
	for _, p := range r.places {
		from := p.From
		if s.apart {
			from = filepath.Join(s.dir, filepath.Base(from))
		}
		f.Mounts = append(f.Mounts, mount{From: []byte(from), To: []byte(p.Path)})
	}
	f.keepAway(r.o.Away)
	if r.o.Away != nil {
		for _, dir := range r.o.Away.hide {
			f.Mounts = append(f.Mounts, mount{To: []byte(dir), Memory: true})
		}
	}
	for _, dir := range []string{"/dev/shm", "/dev/mqueue"} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			f.Mounts = append(f.Mounts, mount{To: []byte(dir), Memory: true})
		}
	}
	var inside []mount
	for _, v := range slices.Concat(s.kept, s.sees) {
		m, err := s.mountOf(v)
		if err != nil {
			return nil, err
		}
		if _, in := git.Within(r.snapshot.Root, v.To); in {
			inside = append(inside, m)
		} else {
			f.Mounts = append(f.Mounts, m)
		}
	}
	f.Mounts = append(f.Mounts, mount{To: root}) // over all else
	f.Mounts = append(f.Mounts, inside...)
	if r.objects != "" && s.locks == nil {
		m := mount{From: []byte(r.objects), NoLinks: true, To: []byte(filepath.Join(r.snapshot.Root, ".git", objectsName)), ReadOnly: true}
		for _, name := range r.strays {
			m.Hide = append(m.Hide, []byte(name))
		}
		m.Marks = []byte(r.marks)
		f.Mounts = append(f.Mounts, m)
	}
	// What this run and others are made of can be where a room does not hide it, and a command would change it for the next.
	f.Mounts = append(f.Mounts, r.o.Away.masks(r.snapshot.Root)...) // over what is shown, too
	for _, dir := range []string{r.cache, r.dir} {                  // without links, which another process of the user can make by now
		if dir != "" {
			f.Mounts = append(f.Mounts, mount{To: []byte(dir), Mask: true, NoLinks: true})
		}
	}
	for _, dir := range s.bind {
		f.Mounts = append(f.Mounts, mount{From: []byte(dir), To: []byte(dir)})
	}
	spec, err := json.Marshal(f)
	// What a setup leaves running would go on to write, and ends with its namespace.
	return &process.Room{Helper: r.o.Helper, Spec: spec, User: !mayMount(), Apart: r.o.Apart || s.locks != nil}, err
}

// mountOf is the mount by which a command sees v: read-only, or with a directory of the stay for what is written there.
func (s *Stay) mountOf(v sight) (mount, error) {
	m := mount{From: []byte(v.Path), NoLinks: true, To: []byte(v.To), ReadOnly: true}
	if v.Own == "" || hasMounts(v.Path) { // an overlay would not have what is mounted below
		return m, nil
	}
	dir := filepath.Join(s.dir, v.Own)
	for _, name := range []string{"upper", "work"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return m, err
		}
	}
	m.Over = []byte(dir)
	for _, layer := range s.room.over[v.Own] {
		m.Layers = append(m.Layers, []byte(layer))
	}
	return m, nil
}

// masks returns the mounts that hide all of it in a room: of the checkout, which has no sockets, nothing.
func (a *Away) masks(root string) (list []mount) {
	if a == nil {
		return nil
	}
	for _, k := range a.all {
		to := filepath.Join(string(k.Dir), string(k.Name))
		if _, in := git.Within(root, to); k.Only == nil || !in {
			list = append(list, mount{To: []byte(to), Mask: true, Only: k.Only})
		}
	}
	return list
}

// hasMounts reports whether something may be mounted below a directory.
func hasMounts(dir string) bool {
	mounts, err := namespace.Mounts()
	return err != nil || slices.ContainsFunc(mounts, func(m namespace.Mount) bool { return strings.HasPrefix(m.At, dir+"/") })
}

// keepAway hides what commands are kept from. A directory that was moved is an error; one that was removed, as a server removes that of its
// socket when it ends, counts as one that was never there.
func (f *furniture) keepAway(a *Away) {
	if a == nil {
		return
	}
	f.Away = slices.Clone(a.all)
	for i := range f.Away {
		if k := &f.Away[i]; k.dir != nil && removed(k.dir) {
			k.Dev, k.Ino = 0, 0
		}
	}
}

// hold opens a directory, for [removed] alone. It returns nil where that would not work.
func hold(path string) *os.File {
	dir, err := os.OpenFile(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	if removed(dir) { // or its file system counts no links
		dir.Close()
		return nil
	}
	return dir
}

// removed reports whether a directory was removed since it was opened.
func removed(dir *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(dir.Fd()), &st) == nil && st.Nlink == 0
}

// Masked is the room of a command that sees the machine as it is, but for what it is kept from and those of these directories that
// are in shown. It is kept apart.
func Masked(helper []string, away *Away, shown ...string) (*process.Room, error) {
	f := furniture{Apart: true}
	f.keepAway(away)
	for _, dir := range shown {
		f.Mounts = append(f.Mounts, mount{From: []byte(dir), To: []byte(dir)})
	}
	spec, err := json.Marshal(f)
	return &process.Room{Helper: helper, Spec: spec, User: !mayMount(), Apart: true}, err
}

// mayMount reports whether this process needs no user namespace to mount.
func mayMount() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	return unix.Capget(&header, &have[0]) == nil && have[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// Furnish is what the helper of a room does, in its own namespace: see [process.Become].
func Furnish(spec []byte) error {
	var f furniture
	if err := json.Unmarshal(spec, &f); err != nil {
		return err
	}
	if f.Apart {
		if err := namespace.HoldControlGroups(); err != nil {
			return err
		}
	}
	// What is to be shown is opened first: a mount may hide it by its path.
	layers := make([]string, len(f.Lower))
	for i, dir := range f.Lower {
		var err error
		if layers[i], err = handle(string(dir)); err != nil {
			return err
		}
	}
	above := make([][]string, len(f.Mounts)) // what is written at each
	from := make([]string, len(f.Mounts))
	for i, m := range f.Mounts {
		if len(m.From) == 0 {
			continue
		}
		var err error
		if from[i], err = m.open(); err != nil {
			return err
		}
		if len(m.Marks) > 0 {
			marks, err := handle(string(m.Marks))
			if err != nil {
				return err
			}
			above[i] = []string{marks}
		}
		if len(m.Over) == 0 {
			continue
		}
		for _, dir := range append([][]byte{[]byte(filepath.Join(string(m.Over), "upper")), []byte(filepath.Join(string(m.Over), "work"))}, m.Layers...) {
			path, err := handle(string(dir))
			if err != nil {
				return err
			}
			above[i] = append(above[i], path)
		}
	}
	tree := ""
	if len(f.Stay) > 0 {
		var err error
		if tree, err = mountTree(string(f.Stay), layers); err != nil {
			return err
		}
	}
	// All of their directories are found first: one may be in another that is masked.
	in := make([]string, len(f.Away))
	for i := range f.Away {
		var err error
		if in[i], err = f.Away[i].around(); err != nil {
			return err
		}
	}
	for i, k := range f.Away {
		if in[i] == "" {
			continue
		}
		if err := mask(in[i]+"/"+string(k.Name), k.Only, false); err != nil {
			return err
		}
	}
	for i, m := range f.Mounts {
		if err := m.mount(from[i], tree, above[i]); err != nil {
			return err
		}
	}
	if len(f.Stay) > 0 {
		unix.Umask(0o022) // nobody's choice, as the modes of the checkout
	}
	return nil
}

// mountTree mounts the checkout, and returns a path that leads to it.
func mountTree(stay string, layers []string) (tree string, err error) {
	upper, err := handle(filepath.Join(stay, "upper"))
	if err != nil {
		return "", err
	}
	work, err := handle(filepath.Join(stay, "work"))
	if err != nil {
		return "", err
	}
	merged := filepath.Join(stay, "merged")
	if err := mountOverlay(merged, upper, work, layers); err != nil {
		return "", fmt.Errorf("an overlay cannot be mounted: %w", err)
	}
	return handle(merged)
}

// mountOverlay mounts layers, the uppermost first, below what is written.
func mountOverlay(to, upper, work string, layers []string) error {
	return mountLayers(to, "lowerdir="+strings.Join(layers, ":")+",upperdir="+upper+",workdir="+work, 0)
}

func mountLayers(to, layers string, flags uintptr) error {
	// userxattr: without privilege the marks of an overlay are attributes of the user.
	return unix.Mount("dialect", to, "overlay", unix.MS_NOSUID|unix.MS_NODEV|flags, layers+",userxattr")
}

// handle opens a directory or file, and returns a path that leads to it whatever is mounted over it.
func handle(dir string) (string, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return "/proc/self/fd/" + strconv.Itoa(fd), nil
}

// open opens what a mount shows, and returns a path that leads to it.
func (m mount) open() (string, error) {
	dir := string(m.From)
	if !m.NoLinks {
		return handle(dir)
	}
	fd, err := open(dir, unix.O_PATH|unix.O_CLOEXEC, true)
	if err != nil {
		return "", &os.PathError{Op: "open without links", Path: dir, Err: err}
	}
	return "/proc/self/fd/" + strconv.Itoa(fd), nil
}

// open opens a path, on which there is no link if noLinks says so: one is ELOOP.
func open(path string, flags int, noLinks bool) (fd int, err error) {
	err = unix.ENOSYS // before Linux 5.6
	if noLinks {
		fd, err = unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_NO_SYMLINKS})
	}
	if err == unix.ENOSYS {
		fd, err = unix.Open(path, flags, 0)
	}
	return fd, err
}

// mount mounts what from leads to, or the checkout, which tree leads to. above are the paths of m.Over and m.Layers, or that of m.Marks.
func (m mount) mount(from, tree string, above []string) error {
	to := string(m.To)
	if m.Mask {
		return mask(to, m.Only, m.NoLinks)
	}
	err := mountPoint(from, to)
	if err != nil {
		return err
	}
	switch { // where its file system cannot be a layer, it is shown as it is
	case len(m.Over) > 0 && mountOverlay(to, above[0], above[1], append(slices.Clone(above[2:]), from)) == nil:
		return nil
	case len(m.Marks) > 0 && mountLayers(to, "lowerdir="+above[0]+":"+from, unix.MS_RDONLY) == nil:
		return nil
	}
	switch {
	case m.Memory:
		err = unix.Mount("dialect", to, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
	case from == "":
		err = unix.Mount(tree, to, "", unix.MS_BIND, "")
	default:
		err = unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, "")
	}
	if err == nil && m.ReadOnly {
		err = unix.MountSetattr(unix.AT_FDCWD, to, unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	}
	if err != nil {
		return &os.PathError{Op: "mount", Path: to, Err: err}
	}
	for _, name := range m.Hide { // nothing takes its place
		at := filepath.Join(to, string(name))
		if info, err := os.Lstat(at); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			continue // a link leads to what the room has
		}
		if err := mask(at, nil, false); err != nil {
			return err
		}
	}
	return nil
}

// around opens the directory that it is in, and returns a path that leads there; empty where there is none, as before.
func (k *masked) around() (string, error) {
	var st unix.Stat_t
	fd, err := unix.Open(string(k.Dir), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	switch {
	case k.Ino == 0 && (err == unix.ENOENT || err == unix.ENOTDIR || err == unix.EACCES):
		return "", nil
	case err != nil && err != unix.ENOENT && err != unix.ENOTDIR && err != unix.ELOOP:
		return "", &os.PathError{Op: "open", Path: string(k.Dir), Err: err}
	case err != nil, k.Ino != 0 && (uint64(st.Dev) != k.Dev || st.Ino != k.Ino):
		return "", fmt.Errorf("%s is not the directory any more that it was when the session began, and %s in it is hidden from commands", k.Dir, k.Name)
	}
	return "/proc/self/fd/" + strconv.Itoa(fd), nil
}

// mask hides what is at a path: an empty directory takes the place of a directory, and the null device that of all else.
func mask(path string, only *only, noLinks bool) error {
	flags := unix.O_PATH | unix.O_CLOEXEC
	if only != nil {
		flags |= unix.O_NOFOLLOW
	}
	var st unix.Stat_t
	fd, err := open(path, flags, noLinks)
	if err == nil {
		defer unix.Close(fd)
		err = unix.Fstat(fd, &st)
	}
	switch {
	case err == unix.ENOENT || err == unix.ENOTDIR || err == unix.EACCES: // the room has it not, or nobody in it gets there
		return nil
	case err == nil && only != nil && !only.is(&st):
		return nil
	case err == nil:
		var gone bool
		if gone, err = namespace.Hide(fd, st.Mode&unix.S_IFMT == unix.S_IFDIR); gone { // another may be there by now
			return mask(path, only, noLinks)
		}
	}
	if err != nil {
		return &os.PathError{Op: "mask", Path: path, Err: err}
	}
	return nil
}

// is reports whether a mask is for what st describes.
func (o *only) is(st *unix.Stat_t) bool {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFSOCK, unix.S_IFCHR, unix.S_IFBLK:
		return true
	case unix.S_IFDIR:
		return o.Dir
	}
	return false
}

// mountPoint makes what a mount is put on, unless it is there: a directory, or a file for a file.
func mountPoint(from, to string) error {
	var st unix.Stat_t
	if from == "" || unix.Stat(from, &st) != nil || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return os.MkdirAll(to, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return nil // it may be another user's, who alone may write it
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// changedBy returns the files of the snapshot that the upper layer of an overlay changes or hides.
func (c *checkout) changedBy(ctx context.Context, upper string) (changed []string, err error) {
	root, err := os.OpenRoot(upper)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var walk func(name string) error
	walk = func(name string) error {
		if len(name) > maxPath {
			return fmt.Errorf("it left directories in each other, in a path of more than %d bytes", maxPath)
		}
		dir, list, err := openDir(root, name)
		if err != nil {
			return err
		}
		defer dir.Close()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, d := range list {
			inner := path.Join(name, d.Name())
			if inner == ".git" {
				continue
			}
			if d.IsDir() {
				if c.replacedBy(inner) {
					changed = append(changed, inner)
				}
				if err := walk(inner); err != nil {
					return err
				}
				continue
			}
			same, err := c.unchanged(ctx, root, inner)
			if err != nil {
				return err
			}
			if !same {
				changed = append(changed, inner)
			}
			changed = append(changed, c.below(inner)...) // it takes the place of a directory
		}
		if overlay.Opaque(dir) {
			changed = append(changed, c.missing(name, list)...)
		}
		return nil
	}
	err = walk("")
	return changed, err
}

// replacedBy reports whether a directory at a path takes the place of a file.
func (c *checkout) replacedBy(name string) bool {
	_, dir := c.dirs[name]
	return !dir && c.has(name)
}

// missing returns the files in a directory that are in none of the entries of list.
func (c *checkout) missing(dir string, list []fs.DirEntry) (names []string) {
	for _, base := range c.dirs[dir] {
		if slices.ContainsFunc(list, func(d fs.DirEntry) bool { return d.Name() == base }) {
			continue
		}
		inner := path.Join(dir, base)
		if c.has(inner) {
			names = append(names, inner)
		}
		names = append(names, c.below(inner)...)
	}
	return names
}

//go:build unix

package cleanroom

import (
	"cmp"
	"context"
	"crypto/sha256"
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
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/overlay"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/tempdir"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// Install has the commands of a setup install what the snapshot needs, unless that is there: since an earlier call, or because an earlier
// run kept it. Commands that are let in later see it. The same error is returned to each caller until the snapshot is another one;
// that of a context that ended is its own.
//
// A setup sees its lock files and no other file of the project, so that what it leaves is a function of them, of the tools and of the
// network. What it writes is kept where git ignores it, and in the directories of Keep; the rest of its home
// directory is dropped, as are a .git and what it left running.
//
// In an unconfined room the commands run in the checkout itself, before any other, and nothing is kept.
func (r *Room) Install(ctx context.Context, s Setup, run Run) (*Installed, error) {
	select {
	case r.installing <- struct{}{}:
		defer func() { <-r.installing }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	r.mu.Lock()
	last, snapshot, bad := r.installed, r.snapshot, r.err
	r.mu.Unlock()
	switch {
	case bad != nil || snapshot == nil:
		return nil, nil // Enter says why
	case last != nil && last.of == snapshot:
		return &last.Installed, last.err
	}
	next, err := r.install(ctx, s, last, run)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		next = &installed{err: fmt.Errorf("the setup of the clean checkout: %w", err)}
	}
	next.of = snapshot
	r.mu.Lock()
	r.installed = next
	r.mu.Unlock()
	return &next.Installed, next.err
}

func (r *Room) install(ctx context.Context, s Setup, last *installed, run Run) (*installed, error) {
	var locks []workspace.File
	var names []string
	for f := range r.snapshot.Checkout(r.format) {
		rel, in := git.Within(r.real, filepath.Join(r.snapshot.Root, filepath.FromSlash(f.Path)))
		if rel = filepath.ToSlash(rel); in && f.Kind != workspace.Repository && s.Locks(rel) {
			locks, names = append(locks, f), append(names, rel)
		}
	}
	if len(locks) == 0 {
		return nil, errors.New("the project has none of the files that [clean] locks names")
	}
	key := r.key(s, locks)
	if last != nil && last.err == nil && last.Key == key {
		same := *last
		return &same, r.fits(&same)
	}
	in := &installed{Installed: Installed{Key: key, Locks: names}}
	if r.open != "" {
		return in, r.installHere(ctx, s, in, run)
	}
	made := func(dir string) ([]workspace.File, error) { return r.perform(ctx, s, locks, dir, in, run) }
	if err := r.obtain(ctx, in, made); err != nil {
		return nil, err
	}
	in.tools = slices.DeleteFunc(r.toolsOf(s), func(v sight) bool { return !r.ledTo(in, v.Path) })
	for _, name := range s.Keep {
		if info, err := os.Lstat(filepath.Join(in.dir, "home", filepath.FromSlash(name))); err == nil && info.IsDir() {
			in.keep = append(in.keep, name)
		}
	}
	return in, r.fits(in)
}

// toolsOf are the toolchains in hidden directories that PATH leads the commands of a setup to. All of the commands see them: what one of them
// installs may be links to its toolchain, as of a venv to its Python.
func (r *Room) toolsOf(s Setup) []sight {
	stay := &Stay{room: r}
	for _, argv := range s.Commands {
		if !strings.ContainsRune(argv[0], filepath.Separator) {
			stay.tool(argv[0], r.environ(s.environ()))
		}
	}
	return slices.DeleteFunc(stay.sees, func(v sight) bool { return !r.hides(v.Path) })
}

// ledTo reports whether an installed link leads below dir.
func (r *Room) ledTo(in *installed, dir string) bool {
	return slices.ContainsFunc(in.has.files, func(f workspace.File) bool {
		_, below := git.Within(dir, f.Target)
		return f.Kind == workspace.Link && filepath.IsAbs(f.Target) && below
	})
}

// installHere runs a setup in an unconfined room.
func (r *Room) installHere(ctx context.Context, s Setup, in *installed, run Run) error {
	began := time.Now()
	for _, argv := range s.Commands {
		stay, err := r.Enter()
		if err != nil {
			return err
		}
		c := &process.Command{Argv: argv, Dir: r.o.Root, Env: s.environ()}
		if err = stay.Prepare(c); err == nil {
			err = run(ctx, c)
		}
		changed, e := stay.End(ctx)
		if err = errors.Join(err, e); err != nil {
			return err
		}
		if len(changed) > 0 {
			return fmt.Errorf("it changed files of the project: %s", list(changed))
		}
	}
	in.Took = time.Since(began)
	return nil
}

// fits says why what was installed cannot be shown with the files of the snapshot: it would have a say about what the project is.
func (r *Room) fits(in *installed) error {
	if in.has == nil {
		return nil
	}
	var other []string
	for i := range in.has.files {
		rel, tree := strings.CutPrefix(in.has.files[i].Path, "tree/")
		if f := &in.has.files[i]; tree && f.Kind != workspace.Repository && !r.apartFrom(rel) {
			other = append(other, rel)
		}
	}
	return ignoreFirst(other)
}

// apartFrom reports whether a file at a path counts in no snapshot of the rules of this one: it is ignored, or in a cache.
func (r *Room) apartFrom(rel string) bool {
	hidden := r.snapshot.LookupIn(rel).Hidden
	return hidden == workspace.Ignored || strings.HasPrefix(hidden, workspace.InCache)
}

func ignoreFirst(names []string) error {
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("it installs files that would count as files of the project: %s; ignore them in a tracked .gitignore, or install elsewhere", list(names))
}

// tools are programs that others start, and whose versions decide what is installed for them.
var tools = []string{"node", "npm", "python3", "python", "ruby", "go", "cargo", "rustc", "java", "cc", "gcc", "g++"}

// key is a digest of what decides what a setup installs, but for the network:
//
//	SHA-256("dialect.setup/2\n" || field || ...)
//	field = name " " len(value) ":" value "\n"
//
// over the system and the user, the paths of the working tree and of the project in it, the files of locks with their modes, the
// commands, what is kept and what is shared, the environment but for what changes from session to session, and of each tool that a command
// is, or is known to start, the path without links, size and time of its file. len is in bytes, in decimal.
func (r *Room) key(s Setup, locks []workspace.File) (sum [32]byte) {
	h := sha256.New()
	h.Write([]byte("dialect.setup/2\n"))
	field := func(name, format string, args ...any) {
		value := fmt.Sprintf(format, args...)
		fmt.Fprintf(h, "%s %d:%s\n", name, len(value), value) // a hash returns no error
	}
	field("system", "%s/%s %d", runtime.GOOS, runtime.GOARCH, r.o.Asker)
	field("root", "%s", r.snapshot.Root)
	field("project", "%s", r.real)
	for i := range locks {
		f := &locks[i]
		field("file", "%s", f.Path)
		field("content", "%d %x", f.Kind, f.SHA256)
	}
	used := slices.Clone(tools)
	for _, argv := range s.Commands {
		field("command", "%d", len(argv))
		for _, word := range argv {
			field("word", "%s", word)
		}
		used = append(used, argv[0])
	}
	for _, name := range s.Keep {
		field("keep", "%s", name)
	}
	for _, name := range r.o.Share {
		field("share", "%s", name)
	}
	env := r.environ(s.environ())
	for _, kv := range slices.Sorted(slices.Values(env)) {
		name, _, _ := strings.Cut(kv, "=")
		if _, own := s.Own[name]; own || !ofSession(name) {
			field("variable", "%s", kv)
		}
	}
	slices.Sort(used)
	for _, name := range slices.Compact(used) {
		path := name
		if !strings.ContainsRune(name, filepath.Separator) {
			path = r.lookPath(name, env)
		}
		real, err := filepath.EvalSymlinks(path)
		if info, e := os.Stat(real); filepath.IsAbs(path) && err == nil && e == nil {
			field("tool", "%s %s %d %d", name, real, info.Size(), info.ModTime().UnixNano())
		}
	}
	h.Sum(sum[:0])
	return sum
}

// ofSession reports whether a variable changes from session to session and does not change what is installed.
func ofSession(name string) bool {
	switch name {
	case "TMPDIR", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY":
		return true
	}
	return strings.HasPrefix(name, "DIALECT_")
}

// ofTerminal reports whether a variable is about the terminal, or the shell: a setup does not get it, unless the matrix sets it.
func ofTerminal(name string) bool {
	return slices.Contains([]string{"TERM", "COLORTERM", "COLUMNS", "LINES", "SHLVL", "_"}, name)
}

// environ is what the commands of a setup get.
func (s Setup) environ() []string {
	return slices.DeleteFunc(slices.Clone(s.Env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, own := s.Own[name]
		return ofTerminal(name) && !own
	})
}

// perform runs the commands of a setup in a room that has their lock files alone, and puts what they left into dir.
func (r *Room) perform(ctx context.Context, s Setup, locks []workspace.File, dir string, in *installed, run Run) ([]workspace.File, error) {
	began := time.Now()
	r.mu.Lock()
	r.stays++
	stay, err := r.stayIn(fmt.Sprintf("setup%d", r.stays), true)
	layers := len(r.layers)
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	defer stay.discard()
	open := func() (*os.Root, error) { return os.OpenRoot(r.tree.dir) }
	if layers > 0 { // what a line wrote is not in it, and came back
		open = r.snapshot.Open
	}
	source, err := open()
	if err != nil {
		return nil, err
	}
	defer source.Close()
	stay.locks = newCheckout(filepath.Join(stay.dir, "locks"), locks)
	if err := stay.locks.sync(ctx, source); err != nil {
		return nil, err
	}
	tools := r.toolsOf(s)
	for _, argv := range s.Commands {
		stay.sees, stay.open = slices.Clone(tools), nil
		c := &process.Command{Argv: argv, Dir: r.o.Root, Env: s.environ()}
		if err := stay.Prepare(c); err != nil {
			return nil, err
		}
		if err := run(ctx, c); err != nil {
			return nil, err
		}
		in.Lowered = append(in.Lowered, stay.Shared()...)
	}
	t := &taking{room: r, stay: stay, dir: dir}
	if err := t.takeAll(ctx, s.Keep); err != nil {
		return nil, err
	}
	in.Lowered = slices.Compact(slices.Sorted(slices.Values(append(in.Lowered, t.open...))))
	in.Took = time.Since(began)
	return t.files, nil
}

// A taking copies what a setup left.
type taking struct {
	room  *Room
	stay  *Stay
	dir   string // it is copied to
	files []workspace.File
	from  []origin // of files, by index
	other []string // what would be a file of the project
	wrote []string // lock files that it changed
	open  []string // where links lead to that the user can change
}

// An origin is where a file lies that a setup left.
type origin struct {
	root *os.Root
	name string // in root, with slashes
	seen string // where commands saw it
}

func (t *taking) takeAll(ctx context.Context, keep []string) error {
	r := t.room
	upper, err := os.OpenRoot(filepath.Join(t.stay.dir, "upper"))
	if err != nil {
		return err
	}
	defer upper.Close()
	if err := t.take(ctx, origin{upper, "", r.snapshot.Root}, "tree"); err != nil {
		return err
	}
	home, in, place := r.home(), "", ""
	for _, p := range r.places {
		if rel, ok := git.Within(p.Path, home); ok { // the innermost comes last
			in, place = rel, filepath.Join(t.stay.dir, filepath.Base(p.From))
		}
	}
	if len(keep) > 0 {
		root, err := os.OpenRoot(place)
		if err != nil {
			return err
		}
		defer root.Close()
		for _, name := range keep {
			from := path.Join(in, name)
			if info, err := root.Lstat(filepath.FromSlash(from)); err != nil || !info.IsDir() {
				continue
			}
			if err := t.take(ctx, origin{root, from, filepath.Join(home, filepath.FromSlash(name))}, "home/"+name); err != nil {
				return err
			}
		}
	}
	switch {
	case len(t.wrote) > 0:
		return fmt.Errorf("it changed %s, which decides what it installs: use a command that installs what is locked, such as npm ci", list(t.wrote))
	case len(t.other) > 0:
		return ignoreFirst(t.other)
	case len(t.files) == 0 && len(keep) == 0: // else there was nothing to download, maybe
		return errors.New("it left nothing in the project; [clean] keep names directories below the home directory in which it installs")
	}
	// By path, of which one of two that [clean] keep has twice stays.
	order := make([]int, len(t.files))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(t.files[a].Path, t.files[b].Path) })
	order = slices.CompactFunc(order, func(a, b int) bool { return t.files[a].Path == t.files[b].Path })
	files, from2 := make([]workspace.File, len(order)), make([]origin, len(order))
	for i, at := range order {
		files[i], from2[i] = t.files[at], t.from[at]
	}
	t.files, t.from = files, from2
	if err := t.copy(ctx); err != nil {
		return err
	}
	c := newCheckout(t.dir, t.files)
	c.when = timeOf(t.files)
	if err := c.retime(); err != nil {
		return err
	}
	for i := range t.files {
		if f := &t.files[i]; f.Kind == workspace.Link {
			t.link(t.from[i].seen, f.Target)
		}
	}
	return nil
}

// take lists what is below from, as what is below name in the manifest.
func (t *taking) take(ctx context.Context, from origin, name string) error {
	dir, entries, err := openDir(from.root, from.name)
	if err != nil {
		return err
	}
	dir.Close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	rel, tree := strings.CutPrefix(name+"/", "tree/")
	if len(entries) == 0 && (!tree || rel != "") {
		t.add(workspace.File{Path: name, Kind: workspace.Repository}, from)
	}
	for _, d := range entries {
		inner, at := name+"/"+d.Name(), origin{from.root, path.Join(from.name, d.Name()), filepath.Join(from.seen, d.Name())}
		rel := rel + d.Name()
		switch {
		case tree && d.Name() == ".git":
			continue
		case tree && t.stay.locks.has(rel):
			if same, err := t.stay.locks.unchanged(ctx, at.root, at.name); err != nil || !same {
				t.wrote = append(t.wrote, rel)
			}
			continue
		case d.IsDir():
			if err := t.take(ctx, at, inner); err != nil {
				return err
			}
			continue
		case !d.Type().IsRegular() && d.Type() != fs.ModeSymlink: // sockets, and marks of what was removed
			if _, dir := t.stay.locks.dirs[rel]; tree && dir {
				t.wrote = append(t.wrote, rel)
			}
			continue
		}
		// What would be left out decides as much as what is kept, and [Room.key] knows of no ignore file and no link of this snapshot.
		if tree && !t.room.apartFrom(rel) {
			t.other = append(t.other, rel)
			continue
		}
		f := workspace.File{Path: inner}
		if d.Type() == fs.ModeSymlink {
			f.Kind = workspace.Link
		}
		t.add(f, at)
	}
	return nil
}

func (t *taking) add(f workspace.File, from origin) {
	t.files, t.from = append(t.files, f), append(t.from, from)
}

// link notes a link that leads to what the user can change.
func (t *taking) link(at, target string) {
	t.room.mu.Lock()
	defer t.room.mu.Unlock()
	if text := t.room.opens(at, target); text != "" && len(t.open) < maxOpen {
		t.open = append(t.open, text+"an installed link leads to")
	}
}

// copy copies what was listed, and takes the digests on the way.
func (t *taking) copy(ctx context.Context) error {
	c := newCheckout(t.dir, t.files)
	for name := range c.dirs {
		if err := os.MkdirAll(c.at(name), 0o755); err != nil {
			return err
		}
		if err := os.Chmod(c.at(name), 0o755); err != nil { // whatever the umask: what is kept is compared with this
			return err
		}
	}
	const share = 32
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(min(4, max(2, runtime.GOMAXPROCS(0))))
	for first := 0; first < len(t.files); first += share {
		g.Go(func() error {
			buf := make([]byte, 64<<10)
			for i := first; i < min(first+share, len(t.files)); i++ {
				f, from := &t.files[i], t.from[i]
				if f.Kind == workspace.Repository {
					continue
				}
				if err := copyOut(ctx, from.root, from.name, c.at(f.Path), f, buf); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// maxKept is how many results of setups are kept for one working tree.
const maxKept = 3

// again is how long a run waits until it looks once more whether another has installed the same.
const again = 50 * time.Millisecond

// setupPatience is how long a run waits for the setup of another one, which would be the same. A setup fetches what lock files name, which takes minutes
// at most on most machines. Who holds the lock for longer may be stopped, or have nothing to do with a setup; a second setup costs time and the network, no more.
const setupPatience = 5 * time.Minute

// A maker installs, into a directory that is there, and returns what is in it.
type maker func(dir string) ([]workspace.File, error)

// obtain finds what was installed for the key of in, or has it made, and holds it until the room is closed: nobody removes it meanwhile.
// Two runs make it once: the second waits for the first, as long as [setupPatience], and then makes its own. After a sixtieth of that it says so. What is kept is read again, and made again if it is not what its manifest says.
func (r *Room) obtain(ctx context.Context, in *installed, made maker) error {
	parent := filepath.Join(r.cache, "setup")
	if r.cache == "" || os.MkdirAll(parent, 0o700) != nil {
		return r.installOwn(in, made)
	}
	name := sha256.Sum256([]byte(r.snapshot.Root))
	prefix := hex.EncodeToString(name[:8]) + "-"
	dir := filepath.Join(parent, prefix+hex.EncodeToString(in.Key[:16]))
	patience := cmp.Or(r.o.patience, setupPatience)
	late, told := time.After(patience), time.After(patience/60)
	for {
		lock, err := lockable(dir)
		if err != nil {
			return r.installOwn(in, made)
		}
		done, err := r.held(ctx, in, lock, dir, made)
		if done {
			r.mu.Lock()
			if was := r.unlock; err != nil {
				lock.Close()
			} else {
				r.unlock = func() {
					lock.Close()
					if was != nil {
						was()
					}
				}
			}
			r.mu.Unlock()
			if err == nil {
				sweep(parent, dir, prefix)
			}
			return err
		}
		lock.Close()
		select {
		case <-time.After(again):
		case <-told:
			if r.o.Waits != nil {
				r.o.Waits(fmt.Sprintf("waiting for the setup of another run, which has %s locked; after %v this run makes its own", dir, patience))
			}
		case <-late:
			return r.installOwn(in, made)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lockable opens a directory of this user that is made if need be.
func lockable(dir string) (*os.File, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(int(f.Fd()), &st); err == nil && (int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0) {
		err = errors.New("somebody else could write in it")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// held looks, with its lock, at what is kept in a directory. It is not done while another run installs, or was about to.
func (r *Room) held(ctx context.Context, in *installed, lock *os.File, dir string, made maker) (done bool, err error) {
	fd := int(lock.Fd())
	alone := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil
	if !alone && unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) != nil {
		return false, nil
	}
	var opened, named unix.Stat_t
	if unix.Fstat(fd, &opened) != nil || unix.Lstat(dir, &named) != nil || opened.Dev != named.Dev || opened.Ino != named.Ino {
		return false, nil // it was removed meanwhile
	}
	switch state, err := r.load(ctx, in, dir); {
	case err != nil:
		return true, err
	case state == whole:
		in.Kept = true
	case !alone && state == nothing:
		return false, nil
	case !alone: // others use it
		return true, r.installOwn(in, made)
	default:
		if err := r.fill(in, dir, made); err != nil {
			_ = tempdir.RemoveAll(dir)
			return true, err
		}
	}
	now := time.Now()
	_ = os.Chtimes(dir, now, now) // else it is swept too early
	return true, unix.Flock(fd, unix.LOCK_SH)
}

// The states of a kept result.
const (
	nothing = iota
	damaged
	whole
)

// load reads what is kept in a directory.
func (r *Room) load(ctx context.Context, in *installed, dir string) (state int, err error) {
	text, err := regular.ReadOwn(filepath.Join(dir, "manifest.json"), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nothing, nil
	}
	if err != nil {
		return damaged, nil
	}
	m, files, err := parseManifest(text)
	if err != nil || m.Key != hex.EncodeToString(in.Key[:]) { // else a directory could be given another's name
		return damaged, nil
	}
	sum := sha256.Sum256(text)
	if r.o.Sealed != nil {
		if seal, err := regular.ReadOwn(filepath.Join(dir, "seal"), maxSeal); err != nil || !r.o.Sealed(sealed(in.Key, sum), string(seal)) {
			return damaged, nil
		}
	}
	in.holds(filepath.Join(dir, "files"), files)
	differs, err := in.has.differs(ctx)
	if ctx.Err() != nil {
		return damaged, context.Cause(ctx)
	}
	if err != nil || len(differs) > 0 || in.has.retime() != nil {
		return damaged, nil
	}
	in.Sum, in.Lowered = sum, m.Lowered
	return whole, nil
}

// maxSeal bounds a signature, in bytes.
const maxSeal = 4 << 10

// sealed is what is signed of a kept result: what decided, and what was installed.
func sealed(key, sum [32]byte) [32]byte {
	return sha256.Sum256(append(append([]byte("dialect.setup.seal/1\n"), key[:]...), sum[:]...))
}

// fill makes what is kept in a directory; what was there is removed.
func (r *Room) fill(in *installed, dir string, made maker) error {
	entries, err := os.ReadDir(dir)
	for _, d := range entries {
		err = errors.Join(err, tempdir.RemoveAll(filepath.Join(dir, d.Name())))
	}
	if err != nil {
		return err
	}
	temp, remove, err := tempdir.NewIn(filepath.Dir(dir), tempdir.Room)
	if err != nil {
		return err
	}
	defer remove()
	if err := overlay.Bare(temp); err != nil {
		return err
	}
	files, err := made(filepath.Join(temp, "files"))
	if err != nil {
		return err
	}
	text := newManifest(in.Key, files, in.Lowered).encode()
	in.Sum = sha256.Sum256(text)
	if r.o.Seal != nil {
		seal, err := r.o.Seal(sealed(in.Key, in.Sum))
		if err == nil {
			err = os.WriteFile(filepath.Join(temp, "seal"), []byte(seal), 0o600)
		}
		if err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(temp, "manifest.json"), text, 0o600); err != nil {
		return err
	}
	for _, name := range []string{"files", "seal", "manifest.json"} { // without the last one nothing is there
		if err := os.Rename(filepath.Join(temp, name), filepath.Join(dir, name)); err != nil && (name != "seal" || r.o.Seal != nil) {
			return err
		}
	}
	in.holds(filepath.Join(dir, "files"), files)
	return nil
}

// holds says where that was put which was installed.
func (in *installed) holds(dir string, files []workspace.File) {
	in.dir, in.has = dir, newCheckout(dir, files)
	in.has.when = timeOf(files)
}

// Collect removes what setups installed and no run used for so long, 0 for none, and returns how many there were.
func Collect(cache string, age time.Duration, dry bool) (n int, err error) {
	parent := filepath.Join(cache, "setup")
	entries, err := os.ReadDir(parent)
	if cache == "" || errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, d := range entries {
		info, e := d.Info()
		if e != nil || !d.IsDir() || !isKept(d.Name()) || age == 0 || time.Since(info.ModTime()) < age {
			continue
		}
		if dry || removeUnused(filepath.Join(parent, d.Name())) == nil {
			n++
		}
	}
	return n, err
}

// installOwn makes what is installed for this run alone.
func (r *Room) installOwn(in *installed, made maker) error {
	r.mu.Lock()
	r.stays++
	dir := filepath.Join(r.dir, fmt.Sprintf("installed%d", r.stays))
	r.mu.Unlock()
	files, err := made(dir)
	if err != nil {
		return err
	}
	in.Sum = sha256.Sum256(newManifest(in.Key, files, in.Lowered).encode())
	in.holds(dir, files)
	return nil
}

package cleanroom

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/runtime/overlay"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/tempdir"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A Source takes snapshots of the working tree; *workspace.Tracker is one.
type Source interface {
	Take(ctx context.Context) (*workspace.Snapshot, error)
	Forget()
}

// Options say how a room is made.
type Options struct {
	Root   string   // the project's directory, as commands are given it
	Cache  string   // where checkouts are kept from run to run; empty to keep none
	Temp   string   // where the folder of the run is made; empty for $TMPDIR
	Helper []string // a command that calls [Furnish]: see [process.Room]

	// Apart keeps commands in a pid namespace of their own, see [process.Room], and from what other commands of the run leave
	// in the home directory and the temporary ones.
	Apart bool

	// Confined says that no command runs in a room without namespaces, and that nothing of the room is anywhere but in Cache and
	// Temp: commands and others of the user are not to reach it.
	Confined bool

	// Away is what commands do not see; nil for nothing.
	Away *Away

	// Asker is the user for whom commands run apart; 0 for that of this process.
	Asker int

	// Seal signs the digest of what a setup installed, and Sealed says whether a signature is one that counts: what was kept without one is
	// not used. Both are nil for a run that signs nothing.
	Seal   func(sum [32]byte) (string, error)
	Sealed func(sum [32]byte, seal string) bool

	Git git.Runner // starts git; nil for this process

	Waits    func(text string) // is called once the room has waited a while for the setup of another run, with whom it waits for; nil for nobody
	patience time.Duration     // how long it waits; 0 for setupPatience

	// Share are directories and files of the machine that commands see: see plan.Clean.
	Share []string
}

// A Room is the place of the commands of one run. It is made with the first snapshot, by [Room.Take].
type Room struct {
	o      Options
	source Source

	mu       sync.Mutex
	asked    bool   // Take was called
	cache    string // see kept
	again    bool   // the checkout is to be read again
	err      error
	snapshot *workspace.Snapshot
	tree     *checkout                  // of the first snapshot
	now      *checkout                  // the same directory, with the files of snapshot: a line may have written since
	layers   []*layer                   // what lines wrote, the last one first
	gathered int                        // of layers
	origins  map[string]*workspace.File // what files were before lines of the run changed them, where that is not as in tree; nil for those that lines made
	over     map[string][]string        // what they wrote of what they see of the machine, by [sight].Own, the last one first
	format   git.ObjectFormat
	unlock   func()
	dir      string // of the run
	parent   string // of dir
	remove   func()
	real     string // Options.Root without links
	places   []place
	objects  string   // of the repository; empty for none
	strays   []string // what is there beside them, which commands do not see
	marks    string   // a layer that hides the strays; empty for none
	hasGit   bool
	history  *workspace.History
	git      string // a layer with the .git
	gits     int    // how many were made
	open     string // why the room is unconfined; empty if it is not
	stays    int
	known    *ways

	installing chan struct{} // holds one who calls Install
	installed  *installed    // nil for nothing
}

// A place is a directory of the machine that commands see empty when the run begins.
type place struct {
	Path string // without links
	From string // what they see instead
}

// New returns the room of a run. Nothing is made before the first Take.
func New(source Source, o Options) *Room {
	return &Room{o: o, source: source, over: make(map[string][]string), origins: make(map[string]*workspace.File), installing: make(chan struct{}, 1)}
}

// Take returns the snapshot that commands run on. The first call takes it, and makes the room; where
// that fails no command can be let in. After [Room.Forget] the checkout is read once more: the error says
// that it is not the snapshot any more.
func (r *Room) Take(ctx context.Context) (*workspace.Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.asked {
		r.asked = true
		s, err := r.source.Take(ctx)
		if err != nil {
			r.err = err
			return nil, err
		}
		if r.snapshot = s; r.err == nil {
			r.err = r.make(ctx)
		}
		return s, nil
	}
	if r.snapshot == nil || r.err != nil && len(r.layers) > 0 { // after a line that wrote
		return nil, r.err
	}
	if again := r.again; again && r.err == nil {
		r.again = false
		look := r.tree.changed
		if r.open != "" { // its commands run in it
			look = r.tree.differs
		}
		differs, err := look(ctx)
		if r.open != "" { // a file that they added changes none of the others
			differs = slices.DeleteFunc(differs, func(name string) bool { return !r.tree.has(name) })
		}
		if in := r.installed; err == nil && in != nil && in.has != nil {
			var more []string
			if more, err = in.has.changed(ctx); err == nil {
				for _, name := range more {
					differs = append(differs, "installed "+cmp.Or(name, "."))
				}
			}
		}
		for _, l := range r.layers {
			var more []string
			if err == nil {
				more, err = l.differs(ctx)
			}
			differs = append(differs, more...)
		}
		if err == nil && len(differs) > 0 {
			err = &ChangedError{differs}
		}
		if err != nil {
			return nil, err
		}
	}
	return r.snapshot, nil
}

// A ChangedError says that the checkout is not the snapshot any more.
type ChangedError struct{ Paths []string }

func (e *ChangedError) Error() string {
	return "the clean checkout was changed while the run lasted: " + list(e.Paths)
}

// Forget makes the next Take read the checkout again.
func (r *Room) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.again = true
}

// Unconfined says why the commands are not confined to the room; empty if they are.
func (r *Room) Unconfined() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open
}

// Close takes away what the room left on disk, but for the checkout that is kept.
func (r *Room) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.remove != nil {
		r.remove()
		r.remove = nil
	}
	if r.unlock != nil {
		r.unlock()
		r.unlock = nil
	}
	r.err = errors.New("the run is over")
}

// make makes the room of the first snapshot.
func (r *Room) make(ctx context.Context) (err error) {
	if r.real, err = filepath.EvalSymlinks(r.o.Root); err != nil {
		return err
	}
	s := r.snapshot
	root := s.Root
	if _, ok := git.Within(root, r.real); !ok {
		return fmt.Errorf("the project in %s is not in the working tree %s", r.real, root)
	}
	if filepath.Dir(root) == root {
		return fmt.Errorf("the working tree is the root of the file system: there is nothing that could be hidden around it")
	}
	h, err := workspace.ReadHistory(ctx, root, workspace.Options{Git: r.o.Git})
	switch {
	case err == nil:
		r.hasGit = true
	case s.Tree == "" && !errors.Is(err, context.Canceled):
		h = &workspace.History{Format: git.FormatSHA1} // the snapshot was taken without git, too
	default:
		return fmt.Errorf("the history of %s cannot be read: %w", root, err)
	}
	files, err := checkable(slices.Collect(s.Checkout(h.Format)))
	if err != nil {
		return err
	}
	temp := cmp.Or(r.o.Temp, os.TempDir())
	if below(root, temp) {
		if r.o.Confined {
			return fmt.Errorf("the folder of the room, %s, is in the working tree", temp)
		}
		temp = "/tmp" // else the room would be a part of the next snapshot
	}
	if err := r.begin(temp); err != nil {
		return err
	}
	if err := r.furnishable(ctx); err != nil {
		if r.o.Confined {
			return fmt.Errorf("no command can be kept in a clean checkout: %w", err)
		}
		r.open = err.Error()
	}
	r.cache = r.kept()
	cache := r.cache
	if r.open != "" {
		cache = "" // commands write in it
	}
	live, err := s.Open()
	if err != nil {
		return err
	}
	defer live.Close()
	if r.tree, r.unlock, err = keep(ctx, cache, filepath.Join(r.dir, "tree"), files, live); err != nil {
		return err
	}
	r.now, r.format, r.history = r.tree, h.Format, h
	if !r.hasGit {
		return nil
	}
	if !r.o.Apart { // else nothing of it is shown
		if r.objects, err = filepath.EvalSymlinks(h.Objects); err == nil {
			err = r.withheld(r.objects)
		}
		if dir, e := filepath.EvalSymlinks(filepath.Dir(h.Objects)); err == nil && (e != nil || r.objects != filepath.Join(dir, filepath.Base(h.Objects))) {
			err = fmt.Errorf("%s leads to %s, which is not in it: a clean checkout would show what is there", h.Objects, r.objects)
		}
		if err == nil {
			r.strays, err = strays(r.objects, h.Format)
		}
		if err != nil {
			return fmt.Errorf("the objects of the repository: %w", err)
		}
		r.marks = r.hideStrays()
	}
	if err := r.newGit(r.begun()); err != nil || r.open == "" {
		return err
	}
	return os.Rename(filepath.Join(r.git, ".git"), filepath.Join(r.tree.dir, ".git"))
}

// newGit makes the .git that commands see from now on.
func (r *Room) newGit(v view) error {
	r.gits++
	r.git = filepath.Join(r.dir, fmt.Sprintf("git%d", r.gits))
	return r.dotGit(r.git, v)
}

// shown is the path of a file as commands see it now: of the last line that wrote it, else of the checkout.
func (r *Room) shown(name string) string {
	for _, l := range r.layers {
		if l.has.has(name) {
			return l.has.at(name)
		}
	}
	return r.tree.at(name)
}

// below reports whether a path, of which nothing need be there yet, is in a directory without links.
func below(dir, path string) bool {
	for ; path != "" && path != filepath.Dir(path); path = filepath.Dir(path) {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			_, in := git.Within(dir, real)
			return in
		}
	}
	return false
}

// begin makes the folder of the run.
func (r *Room) begin(parent string) (err error) {
	if r.remove != nil {
		r.remove()
		r.remove = nil
	}
	if r.dir, r.remove, err = tempdir.NewIn(parent, tempdir.Room); err != nil {
		return err
	}
	if err := overlay.Bare(r.dir); err != nil { // what is made in it has the modes that it is given
		return err
	}
	r.parent = parent
	if r.dir, err = filepath.EvalSymlinks(r.dir); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(r.dir, "empty"), 0o755); err != nil {
		return err
	}
	r.places = nil
	for i, path := range private(r.snapshot.Root, cmp.Or(r.o.Asker, os.Geteuid())) {
		r.places = append(r.places, place{path, filepath.Join(r.dir, "place"+strconv.Itoa(i))})
	}
	if !r.o.Apart { // else each stay has its own
		if err := r.makePlaces(r.dir); err != nil {
			return err
		}
	}
	return os.Mkdir(filepath.Join(r.dir, "home"), 0o755)
}

// makePlaces makes what commands see instead of the places, empty.
func (r *Room) makePlaces(dir string) error {
	for _, p := range r.places {
		from, mode := filepath.Join(dir, filepath.Base(p.From)), os.FileMode(0o755)
		if p.Path == "/tmp" || p.Path == "/var/tmp" || p.Path == "/run/lock" || p.Path == "/var/crash" {
			mode = 0o777 | os.ModeSticky
		}
		if err := errors.Join(os.Mkdir(from, mode), os.Chmod(from, mode)); err != nil {
			return err
		}
	}
	return nil
}

// furnishable finds out whether commands can have the room in namespaces. A folder of the run whose
// file system cannot be the upper layer of an overlay, as that of a container, is put elsewhere.
func (r *Room) furnishable(ctx context.Context) error {
	if !process.Namespaces || r.o.Helper == nil {
		return errors.New("this system has no mount namespaces")
	}
	err := r.try(ctx)
	if err == nil || ctx.Err() != nil || r.o.Confined {
		return err
	}
	const other = "/dev/shm"
	if info, e := os.Stat(other); e != nil || !info.IsDir() || r.parent == other {
		return err
	}
	was := r.parent
	if e := r.begin(other); e == nil && r.try(ctx) == nil {
		return nil
	}
	return errors.Join(err, r.begin(was))
}

// try furnishes a room with nothing in it.
func (r *Room) try(ctx context.Context) error {
	l, err := process.New(process.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	s, err := r.stay("try")
	if err != nil {
		return err
	}
	defer s.discard()
	room, err := r.namespace(s, []string{filepath.Join(r.dir, "empty")})
	if err != nil {
		return err
	}
	return l.Try(ctx, room)
}

// A Stay is that of one command in the room.
type Stay struct {
	room  *Room
	dir   string // holds upper, work and merged
	bind  []string
	sees  []sight
	kept  []sight  // likewise, of what a setup left in the home directory
	open  []string // where its environment leads to that the asker's user can change
	left  []string // what lowers the claim of what lines before it left
	rests []string // what else decided what it leaves itself

	apart bool       // it has its own places
	locks *checkout  // all that the commands of a setup see of the project; nil for other commands
	after *installed // what it sees of a setup; nil for nothing

	edits string         // a layer above all others; empty for none
	git   string         // with the .git of the edits; empty for none
	undo  []func() error // of the edits in an unconfined room
}

// A sight is what a command sees of the machine beside the system. What it writes there, where it can, is its own.
type sight struct {
	Name string // for people
	Path string // without links
	To   string // where it is seen
	Own  string // the name of a directory of the stay, for what is written there; empty where nothing can be

	is fs.FileInfo // what was at Path when it was looked up; nil where nothing of it is read
}

// Enter lets a command in. End must be called when it has ended.
func (r *Room) Enter() (*Stay, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.err != nil:
		return nil, fmt.Errorf("there is no clean room to run it in: %w", r.err)
	case r.snapshot == nil:
		return nil, errors.New("there is no clean room to run it in: no snapshot was taken")
	}
	r.stays++
	s, err := r.stay(strconv.Itoa(r.stays))
	if err != nil {
		return nil, err
	}
	if in := r.installed; in != nil && in.err == nil {
		s.after = in
	}
	s.left = r.left()
	return s, nil
}

func (r *Room) stay(name string) (*Stay, error) { return r.stayIn(name, r.o.Apart) }

func (r *Room) stayIn(name string, apart bool) (*Stay, error) {
	s := &Stay{room: r, dir: filepath.Join(r.dir, "stay-"+name), apart: apart}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return nil, err
	}
	for _, name := range []string{"upper", "work", "merged"} {
		dir := filepath.Join(s.dir, name)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o755)); err != nil { // a command sees the mode of upper
			return nil, err
		}
	}
	if apart {
		if err := r.makePlaces(s.dir); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Installed is what a setup left for the command; nil for nothing.
func (s *Stay) Installed() *Installed {
	if s.after == nil {
		return nil
	}
	return &s.after.Installed
}

func (s *Stay) discard() { _ = tempdir.RemoveAll(s.dir) } // else it goes with the run

// Show makes a directory of the machine visible to the command, which may write in it.
func (s *Stay) Show(dir string) { s.bind = append(s.bind, dir) }

// Prepare changes a command so that it runs in the room.
func (s *Stay) Prepare(c *process.Command) error {
	r := s.room
	r.mu.Lock() // a line beside it may hand on what it wrote
	defer r.mu.Unlock()
	if c.LookupDir == "" {
		c.LookupDir = c.Dir
	}
	dir, err := r.inside(c.Dir)
	if err != nil {
		return err
	}
	lookup, err := r.inside(c.LookupDir)
	if err != nil {
		return err
	}
	c.Env = r.environ(c.Env)
	if r.open != "" {
		if len(r.o.Share) > 0 {
			return fmt.Errorf("%s cannot be shared with a room without namespaces (%s)", list(r.o.Share), r.open)
		}
		c.Dir, c.LookupDir = r.moved(dir), r.moved(lookup)
		return nil
	}
	c.Dir, c.LookupDir = dir, lookup
	if err := s.shared(); err != nil {
		return err
	}
	s.tool(c.Argv[0], c.Env)
	if in := s.after; in != nil {
		for _, v := range in.tools {
			s.see(v)
		}
		for i, name := range in.keep {
			s.kept = append(s.kept, sight{
				Path: filepath.Join(in.dir, "home", filepath.FromSlash(name)), To: filepath.Join(r.home(), filepath.FromSlash(name)), Own: "kept" + strconv.Itoa(i),
			})
		}
	}
	if r.o.Apart {
		s.reach(c.Env)
	}
	c.Room, err = r.namespace(s, s.lower())
	return err
}

// lower are the layers of the checkout that the command sees, the uppermost first. What was installed is below all others: it takes
// the place of no file of the project.
func (s *Stay) lower() (lower []string) {
	if s.locks != nil {
		return []string{s.locks.dir}
	}
	if s.edits != "" {
		lower = append(lower, s.edits)
	}
	return append(lower, s.given()...)
}

// given is lower without edits.
func (s *Stay) given() (lower []string) {
	r := s.room
	for _, l := range r.layers {
		lower = append(lower, l.dir)
	}
	if r.hasGit {
		lower = append(lower, cmp.Or(s.git, r.git))
	}
	lower = append(lower, r.tree.dir)
	if s.after != nil && s.after.has != nil && s.after.has.below("tree") != nil {
		lower = append(lower, filepath.Join(s.after.dir, "tree"))
	}
	return lower
}

// Files are what the command sees of the working tree, as it is now: what it wrote is over what it was given. What [Stay.Edit] changed is as it
// was. They come after [Stay.Prepare] and before the stay has ended, and are to be closed.
func (s *Stay) Files() (*overlay.Tree, error) {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open != "" {
		return overlay.New([]string{r.tree.dir})
	}
	var mounts []overlay.Mount
	for _, v := range s.sees {
		at, in := git.Within(r.snapshot.Root, v.To)
		if !in {
			continue
		}
		if now, err := os.Lstat(v.Path); err != nil || v.is == nil || !os.SameFile(now, v.is) {
			return nil, errors.Join(fmt.Errorf("%s is not what commands were shown there any more", short(v.To)), err)
		}
		m := overlay.Mount{At: at}
		if own := filepath.Join(s.dir, v.Own, "upper"); v.Own != "" {
			if _, err := os.Lstat(own); err == nil {
				m.Layers = append([]string{own}, r.over[v.Own]...)
			}
		}
		m.Layers = append(m.Layers, v.Path)
		mounts = append(mounts, m)
	}
	return overlay.New(append([]string{filepath.Join(s.dir, "upper")}, s.given()...), mounts...)
}

// In is the path of a file of the working tree in [Stay.Files].
func (s *Stay) In(name string) (string, error) {
	full, err := s.room.inside(name)
	if err != nil {
		return "", err
	}
	rel, _ := git.Within(s.room.snapshot.Root, full)
	return cmp.Or(rel, "."), nil
}

// End takes away what the command wrote, and returns the files of the snapshot that it changed or
// removed. In an unconfined room they stay changed for the commands after it.
func (s *Stay) End(ctx context.Context) (changed []string, err error) {
	defer s.discard()
	r := s.room
	r.mu.Lock()
	now := r.now
	if r.open == "" {
		r.mu.Unlock()
		return now.changedBy(ctx, filepath.Join(s.dir, "upper"))
	}
	defer r.mu.Unlock()
	restored := s.restore()
	differs, err := r.tree.differs(ctx)
	return slices.DeleteFunc(differs, func(name string) bool { return !r.tree.has(name) }), errors.Join(restored, err)
}

// Holds reports whether the snapshot has a file of these bytes, by the hexadecimal digits of their SHA-256, at an absolute path.
func (r *Room) Holds(path, sum string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.snapshot == nil || path == "" {
		return false
	}
	if inside, err := r.inside(path); err == nil {
		path = inside
	}
	f := r.snapshot.Lookup(path)
	return f.File && hex.EncodeToString(f.SHA256[:]) == sum
}

// Lower names what beside the files decided what the command leaves. It comes before [Stay.Keep], and lowers the claim of the commands after
// it that see ignored files of that.
func (s *Stay) Lower(by string) { s.rests = append(s.rests, by) }

// inside returns a directory of the project without the links above the project.
func (r *Room) inside(dir string) (string, error) {
	if rel, ok := git.Within(r.o.Root, dir); ok {
		return filepath.Join(r.real, filepath.FromSlash(rel)), nil
	}
	if _, ok := git.Within(r.snapshot.Root, dir); ok {
		return dir, nil
	}
	return "", fmt.Errorf("its directory %s is not in the working tree: a clean room has no other files", dir)
}

// moved returns where an unconfined room has a path of the working tree.
func (r *Room) moved(path string) string {
	rel, _ := git.Within(r.snapshot.Root, path)
	return filepath.Join(r.tree.dir, filepath.FromSlash(rel))
}

// home is the home directory of commands.
func (r *Room) home() string {
	if r.open != "" {
		return filepath.Join(r.dir, "home")
	}
	home := homes()
	if len(home) > 0 && slices.ContainsFunc(r.places, func(p place) bool { return p.Path == home[0] }) {
		return home[0]
	}
	return "/tmp" // private as well
}

// environ changes an environment to that of the room.
func (r *Room) environ(env []string) []string {
	set := map[string]string{"HOME": r.home(), "GOTOOLCHAIN": "local"}
	if r.open != "" {
		set["TMPDIR"] = filepath.Join(r.dir, "home")
	}
	out := make([]string, 0, len(env)+len(set))
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case name == "HOME", name == "TMPDIR", name == "GOTOOLCHAIN", name == "PWD", name == "OLDPWD", strings.HasPrefix(name, "XDG_"):
		case name == "PATH" && r.open != "":
			// A tool in the working tree is not that of the checkout.
			dirs := slices.DeleteFunc(filepath.SplitList(value), func(dir string) bool { return r.live(dir) })
			out = append(out, "PATH="+strings.Join(dirs, string(filepath.ListSeparator)))
		default:
			out = append(out, kv)
		}
	}
	for _, name := range []string{"GOTOOLCHAIN", "HOME", "TMPDIR"} {
		if value, ok := set[name]; ok {
			out = append(out, name+"="+value)
		}
	}
	return out
}

// live reports whether a directory is in the working tree.
func (r *Room) live(dir string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	_, ok := git.Within(r.snapshot.Root, dir)
	return ok
}

// Root is the root of the working tree; empty before [Room.Take].
func (r *Room) Root() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.snapshot == nil {
		return ""
	}
	return r.snapshot.Root
}

// Ignores reports whether a file at a path from the root of the working tree, with slashes, is left out of the snapshot because an
// ignore file hides it.
func (r *Room) Ignores(rel string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snapshot != nil && r.snapshot.LookupIn(rel).Hidden == workspace.Ignored
}

// Hidden reports whether the room hides a file of the machine, and under which directory.
func (r *Room) Hidden(path string) (dir string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open != "" || r.snapshot == nil {
		return "", false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if _, ok := git.Within(r.snapshot.Root, path); ok {
		return "", false
	}
	for _, p := range r.places {
		if _, ok := git.Within(p.Path, path); ok {
			return p.Path, true
		}
	}
	return "", false
}

// checkable returns the files of a snapshot, unless one of them cannot be checked out, or must not be.
func checkable(files []workspace.File) ([]workspace.File, error) {
	var bad []string
	why := ""
	for i := range files {
		f := &files[i]
		switch {
		case f.Kind == workspace.Special:
			bad, why = append(bad, f.Path), "no FIFO, socket or device can be in a clean room: remove it, or ignore it in a tracked .gitignore"
		case f.LeavesTree != "":
			bad, why = append(bad, f.Path+" -> "+f.Target), "a clean room has no link that leads out of the tree: ignore it in a tracked .gitignore, or have it lead into the tree by a relative path"
		}
	}
	if len(bad) > 0 {
		return nil, fmt.Errorf("%s: %s", list(bad), why)
	}
	return files, nil
}

// list is some of names, for a message.
func list(names []string) string {
	const most = 5
	return some(names, most)
}

func some(names []string, most int) string {
	var shown []string
	for _, n := range names[:min(len(names), most)] {
		shown = append(shown, git.Display(cmp.Or(n, ".")))
	}
	text := strings.Join(shown, ", ")
	if n := len(names) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

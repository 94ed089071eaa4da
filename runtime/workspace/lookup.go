package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A Found is what a snapshot, or a commit, has of the file at an absolute path. The zero Found
// says that nothing is there.
type Found struct {
	File   bool     // a regular file is there, and it counts
	SHA256 [32]byte // of its raw content; of a commit, of its blob
	Links  []string // the links on the way to it below the root, as "path -> target"

	Outside bool // the path is not below the root of the worktree
	// Hidden says why a file at the path does not count, or would not: [Ignored], "is in a cache, X". It is
	// empty where no file can be unseen.
	Hidden string
}

// Ignored is what [Found.Hidden] says of what an ignore file hides.
const Ignored = "is ignored"

// InCache is what it begins with for what is in a cache.
const InCache = "is in a cache, "

// Lookup returns what the snapshot has of the file at an absolute path. Below the root it follows
// the links of the snapshot, each of which has to count, and it does not look at the disk.
func (s *Snapshot) Lookup(name string) Found {
	rel, ok := relative(s.Root, name)
	if !ok || s.Root == "" {
		return Found{Outside: true}
	}
	return s.LookupIn(rel)
}

// LookupIn is [Snapshot.Lookup] of a path from the root, with slashes.
func (s *Snapshot) LookupIn(rel string) Found {
	at, e, links, why := s.entries.follow("", rel)
	f := Found{Links: links}
	switch {
	case e != nil && e.kind.regular():
		f.File, f.SHA256 = true, e.sum
	case why == leadsOutside || why == leadsRound || why == leadsFar:
		f.Hidden = "is " + why
	case e == nil && s.hides != nil:
		f.Hidden = s.hides(at)
	}
	return f
}

// Lookup returns what the commit has of the file at an absolute path; see [Snapshot.Lookup].
func (c *Commit) Lookup(ctx context.Context, name string) (Found, error) {
	rel, ok := relative(c.store.r.Root, name)
	if !ok {
		return Found{Outside: true}, nil
	}
	content, links, err := c.find(ctx, rel)
	if errors.Is(err, fs.ErrNotExist) {
		return Found{}, nil
	}
	return Found{File: err == nil, SHA256: sha256.Sum256(content), Links: links}, err
}

// Place is [Place] of a directory in the commit: its name below the root, through the links that the commit has, and none that is here. ok is false for
// one that is not below the root.
func (c *Commit) Place(ctx context.Context, dir string) (at string, ok bool) {
	const file = "x" // any name: dir may be the root itself
	if at, ok = relative(c.store.r.Root, filepath.Join(dir, file)); !ok {
		return "", false
	}
	at = path.Dir(at)
	_, links, _ := c.find(ctx, at) // each link is on the way that those before it make
	for _, l := range links {
		from, target, _ := strings.Cut(l, " -> ")
		if rest, on := strings.CutPrefix(at+"/", from+"/"); on {
			at = path.Join(path.Dir(from), target, rest)
		}
	}
	if at == "." {
		at = ""
	}
	return at, true
}

// relative returns the path of a file below the root of a worktree. Links above the worktree are
// followed as the file system has them; links in it are names that a snapshot or a commit has to hold
// as well. So the outermost directory of the path that is in the worktree counts.
func relative(root, name string) (string, bool) {
	name = filepath.Clean(name)
	for i := 0; i < len(name); i++ {
		if name[i] != filepath.Separator {
			continue
		}
		if real, err := filepath.EvalSymlinks(name[:max(i, 1)]); err == nil {
			if rel, ok := git.Within(root, real); ok {
				return path.Join(rel, filepath.ToSlash(name[i+1:])), true
			}
		}
	}
	return "", false
}

// An entryList is the entries of a snapshot, sorted by path.
type entryList []*entry

// find returns the entry of a path; nil if there is none.
func (l entryList) find(name string) *entry {
	i := sort.Search(len(l), func(i int) bool { return l[i].path >= name })
	if i == len(l) || l[i].path != name {
		return nil
	}
	return l[i]
}

// below returns the entries inside a directory.
func (l entryList) below(dir string) entryList {
	if dir == "" {
		return l
	}
	first, end := dir+"/", dir+"0" // "0" is the byte after "/"
	from := sort.Search(len(l), func(i int) bool { return l[i].path >= first })
	to := sort.Search(len(l), func(i int) bool { return l[i].path >= end })
	return l[from:to]
}

const (
	leadsOutside = "a link that leads out of the tree"
	leadsRound   = "a link that leads in a circle"
	leadsNowhere = "a link to what does not count: "
	leadsFar     = "a link that leads through more directories than are looked at"
)

// maxWay bounds what is looked at on one way: a component is 1, and 1 more for each 64 bytes of the path before it, which is compared with many
// others. A target of 4 KB has 2,000 of them, and can lead over 40 such links.
const maxWay = 4096

// follow goes from the directory at along the path todo. It looks each component up among the
// entries, and follows links, which it returns as "path -> target". It ends at the
// path last, with the entry there: nil for a directory, or where nothing counts. why says what
// stopped it; it is empty at a file or directory that counts.
func (l entryList) follow(at, todo string) (last string, e *entry, links []string, why string) {
	left := maxWay
	return l.along(at, todo, &left)
}

// lead is follow of the link e itself. The walk has entered its directory, so no component of that is a link.
func (l entryList) lead(e *entry, left *int) (last string, to *entry, why string) {
	dir, base := path.Split(e.path)
	last, to, _, why = l.along(strings.TrimSuffix(dir, "/"), base, left)
	return last, to, why
}

// along is follow, and takes what it looks at off left: nothing is looked at where nothing is left.
func (l entryList) along(at, todo string, left *int) (last string, e *entry, links []string, why string) {
	way := regular.NewWay(todo)
	for name := way.Next(); name != ""; name = way.Next() {
		if *left -= 1 + len(at)/64; *left < 0 {
			return at, nil, links, leadsFar
		}
		if name == ".." {
			if at == "" {
				return at, nil, links, leadsOutside
			}
			if at = path.Dir(at); at == "." {
				at = ""
			}
			continue
		}
		next := path.Join(at, name)
		switch f := l.find(next); {
		case f == nil && len(l.below(next)) == 0:
			return path.Join(next, way.Rest()), nil, links, leadsNowhere + git.Display(next)
		case f == nil, f.kind == kindRepository:
			at = next
		case f.kind == kindLink:
			links = append(links, f.path+" -> "+f.target)
			switch {
			case !way.Follow(f.target):
				return next, nil, links, leadsRound
			case strings.HasPrefix(f.target, "/"):
				return next, nil, links, leadsOutside
			}
		case way.More():
			return path.Join(next, way.Rest()), nil, links, "a link to what is below a file: " + git.Display(next)
		default:
			return next, f, links, ""
		}
	}
	return at, nil, links, ""
}

// hides says why a file at a path that is not an entry of the walk would not count; empty if it would.
func (w *walk) hides(name string) string {
	p := w.places[""]
	why := ""
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		at, dir := name[:i], i < len(name)
		if inner, ok := w.places[at]; ok {
			p, why = inner, "" // the walk was here
			continue
		}
		base := path.Base(at)
		tracked := p.tree.index.Find(p.inside(at), nil) != nil
		switch {
		case base == ".git":
			return "is inside of .git"
		case !dir && tracked:
			return ""
		case why != "":
		case dir && w.caches[base]:
			why = InCache + git.Display(base)
		case w.exempt(at, dir):
			why = "is beside the receipts"
		case !dir && at == w.writing:
			why = "is written by the run"
		default:
			if hidden, err := w.ignores(p, at, base, dir); err != nil {
				why = "may be ignored (" + err.Error() + ")"
			} else if hidden {
				why = Ignored
			}
		}
	}
	return why
}

// Unmerged returns the paths of the files with conflicts in the index of the repository that holds dir, absolute. It is empty where git does not say.
func Unmerged(ctx context.Context, dir string) (paths []string) {
	r, err := git.Discover(ctx, nil, dir)
	if err != nil {
		return nil
	}
	idx, _, err := r.Read(ctx)
	if err != nil || idx.Conflict == "" {
		return nil
	}
	for _, e := range idx.All() {
		if e.Stage > 0 {
			paths = append(paths, filepath.Join(r.Root, filepath.FromSlash(e.Path)))
		}
	}
	return paths
}

// IgnoredIn returns those of names, files in dir, that git ignores: no commit has them unless they are added by force.
// It is empty where no snapshot of dir can be taken.
func IgnoredIn(ctx context.Context, dir string, names ...string) (list []string) {
	s, err := Take(ctx, dir, Options{})
	if err != nil {
		return nil
	}
	for _, name := range names {
		if f := s.LookupIn(path.Join(s.Place, name)); !f.File && f.Hidden == Ignored {
			list = append(list, name)
		}
	}
	return list
}

// Ignores returns those of paths, from the root of the repository at dir, that git ignores and does not track. No filter of the project is started. It is
// empty outside of a repository.
func Ignores(ctx context.Context, run git.Runner, dir string, paths ...string) ([]string, error) {
	r, err := git.Discover(ctx, run, dir)
	if errors.Is(err, git.ErrNoRepository) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out, err := r.Git.Run(ctx, r.Root, git.Here(r.Root), nil, append([]string{"ls-files", "-z", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	tracked := strings.Split(string(out), "\x00")
	paths = slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return slices.Contains(tracked, p) })
	if len(paths) == 0 {
		return nil, nil
	}
	return r.Ignored(ctx, paths)
}

// PassedOver returns those of the first untracked files of s that `git add` passes over, by their paths from the root: an ignore file that is not
// tracked names them, info/exclude, or the user's core.excludesFile. Of a folder whose own ignore file names itself, as tools make them, it returns
// the folder, which ends in a slash. all says that they are all of them. It is empty where git does not say.
func (s *Snapshot) PassedOver(ctx context.Context) (paths []string, all bool) {
	if s.Untracked.Count == 0 {
		return nil, false
	}
	r, err := git.Discover(ctx, nil, s.Root)
	if err != nil {
		return nil, false
	}
	named, err := r.Ignored(ctx, s.Untracked.Paths)
	if err != nil {
		return nil, false
	}
	for _, name := range named {
		if dir := path.Dir(name); path.Base(name) == ".gitignore" && dir != "." {
			paths = append(paths, dir+"/")
		}
	}
	for _, name := range named {
		if !slices.ContainsFunc(paths, func(p string) bool { return p == name || strings.HasSuffix(p, "/") && strings.HasPrefix(name, p) }) {
			paths = append(paths, name)
		}
	}
	slices.Sort(paths)
	return paths, len(named) == len(s.Untracked.Paths)
}

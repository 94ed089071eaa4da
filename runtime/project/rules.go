package project

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// FindMatrix returns the path of the nearest matrix for dir, or of the one that is named, and what
// messages call it. The error is that of [routing.Find], or says that the matrix is a stranger's: what nobody named runs programs only if it belongs
// to this user, to root or to the owner of dir. Anyone can put one into /tmp.
func FindMatrix(dir, name string) (path, shown string, err error) {
	if name != "" {
		if path, err = filepath.Abs(name); err != nil {
			path = name
		}
		return path, name, nil
	}
	path, err = routing.Find(dir)
	if err != nil {
		return "", "", err
	}
	shown = place.Short(path)
	// A link is its own owner's, and what else the folder has, the root of the project, is the folder's.
	info, err := os.Lstat(path)
	folder, ferr := os.Stat(filepath.Dir(path))
	if err = errors.Join(err, ferr); err == nil {
		err = cmp.Or(familiar(dir, shown, info, folder), familiar(dir, shown, folder, folder))
	}
	if err != nil {
		return "", "", err
	}
	return path, shown, nil
}

// Above returns the matrix above dir that binds it, as messages call it; empty if there is none, or dir has one of its own.
func Above(dir string) string {
	path, shown, err := FindMatrix(dir, "")
	if err != nil || place.Same(filepath.Dir(path), dir) {
		return ""
	}
	return shown
}

// familiar returns an error if what info is about, of the matrix that messages call shown, belongs to a stranger; see [FindMatrix].
func familiar(dir, shown string, info, folder fs.FileInfo) error {
	if regular.Familiar(dir, info, folder) {
		return nil
	}
	return &StrangerError{shown, regular.Owner(info)}
}

// A StrangerError says that the nearest matrix is another user's, and so none; see [FindMatrix]. It wraps [routing.ErrNotFound].
type StrangerError struct {
	shown string
	owner int
}

func (e *StrangerError) Error() string {
	return fmt.Sprintf("the matrix %s, which was found above, belongs to the user %d, or its folder does: its programs would run as you; if they may, name it: --routing FILE", e.shown, e.owner)
}

func (e *StrangerError) Unwrap() error { return routing.ErrNotFound }

// read returns what reads the files of the matrix at path, which was found for dir. Whose that is, is asked of the file whose bytes are
// returned: another can be there since [FindMatrix] looked.
func read(dir, path, shown string) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if name != path {
			return routing.ReadFile(name)
		}
		f, err := regular.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err == nil {
			folder, _ := os.Stat(filepath.Dir(path))
			err = familiar(dir, shown, info, folder)
		}
		if err != nil {
			return nil, err
		}
		return routing.Read(f)
	}
}

// LoadMatrix finds and loads the matrix for dir, or the one that is named. If there is none, the error is that of [Gone].
func LoadMatrix(dir, name string) (*routing.Matrix, diag.List, error) {
	path, shown, err := FindMatrix(dir, name)
	if err != nil {
		return nil, nil, Gone(dir, err)
	}
	o := routing.Options{Root: RootOf(dir, path)}
	if name == "" {
		o.ReadFile = read(dir, path, shown)
	}
	m, l := routing.Load(path, shown, o)
	m.Folder = rootFolder(dir, path)
	return m, HideNamed(l, m, nil), nil
}

// RootOf returns the project root for the matrix at path, which was found from dir or named. A file
// called routing.toml makes its folder a root. A matrix of another name, which somebody named, does not: the
// root is that of the project that dir is in, by its routing.toml, else by its repository; if dir is
// in neither, it is the folder of the matrix.
func RootOf(dir, path string) string {
	own := ""
	if rootFolder(dir, path) != "" {
		own, _, _ = FindMatrix(dir, "")
	}
	return rootOf(dir, path, own)
}

// rootOf is [RootOf] where own is the nearest routing.toml for dir; empty for none.
func rootOf(dir, path, own string) string {
	folder := rootFolder(dir, path)
	switch {
	case folder == "":
		return filepath.Dir(path)
	case own != "":
		return filepath.Dir(own)
	}
	return cmp.Or(top(folder), filepath.Dir(path))
}

// rootFolder returns dir, absolute, if what is there decides the root for the matrix at path, and not the name of the matrix.
func rootFolder(dir, path string) string {
	if filepath.Base(path) == routing.FileName {
		return ""
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	return abs
}

// top returns the root of the worktree that dir, absolute, is in, as snapshots have it: git decides what a repository is. It is empty where there is none.
func top(dir string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second) // where the files do not suffice, git is asked
	defer cancel()
	r, _ := git.Discover(ctx, nil, dir) // with an error it has a root, too
	return r.Root
}

// LoadMatrixOf is [LoadMatrix] with the bytes that the commit rev has: of the nearest matrix in the
// commit, or, where it has none, in the place of the one that is here, which is Absent then, and
// loads with an error. Files outside of the repository are in no commit; they are read as they
// are, but for a matrix above it that nobody named, which the commit does not have: the error wraps [routing.ErrNotFound] then. The commit is nil where rev
// names none.
func LoadMatrixOf(ctx context.Context, rev, dir, name string) (*workspace.Commit, *routing.Matrix, diag.List, error) {
	path, shown, err := FindMatrix(dir, name)
	root := dir
	if err == nil {
		root = RootOf(dir, path)
	}
	if abs, e := filepath.Abs(dir); e == nil {
		if top := top(abs); top != "" && !within(top, root) { // the commit is one of the repository, and not of what is above it
			root = dir
			if err == nil && name == "" {
				err = fmt.Errorf("%w in %s or any folder above it in its repository; %s lies above that, and no commit has it", routing.ErrNotFound, place.Short(abs), shown)
			}
		}
	}
	c, cerr := workspace.Resolve(ctx, root, rev, workspace.Options{})
	if cerr != nil {
		return nil, nil, nil, cerr
	}
	at := ""
	if name == "" || rootFolder(dir, path) != "" {
		if at, cerr = nearestIn(ctx, c, dir); cerr != nil {
			return c, nil, nil, cerr
		}
	}
	switch {
	case name == "" && at != "":
		path, shown = at, place.Short(at)
	case err != nil:
		return c, nil, nil, err
	}
	outside := make(map[string]bool)
	m, findings := routing.Load(path, shown, routing.Options{Root: rootOf(dir, path, at), ReadFile: func(path string) ([]byte, error) {
		if f, err := c.Lookup(ctx, path); err == nil && f.Outside {
			outside[path] = true
			return routing.ReadFile(path)
		}
		return c.ReadFile(ctx, path)
	}})
	m.Folder = rootFolder(dir, path)
	for i := range m.Read {
		m.Read[i].Own = !outside[m.Read[i].Path]
	}
	return c, m, HideNamed(findings, m, nil), nil
}

// nearestIn returns the path of the nearest matrix that a commit has in dir or above it; empty
// if it has none. The error means that a nearer matrix may exist in a folder that cannot be read.
func nearestIn(ctx context.Context, c *workspace.Commit, dir string) (string, error) {
	for at := range regular.Above(dir) {
		path := filepath.Join(at, routing.FileName)
		switch f, err := c.Lookup(ctx, path); {
		case err != nil:
			return "", fmt.Errorf("commit %s: %s: %w", c.ID, place.Short(path), err)
		case f.File:
			return path, nil
		}
	}
	return "", nil
}

// A LostError says that a folder has no matrix, or default script, any more, where HEAD has one. It wraps [routing.ErrNotFound].
type LostError struct {
	Path string // of the matrix, absolute
}

func (e *LostError) Error() string { return place.Short(e.Path) + " is gone: HEAD has it" }

func (e *LostError) Unwrap() error { return routing.ErrNotFound }

// Gone returns a [*LostError] if err, which is that of [FindMatrix], says that dir has no matrix, and HEAD has one for it; else err.
func Gone(dir string, err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if abs, aerr := filepath.Abs(dir); aerr == nil {
		dir = abs
	}
	if path, _ := Lost(ctx, dir, err); path != "" {
		return &LostError{path}
	}
	return err
}

// Lost returns the path of the matrix that HEAD has for dir, where none is here any more; empty
// if HEAD has none either, or if err, which is that of [FindMatrix], is about something else. unknown says why nobody can tell whether HEAD has one.
func Lost(ctx context.Context, dir string, err error) (path string, unknown error) {
	var lost *LostError
	switch {
	case errors.As(err, &lost):
		return lost.Path, nil
	case !errors.Is(err, routing.ErrNotFound):
		return "", nil
	}
	return inHead(ctx, nil, dir)
}

// formers is how many commits before HEAD [Former] looks at.
const formers = 20

// Former returns the path of the matrix that one of the last commits before HEAD has for dir, and the newest such commit; empty if none of them has one.
func Former(ctx context.Context, dir string) (path, commit string) {
	for n := range formers {
		c, err := workspace.Resolve(ctx, dir, fmt.Sprintf("HEAD~%d", n+1), workspace.Options{})
		if err != nil {
			return "", ""
		}
		if path, err := nearestIn(ctx, c, dir); err == nil && path != "" {
			return path, c.ID
		}
	}
	return "", ""
}

// inHead returns the path of the matrix that HEAD has for dir. It has none where nothing was ever committed.
func inHead(ctx context.Context, run git.Runner, dir string) (string, error) {
	path, err := matrixIn(ctx, run, "HEAD", dir)
	if errors.Is(err, workspace.ErrNoRepository) || errors.Is(err, workspace.ErrNoCommit) {
		err = workspace.Unborn(ctx, dir, workspace.Options{Git: run})
	}
	return path, err
}

// MatrixIn returns the path of the matrix that the commit rev has for dir; empty if it has none. The error wraps [workspace.ErrNoCommit] if there is no such
// commit.
func MatrixIn(ctx context.Context, rev, dir string) (string, error) {
	return matrixIn(ctx, nil, rev, dir)
}

func matrixIn(ctx context.Context, run git.Runner, rev, dir string) (string, error) {
	c, err := workspace.Resolve(ctx, dir, rev, workspace.Options{Git: run})
	if err != nil {
		return "", err
	}
	return nearestIn(ctx, c, dir)
}

// IsAbsent reports whether m was looked for and is not there.
func IsAbsent(m *routing.Matrix) bool {
	for _, f := range m.Read {
		if f.Path == m.Path {
			return f.Absent
		}
	}
	return false
}

// Trusted returns the matrix that the baseline has in the place of m, and how m compares with
// it: the commit base, else the user's pin, else HEAD. Without a baseline, or where HEAD does not
// have the matrix yet, that is m itself. dir is where m was looked for; empty where it was named. run starts git;
// nil for this process.
func Trusted(ctx context.Context, run git.Runner, m *routing.Matrix, base, dir string) (*routing.Matrix, *policy.Baseline, policy.State, error) {
	b, err := policy.Open(ctx, run, resolve.Matrix(m), base)
	if err != nil {
		return nil, nil, policy.State{}, err
	}
	var state policy.State
	trusted := m
	if pm := resolve.Matrix(m); b.Same(pm) {
		state = b.Compare(pm, pm)
	} else {
		of, findings := routing.Load(m.Path, m.Name, routing.Options{Root: m.Root, ReadFile: b.ReadFile})
		state = b.Compare(pm, resolve.Matrix(of))
		if b.Kind != policy.None && !state.New && findings.Count(diag.Error) == 0 {
			trusted = of // else, with a baseline that is there, the state has a complaint
		}
	}
	for i := range state.Changes {
		c := &state.Changes[i]
		c.Foreign = foreign(ctx, run, m.Root, c.Path, c.New, c.Own, true) || b.Foreign(filepath.Join(m.Root, filepath.FromSlash(c.Path)))
	}
	if dir != "" {
		if state.Elsewhere, state.Above = elsewhere(b, m, state, base, dir); state.Elsewhere == "" {
			state.Elsewhere = nearer(ctx, run, m, dir)
		}
	} else if m.Folder != "" && state.Elsewhere == "" {
		state.Elsewhere = unpinned(m, base)
	}
	return trusted, b, state, nil
}

// within reports whether path is top, or below it, by their names.
func within(top, path string) bool {
	rel, err := filepath.Rel(top, path)
	return err == nil && filepath.IsLocal(rel)
}

// inside returns path as it is named from the folder top, if it is one of a file there that git could have.
func inside(top, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(top, path)
	return rel, err == nil && filepath.IsLocal(rel) && !slices.ContainsFunc(strings.Split(filepath.ToSlash(rel), "/"), func(name string) bool { return strings.EqualFold(name, ".git") })
}

// repository is the folder that a project in root may show files of: that of its repository, but for the root of the file system.
func repository(root string) string {
	if top := place.Repository(root); top != filepath.Dir(top) {
		return top
	}
	return root
}

// LeadsOut reports whether a file with that content, which was named in a git repository, is reached by a link that leads out of it, or to git's own files.
// The working directory, and the folder of a path that is absolute, may be links themselves: who named them means where they lead.
func LeadsOut(name string, content []byte) bool {
	folder := "."
	if filepath.IsAbs(name) {
		folder, name = filepath.Split(name)
	}
	folder, err := filepath.Abs(folder)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return false
	}
	path := filepath.Join(folder, name)
	top := place.Repository(filepath.Dir(path))
	rel, ok := inside(top, path)
	return ok && place.Exists(filepath.Join(top, ".git")) && bounded(top, filepath.ToSlash(rel), content, false, false)
}

// Foreign reports whether a file of the matrix of a project in root is not to be shown, as foreign does.
func Foreign(root string, f plan.File) bool { return bounded(root, f.Name, f.Content, f.Own, true) }

// bounded is foreign where nobody gives it a time.
func bounded(root, name string, content []byte, own, all bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return foreign(ctx, nil, root, name, content, own, all)
}

// foreign reports whether the content of a file must not be shown to people who may see only the repository. A matrix can name any file, also one that
// its writer cannot read, or a link to one: the environment of the process, git's credentials, a home directory. With all, a file that git ignores
// is foreign, too; without, only through a link. run starts git, without the filters of the project; if git does not answer in time, the file counts as foreign.
func foreign(ctx context.Context, run git.Runner, root, name string, content []byte, own, all bool) bool {
	top, path := repository(root), filepath.Join(root, filepath.FromSlash(name))
	rel, ok := inside(top, path)
	if !ok || content == nil || own {
		return !ok
	}
	// A race is harmless: if the file in the repository has exactly these bytes, showing them reveals nothing.
	text, err := regular.ReadIn(top, rel, int64(len(content)))
	if err != nil || !bytes.Equal(text, content) {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return true
	}
	if top, err = filepath.EvalSymlinks(top); err != nil {
		return true
	}
	at, ok := inside(top, real)
	if !ok || at == rel && !all {
		return !ok
	}
	// What git ignores is in no clone: an .env of the machine.
	list, err := workspace.Ignores(ctx, run, top, filepath.ToSlash(at))
	return err != nil || len(list) > 0
}

// elsewhere says that another matrix is meant for dir than m, which was found: one that is nearer in
// the baseline, the one above that the baseline has where m is new, or, without a base,
// one that the user has pinned. Who may write the files chooses what is found. above is the path of a matrix above that HEAD has.
func elsewhere(b *policy.Baseline, m *routing.Matrix, state policy.State, base, dir string) (complaint, above string) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", ""
	}
	pinned, nearer := policy.IsPinned(m.Root), true
	for at := range regular.Above(dir) {
		nearer = nearer && at != m.Root
		path := filepath.Join(at, routing.FileName)
		has, err := false, error(nil)
		if nearer {
			has, err = b.Look(path)
		}
		switch {
		case err != nil:
			return fmt.Sprintf("it is not known whether %s has %s (%v); or ask in the folder of %s", b.Name, place.Short(path), err, place.Short(m.Path)), ""
		case has:
			return fmt.Sprintf("%s is gone: %s has it", place.Short(path), b.Name), ""
		case state.New && !nearer && at != m.Root && b.Has(path):
			return fmt.Sprintf("%s is new, and nearer than %s, which is the matrix of this folder in %s: commit it, or trust it with `dialect trust`", place.Short(m.Path), place.Short(path), b.Name), path
		case base == "" && at != m.Root && (nearer || !pinned) && policy.IsPinned(at):
			return fmt.Sprintf("you pinned the project at %s, but the nearest matrix is %s; run `dialect trust` to pin that one as well", at, place.Short(m.Path)), ""
		}
	}
	return "", ""
}

// unpinned says, without a base, that the user pinned a project for the folder that decides the root of m, and m has another root, which has no pin.
func unpinned(m *routing.Matrix, base string) string {
	pinned, nearer := policy.IsPinned(m.Root), true
	for at := range regular.Above(m.Folder) {
		nearer = nearer && at != m.Root
		if base == "" && at != m.Root && (nearer || !pinned) && policy.IsPinned(at) {
			return fmt.Sprintf("you pinned the project at %s, but the root of %s is %s: a %s there is new, or gone; if it is meant so, run `dialect trust --routing %s`", at, place.Short(m.Path), m.Root, routing.FileName, place.Short(m.Path))
		}
	}
	return ""
}

// nearer says that a repository between dir and m has a matrix of its own for dir, which is gone, or may have one: files above a repository are not
// in its HEAD, and anyone can put a matrix there.
func nearer(ctx context.Context, run git.Runner, m *routing.Matrix, dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		top := place.Repository(dir)
		if within(top, m.Root) || !place.Exists(filepath.Join(top, ".git")) {
			return ""
		}
		switch path, err := inHead(ctx, run, dir); {
		case err != nil:
			return fmt.Sprintf("it is not known whether HEAD of %s has a %s: %v", place.Short(top), routing.FileName, err)
		case path != "" && path != m.Path: // else git takes what is there for a part of the repository around it
			return fmt.Sprintf("%s is gone: HEAD has it, and the matrix above its repository is another one", place.Short(path))
		}
		if dir = filepath.Dir(top); dir == top {
			return ""
		}
	}
}

// Check compares the matrix of a plan with its baseline: see [policy.Check].
func Check(ctx context.Context, m plan.Matrix, base string) (policy.State, error) {
	return policy.Check(ctx, m, base, func(read func(path string) ([]byte, error)) plan.Matrix {
		trusted, _ := routing.Load(m.Path, m.Name, routing.Options{Root: m.Root, ReadFile: read})
		return resolve.Matrix(trusted)
	})
}

// Worktree returns the root of the files that count for the project of a matrix, as a snapshot of them has it: a pin names it.
func Worktree(ctx context.Context, m plan.Matrix) (string, error) {
	s, err := workspace.Take(ctx, m.Root, workspace.Options{Caches: m.Caches})
	if err != nil {
		return "", err
	}
	return s.Root, nil
}

// Rules returns the paths of the files that a matrix is made of, its pins included.
func Rules(m plan.Matrix) (paths []string) {
	for _, f := range m.Files {
		paths = append(paths, f.Path)
	}
	return paths
}

// RulesAround returns the paths of the files that the matrix above dir is made of, and of the
// scripts beside it and in dir.
func RulesAround(dir string) (paths []string) {
	folders := []string{dir}
	if m, _, err := LoadMatrix(dir, ""); err == nil {
		paths = append(Rules(resolve.Matrix(m)), m.Path)
		folders = append(folders, m.Root)
	}
	for _, folder := range folders {
		entries, _ := os.ReadDir(folder) // one that cannot be read has no script that can be run
		for _, e := range entries {
			if filepath.Ext(e.Name()) == ".dlct" {
				paths = append(paths, filepath.Join(folder, e.Name()))
			}
		}
	}
	return paths
}

// IsProject reports whether dir is in a project: below a matrix, or in a worktree of git. Else it
// could be anything, such as a whole disk, and no snapshot is taken of it.
func IsProject(dir string) bool {
	_, noMatrix := routing.Find(dir)
	_, noGit := os.Lstat(filepath.Join(place.Repository(dir), ".git"))
	return noMatrix == nil || noGit == nil
}

package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/suggest"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A Commit is a commit of which every byte that was used hashes to its name. Git hands over
// the objects, and is not believed: commit, trees and blobs are hashed here, each against the
// name that its parent gives it. A replaced, grafted or overwritten object is an error that wraps
// [ErrAltered].
//
// In a SHA-1 repository this is as strong as SHA-1: an attacker who can make collisions can
// prepare two files of one name. Git itself detects the known attacks when objects come in,
// Go's standard library does not.
type Commit struct {
	ID   string // in full, hexadecimal
	Tree string // name of its tree
	Ref  string // what named it: "HEAD", "refs/heads/main"; empty for a hash
	// Hash says that the caller gave the full hash: nobody can make that name another commit.
	Hash bool

	store *objects
	root  git.ObjectID       // the tree
	subs  map[string]*Commit // of submodules, by path, as far as their files were asked for
	git   git.Runner         // see Options
}

// Reasons why a question about a commit has no answer.
var (
	ErrNoRepository = git.ErrNoRepository
	ErrNoCommit     = git.ErrNoCommit
)

// ErrAltered is wrapped by the error about a git object whose content is not what its name says.
var ErrAltered = errors.New("the object does not have the content that its name says: run git fsck")

// An AmbiguousError is a name that means several commits.
type AmbiguousError struct {
	Rev   string
	Names []string // full names that can be given instead, sorted
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s is ambiguous: name one of %s", git.Display(e.Rev), strings.Join(e.Names, ", "))
}

// IsHash reports whether rev has the form of a full hash, SHA-1 or SHA-256. [Commit.Hash] says
// whether it was one in the repository at hand.
func IsHash(rev string) bool {
	return (len(rev) == 2*git.FormatSHA1.Size() || len(rev) == 2*git.FormatSHA256.Size()) && isHex(rev)
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// Resolve finds the commit that rev names in the repository that holds dir. rev is a full
// hash, an abbreviated one, HEAD, or the name of a ref, in full or as git abbreviates it, each
// with ~N and ^N after it. A name that several refs have, or a ref and an abbreviated hash, is an
// [*AmbiguousError]: anyone who may make a tag could otherwise redirect it. A missing one wraps
// [ErrNoCommit].
//
// paths are files that the caller means to read: they come with the same call of git.
func Resolve(ctx context.Context, dir, rev string, o Options, paths ...string) (*Commit, error) {
	dir, err := physical(dir)
	if err != nil {
		return nil, err
	}
	r, err := git.Discover(ctx, o.Git, dir)
	if err != nil {
		return nil, fmt.Errorf("commit %s: %w", git.Display(rev), err)
	}
	none := fmt.Errorf("%s of the repository at %s: %w", git.Display(rev), git.Display(r.Root), git.ErrNoCommit)
	name, steps, ok := parseRev(rev)
	if !ok {
		return nil, none
	}
	s := &objects{r: &r, known: make(map[git.ObjectID]object), trees: make(map[git.ObjectID]*git.Tree)}
	c := &Commit{store: s, git: o.Git}
	var id git.ObjectID
	switch full, err := r.Format.Parse(strings.ToLower(name)); {
	case err == nil:
		c.Hash = len(steps) == 0
		id = full
		err = s.fetch(ctx, r.Format.Format(full), paths)
		if err != nil {
			return nil, err
		}
	case name == "HEAD":
		c.Ref = name
		if id, err = s.head(ctx, paths); err != nil {
			return nil, err
		}
	case IsHash(name):
		// It is not looked for among the refs: anybody could have made one of that name.
		return nil, fmt.Errorf("%s is a full hash, and not of this repository, whose hashes have %d digits: %w", git.Display(name), 2*r.Format.Size(), git.ErrNoCommit)
	default:
		if id, c.Ref, err = s.named(ctx, name); err != nil {
			return nil, err
		}
	}
	if id == (git.ObjectID{}) {
		if near := s.near(ctx, name); near != "" {
			none = fmt.Errorf("%w; did you mean %s?", none, git.Display(near+strings.TrimPrefix(rev, name)))
		}
		return nil, none
	}
	body, id, err := s.commit(ctx, id)
	for _, st := range steps {
		if err == nil {
			body, id, err = s.step(ctx, body, id, st)
		}
	}
	if errors.Is(err, errMissing) {
		err = none
	}
	if err != nil {
		return nil, err
	}
	c.ID, c.root, c.Tree = r.Format.Format(id), body.tree, r.Format.Format(body.tree)
	if c.Ref != "HEAD" && !c.Hash && len(paths) > 0 {
		err = s.fetch(ctx, c.ID, paths)
	}
	return c, err
}

// Root returns the root of the worktree that the commit was asked for in.
func (c *Commit) Root() string { return c.store.r.Root }

// ReadFile returns the content that the commit has of the file at an absolute path, as a
// checkout of it would: links in the commit are followed within it. A file of a submodule is that of the commit that this one
// names for it, which has to be here. What the commit does not hold wraps [fs.ErrNotExist].
func (c *Commit) ReadFile(ctx context.Context, path string) ([]byte, error) {
	rel, ok := relative(c.store.r.Root, path)
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	content, _, err := c.find(ctx, rel)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return content, nil
}

// Files returns the names of the files and links that the commit has in the folder at an absolute path. It returns no names if the commit has no such
// folder; the folder of a submodule, and one that only a link leads to, do not count.
func (c *Commit) Files(ctx context.Context, dir string) (names []string, err error) {
	rel, ok := relative(c.store.r.Root, filepath.Join(dir, "x"))
	if !ok {
		return nil, nil
	}
	id, ways := c.root, strings.Split(rel, "/")
	for i := range ways {
		if i < len(ways)-1 {
			mode, below, err := c.store.entry(ctx, id, ways[i])
			if errors.Is(err, fs.ErrNotExist) || err == nil && mode != git.ModeTree {
				return nil, nil
			}
			if id = below; err != nil {
				return nil, err
			}
			continue
		}
		tree, err := c.store.get(ctx, id, "tree")
		if err != nil {
			return nil, err
		}
		for item, err := range c.store.r.Format.Items(tree) {
			if err != nil {
				return nil, err
			}
			if item.Mode != git.ModeTree && item.Mode != git.ModeCommit {
				names = append(names, item.Name)
			}
		}
	}
	return names, nil
}

// Has reports whether the commit has a file of a snapshot at a path from its root, with slashes: what git records for it or, where the
// snapshot does not say that, its bytes. Links are not followed, nor is a submodule entered.
func (c *Commit) Has(ctx context.Context, file string, f *File) (bool, error) {
	id, mode := c.root, git.ModeTree
	for name := range strings.SplitSeq(file, "/") {
		if mode != git.ModeTree {
			return false, nil
		}
		var err error
		mode, id, err = c.store.entry(ctx, id, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return false, nil
		case err != nil:
			return false, err
		}
	}
	if mode != git.ModeFile && mode != git.ModeExec && mode != git.ModeLink || (mode == git.ModeLink) != (f.Kind == Link) {
		return false, nil
	}
	if f.ID != "" {
		return c.store.r.Format.Format(id) == f.ID, nil
	}
	content, err := c.store.get(ctx, id, "blob")
	return err == nil && sha256.Sum256(content) == f.SHA256, err
}

// find returns the file at a path of the commit, and the links on the way as "path -> target".
func (c *Commit) find(ctx context.Context, file string) (content []byte, links []string, err error) {
	way := regular.NewWay(file)
	at := []git.ObjectID{c.root} // trees, from the root
	var names []string           // of the trees below the root
	for name := way.Next(); name != ""; name = way.Next() {
		if name == ".." {
			if len(at) == 1 {
				return nil, links, fs.ErrNotExist // outside of the worktree
			}
			at, names = at[:len(at)-1], names[:len(names)-1]
			continue
		}
		mode, id, err := c.store.entry(ctx, at[len(at)-1], name)
		if err != nil {
			return nil, links, err
		}
		switch mode {
		case git.ModeTree:
			at, names = append(at, id), append(names, name)
			continue
		case git.ModeCommit:
			at := strings.Join(append(names, name), "/")
			content, more, err := c.submodule(ctx, at, id, way.Rest())
			for _, l := range more {
				links = append(links, at+"/"+l)
			}
			return content, links, err
		case git.ModeLink, git.ModeFile, git.ModeExec:
		default:
			return nil, links, fs.ErrNotExist
		}
		content, err := c.store.get(ctx, id, "blob")
		switch {
		case err != nil:
			return nil, links, err
		case mode == git.ModeLink:
			target := string(content)
			links = append(links, strings.Join(append(names, name), "/")+" -> "+target)
			if !way.Follow(target) || strings.HasPrefix(target, "/") {
				return nil, links, fs.ErrNotExist
			}
		case way.More():
			return nil, links, fs.ErrNotExist
		default:
			return content, links, nil
		}
	}
	return nil, links, errors.New("not a regular file")
}

// submodule returns what [Commit.find] does of a file of the submodule at a path of c: of the commit that c names for it, which
// the submodule's own repository has if it is checked out. Without that repository, or that commit, nobody knows what is there: who takes
// them away must not make a file absent by that. Links that lead out of the submodule lead nowhere.
func (c *Commit) submodule(ctx context.Context, at string, id git.ObjectID, file string) ([]byte, []string, error) {
	sub := c.subs[at]
	if sub == nil {
		dir, name := filepath.Join(c.store.r.Root, filepath.FromSlash(at)), c.store.r.Format.Format(id)
		real, err := physical(dir)
		if err == nil && real == dir { // else nothing stands there, or a link
			sub, err = Resolve(ctx, dir, name, Options{Git: c.git})
		}
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrNoCommit) && !errors.Is(err, ErrNoRepository):
			return nil, nil, err
		case sub == nil || sub.store.r.Root != dir:
			return nil, nil, fmt.Errorf("the submodule %s does not have its commit %s here: git submodule update --init", git.Display(at), name)
		}
		if c.subs == nil {
			c.subs = make(map[string]*Commit)
		}
		c.subs[at] = sub
	}
	return sub.find(ctx, file)
}

// objects are what was read of a repository, by the names that their content has: from its files where they are simple, else by git.
type objects struct {
	r     *git.Repository
	known map[git.ObjectID]object
	trees map[git.ObjectID]*git.Tree
}

// entry finds a name in a tree object; the error wraps [fs.ErrNotExist] where it has none.
func (s *objects) entry(ctx context.Context, id git.ObjectID, name string) (mode string, of git.ObjectID, err error) {
	if s.trees[id] == nil {
		content, err := s.get(ctx, id, "tree")
		if err != nil {
			return "", of, err
		}
		s.trees[id] = s.r.Format.Names(content)
	}
	if err := ctx.Err(); err != nil {
		return "", of, err
	}
	return s.trees[id].Lookup(name)
}

type object struct {
	kind    string
	content []byte
}

var errMissing = errors.New("the object is missing")

// ask asks git for objects by any name. It returns what each of them is, zero where there is
// none, and keeps their content.
func (s *objects) ask(ctx context.Context, names []string) ([]git.ObjectID, error) {
	out, err := s.r.Git.Run(ctx, s.r.Root, git.Here(s.r.Root), []byte(strings.Join(names, "\n")+"\n"), "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	ids := make([]git.ObjectID, len(names))
	for i, name := range names {
		line, rest, ok := bytes.Cut(out, []byte("\n"))
		if !ok {
			return nil, fmt.Errorf("git cat-file: the answer about %s is missing", git.Display(name))
		}
		out = rest
		words := strings.Split(string(line), " ")
		if last := words[len(words)-1]; last == "missing" || last == "ambiguous" || last == "submodule" {
			continue
		}
		n := -1
		var id git.ObjectID
		if len(words) == 3 {
			if id, err = s.r.Format.Parse(words[0]); err == nil {
				n, err = strconv.Atoi(words[2])
			}
		}
		if err != nil || n < 0 || n >= len(out) {
			return nil, fmt.Errorf("git cat-file: %q is not an answer about %s", git.Clip(string(line)), git.Display(name))
		}
		o := object{words[1], out[:n:n]}
		out = out[n+1:]
		if s.r.Format.Object(o.kind, o.content) != id {
			return nil, fmt.Errorf("%s %s: %w", git.Clip(o.kind), words[0], ErrAltered)
		}
		s.known[id], ids[i] = o, id
	}
	return ids, nil
}

// get returns the content of an object that has to be of a kind.
func (s *objects) get(ctx context.Context, id git.ObjectID, kind string) ([]byte, error) {
	o, err := s.object(ctx, id)
	if err == nil && o.kind != kind {
		err = fmt.Errorf("%s is a %s, not a %s", s.r.Format.Format(id), o.kind, kind)
	}
	return o.content, err
}

func (s *objects) object(ctx context.Context, id git.ObjectID) (object, error) {
	if o, ok := s.known[id]; ok {
		return o, nil
	}
	if s.read(id) {
		return s.known[id], nil
	}
	name := s.r.Format.Format(id)
	if _, err := s.ask(ctx, []string{name}); err != nil {
		return object{}, err
	}
	o, ok := s.known[id]
	if !ok {
		return object{}, fmt.Errorf("%s: %w", name, errMissing)
	}
	return o, nil
}

// read reads an object from the files of the repository, and reports whether it could.
func (s *objects) read(id git.ObjectID) bool {
	kind, content, ok := s.r.Object(id)
	if ok {
		s.known[id] = object{kind, content}
	}
	return ok
}

// head returns the commit of HEAD, and fetches what leads to paths.
func (s *objects) head(ctx context.Context, paths []string) (git.ObjectID, error) {
	read, ok := s.r.Head()
	if ok && s.read(read) {
		return read, nil
	}
	ids, err := s.ask(ctx, append([]string{"HEAD"}, s.hints("HEAD", paths)...))
	if err != nil || ids[0] == (git.ObjectID{}) || ok && ids[0] == read {
		return append(ids, git.ObjectID{})[0], err
	}
	out, err := s.r.Git.Run(ctx, s.r.Root, git.Here(s.r.Root), nil, "symbolic-ref", "-q", "HEAD")
	var failed *git.Error
	if errors.As(err, &failed) { // it is of no branch
		return ids[0], nil
	}
	if err != nil {
		return ids[0], err
	}
	branch := strings.TrimSuffix(string(out), "\n")
	listed, err := s.listed(ctx, []string{branch})
	if err == nil && !slices.Equal(listed[branch], ids[:1]) {
		err = s.twoWays(branch, ids[0], listed[branch])
	}
	return ids[0], err
}

// listed returns what git lists of refs by their full names, in which nothing stands for more than itself. Git searches for a full name, and lists
// one object of it; so the last byte is left open, and a ref that has two lines in packed-refs has two objects here.
func (s *objects) listed(ctx context.Context, full []string) (map[string][]git.ObjectID, error) {
	args := []string{"for-each-ref", "--format=%(objectname) %(refname)", "--"}
	for _, name := range full {
		args = append(args, name[:len(name)-1]+"?")
	}
	out, err := s.r.Git.Run(ctx, s.r.Root, git.Here(s.r.Root), nil, args...)
	if err != nil {
		return nil, err
	}
	refs := make(map[string][]git.ObjectID)
	for line := range strings.Lines(string(out)) {
		hash, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !slices.Contains(full, ref) {
			continue
		}
		id, err := s.r.Format.Parse(hash)
		if err != nil {
			return nil, fmt.Errorf("git for-each-ref: %w", err)
		}
		if !slices.Contains(refs[ref], id) {
			refs[ref] = append(refs[ref], id)
		}
	}
	return refs, nil
}

// refs returns the refs that there are of these full names, with what each is. Git lists refs in another way than it looks for one, and what it
// finds in two ways, as of a ref with two lines in packed-refs or a link in place of one, is an error.
func (s *objects) refs(ctx context.Context, full []string) (map[string]git.ObjectID, error) {
	listed, err := s.listed(ctx, full)
	if err != nil {
		return nil, err
	}
	out, err := s.r.Git.Run(ctx, s.r.Root, git.Here(s.r.Root), []byte(strings.Join(full, "\n")+"\n"), "cat-file", "--batch-check=%(objectname)")
	if err != nil {
		return nil, err
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(answers) != len(full) {
		return nil, fmt.Errorf("git cat-file: %d answers about %d refs", len(answers), len(full))
	}
	refs := make(map[string]git.ObjectID)
	for i, name := range full {
		found, err := s.r.Format.Parse(answers[i])
		switch ids := listed[name]; {
		case len(ids) == 1 && (err != nil || found == ids[0]): // where it is missing, what it names is
			refs[name] = ids[0]
			continue
		case len(ids) == 0 && err != nil:
			continue
		case len(ids) == 0: // cat-file also takes it for the end of a longer name
			_, err := s.r.Git.Run(ctx, s.r.Root, git.Here(s.r.Root), nil, "show-ref", "--verify", "--quiet", "--", name)
			var failed *git.Error
			if errors.As(err, &failed) {
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		return nil, s.twoWays(name, found, listed[name])
	}
	return refs, nil
}

// twoWays is the error about a ref that git finds as one object and lists as others.
func (s *objects) twoWays(ref string, found git.ObjectID, listed []git.ObjectID) error {
	var names []string
	for _, id := range append([]git.ObjectID{found}, listed...) {
		if name := s.r.Format.Format(id)[:12]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(listed) == 0 {
		names = append(names, "none")
	}
	return fmt.Errorf("git reads %s in two ways, as %s: it has two lines in packed-refs, or a symbolic link is in its place; remove the wrong one", git.Display(ref), strings.Join(names, " and as "))
}

// fetch asks for a commit, and for all on the way to the files at paths. It is a hint: what
// is missing afterwards is asked for when it is needed.
func (s *objects) fetch(ctx context.Context, commit string, paths []string) error {
	if id, err := s.r.Format.Parse(commit); err == nil && s.read(id) {
		return nil
	}
	_, err := s.ask(ctx, append([]string{commit}, s.hints(commit, paths)...))
	return err
}

// hints are names of the trees and blobs that lead from a commit to files.
func (s *objects) hints(commit string, paths []string) []string {
	seen := make(map[string]bool)
	var names []string
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, p := range paths {
		rel, ok := relative(s.r.Root, p)
		if !ok || strings.ContainsAny(rel, "\n\x00") {
			continue
		}
		add(commit + "^{tree}")
		for i := range rel {
			if rel[i] == '/' {
				add(commit + ":" + rel[:i])
			}
		}
		add(commit + ":" + rel)
	}
	return names
}

// pseudoRef reports whether name is a file beside HEAD that git keeps the name of a commit in:
// FETCH_HEAD, ORIG_HEAD.
func pseudoRef(name string) bool {
	first, ok := strings.CutSuffix(name, "_HEAD")
	return ok && first != "" && strings.Trim(first, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// named finds the object that a name stands for: that of one ref, or of an abbreviated hash.
func (s *objects) named(ctx context.Context, name string) (git.ObjectID, string, error) {
	full := []string{name}
	if !strings.HasPrefix(name, "refs/") {
		full = []string{"refs/" + name, "refs/tags/" + name, "refs/heads/" + name, "refs/remotes/" + name, "refs/remotes/" + name + "/HEAD"}
	}
	refs, err := s.refs(ctx, full)
	if err != nil {
		return git.ObjectID{}, "", err
	}
	names := slices.Collect(maps.Keys(refs))
	var id git.ObjectID
	ref := ""
	if len(names) == 1 {
		ref, id = names[0], refs[names[0]]
	}
	if len(name) >= 4 && isHex(name) {
		of, err := s.abbreviated(ctx, name)
		if err != nil {
			return id, "", err
		}
		for _, c := range of {
			id = c
			names = append(names, s.r.Format.Format(c))
		}
	}
	switch {
	case len(names) > 1:
		slices.Sort(names)
		return id, "", &AmbiguousError{name, names}
	case len(names) == 0 && pseudoRef(name):
		ids, err := s.ask(ctx, []string{name}) // no ref has that name: it can only be the file
		if err != nil {
			return id, "", err
		}
		return ids[0], name, nil
	case ref != "" && !strings.HasPrefix(name, "refs/"): // git looks for a file of that name in its own directory first
		ids, err := s.ask(ctx, []string{name})
		if err == nil && ids[0] != id {
			err = &AmbiguousError{name, []string{".git/" + name, ref}}
		}
		if err != nil {
			return id, "", err
		}
	}
	return id, ref, nil
}

// near returns the name of a branch, of a tag or of HEAD that is like name, or that a remote has of that name; empty if there is none.
func (s *objects) near(ctx context.Context, name string) string {
	if name == "HEAD" {
		return ""
	}
	out, err := s.r.Git.Run(ctx, s.r.Root, git.Here(s.r.Root), nil, "for-each-ref", "--count=1000", "--format=%(refname)", "refs/heads", "refs/remotes", "refs/tags")
	if err != nil {
		return ""
	}
	names, of := []string{"HEAD"}, "" // of is a remote's branch of that name, origin's if it has one
	for full := range strings.FieldsSeq(string(out)) {
		short := strings.SplitN(full, "/", 3)[2]
		names = append(names, short)
		remote, branch, _ := strings.Cut(short, "/")
		if strings.HasPrefix(full, "refs/remotes/") && branch == strings.TrimPrefix(name, "origin/") && (of == "" || remote == "origin") {
			of = short
		}
	}
	other := map[string]string{"main": "master", "master": "main"}[name]
	switch {
	case of != "":
		return of
	case slices.Contains(names, other):
		return other
	}
	return suggest.Near(name, names)
}

// abbreviated returns the commits whose names begin with prefix.
func (s *objects) abbreviated(ctx context.Context, prefix string) ([]git.ObjectID, error) {
	out, err := s.r.Git.Run(ctx, s.r.Root, git.Here(s.r.Root), nil, "rev-parse", "--disambiguate="+strings.ToLower(prefix))
	if err != nil {
		return nil, err
	}
	names := strings.Fields(string(out))
	if len(names) == 0 {
		return nil, nil
	}
	asked := make([]string, len(names))
	for i, n := range names {
		asked[i] = n + "^{commit}" // what is not a commit may be large
	}
	ids, err := s.ask(ctx, asked)
	if err != nil {
		return nil, err
	}
	var commits []git.ObjectID
	for i, id := range ids {
		if id != (git.ObjectID{}) && s.r.Format.Format(id) == names[i] { // not by way of a tag
			commits = append(commits, id)
		}
	}
	return commits, nil
}

// A header is what a commit object says of others.
type header struct {
	tree    git.ObjectID
	parents []git.ObjectID
}

// maxTags bounds how many tags of tags lead to a commit.
const maxTags = 10

// commit returns the commit that an object is, or that it is a tag of.
func (s *objects) commit(ctx context.Context, id git.ObjectID) (header, git.ObjectID, error) {
	for range maxTags {
		o, err := s.object(ctx, id)
		if err != nil {
			return header{}, id, err
		}
		switch o.kind {
		case "commit":
			h, err := s.header(id, o.content)
			return h, id, err
		case "tag":
			line, _, _ := strings.Cut(string(o.content), "\n")
			to, ok := strings.CutPrefix(line, "object ")
			if id, err = s.r.Format.Parse(to); !ok || err != nil {
				return header{}, id, errors.New("git: a tag cannot be read")
			}
		default:
			return header{}, id, errMissing
		}
	}
	return header{}, id, errMissing
}

func (s *objects) header(id git.ObjectID, content []byte) (header, error) {
	var h header
	bad := fmt.Errorf("commit %s cannot be read", s.r.Format.Format(id))
	line, rest, _ := strings.Cut(string(content), "\n")
	name, ok := strings.CutPrefix(line, "tree ")
	var err error
	if h.tree, err = s.r.Format.Parse(name); !ok || err != nil {
		return h, bad
	}
	for {
		line, rest, _ = strings.Cut(rest, "\n")
		name, ok := strings.CutPrefix(line, "parent ")
		if !ok {
			return h, nil
		}
		p, err := s.r.Format.Parse(name)
		if err != nil {
			return h, bad
		}
		h.parents = append(h.parents, p)
	}
}

// A revStep goes from a commit to an ancestor of it.
type revStep struct {
	first bool // ~N: the first parent, N times; else ^N: the Nth parent
	n     int
}

// maxAncestor bounds ~N.
const maxAncestor = 1000

// parseRev takes a revision apart. Only what means one commit by names and parents is known:
// no reflog (anybody who may write the repository writes that), no search, no range.
func parseRev(rev string) (name string, steps []revStep, ok bool) {
	name = rev
	if i := strings.IndexAny(rev, "~^"); i >= 0 {
		name = rev[:i]
		for rest := rev[i:]; rest != ""; {
			sign := rest[0]
			rest = rest[1:]
			if sign == '^' && strings.HasPrefix(rest, "{") {
				kind, after, closed := strings.Cut(rest[1:], "}")
				if !closed || kind != "" && kind != "commit" {
					return "", nil, false
				}
				rest = after
				continue
			}
			if sign != '~' && sign != '^' {
				return "", nil, false
			}
			end := len(rest)
			if j := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); j >= 0 {
				end = j
			}
			st := revStep{sign == '~', 1}
			if end > 0 {
				var err error
				if st.n, err = strconv.Atoi(rest[:end]); err != nil || st.n > maxAncestor {
					return "", nil, false
				}
			}
			rest = rest[end:]
			if st.n > 0 {
				steps = append(steps, st)
			}
		}
	}
	if name == "@" {
		name = "HEAD"
	}
	if name == "" || name[0] == '-' || strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.ContainsAny(name, " :?*[\\\x7f") ||
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
		return "", nil, false
	}
	return name, steps, true
}

func (s *objects) step(ctx context.Context, h header, id git.ObjectID, st revStep) (header, git.ObjectID, error) {
	times, parent := 1, st.n
	if st.first {
		times, parent = st.n, 1
	}
	var err error
	for range times {
		if len(h.parents) < parent {
			return h, id, errMissing
		}
		if h, id, err = s.commit(ctx, h.parents[parent-1]); err != nil {
			return h, id, err
		}
	}
	return h, id, nil
}

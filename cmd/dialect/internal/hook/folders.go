package hook

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// folders are the folders of a commit. The root is ".".
type folders struct {
	rev   string
	ids   map[string]string // names of the trees
	rules map[string]string // names of the files that are a matrix, by their folders
	ruled []string          // those that have a matrix, sorted, without those below another one
	fork  func() *folders   // where the tip left a branch that it does not replace; nil for a commit that it replaces
}

// foldersOf returns the folders of the commit rev, in the repository that git finds in dir with env. Rev is "HEAD", the full name of a ref or a
// hash.
func foldersOf(ctx context.Context, dir string, env []string, rev string) (*folders, error) {
	if rev != "HEAD" && !workspace.IsHash(rev) && !strings.HasPrefix(rev, "refs/") {
		return nil, fmt.Errorf("%s is neither a hash nor a ref", git.Display(rev))
	}
	g, err := git.FindGit(dir)
	if err != nil {
		return nil, err
	}
	list, err := g.Run(ctx, dir, env, nil, "ls-tree", "-r", "-t", "-z", "--full-tree", rev)
	if err != nil {
		return nil, err
	}
	return parseFolders(rev, list)
}

// forkOf returns the folders of the commit where rev left a branch; nil if that is not known, as where it was never a part of it.
func forkOf(ctx context.Context, dir string, env []string, rev, branch string) *folders {
	g, err := git.FindGit(dir)
	if err != nil {
		return nil
	}
	base, err := g.Run(ctx, dir, env, nil, "merge-base", rev, branch)
	if err != nil {
		return nil
	}
	f, err := foldersOf(ctx, dir, env, strings.TrimSpace(string(base)))
	if err != nil {
		return nil
	}
	return f
}

// Kinds of what could not be listed.
const (
	aFile   = "blob"
	notHere = "missing"
)

// kindOf returns what git says that rev is, whose folders could not be listed: a file has none. Empty means that git does not say. What has rules in
// anything else is not known.
func kindOf(ctx context.Context, dir string, env []string, rev string) string {
	g, err := git.FindGit(dir)
	if err != nil {
		return ""
	}
	out, err := g.Run(ctx, dir, env, []byte(rev+"^{}\n"), "cat-file", "--batch-check=%(objecttype)")
	if err != nil {
		return ""
	}
	words := strings.Fields(string(out))
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

// parseFolders reads what git ls-tree lists.
func parseFolders(rev string, list []byte) (*folders, error) {
	f := &folders{rev: rev, ids: map[string]string{".": rev}, rules: make(map[string]string)}
	for row := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		head, name, ok := strings.Cut(row, "\t")
		words := strings.Fields(head) // mode, type, hash
		switch {
		case row == "":
		case !ok || len(words) != 3 || !git.ValidPath(name):
			return nil, fmt.Errorf("git ls-tree: cannot read %q", git.Clip(row))
		case words[1] == "tree":
			f.ids[name] = words[2]
		case words[1] == "blob" && path.Base(name) == routing.FileName:
			f.rules[path.Dir(name)] = words[2]
		}
	}
	for dir := range f.rules {
		if !within(path.Dir(dir), f.rules) || dir == "." {
			f.ruled = append(f.ruled, dir)
		}
	}
	slices.Sort(f.ruled)
	return f, nil
}

// within reports whether dir, or a folder above it, is in the set.
func within(dir string, set map[string]string) bool {
	for ; ; dir = path.Dir(dir) {
		if _, ok := set[dir]; ok {
			return true
		}
		if dir == "." {
			return false
		}
	}
}

// toVerify returns the folders of a tip that a push has to verify, and those that had rules, of which bases says where, and have none. It is ".", and what
// had rules of its own without those of the root, where the root has rules, or had, or nothing has. For each place that the tip is pushed to, bases has what may be there. A folder that one of them has,
// in each place, needs nothing.
func (f *folders) toVerify(bases [][]*folders) (verify []string, gone map[string]string) {
	all := make(map[string]bool)
	for _, dir := range f.ruled {
		all[dir] = true
	}
	gone = make(map[string]string)
	var kept []string // below another matrix, maybe
	for _, b := range slices.Concat(bases...) {
		for _, dir := range b.ruled { // their own rules go on to count below another matrix, which came since
			all[dir] = true
			if f.rules[dir] != "" {
				kept = append(kept, dir)
			}
		}
		lost, moved := f.lost(b)
		for _, dir := range lost {
			gone[dir] = b.rev
		}
		kept = append(kept, moved...)
	}
	own := slices.Clone(f.ruled)
	if len(all) == 0 || all["."] {
		verify, own = []string{"."}, nil
		delete(gone, ".") // its own rules say so
	}
	for _, dir := range kept {
		if dir != "." && !slices.Contains(own, dir) {
			own = append(own, dir)
		}
	}
	slices.Sort(own)
	for _, dir := range own {
		if len(bases) == 0 || slices.ContainsFunc(bases, func(place []*folders) bool {
			return !slices.ContainsFunc(place, func(b *folders) bool { return b.ids[dir] == f.ids[dir] })
		}) {
			verify = append(verify, dir)
		}
	}
	return verify, gone
}

// lost returns the folders that have rules in b, and none of their own in the tip, and those that others of them have moved to. That the folder is gone
// as well, or that there are new rules above it, excuses nothing: its files can be elsewhere, where nobody checks them. It has moved if its matrix is in
// another folder, byte for byte, as often as such ones are gone: what is there has to be verified, also below another matrix, which does not ask about
// it. A branch that the tip left before the folder was there says nothing of it.
func (f *folders) lost(b *folders) (list, moved []string) {
	gone := func(dir string) bool {
		return f.rules[dir] == "" && (f.ids[dir] != "" || b.fork == nil || within(dir, b.fork().rules))
	}
	spare := make(map[string]int) // new folders, less those that are gone, by their matrix
	for dir, id := range f.rules {
		if b.rules[dir] == "" {
			spare[id]++
		}
	}
	for dir, id := range b.rules {
		if gone(dir) {
			spare[id]--
		}
	}
	left := make(map[string]bool) // the matrices of folders that have moved
	for _, dir := range b.ruled {
		switch id := b.rules[dir]; {
		case !gone(dir):
		case f.ids[dir] != "" || spare[id] < 0:
			list = append(list, dir)
		default:
			left[id] = true
		}
	}
	for dir, id := range f.rules {
		if b.rules[dir] == "" && left[id] {
			moved = append(moved, dir)
		}
	}
	return list, moved
}

package hook

import (
	"context"
	"fmt"
	"maps"
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
	ruled []string          // those that have a matrix, sorted, without those below another one
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
	f := &folders{rev: rev, ids: map[string]string{".": rev}}
	ruled := make(map[string]bool)
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
			ruled[path.Dir(name)] = true
		}
	}
	for dir := range ruled {
		if !within(path.Dir(dir), ruled) || dir == "." {
			f.ruled = append(f.ruled, dir)
		}
	}
	slices.Sort(f.ruled)
	return f, nil
}

// within reports whether dir, or a folder above it, is in the set.
func within(dir string, set map[string]bool) bool {
	for ; ; dir = path.Dir(dir) {
		if set[dir] {
			return true
		}
		if dir == "." {
			return false
		}
	}
}

// toVerify returns the folders of a tip that a push has to verify, and those that had rules, of which bases says where, and have none. It is "." alone
// where the root has rules, or had, or nothing has. For each place that the tip is pushed to, bases has what may be there. A folder that one of them has,
// in each place, needs nothing, and nor does one that is gone.
func (f *folders) toVerify(bases [][]*folders) (verify []string, gone map[string]string) {
	own, all := make(map[string]bool), make(map[string]bool)
	for _, dir := range f.ruled {
		own[dir], all[dir] = true, true
	}
	gone = make(map[string]string)
	for _, b := range slices.Concat(bases...) {
		for _, dir := range b.ruled {
			all[dir] = true
			if f.ids[dir] != "" && !within(dir, own) {
				gone[dir] = b.rev
			}
		}
	}
	if len(all) == 0 || all["."] {
		return []string{"."}, nil
	}
	for _, dir := range slices.Sorted(maps.Keys(own)) {
		if len(bases) == 0 || slices.ContainsFunc(bases, func(place []*folders) bool {
			return !slices.ContainsFunc(place, func(b *folders) bool { return b.ids[dir] == f.ids[dir] })
		}) {
			verify = append(verify, dir)
		}
	}
	return verify, gone
}

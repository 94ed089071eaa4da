package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A Mark is why git passes over changes of a tracked file.
type Mark string

// The marks, as the flags of git update-index name them.
const (
	SkipWorktree    Mark = "skip-worktree"
	AssumeUnchanged Mark = "assume-unchanged"
)

// Against lists the tracked files that a commit of s would have otherwise than c, from the root: changed, added to the index, or gone. Untracked
// files, and those that a sparse checkout left out, are not among them. marks has those of the listed files that git status passes over. It
// asks git, and checks nothing that it says: what comes out is advice.
func (s *Snapshot) Against(ctx context.Context, c *Commit) (differ List, marks map[string]Mark, err error) {
	r := c.store.r
	ask := func(args ...string) ([]string, error) {
		out, err := r.Git.Run(ctx, r.Root, git.Here(r.Root), nil, args...)
		return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), err
	}
	records, err := ask("ls-tree", "-r", "-z", "--full-tree", c.ID)
	if err != nil {
		return differ, nil, err
	}
	type leaf struct {
		mode string
		id   git.ObjectID
	}
	has := make(map[string]leaf)
	for _, record := range records {
		head, path, tab := strings.Cut(record, "\t")
		fields := strings.Split(head, " ") // mode, type, object
		if record == "" || !tab || len(fields) != 3 {
			continue
		}
		id, err := r.Format.Parse(fields[2])
		if err != nil {
			return differ, nil, fmt.Errorf("git ls-tree: %w", err)
		}
		has[path] = leaf{fields[0], id}
	}
	var paths []string
	for _, e := range s.entries {
		if !e.inTree {
			continue
		}
		l, known := has[e.path]
		delete(has, e.path)
		if l != (leaf{e.kind.treeMode(), e.id}) && (known || e.tracked) {
			paths = append(paths, e.path)
		}
	}
	if s.Absent.Count == len(s.Absent.Paths) { // else nobody knows which are gone
		for path := range has {
			if !slices.Contains(s.Absent.Paths, path) {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		differ.add(path)
	}
	if differ.Count == 0 {
		return differ, nil, nil
	}
	if records, err = ask(append([]string{"--literal-pathspecs", "ls-files", "-v", "-z", "--"}, differ.Paths...)...); err != nil {
		return differ, nil, err
	}
	marks = make(map[string]Mark)
	for _, record := range records {
		tag, path, _ := strings.Cut(record, " ")
		switch {
		case strings.EqualFold(tag, "S"):
			marks[path] = SkipWorktree
		case tag != strings.ToUpper(tag):
			marks[path] = AssumeUnchanged
		}
	}
	return differ, marks, nil
}

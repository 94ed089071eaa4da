package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// Broken returns an error if dir is in no repository, and there is a .git that git does not take for one: its files count no more, but for those below dir.
func Broken(ctx context.Context, dir string, o Options) error {
	dir, err := physical(dir)
	if err != nil {
		return err
	}
	if _, err := git.Discover(ctx, o.Git, dir); errors.Is(err, git.ErrNoRepository) {
		return broken(dir)
	}
	return nil
}

func broken(dir string) error {
	for root := range regular.Above(dir) {
		name := filepath.Join(root, ".git")
		if list, err := os.ReadDir(name); err == nil && len(list) > 0 {
			return fmt.Errorf("git does not take %s for a repository", git.Display(name))
		}
	}
	return nil
}

// Unborn returns nil if nothing was ever committed where dir is, as far as anything there shows: it is in no repository, or HEAD is a branch
// to come of one that has no commit. Else the error says what shows it. That HEAD names no commit does not: anyone who takes away
// a file of the repository can bring that about.
func Unborn(ctx context.Context, dir string, o Options) error {
	dir, err := physical(dir)
	if err != nil {
		return err
	}
	r, err := git.Discover(ctx, o.Git, dir)
	if errors.Is(err, git.ErrNoRepository) {
		return broken(dir)
	}
	if err != nil {
		return err
	}
	lines := func(args ...string) ([]string, error) {
		out, err := r.Git.Run(ctx, r.Root, git.Here(r.Root), nil, args...)
		return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), err
	}
	refs, err := lines("for-each-ref", "--count=1", "--format=%(refname)")
	if err != nil {
		return err
	}
	if refs[0] != "" {
		return fmt.Errorf("HEAD has no commit that can be read, and %s has one: commit, or check one out", git.Display(refs[0]))
	}
	branch, err := lines("symbolic-ref", "-q", "HEAD")
	if err != nil {
		return errors.New("HEAD names neither a commit that is here nor a branch")
	}
	files, err := lines("rev-parse", "--git-path", branch[0], "--git-path", "logs/HEAD")
	if err != nil {
		return err
	}
	for _, name := range files {
		if !filepath.IsAbs(name) {
			name = filepath.Join(r.Root, name)
		}
		if _, err := os.Lstat(name); err == nil {
			return fmt.Errorf("HEAD has no commit that can be read, though there is %s", git.Display(name))
		}
	}
	kinds, err := lines("cat-file", "--batch-all-objects", "--batch-check=%(objecttype)")
	if err == nil && slices.Contains(kinds, "commit") {
		err = errors.New("HEAD has no commit, though the repository has some")
	}
	return err
}

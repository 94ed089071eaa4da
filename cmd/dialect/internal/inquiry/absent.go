package inquiry

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// NoCommit is the usage error that the flag names no commit, with why that may be; flag is as it was typed, without its value.
func NoCommit(ctx context.Context, flag, dir, rev string, err error) *exit.Failure {
	f := exit.Usagef("%w", err)
	if flag == "--tree" {
		f = exit.Usagef("--tree: %w", err)
	}
	if !errors.Is(err, workspace.ErrNoCommit) || strings.Contains(err.Error(), "did you mean") {
		return f
	}
	if _, head := workspace.Resolve(ctx, dir, "HEAD", workspace.Options{}); head != nil {
		if workspace.Unborn(ctx, dir, workspace.Options{}) == nil {
			f.Hint("nothing was committed here yet: git add --all && %s", committed("Begin"))
		}
		return f
	}
	repository := git.Common(place.Repository(dir))
	remote, branch, ok := strings.Cut(rev, "/")
	branch, _, _ = strings.Cut(branch, "~")
	if branch, _, _ = strings.Cut(branch, "^"); ok && branch != "" && remote == "origin" && !hasRef(repository, "refs/remotes/origin/"+branch) {
		if name := upstream(dir); name != "" && rev == remote+"/"+branch {
			return f.Hint("this repository has %s: %s %[1]s", name, flag)
		}
		switch text, err := regular.Read(filepath.Join(repository, "config"), 1<<20); {
		case err != nil:
		case !strings.Contains(string(text), `[remote "origin"]`):
			f.Hint("this repository has no remote of that name: %s HEAD, or without %[1]s", flag)
		default:
			f.Hint("if the remote has it, fetch it: %s", report.Command([]string{"git", "fetch", "origin", "+refs/heads/" + branch + ":refs/remotes/origin/" + branch}))
		}
	}
	if place.Exists(filepath.Join(repository, "shallow")) {
		f.Hint("this clone is shallow, and lacks older commits: git fetch --unshallow, or fetch-depth: 0 of actions/checkout")
	}
	return f
}

// hasRef reports whether a repository has a ref of that full name, loose or packed.
func hasRef(repository, name string) bool {
	packed, _ := regular.Read(filepath.Join(repository, "packed-refs"), 1<<20)
	return place.Exists(filepath.Join(repository, filepath.FromSlash(name))) || strings.Contains(string(packed), " "+name+"\n")
}

// upstream names the remote branch that most projects merge into, where the repository of dir has it; empty if it does
// not. That it exists is advice: what it points to, --base resolves and prints.
func upstream(dir string) string {
	repository := git.Common(place.Repository(dir))
	for _, name := range []string{"origin/main", "origin/master"} {
		if hasRef(repository, "refs/remotes/"+name) {
			return name
		}
	}
	return ""
}

// base names the remote branch that the rules could be compared with: one that has the matrix. Any other would refuse all.
func (q *Question) base() string {
	name := upstream(q.root)
	if name == "" || q.matrix.Path == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if path, err := project.MatrixIn(ctx, name, q.root); err != nil || path != q.matrix.Path {
		return ""
	}
	return name
}

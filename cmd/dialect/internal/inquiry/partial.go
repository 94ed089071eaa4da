package inquiry

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// step is a hint among the steps of an answer: a command as it is, anything else as a comment.
func step(hint string) string {
	for _, begin := range []string{"# ", "dialect ", "git ", "export "} {
		if strings.HasPrefix(hint, begin) {
			return hint
		}
	}
	return advice("%s", hint)
}

// Steps are the hints of a question that cannot be asked as the steps of an answer. There is always one.
func Steps(e *exit.Failure) (steps []string) {
	for _, hint := range e.Hints {
		steps = append(steps, step(hint))
	}
	if steps == nil {
		steps = []string{advice("fix what is named, then ask again; this looks at all that an answer needs:"), "dialect doctor"}
	}
	return steps
}

// partial is the refusal to judge by the rules of rev, which a partial clone has not fetched: those in the places of the present ones, and
// the matrix above dir. It returns nil where all of that is here.
func (q *Question) partial(ctx context.Context, dir, rev string) *exit.Failure {
	c, err := workspace.Resolve(ctx, dir, rev, workspace.Options{})
	if err != nil {
		return nil
	}
	var paths []string
	for at := range regular.Above(dir) {
		paths = append(paths, filepath.Join(at, routing.FileName))
	}
	if m, _, err := project.LoadMatrix(dir, q.o.Routing); err == nil {
		paths = append(paths, project.Rules(resolve.Matrix(m))...)
	}
	var names, commands []string
	for _, path := range paths {
		rel, err := filepath.Rel(c.Root(), path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		rel = filepath.ToSlash(rel)
		if _, err := c.Lookup(ctx, path); git.Unfetched(err) != "" && !slices.Contains(names, rel) {
			names = append(names, rel)
			commands = append(commands, report.Command([]string{"git", "cat-file", "-e", rev + ":" + rel}))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return exit.Failf(exit.Refused, "this clone is partial, and lacks %s of %s", strings.Join(names, ", "), rev).
		Hint("%s", strings.Join(commands, " && ")).Hint("%s", advice("that fetches what is missing: then ask again"))
}

// unpinned is the refusal to judge because nobody can say whether the user pinned rules, or by which.
func unpinned(err error) *exit.Failure {
	f := exit.Failf(exit.Refused, "%w", err)
	if _, none := os.UserConfigDir(); none != nil {
		if u, err := user.Current(); err == nil && filepath.IsAbs(u.HomeDir) {
			f.Hint("%s", report.Command([]string{"export", "HOME=" + u.HomeDir})).Hint("%s", advice("then ask again"))
		}
	} else {
		f.Hint("%s", advice("fix what is named, then ask again"))
	}
	return f.Hint("%s", advice("or name the commit that you trust: --base COMMIT"))
}

package inquiry

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// nextOfPolicy is what to do where the rules are not the trusted ones; whole runs script. rev is the commit that is asked about, as it was named.
func (q *Question) nextOfPolicy(whole, script, rev string) []string {
	switch {
	case q.Policy == "": // the gate is of other rules, those that are asked about are the trusted
		if s := q.stateHere(); q.commit != nil && s.LineEnds() {
			return q.nextOfLineEnds(s, whole)
		}
		return []string{whole}
	case q.lost != "":
		return q.nextOfNoMatrix()
	case q.matrix.Path == "" && q.state.Unseen != "" && !q.lacks: // HEAD cannot say
		return []string{advice("git fsck names what is missing, and git fetch may bring it; then ask again")}
	case q.state.Above != "":
		return []string{advice("review it: it takes the place of %s in this folder; then commit it:", place.Short(q.state.Above)), q.commitMatrix(), advice("or pin it:"), "dialect trust"}
	case q.state.Apart() && q.state.Kind == policy.Pinned && q.commit == nil:
		return []string{advice("fix what is named, or, if it is meant so, pin it anew:"), "dialect trust"}
	case q.state.Apart():
		return []string{advice("fix what is named, then:"), whole}
	case q.state.Elsewhere != "":
		return []string{advice("fix what is named, or name the matrix that you mean with --routing")}
	case q.state.Lacks:
		return []string{advice("name a commit with --base that has the matrix%s", q.own())}
	case q.lacks:
		if _, err := os.Lstat(q.matrix.Path); err != nil {
			return []string{advice("that commit is older than the matrix, so no rule says what its files have to pass")}
		}
		if path, err := project.MatrixIn(context.Background(), "HEAD", q.root); err == nil && path == q.matrix.Path {
			return []string{advice("HEAD has one: ask about a commit that has it, too; no older one can be verified")}
		}
		return []string{advice("commit the matrix first:"), q.commitMatrix()}
	case q.commit != nil && q.o.Base == "" && q.state.Unknown == "" && len(q.state.Changes) > 0 && (q.state.Kind == policy.Head || !q.rulesHere() && !q.asksHead()):
		return q.nextOfOther(script, rev)
	case q.state.LineEnds():
		return q.nextOfLineEnds(q.state, whole)
	case q.state.Complaint() == "":
		return []string{advice("ask again: the rules changed while they were read")}
	case len(q.state.Changes) == 0:
		return []string{advice("fix what is named, then:"), whole}
	case q.state.Kind != policy.Pinned && slices.ContainsFunc(q.state.Changes, func(c policy.Change) bool { return strings.HasPrefix(c.Path, "../") && c.Old == nil }):
		return []string{advice("if it lies outside of the repository, no commit has it: move it in or, without --base, review it and pin it:"), "dialect trust"}
	case q.o.Base != "":
		return []string{advice("review the difference, then name the commit that you trust with --base%s", q.own())}
	case q.commit != nil && !q.isHere():
		return []string{advice("%s", q.otherMatrix())}
	case q.state.Kind == policy.Pinned:
		return []string{advice("review the difference, then pin it:"), "dialect trust"}
	}
	if q.state.OnlyPins() {
		return []string{advice("review the difference, and commit it with what belongs to it, such as a lock file; then ask again")}
	}
	return []string{advice("review the difference, then commit it, name the commit that you trust with --base, or pin it:"), "dialect trust"}
}

// isHere reports whether the matrix of the commit that is asked about is that of this folder, which `dialect trust` pins.
func (q *Question) isHere() bool {
	m, _, err := project.LoadMatrix(q.root, q.o.Routing)
	return err == nil && !project.IsAbsent(m) && resolve.Matrix(m).SHA256 == q.matrix.SHA256
}

// otherMatrix says what to do about a commit whose matrix is neither the trusted one nor that of this folder.
func (q *Question) otherMatrix() string {
	text := "review the difference, then name a commit with --base whose matrix you trust" + q.own()
	if q.state.Kind != policy.Pinned {
		return text
	}
	if s := q.stateHere(); s.Against != "" && s.Complaint() == "" {
		return "your pin is of the matrix in this folder, and the commit has another one: commit the pinned one, run, and ask about the new commit; or " + text
	}
	return "your pin is of a matrix that neither the commit nor this folder has: " + text
}

// stateHere compares the matrix of this folder with HEAD, or with its pin; the zero value where there is none, or it cannot be compared.
func (q *Question) stateHere() policy.State {
	m, _, err := project.LoadMatrix(q.root, q.o.Routing)
	if err != nil || project.IsAbsent(m) {
		return policy.State{}
	}
	s, err := project.Check(context.Background(), resolve.Matrix(m), "")
	if err != nil {
		return policy.State{}
	}
	return s
}

// nextOfNoMatrix is what brings back the matrix of this folder where there is none any more; nil where one is here, or nobody knows of one.
func (q *Question) nextOfNoMatrix() []string {
	switch {
	case q.lost != "" && q.pinned:
		return []string{advice("restore the matrix: your pin is of it")}
	case q.lost != "":
		return []string{exit.Restore("HEAD", q.lost)}
	case q.matrix.Path != "":
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	path, commit := project.Former(ctx, q.root)
	if path == "" {
		return nil
	}
	command := exit.Restore(commit[:12], path)
	if q.commit != nil {
		command += " && " + committed("The matrix of dialect") + " -- " + report.Command([]string{place.Short(path)})
	}
	return []string{advice("HEAD has no %s any more, and %s has one: bring it back, or make another one with `dialect init`:", place.Short(path), commit[:12]), command}
}

// asksHead reports whether the question is about the commit that is checked out.
func (q *Question) asksHead() bool {
	c, err := workspace.Resolve(context.Background(), q.root, "HEAD", workspace.Options{})
	return err == nil && q.commit != nil && c.ID == q.commit.ID
}

// rulesHere reports whether the rules of the commit that is asked about are those of the files here, which a person can pin.
func (q *Question) rulesHere() bool {
	return !slices.ContainsFunc(q.state.Changes, func(c policy.Change) bool {
		path := filepath.Join(q.root, filepath.FromSlash(c.Path))
		if c.New == nil {
			return place.Exists(path)
		}
		text, err := regular.Read(path, int64(len(c.New)))
		return err != nil || !bytes.Equal(text, c.New)
	})
}

// nextOfOther is what to do about a commit with other rules than the trusted ones, such as one of another branch: what is here can neither be
// committed nor pinned to change that. In a folder that has the commit checked out its own rules count.
func (q *Question) nextOfOther(script, rev string) []string {
	root, name, pinned := q.commit.Root(), q.commit.ID[:min(len(q.commit.ID), 12)], q.state.Kind == policy.Pinned
	var paths []string
	for _, c := range q.state.Changes {
		paths = append(paths, place.Short(filepath.Join(q.root, filepath.FromSlash(c.Path))))
	}
	list := []string{advice("%s has rules of its own: review the difference", rev)}
	if q.o.Then == "" {
		list[0] += fmt.Sprintf(", and ask with --base %s if you trust them", rev)
	} else if !pinned { // which no answer shows
		list = append(list, report.Command(slices.Concat([]string{"git", "diff", "HEAD", name, "--"}, paths)))
	}
	wd, err := os.Getwd()
	from, errFrom := filepath.Rel(root, wd)
	if err != nil || errFrom != nil || !filepath.IsLocal(from) || q.o.Routing != "" || q.Level > receipts.LevelHash {
		return append(list, advice("or test it in a folder of its own, which git worktree add --detach makes"))
	}
	dir := root + "-" + name
	there := []string{report.Command([]string{"cd", place.Short(filepath.Join(dir, from))})}
	if pinned {
		there = append(there, "dialect trust")
	}
	run := []string{"dialect", "run"}
	if f, err := q.commit.Lookup(context.Background(), filepath.Join(wd, script)); err == nil && f.File && !filepath.IsAbs(script) {
		run = append(run, script)
	}
	there = append(there, report.Command(run), cmp.Or(q.o.Then, "dialect verify"))
	command, folder := "("+strings.Join(there, " && ")+")", report.Command([]string{place.Short(dir)})
	if !place.Exists(dir) { // as after a run that was stopped
		command = "git worktree add --detach " + folder + " " + name + " && " + command
	}
	return append(list, advice("its own rules count in a folder that has it checked out, where what git ignores has to be installed if the tests need it; remove it afterwards: git worktree remove %s", folder), command)
}

// commitMatrix is the command that commits the matrix.
func (q *Question) commitMatrix() string {
	add := []string{"git", "add"}
	if len(workspace.IgnoredIn(context.Background(), filepath.Dir(q.matrix.Path), filepath.Base(q.matrix.Path))) > 0 {
		add = append(add, "--force")
	}
	return report.Command(append(add, place.Short(q.matrix.Path))) + " && " + committed("The matrix of dialect") + " -- " + report.Command([]string{place.Short(q.matrix.Path)})
}

// own says how the author of a change of the rules asks until the baseline that was named has it: with the commit that is asked about, or HEAD, if
// that has the present rules. It is advice in words: who pastes a command would take the rules of the files for those that they trust.
func (q *Question) own() string {
	text := "; until " + q.state.Against + " has it, compare with a commit of your own that has it, once it is reviewed"
	ctx := context.Background()
	if c, err := workspace.Resolve(ctx, q.root, "HEAD", workspace.Options{}); err == nil && c.ID == q.state.Commit && q.commit == nil {
		return "" // it is one's own
	}
	rev, at := "HEAD", ""
	if q.commit != nil {
		rev = q.commit.ID
	}
	if c, err := workspace.Resolve(ctx, q.root, rev, workspace.Options{}); err == nil {
		if s, err := project.Check(ctx, q.matrix, c.ID); err == nil && s.Complaint() == "" {
			at = c.ID
		}
	}
	if at == "" || at == q.state.Commit {
		return text
	}
	if q.Level == receipts.LevelHash {
		at = at[:12]
	}
	return text + ": --base " + at
}

// nextOfLineEnds is what to do where git wrote the files of the rules with other ends of lines than it keeps, as the state s of those in this folder says.
// whole runs the script.
func (q *Question) nextOfLineEnds(s policy.State, whole string) []string {
	list := []string{advice("git wrote other line ends here than %s has (core.autocrlf, or an attribute): have a tracked .gitattributes say `text eol=lf` of them, and check them out anew:", s.Against)}
	var patterns, paths []string
	for _, c := range s.Changes {
		plain := strings.Trim(c.Path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") == "" && filepath.IsLocal(filepath.FromSlash(c.Path))
		if bytes.Contains(c.Old, []byte("\r\n")) || !plain {
			return append(list, whole)
		}
		patterns = append(patterns, "/"+c.Path+" text eol=lf")
		paths = append(paths, place.Short(filepath.Join(q.root, filepath.FromSlash(c.Path))))
	}
	attributes, format := filepath.Join(q.root, ".gitattributes"), `%s\n`
	if text, err := regular.Read(attributes, 1<<20); err == nil && len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		format = `\n%s\n`
	}
	words := func(names ...string) string { return report.Command(names) }
	return append(list,
		words(append([]string{"printf", format}, patterns...)...)+" >>"+words(place.Short(attributes))+" && "+words("git", "add", place.Short(attributes))+" && "+committed("The line ends of the rules")+" -- "+words(place.Short(attributes)),
		words(append([]string{"git", "rm", "--quiet", "--cached", "--"}, paths...)...)+" && "+words(append([]string{"git", "checkout", "HEAD", "--"}, paths...)...), // git does not write a file anew that its index has as unchanged
		whole)
}

package inquiry

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// differences returns what a gate says that a clone of its tree would have otherwise.
func differences(g *receipts.Gate) (list []workspace.Difference) {
	if g == nil {
		return nil
	}
	for _, d := range g.Beyond {
		list = append(list, workspace.ParseDifference(d.Text))
	}
	return list
}

// here returns a path from the root of the repository as one types it in this folder.
func (q *Question) here(path string) string {
	root := q.root
	if q.commit != nil {
		root = q.commit.Root()
	}
	return place.Short(filepath.Join(root, filepath.FromSlash(path)))
}

// nextOfUnlike is what to do where the files that were tested are not those that a clone of rev has, as q.unlike says: a remedy for each
// cause, and then whole, which runs the script. What takes the place of a file is advice.
func (q *Question) nextOfUnlike(rev, whole string) (list []string) {
	paths, came := make(map[workspace.Cause][]string), []string(nil)
	for _, d := range q.unlike {
		if d.Why == receipts.CameDuringRun {
			came = append(came, q.here(d.Path))
			continue
		}
		paths[d.Cause()] = append(paths[d.Cause()], q.here(d.Path))
	}
	some := func(c workspace.Cause) string { return diag.Some(paths[c], len(paths[c]), 5) }
	if paths[workspace.NotCheckedOut] != nil {
		list = append(list, "git submodule update --init --recursive")
	}
	if paths[workspace.LeftOut] != nil {
		list = append(list, "git sparse-checkout disable")
	}
	if paths[workspace.Pointer] != nil {
		list = append(list, "git lfs pull")
	}
	if files := paths[workspace.LineEnds]; files != nil {
		list = append(list, advice("a clone of %s has other line ends in %s: save it with those, or have a tracked .gitattributes say which it has; git writes a file anew that is not there, so move it away, and: %s",
			rev, some(workspace.LineEnds), report.Command(append([]string{"git", "checkout", "HEAD", "--"}, files...))))
	}
	if paths[workspace.Converted] != nil {
		list = append(list, advice("an attribute converts %s at each checkout, so that no run tests what a clone has: take the attribute away, commit that, and run again", some(workspace.Converted)))
	}
	if names := cachesOf(paths[workspace.LeftCache]); names != nil { // removing them helps once: tools make them anew
		list = append(list, advice("name the caches in routing.toml, caches = [%s] in [defaults], or in a tracked .gitignore; commit that, and run again", strings.Join(names, ", ")))
	}
	if came != nil {
		list = append(list, advice("have a tracked .gitignore name what a run creates (%s), commit that, and run again", diag.Some(came, len(came), 5)))
	}
	if paths[workspace.Unlike] != nil || list == nil {
		list = append(list, advice("commit or remove what a clone of %s would not have, then:", rev))
	}
	return append(list, whole)
}

// Unmerged says which files of the project in root have conflicts, before which are resolved no gate passes, and what to do then; empty where none has.
func Unmerged(ctx context.Context, root string) string {
	paths := workspace.Unmerged(ctx, root)
	if len(paths) == 0 {
		return ""
	}
	for i, path := range paths {
		paths[i] = place.Short(path)
	}
	return "no gate passes while files are unmerged (" + diag.Some(paths, len(paths), 5) + "): resolve the conflict, then: " + report.Command(append([]string{"git", "add", "--"}, paths...))
}

// begin is what to do where no matrix answers: make one, or ask about the repository around this one, whose matrix binds this folder, too.
func (q *Question) begin(rev string) string {
	path, _, err := project.FindMatrix(q.root, "")
	if err != nil || q.commit == nil || q.o.Routing != "" {
		return "dialect init"
	}
	cd := report.Command([]string{"cd", place.Short(filepath.Dir(path))}) + " && dialect verify --tree "
	if rev == "HEAD" {
		return cd + rev
	}
	return advice("the rules of this folder are those of %s, in the repository around this one: name a commit of that: %sCOMMIT", place.Short(path), cd)
}

// cachesOf returns the names of caches, quoted as in a matrix.
func cachesOf(paths []string) (names []string) {
	for _, path := range paths {
		if name := fmt.Sprintf("%q", filepath.Base(path)); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Package trial runs the lines that init proposes, one after another, as a run would: by the engine, with
// its budgets, and every process ended before the next line begins. A plan comes in; what became of each
// line goes out, as data and in words. Nothing is recorded: no store is made, no output is kept, and the matrix
// that binds the lines need not be on the disk yet.
package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// Options say how lines are tried.
type Options struct {
	Timeout time.Duration // of each line
	Environ []string      // that commands start from
	// Begin is called before each line; it prints a progress line. nil calls nothing.
	Begin func(l scaffold.Line)
}

// An Outcome says what init does with a line.
type Outcome string

// The outcomes. Those up to Unfinished are written.
const (
	Runs       Outcome = "runs"
	Red        Outcome = "red"        // it ran, and says no: a fact about the project
	Unfinished Outcome = "unfinished" // its time was over
	Needs      Outcome = "needs"      // something is not installed
	Stranger   Outcome = "stranger"   // it says no, and nothing in the project runs its tool
	Vacuous    Outcome = "vacuous"    // it tested nothing
	Writes     Outcome = "writes"     // it changed files
)

// Written reports whether a line with the outcome is written.
func (o Outcome) Written() bool { return o == Runs || o == Red || o == Unfinished }

// A Result is what became of a line.
type Result struct {
	Line     scaffold.Line
	Outcome  Outcome
	Why      string // one line; empty if there is nothing to say
	Duration time.Duration
	Lacks    bool     // of a red line: its first failure is that something is not installed
	Counted  bool     // tests came to a result, and the output says how many
	Unbuilt  bool     // what is missing is a file of the project, or a package of it, that a build makes
	Left     []string // new files that git does not ignore, relative to the project

	// Of the last result, about all lines:
	Caches    []string // names of caches, such as ".mypy_cache", that are there now and that no tracked .gitignore names
	Beyond    []string // other new files that a clone would not have
	Installed []string // directories of installed packages that no tracked .gitignore names, relative to the project
}

// Try runs the lines of p and returns what became of each, in order. An error says that the lines cannot
// be bound, or is the cause of the end of ctx.
func Try(ctx context.Context, p scaffold.Plan, o Options) ([]Result, error) {
	dir, err := filepath.Abs(p.Dir)
	if err != nil {
		return nil, err
	}
	files := p.Files()
	path := filepath.Join(dir, routing.FileName)
	m, findings := routing.Load(path, routing.FileName, routing.Options{ReadFile: func(name string) ([]byte, error) {
		if name == path {
			return []byte(files[0].Text), nil
		}
		return routing.ReadFile(name)
	}})
	if findings.Count(diag.Error) > 0 {
		return nil, fmt.Errorf("the matrix does not load: %w", findings.Err())
	}
	var snapshots *workspace.Tracker
	options := workspace.Options{Caches: m.Caches, Except: archive.Except(dir, archive.Store(dir))}
	if place.Exists(filepath.Join(place.Repository(dir), ".git")) { // else the folder may be of any size
		snapshots = workspace.NewTracker(dir, options)
	}
	var first, before *workspace.Snapshot
	if snapshots != nil {
		before, _ = snapshots.Take(ctx) // without one the report does not name the files
		first = before
	}
	var results []Result
	lines := slices.Clone(p.Lines)
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if o.Begin != nil {
			o.Begin(l)
		}
		r, err := try(ctx, m, l, o)
		if err != nil {
			return results, err
		}
		if before != nil {
			after, err := snapshots.Take(ctx)
			if err != nil {
				before = nil
			} else {
				r.changes(workspace.Diff(before, after))
				before = after
			}
		}
		if r.Outcome == Stranger && l.Instead != nil {
			lines = slices.Insert(lines, i+1, *l.Instead)
		}
		results = append(results, r)
	}
	if before != nil && len(results) > 0 {
		if last, err := workspace.Take(ctx, dir, options); err == nil {
			r := &results[len(results)-1]
			r.Caches, r.Beyond = beyond(first, last)
			r.Installed = installed(last)
		}
	}
	return results, nil
}

// beyond returns what after has that a clone would not have: the names of caches, and other files that before does not have. A
// snapshot of a tracker forgives caches that came since its first one; a run that finds them at its beginning does not.
func beyond(before, after *workspace.Snapshot) (caches, others []string) {
	for _, d := range after.Beyond.List {
		switch name := path.Base(d.Path); {
		case slices.Contains(workspace.DefaultCaches(), name) && name != archive.Folder:
			if !slices.Contains(caches, name) {
				caches = append(caches, name)
			}
		case !slices.Contains(before.Beyond.List, d):
			others = append(others, d.Path)
		}
	}
	slices.Sort(caches)
	return caches, others
}

// installed returns the directories of s, a snapshot of the project, that hold installed packages and count as files of the project.
func installed(s *workspace.Snapshot) (dirs []string) {
	for _, dir := range []string{".venv", "venv", "node_modules"} {
		for _, file := range []string{"pyvenv.cfg", ".package-lock.json", ".modules.yaml", ".yarn-state.yml", ".yarn-integrity"} {
			if name := path.Join(s.Place, dir, file); s.Has(name) && !s.Tracks(name) {
				dirs = append(dirs, dir)
				break
			}
		}
	}
	return dirs
}

// changes adds what a line did to the files.
func (r *Result) changes(list []workspace.Change) {
	var changed []string
	for _, c := range list {
		if c.Kind == workspace.Added && c.Untracked {
			r.Left = append(r.Left, c.Path)
		} else {
			changed = append(changed, c.Path)
		}
	}
	if len(changed) > 0 {
		r.Outcome, r.Why = Writes, "it changed "+some(changed)+": see git diff"
	}
}

// try runs one line.
func try(ctx context.Context, m *routing.Matrix, l scaffold.Line, o Options) (Result, error) {
	file, parsed := lang.Parse(diag.NewSource(scaffold.ScriptName, []byte(l.Text+"\n")))
	p, findings := resolve.Resolve(file, m, resolve.Options{
		Parsed: parsed, Env: os.LookupEnv, Script: plan.Script{Name: scaffold.ScriptName, Part: true},
	})
	if findings.Count(diag.Error) > 0 || len(p.Steps) != 1 {
		return Result{}, fmt.Errorf("%q does not bind: %w", l.Text, errors.Join(findings.Err()))
	}
	if b := &p.Steps[0].Budget; b.Timeout == 0 || b.Timeout > o.Timeout {
		b.Timeout = o.Timeout
	}
	p.Steps[0].Budget.Retries = 0
	var out output
	outcome := engine.Run(ctx, p, engine.Options{KeepGoing: true, Options: attempt.Options{
		Run: archive.NewRun(), Environ: o.Environ, Degraded: "a trial", DeferGate: true, EndLeft: true, Output: true,
		Listen: func(e attempt.Event) {
			if e, ok := e.(attempt.Output); ok {
				out.add(e.Data)
			}
		},
	}})
	if err := context.Cause(ctx); err != nil {
		return Result{}, err
	}
	r := Result{Line: l, Duration: outcome.Duration}
	r.judge(outcome.Results[0], out.bytes())
	return r, nil
}

// output keeps the beginning and the end of what a line writes.
type output struct{ head, tail []byte }

const kept = 256 << 10 // bytes of each

func (o *output) add(p []byte) {
	n := min(len(p), kept-len(o.head))
	o.head = append(o.head, p[:n]...)
	o.tail = append(o.tail, p[n:]...)
	if len(o.tail) > 2*kept {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-kept:]...)
	}
}

func (o *output) bytes() []byte { return bytes.Join([][]byte{o.head, o.tail}, nil) }

// Ignored returns those of names, files in dir, that git ignores.
func Ignored(ctx context.Context, dir string, names ...string) []string {
	return workspace.IgnoredIn(ctx, dir, names...)
}

// AtHead says of what fails on the files of the project in dir whether it fails in HEAD, too; empty where that is not known.
func AtHead(ctx context.Context, dir string) string {
	c, err := workspace.Resolve(ctx, dir, "HEAD", workspace.Options{})
	if err != nil {
		return ""
	}
	switch s, err := workspace.Take(ctx, c.Root(), workspace.Options{}); {
	case err != nil || s.Tree == "":
		return ""
	case s.Tree == c.Tree:
		return "that is so in HEAD, too: the files are those of HEAD"
	}
	return "the files differ from those of HEAD, which was not tried"
}

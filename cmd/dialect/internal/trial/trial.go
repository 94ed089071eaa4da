// Package trial runs the lines that init proposes, one after another, as a run would: by the engine, with
// its budgets, and every process ended before the next line begins. A plan comes in; what became of each
// line goes out, as data and in words. What a line changes of the files of the project is put back (back.go). Nothing is recorded: no store is made, no output is kept, and the matrix
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
	"strings"
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
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// Options say how lines are tried.
type Options struct {
	Timeout time.Duration // of each line
	Environ []string      // that commands start from
	// Begin is called before each line; it prints a progress line. nil calls nothing.
	Begin func(l scaffold.Line)
	// Keeping is called with the folder in which old files are kept until the lines were tried, before something is put into it. nil calls nothing.
	Keeping    func(dir string)
	JobControl *engine.JobControl // of the lines; nil for none
}

// An Outcome says what init does with a line.
type Outcome string

// The outcomes. Those up to Untried are written.
const (
	Runs       Outcome = "runs"
	Red        Outcome = "red"        // it ran, and says no: a fact about the project
	Unfinished Outcome = "unfinished" // its time was over
	Untried    Outcome = "untried"    // what it might change could not be put back
	Needs      Outcome = "needs"      // something is not installed
	Stranger   Outcome = "stranger"   // it says no, and nothing in the project runs its tool
	Vacuous    Outcome = "vacuous"    // it tested nothing
	Writes     Outcome = "writes"     // it changed files
)

// Written reports whether a line with the outcome is written.
func (o Outcome) Written() bool { return o == Runs || o == Red || o == Unfinished || o == Untried }

// A Result is what became of a line.
type Result struct {
	Line     scaffold.Line
	Outcome  Outcome
	Why      string // one line; empty if there is nothing to say
	Duration time.Duration
	Lacks    bool // of a red line: its first failure is that something is not installed
	Counted  bool // tests came to a result, and the output says how many
	Unbuilt  bool // what is missing is a file of the project, or a package of it, that a build makes

	// Of the files that count, relative to the root of the working tree:
	Left    []string // new ones, which git does not track; they stay
	Tracked []string // new ones, which git tracks now; they stay
	Changed []string // others; they are put back
	Stays   []string // of those, what could not be put back
	Old     []string // the folders with what they were
	Without []string // of what stays, that of which there is no copy
	Gone    bool     // the line removed or changed the copy of something that stays
	Held    []string // changed files that a process has open for writing, each with that; they stay, and the line may not have changed them
	HeldOld string   // the folder with what they were; empty where there is none
	Over    string   // the folder with what the line made of what was put back; empty where there is none

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
	proposed := p.Files()
	path := filepath.Join(dir, routing.FileName)
	m, findings := routing.Load(path, routing.FileName, routing.Options{ReadFile: func(name string) ([]byte, error) {
		if name == path {
			return []byte(proposed[0].Text), nil
		}
		return routing.ReadFile(name)
	}})
	if findings.Count(diag.Error) > 0 {
		return nil, fmt.Errorf("the matrix does not load: %w", findings.Err())
	}
	options := workspace.Options{Caches: m.Caches, Except: archive.Except(dir, archive.Store(dir))}
	files := newKeeper(ctx, dir, options, o.Keeping)
	defer files.close()
	var results []Result
	lines := slices.Clone(p.Lines)
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if err := files.begin(ctx); ctx.Err() != nil {
			return results, context.Cause(ctx)
		} else if err != nil {
			results = append(results, Result{Line: l, Outcome: Untried, Why: err.Error()})
			continue
		}
		if o.Begin != nil {
			o.Begin(l)
		}
		files.runs = true
		r, err := try(ctx, m, l, o)
		files.end(context.WithoutCancel(ctx), &r)
		if err != nil {
			if r.Outcome == Writes || len(r.Left)+len(r.Tracked)+len(r.Held) > 0 {
				results = append(results, r)
			}
			return results, err
		}
		if r.Outcome == Stranger && l.Instead != nil {
			lines = slices.Insert(lines, i+1, *l.Instead)
		}
		results = append(results, r)
	}
	if files.inGit && files.first != nil && files.now != nil {
		if last, err := workspace.Take(ctx, dir, options); err == nil {
			r := &results[len(results)-1]
			r.Caches, r.Beyond = beyond(files.first, last)
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

// CachesOf returns the caches of a plan, and the names of those that its lines make without being tried: those of tools of Python which no ignore file
// of the repository names. A clone lacks them, and a run finds what the run before it left.
func CachesOf(ctx context.Context, p scaffold.Plan) []string {
	names := slices.Clone(p.Caches)
	s, err := workspace.Take(ctx, p.Dir, workspace.Options{})
	if err != nil || s.Tree == "" { // in no repository: there is no clone
		return names
	}
	for _, l := range p.Lines {
		for _, c := range []struct{ tool, cache string }{{"mypy", ".mypy_cache"}, {"pytest", ".pytest_cache"}, {"ruff", ".ruff_cache"}} {
			if !strings.Contains(l.Text+"\n"+l.Table, c.tool) || slices.Contains(names, c.cache) {
				continue
			}
			if ignored, err := workspace.Ignores(ctx, nil, s.Root, path.Join(s.Place, c.cache, "x")); err == nil && len(ignored) == 0 {
				names = append(names, c.cache)
			}
		}
	}
	slices.Sort(names)
	return names
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

// isNew reports whether a change is a new file, and none that the user had removed. Git may track it since: that of a submodule which is
// initialised now, or of a sparse checkout.
func isNew(c workspace.Change, gone map[string]bool) bool {
	return c.Kind == workspace.Added && !gone[c.Path]
}

// changes adds what a line did to the files.
func (r *Result) changes(list []workspace.Change, gone map[string]bool) {
	for _, c := range list {
		if isNew(c, gone) && !c.Untracked {
			r.Tracked = append(r.Tracked, c.Path)
		} else if isNew(c, gone) {
			r.Left = append(r.Left, c.Path)
		} else {
			r.Changed = append(r.Changed, c.Path)
		}
	}
}

// wrote makes the result that of a line which changed files, if it did.
func (r *Result) wrote() {
	if len(r.Changed)+len(r.Stays) == 0 {
		return
	}
	r.Outcome, r.Why = Writes, "it changed "+some(r.Changed)
	switch {
	case len(r.Stays) == 0:
		r.Why += ", put back as before"
	default:
		r.Why += "; not put back: " + strings.Join(r.Stays, ", ")
	}
	if r.Gone {
		r.Why += "; it removed or changed copies of what was there before, which init had made"
	}
	if len(r.Old) > 0 {
		r.Why += "; what was there before is in " + strings.Join(r.Old, " and ")
		if len(r.Without) > 0 {
			r.Why += ", but for " + strings.Join(r.Without, ", ")
		}
	}
}

// try runs one line.
func try(ctx context.Context, m *routing.Matrix, l scaffold.Line, o Options) (Result, error) {
	file, parsed := lang.Parse(diag.NewSource(scaffold.ScriptName, []byte(l.Text+"\n")))
	p, findings := resolve.Resolve(file, m, resolve.Options{
		Parsed: parsed, Env: os.LookupEnv, Script: plan.Script{Name: scaffold.ScriptName, Part: true},
	})
	if findings.Count(diag.Error) > 0 || len(p.Steps) != 1 {
		return Result{Line: l}, fmt.Errorf("%q does not bind: %w", l.Text, errors.Join(findings.Err()))
	}
	if b := &p.Steps[0].Budget; b.Timeout == 0 || b.Timeout > o.Timeout {
		b.Timeout = o.Timeout
	}
	p.Steps[0].Budget.Retries = 0
	var out output
	secret := redact.New(redact.Options{Environ: slices.Concat(o.Environ, p.Environ()), Declared: p.Secrets()}) // what a line said is printed
	public := secret.Streams(func(_ int, p []byte) { out.write(p) })
	outcome := engine.Run(ctx, p, engine.Options{KeepGoing: true, JobControl: o.JobControl, Options: attempt.Options{
		Run: archive.NewRun(), Environ: o.Environ, Redact: secret, Degraded: "a trial", DeferGate: true, EndLeft: true, Output: true,
		Listen: func(e attempt.Event) {
			if e, ok := e.(attempt.Output); ok {
				public.Write(int(e.Stream), e.Data)
				if e.Cut {
					public.Cut(int(e.Stream))
				}
			}
		},
	}})
	public.Close()
	if err := context.Cause(ctx); err != nil {
		return Result{Line: l}, err
	}
	r := Result{Line: l, Duration: outcome.Duration}
	r.judge(outcome.Results[0], out.bytes())
	return r, nil
}

// output keeps the beginning and the end of what a line writes.
type output struct{ head, tail []byte }

const kept = 256 << 10 // bytes of each

func (o *output) write(p []byte) {
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

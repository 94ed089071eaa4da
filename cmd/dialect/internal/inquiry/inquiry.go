// Package inquiry asks whether a tree was tested: it makes the query of what the asker names, of
// the trusted rules and of the present files, has the log answer it, and says what the answer
// is, what it rests on, and what to do where it is no.
//
// It is one package of up to 4,000 lines because the words of an answer, and the command that comes next, depend on all
// that was asked: the files, the rules, the flags and the store.
package inquiry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/blob"
	"github.com/command-dialect/dialect/runtime/environ"
	"github.com/command-dialect/dialect/runtime/inputs"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/scope"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// Options say what is asked, and what the asker trusts.
type Options struct {
	Keys     note.Verifiers       // whose signatures count; nil for none
	KeyFiles []string             // as they were named, for messages
	Kept     *receipts.Checkpoint // a checkpoint that was kept; nil for none
	Since    string               // its file
	State    string               // folder for [sqlite.Options].State; empty for none

	Store   string // path of the store; empty for the project's own
	Notary  string // see [store.Place]
	Routing string // path of the matrix; empty for the nearest
	Root    string // what the root of the repository must be; empty for any
	Base    string // revision that the rules are compared with; empty for the pin, or HEAD

	Require        []string // names of bindings
	Own            bool     // without Require the baseline's [verify] says what is required
	Level          string   // "self", "key", "notary", "L0" to "L3", or empty
	MaxAge         time.Duration
	Fresh          bool
	Clean          bool // all has to have run in a clean checkout
	Why            bool // the answer lists what each condition was decided from
	ChecksTested   bool // each check has to have noticed what was broken
	Session, Nonce string
	After          string // a run that it has to be of after; see [verify.Query]
	Then           string // the command that waits for the answer; empty for none
	// Take takes the snapshot of the present files; nil for [workspace.Take], which reads every file.
	Take func(ctx context.Context, dir string, o workspace.Options) (*workspace.Snapshot, error)
	// Slow is called, in a goroutine of its own, for each snapshot that takes longer than [workspace.Slow], with what it waits for. It may be nil.
	Slow func(waiting string)
	// Elsewhere says that the receipts are of another machine, so that what lies beside
	// the files here says nothing of them.
	Elsewhere bool
}

// A Question is a query with what it was made of, and what is known of its answer.
type Question struct {
	verify.Query
	o        Options
	root     string
	matrix   plan.Matrix // zero without one
	state    policy.State
	trusted  *policy.Baseline    // nil without a matrix
	commit   *workspace.Commit   // that is asked about; nil for the present files
	snapshot *workspace.Snapshot // of the present tree; nil for a revision
	changed  []string            // paths that differ between a stale gate's tree and the present files
	path     string              // of the store
	logs     archive.Archive

	bundle      string                              // that is asked instead of the store
	lines       []string                            // of what is required
	rules       *routing.Matrix                     // the trusted one; nil without a matrix
	ungated     []string                            // prefixes of receipts that a gate would make VERIFIED
	gateFor     []string                            // what that gate has to require
	culprit     *receipts.Receipt                   // of the gravest refusal, if that is about one
	several     bool                                // other lines of its script failed with it
	ofCommit    func(script, whole string) []string // how to test the commit that is asked about
	apart       bool                                // that commit is tested in another folder
	uncommitted bool                                // what is not committed has to be before the commit that is asked about can be tested
	nested      []workspace.Nested                  // in the present files, where a commit is asked about
	gitRoot     string                              // of the worktree that nested are in
	beyond      string                              // how the files that were tested differ from the commit that is asked about
	unlike      []workspace.Difference              // what a clone of the tested tree would have otherwise, as the gate says
	lost        string                              // path of the matrix that HEAD has and that is gone here
	restore     []string                            // what brings back a matrix that is gone
	pinned      bool                                // the matrix that is gone is one that the user has pinned
	remedy      string                              // what to do where all that changed is new
	lacks       bool                                // the commit that is asked about, or the base, has no matrix
	statement   *receipts.Notary                    // of the session that a bundle is of; nil for none
	voucher     string                              // the name of the key that vouches for it
	unshown     bool                                // the bundle does not show that it follows the kept checkpoint
	noRecord    bool                                // the id that is asked about names no record
	unusable    error                               // why the store cannot be used; nil if it can
	stores      []string                            // in folders below, where there is none here
	others      []string                            // stores of other worktrees, where this one has no store, or not the record
	nextSteps   []string
	whole       string // path of the default script, where all of it has to be covered
}

// An Unloadable error says that the rules or their inputs cannot be read: nothing can be judged. As other failures of
// [exit.Refused] it is an answer, which [Broken] gives.
type Unloadable struct{ *exit.Failure }

func (e Unloadable) Unwrap() error { return e.Failure }

// New gathers what is asked for. rev names a commit to ask about; empty asks about the files as
// they are. The error is an [*exit.Failure], [*Unloadable], or says that a signal ended it.
func New(ctx context.Context, o Options, rev string) (*Question, error) {
	q := &Question{Query: verify.Query{Session: o.Session, Nonce: o.Nonce, After: o.After, Fresh: o.Fresh, Clean: o.Clean, ChecksTested: o.ChecksTested, MaxAge: o.MaxAge, Now: time.Now(), Strict: o.strictly()}, o: o}
	switch o.Level {
	case "":
		if len(o.KeyFiles) > 0 { // who names a key wants its signature
			q.Level = receipts.LevelKey
		}
	case "L0", "self":
	case "L1", "L3", "key":
		if o.Level == "L3" && o.Kept == nil {
			return nil, exit.Usagef("--level L3 needs --since FILE: it means --level key with a kept checkpoint that covers the gate")
		}
		if q.Level = receipts.LevelKey; o.Keys == nil {
			return nil, exit.Usagef("--level %s needs a --key: without one no signature is known", o.Level)
		}
		q.Kept = o.Level == "L3"
	case "L2", "notary":
		if q.Level = receipts.LevelNotary; o.Keys == nil {
			return nil, exit.Usagef("--level %s needs a --key: that of the notary, or the one that vouches for its session", o.Level)
		}
		o.Keys = receipts.OfNotaries(o.Keys)
		q.o.Keys = o.Keys
	default:
		return nil, exit.Usagef("--level %q: want self (L0), key (L1) or notary (L2)", o.Level)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, exit.Failf(exit.Internal, "%v", err)
	}
	q.root = dir
	var m *routing.Matrix
	var findings diag.List
	load := func() error {
		if rev == "" {
			m, findings, err = project.LoadMatrix(dir, o.Routing)
			return nil
		}
		if q.commit, m, findings, err = project.LoadMatrixOf(ctx, rev, dir, o.Routing); q.commit == nil {
			return NoCommit(ctx, "--tree", dir, rev, err)
		}
		return nil
	}
	if err := load(); err != nil {
		return nil, err
	}
	if real, lerr := filepath.EvalSymlinks(dir); errors.Is(err, routing.ErrNotFound) && o.Routing == "" && lerr == nil && real != dir {
		dir, q.root = real, real // by whatever link the caller is here: the files are those of the real folder, and so are the rules
		if err := load(); err != nil {
			return nil, err
		}
	}
	lacks := err == nil && rev != "" && project.IsAbsent(m)
	switch {
	case err == nil && findings.Count(diag.Error) > 0 && !lacks:
		f := exit.Failf(exit.Refused, "the matrix %s does not load: %s", m.Name, findings.Summary())
		if rev != "" {
			return nil, &Unloadable{f.Hint("%s", advice("these are the bytes of %s; `dialect check` in a checkout of it says what is wrong", rev))}
		}
		return nil, &Unloadable{f.Hint("%s", report.Command([]string{"dialect", "check", m.Name}))}
	case err == nil:
		q.root, q.matrix = m.Root, resolve.Matrix(m)
	case q.lose(ctx, dir, rev, err):
	case len(o.Require) > 0 || o.Base != "" || o.Routing != "" || !errors.Is(err, routing.ErrNotFound):
		f := exit.Failf(exit.Refused, "%w", err)
		if f := q.partial(ctx, dir, rev); rev != "" && f != nil {
			return nil, f
		}
		if errors.Is(err, routing.ErrNotFound) {
			f.Hint("dialect init").Hint("%s", advice("or name a matrix elsewhere: --routing FILE"))
		}
		return nil, &Unloadable{f}
	}
	if wd, err := os.Getwd(); err == nil {
		switch at := place.From(q.root, wd); {
		case !filepath.IsLocal(at):
			q.Query.Root = filepath.ToSlash(place.Short(q.root))
		case at != ".":
			q.From = at
		}
	}
	from := dir
	if o.Routing != "" {
		from = ""
	}
	if m != nil {
		trusted, baseline, state, err := project.Trusted(ctx, nil, m, o.Base, from)
		switch {
		case err != nil && o.Base == "":
			return nil, unpinned(err)
		case err != nil:
			return nil, NoCommit(ctx, "--base", dir, o.Base, err)
		case state.Unknown != "" && state.Kind != policy.Pinned:
			if f := q.partial(ctx, dir, baseline.Name); f != nil {
				return nil, f
			}
		}
		if o.Base != "" && q.Level > receipts.LevelHash && !workspace.IsHash(o.Base) {
			return nil, exit.Usagef("--base %s: with --key, the base must be a full commit hash: anyone who can write to the repository can move a branch or tag", o.Base).
				Hint("it is %s now: --base %s", state.Commit, state.Commit)
		}
		if q.lacks = lacks || state.Lacks; lacks {
			state.Unseen = fmt.Sprintf("%s has no %s: nothing says what its files have to pass", rev, m.Name)
			if o.Base == "" {
				state.Changes = nil // all of it: the commit is older than the matrix
			}
		}
		for i := range state.Changes {
			if c := &state.Changes[i]; rev != "" {
				if c.Of, c.In = state.Against, rev; state.Kind == policy.Pinned {
					c.Of = "pin"
				}
			}
		}
		q.state, q.trusted, q.Policy = state, baseline, state.Complaint()
		q.rules = trusted
		require := o.Require
		if o.Own && len(require) == 0 {
			require = trusted.Require
		}
		err = q.requirements(trusted, require)
		if err != nil && q.Policy != "" {
			err = q.requirements(m, require) // it is refused in any case
		}
		if err != nil && !lacks {
			return nil, err
		}
	}
	q.path = o.Store
	if o.Store == "" {
		if q.path, err = store.Copied(o.Notary); err != nil {
			return nil, err
		}
	}
	if q.path == "" {
		q.path = archive.Store(q.root)
	} else if o.Keys == nil {
		q.o.Keys = store.SessionKey(q.path)
	}
	q.logs = archive.Of(q.path)
	if rev == "" && !o.Elsewhere {
		if q.Inputs, err = inputs.Digests(ctx, q.matrix, q.root); err != nil {
			return nil, &Unloadable{exit.Failf(exit.Refused, "cannot read the inputs of the bindings: %v", err).Hint("make the named files readable, or have `inputs` of %s match fewer files", place.Short(m.Path))}
		}
	}
	if err := checkState(o.State, q.path); err != nil {
		return nil, err
	}
	return q, q.present(ctx)
}

// At returns the question about another state of the files, under the same rules and inputs: one that a snapshot
// was taken of earlier.
func (q *Question) At(t receipts.Tree) *Question {
	other := *q
	other.Tree, other.NoTree, other.Commit, other.snapshot = &t, "", false, nil
	other.Scopes = nil // they are about the present files
	return &other
}

// Snapshot returns that of the present files; nil where a commit is asked about, or where [verify.Query].NoTree says why
// there is none.
func (q *Question) Snapshot() *workspace.Snapshot { return q.snapshot }

// Trusted returns the matrix that the baseline has; nil without one.
func (q *Question) Trusted() *routing.Matrix { return q.rules }

// Rules returns the digest of the present matrix, and of what that extends and pins; empty without one.
func (q *Question) Rules() string { return q.matrix.SHA256 }

// Root returns the folder of the matrix, or the working directory where there is none.
func (q *Question) Root() string { return q.root }

// Others returns the stores of other worktrees of the repository, where the one that is asked is not there, or has not the record.
func (q *Question) Others() []string { return q.others }

// Store returns the path of the store that is asked.
func (q *Question) Store() string { return q.path }

// Beyond says how the files that were tested, which are here, differ from the commit that was asked about; empty where they do not, or that is not
// known.
func (q *Question) Beyond() string { return q.beyond }

// NamedTree returns the tree that name means: "." the present files, a revision, or a digest; nil for no
// name. Of the options the store counts, and how a snapshot is taken.
func NamedTree(ctx context.Context, name string, o Options) (*receipts.Tree, error) {
	if name == "" {
		return nil, nil
	}
	if h, err := receipts.ParseHash(name); err == nil {
		return &receipts.Tree{Bytes: h}, nil
	}
	if name != "." {
		c, err := workspace.Resolve(ctx, ".", name, workspace.Options{})
		switch {
		case err == nil:
			return &receipts.Tree{Tree: c.Tree}, nil
		case len(name) == 40 && strings.Trim(name, "0123456789abcdef") == "":
			return &receipts.Tree{Tree: name}, nil // a tree, not a commit
		}
		return nil, NoCommit(ctx, "--tree", ".", name, err)
	}
	q, err := New(ctx, o, "")
	switch {
	case err != nil:
		return nil, err
	case q.Tree == nil:
		return nil, exit.Failf(exit.Failed, "cannot take a snapshot of the working tree: %s", q.NoTree)
	}
	return q.Tree, nil
}

// lose reports whether no matrix was found for dir, or in the commit rev of the question, as err says, where a pin is of one, or HEAD has one: then the
// rules are not the trusted ones, whatever is asked.
func (q *Question) lose(ctx context.Context, dir, rev string, err error) bool {
	if q.o.Routing != "" {
		return false
	}
	path, unknown := project.Lost(ctx, dir, err)
	if path == "" && errors.Is(err, routing.ErrNotFound) {
		for at := dir; path == "" && at != filepath.Dir(at); at = filepath.Dir(at) {
			if policy.IsPinned(at) {
				path, q.pinned = filepath.Join(at, routing.FileName), true
			}
		}
	}
	if path == "" && unknown != nil {
		q.state.Unseen = "it is not known whether HEAD has a " + routing.FileName + ": " + unknown.Error()
		q.Policy = q.state.Unseen
		return true
	}
	if path == "" {
		return false
	}
	q.root = filepath.Dir(path)
	if rev != "" && !q.pinned {
		q.state.Unseen = fmt.Sprintf("%s has no %s: nothing says what its files have to pass", rev, routing.FileName)
		q.Policy, q.lacks = q.state.Unseen, true
		return true
	}
	q.lost = path
	q.state.Unseen = (&project.LostError{Path: path}).Error()
	if q.pinned {
		q.state.Unseen = place.Short(path) + " is gone: your pin has it"
	}
	q.Policy = q.state.Unseen
	return true
}

// strictly reports whether the flags, or a CI, ask for more than the producer's word:
// then a pass that came after a failure on the same files is refused.
func (o Options) strictly() bool {
	return len(o.Require) > 0 || o.Base != "" || o.Level != "" || len(o.KeyFiles) > 0 || o.Since != "" || environ.InCI()
}

// storeOptions are those to open the store for the query.
func (q *Question) storeOptions() sqlite.Options {
	return sqlite.Options{Keys: q.o.Keys, Kept: q.o.Kept, State: q.o.State}
}

// present finds out what tree the inquiry is about.
func (q *Question) present(ctx context.Context) error {
	if c := q.commit; c != nil {
		q.Tree, q.Commit = &receipts.Tree{Tree: c.Tree}, true
		at, err := workspace.Place(ctx, q.root, workspace.Options{})
		if err != nil {
			return exit.Usagef("--tree: %v", err)
		}
		if of, ok := c.Place(ctx, q.root); ok && of != at {
			q.state.Elsewhere = fmt.Sprintf("%s leads to %s here, and not in %s: a link is new, or another one, or gone", q.root, cmp.Or(at, "the root of the repository"), cmp.Or(c.Ref, c.ID))
			q.Policy, at = q.state.Elsewhere, of
		}
		q.Place = receipts.Text(at)
		q.checkRoot(c.Root())
		q.see(func(path string) (workspace.Found, error) { return c.Lookup(ctx, path) })
		return nil
	}
	if q.Outside = !project.IsProject(q.root); q.Outside && q.o.Elsewhere {
		return exit.Usagef("--bundle: there is no project here whose files it could be about").
			Hint("ask in a clone of the repository; --tree REV asks about a commit of it")
	}
	if q.Outside {
		q.NoTree = "there is no project here: no routing.toml, and no git"
		return nil
	}
	s, err := q.take(ctx)
	if ctx.Err() != nil {
		return exit.Status(interrupt.Status(ctx))
	}
	if err != nil {
		q.NoTree = err.Error()
		return nil
	}
	q.checkRoot(s.Root)
	q.see(func(path string) (workspace.Found, error) { return s.Lookup(path), nil })
	q.snapshot = s
	if q.rules != nil && len(q.matrix.Scopes) > 0 && q.o.Own && !q.o.Fresh && (!q.o.strictly() || q.rules.Scoped) {
		q.Scopes = scopes(ctx, q.matrix.Scopes, s)
	}
	q.Tree, q.Place = &receipts.Tree{Tree: s.Tree, Bytes: s.Bytes, Exact: s.Exact}, receipts.Text(s.Place)
	return nil
}

// scopes says which files of a snapshot bindings name by their patterns. Nobody may use an answer that comes after ctx is over.
func scopes(ctx context.Context, patterns map[string][]string, s *workspace.Snapshot) *verify.Scopes {
	files := sync.OnceValue(func() *scope.Files { return scope.Of(s) })
	known := make(map[string]receipts.Hash)
	return &verify.Scopes{
		Of: func(binding string) receipts.Hash {
			h, ok := known[binding]
			if !ok && len(patterns[binding]) > 0 {
				h = files().Digest(ctx, patterns[binding]) // none would be the wrong one for what has failed
				known[binding] = h
			}
			return h
		},
		Rest: func(bindings []string) receipts.Hash {
			var all []string
			for _, b := range bindings {
				all = append(all, patterns[b]...)
			}
			return files().Rest(all)
		},
	}
}

// checkRoot compares the root of the repository with the one that the asker names, and with that of the baseline: a repository that
// is made inside of another one has files, and rules, in other places.
func (q *Question) checkRoot(root string) {
	if q.o.Root != "" {
		if want, err := place.Real(q.o.Root); err != nil || want != root {
			q.state.Above = ""
			q.state.Elsewhere = fmt.Sprintf("the root of the repository is %s, and not %s", root, q.o.Root)
			q.Policy = q.state.Elsewhere
		}
	}
	if q.Policy == "" {
		q.state = q.state.At(root)
		q.Policy = q.state.Complaint()
	}
}

// see compares the rules with what look finds in their places.
func (q *Question) see(look func(path string) (workspace.Found, error)) {
	if q.trusted != nil && q.Policy == "" {
		q.state = q.trusted.See(q.state, q.matrix, look)
		q.Policy = q.state.Complaint()
	}
}

// Reading says what a slow snapshot of root waits for: many files, a filter that git runs over them, or ignore and attributes files with very
// many patterns, or with stars that can stand for a lot.
func Reading(root string) string {
	return "reading the files below " + place.Short(root) + ", with the ignore files, attributes and filters of git"
}

func (q *Question) take(ctx context.Context) (*workspace.Snapshot, error) {
	take := q.o.Take
	if take == nil {
		take = workspace.Take
	}
	if q.o.Slow != nil {
		timer := time.AfterFunc(workspace.Slow, func() { q.o.Slow(Reading(q.root)) })
		defer timer.Stop()
	}
	return take(ctx, q.root, workspace.Options{Caches: q.matrix.Caches, Except: archive.Except(q.root, q.path)})
}

// requirements turns names of bindings into the commands that they run.
func (q *Question) requirements(m *routing.Matrix, names []string) error {
	var err error
	q.Require, q.lines, err = requirements(m, names)
	rules := resolve.Matrix(m)
	q.Retries, q.Env = rules.Retries, rules.Env
	if h, herr := receipts.ParseHash(m.SHA256); herr == nil {
		q.Matrix = h
	}
	return err
}

func requirements(m *routing.Matrix, names []string) (list []verify.Requirement, lines []string, err error) {
	resolved := func(line string) (*plan.Plan, diag.List) {
		file, parsed := lang.Parse(diag.NewSource("--require", []byte(line)))
		return resolve.Resolve(file, m, resolve.Options{Parsed: parsed})
	}
	for _, name := range names {
		b, several := m.Named(name)
		if b == nil && len(several) == 0 { // a whole line, as in a script
			if p, l := resolved(name + "\n"); l.Count(diag.Error) == 0 && len(p.Steps) == 1 {
				if b = m.ByName(p.Steps[0].Binding); b != nil && len(p.Steps[0].Values) > 0 && p.Steps[0].Kind != plan.Task {
					return nil, nil, exit.Usagef("--require %q: name the binding only; values are not part of a requirement", name).Hint("--require %s", b.Name)
				}
			}
		}
		if b == nil {
			return nil, nil, exit.NoBinding(exit.Usage, "--require "+name, m, name, several)
		}
		line := b.Verb + " " + b.Noun
		if several == nil && name != b.Name && b.Kind == plan.Task {
			line = name // what an agent is asked is its whole line
		}
		p, l := resolved(line + "\n")
		if l.Count(diag.Error) > 0 || len(p.Steps) != 1 {
			f := exit.Usagef("--require %s: it cannot stand alone on a line", name)
			for _, d := range l {
				f.Hint("%s", d.Message)
			}
			return nil, nil, f
		}
		before, task, agent := len(list), false, false
		if lines = append(lines, b.Usage()); strings.ContainsAny(b.Usage(), "{[") {
			lines[len(lines)-1] = line
		}
		passing(p.Steps, func(s *plan.Step) {
			if s.Kind == plan.Builtin && s.Target == plan.GateResults {
				return
			}
			task = task || byScript(s)
			agent = agent || s.Kind == plan.Task && line != name
			argv := s.Command()
			list = append(list, verify.Requirement{
				Name: name, Binding: s.Binding, Command: receipts.CommandHash(s.Identity()), Dir: dirOf(m.Root, s), Words: report.Command(argv),
			})
		})
		if task {
			return nil, nil, exit.Usagef("--require %s: what a task without an agent runs is the script that its line names", name).
				Hint("name what that script runs: its own run has a gate of its own")
		}
		if agent {
			return nil, nil, exit.Usagef("--require %s: what the agent of a task does depends on its whole line", name).
				Hint("name the line as the script has it: --require 'Spawn ... as task'")
		}
		if len(list) == before {
			// A verdict over it would rest on nothing.
			return nil, nil, exit.Usagef("--require %s: it runs no command, so it cannot be required; verify asks for a gate anyway", name).
				Hint("name what has to pass before the gate")
		}
	}
	return list, lines, nil
}

// byScript reports whether a step is a task that a script carries out.
func byScript(s *plan.Step) bool { return s.Kind == plan.Task && len(s.Argv) == 0 }

// passing calls f for each command of steps that has to pass: what runs only after a failure does not run where all is well.
func passing(steps []*plan.Step, f func(*plan.Step)) {
	for _, s := range steps {
		switch {
		case s.WhenFailure:
		case s.Kind == plan.Composite:
			passing(s.Members, f)
		default:
			f(s)
		}
	}
}

// checkState refuses a folder for --state that proves nothing: one that cannot be used, or
// in which the writers of the store write. What it makes for that does not stay.
func checkState(dir, store string) (err error) {
	if dir == "" {
		return nil
	}
	if _, lerr := os.Lstat(dir); errors.Is(lerr, fs.ErrNotExist) {
		defer func() {
			if err != nil {
				_ = os.Remove(dir) // which is empty, or not made
			}
		}()
	}
	real, err := place.Real(dir)
	if err != nil {
		return exit.Usagef("--state %s: %v", dir, err)
	}
	folder, _ := archive.FolderOf(store)
	beside, err := place.Real(folder)
	if err != nil {
		return exit.Usagef("--state %s: %v", dir, err)
	}
	if real == beside || strings.HasPrefix(real, beside+string(filepath.Separator)) {
		return exit.Usagef("--state %s: it is in the store's own folder, where the writers of the store write: name a folder of the verifier's own", dir)
	}
	if err := sqlite.CheckState(dir); errors.Is(err, sqlite.ErrNoOwners) {
		return exit.Usagef("--state %s: %v", dir, err).Hint("keep a checkpoint where the commands cannot write: dialect receipts checkpoint, and --since FILE")
	} else if errors.Is(err, sqlite.ErrUnread) {
		return exit.Usagef("--state %s: %v", dir, err).Hint("ask the version that wrote it; or, if it does not matter whether the log was cut before now, remove %s, and with it all that it remembers",
			place.Short(sqlite.StateFile(dir)))
	} else if err != nil {
		return exit.Usagef("--state %s: %v", dir, err)
	}
	if protects, err := sqlite.StateProtects(dir, store); err == nil && !protects {
		return exit.Usagef("--state %s: it belongs to the user who owns the store, whose writers write there too: it proves nothing", dir).
			Hint("run the verifier as another user than the commands, or keep checkpoints elsewhere: dialect receipts checkpoint, and --since FILE")
	}
	return nil
}

// dirOf is the directory of a step as receipts have it.
func dirOf(root string, s *plan.Step) receipts.Datum {
	if s.Kind != plan.Process || s.Dir == root || s.Dir == "" {
		return receipts.Datum{}
	}
	rel, err := filepath.Rel(root, s.Dir)
	if err != nil {
		rel = s.Dir
	}
	return receipts.Text(filepath.ToSlash(rel))
}

// maxManifest bounds what is read of a list of files, in bytes.
const maxManifest = 1 << 30

// keptFiles returns the files of a digest, if a run kept their list; nil if not.
func keptFiles(ctx context.Context, a archive.Archive, sum receipts.Hash) *workspace.Snapshot {
	f, _, err := blob.Open(ctx, string(a), sum, maxManifest)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil
	}
	s, err := workspace.ParseManifest(text)
	if err != nil {
		return nil
	}
	return s
}

// changedSince lists the paths that differ between the tree of a gate and the present
// files; nil where that is not known. Where they are all new, or git tracks what dialect writes, remedy says what to do.
func (q *Question) changedSince(ctx context.Context, g *receipts.Gate) (paths []string, remedy string) {
	if g == nil || g.Tree == nil {
		return nil, ""
	}
	old := keptFiles(ctx, q.logs, g.Tree.Bytes)
	now := q.snapshot
	if now == nil {
		now, _ = q.take(ctx)
	}
	if old == nil || now == nil {
		return nil, ""
	}
	remedy = leftBehind + "; run again if these files are part of the project"
	tracked := "" // what a run itself changes
	for _, c := range workspace.Diff(old, now) {
		if c.Kind == workspace.Added && strings.HasSuffix(c.Path, "/") {
			continue // a repository, which no list that was kept has; its files are listed
		}
		paths = append(paths, fmt.Sprintf("%s (%s)", c.Path, c.Kind))
		if c.Kind != workspace.Added || !c.Untracked {
			remedy = ""
		}
		if _, name, ok := strings.Cut("/"+c.Path, "/"+archive.Folder+"/"); ok && tracked == "" {
			if _, ok := archive.Makes(name); ok {
				tracked = c.Path
			}
		}
	}
	if tracked != "" {
		remedy = fmt.Sprintf("git tracks what dialect itself writes, %s, so that each run makes other files: take it out of the index (git rm --cached) and commit that, and run again", report.Command([]string{tracked}))
	}
	return paths, remedy
}

// compareCommit says how the present files, if they are those of a gate, differ from the
// commit rev; empty if they are others. It finds out how to have the files of rev tested.
func (q *Question) compareCommit(ctx context.Context, g *receipts.Gate, rev string) string {
	s, err := q.take(ctx)
	if err != nil {
		return ""
	}
	head, err := workspace.Resolve(ctx, q.root, "HEAD", workspace.Options{})
	if err != nil {
		return ""
	}
	clean, tested := s.Tree == head.Tree, g != nil && g.Tree != nil && s.Bytes == g.Tree.Bytes
	if q.Tree.Tree != head.Tree {
		if s.Tree != q.Tree.Tree {
			q.apart = true
			q.ofCommit = func(script, whole string) []string { return q.inWorktree(ctx, s, rev, script, whole) }
		}
		switch {
		case !tested:
			return ""
		case clean:
			return "the files that were tested are here, and are those of HEAD, not of " + rev
		}
		return "the files that were tested are here, but are not those of " + rev
	}
	q.nested, q.gitRoot = s.Nested, s.Root
	if clean {
		return "" // the gate says what a clone would not have
	}
	if s.Tree == "" && !s.Unmerged {
		q.ofCommit = func(_, whole string) []string {
			return []string{advice("git makes no commit of these files (%s): resolve that, and then:", s.Reason), whole}
		}
		if tested {
			return "the files that were tested are here, but git has no tree of them: " + s.Reason
		}
		return ""
	}
	over, all := s.PassedOver(ctx)
	// before puts what is to be done about files that git add passes over before other steps.
	before := func(whole string, others ...string) []string {
		if len(over) == 0 {
			return others
		}
		list := []string{advice("no commit has what git passes over by rules that are not tracked: %s; name in a tracked .gitignore what is not part of the project, commit that, and test again:", diag.Some(over, len(over), 5))}
		if all {
			return append(list, whole)
		}
		return append(list, others...)
	}
	differ, marks, err := s.Against(ctx, head)
	if err != nil {
		return ""
	}
	alone := func(list []string, script, whole string) []string {
		if text := q.alone(ctx, s, rev, script, whole); text != "" {
			list = append(list, text)
		}
		return list
	}
	if !tested {
		q.ofCommit = func(script, whole string) []string {
			q.uncommitted = len(over) == 0 || !all
			list := append(q.unmark(rev, marks), advice("the question is about a commit, %s, which lacks what is not committed (%s): commit that, or name in a tracked .gitignore what is not part of the project, and then:", rev, uncommitted(s, differ)), whole)
			return before(whole, alone(list, script, whole)...)
		}
		return ""
	}
	commit := q.commitAs(s, differ, len(over) > 0)
	if s.Untracked.Count == 0 {
		q.ofCommit = func(script, whole string) []string { return alone(append(q.unmark(rev, marks), commit), script, whole) }
		return "the files that were tested are here, but are not what " + rev + " holds: " + diag.Some(differ.Paths, differ.Count, 5)
	}
	q.ofCommit = func(script, whole string) []string {
		if tools := environments(s.Untracked.Paths); len(tools) > 0 {
			return before(whole, advice("name in a tracked .gitignore what is not part of the project, as %s seems not to be, and test again:", strings.Join(tools, ", ")), whole, advice("then commit:"), commit)
		}
		list := append(q.unmark(rev, marks), advice("commit them:"), commit, advice("or name in a tracked .gitignore what is not part of the project, commit that, and test again:"), whole)
		return before(whole, alone(list, script, whole)...)
	}
	return "the files that were tested are here, but go beyond " + rev + ": " + diag.Some(slices.Concat(s.Untracked.Paths, differ.Paths), s.Untracked.Count+differ.Count, 5)
}

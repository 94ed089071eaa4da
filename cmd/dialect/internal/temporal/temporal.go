// Package temporal is the client side of `dialect run --engine temporal`: in come the flags and a bound program, out comes what
// hands the run out, and what is accepted of it. It links nothing of Temporal: the helper dialect-temporal does.
package temporal

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/carry"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/recording"
	"github.com/command-dialect/dialect/runtime/remote"
	"github.com/command-dialect/dialect/runtime/schedule"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// Program speaks to Temporal.
const Program = "dialect-temporal"

// Name is that of the engine.
const Name = "temporal"

// Options say where a run is carried out.
type Options struct {
	Engine string // empty for this machine
	remote.Server
	Depot     string   // the repository that carries the files
	Keys      []string // public keys of workers
	Untracked bool

	spec *remote.Spec // of the run that is taken up again; nil for a new one
}

// Check says what is wrong with the options; it fills in nothing.
func (o *Options) Check() error {
	switch {
	case o.Engine == "" && (o.Queue+o.Depot+o.Address+o.Namespace != "" || len(o.Keys) > 0 || o.Untracked):
		return exit.Usagef("--engine temporal is missing: --address, --namespace, --task-queue, --remote, --worker-key and --send-untracked are of a run on workers")
	case o.Engine == "" || o.Engine == "local":
		return nil
	case o.Engine != Name:
		return exit.Usagef("--engine %q: want local or temporal", o.Engine)
	}
	return nil
}

// On reports whether another machine carries the run out.
func (o *Options) On() bool { return o.Engine == Name }

// Demand refuses options of a run on this machine, for what is only of runs on others.
func (o *Options) Demand() error {
	if err := o.Check(); err != nil {
		return err
	}
	if !o.On() {
		return exit.Usagef("--engine temporal is missing: a run on this machine ends with its dialect")
	}
	return nil
}

// Fill takes from the matrix what no flag says, and checks that all is there.
func (o *Options) Fill(p *project.Program) error {
	m := p.Matrix.Temporal
	o.Address, o.Namespace, o.Queue = cmp.Or(o.Address, m.Address), cmp.Or(o.Namespace, m.Namespace), cmp.Or(o.Queue, m.Queue)
	if o.Untracked = o.Untracked || m.Untracked; len(o.Keys) == 0 {
		o.Keys = m.Keys
	}
	if o.Depot == "" && m.Remote != "" {
		o.Depot = m.Remote
		if at := filepath.Join(p.Matrix.Root, m.Remote); place.Exists(at) {
			o.Depot = at // a path beside the matrix
		}
	}
	switch {
	case o.Queue == "":
		return exit.Usagef("--task-queue is missing: which workers carry the run out").Hint("`dialect help temporal` has all that is needed")
	case o.Depot == "":
		return exit.Usagef("--remote is missing: the git repository that carries the files to the workers").Hint("`dialect help temporal` has all that is needed")
	case len(o.Keys) == 0:
		return exit.Usagef("--worker-key is missing: whose receipts are accepted").Hint("`dialect receipts keygen NAME FILE` prints the public key of a worker")
	}
	if err := carry.CheckRemote(o.Depot); err != nil {
		return exit.Usagef("--remote: %v", err)
	}
	if _, err := o.Workers(); err != nil {
		return err
	}
	if p.Script.Path == "" {
		return exit.Usagef("--engine temporal carries out scripts that are files of the project: not lines of -e or of standard input").
			Hint("write them to a file, such as quality.dlct, and `git add` it")
	}
	step, why := attempt.NotElsewhere(p.Plan)
	if step == nil {
		step, why = attempt.Apart(p.Plan, o.Queue)
	}
	if step != nil {
		return exit.Usagef("--engine temporal: line %d (%s) %s", step.Line.Number, step.Binding, why).Hint("without --engine it runs here")
	}
	return nil
}

// Workers are the keys of the workers.
func (o *Options) Workers() (note.Verifiers, error) {
	return store.ReadKeys(o.Keys)
}

// Helper returns the command that speaks to Temporal; nil where there is none.
func Helper() []string { return mcpclient.Beside(Program) }

// NoHelper is the error of a dialect without its helper.
func NoHelper() error {
	return exit.Failf(exit.Fault, "%s is neither beside dialect nor in PATH", Program).Hint("it is a program of its own, in no release yet: `make build-temporal` in a clone of github.com/command-dialect/dialect")
}

// Conduct sets what the options of a run need to have it carried out elsewhere. What it returns is closed when the run is over.
func (o *Options) Conduct(ctx context.Context, p *project.Program, rec *recording.Recording, opt *engine.Options, complain io.Writer) (*remote.Conductor, error) {
	helper := Helper()
	if helper == nil {
		return nil, NoHelper()
	}
	origin, err := rec.Origin(ctx)
	if err != nil {
		return nil, exit.Failf(exit.Fault, "--engine temporal needs a store, in which the receipts of the workers are kept: %v", err)
	}
	if opt.Workspace == nil {
		return nil, exit.Usagef("--engine temporal needs the digests of the files: it goes without --no-tree, and in a project")
	}
	if opt.Room != nil {
		return nil, exit.Usagef("--engine temporal and --clean exclude each other: a worker has a checkout of its own for each command")
	}
	keys, err := o.Workers()
	if err != nil {
		return nil, err
	}
	if opt.Jobs == 0 {
		opt.Jobs = DefaultSlots
	}
	opt.Worker = &attempt.Worker{Keys: keys, Origin: origin}
	opt.Began = time.Now().UTC().Truncate(time.Millisecond)
	if opt.Session == "" {
		opt.Session = opt.Run
	}
	s := p.Script
	script, _ := receipts.ParseHash(s.SHA256())
	matrix, _ := receipts.ParseHash(p.Plan.Matrix.SHA256)
	far := remote.Options{
		Helper: helper, Server: o.Server, Depot: carry.Depot{Remote: o.Depot}, Untracked: o.Untracked,
		Snapshot: rec.Snapshot, Complain: complain, Attach: o.spec != nil, Signer: rec.Signer(),
		Spec: remote.Spec{
			Run: opt.Run, Session: opt.Session, Nonce: opt.Nonce, Parent: opt.Parent, Origin: origin, Started: opt.Began,
			Name: s.Name, Script: s.Path, Line: s.Line, Member: s.Member, Part: s.Part, Lines: p.Lines, Vars: p.Vars,
			Matrix: p.Plan.Matrix.Path, ScriptSHA: script, MatrixSHA: matrix, DeferGate: opt.DeferGate,
		},
	}
	kept := rec.Archive()
	if s := o.spec; s != nil {
		if s.Origin != origin {
			return nil, exit.Usagef("the receipts of run %s are for another store than this one", s.Run)
		}
		if kept.Lasts(s.Run) {
			return nil, exit.Usagef("run %s has a dialect already, which decides its gate", s.Run).Hint("`dialect runs cancel %s --engine temporal` ends it", s.Run)
		}
		if far.Key, err = keyOf(kept, s); err != nil {
			return nil, err
		}
		far.Spec = *s
		opt.Resumed, opt.Worker.Tree = true, &s.Tree
		opt.Run, opt.Session, opt.Nonce, opt.Parent, opt.Began = s.Run, s.Session, s.Nonce, s.Parent, s.Started
		opt.Jobs, opt.FailFast, opt.KeepGoing, opt.Locks = s.Rules.Slots, s.Rules.FailFast, s.Rules.KeepGoing, s.Rules.Held
	}
	if o.spec == nil {
		if far.Spec.Key, far.Key, err = ed25519.GenerateKey(nil); err == nil {
			err = kept.KeepKey(opt.Run, far.Key.Seed())
		}
		if err != nil {
			return nil, exit.Failf(exit.Fault, "the key of the run cannot be kept beside the store: %v", err)
		}
	}
	far.Ended = func(over bool) {
		kept.DropKey(far.Spec.Run) // what this process has reported no other one reports otherwise
		if !over {
			fmt.Fprintf(complain, "dialect: the run may go on at the Temporal server: `dialect runs cancel %s --engine temporal` ends it\n", far.Spec.Run)
		}
	}
	c := remote.New(ctx, far)
	opt.Remote = c
	opt.Worker.Files = c.Files
	caches := p.Plan.Matrix.Caches
	opt.Worker.Snapshot = func(dir string) (*workspace.Snapshot, error) {
		return workspace.Take(ctx, filepath.Join(dir, filepath.FromSlash(c.Place())), workspace.Options{Caches: caches})
	}
	return c, nil
}

// keyOf returns the key with which the answers of a run that is under way are signed; nil for a run of a version without one.
func keyOf(kept archive.Archive, s *remote.Spec) (ed25519.PrivateKey, error) {
	seed, err := kept.Key(s.Run)
	gone := errors.Is(err, fs.ErrNotExist)
	switch {
	case gone && s.Version == 1:
		return nil, nil
	case gone:
		return nil, exit.Usagef("run %s cannot be taken up again: it is over here, or another store has its key", s.Run).Hint("`dialect receipts list --run %s` has what it left here", s.Run)
	case err != nil || len(seed) != ed25519.SeedSize:
		return nil, exit.Failf(exit.Fault, "the key of run %s cannot be read: %v", s.Run, err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	if pub, _ := key.Public().(ed25519.PublicKey); !pub.Equal(ed25519.PublicKey(s.Key)) {
		return nil, exit.Failf(exit.Fault, "somebody else has started the run %s that the server knows: its answers are signed with another key than the one that is kept here", s.Run)
	}
	return key, nil
}

// Resume returns the program of a run that is under way, bound to the present files, for [Options.Conduct].
func (o *Options) Resume(run string, complain io.Writer) (*project.Program, error) {
	r, err := o.ask(remote.Request{Attach: run}, complain)
	if err != nil {
		return nil, err
	}
	s := r.Started
	if s == nil || s.Run != run {
		return nil, exit.Failf(exit.Fault, "the server knows no run %s", run)
	}
	if err := s.Check(); err != nil {
		return nil, exit.Failf(exit.Fault, "the run %s cannot be taken up again: %v", run, err)
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, exit.Failf(exit.Internal, "%v", err)
	}
	root := place.Repository(here)
	if !place.Exists(filepath.Join(root, ".git")) {
		if root, err = routingRoot(here); err != nil {
			return nil, exit.NoMatrix(err)
		}
	}
	path := filepath.Join(root, filepath.FromSlash(s.Script))
	text, err := regular.Read(path, project.MaxScript)
	if err != nil {
		return nil, exit.Usagef("the script of run %s cannot be read: %v", run, err)
	}
	script := &project.Script{Name: s.Name, Path: path, Line: s.Line, Member: s.Member, Part: s.Part, Text: text}
	if script.SHA256() != s.ScriptSHA.String() {
		return nil, exit.Usagef("%s has changed since run %s began: its results are about other files", s.Script, run).Hint("`dialect runs cancel %s` ends it", run)
	}
	p, err := project.Load(script, filepath.Join(root, filepath.FromSlash(s.Matrix)))
	if err != nil {
		return nil, exit.NoMatrix(err)
	}
	o.spec = s
	p.Resolve(s.Vars, s.Lines)
	return p, nil
}

// routingRoot is the folder of the matrix above dir, where there is no repository.
func routingRoot(dir string) (string, error) {
	path, _, err := project.FindMatrix(dir, "")
	return filepath.Dir(path), err
}

// Cancel ends a run that is under way; who is attached to it says what became of it.
func (o *Options) Cancel(run string, complain io.Writer) error {
	why := schedule.Brief{Reason: receipts.StopInterrupted, Text: "the run was cancelled by dialect runs cancel"}
	_, err := o.ask(remote.Request{Attach: run, Cut: &remote.Cut{Why: why}}, complain)
	return err
}

func (o *Options) ask(q remote.Request, complain io.Writer) (remote.Reply, error) {
	helper := Helper()
	if helper == nil {
		return remote.Reply{}, NoHelper()
	}
	q.Server = &o.Server
	r, err := remote.Ask(helper, q, complain)
	if err != nil {
		return r, exit.Failf(exit.Fault, "%v", err)
	}
	return r, nil
}

// DefaultSlots is how many lines are handed out at the same time where --jobs does not say it: the workers have bounds of their own.
const DefaultSlots = 64

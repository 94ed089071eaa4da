// Package temporal is the client side of `dialect run --engine temporal`: in come the flags and a bound program, out comes what
// hands the run out, and what is believed of it. It links nothing of Temporal: the helper dialect-temporal does.
package temporal

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/recording"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/carry"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/remote"
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
	Run       string // that is taken up again; empty for a new one
}

// Check says what is wrong with the options; it fills in nothing.
func (o *Options) Check() error {
	switch {
	case o.Engine == "" || o.Engine == "local":
		return nil
	case o.Engine != Name:
		return exit.Usagef("--engine %q: want local or temporal", o.Engine)
	}
	return nil
}

// On reports whether another machine carries the run out.
func (o *Options) On() bool { return o.Engine == Name }

// Fill takes from the matrix what no flag says, and checks that all is there.
func (o *Options) Fill(p *project.Program) error {
	switch {
	case o.Queue == "":
		return exit.Usagef("--task-queue is missing: which workers carry the run out").Hint("`dialect help temporal` has all that is needed")
	case o.Depot == "":
		return exit.Usagef("--remote is missing: the git repository that carries the files to the workers").Hint("`dialect help temporal` has all that is needed")
	case len(o.Keys) == 0:
		return exit.Usagef("--worker-key is missing: whose receipts are believed").Hint("`dialect receipts keygen NAME FILE` prints the public key of a worker")
	}
	if err := carry.CheckRemote(o.Depot); err != nil {
		return exit.Usagef("--remote: %v", err)
	}
	if _, err := o.Workers(); err != nil {
		return err
	}
	if p.Script.Path == "" {
		return exit.Usagef("--engine temporal carries out scripts that are files of the project: not lines of -e or of standard input")
	}
	if step, why := attempt.Writer(p.Plan); step != nil {
		return exit.Usagef("--engine temporal: line %d (%s) %s", step.Line.Number, step.Binding, why).Hint("without --engine it runs here")
	}
	return nil
}

// Workers are the keys of the workers.
func (o *Options) Workers() (note.Verifiers, error) {
	return store.ReadKeys(o.Keys)
}

// Helper returns the command that speaks to Temporal: the program beside dialect, else the one in PATH; nil for none.
func Helper() []string {
	self, err := os.Executable()
	if err == nil {
		path := filepath.Join(filepath.Dir(self), Program+filepath.Ext(self))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return []string{path, "client"}
		}
	}
	if path, err := exec.LookPath(Program); err == nil && filepath.IsAbs(path) {
		return []string{path, "client"}
	}
	return nil
}

// NoHelper is the error of a dialect without its helper.
func NoHelper() error {
	return exit.Failf(exit.Fault, "%s is neither beside dialect nor in PATH", Program).Hint("it is a program of its own: `make build-temporal`")
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
	c := remote.New(ctx, remote.Options{
		Helper: helper, Server: o.Server, Depot: carry.Depot{Remote: o.Depot}, Untracked: o.Untracked,
		Snapshot: rec.Snapshot, Complain: complain,
		Spec: remote.Spec{
			Run: opt.Run, Session: opt.Session, Nonce: opt.Nonce, Parent: opt.Parent, Origin: origin, Started: opt.Began,
			Name: s.Name, Script: s.Path, Line: s.Line, Member: s.Member, Part: s.Part, Lines: p.Lines, Vars: p.Vars,
			Matrix: p.Plan.Matrix.Path, ScriptSHA: script, MatrixSHA: matrix,
		},
	})
	opt.Remote = c
	return c, nil
}

// DefaultSlots is how many lines are handed out at the same time where --jobs does not say it: the workers have bounds of their own.
const DefaultSlots = 64

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold"
	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/survey"
	"github.com/command-dialect/dialect/cmd/dialect/internal/trial"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/project"
)

const initLong = `Look at the project in DIR (default: here) and write a ` + routing.FileName + ` and a ` + scaffold.ScriptName + `:
from go.mod, go.work, pyproject.toml and the like, package.json, Cargo.toml, bats tests and shell
scripts, here and in the folders below, with the arguments that the project itself uses: in its
Makefile, justfile, Taskfile, tox, nox, hooks, workflows and scripts.

Each line is tried before it is written. A line that passes is written. One that does not pass today
is written, too, and the reason is printed. One that needs something installed is left out: install
it, and ` + "`dialect init`" + ` proposes the line then. A line that does not pass and whose tool nothing in
the project runs is also left out, as is one that changes files.

Trying a line runs it in the working tree, also with --check and --dry-run. Files that it changes or
removes, tracked or not, are then put back as they were, uncommitted work included; their content
when the line ended is copied to a folder that is printed. New files stay, and are listed. What
a line does to files that git ignores, inside of .git, and outside of the project stays, too. --no-try
runs no line, but asks tools for their version, those of the project's virtual environment too.

init overwrites nothing: if the files exist, it prints what is new.`

// initFlags say what init does.
type initFlags struct {
	dry, check, force, noTry bool
	timeout                  time.Duration
}

func newInit(u *ui) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "write a matrix and a script for this project",
		Long:  initLong,
		Example: `  dialect init
  dialect init --check      # what it would do; exit status 1 if that is something`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if f.timeout <= 0 {
				return exit.Usagef("--timeout %v: want a positive duration", f.timeout)
			}
			return f.init(u, append(args, ".")[0])
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.BoolVarP(&f.dry, "dry-run", "n", false, "print the files instead of writing them")
	fl.BoolVar(&f.check, "check", false, "say what would be done, and do not write the files; the exit status is 1 if it is something")
	fl.BoolVar(&f.force, "force", false, "replace the files that exist")
	fl.BoolVar(&f.noTry, "no-try", false, "write the lines without trying them")
	fl.DurationVar(&f.timeout, "timeout", 2*time.Minute, "try each line for `DURATION` at most")
	return cmd
}

func (f *initFlags) init(u *ui, dir string) error {
	p, err := survey.Look(dir)
	switch {
	case errors.Is(err, survey.ErrNothing):
		tellPlan(u, p)
		tellInstalls(u, p)
		if above := project.Above(dir); above != "" {
			return exit.Failf(exit.Failed, "%w", err).Hint("%s binds this folder: `dialect vocab` lists its lines", above)
		}
		return exit.Nothing(dir, err)
	case err != nil:
		return exit.Usagef("%w", err)
	}
	if f.force {
		for _, file := range p.Files() {
			if err := outfile.Inside(file.Path); err != nil {
				return exit.Usagef("cannot write %s: %v", file.Path, err)
			}
		}
	}
	there := p.Existing()
	if len(there) > 0 && !f.force {
		p = p.New()
	}
	proposed := len(p.Lines)
	var facts []string
	if !f.noTry && proposed > 0 {
		if p, facts, err = f.try(u, p); err != nil {
			return err
		}
	}
	if f.noTry {
		p.Caches = trial.CachesOf(context.Background(), p)
	}
	update := len(there) > 0 && !f.force
	if update {
		p = p.New() // what the trial found may be there, too
	}
	tellPlan(u, p)
	for _, text := range facts {
		u.Note(text)
	}
	if len(p.Lines) == 0 && !update {
		e := exit.Failf(exit.Failed, "no line runs yet: no %s and no %s was written", routing.FileName, scaffold.ScriptName).Hint("--no-try writes the lines as they are")
		for _, command := range p.Installs { // what most likely helps comes last
			e.Hint("%s; then `dialect init` again", command)
		}
		return e
	}
	tellInstalls(u, p)
	if update {
		return f.propose(u, p, there)
	}
	if above := project.Above(dir); above != "" {
		u.Notef("the folder %s becomes a project of its own: %s binds it no longer; see `dialect help monorepos`", dir, above)
	}
	return f.write(u, dir, p)
}

// try tries the lines of p.
func (f *initFlags) try(u *ui, p scaffold.Plan) (scaffold.Plan, []string, error) {
	signals := interrupt.Catch()
	defer signals.Stop()
	ctx := signals.Context
	results, err := trial.Try(ctx, p, trial.Options{
		Timeout: f.timeout, Environ: os.Environ(), JobControl: signals.JobControl,
		Begin: func(l scaffold.Line) { u.Notef("trying: %s", l.Text) },
		Keeping: func(dir string) {
			killed := func() {
				u.Notef("not all files may be put back as they were before the line: their copies are in %s", dir)
			}
			signals.Hide.Store(&killed)
		},
	})
	signals.Hide.Store(nil)
	if ctx.Err() != nil {
		for _, text := range trial.Interrupted(results) {
			u.Note(text)
		}
		return p, nil, exit.Status(interrupt.Status(ctx))
	}
	if err != nil {
		return p, nil, exit.Failf(exit.Internal, "cannot try the lines: %w", err).Hint("--no-try writes them as they are")
	}
	settled, facts := trial.Settle(p, results, trial.AtHead(context.WithoutCancel(ctx), p.Dir))
	return settled, facts, nil
}

// propose prints what is new where files are there.
func (f *initFlags) propose(u *ui, p scaffold.Plan, there []string) error {
	u.Notef("%s: there already, and left as it is", strings.Join(there, ", "))
	if len(p.Lines)+len(p.Caches) == 0 {
		u.Note("nothing new to propose")
		return nil
	}
	u.Note("new lines, to add by hand, or with --force, which replaces the files:")
	if _, err := fmt.Fprint(u.Out, p.Addition()); err != nil {
		return err
	}
	if f.check {
		return exit.Status(exit.Failed)
	}
	return nil
}

// write writes the files of p, or says what they would be.
func (f *initFlags) write(u *ui, dir string, p scaffold.Plan) error {
	files := p.Files()
	if f.dry {
		for _, file := range files {
			if _, err := fmt.Fprintf(u.Out, "# %s\n%s\n", file.Path, file.Text); err != nil {
				return err
			}
		}
		return nil
	}
	if f.check {
		for _, file := range files {
			u.Notef("would write %s", file.Path)
		}
		return exit.Status(exit.Failed)
	}
	outs := make([]*outfile.File, len(files))
	for i, file := range files {
		outs[i] = &outfile.File{Name: file.Path, Fresh: !f.force, Edits: f.force, Inside: true}
	}
	if err := outfile.Settle(outfile.InUse{}, outs...); err != nil {
		return err
	}
	var names []string
	for i, file := range files {
		names = append(names, filepath.Base(file.Path))
		write := outs[i].Create
		if f.force {
			write = outs[i].Replace
		}
		switch err := write([]byte(file.Text), 0o666); {
		case errors.Is(err, fs.ErrExist):
			u.Notef("%s is there by now and was left as it is", file.Path)
		case err != nil:
			return exit.Failf(exit.Failed, "%w", err)
		default:
			u.Notef("wrote %s", file.Path)
		}
	}
	if hidden := trial.Ignored(context.Background(), p.Dir, names...); len(hidden) > 0 {
		u.Notef("git ignores %s: run `git add --force %s`, or a clone lacks them", strings.Join(hidden, " and "), strings.Join(hidden, " "))
	}
	locks := slices.DeleteFunc(slices.Clone(p.Clean.Locks), func(name string) bool { return strings.Contains(name, "*") })
	if hidden := trial.Ignored(context.Background(), p.Dir, locks...); len(hidden) > 0 {
		u.Notef("git ignores %s: `dialect run --clean` would not have it, and [clean] of routing.toml needs it", strings.Join(hidden, " and "))
	}
	u.Notef("now: dialect run %s", filepath.Join(dir, scaffold.ScriptName))
	return nil
}

func tellPlan(u *ui, p scaffold.Plan) {
	if len(p.Found) > 0 {
		u.Notef("found: %s", strings.Join(p.Found, ", "))
	}
	for _, l := range p.LeftOut {
		u.Notef("left out: %s", l)
	}
	for _, l := range p.Offers {
		u.Note(l)
	}
}

// tellInstalls prints how to get what lines are left out for.
func tellInstalls(u *ui, p scaffold.Plan) {
	for _, command := range p.Installs {
		u.Notef("to have the rest: %s; then `dialect init` proposes it", command)
	}
}

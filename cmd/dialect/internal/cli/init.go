package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/place"
)

func newInit(u *ui) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "write a matrix and a script for this project",
		Long: `Look at the project in DIR (default: here) and write a ` + routing.FileName + ` and a
` + scaffold.ScriptName + ` that run as they are: from go.mod, pyproject.toml and the like, package.json,
Cargo.toml, shell scripts, and from what a Makefile, a justfile, pre-commit or lefthook offer. It
says what it found, what it left out, and why. Nothing that exists is overwritten.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return initProject(u, append(args, ".")[0], dry)
		},
	}
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "print the files, and write nothing")
	return cmd
}

func initProject(u *ui, dir string, dry bool) error {
	p, err := scaffold.Look(dir)
	if errors.Is(err, scaffold.ErrNothing) {
		tellPlan(u, p)
		return exit.Failf(exit.Failed, "%w", err).Hint("write a %s by hand:\n%s", routing.FileName, sampleMatrix)
	}
	if err != nil {
		return exit.Usagef("%w", err)
	}
	if dry {
		for _, f := range p.Files {
			fmt.Fprintf(u.out, "# %s\n%s\n", f.Path, f.Text)
		}
		tellPlan(u, p)
		return nil
	}
	for _, f := range p.Files {
		if !place.Exists(f.Path) {
			if err := outfile.Settle(outfile.InUse{}, &outfile.File{Name: f.Path, Fresh: true}); err != nil {
				return err
			}
		}
	}
	for _, f := range p.Files {
		switch err := f.Write(); {
		case errors.Is(err, fs.ErrExist):
			u.notef("%s exists already and was left unchanged", f.Path)
		case err != nil:
			return exit.Failf(exit.Failed, "%w", err)
		default:
			u.notef("wrote %s", f.Path)
		}
	}
	tellPlan(u, p)
	u.notef("now: dialect run %s", filepath.Join(dir, scaffold.ScriptName))
	return nil
}

func tellPlan(u *ui, p scaffold.Plan) {
	if len(p.Found) > 0 {
		u.notef("found: %s", strings.Join(p.Found, ", "))
	}
	for _, l := range p.LeftOut {
		u.notef("left out: %s", l)
	}
}

const sampleMatrix = `[commands.test_make]
verb = "test"
noun = "make"
tool = "make test"
receipt_required = true`

package cli

import (
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/report"
)

func newCheck(u *ui) *cobra.Command {
	var f struct {
		set     []string
		lines   []string
		routing string
		json    bool
	}
	cmd := &cobra.Command{
		Use:   "check [flags] [FILE | -]...",
		Short: "report every fault of scripts and of their matrix, and run nothing",
		Long: `Report every fault of scripts and of the matrix that binds them, and run nothing.
The exit status is 1 if there is an error; warnings alone are no error.`,
		Example: `  dialect check quality.dlct
  dialect check -e "Test with pytest"
  dialect check --json *.dlct`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"dlct"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && len(f.lines) == 0 && term.IsTerminal(int(u.in.Fd())) {
				_ = cmd.Help()
				return usagef("no script: name a FILE, or pipe one in")
			}
			vars, err := variables(f.set)
			if err != nil {
				return err
			}
			var all diag.List
			sources := make(map[string]*diag.Source)
			checked := make(map[string]bool) // matrices, by path
			names := args
			if len(names) == 0 {
				names = []string{"-"}
			}
			for _, name := range names {
				arg := []string{name}
				if len(args) == 0 && len(f.lines) > 0 {
					arg = nil
				}
				s, err := readScript(u, arg, f.lines)
				if err != nil {
					return err
				}
				p, err := bind(s, f.routing, vars)
				if err != nil {
					return err
				}
				for _, d := range p.findings {
					// What Load says of a matrix is said once, however many scripts it binds.
					if d.File == s.name || !checked[p.matrix.Path] {
						all = append(all, d)
					}
				}
				if !checked[p.matrix.Path] {
					checked[p.matrix.Path] = true
					all = append(all, p.matrix.Check(routing.CheckOptions{LookPath: lookPath})...)
				}
				for name, src := range p.sources {
					sources[name] = src
				}
			}
			all.Sort()
			if f.json {
				if err := report.CheckJSON(u.out, all); err != nil {
					return err
				}
			} else {
				if err := u.diagnostics(u.out, u.outTTY, all, sources); err != nil {
					return err
				}
				if len(all) > 0 {
					u.notef("%s", countFindings(all))
				}
			}
			if all.Count(diag.Error) > 0 {
				return exitStatus(exitFailed)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVarP(&f.lines, "line", "e", nil, "check `LINE` instead of a file; may be repeated")
	fl.StringArrayVar(&f.set, "set", nil, "set a variable of the script, `NAME=VALUE`; may be repeated")
	fl.StringVar(&f.routing, "routing", "", "use the matrix `FILE` instead of the nearest routing.toml")
	fl.BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	return cmd
}

// lookPath finds the executable of a tool as the runtime will: with a slash
// below root, else in PATH.
func lookPath(file, root string) error {
	if filepath.Base(file) != file && !filepath.IsAbs(file) {
		file = filepath.Join(root, file)
	}
	_, err := exec.LookPath(file)
	return err
}

package cli

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/runtime/project"
)

const fmtLong = `Rewrite scripts in their canonical form: "Verb preposition noun", one space between words, the verb
with a capital, and without what models add to plain lines (bullets, numbers, code fences,
backticks, final full stops). Comments and blank lines stay.

A file is rewritten in place, a directory stands for the .dlct files below it, without links, and
standard input goes to standard output. A link that leads out of its repository is refused. No
matrix is needed: the script means the same before and after. A file with a line that is not a
command is left unchanged; "dialect check" says what is wrong with it. All files are read before the
first is written.

The exit status is 1 if a line is not a command, and with --check or --diff also if a file is not
in its canonical form.`

func newFmt(u *ui) *cobra.Command {
	var f struct{ check, diff bool }
	cmd := &cobra.Command{
		Use:   "fmt [FILE | DIR | -]...",
		Short: "rewrite scripts in their canonical form",
		Long:  fmtLong,
		Example: `  dialect fmt quality.dlct
  dialect fmt --check .
  dialect fmt <reply.txt`,
		ValidArgsFunction: cobra.FixedCompletions([]string{"dlct"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if u.Typed() {
					_ = cmd.Help()
					return exit.Usagef("no script: name a FILE, or pipe one in")
				}
				args = []string{"-"}
			}
			names, err := project.Scripts(args)
			if err != nil {
				return exit.Usagef("%v", err)
			}
			bad := false
			var edits []outfile.Edit
			for _, name := range names {
				s, err := readScript(u, "fmt", []string{name}, nil)
				if err != nil {
					return err
				}
				if s.Line > 0 {
					return exit.Usagef("fmt writes whole scripts: leave :%d out", s.Line)
				}
				src := diag.NewSource(s.Name, s.Text)
				text, found := lang.Format(src)
				faults := found[:0:0]
				for _, d := range found {
					if d.Severity == diag.Error {
						faults = append(faults, d)
					}
				}
				if len(faults) > 0 {
					bad = true
					if err := u.Diagnostics(u.Err, u.ErrTTY, faults, map[string]*diag.Source{s.Name: src}); err != nil {
						return err
					}
				}
				same := bytes.Equal(text, s.Text)
				switch {
				case len(faults) > 0 && s.Path != "":
				case f.diff:
					if !same {
						bad = true
						err = u.ScriptDiff(s, "canonical", text)
					}
				case f.check:
					if !same {
						bad = true
						_, err = fmt.Fprintln(u.Out, diag.Printable(s.Name))
					}
				case s.Path == "":
					_, err = u.Out.Write(text)
				case !same:
					edits = append(edits, outfile.Edit{Path: s.Path, Was: s.Text, Text: text})
				}
				if err != nil {
					return err
				}
			}
			if err := outfile.Rewrite(edits, u.Note); err != nil {
				return err
			}
			if bad {
				return exit.Status(exit.Failed)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.BoolVarP(&f.check, "check", "c", false, "print the names of files that are not in their canonical form, and write nothing")
	fl.BoolVarP(&f.diff, "diff", "d", false, "print what would change, and write nothing")
	return cmd
}

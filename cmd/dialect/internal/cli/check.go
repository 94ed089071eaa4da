package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/check"
	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/cmd/dialect/internal/script"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/diag/output"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
)

const checkLong = `Find every fault of scripts and of the matrix that binds them, and run nothing. A directory stands
for the scripts below it, without links. A matrix (routing.toml) can be named, too. Without a name, and
without a pipe on standard input, it is the script that a bare "dialect run" runs.

The exit status is 1 if there is an error. Warnings count as errors only with --strict. A comment
silences the warnings of its line: "# dialect: ignore full-stop".

Many findings come with a fix. --fix makes those that cannot change what the script means, such as
removing a bullet, and reports what is left; --diff shows them and writes nothing. With standard
input the fixed text goes to standard output and the findings to standard error. The other fixes,
such as "did you mean", are for editors ("dialect lsp") and for readers of the JSON.

Formats: text for people, json (dialect.check/1), sarif (2.1.0), github (annotations, the default
in GitHub Actions), gitlab (code quality), checkstyle, and lsp: for each file one object with the
parameters of publishDiagnostics, which is what --lsp-lite prints for editors.`

type checkFlags struct {
	check.Options
	set, lines    []string
	format        string
	json, lspLite bool
	fix, diff     bool
	stdinName     string

	edited bool           // a file was, or would be, fixed
	edits  []outfile.Edit // written once all files have been read
}

var checkFormats = []string{"text", "json", "sarif", "github", "gitlab", "checkstyle", "lsp"}

func newCheck(u *ui) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:        "check [flags] [FILE | DIR | -]...",
		SuggestFor: []string{"lint"},
		Short:      "find the faults of scripts and of their matrix, without running anything",
		Long:       checkLong,
		Example: `  dialect check quality.dlct
  dialect check -e "Test with pytest"
  dialect check --format sarif . >dialect.sarif
  dialect check --lsp-lite --stdin-filename quality.dlct - <buffer`,
		ValidArgsFunction: cobra.FixedCompletions([]string{"dlct", "toml"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && len(f.lines) == 0 && !u.Piped() {
				name, err := script.Default(f.Routing)
				if err != nil {
					return err
				}
				args = []string{name}
			}
			switch {
			case f.json && f.format == "text":
				f.format = "json"
			case f.lspLite && f.format == "text":
				f.format = "lsp"
			case f.json && f.format != "json", f.lspLite && f.format != "lsp":
				return exit.Usagef("--json and --lsp-lite select a format: leave --format %s out", f.format)
			case !slices.Contains(checkFormats, f.format):
				return exit.Usagef("--format %q: want %s", f.format, strings.Join(checkFormats, ", "))
			}
			return f.run(u, args)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVarP(&f.lines, "line", "e", nil, "check `LINE` instead of a file; may be repeated")
	fl.StringArrayVar(&f.set, "set", nil, "set a variable of the script, `NAME=VALUE`; may be repeated")
	fl.StringVar(&f.Routing, "routing", "", "use the matrix `FILE` instead of the nearest routing.toml")
	fl.StringVar(&f.format, "format", "text", "write as `FORMAT`: "+strings.Join(checkFormats, ", "))
	fl.BoolVar(&f.json, "json", false, "the same as --format json")
	fl.BoolVar(&f.lspLite, "lsp-lite", false, "the same as --format lsp")
	fl.BoolVar(&f.fix, "fix", false, "make the fixes that are certain to keep the meaning")
	fl.BoolVar(&f.diff, "diff", false, "print what --fix would change, and write nothing")
	fl.BoolVar(&f.Online, "online", false, "start the MCP servers of the lines, and check the arguments against their schemas")
	fl.BoolVar(&f.Strict, "strict", false, "count warnings as errors")
	fl.StringVar(&f.stdinName, "stdin-filename", "", "standard input is the unsaved text of `FILE`")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(checkFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// run checks what args name.
func (f *checkFlags) run(u *ui, args []string) error {
	var err error
	if f.Vars, err = script.Variables(f.set); err != nil {
		return err
	}
	names := []string{"-"}
	switch {
	case len(f.lines) > 0 && (f.fix || f.diff):
		return exit.Usagef("--fix and --diff are for files: leave -e out")
	case len(f.lines) > 0 && len(args) > 0:
		_, err := readScript(u, "check", args, f.lines) // which says what is wrong with it
		return err
	case len(args) > 0:
		if names, err = project.Scripts(args); err != nil {
			return exit.Usagef("%v", err)
		}
	}
	f.Version = version()
	c := check.New(f.Options)
	for _, name := range names {
		if filepath.Ext(name) == ".toml" {
			path, err := filepath.Abs(name)
			if err != nil {
				return exit.Usagef("%v", err)
			}
			c.Names = append(c.Names, name)
			c.Matrix(path, name, ".")
			continue
		}
		if err := f.script(u, c, name); err != nil {
			return err
		}
	}
	if err := outfile.Rewrite(f.edits, u.Note); err != nil {
		return err
	}
	list := c.Finish(args)
	if err := f.write(u, c, list); err != nil {
		return err
	}
	if list.Count(diag.Error) > 0 || f.diff && f.edited {
		return exit.Status(exit.Failed)
	}
	return nil
}

// script checks the script that is called name, or the lines of -e.
func (f *checkFlags) script(u *ui, c *check.Checker, name string) error {
	arg := []string{name}
	if len(f.lines) > 0 {
		arg = nil
	}
	s, err := readScript(u, "check", arg, f.lines)
	if err != nil {
		return err
	}
	if f.stdinName != "" && s.Name == "-" {
		s.Name = f.stdinName
		if s.Path, err = filepath.Abs(f.stdinName); err != nil {
			return exit.Usagef("--stdin-filename: %v", err)
		}
	}
	m, err := c.MatrixOf(s)
	if err != nil {
		return exit.NoMatrix(err)
	}
	src := diag.NewSource(s.Name, s.Text)
	if f.fix || f.diff {
		if src, err = f.repair(u, s, src); err != nil {
			return err
		}
	}
	c.Script(m, src, s.Line)
	return nil
}

// repair makes the certain fixes of a script, where it stands or to standard output, and
// returns the text that it has then.
func (f *checkFlags) repair(u *ui, s *project.Script, src *diag.Source) (*diag.Source, error) {
	if s.Line > 0 {
		return nil, exit.Usagef("--fix works on whole scripts: leave :%d out", s.Line)
	}
	text, n := lang.Fix(src)
	src = diag.NewSource(s.Name, text)
	changed := n > 0
	f.edited = f.edited || changed
	var err error
	switch {
	case f.diff:
		if changed {
			err = u.ScriptDiff(s, "fixed", text)
		}
		return diag.NewSource(s.Name, s.Text), err // what is written is what there is to find fault with
	case s.Path == "" || f.stdinName != "" && s.Name == f.stdinName:
		_, err = u.Out.Write(text)
	case changed:
		f.edits = append(f.edits, outfile.Edit{Path: s.Path, Was: s.Text, Text: text, Told: fmt.Sprintf("%s in %s fixed", diag.Number(n, "finding"), s.Name)})
	}
	return src, err
}

// write prints what was found in the format that is asked for.
func (f *checkFlags) write(u *ui, c *check.Checker, list diag.List) error {
	out, tty := u.Out, u.OutTTY
	if f.diff || f.fix && slices.Contains(c.Names, "-") || f.fix && f.stdinName != "" {
		out, tty = u.Err, u.ErrTTY // standard output has the text
	}
	root := os.Getenv("GITHUB_WORKSPACE")
	if wd, err := os.Getwd(); root == "" && err == nil {
		root = place.Repository(wd)
	}
	opt := output.Options{
		Sources: func(name string) *diag.Source { return c.Sources[name] },
		Root:    root, Version: version(), Names: c.Names,
	}
	form := map[string]func(io.Writer, diag.List, output.Options) error{
		"sarif": output.SARIF, "github": output.GitHub, "gitlab": output.GitLab, "checkstyle": output.Checkstyle, "lsp": output.LSP,
	}[f.format]
	switch {
	case form != nil:
		return form(out, list, opt)
	case f.format == "json":
		return report.CheckJSON(out, list)
	}
	if err := u.Diagnostics(out, tty, list, c.Sources); err != nil {
		return err
	}
	if len(list) > 0 {
		u.Notef("%s", list.Summary())
	}
	if os.Getenv("GITHUB_ACTIONS") == "true" && os.Getenv(report.AgentVariable) == "" {
		return output.GitHub(out, list, opt)
	}
	return nil
}

package cli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/diag/output"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/report"
)

const checkLong = `Report every fault of scripts and of the matrix that binds them, and run nothing. A directory
stands for the scripts below it; a matrix (routing.toml) can be named itself.

The exit status is 1 if there is an error; warnings alone are no error, unless --strict says so.
A comment on a line silences its warnings: "# dialect: ignore full-stop".

Formats: text for people, json (dialect.check/1), sarif (2.1.0), github (annotations, which come by
themselves in GitHub Actions), gitlab (code quality), checkstyle, and lsp: one object of the
parameters of publishDiagnostics a file and line, which is what --lsp-lite prints for editors.`

type checkFlags struct {
	set           []string
	lines         []string
	routing       string
	format        string
	json, lspLite bool
	strict        bool
	stdinName     string
}

var checkFormats = []string{"text", "json", "sarif", "github", "gitlab", "checkstyle", "lsp"}

func newCheck(u *ui) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check [flags] [FILE | DIR | -]...",
		Short: "report every fault of scripts and of their matrix, and run nothing",
		Long:  checkLong,
		Example: `  dialect check quality.dlct
  dialect check -e "Test with pytest"
  dialect check --format sarif . >dialect.sarif
  dialect check --lsp-lite --stdin-filename quality.dlct - <buffer`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"dlct", "toml"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && len(f.lines) == 0 && term.IsTerminal(int(u.in.Fd())) {
				_ = cmd.Help()
				return usagef("no script: name a FILE, or pipe one in")
			}
			switch {
			case f.json && f.format == "text":
				f.format = "json"
			case f.lspLite && f.format == "text":
				f.format = "lsp"
			case f.json && f.format != "json", f.lspLite && f.format != "lsp":
				return usagef("--json and --lsp-lite are formats of their own: leave --format %s out", f.format)
			case !slices.Contains(checkFormats, f.format):
				return usagef("--format %q: want %s", f.format, strings.Join(checkFormats, ", "))
			}
			return f.check(u, args)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVarP(&f.lines, "line", "e", nil, "check `LINE` instead of a file; may be repeated")
	fl.StringArrayVar(&f.set, "set", nil, "set a variable of the script, `NAME=VALUE`; may be repeated")
	fl.StringVar(&f.routing, "routing", "", "use the matrix `FILE` instead of the nearest routing.toml")
	fl.StringVar(&f.format, "format", "text", "write as `FORMAT`: "+strings.Join(checkFormats, ", "))
	fl.BoolVar(&f.json, "json", false, "the same as --format json")
	fl.BoolVar(&f.lspLite, "lsp-lite", false, "the same as --format lsp")
	fl.BoolVar(&f.strict, "strict", false, "take warnings for errors")
	fl.StringVar(&f.stdinName, "stdin-filename", "", "standard input is the unsaved text of `FILE`")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(checkFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// checked is what check has found so far.
type checked struct {
	list     diag.List
	sources  map[string]*diag.Source
	matrices map[string]bool // by path
	names    []string        // of what was checked, in order
}

func (f *checkFlags) check(u *ui, args []string) error {
	vars, err := variables(f.set)
	if err != nil {
		return err
	}
	c := &checked{sources: make(map[string]*diag.Source), matrices: make(map[string]bool)}
	names := []string{"-"}
	switch {
	case len(f.lines) > 0:
		names = args // of which there must be none: readScript says so
		if len(args) == 0 {
			names = []string{""}
		}
	case len(args) > 0:
		if names, err = scripts(args); err != nil {
			return err
		}
	}
	for _, name := range names {
		if filepath.Ext(name) == ".toml" {
			c.matrix(name)
			continue
		}
		if err := f.script(u, c, name, vars); err != nil {
			return err
		}
	}
	c.list = lang.Ignore(c.list, c.sources)
	if f.strict {
		for i := range c.list {
			if c.list[i].Severity == diag.Warning {
				c.list[i].Severity = diag.Error
			}
		}
	}
	c.list.Sort()
	if err := f.write(u, c); err != nil {
		return err
	}
	if c.list.Count(diag.Error) > 0 {
		return exitStatus(exitFailed)
	}
	return nil
}

// matrix checks a matrix by itself.
func (c *checked) matrix(name string) {
	path, err := filepath.Abs(name)
	if err != nil {
		path = name
	}
	m, found := routing.Load(path, name, routing.Options{})
	c.names = append(c.names, name)
	c.list = append(c.list, found...)
	c.matrices[m.Path] = true
	for _, src := range m.Files {
		c.sources[src.Name] = src
	}
	c.list = append(c.list, m.Check(routing.CheckOptions{LookPath: lookPath})...)
}

func (f *checkFlags) script(u *ui, c *checked, name string, vars map[string]string) error {
	arg := []string{name}
	if name == "" {
		arg = nil
	}
	s, err := readScript(u, arg, f.lines)
	if err != nil {
		return err
	}
	if f.stdinName != "" && s.name == "-" {
		s.name = f.stdinName
		if s.path, err = filepath.Abs(f.stdinName); err != nil {
			return usagef("--stdin-filename: %v", err)
		}
	}
	p, err := bind(s, f.routing, vars)
	if err != nil {
		return err
	}
	c.names = append(c.names, s.name)
	for _, d := range p.findings {
		// What Load says of a matrix is said once, however many scripts it binds.
		if d.File == s.name || !c.matrices[p.matrix.Path] {
			c.list = append(c.list, d)
		}
	}
	if !c.matrices[p.matrix.Path] {
		c.matrices[p.matrix.Path] = true
		c.list = append(c.list, p.matrix.Check(routing.CheckOptions{LookPath: lookPath})...)
	}
	for name, src := range p.sources {
		c.sources[name] = src
	}
	return nil
}

// write prints what was found in the format that is asked for.
func (f *checkFlags) write(u *ui, c *checked) error {
	root := os.Getenv("GITHUB_WORKSPACE")
	if wd, err := os.Getwd(); root == "" && err == nil {
		root = repository(wd)
	}
	opt := output.Options{
		Sources: func(name string) *diag.Source { return c.sources[name] },
		Root:    root, Version: version(), Names: c.names,
	}
	form := map[string]func(io.Writer, diag.List, output.Options) error{
		"sarif": output.SARIF, "github": output.GitHub, "gitlab": output.GitLab, "checkstyle": output.Checkstyle, "lsp": output.LSP,
	}[f.format]
	switch {
	case form != nil:
		return form(u.out, c.list, opt)
	case f.format == "json":
		return report.CheckJSON(u.out, c.list)
	}
	if err := u.diagnostics(u.out, u.outTTY, c.list, c.sources); err != nil {
		return err
	}
	if len(c.list) > 0 {
		u.notef("%s", countFindings(c.list))
	}
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		return output.GitHub(u.out, c.list, opt)
	}
	return nil
}

// repository is the top of the worktree that dir is in; dir itself if it is in none.
func repository(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
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

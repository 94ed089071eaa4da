package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/diag/output"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/lint"
	"github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
)

const checkLong = `Report every fault of scripts and of the matrix that binds them, and run nothing. A directory
stands for the scripts below it; a matrix (routing.toml) can be named itself.

The exit status is 1 if there is an error; warnings alone are not an error, unless --strict is given.
A comment on a line silences its warnings: "# dialect: ignore full-stop".

Many findings come with a fix. --fix makes those that cannot change what the script means, such as
removing a bullet, and reports what is left; --diff shows them and writes nothing. Standard input
is fixed to standard output, and the findings go to standard error. The rest, such as "did you
mean", are for editors ("dialect lsp") and for readers of the JSON.

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
	fix, diff     bool
	online        bool
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
				return exit.Usagef("no script: name a FILE, or pipe one in")
			}
			switch {
			case f.json && f.format == "text":
				f.format = "json"
			case f.lspLite && f.format == "text":
				f.format = "lsp"
			case f.json && f.format != "json", f.lspLite && f.format != "lsp":
				return exit.Usagef("--json and --lsp-lite are formats of their own: leave --format %s out", f.format)
			case !slices.Contains(checkFormats, f.format):
				return exit.Usagef("--format %q: want %s", f.format, strings.Join(checkFormats, ", "))
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
	fl.BoolVar(&f.fix, "fix", false, "make the fixes that are certain to keep the meaning")
	fl.BoolVar(&f.diff, "diff", false, "print what --fix would change, and write nothing")
	fl.BoolVar(&f.online, "online", false, "start the MCP servers of the lines, and hold the arguments against their schemas")
	fl.BoolVar(&f.strict, "strict", false, "take warnings for errors")
	fl.StringVar(&f.stdinName, "stdin-filename", "", "standard input is the unsaved text of `FILE`")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(checkFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// checked is what check has found so far.
type checked struct {
	list     diag.List
	sources  map[string]*diag.Source
	bound    map[string]*routing.Matrix // of each script
	matrices map[string]*checkedMatrix  // by path
	names    []string                   // of what was checked, in order
	edited   bool                       // a file was, or would be, fixed
	edits    []outfile.Edit             // written once all files have been read
}

// A checkedMatrix is a matrix and the scripts that were held against it.
type checkedMatrix struct {
	matrix *routing.Matrix
	broken bool            // nothing can be bound to it
	used   map[string]bool // names of bindings
	whole  bool            // all scripts of its project were looked at
}

func (f *checkFlags) check(u *ui, args []string) error {
	vars, err := variables(f.set)
	if err != nil {
		return err
	}
	c := &checked{sources: make(map[string]*diag.Source), bound: make(map[string]*routing.Matrix), matrices: make(map[string]*checkedMatrix)}
	names := []string{"-"}
	switch {
	case len(f.lines) > 0 && (f.fix || f.diff):
		return exit.Usagef("--fix and --diff are for files: leave -e out")
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
			path, err := filepath.Abs(name)
			if err != nil {
				return exit.Usagef("%v", err)
			}
			c.names = append(c.names, name)
			c.load(path, name)
			continue
		}
		if err := f.script(u, c, name, vars); err != nil {
			return err
		}
	}
	if err := outfile.Rewrite(c.edits, u.note); err != nil {
		return err
	}
	c.finish(args)
	c.list = lang.Ignore(c.list, c.sources)
	if f.strict {
		for i := range c.list {
			if c.list[i].Severity == diag.Warning {
				c.list[i].Severity = diag.Error
			}
		}
	}
	c.list.Sort()
	for name, m := range c.bound {
		c.list, c.sources[name] = project.HideSecrets(c.list, c.sources[name], m)
	}
	if err := f.write(u, c); err != nil {
		return err
	}
	if c.list.Count(diag.Error) > 0 || f.diff && c.edited {
		return exit.Status(exit.Failed)
	}
	return nil
}

// load reads a matrix, once however many scripts it binds.
func (c *checked) load(path, name string) *checkedMatrix {
	if m := c.matrices[path]; m != nil {
		return m
	}
	matrix, found := routing.Load(path, name, routing.Options{})
	m := &checkedMatrix{matrix: matrix, broken: routing.Unread(found), used: make(map[string]bool)}
	c.matrices[path] = m
	c.list = append(c.list, found...)
	for _, src := range matrix.Files {
		c.sources[src.Name] = src
	}
	return m
}

// finish says of the matrices what only all their scripts together can tell.
func (c *checked) finish(args []string) {
	for _, path := range slices.Sorted(maps.Keys(c.matrices)) {
		m := c.matrices[path]
		for _, arg := range args {
			abs, err := filepath.Abs(arg)
			if info, statErr := os.Stat(arg); err == nil && statErr == nil && info.IsDir() {
				rel, err := filepath.Rel(abs, m.matrix.Root)
				m.whole = m.whole || err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
			}
		}
		o := lint.Options{Used: slices.Sorted(maps.Keys(m.used))}
		o.Unused = m.whole && len(m.used) > 0
		c.list = append(c.list, lint.Check(m.matrix, o)...)
	}
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
	if f.stdinName != "" && s.Name == "-" {
		s.Name = f.stdinName
		if s.Path, err = filepath.Abs(f.stdinName); err != nil {
			return exit.Usagef("--stdin-filename: %v", err)
		}
	}
	dir, err := s.Dir()
	if err != nil {
		return exit.Failf(exit.Fault, "%v", err)
	}
	path, matrixName, err := project.FindMatrix(dir, f.routing)
	if err != nil {
		return exit.NoMatrix(err)
	}
	m := c.load(path, matrixName)
	src := diag.NewSource(s.Name, s.Text)
	if f.fix || f.diff {
		if src, err = f.mend(u, c, s, src); err != nil {
			return err
		}
	}
	c.names = append(c.names, s.Name)
	c.sources[s.Name], c.bound[s.Name] = src, m.matrix
	if m.broken {
		// Of a matrix that could not be read nothing is bound: to say so line by
		// line would bury the one fault that matters.
		_, found := lang.Parse(src)
		c.list = append(c.list, found...)
		return nil
	}
	o := resolve.Options{Vars: vars, Env: os.LookupEnv, Line: s.Line, Bound: m.used}
	found := resolve.Check(src, m.matrix, o)
	c.list = append(c.list, found...)
	if f.online && found.Err() == nil {
		file, _ := lang.Parse(src)
		p, _ := resolve.Resolve(file, m.matrix, o)
		c.list = append(c.list, online(p, s.Name)...)
	}
	return nil
}

// online asks the MCP servers of a plan whether they would take its calls.
func online(p *plan.Plan, name string) (list diag.List) {
	pool := mcpclient.New(mcpclient.Options{Servers: p.Servers, Dir: p.Matrix.Root, Environ: os.Environ(), Version: version(), Helper: mcpHelper()})
	defer pool.Close()
	plan.Walk(p.Steps, func(s *plan.Step) {
		if s.Kind != plan.MCP {
			return
		}
		call := mcpclient.Call{Target: s.Target, Arguments: s.Arguments}
		for _, v := range s.Values {
			call.Values = append(call.Values, mcpclient.Value{Name: v.Name, Text: v.Text})
		}
		ctx, cancel := context.WithTimeout(context.Background(), mcpclient.StartTimeout)
		defer cancel()
		var e *mcpclient.Error
		if err := pool.Check(ctx, call); err == nil || !errors.As(err, &e) {
			return
		}
		d := diag.Errorf(diag.MCPCall, name, s.Line.Span, "%s", e.Message)
		if e.Reason != mcpclient.BadArguments && e.Reason != mcpclient.UnknownTool {
			d.Severity = diag.Warning // it may be there when the line is run
		}
		list = append(list, d)
	})
	return list
}

// mend makes the certain fixes of a script, where it stands or to standard output, and
// returns the text that it has then.
func (f *checkFlags) mend(u *ui, c *checked, s *project.Script, src *diag.Source) (*diag.Source, error) {
	if s.Line > 0 {
		return nil, exit.Usagef("--fix works on whole scripts: leave :%d out", s.Line)
	}
	text, n := lang.Fix(src)
	src = diag.NewSource(s.Name, text)
	changed := n > 0
	c.edited = c.edited || changed
	var err error
	switch {
	case f.diff:
		if changed {
			err = writeDiff(u, s, "fixed", text)
		}
		return diag.NewSource(s.Name, s.Text), err // what is written is what there is to find fault with
	case s.Path == "" || f.stdinName != "" && s.Name == f.stdinName:
		_, err = u.out.Write(text)
	case changed:
		c.edits = append(c.edits, outfile.Edit{Path: s.Path, Text: text, Told: fmt.Sprintf("%s in %s fixed", diag.Number(n, "finding"), s.Name)})
	}
	return src, err
}

// write prints what was found in the format that is asked for.
func (f *checkFlags) write(u *ui, c *checked) error {
	out, tty := u.out, u.outTTY
	if f.diff || f.fix && slices.Contains(c.names, "-") || f.fix && f.stdinName != "" {
		out, tty = u.err, u.errTTY // standard output has the text
	}
	root := os.Getenv("GITHUB_WORKSPACE")
	if wd, err := os.Getwd(); root == "" && err == nil {
		root = place.Repository(wd)
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
		return form(out, c.list, opt)
	case f.format == "json":
		return report.CheckJSON(out, c.list)
	}
	if err := u.diagnostics(out, tty, c.list, c.sources); err != nil {
		return err
	}
	if len(c.list) > 0 {
		u.notef("%s", c.list.Summary())
	}
	if os.Getenv("GITHUB_ACTIONS") == "true" && os.Getenv(report.AgentVariable) == "" {
		return output.GitHub(out, c.list, opt)
	}
	return nil
}

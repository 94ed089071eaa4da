// Package check gathers what is wrong with scripts and with the matrices that bind them. In come scripts
// and paths of matrices, out come diagnostics. It changes no file; it runs nothing but the MCP
// servers that it is to ask.
package check

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/lint"
	"github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/redact"
)

// Options say how scripts are checked.
type Options struct {
	Vars    map[string]string // of the scripts
	Routing string            // path of the matrix; empty for the nearest of each script
	Strict  bool              // take warnings for errors
	Online  bool              // start the MCP servers, and ask whether they take the calls
	Version string            // of dialect, for those servers
}

// A Checker has what was found so far.
type Checker struct {
	Sources map[string]*diag.Source // by name
	Names   []string                // of what was checked, in order

	o        Options
	list     diag.List
	bound    map[string]*routing.Matrix // of each script
	matrices map[string]*Matrix         // by path, NUL and root
}

// A Matrix is a matrix and what the scripts that were bound to it use of it.
type Matrix struct {
	matrix *routing.Matrix
	broken bool            // nothing can be bound to it
	used   map[string]bool // names of bindings
	whole  bool            // all scripts of its project were looked at
}

// New returns a Checker that has found nothing yet.
func New(o Options) *Checker {
	return &Checker{o: o, Sources: make(map[string]*diag.Source), bound: make(map[string]*routing.Matrix), matrices: make(map[string]*Matrix)}
}

// Matrix reads the matrix at an absolute path, which messages call name and which was looked for from dir, once however many
// scripts of a project it binds.
func (c *Checker) Matrix(path, name, dir string) *Matrix {
	root := project.RootOf(dir, path)
	key := path + "\x00" + root
	if m := c.matrices[key]; m != nil {
		return m
	}
	matrix, found := routing.Load(path, name, routing.Options{Root: root})
	m := &Matrix{matrix: matrix, broken: routing.Unread(found), used: make(map[string]bool)}
	c.matrices[key] = m
	c.list = append(c.list, found...)
	for _, src := range matrix.Files {
		c.Sources[src.Name] = src
	}
	return m
}

// MatrixOf reads the matrix that binds a script. The error is that there is none.
func (c *Checker) MatrixOf(s *project.Script) (*Matrix, error) {
	dir, err := s.Dir()
	if err != nil {
		return nil, err
	}
	path, name, err := project.FindMatrix(dir, c.o.Routing)
	if err != nil {
		return nil, project.Gone(dir, err)
	}
	return c.Matrix(path, name, dir), nil
}

// Script checks the text src, of a script or of its only line that is meant, with what m binds.
func (c *Checker) Script(m *Matrix, src *diag.Source, only int) {
	c.Names = append(c.Names, src.Name)
	c.Sources[src.Name], c.bound[src.Name] = src, m.matrix
	if m.broken {
		// Of a matrix that could not be read nothing is bound: to say so line by
		// line would bury the one fault that matters.
		_, found := lang.Parse(src)
		c.list = append(c.list, found...)
		return
	}
	o := resolve.Options{Vars: c.o.Vars, Env: os.LookupEnv, Line: only}
	if path, err := filepath.Abs(src.Name); err == nil { // the names of stdin and of -e are paths of nothing
		o.Script = plan.Script{Name: src.Name, Path: path}
	}
	found, used := resolve.Check(src, m.matrix, o)
	maps.Copy(m.used, used)
	c.list = append(c.list, found...)
	if c.o.Online && found.Err() == nil {
		file, _ := lang.Parse(src)
		p, _ := resolve.Resolve(file, m.matrix, o)
		c.online(p, src.Name)
	}
}

// online asks the MCP servers of a plan whether they would take its calls.
func (c *Checker) online(p *plan.Plan, name string) {
	pool := mcpclient.New(mcpclient.Options{Servers: p.Servers, Dir: p.Matrix.Root, Environ: os.Environ(), Version: c.o.Version, Helper: mcpclient.Helper()})
	defer pool.Close()
	hidden := redact.New(redact.Options{Environ: slices.Concat(os.Environ(), p.Environ()), Declared: p.Secrets()}) // a server may say them
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
		d := diag.Errorf(diag.MCPCall, name, s.Line.Span, "%s", e.Public(hidden.Part))
		if e.Reason != mcpclient.BadArguments && e.Reason != mcpclient.UnknownTool {
			d.Severity = diag.Warning // it may be there when the line is run
		}
		c.list = append(c.list, d)
	})
}

// Finish returns all that was found, in order and without secrets, with what only all scripts together
// can tell of their matrices: of each whose root is in one of the folders, no other script was left out.
// It is called once.
func (c *Checker) Finish(folders []string) diag.List {
	for _, key := range slices.Sorted(maps.Keys(c.matrices)) {
		m := c.matrices[key]
		for _, folder := range folders {
			abs, err := filepath.Abs(folder)
			if info, serr := os.Stat(folder); err == nil && serr == nil && info.IsDir() {
				rel, err := filepath.Rel(abs, m.matrix.Root)
				m.whole = m.whole || err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
			}
		}
		c.list = append(c.list, lint.Check(m.matrix, lint.Options{Used: slices.Sorted(maps.Keys(m.used)), Unused: m.whole && len(m.used) > 0})...)
	}
	list := lang.Ignore(c.list, c.Sources)
	for i := range list {
		if c.o.Strict && list[i].Severity == diag.Warning {
			list[i].Severity = diag.Error
		}
	}
	list.Sort()
	for _, m := range c.matrices {
		list = project.HideNamed(list, m.matrix, c.Sources)
	}
	for name, m := range c.bound {
		list, c.Sources[name] = project.HideSecrets(list, c.Sources[name], m)
	}
	return list
}

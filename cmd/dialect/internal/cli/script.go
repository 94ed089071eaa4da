package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/place"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/report"
)

// maxScript bounds what is read of a script, in bytes. It is one more than lang
// accepts, so that lang can say so.
const maxScript = 64<<20 + 1

// A script is the text to work on, and where it came from.
type script struct {
	name string // as the user named it; "-" for standard input, "-e"
	path string // absolute; empty if it is no file
	line int    // of FILE:LINE, else 0
	part bool
	only func(f *lang.File, root string) []int // the lines to run, root being that of the matrix; nil, or nil lines, for all
	text []byte
}

// sha256 is the digest of the whole text, in hex.
func (s *script) sha256() string {
	sum := sha256.Sum256(s.text)
	return hex.EncodeToString(sum[:])
}

// dir is where the search for the matrix begins.
func (s *script) dir() (string, error) {
	if s.path != "" {
		return filepath.Dir(s.path), nil
	}
	return os.Getwd()
}

// readScript reads the script that the arguments of run, check or explain name:
// FILE, FILE:LINE, "-" or nothing for standard input, or the lines of -e.
func readScript(u *ui, args, lines []string) (*script, error) {
	switch {
	case len(lines) > 0 && len(args) > 0:
		return nil, exit.Usagef("-e takes the place of a script: leave %q out", args[0])
	case len(lines) > 0:
		return &script{name: "-e", part: true, text: []byte(strings.Join(lines, "\n") + "\n")}, nil
	case len(args) == 0 || args[0] == "-":
		return readStdin(u)
	}
	name, line := args[0], 0
	if _, err := os.Lstat(name); err != nil {
		if i := strings.LastIndexByte(name, ':'); i > 0 {
			if n, err := strconv.Atoi(name[i+1:]); err == nil && n > 0 {
				name, line = name[:i], n
			}
		}
	}
	text, err := readFile("script", name)
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, exit.Failf(exit.Usage, "%v", err)
	}
	return &script{name: name, path: path, line: line, part: line > 0, text: text}, nil
}

// readFile reads a file that the user named; what says in a message what it is.
func readFile(what, name string) ([]byte, error) {
	f, err := regular.Open(name)
	if errors.Is(err, regular.ErrKind) {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			return nil, exit.Usagef("%s is a directory, not a %s", name, what)
		}
		return nil, exit.Usagef("cannot read the %s: %v", what, err).Hint("what another program writes is read from standard input: ... | dialect run")
	}
	if err == nil {
		defer f.Close()
		var text []byte
		if text, err = io.ReadAll(io.LimitReader(f, maxScript)); err == nil {
			return text, nil
		}
	}
	e := exit.Usagef("cannot read the %s: %v", what, err)
	if what == "script" && errors.Is(err, fs.ErrNotExist) {
		e = exit.Usagef("there is no script %s", name)
		if above := scriptAbove(name); above != "" {
			e.Hint("it is above: dialect run %s", report.Command([]string{above}))
		} else if found, _ := filepath.Glob("*.dlct"); len(found) > 0 {
			e.Hint("here are: %s", strings.Join(found, ", "))
		} else {
			e.Hint("`dialect init` writes one for the tools that the project has; `dialect run -e \"Test with go\"` runs a line")
		}
	}
	return nil, e
}

// scriptAbove returns the nearest script of that name in a folder above this one, as far up
// as the project goes; empty if there is none.
func scriptAbove(name string) string {
	dir, err := os.Getwd()
	if err != nil || filepath.IsAbs(name) {
		return ""
	}
	for up := ".."; !place.Exists(filepath.Join(dir, ".git")) && dir != filepath.Dir(dir); up = filepath.Join("..", up) {
		if dir = filepath.Dir(dir); place.Exists(filepath.Join(dir, name)) {
			return filepath.Join(up, name)
		}
	}
	return ""
}

// stdinNotice is how long standard input may be silent before a notice says that
// it is being waited for.
const stdinNotice = time.Second

func readStdin(u *ui) (*script, error) {
	timer := time.AfterFunc(stdinNotice, func() { u.notef("reading the script from standard input") })
	text, err := io.ReadAll(io.LimitReader(u.in, maxScript))
	timer.Stop()
	if err != nil {
		return nil, exit.Usagef("cannot read standard input: %v", err)
	}
	if len(text) == 0 {
		return nil, exit.Usagef("standard input is empty").Hint("pipe a script in, or name one: dialect run quality.dlct")
	}
	return &script{name: "-", text: text}, nil
}

// A program is a script with its matrix and what is to be said about both.
type program struct {
	script   *script
	file     *lang.File
	matrix   *routing.Matrix
	plan     *plan.Plan
	findings diag.List
	sources  map[string]*diag.Source
}

// findMatrix returns the matrix for dir, or the one that --routing names: its path, and what
// messages call it.
func findMatrix(dir, name string) (path, shown string, err error) {
	if name != "" {
		if path, err = filepath.Abs(name); err != nil {
			path = name
		}
		return path, name, nil
	}
	path, err = routing.Find(dir)
	if err != nil {
		f := exit.Failf(exit.Fault, "%w", err)
		if errors.Is(err, routing.ErrNotFound) {
			f.Hint("--routing FILE names a matrix elsewhere")
		}
		return "", "", f
	}
	return path, place.Short(path), nil
}

// loadMatrix finds and loads the matrix for dir, or the one that --routing names.
func loadMatrix(dir, name string) (*routing.Matrix, diag.List, error) {
	path, name, err := findMatrix(dir, name)
	if err != nil {
		return nil, nil, err
	}
	m, l := routing.Load(path, name, routing.Options{})
	return m, l, nil
}

// bind parses and resolves a script.
func bind(s *script, routingFile string, vars map[string]string) (*program, error) {
	p := &program{script: s, sources: make(map[string]*diag.Source)}
	dir, err := s.dir()
	if err != nil {
		return nil, exit.Failf(exit.Fault, "%v", err)
	}
	// Neither needs the other, and a short run is made of what happens before its first command.
	src := diag.NewSource(s.name, s.text)
	var parsed diag.List
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.file, parsed = lang.Parse(src)
	}()
	m, findings, err := loadMatrix(dir, routingFile)
	<-done
	if err != nil {
		return nil, err
	}
	file := p.file
	p.addSource(src)
	p.matrix = m
	for _, f := range m.Files {
		p.addSource(f)
	}
	if routing.Unread(findings) {
		// Of a matrix that could not be read nothing is bound: to say so line by
		// line would bury the one fault that matters.
		findings = append(findings, parsed...)
	} else {
		var resolved diag.List
		var lines []int
		if s.only != nil {
			lines = s.only(file, m.Root)
		}
		p.plan, resolved = resolve.Resolve(file, m, resolve.Options{
			Vars: vars, Env: os.LookupEnv, Line: s.line, Lines: lines, Parsed: parsed,
			Script: plan.Script{Name: s.name, Path: s.path, SHA256: s.sha256(), Part: s.part},
		})
		findings = append(findings, resolved...)
	}
	p.findings, src = hideSecrets(lang.Ignore(findings, p.sources), src, m)
	p.addSource(src)
	p.findings.Sort()
	return p, nil
}

func (p *program) addSource(s *diag.Source) { p.sources[s.Name] = s }

// variables reads the --set flags.
func variables(set []string) (map[string]string, error) {
	vars := make(map[string]string, len(set))
	for _, kv := range set {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			return nil, exit.Usagef("--set %q: want NAME=VALUE", kv)
		}
		vars[name] = value
	}
	return vars, nil
}

// rulesAround returns the paths of the files that the matrix above dir is made of, its pins
// included, and of the scripts beside it and in dir.
func rulesAround(dir string) (paths []string) {
	folders := []string{dir}
	if m, _, err := loadMatrix(dir, ""); err == nil {
		paths = append(rulesOf(resolve.Matrix(m)), m.Path)
		folders = append(folders, m.Root)
	}
	for _, folder := range folders {
		entries, _ := os.ReadDir(folder) // one that cannot be read has no script that can be run
		for _, e := range entries {
			if filepath.Ext(e.Name()) == ".dlct" {
				paths = append(paths, filepath.Join(folder, e.Name()))
			}
		}
	}
	return paths
}

// rulesOf returns the paths of the files that a matrix is made of, its pins included.
func rulesOf(m plan.Matrix) (paths []string) {
	for _, f := range m.Files {
		paths = append(paths, f.Path)
	}
	return paths
}

// countFindings renders the numbers of errors and warnings: "2 errors, 1 warning".
func countFindings(l diag.List) string {
	text := func(n int, noun string) string {
		if n != 1 {
			noun += "s"
		}
		return fmt.Sprintf("%d %s", n, noun)
	}
	e, w := l.Count(diag.Error), l.Count(diag.Warning)
	if w == 0 {
		return text(e, "error")
	}
	return text(e, "error") + ", " + text(w, "warning")
}

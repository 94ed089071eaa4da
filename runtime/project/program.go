// Package project finds, loads and binds: a script, the matrix above it, the rules that the
// baseline trusts, and the commands that the names of bindings stand for. Anyone who runs
// scripts or asks about them begins here.
package project

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
)

// MaxScript bounds what is read of a script, in bytes. It is one more than lang accepts, so
// that lang can say so.
const MaxScript = 64<<20 + 1

// A Script is the text to work on, and where it came from.
type Script struct {
	Name string // as the user named it; "-" for standard input, "-e"
	Path string // absolute; empty if it is not a file
	Line int    // the only one that is meant, else 0
	// Member is the only member of that line's composite that is meant, as a path of 1-based
	// positions; nil for all.
	Member []int
	Part   bool // it is not all of a file
	Text   []byte

	Folder string // where the search for the matrix begins, of what is not a file; empty for the working directory
	// Env looks up variables that the matrix names; nil for those of this process.
	Env func(name string) (string, bool)
}

// SHA256 is the digest of the whole text, in hex.
func (s *Script) SHA256() string {
	sum := sha256.Sum256(s.Text)
	return hex.EncodeToString(sum[:])
}

// Dir is where the search for the matrix begins.
func (s *Script) Dir() (string, error) {
	if s.Path != "" {
		return filepath.Dir(s.Path), nil
	}
	if s.Folder != "" {
		return s.Folder, nil
	}
	return os.Getwd()
}

// Scripts returns names with each directory replaced by the scripts below it, in order. Hidden
// directories, node_modules and links are left out: a link can lead out of the directory.
func Scripts(names []string) (found []string, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		if name == "-" || err != nil || !info.IsDir() {
			found = append(found, name)
			continue
		}
		before := len(found)
		err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist) && path != name: // it was removed after it was listed
				return nil
			case err != nil:
				return err
			case d.IsDir() && path != name && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
				return fs.SkipDir
			case !d.IsDir() && d.Type()&fs.ModeSymlink == 0 && filepath.Ext(path) == ".dlct":
				found = append(found, path)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", name, err)
		}
		if len(found) == before {
			return nil, fmt.Errorf("there is no script below %s", name)
		}
	}
	return found, nil
}

// A Program is a script with its matrix and the findings of both.
type Program struct {
	Script   *Script
	File     *lang.File
	Matrix   *routing.Matrix
	Plan     *plan.Plan // nil before [Program.Resolve], and where the matrix could not be read
	Findings diag.List
	Sources  map[string]*diag.Source // by name, without the values of secrets

	Vars  map[string]string // that [Program.Resolve] was called with
	Lines []int             // likewise

	source *diag.Source
	parsed diag.List // findings of the script
	loaded diag.List // and of the matrix
	unread bool
}

// Load parses a script, and loads the nearest matrix above it, or the one that is named. The
// error is that there is none.
func Load(s *Script, matrix string) (*Program, error) {
	dir, err := s.Dir()
	if err != nil {
		return nil, err
	}
	p := &Program{Script: s, Sources: make(map[string]*diag.Source), source: diag.NewSource(s.Name, s.Text)}
	// Neither needs the other, and a short run is made of what happens before its first command.
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.File, p.parsed = lang.Parse(p.source)
	}()
	m, findings, err := LoadMatrix(dir, matrix)
	<-done
	if err != nil {
		return nil, err
	}
	p.Matrix, p.Findings, p.loaded, p.unread = m, findings, findings, routing.Unread(findings)
	for _, f := range m.Files {
		p.Sources[f.Name] = f
	}
	return p, nil
}

// Resolve binds the lines of the script, or those of the numbers in lines, and sets Plan
// and Findings, whatever an earlier call has bound.
func (p *Program) Resolve(vars map[string]string, lines []int) {
	s := p.Script
	p.Vars, p.Lines, p.Plan = vars, lines, nil
	p.Findings, p.Sources[p.source.Name] = slices.Clone(p.loaded), p.source
	if p.unread {
		// Of a matrix that could not be read nothing is bound: to say so line by
		// line would bury the one fault that matters.
		p.Findings = append(p.Findings, p.parsed...)
	} else {
		var resolved diag.List
		env := s.Env
		if env == nil {
			env = os.LookupEnv
		}
		p.Plan, resolved = resolve.Resolve(p.File, p.Matrix, resolve.Options{
			Vars: vars, Env: env, Line: s.Line, Member: s.Member, Lines: lines, Parsed: p.parsed,
			Script: plan.Script{Name: s.Name, Path: s.Path, SHA256: s.SHA256(), Part: s.Part, Whole: !s.Part && len(vars)+len(lines) == 0},
		})
		p.Findings = append(p.Findings, resolved...)
	}
	p.Findings, p.Sources[p.source.Name] = HideSecrets(lang.Ignore(p.Findings, p.Sources), p.source, p.Matrix)
	p.Findings = HideNamed(p.Findings, p.Matrix, p.Sources)
	p.Findings.Sort()
}

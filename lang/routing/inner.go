package routing

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
)

// A tool that is dialect itself runs a script under a matrix of its own: `dialect run a/quality.dlct`. What passes there is
// decided by that script and by that matrix, with what the matrix extends and pins and runs in turn. They are files of the
// outer rules like pinned ones, without being named: their bytes are in the digest of the outer matrix, a verifier compares
// them with the baseline, and a snapshot has to see them change.
//
// The words of a tool are looked at, also those of a shell. That is a convenience: where they do not tell what is run, as
// those of make do not, the inner run refuses to begin until somebody pins its files (package policy, Foreign).

// maxDirs bounds the folders that one tool changes to, as far as they are followed, and maxInner how many scripts and matrices
// are looked for, of all tools together.
const (
	maxDirs  = 16
	maxInner = 2000
)

// A nest is an outermost matrix with those that its lines run.
type nest struct {
	root     string             // of the outermost
	matrices map[string]*Matrix // by path
	asked    int                // how many files were looked for
	full     string             // what there is more of than is looked for
}

// ask counts files that are to be looked for, and reports whether there is room for them.
func (n *nest) ask(files int) bool {
	if n.asked += files; n.asked > maxInner {
		n.full = fmt.Sprintf("%d files", maxInner)
	}
	return n.full == ""
}

// inner takes in the files that decide what lines run with dialect.
func (l *loader) inner() {
	if l.m.Root == "" {
		return
	}
	for _, b := range l.m.Bindings {
		if strings.Contains(b.Tool(), "dialect") {
			l.innerOf(b)
		}
	}
	if full := l.o.nest.full; full != "" && l.o.nest.root == l.m.Root {
		l.complain(diag.ExtendsCycle, nil, nil, "what its lines run by dialect may be more than %s", full)
	}
}

// innerOf takes in the files that decide what a line bound to b runs with dialect.
func (l *loader) innerOf(b *Binding) {
	dirs := []string{b.AbsDir(l.m.Root)}
	var scripts, defaults []string // of the latter the folders
	on, runs, ran, matrix := false, false, false, ""
	words := innerWords(b)
	plain := !slices.Contains(words, "-C")
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		name, isScript := scriptWord(w)
		of, named := strings.CutPrefix(w, "--routing=")
		switch {
		case w == "cd" && next != "" && len(dirs) < maxDirs: // from there, or, after a subshell, from the first
			dirs = append(dirs, below(dirs[0], next), below(dirs[len(dirs)-1], next))
		case strings.TrimSuffix(filepath.Base(w), ".exe") == "dialect":
			on, runs = true, false
			plain = plain && len(dirs) == 1
		case !on:
		case w == "run" || w == "prove":
			runs, ran = true, true
		case !runs:
		case isScript:
			if !l.o.nest.ask(len(dirs)) {
				return
			}
			if plain && name == w {
				b.Runs = append(b.Runs, below(dirs[0], name))
			}
			for _, dir := range dirs {
				scripts = append(scripts, below(dir, name))
			}
		case named:
			matrix = below(dirs[len(dirs)-1], of)
		case w == "--routing":
			matrix = below(dirs[len(dirs)-1], next)
		}
	}
	if len(scripts) == 0 && ran {
		defaults = dirs
	}
	slices.Sort(scripts)
	folder := ""
	for _, s := range slices.Compact(scripts) {
		l.adopt(s)
		if at := filepath.Dir(s); at != folder {
			folder = at
			l.innerMatrix(folder, matrix)
		}
	}
	for _, dir := range defaults {
		if m := l.innerMatrix(dir, matrix); m != nil {
			script := below(m.Root, cmp.Or(m.Script, ScriptName))
			if plain && b.Script == nil && len(words) == 2 { // with a flag, or a text on stdin, it may be another
				b.Runs = append(b.Runs, script)
			}
			l.adopt(script)
		}
	}
}

// innerWords returns the words of what b runs, those apart that the text of a shell separates; a value of a line is in none
// that names a file.
func innerWords(b *Binding) (words []string) {
	var elements []string
	switch {
	case b.Script != nil:
		elements = []string{b.Tool()}
	case b.Template != nil && b.Kind == plan.Process:
		elements = b.Template.Argv(func(string) string { return "\x00" }, nil)
	}
	for _, e := range elements {
		words = append(words, strings.FieldsFunc(e, func(r rune) bool { return strings.ContainsRune(" \t\r\n;&|()'\"`<>", r) })...)
	}
	return slices.DeleteFunc(words, func(w string) bool { return strings.ContainsAny(w, "\x00$") })
}

// scriptWord returns the script that a word names: FILE, FILE:LINE or FILE:LINE.MEMBER.
func scriptWord(w string) (name string, ok bool) {
	if at := strings.LastIndex(w, filepath.Ext(ScriptName)+":"); at >= 0 {
		w = w[:at+len(filepath.Ext(ScriptName))]
	}
	return w, filepath.Ext(w) == filepath.Ext(ScriptName) && !strings.HasPrefix(w, "-")
}

// below returns a path that is named from dir.
func below(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

// innerMatrix takes in the matrix that is named, or else the nearest one for dir, and all that it consists of. It returns
// nil if there is none in the folder of the outermost matrix.
func (l *loader) innerMatrix(dir, named string) *Matrix {
	nearest := l.nearest(dir)
	path := cmp.Or(named, nearest)
	switch {
	case path == "":
		return nil
	case l.o.nest.matrices[path] != nil: // of it, or of what runs it, all is taken in
		return l.o.nest.matrices[path]
	case !l.adopt(path):
		return nil
	case len(l.o.nest.matrices) > maxFiles:
		l.o.nest.full = fmt.Sprintf("%d matrices", maxFiles)
		return nil
	}
	root := filepath.Dir(path)
	if filepath.Base(path) != FileName { // as the inner run has it: that of the project that dir is in
		root = filepath.Dir(cmp.Or(nearest, filepath.Join(l.o.nest.root, FileName)))
	}
	m, _ := Load(path, l.name(path), Options{Root: root, nest: l.o.nest, ReadFile: func(path string) ([]byte, error) {
		i, read := l.at[path]
		switch {
		case !read:
			return l.o.ReadFile(path)
		case l.m.Read[i].Absent:
			return nil, fs.ErrNotExist
		case l.m.Read[i].Problem != "":
			return nil, errors.New(l.m.Read[i].Problem)
		}
		return l.m.Read[i].Content, nil
	}})
	for _, f := range m.Read {
		l.take(f)
	}
	return m
}

// nearest returns the path of the nearest matrix for dir that is in the folder of the outermost one; empty for none. Folders that lie deep,
// and beside one another, have the most of their way in common: it is gone once.
func (l *loader) nearest(dir string) (path string) {
	var climbed []string
	for at := dir; path == "" && l.o.nest.full == "" && l.covers(at); at = filepath.Dir(at) {
		known, ok := l.near[at]
		if ok {
			path = known
			break
		}
		climbed = append(climbed, at)
		if p := filepath.Join(at, FileName); p == l.m.Path || l.adopt(p) {
			path = p
		}
	}
	for _, at := range climbed {
		l.near[at] = path
	}
	return path
}

// covers reports whether a path is in the folder of the outermost matrix.
func (l *loader) covers(path string) bool {
	rel, err := filepath.Rel(l.o.nest.root, path)
	return err == nil && filepath.IsLocal(rel)
}

// adopt takes in a file of the folder of the outermost matrix, and reports whether it is there.
func (l *loader) adopt(path string) bool {
	if !l.covers(path) {
		return false
	}
	if _, read := l.at[path]; !read {
		if !l.o.nest.ask(1) {
			return false
		}
		if text, err := l.read(path, true, maxPinSize); err == nil {
			l.record(l.name(path), text)
		}
	}
	return !l.m.Read[l.at[path]].Absent
}

// take takes in a file that an inner matrix was loaded from.
func (l *loader) take(f plan.File) {
	if _, read := l.at[f.Path]; read {
		return
	}
	f.Name, f.Pin = l.name(f.Path), true
	if l.sums[1] += len(f.Content); l.sums[1] > maxPinSum {
		f.Content, f.Problem = nil, "with it the pinned files are too large"
	}
	l.at[f.Path] = len(l.m.Read)
	l.m.Read = append(l.m.Read, f)
	if !f.Absent && f.Problem == "" {
		l.record(f.Name, f.Content)
	}
}

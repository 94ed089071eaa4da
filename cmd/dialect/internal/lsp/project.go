package lsp

import (
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/diag/output"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/lint"
	runtimeproject "github.com/command-dialect/dialect/runtime/project"
)

// A project is a matrix with all that it extends, as it stands in the editor's buffers and else
// on disk.
type project struct {
	path   string // of the matrix
	m      *routing.Matrix
	vars   map[string]string
	list   diag.List // of its files
	broken bool      // it could not be read: nothing can be bound to it
	serial int       // no two loads have the same
	files  map[string]string
	stamps map[string]stamp
}

// A stamp tells whether a file was changed.
type stamp struct {
	size int64
	time time.Time
}

func stampOf(path string) (s stamp) {
	if info, err := os.Stat(path); err == nil {
		s = stamp{info.Size(), info.ModTime()}
	}
	return s
}

// load reads the matrix at path.
func (s *server) load(path string) *project {
	s.loads++
	p := &project{path: path, serial: s.loads, vars: s.vars, files: make(map[string]string), stamps: make(map[string]stamp)}
	p.m, p.list = routing.Load(path, s.shown(path), routing.Options{Root: runtimeproject.RootOf(s.root(), path), ReadFile: func(path string) ([]byte, error) {
		p.stamps[path] = stampOf(path)
		if d := s.open(path); d != nil {
			return d.src.Text, nil
		}
		return routing.ReadFile(path)
	}})
	p.broken = routing.Unread(p.list)
	p.list = append(p.list, lint.Check(p.m, lint.Options{})...)
	sources := make(map[string]*diag.Source)
	for _, src := range p.m.Files {
		sources[src.Name] = src
		if path := p.m.PathOf(src); path != "" {
			p.files[src.Name] = path
		}
	}
	if len(p.files) == 0 {
		p.files[p.m.Name] = path
	}
	p.list = lang.Ignore(p.list, sources)
	p.list.Sort()
	return p
}

// open returns the open document of a file, or nil.
func (s *server) open(path string) *document {
	for _, d := range s.docs {
		if d.path == path {
			return d
		}
	}
	return nil
}

// shown is how diagnostics name a file: relative to the folder of the workspace that it is in.
func (s *server) shown(path string) string {
	for _, root := range s.roots {
		if rel, ok := output.Relative(root, path); ok {
			return rel
		}
	}
	return path
}

// find returns the path of the matrix for the scripts of a folder: the nearest on the way up,
// on disk or in a buffer; empty if there is none.
func (s *server) find(dir string) string {
	if s.routing != "" {
		return s.routing
	}
	for at := range regular.Above(dir) {
		path := filepath.Join(at, routing.FileName)
		if s.open(path) != nil {
			return path
		}
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	return ""
}

// bind gives a document its project, and reports whether that is another than before.
func (s *server) bind(d *document) bool {
	dir := s.root()
	if d.path != "" {
		dir = filepath.Dir(d.path)
	}
	path := s.find(dir)
	if d.matrix {
		path = s.matrixOf(d.path)
	}
	var p *project
	if path != "" {
		if p = s.projects[path]; p == nil {
			p = s.load(path)
			s.projects[path] = p
		}
	}
	changed := p != d.project
	d.project = p
	return changed
}

// matrixOf returns the matrix that a TOML file belongs to: the one that extends it, else itself.
func (s *server) matrixOf(path string) string {
	for _, at := range slices.Sorted(maps.Keys(s.projects)) {
		if slices.Contains(slices.Collect(maps.Values(s.projects[at].files)), path) {
			return at
		}
	}
	return path
}

// refresh loads anew what was changed, and says anew what depends on it. It reports whether
// anything was.
func (s *server) refresh() bool {
	changed := false
	for path, p := range s.projects {
		stale := slices.ContainsFunc(slices.Collect(maps.Keys(p.stamps)), func(f string) bool {
			return s.open(f) == nil && stampOf(f) != p.stamps[f]
		})
		if stale {
			s.reload(path)
			changed = true
		}
	}
	for _, d := range s.docs {
		if s.bind(d) {
			d.checkAll()
			changed = true
		}
	}
	used := make(map[*project]bool)
	for _, d := range s.docs {
		used[d.project] = true
	}
	maps.DeleteFunc(s.projects, func(_ string, p *project) bool { return !used[p] })
	return changed
}

// reload loads a matrix anew. The documents that it binds are bound by the next refresh.
func (s *server) reload(path string) {
	s.projects[path] = s.load(path)
	for _, d := range s.docs {
		if d.project != nil && d.project.path == path {
			d.project = s.projects[path]
			d.checkAll()
		}
	}
}

// root is the first folder of the workspace.
func (s *server) root() string {
	if len(s.roots) > 0 {
		return s.roots[0]
	}
	wd, _ := os.Getwd()
	return wd
}

// uriOf returns the URI of a file that a diagnostic of d names; empty if it is not a file.
func (s *server) uriOf(d *document, name string) string {
	if d != nil && name == d.name {
		return d.uri
	}
	if d != nil && d.project != nil {
		if path, ok := d.project.files[name]; ok {
			return s.pathURI(path)
		}
	}
	return ""
}

// pathURI returns the URI of a file: that of the client, if the file is open.
func (s *server) pathURI(path string) string {
	if d := s.open(path); d != nil {
		return d.uri
	}
	return fileURI(path)
}

func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// filePath returns the absolute path of a file URI; empty for any other.
func filePath(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return ""
	}
	path := u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' {
		path = path[1:] // a drive of Windows
	}
	return filepath.Clean(filepath.FromSlash(path))
}

// Bounds of the search for the scripts of a project.
const (
	maxScripts     = 2000
	maxScriptBytes = 64 << 20 // of all together
)

// scripts calls each for the scripts of a project: those that are open, and those below the root
// of its matrix that no nearer matrix binds. Each document is for the call only.
func (s *server) scripts(p *project, each func(d *document)) {
	seen := make(map[string]bool)
	for _, uri := range slices.Sorted(maps.Keys(s.docs)) {
		if d := s.docs[uri]; !d.matrix && d.project == p {
			seen[d.path] = true
			each(d)
		}
	}
	count, size := 0, int64(0)
	_ = filepath.WalkDir(p.m.Root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case e.IsDir():
			if path != p.m.Root && (strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" || stampOf(filepath.Join(path, routing.FileName)) != stamp{}) {
				return fs.SkipDir
			}
			return nil
		case filepath.Ext(path) != ".dlct" || seen[path] || !e.Type().IsRegular():
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		if count++; count > maxScripts || size+info.Size() > maxScriptBytes {
			return fs.SkipAll
		}
		size += info.Size()
		text, err := regular.Read(path, maxScriptBytes)
		if err != nil {
			return nil
		}
		d := &document{uri: fileURI(path), path: path, name: s.shown(path), project: p}
		d.setText(text)
		each(d)
		return nil
	})
}

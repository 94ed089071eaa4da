package routing

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/suggest"
	"github.com/command-dialect/dialect/lang/tomltree"
	"github.com/command-dialect/dialect/stdlib"
)

// FileName is the name of a routing matrix.
const FileName = plan.MatrixFile

// ScriptName is the name of the script that holds the checks of a project.
const ScriptName = "quality.dlct"

// What holds where a matrix says nothing.
const (
	DefaultTimeout   = 10 * time.Minute
	DefaultTailLines = 20 // lines
)

// Bounds on outside input.
const (
	maxFileSize = 4 << 20 // bytes of one file
	maxFileSum  = 8 << 20 // of all files of one matrix
	maxPinSize  = 16 << 20
	maxPinSum   = 64 << 20
	maxFiles    = 100    // in one matrix
	maxSteps    = 10_000 // that one composite expands to
	maxBindings = 5000   // in one file
)

// ErrNotFound is wrapped by the error of [Find] when there is no matrix.
var ErrNotFound = errors.New("no " + FileName)

// Find returns the path of the routing.toml in dir or in the nearest folder
// above it.
func Find(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := range regular.Above(abs) {
		name := filepath.Join(at, FileName)
		info, err := os.Stat(name)
		switch {
		case err == nil && !info.IsDir() || err != nil && isLink(name): // Load says why it cannot be read
			return name, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
			return "", err
		}
	}
	return "", fmt.Errorf("%w in %s or any folder above it; `dialect init` makes one", ErrNotFound, abs)
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// Options changes how a matrix is loaded. The zero Options is ready to use.
type Options struct {
	// ReadFile returns the content of the file at an absolute path; nil is [ReadFile]. Load asks
	// for each file once. An editor lays its unsaved buffers over the disk here; a verifier reads the
	// files of its baseline.
	ReadFile func(path string) ([]byte, error)

	// Root is the directory that tools run in, absolute; empty is that of the matrix.
	Root string

	nest *nest // of the outermost matrix that runs lines of this one; nil if this is it
}

// Load reads the matrix at path, which the user named name, and all that it
// extends. It reports every fault that would make the matrix route wrongly; what
// is merely suspicious is left to package lint.
//
// The matrix is never nil: after errors it holds what could be read, so that a
// script can be checked against it all the same, and must not be run.
func Load(path, name string, o Options) (*Matrix, diag.List) {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if o.ReadFile == nil {
		o.ReadFile = ReadFile
	}
	l := &loader{
		o:     o,
		seen:  make(map[string]bool),
		at:    make(map[string]int),
		near:  make(map[string]string),
		env:   make(map[string]string),
		names: make(map[string]*Binding),
		pairs: make(map[pair]*Binding),
		m: &Matrix{
			Name: name, Path: path, Root: cmp.Or(o.Root, filepath.Dir(path)),
			Vocabulary: StandardVocabulary(),
			Vars:       make(map[string]string),
			Servers:    make(map[string]plan.Server),
			Agents:     make(map[string]*Agent),
			Limits:     Limits{Verbs: 15, Nouns: 15, Bindings: 50},
			paths:      make(map[*diag.Source]string),
			replaced:   make(map[string]*Binding),
			verbAlias:  make(map[string]alias),
			nounAlias:  make(map[string]alias),
		},
	}
	if o.nest == nil {
		l.o.nest = &nest{root: l.m.Root, matrices: make(map[string]*Matrix)}
	}
	l.o.nest.matrices[path] = l.m
	l.digest = sha256.New()
	l.digest.Write([]byte("dialect.matrix/1\n"))
	l.pack("core", nil, nil)
	l.file(path, name, nil, nil)
	l.servers()
	l.finish()
	l.pins()
	l.inner()
	l.sum()
	return l.m, l.list
}

// Unread reports whether what [Load] said means that the matrix, or one that it extends, could
// not be read: then nothing is bound, and to say so line by line would bury the one fault that
// matters.
func Unread(l diag.List) bool {
	return slices.ContainsFunc(l, func(d diag.Diagnostic) bool {
		return d.Severity == diag.Error && (d.Code == diag.MatrixMissing || d.Code == diag.MatrixSyntax || d.Code == diag.UnknownPack)
	})
}

// ReadFile reads a regular file of little more than a pinned file may have.
func ReadFile(name string) ([]byte, error) {
	f, err := regular.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f)
}

// Read is [ReadFile] of a file that is open.
func Read(f *os.File) ([]byte, error) {
	var b bytes.Buffer
	if info, err := f.Stat(); err == nil {
		b.Grow(int(min(info.Size(), maxPinSize)) + bytes.MinRead) // read into place, not by doubling
	}
	_, err := b.ReadFrom(io.LimitReader(f, maxPinSize+1))
	return b.Bytes(), err
}

type loader struct {
	o       Options
	m       *Matrix
	list    diag.List
	slips   suggest.Finder  // of the words of all files
	seen    map[string]bool // paths and "pack:NAME", finished or not
	stack   []string        // names of the files that are being loaded
	keys    []string        // their keys in seen
	budget  budget          // of all [defaults]
	run     budget          // of all [run]
	env     map[string]string
	require struct { // of the last [verify]
		names []string
		at    *tomltree.Value
		src   *diag.Source
	}
	clash  []packClash
	names  map[string]*Binding // of those in effect so far
	pairs  map[pair]*Binding
	digest hash.Hash
	sums   [2]int            // bytes that were read of matrices, and of pinned files
	at     map[string]int    // of a path in Read
	near   map[string]string // see [loader.nearest]
}

// A packClash is a binding of one pack that replaced that of another.
type packClash struct {
	old, by *Binding
	at      *tomltree.Value // the item of extends that brought it, in src
	src     *diag.Source
}

// complain reports a fault at the item of extends that led to a file, or at the
// root matrix as a whole.
func (l *loader) complain(code diag.Code, src *diag.Source, at *tomltree.Value, format string, args ...any) *diag.Diagnostic {
	name, span := l.m.Name, diag.Span{}
	if at != nil {
		name, span = src.Name, src.Span(at.Start, at.End)
	}
	l.list = append(l.list, diag.Errorf(code, name, span, format, args...))
	return &l.list[len(l.list)-1]
}

// pack loads a pack that item at of src names; nil for core.
func (l *loader) pack(name string, src *diag.Source, at *tomltree.Value) {
	text, ok := stdlib.Pack(name)
	if !ok {
		d := l.complain(diag.UnknownPack, src, at, "there is no pack %q", name)
		d.Hint = "packs: " + strings.Join(stdlib.Packs(), ", ") + "; a path has a \"/\" or ends in .toml"
		if near := l.slips.Near(name, stdlib.Packs()); near != "" {
			didYouMean(d, near, fmt.Sprintf("%q", near))
		}
		return
	}
	key := "pack:" + name
	if l.enter(key, key, src, at) {
		l.load(diag.NewSource(key, text), "", key, true, src, at)
		l.leave()
	}
}

// file loads the matrix at an absolute path.
func (l *loader) file(abs, name string, src *diag.Source, at *tomltree.Value) {
	if !l.enter(abs, name, src, at) {
		return
	}
	defer l.leave()
	text, err := l.read(abs, false, maxFileSize)
	if err != nil {
		switch {
		case !errors.Is(err, fs.ErrNotExist):
		case isLink(abs):
			err = errors.New("it is a symbolic link that leads nowhere")
		default:
			err = errors.New("there is no such file")
		}
		d := l.complain(diag.MatrixMissing, src, at, "cannot read %s: %v", name, err)
		if at == nil {
			d.Hint = "`dialect init` makes a matrix; --routing names another one"
		}
		return
	}
	l.load(diag.NewSource(name, text), filepath.Dir(abs), l.name(abs), false, src, at)
}

// enter reports whether the file known as key is to be loaded now.
func (l *loader) enter(key, name string, src *diag.Source, at *tomltree.Value) bool {
	if i := slices.Index(l.keys, key); i >= 0 {
		chain := append(slices.Clone(l.stack[i:]), name)
		l.complain(diag.ExtendsCycle, src, at, "%s extends itself: %s", name, strings.Join(chain, " -> "))
		return false
	}
	if l.seen[key] {
		return false
	}
	if len(l.seen) == maxFiles {
		l.complain(diag.ExtendsCycle, src, at, "more than %d files in one matrix", maxFiles)
	}
	if len(l.seen) >= maxFiles {
		return false
	}
	l.seen[key] = true
	l.keys = append(l.keys, key)
	l.stack = append(l.stack, name)
	return true
}

func (l *loader) leave() {
	l.keys = l.keys[:len(l.keys)-1]
	l.stack = l.stack[:len(l.stack)-1]
}

// load decodes src, loads what it extends, and then applies it. Relative paths
// of it start at dir; recorded is its name in the digest.
func (l *loader) load(src *diag.Source, dir, recorded string, pack bool, from *diag.Source, at *tomltree.Value) {
	root, faults := tomltree.Parse(src, pack)
	l.list = append(l.list, faults...)
	d := decode(src, root, pack, len(faults) > 0, &l.list, &l.slips)
	for _, item := range d.extends {
		switch name := item.Text; {
		case !strings.Contains(name, "/") && !strings.HasSuffix(name, ".toml"):
			l.pack(name, src, item)
		case pack:
			l.complain(diag.UnknownPack, src, item, "a pack cannot extend a file")
		case filepath.IsAbs(name):
			l.file(filepath.Clean(name), name, src, item)
		default:
			l.file(filepath.Join(dir, filepath.FromSlash(name)), path.Join(path.Dir(filepath.ToSlash(src.Name)), name), src, item)
		}
	}
	l.m.Files = append(l.m.Files, src)
	if !pack {
		l.m.paths[src] = filepath.Join(dir, filepath.Base(recorded))
	}
	l.record(recorded, src.Text)
	l.apply(d, from, at)
}

// record adds a file to the digest.
func (l *loader) record(name string, content []byte) {
	for _, text := range [...][]byte{[]byte(name), content} {
		fmt.Fprintf(l.digest, "%d:", len(text)) // a hash returns no error
		l.digest.Write(text)
		l.digest.Write([]byte(","))
	}
}

// apply merges one document over what was loaded before it.
func (l *loader) apply(d *document, from *diag.Source, at *tomltree.Value) {
	l.budget, l.run = d.budget.over(l.budget), d.run.over(l.run)
	if d.script != "" {
		l.m.Script = d.script
	}
	if d.order != "" {
		l.m.Parallel = d.order == "parallel"
	}
	maps.Copy(l.env, d.env)
	l.m.Caches = append(l.m.Caches, d.caches...)
	if d.clean.run != nil {
		l.m.Clean.Run = *d.clean.run
	}
	l.m.Clean.Share = append(l.m.Clean.Share, d.clean.share...)
	l.m.Clean.Env = append(l.m.Clean.Env, d.clean.env...)
	l.setup(d)
	l.m.Temporal = d.temporal.over(l.m.Temporal)
	for i, to := range [...]*int{&l.m.Limits.Verbs, &l.m.Limits.Nouns, &l.m.Limits.Bindings} {
		if v := d.limits[i]; v != nil {
			*to = int(v.Int)
		}
	}
	if d.vars != nil {
		for _, e := range d.vars.Entries {
			if e.Value.Kind == tomltree.String {
				l.m.Vars[e.Key] = e.Value.Text
			}
		}
	}
	l.m.Environment = append(l.m.Environment, d.environment...)
	if d.requireAt != nil {
		l.require.names, l.require.at, l.require.src = d.require, d.requireAt, d.src
	}
	set(&l.m.Scoped, d.scoped)
	if d.hooksIgnoreAt != nil {
		l.m.HooksIgnore = d.hooksIgnore
	}
	set(&l.m.HooksRun, d.hooksRun)
	for _, s := range d.servers {
		l.m.Servers[s.name] = s.server
	}
	for _, a := range d.agents {
		l.m.Agents[a.name] = a.agent
	}
	for _, a := range d.verbs {
		l.m.verbAlias[a.from] = a
	}
	for _, a := range d.nouns {
		l.m.nounAlias[a.from] = a
	}

	own := make(map[pair]*Binding, len(d.bindings))
	for _, b := range d.bindings {
		if !l.admit(b, own) {
			continue
		}
		for _, noun := range append([]string{b.Noun}, b.Aliases...) {
			own[pair{b.Verb, noun}] = b
		}
		for _, old := range [...]*Binding{l.names[b.Name], l.pairs[pair{b.Verb, b.Noun}]} {
			if old == nil || l.names[old.Name] != old {
				continue
			}
			delete(l.names, old.Name)
			delete(l.pairs, pair{old.Verb, old.Noun})
			l.m.replaced[old.Name] = old
			l.m.Bindings = slices.DeleteFunc(l.m.Bindings, func(x *Binding) bool { return x == old })
			if old.Pack && b.Pack {
				l.clash = append(l.clash, packClash{old, b, at, from})
			}
		}
		l.names[b.Name] = b
		l.pairs[pair{b.Verb, b.Noun}] = b
		l.m.Bindings = append(l.m.Bindings, b)
	}
}

// admit reports whether b may stand beside the bindings of its own file.
func (l *loader) admit(b *Binding, own map[pair]*Binding) bool {
	report := func(code diag.Code, key string, severity diag.Severity, message, hint string, first *Binding, related string) {
		l.list = append(l.list, diag.Diagnostic{
			Code: code, Severity: severity, File: b.Source.Name, Span: b.KeySpan(key), Message: message, Hint: hint,
			Related: []diag.Related{{File: first.Source.Name, Span: first.Span, Message: related}},
		})
	}
	if gate := l.gateResults(); gate != nil && !(b.Pack && b.Source.Name == "pack:core") {
		taken := b.Name == gate.Name || b.Verb == gate.Verb && b.Noun == gate.Noun
		if taken {
			report(diag.ReservedBinding, "verb", diag.Error,
				fmt.Sprintf("%q takes the place of the gate itself", b.Name),
				fmt.Sprintf("\"%s %s\" is built in, so that no project can weaken it; use another name and noun", gate.Verb, gate.Noun),
				gate, "the gate")
			return false
		}
	}
	if first := own[pair{b.Verb, b.Noun}]; first != nil && first.Noun == b.Noun {
		report(diag.DuplicatePair, "noun", diag.Error,
			fmt.Sprintf("%q binds \"%s %s\" a second time", b.Name, b.Verb, b.Noun),
			fmt.Sprintf("%q binds it already; remove one, or give it another noun", first.Name), first, "the first one")
		return false
	}
	return true
}

// gateResults returns the binding that no project may replace.
func (l *loader) gateResults() *Binding {
	for _, b := range l.m.Bindings {
		if b.Pack && b.Kind == plan.Builtin && b.Target == plan.GateResults {
			return b
		}
	}
	return nil
}

// finish settles what depends on all files.
func (l *loader) finish() {
	m := l.m
	m.index()
	l.aliases()
	for _, c := range l.clash {
		if slices.Contains(m.Bindings, c.by) && c.at != nil {
			l.list = append(l.list, diag.Warnf(diag.DuplicatePair, c.src.Name, c.src.Span(c.at.Start, c.at.End),
				"\"%s %s\" of %s takes the place of that of %s", c.by.Verb, c.by.Noun, c.by.Source.Name, c.old.Source.Name).
				WithHint("bind \"%s %s\" in this matrix to say what you mean", c.by.Verb, c.by.Noun))
		}
	}
	for _, b := range m.Bindings {
		l.members(b)
	}
	state := make(map[*Binding]int, len(m.Bindings))
	for _, b := range m.Bindings {
		l.settle(b, state, nil)
	}
	l.lockOrder()
	if len(m.Clean.Setup) > 0 {
		m.Clean.Vars = maps.Clone(l.env)
	}
	m.Run = l.run.plan(plan.Budget{}) // a run as a whole has no bounds of its own
	l.required()
}

// setup merges what one document says of a setup over what was loaded before it. A setup, its lock files and what is kept of it
// belong together.
func (l *loader) setup(d *document) {
	c := &d.clean
	r := newReader(d.src, &l.list)
	switch {
	case c.setupAt == nil && c.locksAt != nil:
		r.Errorf(diag.BadValue, r.Span(c.locksAt), "clean.locks names the files that decide what clean.setup installs, and there is no setup in this file")
	case c.setupAt == nil && c.keepAt != nil:
		r.Errorf(diag.BadValue, r.Span(c.keepAt), "clean.keep names where clean.setup installs, and there is no setup in this file")
	case c.setupAt != nil && c.locksAt == nil:
		r.Errorf(diag.BadValue, r.Span(c.setupAt), "nobody can tell when clean.setup has to run again: name the files that decide what it installs").
			Hint = `locks = ["package.json", "package-lock.json"]`
	case c.setupAt != nil:
		l.m.Clean.Setup, l.m.Clean.Locks, l.m.Clean.Keep = c.setup, c.locks, c.keep
	}
}

// required checks that the names of [verify] mean something.
func (l *loader) required() {
	l.m.Require = make([]string, 0, len(l.require.names))
	for i, name := range l.require.names {
		r := newReader(l.require.src, &l.list)
		b, several := l.m.Named(name)
		switch {
		case len(several) > 0:
			r.Errorf(diag.UnknownMember, r.ItemSpan(l.require.at, i), "verify.require: several bindings have the word %q: %s", name, strings.Join(several, ", "))
		case b == nil:
			d := r.Errorf(diag.UnknownMember, r.ItemSpan(l.require.at, i), "verify.require: the matrix binds nothing called %q", name)
			d.Hint = "name a [commands.NAME], a noun, a verb, or \"verb noun\""
		case b.Kind == plan.Builtin && b.Target == plan.GateResults:
			r.Errorf(diag.BadValue, r.ItemSpan(l.require.at, i), "verify.require: %q is the gate, which every verification asks for", name)
		default:
			l.m.Require = append(l.m.Require, name)
		}
	}
}

// pins reads the files that bindings pin. They count for the digest as the files of the matrix
// do: a receipt of a matrix is one of what its bindings ran.
func (l *loader) pins() {
	if l.m.Root == "" {
		return
	}
	type pin struct {
		of *Binding
		as string // written
	}
	by := make(map[string]pin)
	for _, b := range l.m.Bindings {
		for _, as := range b.Pins {
			p := as
			if !filepath.IsAbs(p) {
				p = filepath.Join(l.m.Root, filepath.FromSlash(p))
			}
			if p = filepath.Clean(p); by[p].of == nil {
				by[p] = pin{b, as}
			}
		}
	}
	said := make(map[*Binding]bool)
	for _, p := range slices.Sorted(maps.Keys(by)) {
		if _, read := l.at[p]; read {
			continue
		}
		text, err := l.read(p, true, maxPinSize)
		b := by[p].of
		l.m.Read[len(l.m.Read)-1].By = b.Name
		switch {
		case err == nil:
			l.record(l.name(p), text)
		case !errors.Is(err, fs.ErrNotExist) && !said[b]:
			// The gate would refuse it after the lines have run: nothing could be compared.
			said[b] = true
			newReader(b.Source, &l.list).Errorf(diag.BadValue, b.KeySpan("pins"), "commands.%s.pins names %s, which cannot be read: %s", b.Name, by[p].as, l.m.Read[len(l.m.Read)-1].Problem).
				Hint = "name the files: a folder cannot be pinned, and what cannot be read cannot be compared with the baseline"
		}
	}
}

// read reads a file of the rules, and notes what was there. Once all files that are read are larger
// than they may be, it reads none.
func (l *loader) read(path string, pin bool, most int) (text []byte, err error) {
	sum, all, what := &l.sums[0], maxFileSum, "files of the matrix"
	if pin {
		sum, all, what = &l.sums[1], maxPinSum, "pinned files"
	}
	if *sum <= all {
		text, err = l.o.ReadFile(path)
		*sum += len(text)
	}
	switch {
	case err == nil && len(text) > most:
		err = fmt.Errorf("larger than %d MiB", most>>20)
	case err == nil && *sum > all:
		err = fmt.Errorf("with it the %s are larger than %d MiB", what, all>>20)
	case errors.Is(err, syscall.ENOTDIR): // what should be a folder on the way is a file
		err = fs.ErrNotExist
	}
	f := plan.File{Path: path, Name: l.name(path), Pin: pin}
	switch {
	case err == nil:
		text = slices.Clip(text)
		f.Content, f.SHA256 = text, sha256.Sum256(text)
	case errors.Is(err, fs.ErrNotExist):
		f.Absent = true
	default:
		err = regular.Reason(err)
		f.Problem = err.Error()
	}
	l.at[path] = len(l.m.Read)
	l.m.Read = append(l.m.Read, f)
	return text, err
}

// name is the name of a file in the digest and in messages.
func (l *loader) name(path string) string {
	rel, err := filepath.Rel(l.m.Root, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

// sum ends the digest.
func (l *loader) sum() {
	l.m.SHA256 = hex.EncodeToString(l.digest.Sum(nil))
}

// members resolves what a composite names.
func (l *loader) members(b *Binding) {
	if b.Kind != plan.Composite {
		return
	}
	list := b.Syntax.Get("composite")
	for i, name := range b.composite {
		r := newReader(b.Source, &l.list)
		m := l.m.ByName(name)
		switch {
		case m == nil:
			d := r.Errorf(diag.UnknownMember, r.ItemSpan(list, i), "%q has no member %q to run", b.Name, name)
			names := make([]string, 0, len(l.m.Bindings))
			for _, other := range l.m.Bindings {
				names = append(names, other.Name)
			}
			d.Hint = "a member is the NAME of another [commands.NAME]"
			if near := l.slips.Near(name, names); near != "" {
				didYouMean(d, near, fmt.Sprintf("%q", near))
			}
		case m.Kind == plan.Builtin && m.Target == plan.GateResults:
			d := r.Errorf(diag.BadValue, r.ItemSpan(list, i), "%q has the gate as a member, and a gate decides about whole lines", b.Name)
			d.Hint = "write it as a line of its own; a run ends in a gate anyway"
		case slices.Contains(b.Members, m):
			r.Errorf(diag.BadValue, r.ItemSpan(list, i), "%q has the member %q twice", b.Name, name)
		default:
			b.Members = append(b.Members, m)
		}
	}
}

// settle computes what a binding takes from its members and from the defaults,
// members first, and cuts cycles. It returns the number of steps that b expands to.
func (l *loader) settle(b *Binding, size map[*Binding]int, chain []*Binding) int {
	if n := size[b]; n > 0 {
		return n
	}
	chain = append(chain, b)
	steps := 1
	kept := b.Members[:0:0]
	for _, m := range b.Members {
		if i := slices.Index(chain, m); i >= 0 {
			names := make([]string, 0, len(chain)-i+1)
			for _, c := range append(chain[i:len(chain):len(chain)], m) {
				names = append(names, c.Name)
			}
			r := newReader(b.Source, &l.list)
			r.Errorf(diag.CompositeCycle, b.KeySpan("composite"), "%q contains itself: %s", m.Name, strings.Join(names, " -> ")).
				Hint = "a composite runs its members and cannot be one of them"
			continue
		}
		n := maxSteps
		if len(chain) < maxSteps {
			n = l.settle(m, size, chain)
		}
		if steps+n > maxSteps {
			r := newReader(b.Source, &l.list)
			r.Errorf(diag.BadValue, b.KeySpan("composite"), "%q expands to more than %d steps", b.Name, maxSteps)
			break
		}
		steps += n
		kept = append(kept, m)
	}
	b.Members = kept
	if b.Kind == plan.Composite && len(b.Parameters().Names) > maxTaken {
		newReader(b.Source, &l.list).Errorf(diag.BadValue, b.KeySpan("composite"), "%q takes more than %d values", b.Name, maxTaken)
	}
	size[b] = steps
	b.Effect = b.effectOf(l.m.Vocabulary)
	if len(b.Files) > 0 && b.Effect != plan.Read && b.Kind == plan.Process {
		r := newReader(b.Source, &l.list)
		r.Warnf(diag.BadValue, b.KeySpan("files"), "commands.%s.files has no effect: the tool may write", b.Name).Hint = "a tool that only reads says effect = \"read\""
	}
	l.secrets(b)
	said := b.budget
	if b.Kind == plan.Composite {
		b.Parallel = b.order == "parallel" || b.order == "" && b.reads()
		// The defaults bound each member; bounding the group as well would
		// multiply retries and cut a sequence short.
		said = budget{tail: said.over(l.budget).tail, timeout: new(time.Duration(0))}
	} else {
		said = said.over(l.budget)
		env := maps.Clone(l.env)
		maps.Copy(env, b.Env)
		if b.Env = env; len(env) == 0 {
			b.Env = nil
		}
	}
	b.Budget = said.plan(plan.Budget{Timeout: DefaultTimeout, TailLines: DefaultTailLines})
	return steps
}

// plan returns b with under where nobody said anything.
func (b budget) plan(under plan.Budget) plan.Budget {
	set(&under.Timeout, b.timeout)
	set(&under.Stall, b.stall)
	set(&under.MaxOutput, b.maxOutput)
	set(&under.Retries, b.retries)
	set(&under.TailLines, b.tail)
	return under
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// aliases reports those that mean nothing, or two things.
func (l *loader) aliases() {
	m := l.m
	for _, b := range m.Bindings {
		list := b.Syntax.Get("aliases")
		for i, noun := range b.Aliases {
			other := m.pairs[pair{b.Verb, noun}]
			if other == b && noun != b.Noun {
				continue
			}
			if b.Pack && !other.Pack {
				continue // a project's own word goes before a pack's, and nobody can change the pack
			}
			r := newReader(b.Source, &l.list)
			what := "is its noun already"
			if other != b {
				what = fmt.Sprintf("means %q", other.Name)
			}
			d := r.Warnf(diag.ConflictingNames, r.ItemSpan(list, i), "the alias %q of %q is never used: \"%s %s\" %s", noun, b.Name, b.Verb, noun, what)
			d.Related = []diag.Related{{File: other.Source.Name, Span: other.Span, Message: "bound here"}}
		}
	}
	check := func(aliases map[string]alias, bound map[string][]string, what string, words []string) {
		for _, from := range sortedAliases(aliases) {
			a := aliases[from]
			if _, ok := bound[from]; ok {
				l.list = append(l.list, diag.Warnf(diag.ConflictingNames, a.src.Name, a.span,
					"the alias %q is also a bound %s, which goes first", from, what))
			}
			if _, ok := bound[a.to]; !ok {
				d := diag.Warnf(diag.BadValue, a.src.Name, a.span, "the alias %q stands for %q, which is not a bound %s", from, a.to, what)
				if near := l.slips.Near(a.to, words); near != "" {
					d = d.WithHint("did you mean %q?", near)
				}
				l.list = append(l.list, d)
			}
		}
	}
	check(m.verbAlias, m.nounsOf, "verb", m.verbs)
	check(m.nounAlias, m.verbsOf, "noun", m.nouns)
}

// sortedAliases returns the keys of aliases in the order of the files.
func sortedAliases(aliases map[string]alias) []string {
	return slices.SortedFunc(maps.Keys(aliases), func(a, b string) int {
		x, y := aliases[a], aliases[b]
		if x.src != y.src {
			return strings.Compare(x.src.Name, y.src.Name)
		}
		return x.span.Start.Offset - y.span.Start.Offset
	})
}

// secrets warns of names that no value of a line has: a run shows what is meant by them, such as a variable of the environment.
func (l *loader) secrets(b *Binding) {
	params := b.Parameters()
	if params.Named || params.Lone {
		return
	}
	for _, name := range b.Secrets {
		if name == "" || name == "args" || slices.Contains(params.Names, name) {
			continue
		}
		r := newReader(b.Source, &l.list)
		d := r.Warnf(diag.BadValue, b.KeySpan("secrets"), "commands.%s.secrets names %q, which the tool does not take", b.Name, name)
		d.Hint = "a variable of the environment is hidden by its own name, such as DB_PASSWORD or API_TOKEN: `dialect help reports` has the words"
		if len(params.Names) > 0 {
			d.Hint = "name placeholders of the tool: " + strings.Join(params.Names, ", ") + "; " + d.Hint
		}
	}
}

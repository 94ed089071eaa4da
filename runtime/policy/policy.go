// Package policy compares the rules that a project has with those that the verifier trusts:
// the routing matrix, with all that it extends, the configurations of MCP servers and the
// files that its bindings pin. In comes a matrix with the bytes that it was loaded from
// ([plan.File]) and the name of a baseline; out come the baseline's files, and what differs. The
// package reads no file of the project again, except for pins outside of the worktree ([Agree]); it
// runs nothing and judges no receipt.
//
// # The baseline
//
// In this order: the commit that the caller names; the pin that this user has made for the
// project ([Pin]); the commit HEAD, which is weak, since anyone who can edit a file can commit it, too;
// nothing, if there is no repository or no commit.
//
// The rules are loaded from the bytes of the baseline, never from the working tree:
//
//	b, err := policy.Open(ctx, nil, present, base)
//	trusted := load(b.ReadFile) // a matrix, with the loader that loaded present
//	state := b.Compare(present, trusted)
//	state = b.See(state.At(snapshot.Root), present, snapshot.Lookup)
//
// Compare is about content. At and See are about where that content was: the project has to be part of the working tree that the baseline
// has it in, a snapshot has to see the files change, and they have to be read through the links that the baseline has.
//
// What a verification requires, and the digest that a gate has to carry, are those of trusted.
//
// # Pins
//
// A pin is a file in the configuration of the user who verifies, beside the project and not in
// it: <config>/dialect/trust/<project>.json. It holds the content of the files, so that what changed
// can be shown, and the root of the working tree that counts. Who can write there can pin their own rules, and the agent of a user who runs
// it without a sandbox can. A pin protects from an agent that runs as another user, or cannot
// reach the folder. A pin that another user owns or could write is refused.
package policy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A Kind is where a baseline comes from.
type Kind string

// The kinds of baseline.
const (
	None   Kind = "none" // there is no repository, or no commit yet
	Head   Kind = "HEAD" // the commit HEAD: nobody named anything
	Base   Kind = "base" // a commit that the caller named
	Pinned Kind = "pin"  // the user's pin
)

// A Baseline is the rules that a verifier trusts, as bytes. It is not safe for concurrent use.
type Baseline struct {
	Kind   Kind
	Name   string // for people: "origin/main", "HEAD", "the pin of 2026-11-20"
	Commit string // full hash, for Base and Head

	root  string // of the working tree that it has the project in; empty if nothing says
	read  func(path string) ([]byte, error)
	look  func(path string) (workspace.Found, error) // nil if it is not a commit
	aside map[string]bool                            // files whose content is not to be shown, by path
	fault error                                      // why it cannot be read
}

// Open finds the baseline of a matrix: the commit base, or, if that is empty, the user's pin, or
// HEAD. A base that names no commit, and a pin that is damaged or not the user's own, are errors.
// A baseline that is there and cannot be read is not: [Baseline.Compare] says so, since breaking
// git must not be a way around it. run starts git; nil for this process.
func Open(ctx context.Context, run git.Runner, m plan.Matrix, base string) (*Baseline, error) {
	if base == "" {
		pin, err := Load(m.Root)
		if err != nil {
			return nil, err
		}
		if pin != nil {
			b := pin.baseline()
			b.fault = workspace.Broken(ctx, m.Root, workspace.Options{Git: run})
			return b, ctx.Err()
		}
	}
	b := &Baseline{Kind: Base, Name: base}
	if base == "" {
		b.Kind, b.Name = Head, "HEAD"
	}
	paths := make([]string, 0, len(m.Files))
	for _, f := range m.Files {
		paths = append(paths, f.Path)
	}
	c, err := workspace.Resolve(ctx, m.Root, b.Name, workspace.Options{Git: run}, paths...)
	switch {
	case err == nil:
		b.Commit, b.root = c.ID, c.Root()
		b.read = func(path string) ([]byte, error) { return c.ReadFile(ctx, path) }
		b.look = func(path string) (workspace.Found, error) { return c.Lookup(ctx, path) }
	case errors.Is(err, workspace.ErrAltered):
		b.fault = err
	case base != "":
		return nil, err
	case errors.Is(err, workspace.ErrNoRepository), errors.Is(err, workspace.ErrNoCommit):
		if b.fault = workspace.Unborn(ctx, m.Root, workspace.Options{Git: run}); b.fault == nil {
			*b = Baseline{Kind: None}
		}
	default:
		b.fault = err
	}
	return b, nil
}

// Foreign reports whether the baseline's content of the file at an absolute path is not to be shown.
func (b *Baseline) Foreign(path string) bool { return b.aside[path] }

// ReadFile returns the baseline's content of the file at an absolute path; the error wraps
// [fs.ErrNotExist] where it has none. It is what a matrix is loaded with.
func (b *Baseline) ReadFile(path string) ([]byte, error) {
	if b.fault != nil {
		return nil, b.fault
	}
	if b.read == nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	text, err := b.read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.fault = err
	}
	return text, err
}

// Same reports whether the baseline has exactly the bytes that the matrix was loaded from. What
// the loader makes of them is then the same, too: it need not be loaded again.
func (b *Baseline) Same(m plan.Matrix) bool {
	if b.Kind == None || len(m.Files) == 0 {
		return false
	}
	for _, f := range m.Files {
		text, err := b.ReadFile(f.Path)
		if errors.Is(err, fs.ErrNotExist) && f.Absent {
			continue
		}
		if err != nil || sha256.Sum256(text) != f.SHA256 { // zero where it was absent or not read; Compare says what else is wrong with a file
			return false
		}
	}
	return true
}

// A State is how the rules of a project compare with its baseline.
type State struct {
	Kind    Kind   // of the baseline
	Against string // the baseline for people; empty if there is none
	Commit  string // full hash, if it is one
	Pinned  bool   // the verifier chose the baseline
	// New says that HEAD, which nobody named, does not have the matrix yet. Where it has one above
	// that folder, Elsewhere says so.
	New     bool
	Lacks   bool // the commit that the caller named does not have the matrix
	Changes []Change
	Unknown string // why the two could not be compared; empty if they were
	// Unseen says which rules file has the trusted content but is hidden, or replaced by a link, in the
	// files that are asked about; see [Baseline.See].
	Unseen string
	// Elsewhere is a complaint that other rules are meant than those of the matrix that was found.
	Elsewhere string
	// Above is, where that is the complaint, the path of the matrix that HEAD has above the folder of one that is new.
	Above string

	root  string // of the working tree that the baseline has the project in; empty if it does not have it, or nothing says
	apart string // a complaint that the files are those of another working tree; see [State.At]
}

// Has reports whether the baseline is a commit, and has a file at an absolute path, or through links below its root that lead to
// one, or cannot say.
func (b *Baseline) Has(path string) bool {
	has, err := b.Look(path)
	return has || err != nil
}

// Look is like [Baseline.Has], and returns an error where that says true since it cannot look: of a submodule that is not checked out.
func (b *Baseline) Look(path string) (has bool, err error) {
	if b.look == nil {
		return false, nil
	}
	f, err := b.look(path)
	return f.File, err
}

// IsPinned reports whether the user has pinned a project at root. A pin that cannot be read counts: it is there. Where the folder of pins
// cannot be found, or looked into, it is false: [Load] returns why.
func IsPinned(root string) bool {
	file, err := path(root)
	if err != nil {
		return false
	}
	_, err = os.Lstat(file)
	return err == nil || moved(root) != nil
}

// A Change is a file that is not as the baseline has it.
type Change struct {
	Path     string // relative to the root of the matrix
	Old, New []byte // nil if it is not there
	Pin      bool   // the matrix pins it, and is not made of it
	By       string // the binding that pins it; empty for none, or for one of an inner matrix
	Own      bool   // New is of a commit of the repository
	Foreign  bool   // Old and New are of a file that is not of the repository, or may not be: they are not to be shown
	Of, In   string // what Old is of and New is in, as a difference names them; empty for the trusted one and the present files
}

// Compare compares the rules of a project with trusted, which the same loader has loaded from
// b.ReadFile. It compares what was loaded, and reads nothing.
func (b *Baseline) Compare(present, trusted plan.Matrix) State {
	if b.Kind == None {
		return State{Kind: None}
	}
	s := State{Kind: b.Kind, Against: b.Name, Commit: b.Commit, Pinned: b.Kind != Head}
	if b.fault != nil {
		s.Unknown = b.fault.Error()
		return s
	}
	old, now := byPath(trusted.Files), byPath(present.Files)
	if b.Kind == Pinned || there(old[present.Path]) {
		s.root = b.root
		s.Elsewhere = b.moved(present)
	}
	for _, f := range slices.Concat(present.Files, trusted.Files) {
		was, is := old[f.Path], now[f.Path]
		delete(old, f.Path)
		delete(now, f.Path)
		switch {
		case is == nil:
			// Compared already; or only the trusted matrix leads there, so a file that leads there differs.
		case is.Problem != "":
			s.Unknown = is.Name + ": " + is.Problem
		case was != nil && was.Problem != "":
			s.Unknown = was.Name + " of " + s.Against + ": " + was.Problem
		case is.Absent && !there(was):
		case !there(was):
			s.Changes = append(s.Changes, Change{Path: f.Name, Pin: is.Pin, By: is.By, New: content(is), Own: is.Own})
		case is.Absent:
			s.Changes = append(s.Changes, Change{Path: f.Name, Pin: is.Pin, By: is.By, Old: content(was)})
		case was.SHA256 != is.SHA256:
			s.Changes = append(s.Changes, Change{Path: f.Name, Pin: is.Pin, By: is.By, Old: content(was), New: content(is), Own: is.Own})
		}
		if was != nil && was.Absent && f.Path == present.Path {
			s.New = b.Kind == Head
			s.Lacks = b.Kind == Base
		}
	}
	if s.Lacks {
		s.Changes = nil // all of it
	}
	slices.SortFunc(s.Changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	if s.Unknown == "" && !s.Lacks && len(s.Changes) == 0 && present.SHA256 != trusted.SHA256 {
		s.Unknown = "the same files give another matrix"
	}
	return s
}

// moved says which routing.toml gives the project of a matrix with another name a root that it does not have in the baseline: one that the baseline
// has is gone, or one is new. No file of the matrix differs then, and its tools run elsewhere.
func (b *Baseline) moved(m plan.Matrix) string {
	if m.Folder == "" || b.look == nil {
		return ""
	}
	for at := range regular.Above(m.Folder) {
		path := filepath.Join(at, plan.MatrixFile)
		has, err := b.Look(path)
		switch {
		case err != nil:
			return fmt.Sprintf("it is not known whether %s has %s, which would make %s the root of %s: %v", b.Name, place.Short(path), at, place.Short(m.Path), err)
		case at == m.Root && !has && !place.Same(at, b.root):
			return fmt.Sprintf("%s is new: it makes %s the root of %s, and %s does not have it", place.Short(path), at, place.Short(m.Path), b.Name)
		case at == m.Root:
			return ""
		case has:
			return fmt.Sprintf("%s is gone: %s has it, so that %s is the root of %s there", place.Short(path), b.Name, at, place.Short(m.Path))
		}
	}
	return ""
}

func byPath(files []plan.File) map[string]*plan.File {
	m := make(map[string]*plan.File, len(files))
	for i := range files {
		m[files[i].Path] = &files[i]
	}
	return m
}

func there(f *plan.File) bool { return f != nil && !f.Absent }

// content is that of a file which is there: never nil.
func content(f *plan.File) []byte {
	if f.Content == nil {
		return []byte{}
	}
	return f.Content
}

// At adds to a comparison where the files are that are asked about: root is the root of their snapshot, or of the working tree
// of their commit; empty for none. Files beside the project count only if it is part of the working tree that the baseline has it in. What takes it out
// of that is in no digest then: an ignore file of the repository that names the folder of the project, a .git that is gone, broken or new.
func (s State) At(root string) State {
	if s.root != "" && root != "" && root != s.root {
		s.apart = fmt.Sprintf("%s has this project in the working tree at %s, and the files that count now are those below %s: an ignore file names its folder, or a .git is gone, broken or new",
			s.Against, s.root, root)
	}
	return s
}

// Apart reports whether the only complaint is that the files belong to another working tree.
func (s State) Apart() bool { return s.Elsewhere == "" && s.apart != "" }

// Name is the state in the words of a gate receipt.
func (s State) Name() string {
	switch {
	case s.Complaint() != "":
		return receipts.PolicyChanged
	case s.New:
		return receipts.PolicyNew
	case s.Pinned:
		return receipts.PolicyPinned
	}
	return receipts.PolicyUnpinned
}

// Complaint says what is not as the baseline has it; empty if all is, or the matrix is new and nothing
// of it is unseen.
func (s State) Complaint() string {
	switch {
	case s.Elsewhere != "":
		return s.Elsewhere
	case s.apart != "":
		return s.apart
	case s.Unknown != "":
		return fmt.Sprintf("cannot compare the matrix with %s: %s", s.Against, s.Unknown)
	case s.Lacks:
		return fmt.Sprintf("%s has no such matrix: merge it there first, or leave --base out", s.Against)
	case len(s.Changes) == 0, s.New:
		return s.Unseen
	}
	var what []string
	for _, c := range s.Changes {
		text := c.Path + " differs"
		switch {
		case c.lineEnds():
			text = c.Path + " differs in its line ends alone"
		case c.Old == nil:
			text = c.Path + " is not in it"
		case c.New == nil:
			text = c.Path + " is gone"
		}
		if c.By != "" {
			text += " (" + c.By + " pins it)"
		}
		what = append(what, text)
	}
	subject := "the matrix"
	if s.OnlyPins() {
		subject = "what the matrix pins"
	}
	return fmt.Sprintf("%s is not that of %s: %s", subject, s.Against, strings.Join(what, ", "))
}

// OnlyPins reports whether the matrix is the baseline's, and only files that it pins differ.
func (s State) OnlyPins() bool {
	return len(s.Changes) > 0 && !slices.ContainsFunc(s.Changes, func(c Change) bool { return !c.Pin })
}

// lineEnds reports whether the two differ in nothing but the ends of their lines, as where git wrote other ones into the folder than it keeps.
func (c Change) lineEnds() bool {
	lf := func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }
	return c.Old != nil && c.New != nil && bytes.Equal(lf(c.Old), lf(c.New))
}

// LineEnds reports whether the rules differ from the baseline's in nothing but the ends of lines. That is a difference: a program that a binding pins
// may mean another one by them.
func (s State) LineEnds() bool {
	return s.Unknown == "" && s.Elsewhere == "" && s.apart == "" && len(s.Changes) > 0 && !slices.ContainsFunc(s.Changes, func(c Change) bool { return !c.lineEnds() })
}

// A Loader loads the matrix that is to be compared, with read in the place of the disk.
type Loader func(read func(path string) ([]byte, error)) plan.Matrix

// Check opens the baseline of a matrix, loads the matrix from it, and compares the two.
func Check(ctx context.Context, present plan.Matrix, base string, load Loader) (State, error) {
	b, err := Open(ctx, nil, present, base)
	if err != nil {
		return State{}, err
	}
	if b.Same(present) {
		return b.Compare(present, present), nil
	}
	return b.Compare(present, load(b.ReadFile)), nil
}

// Agree returns a complaint about the first of files that a snapshot has with other content than
// the one that was loaded, which changed says more of, or that a binding pins and no snapshot sees; empty
// if there is none. A matrix or a configuration of MCP servers is read once, before anything runs, and its
// content is in the digest of the matrix: it may be hidden. A pin outside of the worktree is in no
// snapshot: it is read anew.
func Agree(files []plan.File, s *workspace.Snapshot, changed string) string {
	for i := range files {
		f := &files[i]
		is := s.Lookup(f.Path)
		if is.Outside && f.Pin && f.Problem == "" {
			text, err := regular.Read(f.Path, max(int64(len(f.Content)), 1)) // a larger one is another
			is = workspace.Found{File: err == nil, SHA256: sha256.Sum256(text)}
			if f.Absent && err != nil {
				is.File = !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
			}
		}
		if why := disagree(f, is, false, changed); why != "" {
			return why
		}
	}
	return ""
}

// disagree says why a file that was loaded is not what is found at its place; trusted says that the
// baseline has the file, too.
func disagree(f *plan.File, is workspace.Found, trusted bool, changed string) string {
	switch {
	case is.Outside, is.Hidden != "" && !f.Pin && !trusted:
		return ""
	case is.Hidden != "":
		text := fmt.Sprintf("%s %s, so no snapshot sees it change", f.Name, is.Hidden)
		if is.Hidden == workspace.Ignored {
			text += ": take it out of .gitignore"
		} else if f.Pin {
			text += ": pin a file that counts"
		}
		return text
	case is.File == f.Absent, is.File && is.SHA256 != f.SHA256:
		return fmt.Sprintf("%s is not what the matrix was loaded from: %s", f.Name, changed)
	}
	return ""
}

// See adds to a comparison what look, of the snapshot or the commit that is asked about, finds in the
// places of the files of the rules. Each file has to be there as it was loaded, where a snapshot sees it
// change, and through the same links as in the baseline.
//
// A snapshot does not see ignored files, so an ignored Makefile could be replaced while the commands
// run. Files outside of the worktree are left out, and so is a matrix or a configuration of MCP servers
// that is hidden and in no trusted commit: see [Agree].
func (b *Baseline) See(s State, present plan.Matrix, look func(path string) (workspace.Found, error)) State {
	for i := range present.Files {
		f := &present.Files[i]
		is, err := look(f.Path)
		var was workspace.Found
		if err == nil && b.look != nil && b.fault == nil {
			was, err = b.look(f.Path)
		}
		if err != nil {
			s.Unseen = fmt.Sprintf("cannot compare %s: %v", f.Name, err)
			return s
		}
		s.Unseen = disagree(f, is, was.File, "it changed in the meantime; ask again")
		if s.Unseen == "" && is.File && was.File && !slices.Equal(is.Links, was.Links) {
			s.Unseen = fmt.Sprintf("%s is %s, and in %s %s", f.Name, linked(is.Links), b.Name, linked(was.Links))
		}
		if s.Unseen != "" {
			return s
		}
	}
	return s
}

// linked says through which links a file is read.
func linked(links []string) string {
	if len(links) == 0 {
		return "a file of its own"
	}
	return "a link (" + strings.Join(links, ", ") + ")"
}

// A Pin is a policy that a user trusts.
type Pin struct {
	Root string `json:"root"`
	// Worktree is the root of the snapshot of the project, without links; empty in a pin that an older dialect made.
	Worktree string        `json:"worktree,omitempty"`
	At       time.Time     `json:"at"`
	Matrix   receipts.Hash `json:"matrix"`
	Files    []File        `json:"files"`

	real string // Root without links, where its files were; empty in a pin that was loaded
}

// errExchanged says that a folder is not the one that was looked at.
var errExchanged = errors.New("its folder was exchanged meanwhile")

// A File is a file of a pin.
type File struct {
	Path    string `json:"path"` // relative to Root, with slashes
	Content []byte `json:"content"`
	Foreign bool   `json:"foreign,omitempty"` // as of a [Change]
}

// SHA256 is the digest of the content.
func (f File) SHA256() receipts.Hash { return sha256.Sum256(f.Content) }

// New makes the pin of a matrix, of the bytes that it was loaded from, whose project is part of the working tree at worktree. foreign says which of its
// files are not to be shown; nil for none.
func New(m plan.Matrix, worktree string, at time.Time, foreign func(plan.File) bool) (*Pin, error) {
	p := &Pin{Root: m.Root, Worktree: worktree, At: at.UTC().Truncate(time.Second)}
	var err error
	if p.Matrix, err = receipts.ParseHash(m.SHA256); err != nil {
		return nil, err
	}
	for _, f := range m.Files {
		switch {
		case f.Problem != "":
			return nil, fmt.Errorf("%s: %s", f.Name, f.Problem)
		case !f.Absent:
			p.Files = append(p.Files, File{f.Name, f.Content, foreign != nil && foreign(f)})
		}
	}
	return p, p.stand()
}

// Here returns an error unless the folder of a pin that was just made is the working directory of this process, or above it: that stays the folder where the
// caller is, whatever comes to stand at its path.
func (p *Pin) Here() error {
	wd, err := os.Getwd()
	if err == nil {
		wd, err = filepath.EvalSymlinks(wd)
	}
	if err != nil {
		return err
	}
	up := "."
	for at := wd; at != p.real; at = filepath.Dir(at) {
		if at == filepath.Dir(at) {
			return fmt.Errorf("%s is not in %s: go there, and run this again", wd, p.real)
		}
		up = filepath.Join(up, "..")
	}
	here, err := os.Stat(up)
	if err != nil {
		return err
	}
	if there, err := os.Lstat(p.real); err != nil || !os.SameFile(here, there) {
		return errExchanged
	}
	return nil
}

// stand returns an error unless the files of a pin are in its folder, which who owns the one above could exchange for that of another project.
func (p *Pin) stand() (err error) {
	if p.real, err = filepath.EvalSymlinks(p.Root); err != nil {
		return err
	}
	root, err := os.OpenRoot(p.real)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range p.Files {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			continue
		}
		file, err := root.OpenFile(filepath.FromSlash(f.Path), os.O_RDONLY|regular.OwnFlags, 0)
		if err != nil {
			continue // a link that leads out, or it is gone
		}
		now, err := io.ReadAll(io.LimitReader(file, int64(len(f.Content))+1))
		file.Close()
		if err != nil || !bytes.Equal(now, f.Content) {
			return fmt.Errorf("%s: %w, or the file was edited", f.Path, errExchanged)
		}
	}
	return nil
}

// baseline is the pin as a baseline.
func (p *Pin) baseline() *Baseline {
	files, aside := make(map[string][]byte, len(p.Files)), make(map[string]bool)
	for _, f := range p.Files {
		path := filepath.Join(p.Root, filepath.FromSlash(f.Path))
		files[path], aside[path] = f.Content, f.Foreign
	}
	return &Baseline{Kind: Pinned, Name: "the pin of " + p.At.Format(time.DateOnly), root: p.Worktree, aside: aside, read: func(path string) ([]byte, error) {
		text, ok := files[path]
		if !ok {
			return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
		}
		return text, nil
	}}
}

// path is where the pin of the project at root is kept.
func path(root string) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", err
	}
	return fileOf(dir, root), nil
}

// fileOf is where the pin of a project is kept below the user's folder of configuration; root has
// no links.
func fileOf(dir, root string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(dir, "dialect", "trust", hex.EncodeToString(sum[:8])+".json")
}

// moved returns an error if there is a pin of root under the name that it is called by, and
// another project than the pinned one stands there now: a link leads elsewhere.
func moved(root string) error {
	dir, err := os.UserConfigDir()
	real, rerr := filepath.EvalSymlinks(root)
	if err != nil || rerr != nil || real == root {
		return nil
	}
	b, err := readOwn(fileOf(dir, root))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var p Pin
	if err != nil || json.Unmarshal(b, &p) != nil || p.Root != real {
		return fmt.Errorf("your pin for %s was made when it led to another folder; it now links to %s", root, real)
	}
	return nil
}

// Load returns the pin of the project at root; nil if there is none. A pin, or a folder of pins,
// that others own or can write is an error.
func Load(root string) (*Pin, error) {
	unknown := func(err error) error {
		return fmt.Errorf("cannot look for your pin of these rules: %w; set HOME to a folder of your own, or name the commit that you trust with --base", err)
	}
	file, err := path(root)
	if err != nil {
		return nil, unknown(err)
	}
	if err := moved(root); err != nil {
		return nil, err
	}
	b, err := readOwn(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOTDIR):
		return nil, unknown(err)
	case err != nil:
		return nil, err
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, unknown(err)
	}
	p := new(Pin)
	if err := json.Unmarshal(b, p); err != nil || p.Root != real {
		return nil, fmt.Errorf("the pin %s is damaged; `dialect trust` makes a new one", file)
	}
	p.Root = root // as the caller calls it
	return p, nil
}

// maxPin bounds the file of a pin, in bytes.
const maxPin = 256 << 20

// readOwn reads the file of a pin, if the user owns it and the folders that it is in, and nobody
// else may write them.
func readOwn(file string) ([]byte, error) {
	if err := ownFolders(file); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxPin) {
		err = fmt.Errorf("the pin %s is damaged; `dialect trust` makes a new one", file)
	}
	if err == nil {
		err = own(file, info)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, maxPin))
}

// own returns an error if another user owns, or could write, what info is about. Where the system has no such users the folder of
// the user's configuration is taken to be private.
func own(path string, info fs.FileInfo) error {
	switch uid := regular.Owner(info); {
	case uid != os.Geteuid():
		return fmt.Errorf("%s belongs to the user %d: a pin counts only if you own it; remove it, or chown it", path, uid)
	case uid >= 0 && info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others may write %s: a pin counts only if nobody else can change it; run `chmod go-w %s` and `dialect trust`", path, path)
	}
	return nil
}

// ownFolders returns an error if others own, or could write, the folders of a pin.
func ownFolders(file string) error {
	trust := filepath.Dir(file)
	for _, dir := range []string{filepath.Dir(trust), trust} {
		info, err := os.Stat(dir)
		if err == nil {
			err = own(dir, info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Save keeps p and returns the file that it is in.
func (p *Pin) Save() (string, error) {
	file, err := path(p.Root)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	if err := ownFolders(file); err != nil {
		return "", err
	}
	kept := *p
	if kept.Root, err = filepath.EvalSymlinks(p.Root); err != nil {
		return "", err
	}
	if p.real != "" && (kept.Root != p.real || file != fileOf(filepath.Dir(filepath.Dir(filepath.Dir(file))), p.real)) {
		return "", errExchanged
	}
	b, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return "", err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".pin-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(append(b, '\n'))
	if err == nil {
		err = temp.Sync()
	}
	if cerr := temp.Close(); err == nil {
		err = cerr
	}
	// Under the name that the project is called by, too: a link there can be made to lead elsewhere.
	if called := fileOf(filepath.Dir(filepath.Dir(filepath.Dir(file))), p.Root); err == nil && called != file {
		_ = os.Remove(called)
		err = os.Link(temp.Name(), called)
	}
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	return file, err
}

// Remove removes the pin of the project at root, and reports whether there was one.
func Remove(root string) (bool, error) {
	file, err := path(root)
	if err != nil {
		return false, err
	}
	if called := fileOf(filepath.Dir(filepath.Dir(filepath.Dir(file))), root); called != file {
		_ = os.Remove(called)
	}
	err = os.Remove(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

package cleanroom

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// An Edit is another content for a file of the snapshot, or a file beside those of the snapshot.
type Edit struct {
	Path    string // from the root of the working tree, with slashes
	Content []byte
}

// MaxFile bounds what [Room.ReadFile] reads, in bytes.
const MaxFile = 4 << 20

// Files returns the paths of the regular files of the first snapshot, sorted; nil before [Room.Take].
func (r *Room) Files() (list []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.snapshot == nil || r.err != nil {
		return nil
	}
	for f := range r.snapshot.Checkout(r.format) {
		if f.Kind == workspace.Regular || f.Kind == workspace.Executable {
			list = append(list, f.Path)
		}
	}
	return list
}

// ReadFile returns the content of a file of the checkout.
func (r *Room) ReadFile(path string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.err != nil:
		return nil, r.err
	case r.snapshot == nil || !r.tree.has(path):
		return nil, &os.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return regular.Read(r.tree.at(path), MaxFile)
}

// Place is the directory of the project in the working tree; "" for its root.
func (r *Room) Place() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.snapshot == nil {
		return ""
	}
	return r.snapshot.Place
}

// Roots are the paths by which commands may call the root of the working tree.
func (r *Room) Roots() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.snapshot == nil || r.err != nil {
		return nil
	}
	list := []string{r.snapshot.Root}
	named := r.o.Root // as the user has it, with its links
	for range strings.FieldsFunc(r.snapshot.Place, func(c rune) bool { return c == '/' }) {
		named = filepath.Dir(named)
	}
	if named != r.snapshot.Root {
		list = append(list, named)
	}
	if r.open != "" {
		list = append(list, r.tree.dir)
	}
	return list
}

// Edit has the command of the stay see other contents of some files, and nobody else. It comes before [Stay.Prepare]. In an
// unconfined room the files are changed where they are until [Stay.End], so that no other command may run meanwhile.
func (s *Stay) Edit(edits []Edit) error {
	dir := filepath.Join(s.dir, "edits")
	if s.room.open != "" {
		dir = s.room.tree.dir
	}
	for _, e := range edits {
		if !filepath.IsLocal(filepath.FromSlash(e.Path)) {
			return fmt.Errorf("%s is not a path in the working tree", list([]string{e.Path}))
		}
		full, mode := filepath.Join(dir, filepath.FromSlash(e.Path)), fs.FileMode(0o644)
		var was []byte
		there := s.room.tree.has(e.Path)
		if there {
			at := s.room.tree.at(e.Path)
			info, err := os.Lstat(at)
			if err == nil {
				mode = info.Mode().Perm()
				was, err = regular.Read(at, MaxFile)
			}
			if err != nil {
				return err
			}
		}
		if s.room.open != "" {
			s.undo = append(s.undo, func() error {
				if !there {
					return os.Remove(full)
				}
				return os.WriteFile(full, was, mode)
			})
		} else {
			s.edits = dir
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, e.Content, mode)); err != nil {
			return err
		}
		if err := os.Chmod(full, mode); err != nil { // whatever the umask is
			return err
		}
	}
	if !s.room.hasGit {
		return nil
	}
	return s.editGit(dir, edits)
}

// editGit has the command see a .git that has the edits as well, so that git shows no difference: a check that fails where one is would
// otherwise notice any edit.
func (s *Stay) editGit(dir string, edits []Edit) error {
	r := s.room
	v := r.present()
	v.commit = true
	v.files = slices.Clone(v.files)
	edited := make(map[string]bool)
	for _, e := range edits {
		f := workspace.File{Path: e.Path, Size: int64(len(e.Content)), ID: r.format.Format(r.format.Object("blob", e.Content)), Raw: true}
		i, there := slices.BinarySearchFunc(v.files, e.Path, func(f workspace.File, name string) int { return strings.Compare(f.Path, name) })
		if edited[e.Path] = true; there {
			f.Kind = v.files[i].Kind
			v.files[i] = f
		} else {
			v.files = slices.Insert(v.files, i, f)
		}
	}
	v.at = func(name string) string {
		if edited[name] {
			return filepath.Join(dir, filepath.FromSlash(name))
		}
		return r.shown(name)
	}
	v.status = func(b []byte, i int) ([]byte, error) { return statusIn(b, v.at(v.files[i].Path), v.files[i].Kind) }
	s.git = filepath.Join(s.dir, "git")
	if err := r.dotGit(s.git, v); err != nil || r.open == "" {
		return err
	}
	now, was := filepath.Join(r.tree.dir, ".git"), filepath.Join(s.dir, "git-was")
	if err := os.Rename(now, was); err != nil {
		return err
	}
	s.undo = append(s.undo, func() error { return errors.Join(os.RemoveAll(now), os.Rename(was, now)) })
	return os.Rename(filepath.Join(s.git, ".git"), now)
}

// restore undoes what [Stay.Edit] changed in an unconfined room.
func (s *Stay) restore() (err error) {
	for _, undo := range slices.Backward(s.undo) {
		err = errors.Join(err, undo())
	}
	s.undo = nil
	return err
}

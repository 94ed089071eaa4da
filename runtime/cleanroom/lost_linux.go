package cleanroom

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/runtime/workspace"
)

// content identifies what a file holds: a digest, and whether it is a link's target.
type content struct {
	sum  [32]byte
	link bool
}

func contentOf(f *workspace.File) content { return content{f.SHA256, f.Kind == workspace.Link} }

// A removal in the room costs more than one in the working tree: where the line moved the file to what is ignored, or out of the project, its
// new place is gone with the run. So nothing is removed there of which nobody else has the content: neither a file that comes back or
// stays, nor HEAD. What lines of this run made of nothing, or of what HEAD has, is theirs to remove.

// lost returns the contents of removed files that survive only in other files (moves). It fails, naming the files, if a removed content
// exists nowhere else.
func (r *Room) lost(ctx context.Context, l *layer, changes []string) (moved map[content]bool, err error) {
	after := make(map[string]*workspace.File, len(changes))
	dropped := make(map[content]bool) // what is left, and does not come back
	for i := range l.files {
		if f := &l.files[i]; f.Kind != workspace.Special && f.Kind != workspace.Repository {
			if _, ok := slices.BinarySearch(changes, f.Path); ok {
				after[f.Path] = f
			} else {
				dropped[contentOf(f)] = true
			}
		}
	}
	var gone []*workspace.File
	for _, name := range changes {
		f, now := r.now.file(name), after[name]
		switch {
		case f == nil || f.Kind == workspace.Repository || f.Size == 0 && f.Kind != workspace.Link || r.origin(name) == nil:
		case now == nil, now.Kind == workspace.Link && f.Kind != workspace.Link, now.Size == 0 && now.Kind != workspace.Link && dropped[contentOf(f)]:
			gone = append(gone, f)
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	stays := make(map[content]bool)
	for _, f := range after {
		stays[contentOf(f)] = true
	}
	for i := range r.now.files {
		f := &r.now.files[i]
		if _, ok := slices.BinarySearch(changes, f.Path); !ok && f.Kind != workspace.Repository {
			stays[contentOf(f)] = true
		}
	}
	moved = make(map[content]bool)
	heads := make(map[string]*workspace.Commit)
	var none []string
	for _, f := range gone {
		ok, err := r.inHead(ctx, heads, f)
		if was := r.origin(f.Path); err == nil && !ok && was != f {
			ok, err = r.inHead(ctx, heads, was)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("it removes %s, and whether a commit has it is not known: %w", list([]string{f.Path}), err)
		case ok:
		case stays[contentOf(f)]:
			moved[contentOf(f)] = true
		default:
			none = append(none, f.Path)
		}
	}
	switch {
	case len(none) == 0:
		return moved, nil
	case !r.hasGit:
		return nil, fmt.Errorf("it removes %s, whose content no commit has, since there is no repository: run the line without --clean", list(none))
	}
	return nil, fmt.Errorf("it removes %s, whose content no commit has: commit it first, or run the line without --clean", list(none))
}

// inHead reports whether the commit that is checked out has a file of the snapshot, of the repository that the file is in.
func (r *Room) inHead(ctx context.Context, heads map[string]*workspace.Commit, f *workspace.File) (bool, error) {
	if !r.hasGit {
		return false, nil
	}
	dir := ""
	if f.ID == "" { // of a repository below
		for at, _ := split(f.Path); at != "" && dir == ""; at, _ = split(at) {
			if own := r.now.file(at); own != nil && own.Kind == workspace.Repository {
				dir = at
			}
		}
	}
	head, asked := heads[dir]
	if !asked {
		full := filepath.Join(r.snapshot.Root, filepath.FromSlash(dir))
		c, err := workspace.Resolve(ctx, full, "HEAD", workspace.Options{Git: r.o.Git})
		switch {
		case err == nil && c.Root() == full: // else the repository is that of a directory above
			head = c
		case err != nil && !errors.Is(err, workspace.ErrNoCommit) && !errors.Is(err, workspace.ErrNoRepository):
			return false, err
		}
		heads[dir] = head
	}
	if head == nil {
		return false, nil
	}
	return head.Has(ctx, strings.TrimPrefix(strings.TrimPrefix(f.Path, dir), "/"), f)
}

// origin returns the file as it was before the run; nil if a line of the run made it.
func (r *Room) origin(name string) *workspace.File {
	if f, ok := r.origins[name]; ok {
		return f
	}
	return r.tree.file(name)
}

// note notes what the files are made of, once changes were brought back. One that has what was moved takes the place of the removed file.
func (r *Room) note(l *layer, changes []string, moved map[content]bool) {
	for _, name := range changes {
		if !r.now.has(name) {
			r.origins[name] = nil
		}
	}
	if len(moved) == 0 {
		return
	}
	keep := func(files []workspace.File, ofLine bool) {
		for i := range files {
			f := &files[i]
			if _, changed := slices.BinarySearch(changes, f.Path); changed == ofLine && f.Kind != workspace.Special && f.Kind != workspace.Repository && moved[contentOf(f)] {
				file := *f // the list of a layer is sorted later
				r.origins[f.Path] = &file
			}
		}
	}
	keep(l.files, true)
	keep(r.now.files, false)
}

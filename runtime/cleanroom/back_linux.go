package cleanroom

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/runtime/workspace"
)

// maxLayers bounds how many commands that write a run has: the kernel takes the list of layers as one page.
const maxLayers = 60

// Keep brings back to the working tree what the command of the stay changed among the files that count, and lets
// the commands after it see all that it wrote. It takes the place of [Stay.End] for a command that is meant to write, and
// has passed. Keep brings nothing back, and its error says why, if a file of the working tree is not what the snapshot has any more, cannot be
// written, or would be removed although its content exists nowhere else: an edit is never overwritten, nor lost.
func (s *Stay) Keep(ctx context.Context) (err error) {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := false
	defer func() {
		if !kept {
			s.discard()
		}
	}()
	switch {
	case r.open != "":
		return fmt.Errorf("what it wrote is not brought back from a room without namespaces (%s)", r.open)
	case len(r.layers) == maxLayers:
		return fmt.Errorf("what it wrote is not brought back: %d lines before it wrote as well, and a run in a clean checkout has no more", maxLayers)
	}
	l, changes, err := r.gather(ctx, filepath.Join(s.dir, "upper"))
	if err != nil {
		return err
	}
	if len(changes) > 0 {
		moved, err := r.lost(ctx, l, changes)
		if err != nil {
			return err
		}
		if err := r.bringBack(ctx, l.dir, changes); err != nil {
			return err
		}
		r.note(l, changes, moved)
	}
	l.lowered, l.rests = append(l.lowered, s.Shared()...), s.rests
	for _, v := range s.sees {
		upper := filepath.Join(s.dir, v.Own, "upper")
		if list, _ := os.ReadDir(upper); v.Own != "" && len(list) > 0 {
			r.over[v.Own] = append([]string{upper}, r.over[v.Own]...)
			kept = true
		}
	}
	if len(changes) > 0 {
		r.follow(ctx, l, changes)
	}
	// Of commands that are kept apart none remembers times for those after it, and the files that count have one for all: see [timeOf].
	when := int64(0)
	if r.o.Apart {
		when = r.tree.when
	}
	if err := l.seal(when); err != nil && r.err == nil {
		r.err = err
	}
	for _, was := range r.layers {
		if when != 0 && len(changes) > 0 && r.err == nil {
			r.err = was.outdate(when)
		}
	}
	if len(l.files) > 0 {
		r.layers = append([]*layer{l}, r.layers...)
	}
	if len(changes) > 0 && r.hasGit && r.err == nil { // the old one has the files of before
		r.err = r.newGit(r.present())
	}
	return nil
}

// lasting returns what of the .git in a directory an upper layer changes that a command means to last; empty for nothing.
func lasting(upper *os.Root, dir string) string {
	own := path.Join(dir, ".git")
	info, err := upper.Lstat(filepath.FromSlash(own))
	switch {
	case err != nil:
		return ""
	case !info.IsDir(): // removed, or the name of a repository elsewhere
		return own
	}
	for _, name := range []string{"HEAD", "packed-refs", "config", "refs", "shallow", "modules", "worktrees"} {
		if _, err := upper.Lstat(filepath.FromSlash(path.Join(own, name))); err == nil {
			return path.Join(own, name)
		}
	}
	return ""
}

// bringBack makes the changes of an upper layer in the working tree.
func (r *Room) bringBack(ctx context.Context, upper string, names []string) error {
	live, err := r.snapshot.Open()
	if err != nil {
		return err
	}
	defer live.Close()
	err = r.now.bringBack(ctx, live, Below(upper), names)
	if part := new(partError); errors.As(err, &part) {
		r.err = err
	}
	return err
}

// follow takes a snapshot of the working tree in which a command has changed names, sorted, and goes on with it if the
// layer has just these files: else what later commands run on has no name, and none is let in.
func (r *Room) follow(ctx context.Context, l *layer, names []string) {
	s, err := r.source.Take(ctx)
	if err != nil {
		r.err = err
		return
	}
	files, err := checkable(slices.Collect(s.Checkout(r.format)))
	if err != nil {
		r.err = err
		return
	}
	next := newCheckout(r.tree.dir, files)
	var other, turned []string // turned: files whose ignored status changed
	for _, c := range workspace.Diff(r.snapshot, s) {
		name := strings.TrimSuffix(c.Path, "/")
		if _, ok := slices.BinarySearch(names, name); !ok {
			other = append(other, name)
		}
	}
	left := make(map[string]*workspace.File, len(l.files))
	for i := range l.files {
		if l.files[i].Kind != workspace.Special && l.files[i].Kind != workspace.Repository {
			left[l.files[i].Path] = &l.files[i]
		}
	}
	for _, name := range names {
		switch f := left[name]; {
		case f != nil && !next.has(name) && s.LookupIn(name).Hidden == workspace.Ignored:
			turned = append(turned, name)
		case f == nil && next.has(name), f != nil && !next.holds(f):
			other = append(other, name)
		}
	}
	for name := range r.leftIgnored(l) {
		if f := s.LookupIn(name); !f.File && f.Hidden == "" {
			turned = append(turned, name)
		}
	}
	if len(other) > 0 {
		r.err = fmt.Errorf("the working tree was edited while a line wrote, so that it is not what the clean checkout holds: %s", list(other))
		return
	}
	if len(turned) > 0 {
		r.err = fmt.Errorf("it changed what is ignored, so that the clean checkout is not what the working tree holds: %s; run it without --clean, or what makes these files after it in a run of its own", list(turned))
		return
	}
	if r.err = l.prune(r, next); r.err == nil {
		r.snapshot, r.now = s, next
	}
}

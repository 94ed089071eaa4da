package cleanroom

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/workspace"
)

// maxLayers bounds how many commands that write a run has: the kernel takes the list of layers as one page.
const maxLayers = 60

// Keep brings back to the working tree what the command of the stay changed among the files that count, and lets
// the commands after it see all that it wrote. It takes the place of [Stay.End] for a command that is meant to write, and
// has passed. Nothing is brought back, and the error says why, where a file of the working tree is not what the
// snapshot has any more: somebody's edit is never written over.
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
	upper := filepath.Join(s.dir, "upper")
	if name := history(upper); name != "" {
		return fmt.Errorf("it changed .git/%s, and a commit in a clean checkout is gone with the run: run it without --clean", name)
	}
	changes, err := r.now.changedBy(ctx, upper)
	if err != nil {
		return err
	}
	fresh, err := r.newIn(ctx, upper)
	if err != nil {
		return err
	}
	changes = slices.Compact(slices.Sorted(slices.Values(append(changes, fresh...))))
	if len(changes) > 0 {
		if err := r.bringBack(ctx, upper, changes); err != nil {
			return err
		}
	}
	r.layers = append([]string{upper}, r.layers...)
	for _, v := range slices.Concat(s.sees, s.kept) {
		upper := filepath.Join(s.dir, v.Own, "upper")
		if list, _ := os.ReadDir(upper); v.Own != "" && len(list) > 0 {
			r.over[v.Own] = append([]string{upper}, r.over[v.Own]...)
		}
	}
	kept = true
	if len(changes) > 0 {
		r.follow(ctx, upper, changes)
	}
	return nil
}

// history returns what of .git an upper layer changes that a command means to last; empty for nothing.
func history(upper string) string {
	git := filepath.Join(upper, ".git")
	for _, name := range []string{"HEAD", "packed-refs", "config", "refs", "shallow"} {
		if _, err := os.Lstat(filepath.Join(git, name)); err == nil {
			return name
		}
	}
	return ""
}

// newIn returns the files of an upper layer that the snapshot does not have, and that would count in the working tree.
func (r *Room) newIn(ctx context.Context, upper string) (names []string, err error) {
	err = filepath.WalkDir(upper, func(full string, d fs.DirEntry, err error) error {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(full, upper)), "/")
		switch {
		case name == ".git":
			return fs.SkipDir
		case d.IsDir(), r.now.has(name), d.Type()&fs.ModeDevice != 0: // a device is the mark of what is removed
			return nil
		case r.snapshot.Lookup(filepath.Join(r.snapshot.Root, filepath.FromSlash(name))).Hidden != "":
			return nil
		}
		names = append(names, name)
		return nil
	})
	return names, err
}

// bringBack makes the changes of an upper layer in the working tree.
func (r *Room) bringBack(ctx context.Context, upper string, names []string) error {
	live, err := r.snapshot.Open()
	if err != nil {
		return err
	}
	defer live.Close()
	err = r.now.bringBack(ctx, live, upper, names)
	if part := new(partError); errors.As(err, &part) {
		r.err = err
	}
	return err
}

// follow takes a snapshot of the working tree that a command has changed, and goes on with it if the
// room has just these files: else what later commands run on has no name, and none is let in.
func (r *Room) follow(ctx context.Context, upper string, names []string) {
	s, err := r.source.Take(ctx)
	if err != nil {
		r.err = err
		return
	}
	var files []workspace.File
	for f := range s.Checkout(r.format) {
		files = append(files, f)
	}
	next := newCheckout(r.tree.dir, files)
	var other []string
	for _, c := range workspace.Diff(r.snapshot, s) {
		name := strings.TrimSuffix(c.Path, "/")
		if !slices.Contains(names, name) {
			other = append(other, name)
		}
	}
	for _, name := range names {
		full := filepath.Join(upper, filepath.FromSlash(name))
		ok := false
		if _, e := lstat(full); next.has(name) {
			if ok, err = next.unchanged(ctx, name, full); err != nil {
				ok = false
			}
		} else {
			st, _ := lstat(full)
			ok = e != nil || st.Mode&unix.S_IFMT != unix.S_IFREG && st.Mode&unix.S_IFMT != unix.S_IFLNK
		}
		if !ok {
			other = append(other, name)
		}
	}
	if len(other) > 0 {
		r.err = fmt.Errorf("the working tree was edited while a line wrote, so that it is not what the clean checkout holds: %s", list(other))
		return
	}
	r.snapshot, r.now = s, next
}

package attempt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/cleanroom"
	"github.com/command-dialect/dialect/runtime/glob"
	"github.com/command-dialect/dialect/runtime/inputs"
	"github.com/command-dialect/dialect/runtime/overlay"
	"github.com/command-dialect/dialect/runtime/place"
)

// files are those that the command of a step sees, before it starts or when it has ended. Of what ran in a clean checkout
// nothing is read from the working tree: that is not what the command saw, and anybody may write there while it runs.
type files interface {
	// expand returns what matches a pattern that begins at a directory of the machine.
	expand(ctx context.Context, dir, pattern string) ([]glob.File, error)
	open(name string) (*os.File, error) // a regular file that expand returned
	mark(glob.File) fileMark
	digest(ctx context.Context, root string, patterns []string) (receipts.Hash, error) // of inputs
	exists(path string) bool                                                           // of the machine
	close()
}

// filesOf are the files of a stay; of this machine without one, and of the project alone for a process that commands are kept apart from.
func (x *Executor) filesOf(stay *cleanroom.Stay) (files, error) {
	switch {
	case stay != nil:
		tree, err := stay.Files()
		return &shown{stay, tree}, err
	case x.opt.Apart == nil:
		return live{}, nil
	}
	root, err := os.OpenRoot(x.plan.Matrix.Root)
	return projects{dir: x.plan.Matrix.Root, tree: overlay.Dir{Root: root}}, err
}

// live are the files of this machine.
type live struct{}

func (live) expand(ctx context.Context, dir, pattern string) ([]glob.File, error) {
	return glob.Expand(ctx, dir, pattern)
}

func (live) open(name string) (*os.File, error) { return regular.Open(name) }

func (live) mark(f glob.File) fileMark {
	m := fileMark{size: f.Info.Size(), time: f.Info.ModTime().UnixNano()}
	var ok bool
	if m.id, ok = place.Identity(f.Info); !ok {
		m.name = f.Name
	}
	return m
}

func (live) digest(ctx context.Context, root string, patterns []string) (receipts.Hash, error) {
	return inputs.Digest(ctx, root, patterns)
}

func (live) exists(path string) bool { return place.Exists(path) }

func (live) close() {}

// projects are the files of this machine below a directory, for a process that can read what those who write there cannot: no link leads
// it elsewhere.
type projects struct {
	live
	dir  string
	tree overlay.Dir
}

func (p projects) expand(ctx context.Context, dir, pattern string) ([]glob.File, error) {
	if filepath.IsAbs(pattern) {
		dir, pattern = pattern, "."
	}
	at, err := filepath.Rel(p.dir, dir)
	if err != nil || !filepath.IsLocal(at) {
		return nil, fmt.Errorf("%s is not in the project, and nothing else is read", dir)
	}
	if at = filepath.ToSlash(at); pattern == "." {
		at, pattern = ".", at
	}
	return glob.In(ctx, p.tree, at, pattern)
}

func (p projects) open(name string) (*os.File, error) { return p.tree.Open(name) }

func (p projects) close() { p.tree.Close() }

// shown are the files of a clean checkout.
type shown struct {
	stay *cleanroom.Stay
	tree *overlay.Tree
}

func (s *shown) expand(ctx context.Context, dir, pattern string) ([]glob.File, error) {
	if filepath.IsAbs(pattern) { // what a command leaves elsewhere is gone with it
		dir, pattern = pattern, "."
	}
	at, err := s.stay.In(dir)
	if err != nil {
		return nil, err
	}
	if pattern == "." {
		at, pattern = ".", at
	}
	return glob.In(ctx, s.tree, at, pattern)
}

func (s *shown) open(name string) (*os.File, error) { return s.tree.Open(name) }

// mark has no ID: a file of the checkout gets another one when its mode changes, and keeps its time.
func (s *shown) mark(f glob.File) fileMark {
	return fileMark{size: f.Info.Size(), time: f.Info.ModTime().UnixNano()}
}

func (s *shown) digest(ctx context.Context, root string, patterns []string) (receipts.Hash, error) {
	at, err := s.stay.In(root)
	if err != nil {
		return receipts.Hash{}, err
	}
	return inputs.DigestOf(ctx, s.tree.Below(at), patterns)
}

func (s *shown) exists(path string) bool {
	at, err := s.stay.In(path)
	if err != nil {
		return false
	}
	_, err = s.tree.Lstat(at)
	return err == nil
}

func (s *shown) close() { s.tree.Close() }

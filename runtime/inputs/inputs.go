// Package inputs computes one digest of the files that decide a verdict and that no
// snapshot of the working tree holds: what `npm ci` or `pip install` put into an
// ignored folder. A binding names them (`inputs` of the matrix) by paths and patterns;
// package attempt records the digest in the receipt, and a verifier computes it again.
//
// In come a root directory and patterns; out comes a digest. The package knows no
// receipts log, runs nothing and follows no link out of the root.
//
// # Patterns
//
// A pattern is relative to the root of the matrix and has slashes, on every system.
// A component "**" stands for any number of directories, none included, and at the end
// for all files below; it follows no link to a directory, and stands for none called .git
// or .dialect, which change with every run. Any other component is matched as
// [path.Match] does. A pattern names files: directories that match it are passed over.
//
// # Digest
//
//	SHA-256("dialect.inputs/1\n" || entry || entry || ...)
//	entry = kind " " len(path) ":" path " " rest "\n"
//
// The entries are sorted by the bytes of path, and those of one path by kind; each is
// there once, however many patterns match it. len is in bytes, in decimal; path is
// relative to the root, with slashes. The kinds are
//
//	file     a regular file; rest is size " " hex(SHA-256(content))
//	link     a link that leads out of the root, or nowhere, or that "**" met and that
//	         leads to a directory; rest is len(text) ":" text
//	special  a FIFO, a socket or a device, which is never opened; rest is empty
//	absent   path is a pattern that matches nothing; rest is empty
//
// Any other link counts as what it leads to, under the path of the link.
// The lengths make the text injective. For the patterns "a" and "*.txt", where a.txt
// holds "hi\n" and there is no a, the text is
//
//	dialect.inputs/1
//	absent 1:a
//	file 5:a.txt 3 98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4
//
// with a space at the end of the second line. Without patterns there is no digest:
// it is the zero [receipts.Hash]. Another way to write entries needs another first line.
package inputs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/overlay"
)

// Bounds of what the patterns of one binding may match.
const (
	MaxFiles = 20_000
	MaxBytes = 64 << 20 // of content, all files together
	MaxSeen  = 500_000  // names in the directories that patterns look through
)

// ErrTooLarge means that patterns match more than the bounds of this package allow.
var ErrTooLarge = errors.New("inputs are too large")

// Digest returns the digest of the files below root that match the patterns; zero if
// there are none. It fails if a file or a directory that it needs cannot be read, with
// [ErrTooLarge], and when ctx ends.
func Digest(ctx context.Context, root string, patterns []string) (receipts.Hash, error) {
	if len(patterns) == 0 {
		return receipts.Hash{}, nil
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return receipts.Hash{}, err
	}
	defer dir.Close()
	return DigestOf(ctx, overlay.Dir{Root: dir}, patterns)
}

// DigestOf is [Digest] for a tree that is in no one directory.
func DigestOf(ctx context.Context, files overlay.Files, patterns []string) (receipts.Hash, error) {
	if len(patterns) == 0 {
		return receipts.Hash{}, nil
	}
	w := &walk{ctx: ctx, files: files, entries: make(map[[2]string]string)}
	for _, p := range patterns {
		if err := plan.CheckInput(p); err != nil {
			return receipts.Hash{}, fmt.Errorf("%q: %w", p, err)
		}
		matched := w.matched
		if err := w.directory(".", split(p), []int{0}); err != nil {
			return receipts.Hash{}, err
		}
		if w.matched == matched {
			w.entries[[2]string{p, "absent"}] = ""
		}
	}
	h := sha256.New()
	io.WriteString(h, "dialect.inputs/1\n")
	keys := slices.SortedFunc(maps.Keys(w.entries), func(a, b [2]string) int {
		if c := strings.Compare(a[0], b[0]); c != 0 {
			return c
		}
		return strings.Compare(a[1], b[1])
	})
	for _, k := range keys {
		fmt.Fprintf(h, "%s %d:%s %s\n", k[1], len(k[0]), k[0], w.entries[k])
	}
	return receipts.Hash(h.Sum(nil)), nil
}

// Digests returns the present digest of each binding of m that names inputs, by the name
// of the binding, for a project at root. A binding whose inputs cannot be digested is
// left out, and is in the error.
func Digests(ctx context.Context, m plan.Matrix, root string) (map[string]receipts.Hash, error) {
	digests := make(map[string]receipts.Hash, len(m.Inputs))
	known := make(map[string]receipts.Hash) // by patterns: the bindings of a pack share them
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(m.Inputs)) {
		patterns := m.Inputs[name]
		key := strings.Join(patterns, "\x00")
		h, ok := known[key]
		if !ok {
			var err error
			if h, err = Digest(ctx, root, patterns); err != nil {
				errs = append(errs, fmt.Errorf("the inputs of %s: %w", name, err))
				continue
			}
			known[key] = h
		}
		digests[name] = h
	}
	return digests, errors.Join(errs...)
}

// split returns the components of a pattern, each run of "**" as one.
func split(p string) []string {
	parts := strings.Split(path.Clean(p), "/")
	return slices.CompactFunc(parts, func(a, b string) bool { return a == "**" && b == "**" })
}

// A walk looks through directories for the files of one binding.
type walk struct {
	ctx     context.Context
	files   overlay.Files
	entries map[[2]string]string // path and kind: rest
	matched int                  // paths that matched, those that were known included
	seen    int                  // names
	bytes   int64
}

// directory looks through dir for what the parts of a pattern match. A state is the
// index of the part that the next name has to match; at "**" a walk is in several
// states at once. Since a directory is read once for all of its states, and states are
// a set, a pattern costs its number of parts for each name that is seen, and no more.
func (w *walk) directory(dir string, parts []string, states []int) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	// "**" also stands for no directory at all.
	for i := 0; i < len(states); i++ {
		if s := states[i]; parts[s] == "**" && s+1 < len(parts) && !slices.Contains(states, s+1) {
			states = append(states, s+1)
		}
	}
	if len(states) == 1 && !strings.ContainsAny(parts[states[0]], `*?[\`) {
		info, err := w.files.Lstat(path.Join(dir, parts[states[0]]))
		if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return w.name(dir, info.Name(), info.Mode().Type(), parts, states)
	}
	var stop error
	err := w.files.ReadDir(dir, func(list []fs.DirEntry) error {
		if w.seen += len(list); w.seen > MaxSeen {
			stop = fmt.Errorf("%w: the patterns look through more than %d names; name the folders more closely", ErrTooLarge, MaxSeen)
		}
		for _, e := range list {
			if stop == nil {
				stop = w.name(dir, e.Name(), e.Type(), parts, states)
			}
		}
		if stop == nil {
			stop = w.ctx.Err()
		}
		return stop
	})
	if stop != nil {
		return stop
	}
	return w.vanished(err)
}

// name takes the name in dir, of type t, on from the states of dir.
func (w *walk) name(dir, name string, t fs.FileMode, parts []string, states []int) error {
	full := path.Join(dir, name)
	matches := false
	var next, deep []int // deep: of a directory that is not a link
	for _, s := range states {
		last := s+1 == len(parts)
		if parts[s] == "**" {
			if name != ".git" && name != ".dialect" {
				deep = append(deep, s)
				matches = matches || last
			}
			continue
		}
		if ok, _ := path.Match(parts[s], name); !ok { // the pattern was checked
			continue
		}
		if last {
			matches = true
		} else {
			next = append(next, s+1)
		}
	}
	link := t&fs.ModeSymlink != 0
	if !matches && len(next) == 0 && (len(deep) == 0 || !link && !t.IsDir()) {
		return nil
	}
	if link {
		info, err := w.files.Stat(full)
		if errors.Is(err, fs.ErrPermission) {
			return err
		}
		if err != nil || info.IsDir() && len(deep) > 0 {
			text, lerr := w.files.Readlink(full)
			if lerr != nil {
				return w.vanished(lerr)
			}
			text = filepath.ToSlash(text)
			if lerr = w.add(full, "link", fmt.Sprintf("%d:%s", len(text), text)); lerr != nil || err != nil {
				return lerr
			}
		}
		t, deep = info.Mode().Type(), nil
	}
	switch {
	case t.IsDir():
		if next = append(next, deep...); len(next) > 0 {
			return w.directory(full, parts, next)
		}
		return nil
	case !matches:
		return nil
	case t.IsRegular():
		return w.file(full)
	}
	return w.add(full, "special", "")
}

// file adds the regular file at name.
func (w *walk) file(name string) error {
	if _, ok := w.entries[[2]string{name, "file"}]; ok {
		w.matched++
		return nil
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	// What is in its place by now is opened without waiting for a writer.
	f, err := w.files.Open(name)
	if errors.Is(err, regular.ErrKind) {
		return w.add(name, "special", "")
	}
	if err != nil {
		return w.vanished(err)
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, MaxBytes-w.bytes+1))
	if err != nil {
		return err
	}
	if w.bytes += n; w.bytes > MaxBytes {
		return fmt.Errorf("%w: %s and the files before it have more than %d MiB; name a lock file or a record of what is installed instead of the files themselves", ErrTooLarge, name, MaxBytes>>20)
	}
	return w.add(name, "file", fmt.Sprintf("%d %x", n, h.Sum(nil)))
}

func (w *walk) add(name, kind, rest string) error {
	w.entries[[2]string{name, kind}] = rest
	if w.matched++; len(w.entries) > MaxFiles {
		return fmt.Errorf("%w: the patterns match more than %d files; name a lock file or a record of what is installed instead", ErrTooLarge, MaxFiles)
	}
	return nil
}

// vanished takes the error of a file that was there a moment ago: one that is gone
// matches nothing.
func (w *walk) vanished(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Package scope says which of the files of a snapshot the verdict of a binding is about, as its `files` in the
// matrix name them. A [workspace.Snapshot] and patterns come in, digests go out: one of the files that patterns
// match, and one of all those that no pattern does. The package reads no file, and judges nothing.
//
// # Patterns
//
// A pattern is relative to the directory of the matrix and has slashes. A component "**" stands for any number of
// directories, none included, and at the end for all files below; any other is matched as [path.Match] does.
// Files beside or above that directory are matched by none. A link that leads to a directory is matched, too, by a pattern
// that matches something below it, by the name that goes through the link, or could, through a further link. It belongs to the rest all the
// same, unless a pattern matches the link itself.
//
// # Digests
//
// The digest of patterns is
//
//	SHA-256("dialect.scope/1\n" || pattern || ... || file || ...)
//	pattern = "pattern " len(pattern) ":" pattern "\n"
//	file    = "file " len(path) ":" path " " hex(digest) "\n"
//
// over the patterns, sorted and each once, and the files that match one, sorted; len is in bytes, in decimal, path
// is relative to the root of the worktree, and digest is that of [workspace.Snapshot.Entries]. So a file that is
// added, removed, renamed, edited or made executable changes it, and so does what a link leads to, through other
// links or not.
//
// That of the rest is the same with "dialect.rest/1\n", over all patterns of all bindings and the files that match
// none of them.
//
// There is no digest, but the zero [receipts.Hash], which is equal to nothing, for patterns that match no file,
// and where a link leads to what the snapshot does not hold: then nobody knows what a file is.
package scope

import (
	"crypto/sha256"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// Files are those of a snapshot. They are not changed, and safe for concurrent use.
type Files struct {
	list    []file
	unknown bool // what a link leads to
}

type file struct {
	path   string
	parts  []string                // of the path below the directory of the matrix; nil outside of it
	below  iter.Seq2[string, bool] // see [workspace.Entry]
	digest [sha256.Size]byte
}

// Of returns the files of a snapshot. Patterns are of its Place.
func Of(s *workspace.Snapshot) *Files {
	f := new(Files)
	prefix := ""
	if s.Place != "" {
		prefix = s.Place + "/"
	}
	s.Entries(func(e workspace.Entry) {
		x := file{path: e.Path, below: e.Below, digest: e.Digest}
		if below, ok := strings.CutPrefix(e.Path, prefix); ok {
			x.parts = strings.Split(below, "/")
		}
		f.list = append(f.list, x)
		f.unknown = f.unknown || e.Unknown
	})
	return f
}

// Digest returns the digest of the files that patterns match; zero for none.
func (f *Files) Digest(patterns []string) receipts.Hash {
	return f.digest("dialect.scope/1\n", patterns, true)
}

// Rest returns the digest of the files that none of the patterns match; zero where there are no patterns.
func (f *Files) Rest(patterns []string) receipts.Hash {
	return f.digest("dialect.rest/1\n", patterns, false)
}

func (f *Files) digest(head string, patterns []string, matching bool) (none receipts.Hash) {
	if len(patterns) == 0 || f.unknown {
		return none
	}
	patterns = slices.Compact(slices.Sorted(slices.Values(patterns)))
	h := sha256.New()
	io.WriteString(h, head)
	globs := make([][]string, len(patterns))
	for i, p := range patterns {
		fmt.Fprintf(h, "pattern %d:%s\n", len(p), p)
		globs[i] = strings.Split(path.Clean(p), "/")
	}
	found := false
	for i := range f.list {
		x := &f.list[i]
		matches := slices.ContainsFunc(globs, func(glob []string) bool {
			return match(glob, x.parts) || matching && x.below != nil && x.through(glob)
		})
		found = found || matches
		if matches == matching {
			fmt.Fprintf(h, "file %d:%s %x\n", len(x.path), x.path, x.digest)
		}
	}
	if matching && !found {
		return none
	}
	return receipts.Hash(h.Sum(nil))
}

// Names reports whether one of the patterns matches a path below the directory of the matrix.
func Names(patterns []string, name string) bool {
	parts := strings.Split(name, "/")
	return slices.ContainsFunc(patterns, func(p string) bool { return match(strings.Split(path.Clean(p), "/"), parts) })
}

// match reports whether a pattern matches the whole of a path. It costs at most the product of their lengths: on a
// mismatch only the last "**" takes one component more, since what an earlier one could take it can, too.
func match(glob, parts []string) bool {
	if len(parts) == 0 {
		return false
	}
	g, p := 0, 0
	star, resume := -1, 0
	for p < len(parts) {
		switch {
		case g < len(glob) && glob[g] == "**":
			star, resume = g, p
			g++
			continue
		case g < len(glob) && matches(glob[g], parts[p]):
			g++
			p++
			continue
		case star < 0:
			return false
		}
		resume++
		g, p = star+1, resume
	}
	for g < len(glob) && glob[g] == "**" {
		g++
	}
	return g == len(glob)
}

// maxThrough bounds how many names that go through one link are looked at.
const maxThrough = 1 << 16

// through reports whether a pattern matches something below the directory that a link leads to. A link with more names than maxThrough
// counts as a match.
func (x *file) through(glob []string) bool {
	if !leadsOn(glob, x.parts) {
		return false
	}
	n := 0
	for name, folder := range x.below {
		parts := slices.Concat(x.parts, strings.Split(name, "/"))
		if n++; match(glob, parts) || folder && leadsOn(glob, parts) || n > maxThrough {
			return true
		}
	}
	return false
}

// leadsOn reports whether a pattern could match something below a path.
func leadsOn(glob, parts []string) bool {
	for i, name := range parts {
		switch {
		case i == len(glob):
			return false
		case glob[i] == "**":
			return true
		case !matches(glob[i], name):
			return false
		}
	}
	return len(parts) > 0 && len(parts) < len(glob)
}

func matches(pattern, name string) bool {
	if pattern == name {
		return true
	}
	ok, err := path.Match(pattern, name) // the pattern was checked
	return ok && err == nil
}

// Package scope says which of the files of a snapshot the verdict of a binding is about, as its `files` in the
// matrix name them. A [workspace.Snapshot] and patterns come in, digests go out: one of the files that patterns
// match, and one of all those that no pattern does. The package reads no file, and judges nothing.
//
// # Patterns
//
// A pattern is relative to the directory of the matrix and has slashes. A component "**" stands for any number of
// directories, none included, and at the end for all files below; any other is matched as [path.Match] does.
// Files beside or above that directory are matched by none. A link that leads to a directory is matched, too, by a pattern
// that matches something below it, by the name that goes through the link, or could, through a further link. Where links lead to more than
// anybody looks at, the rest of them are matched by a pattern that could match something there. A link belongs to the rest all the same, unless a pattern matches the link itself.
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
	"context"
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
	below  iter.Seq2[string, bool] // see [workspace.Entry]; at, too
	at     string
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
		x := file{path: e.Path, below: e.Below, at: e.At, digest: e.Digest}
		if below, ok := strings.CutPrefix(e.Path, prefix); ok {
			x.parts = strings.Split(below, "/")
		}
		f.list = append(f.list, x)
		f.unknown = f.unknown || e.Unknown
	})
	return f
}

// Digest returns the digest of the files that patterns match; zero for none, and where ctx is done before it is known which links count.
func (f *Files) Digest(ctx context.Context, patterns []string) receipts.Hash {
	return f.digest("dialect.scope/1\n", patterns, &looks{ctx: ctx, left: maxLooks, known: make(map[string]bool)})
}

// Rest returns the digest of the files that none of the patterns match; zero where there are no patterns.
func (f *Files) Rest(patterns []string) receipts.Hash {
	return f.digest("dialect.rest/1\n", patterns, nil)
}

// digest is that of the files that patterns match, or of those that they do not where through is nil.
func (f *Files) digest(head string, patterns []string, through *looks) (none receipts.Hash) {
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
			return match(glob, x.parts) || through != nil && x.below != nil && through.match(glob, x)
		})
		found = found || matches
		if matches == (through != nil) {
			fmt.Fprintf(h, "file %d:%s %x\n", len(x.path), x.path, x.digest)
		}
	}
	if through != nil && (!found || through.ended) {
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

// Bounds of what is looked at behind links.
const (
	maxThrough = 1 << 16 // names behind one link
	maxLooks   = 1 << 23 // components of names for one digest, each as often as it is compared
)

// looks are those of one digest at what links lead to. The links and the patterns come in one order, so they are the same each time.
type looks struct {
	ctx   context.Context
	ended bool            // by ctx, before something was known
	left  int             // of maxLooks
	known map[string]bool // what was seen, by directory and what it has to match
}

// match reports whether a pattern matches something below the directory that a link leads to. A link with more names than maxThrough
// counts as a match, and so does each where maxLooks are used up.
func (l *looks) match(glob []string, x *file) bool {
	rest := after(glob, x.parts)
	if len(rest) == 0 || l.ended {
		return false
	}
	key := fmt.Sprintf("%q %q", x.at, rest)
	matches, known := l.known[key]
	if known {
		return matches
	}
	n := 0
	for name, folder := range x.below {
		if l.ctx.Err() != nil {
			l.ended = true
			return false
		}
		parts := strings.Split(name, "/")
		n++
		l.left -= len(parts) * len(rest)
		if matches = n > maxThrough || l.left < 0 || slices.ContainsFunc(rest, func(glob []string) bool {
			return match(glob, parts) || folder && leadsOn(glob, parts)
		}); matches {
			break
		}
	}
	l.known[key] = matches
	return matches
}

// after returns what patterns have to match what comes below a path, for glob to match the whole.
func after(glob, parts []string) (rest [][]string) {
	if len(parts) == 0 {
		return nil
	}
	at := make([]bool, len(glob)+1) // where in glob the next component can be
	at[0] = true
	for _, name := range parts {
		next := make([]bool, len(at))
		for i, pattern := range glob {
			switch {
			case !at[i]:
			case pattern == "**":
				next[i], at[i+1] = true, true
			case matches(pattern, name):
				next[i+1] = true
			}
		}
		at = next
	}
	for i := range glob {
		if at[i] {
			rest = append(rest, glob[i:])
		}
	}
	return rest
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

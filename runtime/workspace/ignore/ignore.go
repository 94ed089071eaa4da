// Package ignore reads ignore files and attributes files as git does. In come the content of files and a path; out comes whether the path is hidden, or
// which attributes it has. It looks at no disk.
package ignore

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
)

// MaxFile is the size, in bytes, past which an ignore file is not read, and so hides nothing.
const MaxFile = 16 << 20

// A Budget bounds the work of all matches of one snapshot: names and patterns are both a hostile writer's to choose, and
// the work is their product. Ignore files of a few hundred lines and a million names take a tenth of it. It is safe for
// concurrent use.
type Budget struct {
	ctx  context.Context
	left atomic.Int64
}

// steps is how many steps a budget has: some 10 s of one processor.
const steps = 1 << 32

// NewBudget returns a budget that also ends when ctx does.
func NewBudget(ctx context.Context) *Budget {
	b := &Budget{ctx: ctx}
	b.left.Store(steps)
	return b
}

// some is how many steps Hides makes before it takes them from the budget.
const some = 1 << 14

// take takes n steps from the budget, and fails if it has no more or its context has ended.
func (b *Budget) take(n int) error {
	if b.left.Add(-int64(n)) >= 0 {
		return b.ctx.Err()
	}
	if err := b.ctx.Err(); err != nil {
		return err
	}
	return fmt.Errorf("its patterns take more than %d million steps to match: simplify them", steps/1_000_000)
}

// A pattern is one line of an ignore file.
type pattern struct {
	text     string // without "!", leading "/" and trailing "/"
	negated  bool
	onlyDir  bool // it ended in a slash
	baseName bool // it has no other slash: it matches a name at any depth
	literal  int  // length of the beginning that has no wildcard
}

// A File is an ignore file and those of the directories above it; nil hides nothing.
type File struct {
	parent   *File
	dir      string // where the file is: "" or ending in a slash
	patterns []pattern
}

// Under returns what holds in the directory dir ("" or ending in a slash), whose ignore file has that
// content, below the files above it: f itself where it has no pattern. It reads as git's dir.c does.
func (f *File) Under(dir string, content []byte) *File {
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	var list []pattern
	for len(content) > 0 {
		line, rest, _ := bytes.Cut(content, []byte{'\n'})
		content = rest
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		line = bytes.TrimSuffix(line, []byte{'\r'})
		line, _, _ = bytes.Cut(line, []byte{0})
		if p, ok := parsePattern(trimSpaces(string(line))); ok {
			list = append(list, p)
		}
	}
	if list == nil {
		return f
	}
	return &File{f, dir, list}
}

// trimSpaces drops spaces at the end that no backslash protects.
func trimSpaces(s string) string {
	last := -1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			if last < 0 {
				last = i
			}
			continue
		case '\\':
			if i++; i >= len(s) {
				return s
			}
		}
		last = -1
	}
	if last >= 0 {
		return s[:last]
	}
	return s
}

func parsePattern(s string) (pattern, bool) {
	var p pattern
	if p.negated = strings.HasPrefix(s, "!"); p.negated {
		s = s[1:]
	}
	if p.onlyDir = strings.HasSuffix(s, "/"); p.onlyDir {
		s = s[:len(s)-1]
	}
	p.baseName = !strings.Contains(s, "/")
	s = strings.TrimPrefix(s, "/")
	if s == "" {
		return pattern{}, false
	}
	p.text = s
	if p.literal = strings.IndexAny(s, `*?[\`); p.literal < 0 {
		p.literal = len(s)
	}
	return p, true
}

// match reports whether p matches the name (with its path from the directory of
// the ignore file), and how many steps that took.
func (p *pattern) match(path, name string, dir bool) (match bool, steps int) {
	if p.onlyDir && !dir {
		return false, 1
	}
	if p.baseName {
		if p.literal == len(p.text) {
			return p.text == name, 1
		}
		if !strings.HasPrefix(name, p.text[:p.literal]) { // the usual case, in a file of many patterns
			return false, 1
		}
		return p.wild(p.text, name, false)
	}
	// Git takes the literal beginning off before it looks at the wildcards, which
	// shows: in "a**/b" the stars then count as a whole path component.
	if !strings.HasPrefix(path, p.text[:p.literal]) {
		return false, 1
	}
	if p.literal == len(p.text) {
		return len(path) == p.literal, 1
	}
	return p.wild(p.text[p.literal:], path[p.literal:], true)
}

// wild is wildmatch. Where that gives up, nothing is hidden: a file too many in a tree is seen, one too few is not.
func (p *pattern) wild(text, name string, pathname bool) (match bool, steps int) {
	match, steps = wildmatch(text, name, pathname)
	ok := steps <= wildSteps
	if steps > wildPlain {
		steps *= keptSteps
	}
	return match && ok || !ok && p.negated, steps
}

// Hides reports whether the ignore files hide path, which is not in a hidden
// directory. The deepest file decides, and in it the last pattern that matches. It fails
// with an [*Error] if b has no more steps, or its context has ended.
func (f *File) Hides(b *Budget, path, name string, dir bool) (bool, error) {
	total := 0
	for ; f != nil; f = f.parent {
		for i := len(f.patterns) - 1; i >= 0; i-- {
			p := &f.patterns[i]
			match, steps := p.match(path[len(f.dir):], name, dir)
			if total += steps; match || total >= some || i == 0 {
				if err := b.take(total); err != nil {
					return false, &Error{f.dir, err}
				}
				total = 0
			}
			if match {
				return !p.negated, nil
			}
		}
	}
	return false, nil
}

// An Error is about the ignore file in a directory.
type Error struct {
	Dir string // "" or ending in a slash, as [File.Under] got it
	Err error
}

func (e *Error) Error() string { return e.Dir + ".gitignore: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Package absent finds what a command that failed in a clean checkout may have missed there. Where the working tree is, what git ignores in it,
// what the room hides and what the command printed come in; the files and variables of this machine that the command did
// not see go out, the most likely first. It reads names of files, never what is in them, and judges nothing.
//
// A name is likely if the output has it: by its path, its last element, or that without its ending, as in "No module named 'settings'".
// Of a directory that git ignores what is directly in it counts as well, and what is in the places where package managers put packages. What no
// output names is listed only if the same command passed in the working tree on the same files.
//
// It looks where others may have put anything: below the open root alone, whatever links are there, and it waits for no FIFO. A look that hangs
// all the same, as in a file system that somebody serves, ends with the context: what was found by then is lost.
package absent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/command-dialect/dialect/runtime/glob"
	"github.com/command-dialect/dialect/runtime/overlay"
)

// Options say what is looked at.
type Options struct {
	Root    string                                  // of the working tree
	Home    string                                  // of the user; empty for none
	Ignored func(rel string) bool                   // whether git ignores a file at a path from Root, with slashes
	Hidden  func(path string) (dir string, ok bool) // whether the room hides a path outside of Root
	Output  []byte                                  // of the command
	Names   []string                                // of variables that the caller has and the command did not get
	Passed  bool                                    // the command passed in the working tree on the same files
}

// Bounds of the search.
const (
	most       = 5      // that are named
	maxEntries = 20_000 // entries of directories that are looked at
	maxOutput  = 256 << 10
	minWord    = 3 // bytes of a name that stands for a file
)

// outer are files that tools look for above a project.
var outer = []string{
	"pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "conftest.py", "package.json", "node_modules", "tsconfig.json", ".eslintrc.json", ".eslintrc.js",
	".prettierrc", ".editorconfig", "go.work", "Cargo.toml", ".npmrc", "mypy.ini", "ruff.toml", ".env",
}

// atHome are files that tools look for in the home directory.
var atHome = []string{".npmrc", ".yarnrc.yml", ".config/go/env", ".config/pip/pip.conf", ".pydistutils.cfg", ".pypirc", ".netrc", ".gitconfig", ".config/git/config", ".cargo/config.toml", ".curlrc"}

// Find returns what the command may have missed, in words, at most five.
func Find(ctx context.Context, o Options) []string {
	done := make(chan []string, 1)
	go func() { done <- find(ctx, o) }()
	select {
	case found := <-done:
		return found
	case <-ctx.Done():
	}
	select { // what was found in time
	case found := <-done:
		return found
	case <-time.After(grace):
		return nil
	}
}

// grace is how long a search may go on that looks whether its context has ended.
const grace = 100 * time.Millisecond

func find(ctx context.Context, o Options) []string {
	root, err := os.OpenRoot(o.Root)
	if err != nil {
		return nil
	}
	defer root.Close()
	f := &search{Options: o, tree: overlay.Dir{Root: root}, words: wordsOf(o.Output), left: maxEntries}
	var likely, other []string
	for _, name := range o.Names {
		if len(name) >= minWord && f.words[name] {
			likely = append(likely, "the variable "+name+", which its output names")
		}
	}
	likely = append(likely, f.paths(ctx)...)
	f.walk(ctx, "", &likely, &other)
	if o.Passed {
		other = append(other, f.around()...)
		likely = append(likely, other...)
	}
	if n := len(likely) - most; n > 0 {
		likely = append(likely[:most:most], fmt.Sprintf("%d more", n))
	}
	return likely
}

var errEnough = errors.New("enough was looked at")

type search struct {
	Options
	tree  overlay.Dir
	words map[string]bool
	left  int // entries that are still looked at
}

// wordsOf returns the words of a text, each with its parts: "/a/b.py" is also "b.py" and "b".
func wordsOf(text []byte) map[string]bool {
	words := make(map[string]bool)
	if n := len(text) - maxOutput; n > 0 {
		text = text[n:]
	}
	add := func(word string) {
		if len(word) >= minWord {
			words[word] = true
		}
	}
	for _, word := range strings.FieldsFunc(string(text), func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("\"'`()[]{}<>,;:=|&*?!", r)
	}) {
		word = strings.TrimRight(word, "./")
		add(word)
		for _, part := range strings.Split(strings.TrimPrefix(word, "./"), "/") {
			add(part)
			for _, p := range strings.Split(part, ".") { // a module: a.b.c
				add(p)
			}
		}
	}
	return words
}

// named reports whether the output names a file at a path from the root.
func (f *search) named(rel string) bool {
	base := path.Base(rel)
	stem := strings.TrimSuffix(base, path.Ext(base))
	return f.words[rel] || f.words[base] || stem != "" && f.words[stem] || f.words[filepath.Join(f.Root, rel)]
}

// paths returns what the output names by a path that the room hides.
func (f *search) paths(ctx context.Context) (found []string) {
	for word := range f.words {
		if ctx.Err() != nil {
			break
		}
		full := word
		if rest, home := strings.CutPrefix(word, "~/"); home && f.Home != "" {
			full = filepath.Join(f.Home, rest)
		}
		if !filepath.IsAbs(full) || len(full) > 4096 {
			continue
		}
		if _, err := os.Lstat(full); err != nil {
			continue
		}
		if dir, hidden := f.Hidden(full); hidden {
			found = append(found, word+", which is hidden with all of "+dir)
		}
	}
	slices.Sort(found)
	return found
}

// walk looks for what git ignores in a directory of the working tree, and below it.
func (f *search) walk(ctx context.Context, dir string, likely, other *[]string) {
	for _, d := range f.read(ctx, dir) {
		rel := path.Join(dir, d.Name())
		switch {
		case d.Name() == ".git" || d.Name() == ".dialect":
		case !d.IsDir():
			if !f.Ignored(rel) {
				continue
			}
			if f.named(rel) {
				*likely = append(*likely, rel+", which its output names")
			} else {
				*other = append(*other, rel)
			}
		case !f.Ignored(rel + "/x"):
			f.walk(ctx, rel, likely, other)
		default:
			if name := f.within(ctx, rel); name != "" {
				*likely = append(*likely, rel+", which has "+name)
			} else {
				*other = append(*other, rel)
			}
		}
	}
}

// within returns what of an ignored directory the output names; empty for nothing.
func (f *search) within(ctx context.Context, dir string) string {
	dirs := []string{dir}
	for _, pattern := range []string{"@*", "lib/python*/site-packages"} {
		found, _ := glob.In(ctx, f.tree, dir, pattern)
		for _, g := range found {
			dirs = append(dirs, filepath.ToSlash(g.Name))
		}
	}
	for _, dir := range dirs {
		for _, d := range f.read(ctx, dir) {
			name := path.Join(path.Base(dir), d.Name()) // of a scope
			switch scoped := strings.HasPrefix(name, "@"); {
			case scoped && f.words[name]:
				return name
			case !scoped && !strings.HasPrefix(d.Name(), "@") && f.named(path.Join(dir, d.Name())):
				return d.Name()
			}
		}
	}
	return ""
}

// read returns what is in a directory of the working tree, as long as there is something left to look at.
func (f *search) read(ctx context.Context, dir string) []os.DirEntry {
	if f.left <= 0 || ctx.Err() != nil {
		return nil
	}
	var list []os.DirEntry
	_ = f.tree.ReadDir(cmp.Or(dir, "."), func(some []os.DirEntry) error {
		if list = append(list, some...); len(list) >= f.left {
			list = list[:f.left]
			return errEnough
		}
		return ctx.Err()
	}) // what cannot be read has no more
	f.left -= len(list)
	slices.SortFunc(list, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list
}

// around returns the configurations around the project that the room hides.
func (f *search) around() (found []string) {
	look := func(full string) {
		if _, err := os.Lstat(full); err != nil {
			return
		}
		if _, hidden := f.Hidden(full); hidden && !slices.Contains(found, full) {
			found = append(found, full)
		}
	}
	for dir := filepath.Dir(f.Root); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		for _, name := range outer {
			look(filepath.Join(dir, name))
		}
	}
	if f.Home != "" {
		for _, name := range atHome {
			look(filepath.Join(f.Home, filepath.FromSlash(name)))
		}
	}
	return found
}

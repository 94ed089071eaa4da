package cleanroom

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// Shared names what the command of the stay sees of the machine that its user can write.
func (s *Stay) Shared() (names []string) {
	for _, v := range s.sees {
		names = append(names, v.Name)
	}
	names = append(names, s.open...)
	more := s.left
	if s.after != nil {
		more = slices.Concat(more, s.after.Lowered)
	}
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// implied are directories that programs take their parts from without being told.
var implied = []string{"/etc", "/usr/local/*", "/usr/local/lib/*/*-packages"}

// maxOpen bounds how many such places of the environment are named: one is enough to lower what the result proves.
const maxOpen = 8

// reach notes where the environment of a command leads to that the asker's user can change, and the room does not hide: what
// is there is as good as a part of the command. Of the directories of PATH each program counts.
func (s *Stay) reach(env []string) {
	w := s.room.ways()
	for _, pattern := range implied {
		list, _ := filepath.Glob(pattern) // the patterns are good
		for _, path := range list {
			if w.changeable(path) && len(s.open) < maxOpen {
				s.open = append(s.open, short(path)+", where programs look")
			}
		}
	}
	s.open = append(s.open, w.beside()...)
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if name == "MAIL" || name == "_" { // decides nothing
			continue
		}
		for _, ends := range named(value) {
			for _, path := range ends {
				open := ""
				switch {
				case kernels(path):
					continue
				case w.changeable(path):
					open = path
				default:
					open = w.changeableIn(path, name != "PATH")
				}
				if text := fmt.Sprintf("%s, which %s leads to", short(open), name); open != "" && !slices.Contains(s.open, text) {
					s.open = append(s.open, text)
				}
				if open != "" {
					break
				}
			}
			if len(s.open) >= maxOpen {
				return
			}
		}
	}
}

// beside names what lies beside the working tree where a directory that commands need is around it, and no place hides it: what can be made there at any
// time, and files and links. See around.
func (w *ways) beside() (names []string) {
	root := w.room.snapshot.Root
	parent := filepath.Dir(root)
	if !slices.Contains(needed, parent) {
		return nil
	}
	if w.changeable(parent) {
		return []string{parent + ", which the project lies in"}
	}
	list, _ := os.ReadDir(parent)
	for _, d := range list {
		path := filepath.Join(parent, d.Name())
		if path != root && !slices.Contains(ofSystem, path) && !w.room.hides(path) && w.changeable(path) && len(names) < maxOpen {
			names = append(names, short(path)+", beside the project")
		}
	}
	return names
}

// maxEnds bounds how many ends are tried for a path in the value of a variable.
const maxEnds = 32

// named returns the absolute paths in the value of a variable: a list of them, or options such as -I/opt/x, --require=/opt/x. Where a path ends is not
// known, for it may have spaces and what else parts words: of each all that it may be is listed, the shortest first.
func named(value string) (paths [][]string) {
	parts := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("=,;:'\"()[]{}<>*?|&", r) }
	for at := 0; at < len(value); {
		if !strings.HasPrefix(value[at:], "/") {
			at++
			continue
		}
		var ends []string
		next := len(value) // of the next word
		for i, r := range value[at:] {
			if parts(r) {
				next = min(next, at+i)
				if ends = append(ends, value[at:at+i]); len(ends) == maxEnds {
					break
				}
			}
		}
		paths = append(paths, append(ends, value[at:]))
		at = next
	}
	return paths
}

// ways knows what somebody can change, of what a room does not hide.
type ways struct {
	room  *Room
	known map[string]bool   // of a path without links: its user can change it
	in    map[string]string // of a directory: what is changeable in it
}

func (r *Room) ways() *ways {
	if r.known == nil {
		r.known = &ways{r, make(map[string]bool), make(map[string]string)}
	}
	return r.known
}

// opens begins a name for where a link at a path leads that the user can change; empty where it leads to nothing such.
func (r *Room) opens(at, target string) string {
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(at), target)
	}
	if _, in := git.Within(r.snapshot.Root, target); in || r.hides(target) || !r.ways().changeable(target) {
		return ""
	}
	return short(target) + ", which "
}

// kernels reports whether a path is of the kernel's own file systems.
func kernels(path string) bool {
	return slices.ContainsFunc([]string{"/dev", "/proc", "/sys"}, func(dir string) bool { _, in := git.Within(dir, path); return in })
}

// changeable reports whether a path leads the command over something that the asker's user can change.
func (w *ways) changeable(path string) bool {
	at, way := "/", regular.NewWay(path)
	for {
		open, known := w.known[at]
		if !known {
			open = changeableBy(cmp.Or(w.room.o.Asker, os.Geteuid()), at)
			w.known[at] = open
		}
		if open {
			return true
		}
		name := way.Next()
		switch name {
		case "":
			return false
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if _, in := git.Within(w.room.snapshot.Root, next); in || w.room.hides(next) {
			return false // of the checkout, or of the room
		}
		info, err := os.Lstat(next)
		switch {
		case err != nil:
			return false
		case info.Mode()&fs.ModeSymlink == 0:
			at = next
			continue
		}
		target, err := os.Readlink(next)
		if err != nil || !way.Follow(target) {
			return true
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
	}
}

// changeableIn returns what of a directory, of programs or also of parts in directories, is changeable; empty for nothing.
func (w *ways) changeableIn(dir string, parts bool) string {
	key := dir
	if parts {
		key += "/"
	}
	found, known := w.in[key]
	if known {
		return found
	}
	if _, in := git.Within(w.room.snapshot.Root, dir); in || w.room.hides(dir) {
		return ""
	}
	list, err := os.ReadDir(dir)
	if _, e := os.Stat(dir); e == nil && errors.Is(err, fs.ErrPermission) { // what is in it can be executed
		found = dir
	}
	for _, e := range list {
		if path := filepath.Join(dir, e.Name()); (parts || !e.IsDir()) && w.changeable(path) {
			found = path
			break
		}
	}
	w.in[key] = found
	return found
}

// shared adds what the room shares with all commands. What is not there, or is a part of the tree, is an error: a
// command must not see less, or other files, than its matrix says.
func (s *Stay) shared() error {
	r := s.room
	for i, name := range r.o.Share {
		full := name
		switch rest, home := strings.CutPrefix(name, "~/"); {
		case home && len(homes()) == 0:
			return fmt.Errorf("%s cannot be shared: there is no home directory", name)
		case home:
			full = filepath.Join(homes()[0], rest)
		case !filepath.IsAbs(name):
			full = filepath.Join(r.real, filepath.FromSlash(name))
		}
		rel, in := git.Within(r.snapshot.Root, full)
		if in && (r.now.has(rel) || len(r.now.below(rel)) > 0) {
			return fmt.Errorf("%s cannot be shared: it has files of the project, which a clean checkout has already", name)
		}
		real, err := filepath.EvalSymlinks(full)
		if err != nil {
			return fmt.Errorf("%s cannot be shared with a clean checkout: %w; install it first, or take it out of [clean] share", name, err)
		}
		if !in {
			full = real
		}
		if err := r.showable(real); err != nil {
			return fmt.Errorf("%s cannot be shared: %w", name, err)
		}
		v := sight{Name: name, Path: real, To: full}
		if v.is, err = os.Lstat(real); err != nil {
			return fmt.Errorf("%s cannot be shared with a clean checkout: %w", name, err)
		}
		if v.is.IsDir() {
			v.Own = "share" + strconv.Itoa(i)
		}
		s.see(v)
	}
	return nil
}

// see adds a sight, unless another one takes it in.
func (s *Stay) see(v sight) {
	for _, o := range s.sees {
		if _, in := git.Within(o.To, v.To); in && o.Path == o.To && v.Path == v.To {
			return
		}
	}
	s.sees = append(s.sees, v)
}

// showable says why a directory of the machine cannot be shown: with it would come what the room is to hide.
func (r *Room) showable(path string) error {
	if _, in := git.Within(path, r.snapshot.Root); in {
		return fmt.Errorf("the working tree is in it")
	}
	for _, p := range r.places {
		if _, in := git.Within(path, p.Path); in {
			return fmt.Errorf("the room hides %s", p.Path)
		}
	}
	return r.withheld(path)
}

// withheld says why a directory of the machine must not be seen at all: it is in one that commands see empty.
func (r *Room) withheld(path string) error {
	for _, dir := range r.o.Away.paths() {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if _, in := git.Within(dir, path); in {
			return fmt.Errorf("it is in %s, which commands do not see", dir)
		}
	}
	return nil
}

// tool shows the command its own executable, where PATH leads to a directory that the room hides: what that is part of, such
// as a toolchain in the home directory, and what it is a link to.
func (s *Stay) tool(name string, env []string) {
	r := s.room
	path := name
	if !strings.ContainsRune(name, filepath.Separator) {
		path = r.lookPath(name, env)
	}
	if !filepath.IsAbs(path) {
		return
	}
	for _, file := range []string{filepath.Dir(path), path} {
		real, err := filepath.EvalSymlinks(file)
		if err != nil {
			return
		}
		if file == path {
			real = filepath.Dir(real)
		}
		if !r.hides(real) {
			if _, in := git.Within(r.snapshot.Root, real); !in && (changeable(real) || file == path && changeable(file)) {
				s.see(sight{Name: "tools in " + short(real), Path: real, To: real})
			}
			continue
		}
		for _, dir := range toolchain(real) {
			if r.showable(dir) == nil {
				s.see(sight{Name: "tools in " + short(dir), Path: dir, To: dir})
				break
			}
		}
		// What rustup puts beside each other: programs that start a toolchain, and the toolchains.
		if rustup := filepath.Join(filepath.Dir(filepath.Dir(real)), ".rustup"); filepath.Base(filepath.Dir(real)) == ".cargo" && r.showable(rustup) == nil {
			if info, err := os.Stat(rustup); err == nil && info.IsDir() {
				s.see(sight{Name: "tools in " + short(rustup), Path: rustup, To: rustup})
			}
		}
	}
}

// lookPath returns the path of an executable as PATH has it, empty if it has none outside of the working tree.
func (r *Room) lookPath(name string, env []string) string {
	list := ""
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			list = value
		}
	}
	for _, dir := range filepath.SplitList(list) {
		file := filepath.Join(dir, name)
		info, err := os.Stat(file)
		if !filepath.IsAbs(dir) || err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		if !r.live(dir) {
			return file
		}
		// Of the working tree only what is in the checkout is there.
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			if rel, _ := git.Within(r.snapshot.Root, real); r.now.has(strings.TrimPrefix(rel+"/"+name, "/")) {
				return ""
			}
		}
	}
	return ""
}

// hides reports whether a path without links is hidden from commands.
func (r *Room) hides(path string) bool {
	if _, in := git.Within(r.snapshot.Root, path); in {
		return false
	}
	return slices.ContainsFunc(r.places, func(p place) bool { _, in := git.Within(p.Path, path); return in })
}

// toolchain returns the directories that may hold all of a toolchain whose executables are in dir, the
// largest first. The names are those that the tools' own installers use.
func toolchain(dir string) []string {
	list := []string{dir}
	parent := filepath.Dir(dir)
	switch base := filepath.Base(dir); {
	case base == "shims" || base == "bin" && !slices.Contains(homes(), parent) && !slices.Contains([]string{".local", ".cargo", "go"}, filepath.Base(parent)):
		// pyenv, asdf, mise; node of nvm, a venv, an unpacked toolchain. Beside the other names lie settings and packages.
		list = append([]string{parent}, list...)
	}
	return list
}

// short is a path with "~" for the home directory.
func short(path string) string {
	for _, home := range homes() {
		if rel, in := git.Within(home, path); in {
			return filepath.Join("~", filepath.FromSlash(rel))
		}
	}
	return path
}

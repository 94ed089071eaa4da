package diagnose

import (
	"bytes"
	"path"
	"path/filepath"
	"regexp"
	"sync"
)

type forkPatterns struct{ turbo, pnpm, npm, nx, folder, failed *regexp.Regexp }

var forkForms = sync.OnceValue(func() (p forkPatterns) {
	c := regexp.MustCompile
	p.turbo = c(`^([^\s:]+:\S+): cache (?:hit|miss|bypass)\b`)
	p.pnpm = c(`^([\w@./-]+) (\S+)\$ `)
	p.npm = c(`^([@\w./:-]+): > \S+@\S+ \S+(?: ((?:/|[A-Z]:\\).*))?$`)
	p.nx = c(`^> nx run ([@\w./-]+):\S`)
	p.folder = c(`^> \S+ \S+ ((?:/|[A-Z]:\\).*)$`)
	p.failed = c(`^(?:Failed|(?:ERROR: )?command finished with error\b.*)$`)
	return p
})

// maxForks bounds how many commands are told apart; the lines of further ones are those of the whole output.
const maxForks = 256

// forks tells apart the commands that the runner of a workspace starts at once, and whose lines it mixes: turbo writes
// "package:task: " before each line, pnpm -r "folder script: ", nx and lerna "package: ". A name counts once the runner, or npm below it,
// has said that it starts the command: the "a.c:3: " of a compiler never does.
type forks struct {
	at    map[string]int // the number of a command, by its name
	inner bool           // it reads one of them, and tells no further ones apart: their number would have no bound
}

// line returns the number of the command that wrote l, and what it wrote. If l is the line that starts it, folder is where it runs, as far as
// l says so.
func (f *forks) line(l []byte) (n int, own []byte, folder string, ok bool) {
	if f.inner {
		return 0, nil, "", false
	}
	if name, rest, cut := bytes.Cut(l, []byte(": ")); cut || bytes.HasSuffix(l, []byte(":")) {
		if n, ok = f.at[string(bytes.TrimSuffix(name, []byte(":")))]; ok {
			return n, rest, "", true
		}
	}
	name := ""
	if bytes.Contains(l, []byte(": cache ")) {
		if m := forkForms().turbo.FindSubmatch(l); m != nil {
			name = string(m[1])
		}
	} else if bytes.Contains(l, []byte("$ ")) {
		if m := forkForms().pnpm.FindSubmatch(l); m != nil {
			name, folder = string(m[1])+" "+string(m[2]), string(m[1])
		}
	} else if bytes.Contains(l, []byte(": > ")) {
		if m := forkForms().npm.FindSubmatch(l); m != nil {
			name, folder = string(m[1]), string(m[2])
		}
	} else if bytes.HasPrefix(l, []byte("> nx run ")) {
		if m := forkForms().nx.FindSubmatch(l); m != nil {
			name = string(m[1])
		}
	}
	if n, ok = f.at[name]; ok {
		return n, nil, "", true
	}
	if name == "" || len(f.at) == maxForks {
		return 0, nil, "", false
	}
	if f.at == nil {
		f.at = make(map[string]int)
	}
	n = len(f.at)
	f.at[name] = n
	return n, nil, folder, true
}

// A readerFork reads what one command of several wrote.
type readerFork struct {
	Reader
	folder string // where it runs: absolute, or relative to where the runner does; "" if unknown
	failed bool   // the runner said so
}

// fork reads a line of one of several commands; it reports whether l is one.
func (r *Reader) fork(l []byte) bool {
	n, own, folder, ok := r.forks.line(l)
	if !ok {
		return false
	}
	if n == len(r.forked) {
		x := &readerFork{folder: folder}
		x.forks.inner = true
		x.describe(r.gotest.most)
		r.forked = append(r.forked, x)
		return true
	}
	x := r.forked[n]
	if m := forkForms().folder.FindSubmatch(own); m != nil && x.folder == "" {
		x.folder = string(m[1])
	}
	if forkForms().failed.Match(own) {
		x.failed = true
		return true
	}
	x.read(own)
	r.runner = r.runner || x.runner
	return true
}

// endForks returns what failed in the commands that the runner says failed. If it names none, all commands count whose output is that of a
// test runner.
func (r *Reader) endForks() (f Failures) {
	f.most = r.gotest.most
	named := false
	for _, x := range r.forked {
		named = named || x.failed
	}
	for _, x := range r.forked {
		if found, sure := x.Failures(); sure && (x.failed || !named && x.runner) {
			for i := range found.List {
				found.List[i].folder = x.folder
			}
			f.Add(found)
		}
	}
	return f
}

// inFolder names the file of f from dir, if the file is below the folder of its command; it reports whether it is.
func (f *Failure) inFolder(dir string, exists func(path string) bool) bool {
	folder := f.folder
	if filepath.IsAbs(folder) {
		rel, err := filepath.Rel(dir, folder)
		if err != nil {
			return false
		}
		folder = filepath.ToSlash(rel)
	}
	name := path.Join(folder, f.File)
	if folder == "" || !filepath.IsLocal(filepath.FromSlash(name)) || !exists(filepath.Join(dir, filepath.FromSlash(name))) {
		return false
	}
	f.File = name
	return true
}

// fork counts a line of one of several commands; it reports whether l is one.
func (c *Counter) fork(l []byte) bool {
	n, own, _, ok := c.forks.line(l)
	if !ok {
		return false
	}
	if n == len(c.forked) {
		c.forked = append(c.forked, &Counter{forks: forks{inner: true}})
		return true
	}
	c.lend(c.forked[n], own)
	return true
}

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
	p.npm = c(`^(\S+): > \S+@\S+ \S+(?: ((?:/|[A-Z]:\\).*))?$`)
	p.nx = c(`^> nx run ([^:]+):\S`)
	p.folder = c(`^> \S+ \S+ ((?:/|[A-Z]:\\).*)$`)
	p.failed = c(`^(?:Failed|(?:ERROR: )?command finished with error\b.*)$`)
	return p
})

const (
	// maxForks bounds how many commands are told apart; the lines of further ones are those of the whole output.
	maxForks = 256
	// maxMaybe bounds how many lines are kept in mind that may be those of pnpm that start a command.
	maxMaybe = 8 * maxForks
	// maxName bounds the names of those, in bytes.
	maxName = 400
	// maxColons bounds the names that a line may begin with.
	maxColons = 4
)

// forks tells apart the commands that the runner of a workspace starts at once, and whose lines it mixes: turbo writes
// "package:task: " before each line, pnpm -r "folder script: ", nx and lerna "package: ". A name counts once the runner, or npm below it,
// has said that it starts the command: the "a.c:3: " of a compiler never does.
//
// pnpm says so by "folder script$ command", and a folder may have any name: many a line of a test looks like that. Such a line is also read
// as what it is without pnpm, and the command is one once a line begins with its name.
type forks struct {
	at    map[string]int    // the number of a command, by its name
	maybe map[string]string // the folders of commands that pnpm may have started, by their names
	inner bool              // it reads one of them, and tells no further ones apart: their number would have no bound
}

// A forkLine is a line of one of the commands.
type forkLine struct {
	n      int    // of the command
	own    []byte // what the command wrote
	first  bool   // it is the first of the command
	begins bool   // it only says that the command begins
	folder string // where the command runs, as far as its first line says so
}

// line reports whether l is a line of one of the commands, and of which.
func (f *forks) line(l []byte) (x forkLine, ok bool) {
	if f.inner {
		return x, false
	}
	if x, ok = f.known(l); ok {
		return x, true
	}
	name, folder := "", ""
	if bytes.Contains(l, []byte(": cache ")) {
		if m := forkForms().turbo.FindSubmatch(l); m != nil {
			name = string(m[1])
		}
	} else if bytes.Contains(l, []byte("$ ")) {
		if m := forkForms().pnpm.FindSubmatch(l); m != nil {
			name, folder = string(m[1])+" "+string(m[2]), string(m[1])
		} else {
			f.consider(l)
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
	if n, ok := f.at[name]; ok {
		return forkLine{n: n}, true
	}
	if name == "" || len(f.at) == maxForks {
		return x, false
	}
	return forkLine{n: f.begin(name), first: true, begins: true, folder: folder}, true
}

// consider keeps the name of a command in mind that pnpm may say by l that it starts.
func (f *forks) consider(l []byte) {
	name, _, _ := bytes.Cut(l, []byte("$ "))
	if i := bytes.LastIndexByte(name, ' '); i > 0 && i < len(name)-1 && len(name) <= maxName && len(f.maybe) < maxMaybe {
		if f.maybe == nil {
			f.maybe = make(map[string]string)
		}
		f.maybe[string(name)] = string(name[:i])
	}
}

// known is line for a line that begins with the name of a command.
func (f *forks) known(l []byte) (x forkLine, ok bool) {
	if len(f.at)+len(f.maybe) == 0 {
		return x, false
	}
	for at, tries := 0, 0; tries < maxColons; tries++ { // a folder may have a colon in its name
		own := []byte(nil)
		if i := bytes.Index(l[at:], []byte(": ")); i >= 0 {
			at += i + 2
			own = l[at:]
		} else if at = len(l); !bytes.HasSuffix(l, []byte(":")) {
			break
		}
		name := bytes.TrimRight(l[:at], ": ")
		if n, ok := f.at[string(name)]; ok {
			return forkLine{n: n, own: own}, true
		}
		if folder, ok := f.maybe[string(name)]; ok && len(f.at) < maxForks {
			delete(f.maybe, string(name))
			return forkLine{n: f.begin(string(name)), own: own, first: true, folder: folder}, true
		}
		if at == len(l) {
			break
		}
	}
	return x, false
}

// begin gives a command its number.
func (f *forks) begin(name string) int {
	if f.at == nil {
		f.at = make(map[string]int)
	}
	n := len(f.at)
	f.at[name] = n
	return n
}

// A readerFork reads what one command of several wrote.
type readerFork struct {
	Reader
	folder string // where it runs: absolute, or relative to where the runner does; "" if unknown
	failed bool   // the runner said so
}

// fork reads a line of one of several commands; it reports whether l is one.
func (r *Reader) fork(l []byte) bool {
	line, ok := r.forks.line(l)
	if !ok {
		return false
	}
	if line.first {
		x := &readerFork{folder: line.folder}
		x.forks.inner = true
		x.describe(r.gotest.most)
		r.forked = append(r.forked, x)
	}
	if line.begins {
		return true
	}
	x, own := r.forked[line.n], line.own
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
	line, ok := c.forks.line(l)
	if !ok {
		return false
	}
	if line.first {
		c.forked = append(c.forked, &Counter{forks: forks{inner: true}})
	}
	if !line.begins {
		c.lend(c.forked[line.n], line.own)
	}
	return true
}

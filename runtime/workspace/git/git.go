// Package git says what a repository tracks and how it is configured, so that neither the environment nor the
// configuration of the user changes the answer. In comes a directory; out come an index, a configuration, objects whose
// names it computes itself, the output of a command. What lies in a few simple files it reads there; all else it asks the
// git program. It takes no snapshot, and writes nothing but the packs that it is asked for ([Pack]).
//
// It is one package of up to 2,300 lines because each answer has those two ways: they hand the same types out, and
// where the files do not suffice one gives way to the other.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/command-dialect/dialect/lang/regular"
)

// systemFolders are looked in before PATH: what is there was put there by the
// administrator, while PATH often begins with a directory that an agent may write.
var systemFolders = []string{"/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin", "/opt/local/bin", "/run/current-system/sw/bin"}

// A git runs the git program so that neither the environment nor the
// configuration of the user changes what it sees.
type git struct {
	Program  string
	worktree string
	run      Runner // nil for this process itself
}

// FindGit returns the git program: the first one in systemFolders and the directories of PATH that are absolute and outside
// of worktree.
func FindGit(worktree string) (git, error) {
	g := git{worktree: worktree}
	name := "git"
	if runtime.GOOS == "windows" {
		name = "git.exe"
	}
	there := func(dir string) bool {
		file := filepath.Join(dir, name)
		fi, err := os.Stat(file)
		if err != nil || !fi.Mode().IsRegular() || runtime.GOOS != "windows" && fi.Mode()&0o111 == 0 {
			return false
		}
		g.Program = file
		return true
	}
	if slices.ContainsFunc(systemFolders, there) || slices.ContainsFunc(cleanPath(os.Getenv("PATH"), worktree), there) {
		return g, nil
	}
	return git{}, errNoGit
}

// Path returns the PATH of the program, and of the filters that it starts. Each folder of it is looked at element by element, so
// it is made only where git is started.
func (g git) Path() string {
	return strings.Join(cleanPath(os.Getenv("PATH"), g.worktree), string(os.PathListSeparator))
}

var errNoGit = errors.New("no git program in the system's directories or in PATH")

// cleanPath returns the directories of a PATH that are absolute and not in the
// worktree, where anything could have been planted.
func cleanPath(path, worktree string) []string {
	var list []string
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		if _, in := Within(worktree, real); !in {
			list = append(list, filepath.Clean(dir))
		}
	}
	return list
}

// Within returns the slash-separated path of path from root, which is "" for root
// itself, and whether it is there.
func Within(root, path string) (string, bool) {
	if path == root {
		return "", true
	}
	prefix := strings.TrimSuffix(root, string(filepath.Separator)) + string(filepath.Separator)
	rest, ok := strings.CutPrefix(path, prefix)
	return filepath.ToSlash(rest), ok
}

// safe is the configuration that overrides every file of configuration.
//
// Each of these could otherwise make git overlook a change (fsmonitor, fileMode,
// ignoreStat, ...), run something (fsmonitor, hooks) or believe a cache that
// anybody may write (commitGraph, untrackedCache).
func safe() []string {
	settings := []string{
		"core.fsmonitor=false", "core.untrackedCache=false", "core.preloadIndex=false", "core.splitIndex=false",
		"core.ignoreStat=false", "core.trustctime=true", "core.checkStat=default", "core.commitGraph=false",
		"attr.tree=", "core.excludesFile=" + os.DevNull, "core.attributesFile=" + os.DevNull, "core.hooksPath=" + os.DevNull,
		"core.safecrlf=false", "core.quotePath=false", "gc.auto=0", "maintenance.auto=false",
		"core.fsync=none", "core.fsyncObjectFiles=false", // what we write is thrown away
		// Git refuses a repository of another user, since its configuration could run
		// programs. Here it cannot: see above, and [Config.Refused].
		"safe.directory=*",
	}
	if runtime.GOOS != "windows" {
		settings = append(settings, "core.fileMode=true", "core.symlinks=true")
		if runtime.GOOS != "darwin" {
			settings = append(settings, "core.ignoreCase=false")
		}
	}
	args := []string{"--no-pager"}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	return args
}

// environment returns what git gets: the environment of this process without what
// steers git, the dynamic linker and us, and a clean PATH. HOME stays, since the
// filters that a commit would use are configured there.
func (g git) environment(extra []string) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		name = strings.ToUpper(name)
		for _, prefix := range []string{"GIT_", "LD_", "DYLD_", "DIALECT_"} {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
		return name == "PATH" || name == "LC_ALL" || name == "LANGUAGE"
	})
	env = append(env,
		"PATH="+g.Path(), "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_LITERAL_PATHSPECS=1",
		// A partial clone must not fetch what it lacks: no network from here. Of a git that does not know the first, the second is a list of protocols that
		// are allowed: one by the name of any word could be an alias of the repository, which is a program.
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=",
	)
	return append(env, extra...)
}

// How long git may take: for a question, to list or look up the files of an index, which may be a million,
// and where it runs the filters of a project over many files.
const (
	QuestionTime = 5 * time.Second
	listTime     = 30 * time.Second
	filterTime   = 15 * time.Minute
)

// An Error is a git that ended with a status other than 0.
type Error struct {
	command string
	status  int
	stderr  string // its beginning
}

func (e *Error) Error() string {
	return "git " + e.command + ": " + e.Says()
}

// Says is the first line of what git said about its failure.
func (e *Error) Says() string {
	for line := range strings.Lines(e.stderr) {
		if line, ok := strings.CutPrefix(line, "fatal: "); ok {
			return Clip(line)
		}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(e.stderr), "\n")
	if line == "" {
		return "exit status " + strconv.Itoa(e.status)
	}
	return Clip(strings.TrimPrefix(line, "error: "))
}

// Clip makes a line of another program fit for a message.
func Clip(line string) string {
	const most = 300 // bytes
	line = strings.TrimSpace(line)
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "..."
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, line)
}

// Run runs git in dir, which is also the worktree unless extra says otherwise, and
// returns its output.
//
// Git reads its own files without a look at what they are: a FIFO in the place of one would
// hold it, and us, for ever. So there is an end even where ctx has none. Most such files
// [Readable] has found before.
func (g git) Run(outer context.Context, dir string, extra []string, stdin []byte, args ...string) ([]byte, error) {
	patience := QuestionTime
	switch args[0] {
	case "ls-files", "check-attr": // which is asked about each file
		patience = listTime
	case "update-index":
		patience = filterTime
	}
	ctx, cancel := Patient(outer, patience)
	defer cancel()
	stdout := Output{Most: maxOutput}
	stderr := head{most: 4 << 10}
	start := here
	if g.Apart() {
		start = g.run
	}
	if g.Apart() && args[0] != "config" {
		// What counts of it [Repository.ReadConfig] has read and judged: what is written there since does not count.
		extra = append(slices.Clone(extra), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	}
	status, err := start(ctx, Call{
		Argv: append(append([]string{g.Program}, safe()...), args...), Dir: dir, Env: g.environment(extra), Stdin: stdin, Stdout: &stdout, Stderr: &stderr,
	})
	if outer.Err() != nil {
		return nil, outer.Err()
	}
	if ctx.Err() != nil {
		return nil, &Error{command: args[0], status: -1, stderr: fmt.Sprintf("fatal: it did not end within %v", patience)}
	}
	switch {
	case stdout.Cut:
		return nil, fmt.Errorf("git %s: its output is larger than %d MiB", args[0], maxOutput>>20)
	case err != nil:
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	case status != 0:
		return nil, &Error{command: args[0], status: status, stderr: string(stderr.kept)}
	}
	return stdout.Kept.Bytes(), nil
}

// Patient returns a context that ends once patience is over, in steps of a twentieth: a machine that stalls for longer than a step
// loses one step, as git did not run either.
func Patient(outer context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(outer)
	step := time.NewTicker(patience / 20)
	go func() {
		defer step.Stop()
		for range 20 {
			select {
			case <-step.C:
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	return ctx, cancel
}

// A Call is one start of git.
type Call struct {
	Argv           []string
	Dir            string
	Env            []string
	Stdin          []byte // nil for nothing
	Stdout, Stderr io.Writer
}

// A Runner runs git and waits for it. The error says that it could not. Git runs what the configuration of a repository
// names, so a process that must not be reached by those who write that configuration runs git through a Runner. No filter is
// run then, those of the user included: the files of a user are within reach of those whom the process keeps away.
type Runner func(ctx context.Context, c Call) (status int, err error)

// Apart reports whether a [Runner] runs git, not this process.
func (g git) Apart() bool { return g.run != nil }

// here runs git as a child of this process.
func here(ctx context.Context, c Call) (status int, err error) {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, c.Stdout, c.Stderr
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	// A filter may leave a child behind that holds the pipes.
	cmd.WaitDelay = 2 * time.Second
	err = RunGroup(cmd)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode(), nil
	case errors.Is(err, exec.ErrWaitDelay):
		return 0, nil
	}
	return 0, err
}

// maxOutput bounds the output of git, in bytes: a small object can hold a large file.
const maxOutput = 1 << 30

// An Output keeps what is written to it, up to a bound.
type Output struct {
	Most int
	Kept bytes.Buffer
	Cut  bool
}

func (o *Output) Write(p []byte) (int, error) {
	if o.Kept.Len()+len(p) > o.Most {
		o.Cut = true
		return 0, errors.New("too large")
	}
	return o.Kept.Write(p)
}

// A head keeps the beginning of what is written to it.
type head struct {
	most int
	kept []byte
}

func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), h.most-len(h.kept))]...)
	return len(p), nil
}

// A Repository is where the worktree at root keeps its objects.
type Repository struct {
	Git     git
	Root    string // absolute, without links
	Format  ObjectFormat
	Objects string // absolute
	foreign bool   // a part of it belongs to another user ([foreign]), or it is treated so: see [Repository.Distrust]
	direct  *direct
}

// Here is the environment for git in the root of a worktree: nothing above root is
// looked at, and core.worktree does not lead elsewhere.
func Here(root string) []string {
	return []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(root), "GIT_WORK_TREE=" + root}
}

// Distrust treats the repository as one of another user: git runs no program that its own configuration names, such as a
// filter.
func (r *Repository) Distrust() {
	r.foreign = true
	r.judgeFilters()
}

// judgeFilters has git say which filters are the repository's own, where it has some.
func (r *Repository) judgeFilters() {
	if r.direct != nil && bytes.Contains(r.direct.config, []byte("filter.")) {
		r.direct = nil
	}
}

// Ignored returns those of paths, from the root and held by no index, that git ignores, by whatever rule of the worktree, the repository or the
// user.
func (r Repository) Ignored(ctx context.Context, paths []string) ([]string, error) {
	args := []string{"check-ignore", "-z", "--stdin", "--no-index"}
	if file := r.excludes(ctx); file != "" {
		args = append([]string{"-c", "core.excludesFile=" + file}, args...)
	}
	const from = "./" // git reads a path that begins with a colon as something else

	// With literal pathspecs, which all else runs with, check-ignore fails.
	env := append(Here(r.Root), "GIT_LITERAL_PATHSPECS=0")
	out, err := r.Git.Run(ctx, r.Root, env, []byte(from+strings.Join(paths, "\x00"+from)+"\x00"), args...)
	var none *Error
	if errors.As(err, &none) && none.status == 1 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []string
	for _, name := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		list = append(list, strings.TrimPrefix(name, from))
	}
	return list, nil
}

// excludes returns the file that the user's core.excludesFile names, or git's own place for it; empty where neither is known. [safe] sets
// another one, which git lists last.
func (r Repository) excludes(ctx context.Context) string {
	out, err := r.Git.Run(ctx, r.Root, Here(r.Root), nil, "config", "--type=path", "-z", "--get-all", "core.excludesFile")
	if list := strings.Split(string(out), "\x00"); err == nil && len(list) > 2 {
		return list[len(list)-3]
	}
	config := os.Getenv("XDG_CONFIG_HOME")
	if home, err := os.UserHomeDir(); config == "" && err == nil {
		config = filepath.Join(home, ".config")
	}
	if config == "" {
		return ""
	}
	return filepath.Join(config, "git", "ignore")
}

// Reasons why a question about a commit has no answer.
var (
	ErrNoRepository = errors.New("not a git repository")
	ErrNoCommit     = errors.New("there is no such commit")
)

// Discover finds the worktree that holds dir, as git does: the nearest directory
// above with a .git that is one. A .git file that leads nowhere ends the search,
// as it does in git. The root is set as soon as there is a .git, even with an
// error. run starts each git of the repository; nil for this process.
func Discover(ctx context.Context, run Runner, dir string) (Repository, error) {
	for root := range regular.Above(dir) {
		fi, err := os.Lstat(filepath.Join(root, ".git"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return Repository{}, err
		}
		if err == nil {
			r := Repository{Root: root, foreign: regular.Owner(fi) != os.Geteuid() || foreign(filepath.Join(root, ".git"))}
			if r.Git, err = FindGit(root); err != nil {
				return r, err
			}
			r.Git.run = run
			if err := Readable(filepath.Join(root, ".git")); err != nil {
				return r, err
			}
			if !r.foreign {
				if d, err := readDirect(filepath.Join(root, ".git"), r.Git.Program); err == nil {
					r.direct, r.Format, r.Objects = d, d.format, filepath.Join(d.common, "objects")
					if run != nil {
						r.judgeFilters()
					}
					return r, nil
				}
			}
			out, err := r.Git.Run(ctx, root, Here(root), nil, "rev-parse", "--show-object-format", "--git-path", "objects")
			if err == nil {
				err = r.parse(string(out))
				return r, err
			}
			var failed *Error
			if !errors.As(err, &failed) || !fi.IsDir() || !strings.Contains(failed.stderr, "not a git repository") {
				return r, err
			}
		}
	}
	return Repository{}, ErrNoRepository
}

func (r *Repository) parse(out string) error {
	format, objects, ok := strings.Cut(out, "\n")
	objects, ended := strings.CutSuffix(objects, "\n")
	r.Format = ObjectFormat(format)
	if !ok || !ended || objects == "" || r.Format != FormatSHA1 && r.Format != FormatSHA256 {
		return fmt.Errorf("git rev-parse: cannot read its answer %q", Clip(out))
	}
	if !filepath.IsAbs(objects) {
		objects = filepath.Join(r.Root, objects)
	}
	r.Objects = objects
	return nil
}

// An IndexEntry is a path that git tracks.
type IndexEntry struct {
	Path         string
	Mode         string // "100644", "100755", "120000" or "160000"
	Id           ObjectID
	Stage        uint8 // 0; 1 to 3 in a conflict
	SkipWorktree bool  // a sparse checkout left it out, or somebody says so
}

// An Index is what a repository tracks. The zero index is empty.
type Index struct {
	list []IndexEntry // sorted by path, each once
	// Conflict is the first path that is not merged.
	Conflict string
}

// All returns the entries in the bytewise order of their paths, each path once: of one that is not merged, the last stage.
func (x *Index) All() []IndexEntry { return x.list }

// Find returns the entry of a path; nil where it is not tracked. near, which may be nil, is where an earlier search ended: paths that are looked
// for in about their order are found at once.
func (x *Index) Find(path string, near *int) *IndexEntry {
	if i := x.seek(path, near); i < len(x.list) && x.list[i].Path == path {
		return &x.list[i]
	}
	return nil
}

// Folder reports whether a path, without a slash at the end, is the directory of a tracked one.
func (x *Index) Folder(path string) bool {
	path += "/"
	i := x.seek(path, nil)
	return i < len(x.list) && strings.HasPrefix(x.list[i].Path, path)
}

func (x *Index) seek(path string, near *int) int {
	from := 0
	if near != nil {
		from = *near
	}
	i := Seek(len(x.list), from, func(i int) bool { return x.list[i].Path < path })
	if near != nil {
		*near = i
	}
	return i
}

// Seek returns the first of n sorted elements that before does not hold of, or n. The farther that is from near, the more of them it looks at.
func Seek(n, near int, before func(i int) bool) int {
	lo, hi := 0, n
	if near = min(near, n); near < n && before(near) {
		lo = near + 1
		for step := 1; lo+step <= n; step *= 2 {
			if !before(lo + step - 1) {
				hi = lo + step - 1
				break
			}
			lo += step
		}
	} else {
		hi = near
		for step := 1; hi-step >= 0; step *= 2 {
			if before(hi - step) {
				lo = hi - step + 1
				break
			}
			hi -= step
		}
	}
	return lo + sort.Search(hi-lo, func(i int) bool { return !before(lo + i) })
}

// ReadIndex lists the index. The stat data in it are not asked for: anyone who may
// write the index can make them say anything.
func (r *Repository) ReadIndex(ctx context.Context, dir string, extra []string) (Index, error) {
	out, err := r.Git.Run(ctx, dir, extra, nil, "ls-files", "--stage", "-v", "-z")
	if err != nil {
		return Index{}, err
	}
	return ParseIndex(out, r.Format)
}

// ParseIndex reads the output of git ls-files --stage -v -z: for each entry
//
//	tag SP mode SP object SP stage TAB path NUL
//
// where the tag is "S", or "s" of an assume-unchanged one, for skip-worktree.
func ParseIndex(out []byte, f ObjectFormat) (Index, error) {
	idx := Index{list: make([]IndexEntry, 0, bytes.Count(out, []byte{0}))}
	text := string(out)
	for text != "" {
		record, rest, ok := strings.Cut(text, "\x00")
		text = rest
		head, path, tab := strings.Cut(record, "\t")
		fields := strings.Split(head, " ")
		if !ok || !tab || len(fields) != 4 || len(fields[0]) != 1 || len(fields[3]) != 1 || !ValidPath(path) {
			return Index{}, fmt.Errorf("git ls-files: cannot read its line %q", Clip(record))
		}
		e := IndexEntry{Path: path, Mode: fields[1], Stage: fields[3][0] - '0', SkipWorktree: fields[0] == "S" || fields[0] == "s"}
		var err error
		if e.Id, err = f.Parse(fields[2]); err != nil {
			return Index{}, fmt.Errorf("git ls-files: %w", err)
		}
		switch e.Mode {
		case ModeFile, ModeExec, ModeLink, ModeCommit:
		default:
			return Index{}, fmt.Errorf("git ls-files: unknown mode %q of %s", Clip(e.Mode), Display(path))
		}
		if e.Stage > 3 {
			return Index{}, fmt.Errorf("git ls-files: unknown stage %q of %s", fields[3], Display(path))
		}
		idx.add(e)
	}
	if !slices.IsSortedFunc(idx.list, func(a, b IndexEntry) int { return strings.Compare(a.Path, b.Path) }) {
		return Index{}, errors.New("git ls-files: its lines are in no order")
	}
	return idx, nil
}

// ValidPath reports whether path is one that an index may hold: relative, and
// without empty, ".", ".." and ".git" components.
func ValidPath(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." || name == ".git" {
			return false
		}
	}
	return true
}

// A Config is the part of git's configuration that decides what a commit would
// record of a file.
type Config struct {
	Sparse  bool // core.sparseCheckout
	Text    []setting
	Filters map[string]bool // drivers that have a clean or process command
	Convert bool            // core.autocrlf is not off
	Refused string          // a filter of another user's repository, which is not run
}

// A setting is one line of configuration.
type setting struct {
	Key      string // "core.eol", "filter.NAME.clean"
	Value    string
	hasValue bool
}

const configPattern = `^(core\.(autocrlf|eol|checkroundtripencoding|sparsecheckout)|filter\..*)$`

func (r *Repository) ReadConfig(ctx context.Context) (Config, error) {
	args := []string{"config", "-z", "--get-regexp", configPattern}
	all := allFilters
	switch {
	case r.Git.Apart():
		all = noFilters
	case r.foreign:
		all = lfsFilters
	}
	if all != allFilters {
		args = slices.Insert(args, 2, "--show-scope")
	}
	out, err := r.Git.Run(ctx, r.Root, Here(r.Root), nil, args...)
	var failed *Error
	if errors.As(err, &failed) && failed.status == 1 {
		out, err = nil, nil // nothing matches
	}
	if err != nil {
		return Config{}, err
	}
	if all == allFilters {
		return ParseConfig(out)
	}
	out, refused := trusted(out, all)
	c, err := ParseConfig(out)
	c.Refused = refused
	return c, err
}

// The filters that are run.
const (
	allFilters = iota
	// lfsFilters are the user's own that start git-lfs. What a repository of another user configures for itself would run that user's programs as this
	// one, and so can a filter of the user: python3 -m nbstripout takes its modules from the directory that it runs in.
	lfsFilters
	noFilters
)

// trusted takes out of the output of git config --show-scope the scopes, and the filters that are not run. refused
// names one of them.
func trusted(out []byte, which int) (rest []byte, refused string) {
	fields := bytes.Split(out, []byte{0})
	for i := 0; i+1 < len(fields); i += 2 {
		scope, record := string(fields[i]), fields[i+1]
		if name, ok := bytes.CutPrefix(record, []byte("filter.")); ok {
			name, value, _ := bytes.Cut(name, []byte("\n"))
			runs := bytes.HasSuffix(name, []byte(".clean")) || bytes.HasSuffix(name, []byte(".process"))
			switch {
			case which == noFilters && !runs: // it is of a driver that runs nothing here
				continue
			case which == noFilters, scope == "local", scope == "worktree", which == lfsFilters && runs && !bytes.HasPrefix(value, []byte("git-lfs ")):
				refused = string(name)
				continue
			}
		}
		rest = append(append(rest, record...), 0)
	}
	return rest, refused
}

// ParseConfig reads the output of git config -z --get-regexp: key, then newline
// and value if it has one, then NUL.
func ParseConfig(out []byte) (Config, error) {
	c := Config{Filters: make(map[string]bool)}
	text := string(out)
	for text != "" {
		record, rest, ok := strings.Cut(text, "\x00")
		text = rest
		if !ok || record == "" {
			return Config{}, fmt.Errorf("git config: cannot read its line %q", Clip(record))
		}
		var s setting
		s.Key, s.Value, s.hasValue = strings.Cut(record, "\n")
		switch s.Key {
		case "core.sparsecheckout":
			c.Sparse = s.on()
			continue
		case "core.autocrlf":
			c.Convert = s.on()
		}
		if name, ok := strings.CutPrefix(s.Key, "filter."); ok {
			i := strings.LastIndexByte(name, '.')
			if i < 0 {
				continue // "filter.x" has no driver
			}
			if v := name[i+1:]; (v == "clean" || v == "process") && s.Value != "" {
				c.Filters[name[:i]] = true
			}
		}
		c.Text = append(c.Text, s)
	}
	return c, nil
}

// on reports whether the setting is anything but off.
func (s setting) on() bool {
	switch strings.ToLower(s.Value) {
	case "false", "no", "off", "0":
		return false
	case "":
		return !s.hasValue
	}
	return true
}

// Write renders the settings as a file of configuration.
func (c Config) Write(b *bytes.Buffer) {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
	for _, s := range c.Text {
		section, rest, _ := strings.Cut(s.Key, ".")
		name := rest
		if i := strings.LastIndexByte(rest, '.'); i >= 0 {
			name = rest[i+1:]
			fmt.Fprintf(b, "[%s \"%s\"]\n\t%s", section, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(rest[:i]), name)
		} else {
			fmt.Fprintf(b, "[%s]\n\t%s", section, name)
		}
		if s.hasValue {
			fmt.Fprintf(b, " = \"%s\"", quote.Replace(s.Value))
		}
		b.WriteByte('\n')
	}
}

// Display shows a path or name in a message: as it is, or quoted if that could
// confuse.
func Display(s string) string {
	for _, r := range s {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar || r == '"' {
			return strconv.Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

// Read reads index and configuration.
func (r *Repository) Read(ctx context.Context) (Index, Config, error) {
	var c Config
	if r.direct != nil {
		var err error
		if c, err = ParseConfig(r.direct.config); err != nil {
			return Index{}, c, err
		}
		idx, err := r.direct.readIndex(c.Sparse)
		if errors.Is(err, errUnsure) {
			idx, err = r.ReadIndex(ctx, r.Root, Here(r.Root))
		}
		return idx, c, err
	}
	done := make(chan error, 1)
	go func() {
		var err error
		c, err = r.ReadConfig(ctx)
		done <- err
	}()
	idx, err := r.ReadIndex(ctx, r.Root, Here(r.Root))
	return idx, c, errors.Join(err, <-done)
}

// LongestPath bounds the depth of a tree, in bytes. Git cannot go further either.
const LongestPath = 4095

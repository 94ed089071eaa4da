package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// systemFolders are looked in before PATH: what is there was put there by the
// administrator, while PATH often begins with a directory that an agent may write.
var systemFolders = []string{"/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin", "/opt/local/bin", "/run/current-system/sw/bin"}

// A git runs the git program so that neither the environment nor the
// configuration of the user changes what it sees.
type git struct {
	program string
	path    string // PATH of the program and of the filters it starts
}

// findGit returns the git program: program itself, else the first one in
// systemFolders and the directories of PATH that are absolute and outside of
// worktree.
func findGit(program, worktree string) (git, error) {
	folders := cleanPath(os.Getenv("PATH"), worktree)
	g := git{program: program, path: strings.Join(folders, string(os.PathListSeparator))}
	if program != "" {
		if !filepath.IsAbs(program) {
			return git{}, fmt.Errorf("git program %s: the path is not absolute", display(program))
		}
		return g, nil
	}
	name := "git"
	if runtime.GOOS == "windows" {
		name = "git.exe"
	}
	for _, dir := range slices.Concat(systemFolders, folders) {
		file := filepath.Join(dir, name)
		if fi, err := os.Stat(file); err == nil && fi.Mode().IsRegular() && (runtime.GOOS == "windows" || fi.Mode()&0o111 != 0) {
			g.program = file
			return g, nil
		}
	}
	return git{}, errNoGit
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
		if _, in := within(worktree, real); !in {
			list = append(list, filepath.Clean(dir))
		}
	}
	return list
}

// within returns the slash-separated path of path from root, which is "" for root
// itself, and whether it is there.
func within(root, path string) (string, bool) {
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
		// programs. Here it cannot: see above, and config.refused.
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
		"PATH="+g.path, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_LITERAL_PATHSPECS=1",
		// A partial clone must not fetch what it lacks: no network from here.
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
	)
	return append(env, extra...)
}

// How long git may take: for a question, to list an index, which may be of a million files,
// and where it runs the filters of a project over many files.
const (
	questionTime = 5 * time.Second
	listTime     = 30 * time.Second
	filterTime   = 15 * time.Minute
)

// A gitError is a git that ended with a status other than 0.
type gitError struct {
	command string
	status  int
	stderr  string // its beginning
}

func (e *gitError) Error() string {
	return "git " + e.command + ": " + e.says()
}

// says is the first line of what git said about its failure.
func (e *gitError) says() string {
	for line := range strings.Lines(e.stderr) {
		if line, ok := strings.CutPrefix(line, "fatal: "); ok {
			return clip(line)
		}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(e.stderr), "\n")
	if line == "" {
		return "exit status " + strconv.Itoa(e.status)
	}
	return clip(strings.TrimPrefix(line, "error: "))
}

// clip makes a line of another program fit for a message.
func clip(line string) string {
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

// run runs git in dir, which is also the worktree unless extra says otherwise, and
// returns its output.
//
// Git reads its own files without a look at what they are: a FIFO in the place of one would
// hold it, and us, for ever. So there is an end even where ctx has none. Most such files
// [readable] has found before.
func (g git) run(outer context.Context, dir string, extra []string, stdin []byte, args ...string) ([]byte, error) {
	patience := questionTime
	switch args[0] {
	case "ls-files":
		patience = listTime
	case "update-index":
		patience = filterTime
	}
	ctx, cancel := context.WithTimeout(outer, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.program, append(safe(), args...)...)
	cmd.Dir = dir
	cmd.Env = g.environment(extra)
	if stdin != nil {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	stdout := output{most: maxOutput}
	stderr := head{most: 4 << 10}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A filter may leave a child behind that holds the pipes.
	cmd.WaitDelay = 2 * time.Second
	err := runGroup(cmd)
	if outer.Err() != nil {
		return nil, outer.Err()
	}
	if ctx.Err() != nil {
		return nil, &gitError{command: args[0], status: -1, stderr: fmt.Sprintf("fatal: it did not end within %v", patience)}
	}
	var exit *exec.ExitError
	switch {
	case stdout.cut:
		return nil, fmt.Errorf("git %s: its output is larger than %d MiB", args[0], maxOutput>>20)
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return stdout.kept.Bytes(), nil
	case errors.As(err, &exit):
		return nil, &gitError{command: args[0], status: exit.ExitCode(), stderr: string(stderr.kept)}
	default:
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
}

// maxOutput bounds the output of git, in bytes: a small object can hold a large file.
const maxOutput = 1 << 30

// An output keeps what is written to it, up to a bound.
type output struct {
	most int
	kept bytes.Buffer
	cut  bool
}

func (o *output) Write(p []byte) (int, error) {
	if o.kept.Len()+len(p) > o.most {
		o.cut = true
		return 0, errors.New("too large")
	}
	return o.kept.Write(p)
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

// A repository is where the worktree at root keeps its objects.
type repository struct {
	git     git
	root    string // absolute, without links
	format  objectFormat
	objects string // absolute
	foreign bool   // it belongs to another user
}

// here is the environment for git in the root of a worktree: nothing above root is
// looked at, and core.worktree does not lead elsewhere.
func here(root string) []string {
	return []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(root), "GIT_WORK_TREE=" + root}
}

// Reasons why a question about a commit has no answer.
var (
	ErrNoRepository = errors.New("not a git repository")
	ErrNoCommit     = errors.New("there is no such commit")
)

// discover finds the worktree that holds dir, as git does: the nearest directory
// above with a .git that is one. A .git file that leads nowhere ends the search,
// as it does in git. The root is set as soon as there is a .git, even with an
// error.
func discover(ctx context.Context, program, dir string) (repository, error) {
	for root := dir; ; root = filepath.Dir(root) {
		fi, err := os.Lstat(filepath.Join(root, ".git"))
		if err != nil && !gone(err) && !errors.Is(err, fs.ErrPermission) {
			return repository{}, err
		}
		if err == nil {
			r := repository{root: root, foreign: foreign(fi)}
			if r.git, err = findGit(program, root); err != nil {
				return r, err
			}
			if err := readable(filepath.Join(root, ".git")); err != nil {
				return r, err
			}
			out, err := r.git.run(ctx, root, here(root), nil, "rev-parse", "--show-object-format", "--git-path", "objects")
			if err == nil {
				err = r.parse(string(out))
				return r, err
			}
			var failed *gitError
			if !errors.As(err, &failed) || !fi.IsDir() || !strings.Contains(failed.stderr, "not a git repository") {
				return r, err
			}
		}
		if root == filepath.Dir(root) {
			return repository{}, ErrNoRepository
		}
	}
}

func (r *repository) parse(out string) error {
	format, objects, ok := strings.Cut(out, "\n")
	objects, ended := strings.CutSuffix(objects, "\n")
	r.format = objectFormat(format)
	if !ok || !ended || objects == "" || r.format != formatSHA1 && r.format != formatSHA256 {
		return fmt.Errorf("git rev-parse: cannot read its answer %q", clip(out))
	}
	if !filepath.IsAbs(objects) {
		objects = filepath.Join(r.root, objects)
	}
	r.objects = objects
	return nil
}

// An indexEntry is a path that git tracks.
type indexEntry struct {
	mode         string // "100644", "100755", "120000" or "160000"
	id           objectID
	stage        int  // 0; 1 to 3 in a conflict
	skipWorktree bool // a sparse checkout left it out, or somebody says so
}

// An index is what a repository tracks. The zero index is empty.
type index struct {
	paths   map[string]indexEntry
	folders map[string]bool // the directories of paths, without a slash at the end
	// conflict is the first path that is not merged.
	conflict string
}

// readIndex lists the index. The stat data in it are not asked for: whoever may
// write the index can make them say anything.
func (r *repository) readIndex(ctx context.Context, dir string, extra []string) (index, error) {
	out, err := r.git.run(ctx, dir, extra, nil, "ls-files", "--stage", "-v", "-z")
	if err != nil {
		return index{}, err
	}
	return parseIndex(out, r.format)
}

// parseIndex reads the output of git ls-files --stage -v -z: for each entry
//
//	tag SP mode SP object SP stage TAB path NUL
//
// where the tag is "S", or "s" of an assume-unchanged one, for skip-worktree.
func parseIndex(out []byte, f objectFormat) (index, error) {
	n := bytes.Count(out, []byte{0})
	idx := index{paths: make(map[string]indexEntry, n), folders: make(map[string]bool, n/8)}
	text := string(out)
	for text != "" {
		record, rest, ok := strings.Cut(text, "\x00")
		text = rest
		head, path, tab := strings.Cut(record, "\t")
		fields := strings.Split(head, " ")
		if !ok || !tab || len(fields) != 4 || len(fields[0]) != 1 || len(fields[3]) != 1 || !validPath(path) {
			return index{}, fmt.Errorf("git ls-files: cannot read its line %q", clip(record))
		}
		e := indexEntry{mode: fields[1], stage: int(fields[3][0] - '0'), skipWorktree: fields[0] == "S" || fields[0] == "s"}
		var err error
		if e.id, err = f.parse(fields[2]); err != nil {
			return index{}, fmt.Errorf("git ls-files: %w", err)
		}
		switch e.mode {
		case modeFile, modeExec, modeLink, modeCommit:
		default:
			return index{}, fmt.Errorf("git ls-files: unknown mode %q of %s", clip(e.mode), display(path))
		}
		if e.stage < 0 || e.stage > 3 {
			return index{}, fmt.Errorf("git ls-files: unknown stage %q of %s", fields[3], display(path))
		}
		if e.stage > 0 && idx.conflict == "" {
			idx.conflict = path
		}
		idx.paths[path] = e
		for i := strings.LastIndexByte(path, '/'); i > 0 && !idx.folders[path[:i]]; i = strings.LastIndexByte(path[:i], '/') {
			idx.folders[path[:i]] = true
		}
	}
	return idx, nil
}

// validPath reports whether path is one that an index may hold: relative, and
// without empty, ".", ".." and ".git" components.
func validPath(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." || name == ".git" {
			return false
		}
	}
	return true
}

// A config is the part of git's configuration that decides what a commit would
// record of a file.
type config struct {
	sparse  bool // core.sparseCheckout
	text    []setting
	filters map[string]bool // drivers that have a clean or process command
	convert bool            // core.autocrlf is not off
	refused string          // a filter of another user's repository, which is not run
}

// A setting is one line of configuration.
type setting struct {
	key      string // "core.eol", "filter.NAME.clean"
	value    string
	hasValue bool
}

const configPattern = `^(core\.(autocrlf|eol|checkroundtripencoding|sparsecheckout)|filter\..*)$`

func (r *repository) readConfig(ctx context.Context) (config, error) {
	args := []string{"config", "-z", "--get-regexp", configPattern}
	if r.foreign {
		args = slices.Insert(args, 2, "--show-scope")
	}
	out, err := r.git.run(ctx, r.root, here(r.root), nil, args...)
	var failed *gitError
	if errors.As(err, &failed) && failed.status == 1 {
		out, err = nil, nil // nothing matches
	}
	if err != nil {
		return config{}, err
	}
	if !r.foreign {
		return parseConfig(out)
	}
	out, refused := ownFilters(out)
	c, err := parseConfig(out)
	c.refused = refused
	return c, err
}

// ownFilters takes out of the output of git config --show-scope the scopes, and the
// filters that the repository configures for itself: in a repository of another user
// they would run that user's programs as this one. refused names one of them.
func ownFilters(out []byte) (rest []byte, refused string) {
	fields := bytes.Split(out, []byte{0})
	for i := 0; i+1 < len(fields); i += 2 {
		scope, record := string(fields[i]), fields[i+1]
		if name, ok := bytes.CutPrefix(record, []byte("filter.")); ok && (scope == "local" || scope == "worktree") {
			name, _, _ = bytes.Cut(name, []byte("\n"))
			refused = string(name)
			continue
		}
		rest = append(append(rest, record...), 0)
	}
	return rest, refused
}

// parseConfig reads the output of git config -z --get-regexp: key, then newline
// and value if it has one, then NUL.
func parseConfig(out []byte) (config, error) {
	c := config{filters: make(map[string]bool)}
	text := string(out)
	for text != "" {
		record, rest, ok := strings.Cut(text, "\x00")
		text = rest
		if !ok || record == "" {
			return config{}, fmt.Errorf("git config: cannot read its line %q", clip(record))
		}
		var s setting
		s.key, s.value, s.hasValue = strings.Cut(record, "\n")
		switch s.key {
		case "core.sparsecheckout":
			c.sparse = s.on()
			continue
		case "core.autocrlf":
			c.convert = s.on()
		}
		if name, ok := strings.CutPrefix(s.key, "filter."); ok {
			i := strings.LastIndexByte(name, '.')
			if i < 0 {
				continue // "filter.x" has no driver
			}
			if v := name[i+1:]; (v == "clean" || v == "process") && s.value != "" {
				c.filters[name[:i]] = true
			}
		}
		c.text = append(c.text, s)
	}
	return c, nil
}

// on reports whether the setting is anything but off.
func (s setting) on() bool {
	switch strings.ToLower(s.value) {
	case "false", "no", "off", "0":
		return false
	case "":
		return !s.hasValue
	}
	return true
}

// write renders the settings as a file of configuration.
func (c config) write(b *bytes.Buffer) {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
	for _, s := range c.text {
		section, rest, _ := strings.Cut(s.key, ".")
		name := rest
		if i := strings.LastIndexByte(rest, '.'); i >= 0 {
			name = rest[i+1:]
			fmt.Fprintf(b, "[%s \"%s\"]\n\t%s", section, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(rest[:i]), name)
		} else {
			fmt.Fprintf(b, "[%s]\n\t%s", section, name)
		}
		if s.hasValue {
			fmt.Fprintf(b, " = \"%s\"", quote.Replace(s.value))
		}
		b.WriteByte('\n')
	}
}

// display shows a path or name in a message: as it is, or quoted if that could
// confuse.
func display(s string) string {
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

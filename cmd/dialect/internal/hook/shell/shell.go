// Package shell says what a command line of an agent is about to do with git: commit, push, open a pull request, or go around a
// check. In comes the text that the agent hands to its shell tool; it is parsed as a shell does, and nothing of it is run.
//
// What the text itself defines is followed: variables, functions, aliases, and scripts that it writes.
//
// It is advice. A script that is there, another language, a Makefile, or an alias or variable of before hides a command from it; the push that
// counts is held by git's own hook, and by CI.
//
// It is one package of up to 1,700 lines because words and commands are read in one pass: what a word is depends on what ran before it.
package shell

import (
	"cmp"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what is looked at.
const (
	maxText    = 32 << 10 // bytes, of those that may nest in one another
	maxDepth   = 4        // of scripts in the arguments of shells
	maxActions = 8
	maxPlaces  = 4         // that a command may be started in
	maxReread  = 128 << 10 // bytes that are parsed again, of one text
	maxWork    = 2 << 20   // steps, of one command line: about the bytes that are parsed
	maxValue   = 4 << 10   // bytes of a variable
	maxItems   = 8         // of a list that a loop goes through
)

// An Intent is what a command line is about to do.
type Intent struct {
	Actions []Action // those that count, each once, in the order of the text
	Bypass  string   // the words that go around a check; empty for none

	work      int // steps that were taken
	variables int // that are read, one in the other
	nested    int // calls of walk
}

// An Action is a use of git that counts, and where. Paths are relative to where the client works; "~" begins one that is in the
// home folder.
type Action struct {
	Push    bool   // or opens a pull request; else it commits
	Dir     string // that git is started in; "." for where the client works
	GitDir  string // that the command line names; empty for the one it finds from Dir
	Unknown string // why the place is known only when it runs; empty where it is known
}

// Nothing reports whether the command line does nothing that counts.
func (in Intent) Nothing() bool { return len(in.Actions) == 0 && in.Bypass == "" }

// Parse reads a command line that is started in dir, from where the client works; empty for there. A text that is not a shell's has no intent.
func Parse(text, dir string) Intent {
	var in Intent
	st := &state{at: []where{{dir: path.Clean(filepath.ToSlash(dir))}}, aliases: make(map[string]string)}
	in.read(text, st, 0)
	if in.work >= maxWork {
		st.unknown = tooLong
		in.add(true, st)
	}
	in.work = 0
	return in
}

// spend takes steps off what may be done for one command line, and reports whether they may be taken. Words of some programs can be read in two
// ways, and each of these again; a text of 32 KiB would keep the hook at work until its time is up, which allows.
func (in *Intent) spend(steps int) bool {
	in.work += steps
	return in.work < maxWork
}

// A where is a place that a command may be started in.
type where struct{ dir, unknown string }

// A state is what commands before have set. Where it depends on a condition which folder that is, both count.
type state struct {
	at              []where
	gitDir, unknown string            // of GIT_DIR
	stdin           string            // what a command reads, as far as it is known
	fed             *syntax.Stmt      // that reads it by a redirection of its own; nil for none
	aliases         map[string]string // of git, that the command line makes
	bodies          []string          // that long left out
	names           *definition       // what the command line has defined, the last one first
}

func (st *state) clone() *state {
	c := *st
	c.at = slices.Clone(st.at)
	return &c
}

// cd goes to a folder from each place.
func (st *state) cd(to word) {
	for i := range st.at {
		st.at[i] = st.at[i].to(to)
	}
}

func (w where) to(to word) where {
	switch dir, absolute := join(w.dir, to.text); {
	case !to.known, len(dir) > maxValue: // a path that is so long costs more than it can name
		return where{w.dir, "the folder is known only when the command runs"}
	case absolute:
		return where{dir: dir}
	default:
		return where{dir, w.unknown}
	}
}

// branch walks what may run or not: its folders are added to those before. A change of folder that follows another one after && is as
// sure as that.
func (st *state) branch(sure bool, f func(*state)) {
	c := st.clone()
	f(c)
	if sure {
		*st = *c
		return
	}
	st.names = c.names
	if c.gitDir != st.gitDir || c.unknown != st.unknown {
		st.unknown = "GIT_DIR depends on a condition"
	}
	for _, w := range c.at {
		if !slices.Contains(st.at, w) {
			st.at = append(st.at, w)
		}
	}
	if len(st.at) > maxPlaces {
		st.at = []where{{st.at[0].dir, "it may be one of many folders"}}
	}
}

func (in *Intent) read(text string, st *state, depth int) {
	if !in.spend(len(text)) {
		return
	}
	if depth > maxDepth {
		if strings.Contains(text, "push") {
			st = st.clone()
			st.unknown = "it is in a script of many others"
			in.add(true, st)
		}
		return
	}
	if strings.Contains(text, leftOut("")) {
		for i, body := range st.bodies {
			text = strings.ReplaceAll(text, leftOut(i)+"\n", body)
		}
	}
	if deep(text) {
		in.long(text, st.clone(), depth)
		return
	}
	file, err := parse(text)
	if other := apart(text, err); other != text {
		if file != nil { // what stands before the fault
			in.list(file.Stmts, st.clone(), depth)
		}
		file, _ = parse(other)
	}
	if file != nil {
		in.list(file.Stmts, st, depth)
	}
}

func parse(text string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
}

// apart returns the text with a blank inside each "((" that opens two subshells. A shell takes "((" for arithmetic, finds that no "))" ends it, and
// reads it again as subshells; the parser returns a fault instead, whose place is in or at the start of that "((". So the last "((" up to the
// fault is split, until none is left or the text parses. What that parses together is bounded by maxReread; then all that are left are split.
func apart(text string, err error) string {
	for budget := maxReread; budget > 0; budget -= len(text) {
		var fault syntax.ParseError
		if !errors.As(err, &fault) || fault.Incomplete {
			return text
		}
		i := strings.LastIndex(text[:min(len(text), int(fault.Pos.Offset())+3)], "((")
		if i < 0 {
			return text
		}
		text = text[:i+1] + " " + text[i+1:]
		_, err = parse(text)
	}
	return strings.ReplaceAll(text, "((", "( (")
}

func (in *Intent) list(list []*syntax.Stmt, st *state, depth int) {
	for _, s := range list {
		in.walk(s, st, depth)
	}
}

// walk walks commands in the order of the text, with the folder that each is started in. What is deeper than any text can be is a text that
// leads to itself, and is not read: a stack that is full would end the hook, which allows.
func (in *Intent) walk(n syntax.Node, st *state, depth int) {
	if in.nested++; in.nested > maxText {
		in.work = maxWork
	}
	defer func() { in.nested-- }()
	branch := func(list []*syntax.Stmt) { st.branch(false, func(st *state) { in.list(list, st, depth) }) }
	syntax.Walk(n, func(n syntax.Node) bool {
		if !in.spend(1) {
			return false
		}
		switch n := n.(type) {
		case *syntax.CallExpr:
			in.call(n, st, depth)
			return true // commands in its words
		case *syntax.DeclClause:
			for _, a := range n.Args {
				in.assigned(a, st)
			}
			return true
		case *syntax.Stmt:
			if n != st.fed {
				text := ""
				for _, r := range n.Redirs {
					text = cmp.Or(in.feeds(r, st), text)
				}
				if text != "" {
					fed, stdin := st.fed, st.stdin
					st.fed, st.stdin = n, text
					in.walk(n, st, depth)
					st.fed, st.stdin = fed, stdin
					return false
				}
			}
			in.writes(n, st)
			if !n.Background && !n.Coprocess || n.Cmd == nil {
				return true
			}
			c := st.clone()
			in.walk(n.Cmd, c, depth)
			for _, r := range n.Redirs {
				in.walk(r, c, depth)
			}
		case *syntax.Subshell:
			in.list(n.Stmts, st.clone(), depth)
		case *syntax.CmdSubst:
			in.list(n.Stmts, st.clone(), depth)
		case *syntax.ProcSubst:
			in.list(n.Stmts, st.clone(), depth)
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				in.walk(n.X, st.clone(), depth)
				c := st.clone()
				c.stdin = in.printed(st, n.X)
				in.walk(n.Y, c, depth)
				return false
			}
			in.walk(n.X, st, depth)
			st.branch(n.Op == syntax.AndStmt && isChange(n.X), func(st *state) { in.walk(n.Y, st, depth) })
		case *syntax.IfClause:
			in.list(n.Cond, st, depth)
			before := st.clone()
			branch(n.Then)
			for e := n.Else; e != nil; e = e.Else {
				other := before.clone()
				in.list(e.Cond, other, depth)
				in.list(e.Then, other, depth)
				st.branch(false, func(st *state) { *st = *other })
			}
		case *syntax.WhileClause:
			in.list(n.Cond, st, depth)
			branch(n.Do)
		case *syntax.ForClause:
			in.walk(n.Loop, st, depth)
			loop, ok := n.Loop.(*syntax.WordIter)
			if !ok {
				branch(n.Do)
				break
			}
			items := in.fields(loop.Items, st)
			if len(items) > maxItems || slices.ContainsFunc(items, func(w word) bool { return !w.known || strings.ContainsAny(w.text, "*?[") }) {
				items = nil
			}
			if items == nil {
				items = []word{{}}
			}
			for _, item := range items {
				st.branch(false, func(st *state) {
					st.define(definition{name: loop.Name.Value, value: item.text, known: item.known})
					in.list(n.Do, st, depth)
				})
			}
		case *syntax.CaseClause:
			in.walk(n.Word, st, depth)
			for _, item := range n.Items {
				branch(item.Stmts)
			}
		case *syntax.FuncDecl:
			if n.Body != nil {
				st.branch(false, func(st *state) { in.walk(n.Body, st, depth) })
				names := n.Names
				if n.Name != nil { // zsh has functions of several names, and of none, which run at once
					names = append(slices.Clone(names), n.Name)
				}
				for _, name := range names {
					st.define(definition{name: ofFunction + name.Value, body: n.Body})
				}
			}
		default:
			return true
		}
		return false
	})
}

// isChange reports whether the last command of a list is a change of folder.
func isChange(s *syntax.Stmt) bool {
	if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.AndStmt {
		s = b.Y
	}
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return false
	}
	name := c.Args[0].Lit()
	return name == "cd" || name == "pushd"
}

func (in *Intent) variable(name string, to word, st *state) {
	depth := maxDepth
	if in.variables++; in.variables > maxDepth {
		depth++ // it is read no more
	}
	defer func() { in.variables-- }()
	switch value := to.text; {
	case name == "GIT_DIR" && !to.known:
		st.unknown = "GIT_DIR is known only when the command runs"
	case name == "GIT_DIR":
		st.gitDir, st.unknown = value, ""
	case name == "GIT_COMMON_DIR" && value != "":
		st.unknown = "GIT_COMMON_DIR names another repository"
	case slices.Contains([]string{"GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "EDITOR", "VISUAL", "GIT_SSH_COMMAND", "GIT_PAGER", "PAGER", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "PROMPT_COMMAND", "PS0", "PS1", "PS4"}, name):
		in.read(value, st.clone(), depth)
	case name == "BASH_ENV" || name == "ENV":
		in.read(in.file(to, st), st.clone(), depth)
	case name == "DIALECT" && value == "0":
		in.Bypass = "DIALECT=0"
	case name == "DIALECT" && !to.known:
		in.Bypass = "DIALECT=..."
	case strings.HasPrefix(name, "GIT_CONFIG") && strings.Contains(strings.ToLower(value), "core.hookspath"):
		in.Bypass = "core.hooksPath"
	case strings.HasPrefix(name, "GIT_CONFIG") && isInclude(value):
		in.Bypass = "include.path"
	case name == "HUSKY" && value == "0", name == "HUSKY_SKIP_HOOKS" && value != "", name == "LEFTHOOK" && (value == "0" || value == "false"), name == "SKIP" && slices.Contains(strings.Split(value, ","), "dialect-verify"):
		in.Bypass = name + "=" + value
	}
}

func (in *Intent) call(c *syntax.CallExpr, st *state, depth int) {
	own := st
	if len(c.Args) > 0 && len(c.Assigns) > 0 { // what is assigned holds for this command alone
		own = st.clone()
	}
	for _, a := range c.Assigns {
		in.assigned(a, own)
		if len(c.Args) == 0 && a.Name != nil && a.Name.Value == "GIT_DIR" {
			st.unknown = "GIT_DIR may not be exported"
		}
	}
	args := in.fields(c.Args, st) // before what is assigned for the command
	if len(args) > 0 {
		in.defined(args, own, depth)
	}
	in.argv(args, own, depth)
	st.at = own.at
	if len(args) > 0 && args[0].text == "read" { // IFS= read
		st.names = own.names
	}
}

// wrappers run the command that their arguments are, after options; the value is how many further words come before it,
// flags lists the options that take a value, dir those whose value is a folder to go to, and sub the commands of a program that has others, too.
var wrappers = map[string]struct {
	skip  int
	flags string
	dir   string
	sub   string
}{
	"command": {}, "builtin": {}, "exec": {flags: "a"}, "env": {flags: "uCS", dir: "-C --chdir"}, "sudo": {flags: "ugpCDhRTU", dir: "-D --chdir"}, "doas": {flags: "uC"}, "nohup": {}, "time": {flags: "fo"},
	"nice": {flags: "n"}, "ionice": {flags: "cn"}, "setsid": {}, "stdbuf": {flags: "ioe"}, "timeout": {skip: 1, flags: "ks"}, "xargs": {flags: "IdELnPsa"}, "caffeinate": {}, "rtk": {}, "busybox": {}, "repeat": {skip: 1}, "noglob": {}, "nocorrect": {},
	"flock": {skip: 1, flags: "wE"}, "strace": {flags: "abeEIoOpPsSuUX"}, "watch": {flags: "n"}, "ssh-agent": {flags: "at"}, "chronic": {}, "unbuffer": {}, "fakeroot": {}, "proxychains": {flags: "f"}, "proxychains4": {flags: "f"},
	"setpriv": {}, "prlimit": {flags: "p"}, "systemd-run": {flags: "upEMt"}, "winpty": {}, "taskset": {skip: 1}, "chrt": {skip: 1, flags: "TPD"}, "unshare": {flags: "SGRw"}, "parallel": {flags: "jNa"}, "runuser": {flags: "ugG"}, "sg": {skip: 1}, "gosu": {skip: 1}, "su-exec": {skip: 1}, "chroot": {skip: 1}, "dbus-run-session": {}, "xvfb-run": {flags: "efnpsw"},
	"tmux": {skip: 1, flags: "LSfscntxyeF"}, "nix-shell": {flags: "pIA"}, "npx": {flags: "p"}, "uv": {skip: 1, sub: "run"}, "poetry": {skip: 1, sub: "run"}, "pipenv": {skip: 1, sub: "run"}, "pdm": {skip: 1, sub: "run"}, "rye": {skip: 1, sub: "run"}, "hatch": {skip: 1, sub: "run"}, "doppler": {skip: 1, sub: "run"},
	"op": {skip: 1, sub: "run"}, "mise": {skip: 1, sub: "exec x"}, "direnv": {skip: 2, sub: "exec"}, "bundle": {skip: 1, sub: "exec"}, "npm": {skip: 1, sub: "exec x"}, "pnpm": {skip: 1, sub: "exec"}, "yarn": {skip: 1, sub: "exec"}, "bunx": {},
	"conda": {skip: 1, flags: "np", sub: "run"}, "pixi": {skip: 1, sub: "run"}, "devbox": {skip: 1, sub: "run"}, "dotenvx": {skip: 1, flags: "f", sub: "run"}, "nix": {skip: 1, sub: "develop shell"}, "screen": {flags: "ScehpstT"},
}

// ofShell are the wrappers that a shell has itself: only what they run changes its folder and variables.
var ofShell = []string{"command", "builtin", "time", "repeat", "noglob", "nocorrect"}

// findExecs are the options of programs that find files, and of which the rest is a command.
var findExecs = []string{"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"}

// runs are the options of wrappers whose value is a command line.
var runs = []string{"-c", "--command", "--run", "--call"}

func (in *Intent) argv(args []word, st *state, depth int) {
	replace, whole := "", false // of xargs
	for range 16 {
		if !in.spend(len(args)) {
			return
		}
		for len(args) > 1 && args[0].hidden() { // such as $SUDO
			if args = args[1:]; strings.HasPrefix(args[0].text, "-") { // such as $SHELL -c
				args = append([]word{{text: "sh", known: true}}, args...)
			}
		}
		for len(args) > 0 && isAssignment(args[0].text) { // of env
			name, value, _ := strings.Cut(args[0].text, "=")
			st = st.clone()
			in.variable(name, word{text: value, known: args[0].known}, st)
			st.define(definition{name: name, value: value, known: args[0].known})
			args = args[1:]
		}
		if len(args) == 0 {
			return
		}
		name := path.Base(args[0].text)
		w, ok := wrappers[name]
		if ok && w.sub != "" {
			i := slices.IndexFunc(args[1:], func(a word) bool { return !strings.HasPrefix(a.text, "-") }) + 1
			ok = slices.Contains(strings.Fields(w.sub), args[i].text)
		}
		if !ok {
			break
		}
		if !slices.Contains(ofShell, name) {
			st = st.clone()
		}
		if i := slices.IndexFunc(args, func(a word) bool { return a.text == "--" }); name == "mise" && i >= 0 && depth < maxDepth { // after names of tools
			in.argv(args[i+1:], st.clone(), depth+1)
		}
		before := args[:1:1] // what comes before the options
		args = args[1:]
		for skip := w.skip; ; skip-- {
			for len(args) > 0 && strings.HasPrefix(args[0].text, "-") && (args[0].text != "-" || name == "env") {
				flag, value := args[0].text, word{known: args[0].known}
				takes := flag[1:] != "" && flag[1] != '-' && strings.IndexAny(flag[1:], w.flags) == len(flag)-2 || name == "env" && len(flag) > 2 && strings.HasPrefix("--unset", flag)
				if f, v, ok := strings.Cut(flag, "="); ok {
					flag, value.text = f, v
				}
				if args = args[1:]; takes && len(args) > 0 {
					value, args = args[0], args[1:]
				} else if slices.Contains(runs, flag) && hasBlank(cmp.Or(value.text, strings.Join(texts(args[:min(1, len(args))]), ""))) {
					in.read(cmp.Or(value.text, strings.Join(texts(args[:min(1, len(args))]), "")), st.clone(), depth+1)
				} else if strings.HasPrefix(flag, "--") && flag != "--" && value.text == "" && len(args) > 1 && depth < maxDepth && in.spend(len(args)) {
					// Whether the next word is the value of a long option is known to the program alone: both are read.
					in.argv(slices.Concat(before, args[1:]), st.clone(), depth+1)
				}
				if name == "env" { // with less of the environment, or a command line in one word
					if i := strings.IndexAny(flag, "iuCS"); strings.HasPrefix(flag, "--i") || i == 1 && flag[i:] == "uGIT_DIR" || i > 0 && flag[1] != '-' && flag[i] == 'i' || value.text == "GIT_DIR" {
						st.gitDir, st.unknown = "", ""
					}
					rest, ok := "", flag == "--split-string"
					if !strings.HasPrefix(flag, "--") {
						_, rest, ok = strings.Cut(flag, "S")
					}
					if ok {
						var split []word
						for _, f := range strings.Fields(cmp.Or(value.text, rest)) {
							split = append(split, word{text: f, known: value.known})
						}
						args = slices.Concat(split, args)
					}
				}
				if name == "xargs" && !strings.HasPrefix(flag, "--") {
					if _, to, ok := strings.Cut(flag, "I"); ok {
						replace = cmp.Or(to, value.text)
					} else if strings.Contains(flag, "i") {
						replace = "{}"
					}
					whole = whole || strings.ContainsAny(flag, "0d")
				}
				if slices.Contains(strings.Fields(w.dir), flag) {
					st = st.clone()
					st.cd(value)
				}
			}
			if skip == 0 || len(args) == 0 {
				break
			}
			before, args = append(before, args[0]), args[1:]
		}
		if name == "xargs" {
			args = append(slices.Clip(args), st.items(whole || replace != "")...)
			if args, st = replaced(args, replace, st), st.clone(); replace != "" {
				replace = ""
			}
			st.stdin = ""
		}
	}
	if len(args) == 0 {
		return
	}
	if strings.ContainsAny(args[0].text, "*?[") {
		for _, name := range []string{"git", "dialect"} {
			if ok, _ := path.Match(path.Base(args[0].text), name); ok {
				args = append([]word{{text: name, known: true}}, args[1:]...)
			}
		}
	}
	if text := in.file(word{text: args[0].text}, st); text != "" && strings.Contains(args[0].text, "/") { // a script that was just written
		in.read(text, st.with(args[1:]), depth+1)
	}
	if hasBlank(args[0].text) { // a command line in one word, as watch takes it
		in.read(args[0].text, st.clone(), depth+1)
	}
	rest := args[1:]
	switch name := strings.TrimSuffix(path.Base(args[0].text), ".exe"); name {
	case "cd", "pushd":
		to := word{text: "~", known: name == "cd"}
		i := slices.IndexFunc(rest, func(w word) bool { return !strings.HasPrefix(w.text, "-") || w.text == "-" })
		if i >= 0 {
			to = rest[i]
		}
		if to.text == "-" || name == "cd" && i >= 0 && i+1 < len(rest) { // bash takes one folder, and stays where it is
			to.known = false
		}
		st.cd(to)
	case "popd":
		st.cd(word{})
	case "unset":
		if slices.ContainsFunc(rest, func(w word) bool { return w.text == "GIT_DIR" }) {
			st.gitDir, st.unknown = "", ""
		}
	case ".", "source":
		if len(rest) > 0 {
			in.read(in.file(rest[0], st), st, depth+1)
			if rest[0].text == "/dev/stdin" {
				in.read(st.stdin, st, depth+1)
			}
		}
	case "sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "yash", "csh", "tcsh", "fish", "su", "script":
		in.shell(name, rest, st.clone(), depth)
	case "pwsh", "powershell", "cmd": // what follows is one command line
		if i := slices.IndexFunc(rest, func(a word) bool {
			return len(a.text) > 1 && strings.ContainsRune("-/", rune(a.text[0])) && strings.HasPrefix("command", strings.ToLower(strings.TrimLeft(a.text, "-/")))
		}); i >= 0 {
			in.read(strings.Join(texts(rest[i+1:]), " "), st.clone(), depth+1)
		} else {
			in.read(st.stdin, st.clone(), depth+1)
		}
	case "trap":
		if i := slices.IndexFunc(rest, func(a word) bool { return !strings.HasPrefix(a.text, "-") }); i >= 0 {
			in.read(rest[i].text, st.clone(), depth+1)
		}
	case "mapfile", "readarray", "complete", "compgen", "bind":
		for i, a := range rest[:max(0, len(rest)-1)] {
			if text := rest[i+1].text; a.text == "-C" {
				in.read(text, st.clone(), depth+1)
			} else if _, text, ok := strings.Cut(text, ":"); ok && a.text == "-x" {
				in.read(text, st.clone(), depth+1)
			}
		}
	case "hyperfine", "concurrently", "at", "batch", "entr":
		if in.read(st.stdin, st.clone(), depth+1); name == "entr" {
			if i := slices.IndexFunc(rest, func(a word) bool { return !strings.HasPrefix(a.text, "-") }); i >= 0 && depth < maxDepth {
				in.argv(rest[i:], st.clone(), depth+1)
			}
			return
		}
		for _, a := range rest {
			if hasBlank(a.text) {
				in.read(a.text, st.clone(), depth+1)
			}
		}
	case "alias":
		for _, a := range rest {
			if n, v, ok := strings.Cut(a.text, "="); ok {
				st.define(definition{name: ofAlias + n, value: v, known: true})
			}
		}
	case "set":
		if i := slices.IndexFunc(rest, func(a word) bool { return a.text == "--" }); i >= 0 {
			st.names = st.with(rest[i+1:]).names
		}
	case "read":
		in.names(rest, st)
	case "printf":
		if len(rest) > 2 && rest[0].text == "-v" {
			text := format(escaped(rest[2].text), texts(rest[3:]))
			to := word{text: text, known: !slices.ContainsFunc(rest, func(a word) bool { return !a.known })}
			in.variable(rest[1].text, to, st)
			st.define(definition{name: rest[1].text, value: text, known: to.known})
		}
	case "lefthook", "pre-commit":
		if len(rest) > 0 && rest[0].text == "uninstall" {
			in.Bypass = name + " uninstall"
		}
	case "bwrap", "catchsegv", "choom", "cpulimit", "eatmydata", "faketime", "firejail", "ltrace", "nsenter", "numactl", "perf", "pkexec", "rlwrap", "run0", "setarch", "torsocks", "valgrind":
		for i := range rest { // their options take one word or several: a command may begin at each
			if depth < maxDepth && in.spend(len(rest)) {
				in.argv(rest[i:], st.clone(), depth+1)
			}
		}
	case "find", "fd", "fdfind":
		for i, a := range rest {
			if slices.Contains(findExecs, a.text) && depth < maxDepth && in.spend(len(rest)) {
				in.argv(rest[i+1:], st.clone(), depth+1)
			}
		}
	case "eval":
		for len(rest) > 0 && (rest[0].text == "eval" || rest[0].text == "--") {
			rest = rest[1:]
		}
		in.read(strings.Join(texts(rest), " "), st, depth+1)
	case "export":
		for _, a := range rest {
			n, v, ok := strings.Cut(a.text, "=")
			if in.variable(n, word{text: v, known: a.known}, st); ok {
				st.define(definition{name: n, value: v, known: a.known})
			}
		}
	case "git":
		in.git(rest, st, depth)
	case "git-push", "git-commit", "git-send-pack":
		in.git(append([]word{{text: strings.TrimPrefix(name, "git-"), known: true}}, rest...), st, depth)
	case "gh", "glab", "hub", "tea", "az":
		in.forge(name, texts(rest), st)
	case "jj":
		if i := slices.Index(texts(rest), "git"); i >= 0 && i+1 < len(rest) && rest[i+1].text == "push" && rest[len(rest)-1].text != "--help" {
			in.add(true, st)
		}
	case "dialect", "ar":
		if i := slices.Index(texts(rest), "--"); i >= 0 && rest[0].text == "exec" {
			in.argv(rest[i+1:], st, depth)
			return
		}
		in.dialect(texts(rest))
	}
}

// replaced puts what xargs read, which is the last of args, in the places of a text; empty for where it is.
func replaced(args []word, text string, st *state) []word {
	if text == "" || st.stdin == "" || len(args) == 0 {
		return args
	}
	n := len(args) - 1
	to, out := args[n].text, slices.Clone(args[:n])
	for i := range out {
		if strings.Contains(out[i].text, text) && len(out[i].text)*len(to) <= maxText {
			out[i].text = strings.ReplaceAll(out[i].text, text, to)
		}
	}
	return out
}

// shell reads what a shell runs: the text after -c, the file that it names, or what it reads.
func (in *Intent) shell(name string, args []word, st *state, depth int) {
	stdin := st.stdin
	st.stdin = "" // of what it runs
	option := func(a word) bool { return strings.HasPrefix(a.text, "-") || strings.HasPrefix(a.text, "+") }
	for i, a := range args {
		if !option(a) || strings.HasPrefix(a.text, "--") && a.text != "--command" || !strings.Contains(strings.ToLower(a.text), "c") {
			continue
		}
		if j := slices.IndexFunc(args[i+1:], func(a word) bool { return !option(a) }); j >= 0 {
			in.read(args[i+1+j].text, st.with(args[min(len(args), i+3+j):]), depth+1)
		}
		break
	}
	file := slices.IndexFunc(args, func(a word) bool { return !option(a) })
	if file < 0 || name == "su" || name == "script" || args[file].text == "/dev/stdin" || slices.Contains(texts(args[:file]), "-s") {
		in.read(stdin, st, depth+1)
	} else {
		in.read(in.file(args[file], st), st.with(args[file+1:]), depth+1)
	}
}

// dialect reads the arguments of dialect.
func (in *Intent) dialect(args []string) {
	if i := slices.Index(args, "--"); i >= 0 {
		args = slices.Delete(args, i, i+1)
	}
	var words []string
	for i, a := range args {
		if !strings.HasPrefix(a, "-") && (i == 0 || args[i-1] != "--store") {
			words = append(words, a)
		}
	}
	asks := func(list ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(list, a) })
	}
	switch {
	case len(words) == 0:
	case len(args) == 3 && words[0] == "hook" && len(words) == 2 && (args[2] == "--help" || args[2] == "-h"): // only asks what it does
	case words[0] == "trust" && !asks("--show", "--help", "-h"):
		in.Bypass = "dialect trust" // what a person pins decides what counts, and what a hook may run
	// What a client tells its hook is not for its agent to say: a prompt, such as of a person, would begin the count anew.
	case words[0] == "hook" && len(words) > 1 && !slices.Contains([]string{"install", "status", "log", "git"}, words[1]):
		in.Bypass = "dialect hook " + words[1]
	}
}

// join returns the path to from dir, and whether it leads there from everywhere.
func join(dir, to string) (joined string, absolute bool) {
	if filepath.IsAbs(to) || path.IsAbs(to) || to == "~" || strings.HasPrefix(to, "~") {
		return to, true
	}
	if dir == "~" || strings.HasPrefix(dir, "~/") { // which Join would not clean
		return dir + "/" + filepath.ToSlash(to), false
	}
	return path.Join(dir, filepath.ToSlash(to)), false
}

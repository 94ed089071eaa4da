// Package shell says what a command line of an agent is about to do with git: commit, push, open a pull request, or go around a
// check. In comes the text that the agent hands to its shell tool; it is parsed as a shell does, and nothing of it is run.
//
// It is advice. A script, an alias, a variable or another language hides a command from it; the push that counts is held by
// git's own hook, and by CI.
package shell

import (
	"cmp"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what is looked at.
const (
	maxText    = 32 << 10
	maxDepth   = 4 // of scripts in the arguments of shells
	maxActions = 8
	maxPlaces  = 4         // that a command may be started in
	maxReread  = 128 << 10 // bytes that are parsed again, of one text
)

// An Intent is what a command line is about to do.
type Intent struct {
	Actions []Action // those that count, each once, in the order of the text
	Bypass  string   // the words that go around a check; empty for none
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
	in.read(text, &state{at: []where{{dir: path.Clean(filepath.ToSlash(dir))}}, aliases: make(map[string]string)}, 0)
	return in
}

// A where is a place that a command may be started in.
type where struct{ dir, unknown string }

// A state is what commands before have set. Where it depends on a condition which folder that is, both count.
type state struct {
	at              []where
	gitDir, unknown string            // of GIT_DIR
	stdin           string            // what a command reads, as far as it is known
	aliases         map[string]string // of git, that the command line makes
	bodies          []string          // that long left out
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
	case !to.known:
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
	if len(text) > maxText {
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

// walk walks commands in the order of the text, with the folder that each is started in.
func (in *Intent) walk(n syntax.Node, st *state, depth int) {
	branch := func(list []*syntax.Stmt) { st.branch(false, func(st *state) { in.list(list, st, depth) }) }
	syntax.Walk(n, func(n syntax.Node) bool {
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
			for _, r := range n.Redirs {
				if w := fed(r); w != nil {
					if text := literal(w).text; text != st.stdin {
						was := st.stdin
						st.stdin = text
						in.walk(n, st, depth)
						st.stdin = was
						return false
					}
				}
			}
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
				c.stdin = printed(n.X)
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
			branch(n.Do)
		case *syntax.CaseClause:
			in.walk(n.Word, st, depth)
			for _, item := range n.Items {
				branch(item.Stmts)
			}
		case *syntax.FuncDecl:
			if n.Body != nil {
				st.branch(false, func(st *state) { in.walk(n.Body, st, depth) })
			}
		default:
			return true
		}
		return false
	})
}

// fed returns the text that a redirection puts into the standard input; nil for none.
func fed(r *syntax.Redirect) *syntax.Word {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return r.Hdoc
	case syntax.WordHdoc:
		return r.Word
	}
	return nil
}

// printed returns what echo, printf or cat with a text of its own print, as far as it is known.
func printed(list ...*syntax.Stmt) string {
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		switch c := s.Cmd.(type) {
		case *syntax.Block:
			b.WriteString(printed(c.Stmts...))
		case *syntax.Subshell:
			b.WriteString(printed(c.Stmts...))
		case *syntax.BinaryCmd:
			if c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
				b.WriteString(printed(c.X, c.Y))
			} else if y, ok := c.Y.Cmd.(*syntax.CallExpr); ok && len(y.Args) > 0 && slices.Contains([]string{"cat", "tee"}, literal(y.Args[0]).text) {
				b.WriteString(printed(c.X))
			} else {
				b.WriteString(printed(c.Y))
			}
		case *syntax.CallExpr:
			b.WriteString(printedBy(c, s.Redirs))
		}
	}
	return b.String()
}

func printedBy(c *syntax.CallExpr, redirs []*syntax.Redirect) string {
	if len(c.Args) == 0 {
		return ""
	}
	switch literal(c.Args[0]).text {
	case "echo", "printf":
		var list []string
		for _, w := range c.Args[1:] {
			if a := literal(w).text; !strings.HasPrefix(a, "-") {
				list = append(list, strings.ReplaceAll(a, `\n`, "\n"))
			}
		}
		return strings.Join(list, " ")
	case "cat":
		for _, r := range redirs {
			if w := fed(r); w != nil {
				return literal(w).text
			}
		}
	}
	return ""
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
	name := literal(c.Args[0]).text
	return name == "cd" || name == "pushd"
}

// assigned looks at NAME=VALUE.
func (in *Intent) assigned(a *syntax.Assign, st *state) {
	if a.Name != nil && a.Value != nil {
		in.variable(a.Name.Value, literal(a.Value), st)
	}
}

func (in *Intent) variable(name string, to word, st *state) {
	switch value := to.text; {
	case name == "GIT_DIR" && !to.known:
		st.unknown = "GIT_DIR is known only when the command runs"
	case name == "GIT_DIR":
		st.gitDir, st.unknown = value, ""
	case name == "GIT_COMMON_DIR" && value != "":
		st.unknown = "GIT_COMMON_DIR names another repository"
	case slices.Contains([]string{"GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "EDITOR", "VISUAL", "GIT_SSH_COMMAND", "GIT_PAGER", "PROMPT_COMMAND"}, name):
		in.read(value, st.clone(), maxDepth)
	case name == "DIALECT" && value == "0":
		in.Bypass = "DIALECT=0"
	case strings.HasPrefix(name, "GIT_CONFIG") && strings.Contains(strings.ToLower(value), "core.hookspath"):
		in.Bypass = "core.hooksPath"
	case (name == "HUSKY" || name == "LEFTHOOK") && value == "0", name == "SKIP" && slices.Contains(strings.Split(value, ","), "dialect-verify"):
		in.Bypass = name + "=" + value
	}
}

// A word is the text of one; known is false if a part of it is known only when it runs.
type word struct {
	text  string
	known bool
	file  string // what is in the file that it names, where a command of the same line prints that
}

// literal returns the text of a word. The folder of the shell is ".", that of the user "~".
func literal(w *syntax.Word) word {
	var b strings.Builder
	known, file := true, ""
	var parts func(list []syntax.WordPart)
	parts = func(list []syntax.WordPart) {
		for _, p := range list {
			switch p := p.(type) {
			case *syntax.Lit:
				b.WriteString(unescape(p.Value))
			case *syntax.SglQuoted:
				text := p.Value
				if p.Dollar {
					if plain, err := strconv.Unquote(`"` + strings.NewReplacer(`\'`, `'`, `"`, `\"`).Replace(text) + `"`); err == nil {
						text = plain
					}
				}
				b.WriteString(text)
			case *syntax.DblQuoted:
				parts(p.Parts)
			case *syntax.ParamExp:
				switch {
				case b.Len() > 0 || p.Param == nil || p.Exp != nil || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Length || p.Excl:
					known = false
				case p.Param.Value == "HOME":
					b.WriteString("~")
				case p.Param.Value == "PWD":
					b.WriteString(".")
				default:
					known = false
				}
			case *syntax.CmdSubst:
				if b.Len() > 0 || !isHere(p) {
					known = false
					b.WriteString(printed(p.Stmts...))
					continue
				}
				b.WriteString(".")
			case *syntax.ProcSubst:
				known, file = false, printed(p.Stmts...)
			default:
				known = false
			}
		}
	}
	parts(w.Parts)
	return word{b.String(), known, file}
}

// isHere reports whether a substitution gives a folder of the repository that the shell is in.
func isHere(s *syntax.CmdSubst) bool {
	if len(s.Stmts) != 1 {
		return false
	}
	c, ok := s.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(c.Assigns) > 0 {
		return false
	}
	var words []string
	for _, w := range c.Args {
		words = append(words, w.Lit())
	}
	text := strings.Join(words, " ")
	return text == "pwd" || text == "git rev-parse --show-toplevel"
}

// unescape takes the backslashes out that quote one character.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (in *Intent) call(c *syntax.CallExpr, st *state, depth int) {
	own := st
	if len(c.Args) > 0 && len(c.Assigns) > 0 { // what is assigned holds for this command alone
		own = st.clone()
	}
	for _, a := range c.Assigns {
		in.assigned(a, own)
	}
	var args []word
	for _, w := range c.Args {
		if list := w.Lit(); len(list) > 2 && list[0] == '{' && strings.Contains(list, ",") && strings.IndexByte(list, '}') == len(list)-1 {
			for _, f := range strings.Split(list[1:len(list)-1], ",") {
				args = append(args, word{text: f, known: true})
			}
			continue
		}
		args = append(args, literal(w))
	}
	in.argv(args, own, depth)
	st.at = own.at
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
	"setpriv": {}, "prlimit": {flags: "p"}, "systemd-run": {flags: "upEMt"}, "winpty": {}, "taskset": {skip: 1}, "chrt": {skip: 1, flags: "TPD"}, "unshare": {flags: "SGRw"}, "parallel": {flags: "jNa"}, "runuser": {flags: "ugG"}, "sg": {skip: 1},
	"tmux": {skip: 1, flags: "LSfscntxyeF"}, "nix-shell": {flags: "pIA"}, "npx": {flags: "p"}, "uv": {skip: 1, sub: "run"}, "poetry": {skip: 1, sub: "run"}, "pipenv": {skip: 1, sub: "run"}, "pdm": {skip: 1, sub: "run"}, "rye": {skip: 1, sub: "run"}, "hatch": {skip: 1, sub: "run"}, "doppler": {skip: 1, sub: "run"},
	"op": {skip: 1, sub: "run"}, "mise": {skip: 1, sub: "exec x"}, "direnv": {skip: 2, sub: "exec"}, "bundle": {skip: 1, sub: "exec"}, "npm": {skip: 1, sub: "exec x"}, "pnpm": {skip: 1, sub: "exec"}, "yarn": {skip: 1, sub: "exec"}, "bunx": {},
}

// runs are the options of wrappers whose value is a command line.
var runs = []string{"-c", "--command", "--run", "--call"}

func hasBlank(text string) bool { return strings.ContainsAny(text, " \t\n") }

func (in *Intent) argv(args []word, st *state, depth int) {
	for range 16 {
		for len(args) > 0 && isAssignment(args[0].text) { // of env
			name, value, _ := strings.Cut(args[0].text, "=")
			st = st.clone()
			in.variable(name, word{text: value, known: args[0].known}, st)
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
		before := args[:1:1] // what comes before the options
		args = args[1:]
		for skip := w.skip; ; skip-- {
			for len(args) > 0 && strings.HasPrefix(args[0].text, "-") && args[0].text != "-" {
				flag, value := args[0].text, word{known: args[0].known}
				takes := flag[1:] != "" && flag[1] != '-' && strings.IndexAny(flag[1:], w.flags) == len(flag)-2
				if f, v, ok := strings.Cut(flag, "="); ok {
					flag, value.text = f, v
				}
				if args = args[1:]; takes && len(args) > 0 {
					value, args = args[0], args[1:]
				} else if slices.Contains(runs, flag) && hasBlank(cmp.Or(value.text, strings.Join(texts(args[:min(1, len(args))]), ""))) {
					in.read(cmp.Or(value.text, strings.Join(texts(args[:min(1, len(args))]), "")), st.clone(), depth+1)
				} else if strings.HasPrefix(flag, "--") && flag != "--" && value.text == "" && len(args) > 1 && depth < maxDepth {
					// Whether the next word is the value of a long option is known to the program alone: both are read.
					in.argv(slices.Concat(before, args[1:]), st.clone(), depth+1)
				}
				if name == "env" && (strings.HasPrefix(flag, "-S") || flag == "--split-string") { // a command line in one word
					var split []word
					for _, f := range strings.Fields(cmp.Or(value.text, strings.TrimPrefix(flag, "-S"))) {
						split = append(split, word{text: f, known: value.known})
					}
					args = slices.Concat(split, args)
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
	}
	if len(args) == 0 {
		return
	}
	if hasBlank(args[0].text) { // a command line in one word, as watch takes it
		in.read(args[0].text, st.clone(), depth+1)
	}
	rest := args[1:]
	switch name := strings.TrimSuffix(path.Base(args[0].text), ".exe"); name {
	case "cd", "pushd":
		to := word{text: "~", known: name == "cd"}
		if i := slices.IndexFunc(rest, func(w word) bool { return !strings.HasPrefix(w.text, "-") || w.text == "-" }); i >= 0 {
			to = rest[i]
		}
		if to.text == "-" {
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
			in.read(rest[0].file, st, depth+1)
			if rest[0].text == "/dev/stdin" {
				in.read(st.stdin, st, depth+1)
			}
		}
	case "sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "yash", "csh", "tcsh", "fish", "pwsh", "su", "script":
		in.shell(name, rest, st.clone(), depth)
	case "trap":
		if len(rest) > 0 {
			in.read(rest[0].text, st.clone(), depth+1)
		}
	case "find":
		for i, a := range rest {
			if slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, a.text) && depth < maxDepth {
				in.argv(rest[i+1:], st.clone(), depth+1)
			}
		}
	case "eval":
		for len(rest) > 0 && rest[0].text == "eval" {
			rest = rest[1:]
		}
		in.read(strings.Join(texts(rest), " "), st, depth+1)
	case "export":
		for _, a := range rest {
			n, v, _ := strings.Cut(a.text, "=")
			in.variable(n, word{text: v, known: a.known}, st)
		}
	case "git":
		in.git(rest, st, depth)
	case "git-push", "git-commit", "git-send-pack":
		in.git(append([]word{{text: strings.TrimPrefix(name, "git-"), known: true}}, rest...), st, depth)
	case "gh", "glab", "hub", "tea", "az":
		in.forge(name, texts(rest), st)
	case "jj":
		if i := slices.Index(texts(rest), "git"); i >= 0 && i+1 < len(rest) && rest[i+1].text == "push" {
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
			in.read(args[i+1+j].text, st, depth+1)
		}
		break
	}
	file := slices.IndexFunc(args, func(a word) bool { return !option(a) })
	if file < 0 || name == "su" || name == "script" || args[file].text == "/dev/stdin" || slices.Contains(texts(args[:file]), "-s") {
		in.read(stdin, st, depth+1)
	} else {
		in.read(args[file].file, st, depth+1)
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
	case words[0] == "trust" && !asks("--show", "--help", "-h"):
		in.Bypass = "dialect trust" // what a person pins decides what counts, and what a hook may run
	// What a client tells its hook is not for its agent to say: a prompt, such as of a person, would begin the count anew.
	case words[0] == "hook" && len(words) > 1 && !slices.Contains([]string{"install", "status", "log", "git"}, words[1]):
		in.Bypass = "dialect hook " + words[1]
	}
}

func texts(words []word) (list []string) {
	for _, w := range words {
		list = append(list, w.text)
	}
	return list
}

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
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

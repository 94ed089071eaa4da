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
	in.read(text, &state{at: []where{{dir: path.Clean(filepath.ToSlash(dir))}}}, 0)
	return in
}

// A where is a place that a command may be started in.
type where struct{ dir, unknown string }

// A state is what commands before have set. Where it depends on a condition which folder that is, both count.
type state struct {
	at              []where
	gitDir, unknown string // of GIT_DIR
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
		return
	}
	if len(text) > maxText { // each line by itself, wherever it would be run
		st = st.clone()
		st.unknown = "the command line is too long to be read as a whole"
		for line := range strings.Lines(text) {
			if len(line) <= maxText && strings.Contains(line, "g") && len(in.Actions) <= maxActions {
				in.read(line, st.clone(), depth)
			}
		}
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
			if readsCommands(n) {
				for _, r := range n.Redirs {
					if w := fed(r); w != nil {
						in.read(literal(w).text, st.clone(), depth+1)
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
				in.walk(n.Y, st.clone(), depth)
				if readsCommands(n.Y) {
					in.read(printed(n.X), st.clone(), depth+1)
				}
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

var shells = []string{"sh", "bash", "zsh", "dash", "ksh", "ash", "fish"}

// readsCommands reports whether a command is a shell that reads its commands from its standard input.
func readsCommands(s *syntax.Stmt) bool {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 || !slices.Contains(shells, path.Base(literal(c.Args[0]).text)) {
		return false
	}
	return !slices.ContainsFunc(c.Args[1:], func(w *syntax.Word) bool {
		a := literal(w).text
		return !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "+")
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
func printed(s *syntax.Stmt) string {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
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
		for _, r := range s.Redirs {
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
}

// literal returns the text of a word. The folder of the shell is ".", that of the user "~".
func literal(w *syntax.Word) word {
	var b strings.Builder
	known := true
	var parts func(list []syntax.WordPart)
	parts = func(list []syntax.WordPart) {
		for _, p := range list {
			switch p := p.(type) {
			case *syntax.Lit:
				b.WriteString(unescape(p.Value))
			case *syntax.SglQuoted:
				b.WriteString(p.Value)
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
					continue
				}
				b.WriteString(".")
			default:
				known = false
			}
		}
	}
	parts(w.Parts)
	return word{b.String(), known}
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
	args := make([]word, len(c.Args))
	for i, w := range c.Args {
		args[i] = literal(w)
	}
	in.argv(args, own, depth)
	st.at = own.at
}

// wrappers run the command that their arguments are, after options; the value is how many further words come before it,
// flags lists the options that take a value, and dir those whose value is a folder to go to.
var wrappers = map[string]struct {
	skip  int
	flags string
	dir   string
}{
	"command": {}, "builtin": {}, "exec": {0, "a", ""}, "env": {0, "uCS", "-C --chdir"}, "sudo": {0, "ugpCDhRTU", "-D --chdir"}, "doas": {0, "uC", ""}, "nohup": {}, "time": {0, "fo", ""},
	"nice": {0, "n", ""}, "ionice": {0, "cn", ""}, "setsid": {}, "stdbuf": {0, "ioe", ""}, "timeout": {1, "ks", ""}, "xargs": {0, "IidELlnPs", ""}, "caffeinate": {}, "rtk": {}, "busybox": {}, "repeat": {1, "", ""}, "noglob": {}, "nocorrect": {},
	"flock": {1, "wE", ""}, "strace": {0, "abeEIoOpPsSuUX", ""}, "watch": {0, "n", ""},
}

func (in *Intent) argv(args []word, st *state, depth int) {
	for range 16 {
		for len(args) > 0 && isAssignment(args[0].text) { // of env
			name, value, _ := strings.Cut(args[0].text, "=")
			st = st.clone()
			in.variable(name, word{value, args[0].known}, st)
			args = args[1:]
		}
		if len(args) == 0 {
			return
		}
		name := path.Base(args[0].text)
		w, ok := wrappers[name]
		if !ok {
			break
		}
		args = args[1:]
		for len(args) > 0 && strings.HasPrefix(args[0].text, "-") && args[0].text != "-" {
			flag, value := args[0].text, word{"", args[0].known}
			takes := len(flag) == 2 && strings.Contains(w.flags, flag[1:])
			if f, v, ok := strings.Cut(flag, "="); ok {
				flag, value.text = f, v
			}
			if args = args[1:]; takes && len(args) > 0 {
				value, args = args[0], args[1:]
			} else if strings.HasPrefix(flag, "--") && value.text == "" && len(args) > 1 && depth < maxDepth {
				// Whether the next word is the value of a long option is known to the program alone: both are read.
				in.argv(slices.Concat([]word{{name, true}}, args[1:]), st.clone(), depth+1)
			}
			if name == "env" && (strings.HasPrefix(flag, "-S") || flag == "--split-string") { // a command line in one word
				var split []word
				for _, f := range strings.Fields(cmp.Or(value.text, strings.TrimPrefix(flag, "-S"))) {
					split = append(split, word{f, value.known})
				}
				args = slices.Concat(split, args)
			}
			if slices.Contains(strings.Fields(w.dir), flag) {
				st = st.clone()
				st.cd(value)
			}
		}
		args = args[min(w.skip, len(args)):]
	}
	if len(args) == 0 {
		return
	}
	rest := args[1:]
	switch name := strings.TrimSuffix(path.Base(args[0].text), ".exe"); name {
	case "cd", "pushd":
		to := word{"~", true}
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
	case "sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "su", "script":
		option := func(a word) bool { return strings.HasPrefix(a.text, "-") || strings.HasPrefix(a.text, "+") }
		for i, a := range rest {
			if !option(a) || strings.HasPrefix(a.text, "--") || !strings.Contains(a.text, "c") {
				continue
			}
			if j := slices.IndexFunc(rest[i+1:], func(a word) bool { return !option(a) }); j >= 0 {
				in.read(rest[i+1+j].text, st.clone(), depth+1)
			}
			break
		}
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
		in.read(strings.Join(texts(rest), " "), st, depth+1)
	case "export":
		for _, a := range rest {
			n, v, _ := strings.Cut(a.text, "=")
			in.variable(n, word{v, a.known}, st)
		}
	case "git":
		in.git(rest, st, depth)
	case "git-push", "git-commit", "git-send-pack":
		in.git(append([]word{{strings.TrimPrefix(name, "git-"), true}}, rest...), st, depth)
	case "gh", "glab", "hub", "tea":
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
		if len(rest) > 1 && rest[0].text == "trust" && slices.ContainsFunc(rest, func(w word) bool {
			return strings.HasPrefix(w.text, "--yes") || strings.HasPrefix(w.text, "--remove") || hasShort(w.text, 'y')
		}) {
			in.Bypass = "dialect trust" // what a person pins decides what counts, and what a hook may run
		}
		// What a client tells its hook is not for its agent to say: a prompt, such as of a person, would begin the count anew.
		if len(rest) > 1 && rest[0].text == "hook" && !strings.HasPrefix(rest[1].text, "-") && !slices.Contains([]string{"install", "status", "log", "git"}, rest[1].text) {
			in.Bypass = "dialect hook " + rest[1].text
		}
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

// add adds an action in each place that it may happen in.
func (in *Intent) add(push bool, st *state) {
	for _, w := range st.at {
		a := Action{Push: push, Dir: w.dir, Unknown: cmp.Or(w.unknown, st.unknown)}
		if st.gitDir != "" {
			var absolute bool
			if a.GitDir, absolute = join(w.dir, st.gitDir); absolute {
				a.Unknown = st.unknown
			}
		}
		if len(in.Actions) == maxActions {
			a = Action{Push: true, Dir: ".", Unknown: "there are too many in one command line"}
		}
		if len(in.Actions) <= maxActions && !slices.Contains(in.Actions, a) {
			in.Actions = append(in.Actions, a)
		}
	}
}

// gitValues are the options of git itself that take the next word.
var gitValues = []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env"}

// git reads the arguments of git.
func (in *Intent) git(words []word, st *state, depth int) {
	st = st.clone() // what its options say holds for it alone
	args := texts(words)
	aliases := make(map[string]string) // of this command line
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flag, value := args[0], word{"", words[0].known}
		args, words = args[1:], words[1:]
		if slices.Contains(gitValues, flag) && len(args) > 0 {
			value, args, words = words[0], args[1:], words[1:]
		} else if f, v, ok := strings.Cut(flag, "="); ok {
			flag, value.text = f, v
		}
		switch name, to, _ := strings.Cut(value.text, "="); {
		case flag == "-c" && len(name) > len("alias.") && strings.EqualFold(name[:len("alias.")], "alias."):
			aliases[strings.ToLower(name[len("alias."):])] = to
		case flag == "-C":
			st.cd(value)
		case flag == "--git-dir":
			in.variable("GIT_DIR", value, st)
		case flag == "--bare":
			st.unknown = "the repository is a bare one"
		case (flag == "-c" || flag == "--config-env") && strings.EqualFold(name, "core.hooksPath"):
			in.Bypass = "core.hooksPath"
		}
	}
	if len(args) == 0 {
		return
	}
	command, rest := args[0], args[1:]
	if to := aliases[strings.ToLower(command)]; to != "" && depth < maxDepth {
		if shell, ok := strings.CutPrefix(to, "!"); ok {
			in.read(shell+" "+strings.Join(rest, " "), st, depth+1)
			return
		}
		var list []word
		for _, f := range strings.Fields(to) {
			list = append(list, word{f, true})
		}
		in.git(append(list, words[1:]...), st, depth+1)
		return
	}
	if command == "config" {
		if i := slices.IndexFunc(rest, isHooksPath); i >= 0 && writesConfig(rest, i) {
			in.Bypass = "core.hooksPath"
		}
		return
	}
	dry := false
	for i, a := range rest {
		if a == "--" {
			break
		}
		if i > 0 && (command == "commit" && takesNext(rest[i-1]) || command == "push" && pushTakesNext(rest[i-1])) {
			continue // the value of an option
		}
		switch {
		case isNoVerify(a):
			in.Bypass = "--no-verify"
		case command == "commit" && hasShort(a, 'n'):
			in.Bypass = "-n"
		case a == "--dry-run", command == "push" && hasShort(a, 'n'):
			dry = true
		case len(a) > len("--no-d") && strings.HasPrefix("--no-dry-run", a):
			dry = false
		}
	}
	switch command {
	case "submodule", "rebase", "bisect": // foreach COMMAND, --exec COMMAND, run COMMAND
		for i, a := range rest {
			if a == "foreach" || a == "run" || a == "-x" || a == "--exec" {
				st.unknown = "it is run by git " + command
				in.read(strings.Join(rest[i+1:], " "), st, depth+1)
				break
			}
		}
	case "subtree", "lfs":
		if len(rest) > 0 && rest[0] == "push" {
			in.add(true, st)
		}
	case "commit", "ci":
		if !dry {
			in.add(false, st)
		}
	case "push", "send-pack", "request-pull":
		if !dry && !deletes(rest) {
			in.add(true, st)
		}
	}
}

// takesNext reports whether an option of git commit takes the next word: the last of its letters is the first of them that takes a value.
func takesNext(a string) bool {
	if a == "--message" || a == "--file" {
		return true
	}
	if len(a) < 2 || a[0] != '-' || a[1] == '-' {
		return false
	}
	return strings.IndexAny(a, "mFCct") == len(a)-1
}

// pushTakesNext reports whether an option of git push takes the next word. Git takes an abbreviation for the option.
func pushTakesNext(a string) bool {
	if i := strings.IndexByte(a, 'o'); i > 0 && i == len(a)-1 && a[0] == '-' && a[1] != '-' { // -o, alone or after others
		return true
	}
	return len(a) > len("--r") && slices.ContainsFunc([]string{"--push-option", "--receive-pack", "--exec", "--repo"}, func(o string) bool { return strings.HasPrefix(o, a) })
}

// deletes reports whether a push with these arguments only deletes refs.
func deletes(args []string) bool {
	refs, gone := 0, 0
	for i, a := range args {
		switch {
		case a == "--tags", a == "--all", a == "--branches", a == "--mirror", a == "--follow-tags": // what it pushes beside the refs that are named
			return false
		case i > 0 && pushTakesNext(args[i-1]):
		case len(a) > len("--no-d") && strings.HasPrefix("--no-delete", a):
			return false
		case a == "--delete", hasShort(a, 'd'):
			return !slices.ContainsFunc(args[i+1:], func(a string) bool { return len(a) > len("--no-d") && strings.HasPrefix("--no-delete", a) })
		case strings.HasPrefix(a, "-"):
		default:
			if refs++; strings.HasPrefix(a, ":") && len(a) > 1 {
				gone++
			}
		}
	}
	return gone > 0 && gone == refs-1 // the first one is the remote
}

// isNoVerify reports whether a is --no-verify, or what git takes for it: an abbreviation.
func isNoVerify(a string) bool {
	return len(a) >= len("--no-veri") && strings.HasPrefix("--no-verify", a)
}

func isHooksPath(s string) bool {
	name, _, _ := strings.Cut(s, "=")
	return strings.EqualFold(name, "core.hooksPath")
}

// writesConfig reports whether `git config` with args, of which the one at i names core.hooksPath, changes it.
func writesConfig(args []string, i int) bool {
	for _, a := range args {
		if a == "--get" || a == "--get-all" || a == "get" || a == "--list" || a == "-l" || a == "list" {
			return false
		}
	}
	return i+1 < len(args) || slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "unset") })
}

// hasShort reports whether a holds the short option c, alone or among others. What stands after an option that takes a value is
// its value.
func hasShort(a string, c byte) bool {
	if len(a) < 2 || a[0] != '-' || a[1] == '-' {
		return false
	}
	for i := 1; i < len(a); i++ {
		if a[i] == c {
			return true
		}
		if strings.IndexByte("mFCctuSo", a[i]) >= 0 {
			return false
		}
	}
	return false
}

// forge reads the arguments of a program of a forge.
func (in *Intent) forge(name string, args []string, st *state) {
	var words []string
	for i, a := range args {
		value := i > 0 && slices.Contains([]string{"-R", "--repo", "--hostname", "--login", "--remote"}, args[i-1])
		if !value && !strings.HasPrefix(a, "-") {
			words = append(words, a)
		}
	}
	has := func(list ...string) bool {
		for i, w := range list {
			if i >= len(words) || !slices.Contains(strings.Split(w, "|"), words[i]) {
				return false
			}
		}
		return true
	}
	switch {
	case name == "gh" && has("pr", "create|new|merge|ready"), name == "glab" && has("mr", "create|new|merge"),
		name == "hub" && has("pull-request|push"), name == "tea" && has("pr|pull|pulls", "create|c|merge"), name == "gh" && has("release", "create"),
		name == "gh" && has("repo", "create") && slices.Contains(args, "--push"):
		in.add(true, st)
	}
}

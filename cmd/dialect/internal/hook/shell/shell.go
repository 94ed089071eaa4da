// Package shell says what a command line of an agent is about to do with git: commit, push, open a pull request, or go around a
// check. In comes the text that the agent hands to its shell tool; it is parsed as a shell does, and nothing of it is run.
//
// It is advice. A script, an alias, a variable or another language hides a command from it; the push that counts is held by
// git's own hook, and by CI.
package shell

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what is looked at.
const (
	maxText  = 32 << 10
	maxDepth = 4 // of scripts in the arguments of shells
)

// An Intent is what a command line is about to do.
type Intent struct {
	Commit bool
	Push   bool   // or opens a pull request
	Dir    string // that git is used in, relative to where the shell starts; "." for there
	Bypass string // the words that go around a check; empty for none
}

// Parse reads a command line. A text that is not a shell's has no intent.
func Parse(text string) Intent {
	in := Intent{Dir: "."}
	in.read(text, ".", 0)
	return in
}

func (in *Intent) read(text, dir string, depth int) {
	if len(text) > maxText || depth > maxDepth {
		return
	}
	file, _ := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if file == nil {
		return
	}
	in.statements(file.Stmts, &dir, depth)
}

// statements walks commands in the order of the text. A `cd` counts for what stands after it: in a subshell it should not,
// where it only changes which folder is looked at.
func (in *Intent) statements(list []*syntax.Stmt, dir *string, depth int) {
	for _, s := range list {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CallExpr:
				in.call(n, dir, depth)
			case *syntax.DeclClause:
				for _, a := range n.Args {
					in.assigned(a)
				}
			}
			return true
		})
	}
}

// assigned looks at NAME=VALUE.
func (in *Intent) assigned(a *syntax.Assign) {
	if a.Name != nil && a.Value != nil {
		value, _ := literal(a.Value)
		in.variable(a.Name.Value, value)
	}
}

func (in *Intent) variable(name, value string) {
	switch {
	case name == "DIALECT" && value == "0":
		in.Bypass = "DIALECT=0"
	case strings.HasPrefix(name, "GIT_CONFIG") && strings.EqualFold(value, "core.hooksPath"):
		in.Bypass = "core.hooksPath"
	case (name == "HUSKY" || name == "LEFTHOOK") && value == "0", name == "SKIP" && slices.Contains(strings.Split(value, ","), "dialect-verify"):
		in.Bypass = name + "=" + value
	}
}

// literal returns the text of a word; ok is false if a part of it is known only when it runs.
func literal(w *syntax.Word) (text string, ok bool) {
	var b strings.Builder
	ok = true
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
			default:
				ok = false
			}
		}
	}
	parts(w.Parts)
	return b.String(), ok
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

func (in *Intent) call(c *syntax.CallExpr, dir *string, depth int) {
	for _, a := range c.Assigns {
		in.assigned(a)
	}
	args := make([]string, len(c.Args))
	for i, w := range c.Args {
		args[i], _ = literal(w)
	}
	in.argv(args, dir, depth)
}

// wrappers run the command that their arguments are, after options; the value is how many further words come before it, and
// flags lists the options that take a value.
var wrappers = map[string]struct {
	skip  int
	flags string
}{
	"command": {}, "builtin": {}, "exec": {}, "env": {0, "uCS"}, "sudo": {0, "ugpCDhRTU"}, "doas": {0, "uC"}, "nohup": {}, "time": {0, "fo"}, "nice": {0, "n"}, "ionice": {0, "cn"},
	"setsid": {}, "stdbuf": {0, "ioe"}, "timeout": {1, "ks"}, "xargs": {0, "IidELlnPs"}, "caffeinate": {}, "rtk": {},
}

func (in *Intent) argv(args []string, dir *string, depth int) {
	for range 16 {
		for len(args) > 0 && isAssignment(args[0]) { // of env
			name, value, _ := strings.Cut(args[0], "=")
			in.variable(name, value)
			args = args[1:]
		}
		if len(args) == 0 {
			return
		}
		w, ok := wrappers[path.Base(args[0])]
		if !ok {
			break
		}
		args = args[1:]
		for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "-" {
			takes := len(args[0]) == 2 && strings.Contains(w.flags, args[0][1:])
			if args = args[1:]; takes && len(args) > 0 {
				args = args[1:]
			}
		}
		args = args[min(w.skip, len(args)):]
	}
	if len(args) == 0 {
		return
	}
	rest := args[1:]
	switch name := strings.TrimSuffix(path.Base(args[0]), ".exe"); name {
	case "cd", "pushd":
		if i := slices.IndexFunc(rest, func(s string) bool { return !strings.HasPrefix(s, "-") }); i >= 0 {
			*dir = join(*dir, rest[i])
		}
	case "sh", "bash", "zsh", "dash", "ksh":
		for i, a := range rest {
			if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "c") && i+1 < len(rest) {
				in.read(rest[i+1], *dir, depth+1)
				break
			}
		}
	case "eval":
		in.read(strings.Join(rest, " "), *dir, depth+1)
	case "export":
		for _, a := range rest {
			n, v, _ := strings.Cut(a, "=")
			in.variable(n, v)
		}
	case "git":
		in.git(rest, *dir)
	case "gh", "glab", "hub", "tea":
		in.forge(name, rest, *dir)
	case "jj":
		if i := slices.Index(rest, "git"); i >= 0 && i+1 < len(rest) && rest[i+1] == "push" {
			in.push(*dir)
		}
	case "dialect":
		if len(rest) > 1 && rest[0] == "hook" && (rest[1] == "off" || rest[1] == "uninstall") {
			in.Bypass = "dialect hook " + rest[1]
		}
	}
}

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

func join(dir, to string) string {
	if filepath.IsAbs(to) || path.IsAbs(to) {
		return to
	}
	return path.Join(dir, filepath.ToSlash(to))
}

func (in *Intent) push(dir string) { in.Push, in.Dir = true, dir }

// gitValues are the options of git itself that take the next word.
var gitValues = []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env"}

// git reads the arguments of git.
func (in *Intent) git(args []string, dir string) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flag, value := args[0], ""
		args = args[1:]
		if slices.Contains(gitValues, flag) && len(args) > 0 {
			value, args = args[0], args[1:]
		} else if f, v, ok := strings.Cut(flag, "="); ok {
			flag, value = f, v
		}
		switch name, _, _ := strings.Cut(value, "="); {
		case flag == "-C":
			dir = join(dir, value)
		case flag == "--work-tree" && value != "":
			dir = join(dir, value)
		case (flag == "-c" || flag == "--config-env") && strings.EqualFold(name, "core.hooksPath"):
			in.Bypass = "core.hooksPath"
		}
	}
	if len(args) == 0 {
		return
	}
	command, rest := args[0], args[1:]
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
		if i > 0 && command == "commit" && (rest[i-1] == "-m" || rest[i-1] == "--message" || rest[i-1] == "-F" || rest[i-1] == "--file") {
			continue // the value of an option
		}
		switch {
		case isNoVerify(a):
			in.Bypass = "--no-verify"
		case command == "commit" && hasShort(a, 'n'):
			in.Bypass = "-n"
		case a == "--dry-run", command == "push" && hasShort(a, 'n'):
			dry = true
		}
	}
	switch command {
	case "commit", "ci":
		if !dry {
			in.Commit, in.Dir = true, dir
		}
	case "push", "send-pack", "request-pull":
		if !dry {
			in.push(dir)
		}
	}
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
func (in *Intent) forge(name string, args []string, dir string) {
	words := slices.DeleteFunc(slices.Clone(args), func(s string) bool { return strings.HasPrefix(s, "-") })
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
		name == "hub" && has("pull-request|push"), name == "tea" && has("pr|pull|pulls", "create|c|merge"), name == "gh" && has("release", "create"):
		in.push(dir)
	}
}

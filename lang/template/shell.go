package template

import (
	"fmt"
	"slices"
	"strings"
)

// A Script is the tool of a binding with shell = true. It is handed to /bin/sh
// as it stands; values arrive as positional parameters and nowhere else.
type Script struct {
	Text  string
	Arity int  // the highest $N that the text mentions
	Rest  bool // it mentions $@ or $*
	open  bool // see ShellOptions
}

// ShellOptions is that of a [Template], for the shells that s starts.
func (s *Script) ShellOptions() bool { return s.open }

// Argv returns the command line that runs s with values as $1, $2, ...
func (s *Script) Argv(values []string) []string {
	return append([]string{"/bin/sh", "-c", s.Text, "sh"}, values...)
}

// ParseScript finds the parameters of a shell script. It follows quotes,
// comments and $( ) far enough for that; here-documents it reads as code. An
// error is a [*Error].
func ParseScript(text string) (*Script, error) {
	s := &Script{Text: text}
	if strings.TrimSpace(text) == "" {
		return nil, &Error{End: len(text), Message: "the script is empty"}
	}
	for t := range shellTokens(text) {
		switch {
		case t.kind == shellParameter && t.number > 0:
			s.Arity = max(s.Arity, t.number)
		case t.kind == shellParameter:
			s.Rest = true
		case t.kind == shellBrace:
			return nil, &Error{Start: t.start, End: t.end,
				Message: fmt.Sprintf("%s in a shell script: no value is ever put into its text", text[t.start:t.end]),
				Hint:    `use "$1", "$2" or "$@"`}
		}
	}
	word, code, open := scriptCode(text)
	if s.open = open; code {
		return nil, &Error{Start: word.start, End: word.end, Message: isCode, Hint: `hand the value over behind the code: sh -c 'grep -r "$1"' sh "$1"`}
	}
	return s, nil
}

// isCode is what is wrong with a tool that makes code of values.
const isCode = "a value would be a part of what a shell reads as code"

// scriptCode looks for a command of a script that hands a value to a shell as code, as [Template.shellCode] does, and for one that hands it over where the
// shell reads its options. It returns the word that names the former command, and sees the words of plain commands alone.
func scriptCode(text string) (first shellToken, found, open bool) {
	command := new(Template)
	var words []shellToken
	varies := false
	for t := range shellTokens(text + "\n") {
		switch t.kind {
		case shellParameter:
			varies = true
		case shellWord:
			p := part{text: strings.Trim(text[t.start:min(t.end, len(text))], `"'`)}
			if varies {
				p.name, p.text = Object, ""
			}
			varies = false
			command.args, words = append(command.args, element{parts: []part{p}}), append(words, t)
		case shellOperator:
			if len(words) > 0 && slices.ContainsFunc(command.args, func(e element) bool { return !e.literal() }) {
				code, options := command.shells()
				if open = open || options; code {
					return words[0], true, open
				}
			}
			command, words, varies = new(Template), nil, false
		}
	}
	return first, false, open
}

// isShell reports whether a program reads code behind -c: by its name, without a version and what else may follow.
func isShell(path string) bool {
	name := strings.ToLower(programName(path))
	name = strings.TrimRight(strings.TrimSuffix(name, "-static"), "0123456789.-")
	return slices.Contains([]string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "pdksh", "oksh", "lksh", "yash", "posh", "rbash", "rksh", "rzsh", "fish", "csh", "tcsh",
		"xonsh", "elvish", "nu", "osh", "ysh", "ion"}, name)
}

// shellCode reports whether a value would become code of a shell that stands among the words of the template, as the program or behind one that starts
// it: the argument behind -c has a placeholder, or is missing, so that the first value takes its place. It knows the usual shells, and how they are
// usually called. What a program makes of its own arguments is for the matrix to say: another interpreter, or one that hands them to a shell.
func (t *Template) shellCode() bool {
	code, _ := t.shells()
	return code
}

// ShellOptions reports whether a value that begins with "-" or "+" would be an option of a shell among the words of the template, such as -c: no script, and no
// code, stands before the first value.
func (t *Template) ShellOptions() bool {
	_, open := t.shells()
	return open
}

// maxLooked bounds how many words are looked at behind those that name shells. Beyond that a tool counts as one that makes code of values.
const maxLooked = 1 << 20

// shells looks for shells among the words: whether a value would be a part of the code of one, and whether one would be where it reads its options.
func (t *Template) shells() (code, open bool) {
	searches := slices.Contains([]string{"grep", "egrep", "fgrep", "rg", "ag", "ack", "pgrep", "pkill"}, programName(t.Program()))
	looked := 0
	first, starts := true, slices.Contains(starters, programName(t.Program()))
	for i, e := range t.args {
		name, args := strings.ToLower(programName(e.text())), t.args[i+1:]
		if i > 0 && strings.Contains(e.text(), "/") && !strings.HasPrefix(e.text(), "/") {
			continue // a package or a folder of the project: go test ./cmd/sh
		}
		sure := i == 0 // else the word may be a pattern, or the argument of an option: -s bash, -name bash. Then only what is like -c and nothing else counts
		if !sure {
			before := t.args[i-1].text()
			sure = !strings.HasPrefix(before, "-") || strings.Contains(before, "=") || slices.Contains([]string{"--", "-exec", "-execdir", "-ok", "-okdir"}, before) ||
				starts
		}
		if isShell(name) || slices.Contains([]string{"pwsh", "powershell", "cmd"}, name) {
			if looked += len(args); looked > maxLooked {
				return true, true
			}
		}
		c, o := false, false
		switch {
		case searches && i > 0:
		case e.quotesCode(args):
			c = true
		case isShell(name):
			c, o = codeBehind(args, name == "fish", sure)
			o, first = o && sure && first && (i == 0 || starts), first && !sure // behind a shell that has its code another name of one is a word like others
		case name == "pwsh", name == "powershell":
			c = codeOfPowerShell(args, name == "powershell")
		case name == "cmd":
			c = codeOfCmd(args)
		}
		code, open = code || c, open || o
	}
	return code, open
}

// starters are programs that do nothing but start the program that their arguments name, behind options that take no argument, too.
var starters = []string{"env", "setsid", "time", "stdbuf", "unshare", "nsenter", "ionice", "nice", "nohup", "chrt", "taskset", "watch", "timeout", "sudo", "doas", "chroot", "prlimit", "setpriv", "setarch", "strace", "xargs", "busybox", "flock", "script"}

// announces reports whether a word is a few options of a shell in one, the last of which announces code: -c, -lc, -dfc.
func announces(w string) bool {
	letters, ok := strings.CutSuffix(w, "c")
	return ok && len(letters) > 0 && len(letters) <= 5 && (w[0] == '-' || w[0] == '+') && isLetters(letters[1:]) && !strings.Contains(letters, "c")
}

func isLetters(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }) < 0
}

// varies reports whether one of args is not literal, or there is none, so that values take its place.
func varies(args []element) bool {
	return len(args) == 0 || slices.ContainsFunc(args, func(e element) bool { return !e.literal() })
}

// quotesCode reports whether one word names a shell and announces code, as for `env -S`, and has a value behind that, or gets it from args.
func (e element) quotesCode(args []element) bool {
	shell, announced := false, false
	for _, p := range e.parts {
		if p.name != "" {
			if announced {
				return true
			}
			continue
		}
		for w := range strings.FieldsSeq(p.text) {
			w = strings.Trim(w[strings.LastIndexByte(w, '=')+1:], `"'`)
			announced = announced && len(e.parts) > 1 || shell && announces(w)
			shell = shell || isShell(strings.ToLower(w)) && strings.TrimSpace(p.text) != w
		}
	}
	return announced && len(e.parts) == 1 && varies(args[:min(1, len(args))])
}

// codeBehind reports whether the code that a shell of Unix would read is, or would be, a value, and whether a value stands where it reads options. If it is
// not sure that this is a shell, words of options other than what is like -c announce nothing.
func codeBehind(args []element, fish, sure bool) (code, open bool) {
	announced, takes := false, false // an argument behind an option that takes one, as -o does
	for i, a := range args {
		w := a.text()
		option := w != "" && (w[0] == '-' || w[0] == '+')
		switch {
		case strings.HasPrefix(w, "--command=") || strings.HasPrefix(w, "--init-command="):
			return !a.literal(), false
		case option && !a.literal():
			return announced || sure, sure // a value decides which option it is
		case w == "--" && !announced:
			return false, i+1 == len(args) || !args[i+1].literal()
		case !option:
			if !takes {
				return announced && !a.literal(), !announced && !a.literal() // else the name of a script
			}
			takes = false
			continue
		}
		cluster := len(w) > 1 && isLetters(w[1:])
		if announces(w) || sure && cluster && strings.Contains(w, "c") || fish && cluster && strings.Contains(w, "C") || strings.HasPrefix(w, "--command") || w == "--init-command" {
			announced = true
		}
		takes = cluster && strings.ContainsAny(w, "oO") || w == "--rcfile" || w == "--init-file"
	}
	return announced, true
}

// codeOfPowerShell is codeBehind for PowerShell. What stands behind -Command is one text; without it Windows PowerShell takes what it is given for code.
func codeOfPowerShell(args []element, windows bool) bool {
	for i, a := range args {
		w := strings.ToLower(a.text())
		if strings.HasPrefix(w, "--") {
			w = w[1:]
		}
		switch {
		case a.literal() && len(w) > 1 && strings.HasPrefix("-commandwithargs", w), a.literal() && w == "-cwa":
			return varies(args[i+1:])
		case a.literal() && len(w) > 1 && strings.HasPrefix("-file", w):
			return false
		}
	}
	return windows && varies(args)
}

// codeOfCmd is codeBehind for cmd of Windows.
func codeOfCmd(args []element) bool {
	for i, a := range args {
		w := strings.ToLower(a.text())
		if !a.literal() || !strings.HasPrefix(w, "/") {
			return false
		}
		if w == "/c" || w == "/k" {
			return varies(args[i+1:])
		}
	}
	return false
}

type shellTokenKind uint8

const (
	shellParameter shellTokenKind = iota // $1, ${10}, $@, ${@}, $*
	shellBrace                           // {name}, as if it were a template
	shellOperator                        // | || & && ; and line ends, outside quotes
	shellWord
)

type shellToken struct {
	kind       shellTokenKind
	start, end int
	number     int // of a parameter; 0 for $@ and $*
}

// shellTokens yields what matters of a script. Words are those outside quotes
// and substitutions, cut at white space and operators.
func shellTokens(text string) func(yield func(shellToken) bool) {
	return func(yield func(shellToken) bool) {
		// The stack holds what has to be closed: " or ), innermost last.
		var stack []byte
		inside := func(c byte) bool { return len(stack) > 0 && stack[len(stack)-1] == c }
		word := -1
		endWord := func(i int) bool {
			start := word
			word = -1
			return start < 0 || len(stack) > 0 || yield(shellToken{kind: shellWord, start: start, end: i})
		}
		for i := 0; i < len(text); i++ {
			c, rest := text[i], text[i:]
			switch {
			case c == '\\':
				if word < 0 {
					word = i
				}
				i++
				continue
			case c == '\'' && !inside('"'):
				if word < 0 {
					word = i
				}
				n := strings.IndexByte(rest[1:], '\'')
				if n < 0 {
					n = len(rest) - 2
				}
				quoted := rest[:min(n+2, len(rest))]
				for _, name := range [...]string{"{" + Object + "}", "{" + Preposition + "}", "{" + Rest + "...}"} {
					if j := strings.Index(quoted, name); j >= 0 && !yield(shellToken{kind: shellBrace, start: i + j, end: i + j + len(name)}) {
						return
					}
				}
				i += len(quoted) - 1
				continue
			case c == '"':
				if word < 0 {
					word = i
				}
				if inside('"') {
					stack = stack[:len(stack)-1]
				} else {
					stack = append(stack, '"')
				}
				continue
			case c == '$':
				if word < 0 {
					word = i
				}
				if strings.HasPrefix(rest, "$(") {
					stack = append(stack, ')')
					i++
					continue
				}
				if t, ok := parameter(rest); ok {
					if !yield(shellToken{kind: shellParameter, start: i, end: i + t.end, number: t.number}) {
						return
					}
				}
				if strings.HasPrefix(rest, "${") {
					i++ // its brace is not a placeholder
				}
				continue
			case c == '{':
				end := 1
				for end < len(rest) && (IsNameByte(rest[end]) || rest[end] == '-' || rest[end] == '.') {
					end++
				}
				if end < len(rest) && rest[end] == '}' && IsName(strings.TrimSuffix(rest[1:end], "...")) {
					if !yield(shellToken{kind: shellBrace, start: i, end: i + end + 1}) {
						return
					}
				}
			case inside('"'):
				continue
			case c == '(':
				stack = append(stack, ')')
				continue
			case c == ')':
				if inside(')') {
					stack = stack[:len(stack)-1]
				}
				continue
			case c == '#' && word < 0:
				n := strings.IndexByte(rest, '\n')
				if n < 0 {
					return
				}
				i += n - 1
				continue
			case c == ' ' || c == '\t' || c == '\r':
				if !endWord(i) {
					return
				}
				continue
			case c == '|' || c == '&' || c == ';' || c == '\n':
				if c == '&' && i > 0 && (text[i-1] == '>' || text[i-1] == '<') || c == '|' && i > 0 && text[i-1] == '>' {
					break // 2>&1, >|
				}
				if !endWord(i) {
					return
				}
				n := 1
				if len(rest) > 1 && rest[1] == c && c != '\n' {
					n = 2
				}
				if len(stack) == 0 && !yield(shellToken{kind: shellOperator, start: i, end: i + n}) {
					return
				}
				i += n - 1
				continue
			}
			if word < 0 {
				word = i
			}
		}
		endWord(len(text))
	}
}

// parameter reads the positional parameter that s, which begins with "$", begins
// with; end is its length.
func parameter(s string) (t shellToken, ok bool) {
	i := 1
	braced := strings.HasPrefix(s, "${")
	if braced {
		i = 2
		if strings.HasPrefix(s[i:], "#") { // ${#1}: its length
			i++
		}
	}
	switch {
	case i == len(s):
		return t, false
	case s[i] == '@' || s[i] == '*':
		return shellToken{end: i + 1}, true
	}
	start := i
	for i < len(s) && '0' <= s[i] && s[i] <= '9' && (braced || i == start) && i < start+4 {
		t.number = t.number*10 + int(s[i]-'0')
		i++
	}
	t.end = i
	return t, t.number > 0
}

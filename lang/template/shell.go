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
	word, code, open := scriptCode(text, 0)
	if s.open = open; code {
		return nil, &Error{Start: word.start, End: word.end, Message: isCode, Hint: `hand the value over behind the code: sh -c 'grep -r "$1"' sh "$1"`}
	}
	return s, nil
}

// isCode is what is wrong with a tool that makes code of values.
const isCode = "a value would be a part of what a shell reads as code"

// maxGroups bounds how deep ( ), $( ) and backquotes may be nested around a value. Each level reads what it holds once more, so that a script costs this
// many times its length at most. A script that is deeper counts as one that makes code of values.
const maxGroups = 16

// scriptCode looks for a command of a script that hands a value to a shell as code, as [Template.shells] does, and for one that hands it over where the
// shell reads its options. It returns the word that names the former command. It looks into groups, depth being how many are around text, and knows
// neither what a variable holds nor what stands in quotes.
func scriptCode(text string, depth int) (_ shellToken, found, open bool) {
	var words []scriptWord
	varies, value := false, -1 // value is where the last parameter begins
	for t := range shellTokens(text + "\n") {
		t.end = min(t.end, len(text))
		switch t.kind {
		case shellParameter:
			varies, value = true, t.start
		case shellGroup:
			inner := text[t.start:t.end]
			quoted := text[t.start-1] == '`' // within these a backslash takes the meaning from the next $, ` and backslash once more
			if !quoted && value < t.start {
				continue
			}
			if depth == maxGroups {
				return t, true, true
			}
			if quoted {
				inner = strings.NewReplacer("\\\\", "\\", "\\`", "`", "\\$", "$").Replace(inner)
			}
			word, code, options := scriptCode(inner, depth+1)
			if open = open || options; code {
				if word.start, word.end = word.start+t.start, word.end+t.start; quoted {
					word = t
				}
				return word, true, open
			}
		case shellWord:
			words = append(words, scriptWord{t, text[t.start:t.end], varies})
			varies = false
		case shellOperator:
			words = program(words)
			command := new(Template)
			for _, w := range words {
				command.args = append(command.args, w.element())
			}
			if slices.ContainsFunc(command.args, func(e element) bool { return !e.literal() }) {
				code, options := command.shells()
				if open = open || options; code {
					return words[0].shellToken, true, open
				}
			}
			words, varies = nil, false
		}
	}
	return shellToken{}, false, open
}

// A scriptWord is a word of a command of a script.
type scriptWord struct {
	shellToken
	text   string
	varies bool // it has a parameter
}

// element returns w without its quotes and what it redirects.
func (w scriptWord) element() element {
	if w.varies {
		return element{parts: []part{{name: Object}}}
	}
	text := w.text
	if i := strings.IndexAny(text, "<>"); i > 0 && !strings.ContainsAny(text, "\"'`(\\") {
		text = text[:i]
	}
	return element{parts: []part{{text: strings.NewReplacer("\\\n", "", "\\", "", `"`, "", "'", "").Replace(text)}}}
}

// program returns the words of a command from its program on, without redirections.
func program(words []scriptWord) []scriptWord {
	kept := words[:0:0]
	for i := 0; i < len(words); i++ {
		rest := strings.TrimLeft(words[i].text, "0123456789")
		target := strings.TrimLeft(rest, "<>&|-")
		switch {
		case rest == "" || rest[0] != '<' && rest[0] != '>' || strings.HasPrefix(target, "("):
			kept = append(kept, words[i])
		case target == "" && !strings.HasSuffix(rest, "&-"):
			i++ // the next word is the target
		}
	}
	for len(kept) > 0 {
		w := kept[0].text
		name, _, assigns := strings.Cut(w, "=")
		name, _, _ = strings.Cut(strings.TrimSuffix(name, "+"), "[")
		switch {
		case assigns && IsName(name), strings.HasPrefix(w, "("), strings.HasSuffix(w, "()"), strings.HasSuffix(w, "(){"):
			kept = kept[1:]
		case w == "function":
			kept = kept[min(2, len(kept)):]
		case slices.Contains([]string{"!", "{", "if", "then", "elif", "else", "while", "until", "do", "coproc", "builtin"}, w):
			kept = kept[1:]
		case w == "exec" || w == "command" || w == "time":
			for kept = kept[1:]; len(kept) > 0 && strings.HasPrefix(kept[0].text, "-") && !strings.ContainsAny(kept[0].text, "vV"); kept = kept[1:] {
				if w == "exec" && strings.HasSuffix(kept[0].text, "a") && len(kept) > 1 {
					kept = kept[1:] // the name that the program gets
				}
			}
		default:
			return kept
		}
	}
	return nil
}

// isShell reports whether a program reads code behind -c: by its name, without a version and what else may follow.
func isShell(path string) bool {
	name := strings.ToLower(programName(path))
	name = strings.TrimRight(strings.TrimSuffix(name, "-static"), "0123456789.-")
	return slices.Contains([]string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "pdksh", "oksh", "lksh", "yash", "posh", "rbash", "rksh", "rzsh", "fish", "csh", "tcsh",
		"xonsh", "elvish", "nu", "osh", "ysh", "ion"}, name)
}

// ShellOptions reports whether a value that begins with "-" or "+" would be an option of a shell among the words of the template, such as -c: no script, and no
// code, stands before the first value.
func (t *Template) ShellOptions() bool { return t.open }

// maxLooked bounds how many words are looked at behind those that name shells. Beyond that a tool counts as one that makes code of values.
const maxLooked = 1 << 20

// shells looks for shells among the words, as the program or behind one that starts it: whether a value would be a part of the code of one, as the argument
// behind -c has a placeholder, or is missing, so that the first value takes its place; and whether one would be where it reads its options. It knows the
// usual shells, and how they are usually called. What a program makes of its own arguments is for the matrix to say: another interpreter, or one that hands
// them to a shell.
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
	shellOperator                        // | || & && ; line ends, and the ) of a case, outside quotes and groups
	shellWord
	shellGroup // what stands within the outermost ( ), $( ) or backquotes
)

type shellToken struct {
	kind       shellTokenKind
	start, end int
	number     int // of a parameter; 0 for $@ and $*
}

// shellTokens yields what matters of a script. Words are those outside groups, cut at white space and operators outside quotes. A group comes
// before the word that it is a part of, and a parameter before the group; one that is never closed ends with the text.
func shellTokens(text string) func(yield func(shellToken) bool) {
	return func(yield func(shellToken) bool) {
		// The stack holds what has to be closed: " or ) or `, innermost last.
		var stack []byte
		groups, group := 0, 0 // how many of those are groups, and where the text of the outermost begins
		inside := func(c byte) bool { return len(stack) > 0 && stack[len(stack)-1] == c }
		enter := func(c byte, at int) {
			stack = append(stack, c)
			if groups++; groups == 1 {
				group = at
			}
		}
		leave := func(i int) bool {
			stack = stack[:len(stack)-1]
			groups--
			return groups > 0 || yield(shellToken{kind: shellGroup, start: group, end: i})
		}
		word := -1
		begin := func(i int) {
			if word < 0 {
				word = i
			}
		}
		endWord := func(i int) bool {
			if len(stack) > 0 {
				return true
			}
			start := word
			word = -1
			return start < 0 || yield(shellToken{kind: shellWord, start: start, end: i})
		}
		next := true // a word, or a comment, may begin here
		for i := 0; i < len(text); i++ {
			c, rest := text[i], text[i:]
			fresh := next
			next = false
			switch {
			case c == '\\':
				if strings.HasPrefix(rest, "\\\n") {
					next = fresh
				} else {
					begin(i)
				}
				i++
				continue
			case c == '\'' && !inside('"'):
				begin(i)
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
				begin(i)
				if inside('"') {
					stack = stack[:len(stack)-1]
				} else {
					stack = append(stack, '"')
				}
				continue
			case c == '$':
				begin(i)
				if strings.HasPrefix(rest, "$(") {
					enter(')', i+2)
					i++
					next = true
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
			case c == '`' && inside('`'):
				if !leave(i) {
					return
				}
				continue
			case c == '`':
				begin(i)
				enter('`', i+1)
				next = true
				continue
			case inside('"'):
				continue
			case c == '(':
				begin(i)
				enter(')', i+1)
				next = true
				continue
			case c == ')' && inside(')'):
				if !leave(i) {
					return
				}
				continue
			case c == ')' && len(stack) == 0:
				if next = true; !endWord(i) || !yield(shellToken{kind: shellOperator, start: i, end: i + 1}) {
					return
				}
				continue
			case c == '#' && fresh:
				n := strings.IndexByte(rest, '\n')
				if n < 0 {
					n = len(rest)
				}
				next = true
				i += n - 1
				continue
			case c == ' ' || c == '\t' || c == '\r':
				if next = true; !endWord(i) {
					return
				}
				continue
			case c == '|' || c == '&' || c == ';' || c == '\n':
				if c == '&' && i > 0 && (text[i-1] == '>' || text[i-1] == '<') || c == '|' && i > 0 && text[i-1] == '>' {
					break // 2>&1, >|
				}
				if next = true; !endWord(i) {
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
			begin(i)
		}
		if groups > 0 && !yield(shellToken{kind: shellGroup, start: min(group, len(text)), end: len(text)}) {
			return
		}
		if word >= 0 {
			yield(shellToken{kind: shellWord, start: word, end: len(text)})
		}
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

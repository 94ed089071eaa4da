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
}

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
	return s, nil
}

// isShell reports whether a program reads code behind -c: by its name, without a version and what else may follow.
func isShell(path string) bool {
	name := strings.ToLower(programName(path))
	name = strings.TrimRight(strings.TrimSuffix(name, "-static"), "0123456789.-")
	return slices.Contains([]string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "pdksh", "oksh", "lksh", "yash", "posh", "rbash", "rksh", "rzsh", "fish", "csh", "tcsh",
		"xonsh", "elvish", "nu", "osh", "ysh", "ion"}, name)
}

// shellCode reports whether a value would become code of a shell that stands among the words of the template, as the program or behind one that starts
// it: the argument behind -c has a placeholder, or is missing, so that the first value takes its place. What a program makes of its own arguments is for
// the matrix to say: another interpreter, or one that hands them to a shell.
func (t *Template) shellCode() bool {
	searches := slices.Contains([]string{"grep", "egrep", "fgrep", "rg", "ag", "ack", "pgrep", "pkill"}, programName(t.Program()))
	for i, e := range t.args {
		switch name := strings.ToLower(programName(e.text())); {
		case i > 0 && (searches || slices.Contains([]string{"-name", "-iname", "-path", "-e"}, t.args[i-1].text())):
			continue // a pattern
		case isShell(name), name == "pwsh", name == "powershell", name == "cmd":
			if t.codeBehind(name, t.args[i+1:]) {
				return true
			}
		}
	}
	return false
}

// codeBehind reports whether the code that a shell would read is, or would be, a value.
func (t *Template) codeBehind(shell string, args []element) bool {
	announced, takes := false, false // an argument behind an option that takes one, as -o does
	for _, a := range args {
		w := a.text()
		option := a.literal() && w != "" && strings.ContainsRune("-+", rune(w[0]))
		cluster := option && len(w) > 1 && !strings.HasPrefix(w, "--")
		flag := cluster && w[0] == '-' && strings.Contains(w, "c") || w == "--command"
		switch shell {
		case "pwsh", "powershell":
			flag = a.literal() && len(w) > 1 && strings.HasPrefix("-command", strings.ToLower(w))
		case "cmd":
			flag = a.literal() && (strings.EqualFold(w, "/c") || strings.EqualFold(w, "/k"))
		}
		switch {
		case flag:
			announced = true
		case strings.HasPrefix(w, "--command=") && option:
			return !a.literal()
		case !option && !takes && announced:
			return !a.literal()
		case !option && !takes:
			return strings.HasPrefix(w, "--command=") && !a.literal() // else the name of a script
		}
		takes = cluster && strings.ContainsAny(w, "oO") || w == "--rcfile" || w == "--init-file"
	}
	return announced
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

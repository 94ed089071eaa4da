package habit

import (
	"slices"
	"strings"
)

// Parse returns the commands of a text that a shell would run, the file source. It is not a shell: it
// splits at operators and spaces, obeys quotes, and looks at nothing inside of $(...).
func Parse(source, text string) (list []Command) {
	var words []string
	var word strings.Builder
	started, odd := false, false
	flush := func() {
		if started {
			words = append(words, word.String())
		}
		word.Reset()
		started = false
	}
	end := func() {
		flush()
		if c, ok := command(words); ok {
			c.Source, c.Plain = source, c.Plain && !odd
			list = append(list, c)
		}
		words, odd = nil, false
	}
	text = unbroken(text)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\t', '\r':
			flush()
		case '\n', ';', '|', '&', '(', ')':
			if c == '(' && started {
				odd = true
			}
			end()
		case '#':
			if started {
				word.WriteByte(c)
				break
			}
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case '\'', '"':
			started = true
			n := strings.IndexByte(text[i+1:], c)
			if n < 0 {
				n = len(text) - i - 1
			}
			word.WriteString(text[i+1 : i+1+n])
			i += n + 1
		case '>', '<':
			odd = true
			word.WriteByte(c)
			started = true
		case '$', '`', '*', '?', '{', '}':
			if n := expansion(text[i:]); n > 0 {
				odd, started = true, true
				word.WriteString(text[i : i+n])
				i += n - 1
				break
			}
			odd = true
			started = true
			word.WriteByte(c)
		default:
			started = true
			word.WriteByte(c)
		}
	}
	end()
	return list
}

// expansion returns the length of the $(...) or ${...} that text begins with; 0 if it begins with none.
func expansion(text string) int {
	if len(text) < 2 || text[0] != '$' || text[1] != '(' && text[1] != '{' {
		return 0
	}
	closing := map[byte]byte{'(': ')', '{': '}'}[text[1]]
	depth := 0
	for i := 1; i < min(len(text), 256); i++ {
		switch text[i] {
		case text[1]:
			depth++
		case closing:
			if depth--; depth == 0 {
				return i + 1
			}
		case '\n':
			return 0
		}
	}
	return 0
}

// starters are what runs the command after it, with the flags that take a value.
var starters = map[string][]string{
	"uv run": {"--with", "--python", "-p", "--group", "--extra", "--package", "--only-group", "--no-group", "--project", "--directory"}, "poetry run": nil, "pdm run": {"-p"},
	"hatch run": nil, "pipenv run": nil, "rye run": nil, "hatch -e": nil,
	"npx": {"-p", "--package"}, "bunx": nil, "pnpm exec": nil, "yarn exec": nil, "npm exec": nil, "pnpm dlx": nil, "go tool": nil,
	"sudo": nil, "time": nil, "exec": nil, "command": nil, "env": nil, "xvfb-run": nil, "then": nil, "do": nil, "if": nil, "!": nil, "else": nil, "coverage run": {"--source", "--rcfile"}, "nice": nil,
	"cross-env": nil, "c8": nil, "nyc": nil,
}

// command reads the words of one command; ok is false where there is none.
func command(words []string) (c Command, ok bool) {
	words = slices.Clone(words)
	if len(words) > 0 {
		words[0] = strings.TrimLeft(words[0], "@-+")
	}
	for range 8 { // how deep starters nest
		for len(words) > 0 && (words[0] == "" || isAssignment(words[0])) {
			words = words[1:]
		}
		if len(words) == 0 {
			return c, false
		}
		first := base(words[0])
		if isPython(first) {
			i := slices.Index(words, "-m")
			if i < 0 || i+1 >= len(words) || slices.ContainsFunc(words[1:i], func(w string) bool { return strings.HasSuffix(w, ".py") }) {
				break
			}
			words = words[i+1:]
			continue
		}
		values, starts := starters[first]
		n := 1
		if !starts && len(words) > 1 {
			values, starts = starters[first+" "+words[1]]
			n = 2
		}
		if first == "go" && len(words) > 2 && words[1] == "run" && strings.Contains(words[2], "@") {
			name, _, _ := strings.Cut(words[2], "@")
			words = append([]string{name}, words[3:]...)
			continue
		}
		if !starts {
			break
		}
		for n < len(words) && strings.HasPrefix(words[n], "-") {
			flag := words[n]
			n++
			if flag == "--" || flag == "-m" {
				break
			}
			if slices.Contains(values, flag) {
				n++
			}
		}
		words = words[min(n, len(words)):]
	}
	if len(words) == 0 {
		return c, false
	}
	c.Program, c.Args = base(words[0]), words[1:]
	c.Plain = !slices.ContainsFunc(words, func(w string) bool { return !IsPlain(w) })
	return c, true
}

func isPython(name string) bool {
	if strings.HasPrefix(name, "$") || strings.HasPrefix(name, "{env") {
		return strings.Contains(strings.ToLower(name), "python")
	}
	rest, ok := strings.CutPrefix(name, "python")
	return ok && strings.Trim(rest, "0123456789.") == ""
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

// IsPlain reports whether a word means itself to a shell and to a template.
func IsPlain(word string) bool {
	return word != "" && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789-./=,:+@%") == ""
}

// Changes reports whether a command changes the files that it looks at, by its flags.
func (c Command) Changes() bool {
	for _, a := range c.Args {
		switch a {
		case "--fix", "--write", "-w", "--in-place", "-i", "--autofix", "--unsafe", "--apply", "-u", "--update":
			return true
		}
		if strings.HasPrefix(a, "--fix=") {
			return true
		}
	}
	return false
}

package template

import (
	"path/filepath"
	"slices"
	"strings"
)

// A looker is a program that changes no file of the project if it is given one of some flags, and none of
// some others. Its entry is from the program's own documentation; a program of which that is not known is not
// here, and its verb decides.
type looker struct {
	program string
	command string   // the subcommand; empty if it has none
	flags   []string // one of them is needed; none if the subcommand alone says it
	unless  []string // and none of these; they write
}

// Where a flag only keeps a default from applying (eslint without --fix), or a file of configuration can turn the
// fixing on (ruff check), its absence is not enough: a flag must say that nothing is written.
var lookers = [...]looker{
	{"gofmt", "", []string{"-l", "--l", "-d", "--d"}, []string{"-w", "-cpuprofile"}},
	{"goimports", "", []string{"-l", "--l", "-d", "--d"}, []string{"-w", "-cpuprofile", "-memprofile", "-trace"}},
	{"gofumpt", "", []string{"-l", "--l", "-d", "--d"}, []string{"-w", "-cpuprofile"}},
	{"black", "", []string{"--check", "--diff"}, nil},
	{"ruff", "format", []string{"--check", "--diff"}, nil},
	{"ruff", "check", []string{"--no-fix", "--diff"}, []string{"--fix", "--fix-only", "--add-noqa", "-o", "--output-file"}},
	{"isort", "", []string{"--check", "--check-only", "-c", "--diff"}, nil},
	{"yapf", "", []string{"--diff", "-d"}, []string{"-i", "--in-place"}},
	{"prettier", "", []string{"--check", "-c", "--list-different", "-l"}, []string{"--write", "-w"}},
	{"biome", "ci", nil, []string{"--write", "--fix", "--apply"}},
	{"rustfmt", "", []string{"--check"}, []string{"--emit", "--print-config"}},
	{"cargo", "fmt", []string{"--check"}, []string{"--emit", "--print-config"}},
	{"shfmt", "", []string{"-d", "--diff", "-l", "--list"}, []string{"-w", "--write"}},
	{"clang-format", "", []string{"-n", "--dry-run"}, []string{"-i"}},
	{"terraform", "fmt", []string{"-check"}, []string{"-write"}},
	{"tofu", "fmt", []string{"-check"}, []string{"-write"}},
	{"deno", "fmt", []string{"--check"}, nil},
	{"mix", "format", []string{"--check-formatted"}, nil},
	{"zig", "fmt", []string{"--check"}, nil},
	{"stylua", "", []string{"--check"}, nil},
	{"dialect", "fmt", []string{"--check", "--diff"}, nil},
}

// Looks reports whether the tool of t is known to only look, whatever values a line gives it; flags says
// whether these may begin with "-".
func (t *Template) Looks(flags bool) bool {
	words := make([]string, 0, len(t.args))
	for _, e := range t.args {
		switch {
		case e.literal():
			words = append(words, e.text())
		case flags, !e.rest && e.parts[0].name == "" && strings.HasPrefix(e.parts[0].text, "-"):
			return false // a value decides which option it is
		default:
			words = append(words, "") // an operand: no option begins with a value
		}
	}
	words = behindLaunchers(words)
	if len(words) == 0 {
		return false
	}
	program := programName(words[0])
	for i := range lookers {
		if l := &lookers[i]; l.program == program && l.looks(words[1:]) {
			return true
		}
	}
	return false
}

// looks reports whether args, those of the program, make it only look.
func (l *looker) looks(args []string) bool {
	asked := len(l.flags) == 0
	command := l.command == ""
	for i, w := range args {
		switch {
		case w == "--" && l.program == "cargo": // rustfmt's options follow
		case w == "--":
			return asked && command
		case slices.Contains(l.flags, w):
			asked = true
		case l.unmakes(w):
			return false
		case !command && !strings.HasPrefix(w, "-") && !(l.program == "cargo" && i == 0 && strings.HasPrefix(w, "+")):
			if w != l.command {
				return false
			}
			command = true
		}
	}
	return asked && command
}

// unmakes reports whether the option w is one of those with which the program writes, in any way to spell
// it: with a value, with one dash or two, abbreviated, or in a bundle of short ones. It may see one where
// there is none; then the verb decides.
func (l *looker) unmakes(w string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
	if !strings.HasPrefix(w, "-") || name == "" {
		return false
	}
	for _, u := range l.unless {
		u = strings.TrimLeft(u, "-")
		switch {
		case name == u:
			return true
		case len(u) == 1 && !strings.HasPrefix(w, "--") && strings.Contains(name, u):
			return true
		case len(u) > 1 && len(name) > 1 && strings.HasPrefix(w, "--") && strings.HasPrefix(u, name):
			return true
		}
	}
	return false
}

// programName returns the name of a program without its folder and the ending that Windows gives it.
func programName(path string) string {
	name := filepath.Base(filepath.ToSlash(path))
	for _, end := range [...]string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

// behindLaunchers returns the command line that words start, without the programs that only start another:
// "env A=1 python3 -m black --check" is "black --check". An option of a launcher that is not known ends the search.
func behindLaunchers(words []string) []string {
	for len(words) > 1 {
		rest := words[1:]
		skip := func(known ...string) {
			for len(rest) > 0 && slices.Contains(known, rest[0]) {
				rest = rest[1:]
			}
		}
		then := func(command string) bool {
			ok := rest[0] == command
			rest = rest[1:]
			return ok
		}
		ok := true
		switch program := programName(words[0]); program {
		case "env":
			for len(rest) > 0 && strings.Contains(rest[0], "=") && !strings.HasPrefix(rest[0], "-") {
				rest = rest[1:]
			}
		case "npx":
			skip("--no-install", "--no", "--yes", "-y")
		case "uvx":
		case "uv":
			ok = then("run")
			skip("--frozen", "--locked", "--no-sync", "--offline", "--quiet", "-q")
		case "poetry":
			ok = then("run")
		case "pnpm":
			ok = then("exec")
		case "go":
			ok = then("tool")
		default:
			version, python := strings.CutPrefix(program, "python")
			if !python || strings.Trim(version, "0123456789.") != "" || rest[0] != "-m" {
				return words
			}
			rest = rest[1:]
		}
		if !ok || len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
			return words
		}
		words = rest
	}
	return words
}

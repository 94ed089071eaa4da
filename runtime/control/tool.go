package control

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/plan"
)

// A Tool is what bindings of one verb and noun run, and how that is broken.
type Tool struct {
	Verb    string
	Nouns   []string
	Control plan.Control
}

// runners are programs that run what a file of the project says, and those files.
var runners = map[string][]string{
	"make": {"GNUmakefile", "makefile", "Makefile"}, "gmake": {"GNUmakefile", "makefile", "Makefile"}, "just": {"justfile", "Justfile", ".justfile"},
	"npm": {"package.json"}, "pnpm": {"package.json"}, "yarn": {"package.json"}, "bun": {"package.json"},
	"tox": {"tox.ini"}, "nox": {"noxfile.py"}, "task": {"Taskfile.yml", "Taskfile.yaml"}, "rake": {"Rakefile"},
}

// Find returns how the check of a step is broken: as its binding says, else as the tool of its verb and noun is, else as the
// tool is whose words are in its command, or in the file of the project that the command runs. Where there are
// several the nonce chooses.
func Find(s *plan.Step, tools []Tool, files Files, nonce string) (plan.Control, bool) {
	if !s.Control.IsZero() {
		return s.Control, true
	}
	for _, t := range tools {
		if t.Verb == s.Verb && slices.Contains(t.Nouns, s.Noun) {
			return t.Control, true
		}
	}
	found := inText(strings.Join(s.Argv, "\n"), tools)
	if len(found) == 0 {
		found = inText(runs(s, files), tools)
	}
	if len(found) == 0 {
		return plan.Control{}, false
	}
	t := Trial{step: s, nonce: nonce}
	slices.SortFunc(found, func(a, b Tool) int {
		return cmp.Compare(t.order(strings.Join(a.Control.Tools, "\x00")), t.order(strings.Join(b.Control.Tools, "\x00")))
	})
	return found[0].Control, true
}

// inText returns the tools whose words a text has, but for those whose words are a part of another's.
func inText(text string, tools []Tool) (found []Tool) {
	var words []string
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'`(){};|&,$=@", r) }) {
		w = path.Base(w)
		for _, end := range []string{".exe", ".cmd", ".mjs", ".cjs", ".js"} {
			w = strings.TrimSuffix(w, end)
		}
		words = append(words, w)
	}
	most := make(map[int]int) // where in words -> how many of them a tool has
	type hit struct {
		tool   Tool
		at, of int
	}
	var hits []hit
	for _, t := range tools {
		for _, name := range t.Control.Tools {
			want := strings.Fields(name)
			for at := range words {
				if has(words[at:], want) {
					hits = append(hits, hit{t, at, len(want)})
					most[at] = max(most[at], len(want))
				}
			}
		}
	}
	seen := make(map[string]bool)
	for _, h := range hits {
		if key := strings.Join(h.tool.Control.Tools, "\x00") + "\x00" + h.tool.Verb; h.of == most[h.at] && !seen[key] {
			seen[key] = true
			found = append(found, h.tool)
		}
	}
	return found
}

// has reports whether words begin with those of want, with nothing but flags between them.
func has(words, want []string) bool {
	if len(want) == 0 || len(words) == 0 || words[0] != want[0] {
		return false
	}
	i := 1
	for _, w := range words[1:] {
		switch {
		case i == len(want):
			return true
		case w == want[i]:
			i++
		case w[0] != '-' && w[0] != '+':
			return false
		}
	}
	return i == len(want)
}

// runs returns the text of the files of the project that the command of a step runs.
func runs(s *plan.Step, files Files) string {
	var text strings.Builder
	read := func(name string) (string, bool) {
		name = path.Join(files.Place, name)
		if !slices.Contains(files.List, name) {
			return "", false
		}
		content, err := files.Read(name)
		return string(content), err == nil && len(content) < 1<<20
	}
	for i, arg := range s.Argv {
		names, isRunner := runners[path.Base(arg)]
		if !isRunner {
			if content, ok := read(strings.TrimPrefix(arg, "./")); ok && (strings.HasPrefix(content, "#!") || strings.HasSuffix(arg, ".sh")) {
				text.WriteString(content)
			}
			continue
		}
		for _, name := range names {
			content, ok := read(name)
			if !ok {
				continue
			}
			for _, goal := range append(slices.Clone(s.Argv[i+1:]), "") {
				if part := section(content, goal); goal != "" && part != "" {
					text.WriteString(part + "\n")
				} else if goal == "" && text.Len() == 0 {
					text.WriteString(content)
				}
			}
			break
		}
	}
	return text.String()
}

// section returns what a file of a runner has for a goal: the value of a member of JSON, or the indented lines after
// a line that begins with it and a colon.
func section(content, goal string) string {
	if goal == "" || goal[0] == '-' {
		return ""
	}
	if m := regexp.MustCompile(`"` + regexp.QuoteMeta(goal) + `"\s*:\s*"((?:[^"\\]|\\.)*)"`).FindStringSubmatch(content); m != nil {
		return m[1]
	}
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(goal) + `\b[^:=\n]*:(.*\n(?:[ \t]+.*\n?|\n)*)`).FindStringSubmatch(content)
	if m == nil {
		return ""
	}
	return m[1]
}

package voice

import (
	"io"
	"strings"
	"unicode"
)

// Completions returns a writer to w of what the shell may complete: a name in each Write, perhaps with a description after a tab. bash
// puts the common beginning of several on the user's command line, unquoted, and takes their descriptions for a part of them. A project
// chooses the names of its bindings and of files; so a name with anything that a shell could read as code is left out, and a name that was
// printed already, whatever its description. The last line, ":4", says how the shell goes on, and is always printed: bash evaluates
// what comes after the last colon.
func Completions(w io.Writer) io.Writer { return completions{w, make(map[string]bool)} }

type completions struct {
	io.Writer
	printed map[string]bool
}

func (c completions) Write(p []byte) (int, error) {
	name, _, _ := strings.Cut(strings.TrimSuffix(string(p), "\n"), "\t")
	special := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:/@+", r)
	}
	if c.printed[name] && !strings.HasPrefix(name, ":") || strings.ContainsFunc(name, special) {
		return len(p), nil
	}
	c.printed[name] = true
	return c.Writer.Write(p)
}

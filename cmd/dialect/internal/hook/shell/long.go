package shell

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// maxBodies bounds how many ends of texts are looked for.
const maxBodies = 100

const tooLong = "the command line is too long to be read as a whole"

// opens finds the begin of a text that a shell takes as it stands: its end is quoted.
var opens = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<<-?[ \t]*(?:'([^'\n]+)'|"([^"\n$\x60\\]+)")`) })

// deepens finds the words that begin a level of what a parser reads.
var deepens = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:if|elif|while|until|for|select|case|time|coproc|function)\b`)
})

// pushes finds the programs that push, and the word itself.
var pushes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:git|push|gh|glab|jj)\b`)
})

// deep reports whether a text may nest more levels than a parser, and who walks what it parsed, have a stack for. Each level takes a sign or a
// word of its own, so that texts of many letters and few signs, as data and documents are, may be long.
func deep(text string) bool {
	if len(text) <= maxText {
		return false
	}
	signs := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c >= 0x80:
		case strings.IndexByte(" \t\r\n_.'\"", c) >= 0:
		default:
			signs++
		}
	}
	return signs+len(deepens().FindAllStringIndex(text, maxText)) > maxText
}

// long reads a text that is too deep to be parsed. Texts of its own, such as of a document that is written, are left out, and are read where a shell
// runs them. What only looks like such a text makes the parser find fewer of them than were left out; then, and where what is left is
// still too deep, each line is read by itself, wherever it would be run. A line that cannot be read so counts as a push where it names one.
func (in *Intent) long(text string, st *state, depth int) {
	st.unknown = tooLong
	var bodies []string
	var short strings.Builder
	lines, tries := strings.SplitAfter(text, "\n"), 0
	for i := 0; i < len(lines); i++ {
		short.WriteString(lines[i])
		for _, m := range opens().FindAllStringSubmatch(lines[i], -1) {
			for j := i + 1; j < len(lines) && tries < maxBodies; j++ {
				if end := strings.TrimSuffix(lines[j], "\n"); end == m[1]+m[2] || strings.HasPrefix(m[0], "<<-") && strings.TrimLeft(end, "\t") == m[1]+m[2] {
					short.WriteString(leftOut(len(bodies)) + "\n" + lines[j])
					bodies = append(bodies, strings.Join(lines[i+1:j], ""))
					i = j
					break
				}
			}
			tries++
		}
	}
	if len(bodies) > 0 && !deep(short.String()) {
		if file, err := parse(short.String()); err == nil {
			found := 0
			syntax.Walk(file, func(n syntax.Node) bool {
				if r, ok := n.(*syntax.Redirect); ok && r.Hdoc != nil && strings.TrimSpace(in.literal(r.Hdoc, st).text) == leftOut(found) {
					found++
				}
				return true
			})
			if found == len(bodies) {
				st.bodies = bodies
				in.list(file.Stmts, st, depth)
				return
			}
		}
	}
	for line := range strings.Lines(text) {
		if len(in.Actions) > maxActions {
			return
		}
		whole := !deep(line)
		if whole {
			_, err := parse(line)
			in.read(line, st.clone(), depth)
			whole = apart(line, err) != line || err == nil
		}
		if !whole && pushes().MatchString(line) {
			in.add(true, st)
		}
	}
}

// leftOut stands for the text of that number.
func leftOut(i any) string { return fmt.Sprint("\x01", i) }

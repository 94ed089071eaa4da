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

// long reads a text that is too long to be parsed. Texts of its own, such as of a document that is written, are left out, and are read where a shell
// runs them. What only looks like such a text makes the parser find fewer of them than were left out; then, and where what is left is
// still too long, each line is read by itself, wherever it would be run.
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
	if len(bodies) > 0 && short.Len() <= maxText {
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
		if len(line) <= maxText && strings.Contains(line, "g") && len(in.Actions) <= maxActions {
			in.read(line, st.clone(), depth)
		}
	}
}

// leftOut stands for the text of that number.
func leftOut(i any) string { return fmt.Sprint("\x01", i) }

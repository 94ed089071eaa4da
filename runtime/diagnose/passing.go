package diagnose

import (
	"regexp"
	"sync"
)

var passing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:=== (?:RUN|CONT|PAUSE|NAME) |--- PASS: )|^ok  \t|^PASS$|^test .* \.\.\. ok$|^ *ok \d+ `)
})

// Passing reports whether a line of an output says no more than that a test began, or passed.
func Passing(line string) bool { return passing().MatchString(line) }

package runner

import (
	"regexp"
	"strconv"
	"sync"
)

// testCounts are the closing lines that say how many tests ran: pytest ("3
// passed, 1 failed in 0.12s"), unittest ("Ran 3 tests in 0.001s"), cargo ("test
// result: ok. 3 passed; 0 failed"), jest and vitest ("Tests: 3 passed, 3
// total"), TAP ("# tests 3"), node's runner.
var testCounts = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?m)^(?:=+ )?(?:\d+ failed, )?(\d+) passed\b`),
		regexp.MustCompile(`(?m)^Ran (\d+) tests? in `),
		regexp.MustCompile(`(?m)^test result: \w+\. (\d+) passed;`),
		regexp.MustCompile(`(?m)^\s*Tests:?\s.*?(\d+) passed`),
		regexp.MustCompile(`(?m)^(?:#|ℹ) tests (\d+)$`),
	}
})

// countTests returns the number of tests that passed, from the tail of a test
// runner's output, and whether there was such a number. Several summaries, as of
// cargo's crates, add up.
func countTests(output []byte) (n int, ok bool) {
	for _, re := range testCounts() {
		for _, m := range re.FindAllSubmatch(output, -1) {
			if k, err := strconv.Atoi(string(m[1])); err == nil {
				n, ok = n+k, true
			}
		}
		if ok {
			return n, true
		}
	}
	return 0, false
}

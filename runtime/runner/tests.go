package runner

import (
	"bytes"
	"regexp"
	"strconv"
	"sync"
)

// testCounts are the closing lines that say how many tests ran: pytest ("3
// passed, 1 failed in 0.12s"), unittest ("Ran 3 tests in 0.001s"), cargo ("test
// result: ok. 3 passed; 0 failed"), jest and vitest ("Tests: 3 passed, 3
// total"), node's runner ("# tests 3"). TAP is counted by [countTAP].
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
	return countTAP(output)
}

// countTAP counts the tests that passed in the lines of the Test Anything Protocol,
// which must have its plan ("1..3"). What was skipped did not pass.
func countTAP(output []byte) (n int, ok bool) {
	for line := range bytes.Lines(output) {
		line = bytes.TrimRight(line, "\r\n")
		if rest, is := bytes.CutPrefix(line, []byte("1..")); is {
			if _, err := strconv.Atoi(string(rest)); err == nil {
				ok = true
			}
			continue
		}
		rest, is := bytes.CutPrefix(line, []byte("ok"))
		if !is || len(rest) > 0 && rest[0] != ' ' {
			continue
		}
		if _, directive, _ := bytes.Cut(bytes.ToUpper(rest), []byte("# ")); !bytes.HasPrefix(directive, []byte("SKIP")) && !bytes.HasPrefix(directive, []byte("TODO")) {
			n++
		}
	}
	if !ok {
		return 0, false
	}
	return n, true
}

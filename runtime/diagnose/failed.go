package diagnose

import (
	"bytes"
	"regexp"
	"slices"
	"sync"
)

// maxFailed bounds how many names [FailedTests] returns.
const maxFailed = 1000

// failedTests finds the line that a runner prints of a test that failed. Group 1 is the name.
var failedTests = sync.OnceValue(func() []*regexp.Regexp {
	var list []*regexp.Regexp
	for _, p := range []string{
		`^\s*--- FAIL: (\S+)`,                                 // go test
		`^(?:FAILED|ERROR) (\S+::\S.*?)(?: - .*)?$`,           // pytest
		`^(?:FAIL|ERROR): (\S+ \(\S+\))`,                      // unittest
		`^test (\S+) \.\.\. FAILED$`,                          // cargo
		`^\s*(?:FAIL|TIMEOUT) \[[^]]*\]\s+(\S.*)$`,            // nextest
		`^\s*● (.+)$`,                                         // jest
		`^\s*not ok \d+(?: -)? ([^#]+?)(?:\s*#.*)?$`,          // Test Anything Protocol
		`^\s*✖ (.+?) \(\d[^)]*\)$`,                            // node
		`^rspec (\S+)`,                                        // RSpec
		`^\s*\d+ - (\S+) \((?:Failed|Timeout|SEGFAULT)\)\s*$`, // ctest
	} {
		list = append(list, regexp.MustCompile(p))
	}
	return list
})

// FailedTests returns the names of the tests that an output says failed, sorted and each once; none where the output names
// none. Names are those of the runner, and good for comparing two outputs of the same command.
func FailedTests(output []byte) (names []string) {
	for line := range bytes.Lines(Readable(output)) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) > 4096 {
			continue
		}
		for _, re := range failedTests() {
			if m := re.FindSubmatch(line); m != nil {
				names = append(names, string(m[1]))
				break
			}
		}
		if len(names) > 8*maxFailed {
			break
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), maxFailed)]
}

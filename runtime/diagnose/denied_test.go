package diagnose

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An output denies a success where each summary in it tells of failures. One summary without a failure, a retry that passed, expected
// failures and a summary that a project prints on its way leave the exit status its word.
func TestDenied(t *testing.T) {
	const (
		pytestRed   = "=========== 2 failed, 1 passed in 0.12s ===========\n"
		pytestGreen = "=========== 3 passed in 0.12s ===========\n"
		mochaRed    = "  2 passing (10ms)\n  1 pending\n  3 failing\n"
		tap         = "TAP version 13\nok 1 - a\nnot ok 2 - b\n1..2\n"
		goRed       = "--- FAIL: TestX (0.00s)\n    x_test.go:3: no\nFAIL\nFAIL\texample.com/m/x\t0.004s\nok  \texample.com/m/y\t0.002s\nFAIL\n"
		proveTAP    = "t/a.t .. \nok 1 - a\nnot ok 2 - b\n1..2\nt/b.t .. \n1..1\nok 1 - c\nok\n"
		prove       = "t/a.t (Wstat: 256 (exited 1) Tests: 2 Failed: 1)\n  Failed test:  2\nFiles=2, Tests=3,  0 wallclock secs ( 0.02 usr  0.02 sys)\nResult: FAIL\n"
		event       = `{"Time":"2026-11-22T10:00:00Z","Action":"`
	)
	long := strings.Repeat("a line of a table of covered code\n", 8<<10)
	longer := strings.Repeat("a line of a table of covered code\n", further+20_000)
	for _, c := range []struct {
		name, text string
		failed     int
		denied     bool
	}{
		{"nothing", "done\n", 0, false},
		{"pytest", pytestRed, 2, true},
		{"pytest, without its frame", "1 failed in 0.1s\n", 1, true},
		{"green", pytestGreen, 0, false},
		{"a test binary", "--- FAIL: TestX (0.00s)\n    x_test.go:3: no\nFAIL\n", 1, true},
		{"a test binary, -test.v", "=== RUN   TestX\n    x_test.go:3: no\n--- FAIL: TestX (0.00s)\n=== RUN   TestY\n--- PASS: TestY (0.00s)\nFAIL\n", 1, true},
		{"a test binary, again", "--- FAIL: TestX (0.00s)\nFAIL\nPASS\n", 0, false},
		{"a test binary, again, -test.v", "=== RUN   TestX\n--- FAIL: TestX (0.00s)\nFAIL\n=== RUN   TestX\n--- PASS: TestX (0.00s)\nPASS\n", 0, false},
		{"a green one that prints it", "FAIL\nPASS\n", 0, false},
		{"again, and then it passed", pytestRed + pytestGreen, 0, false},
		{"passed, and then a failure that was wanted", pytestGreen + pytestRed, 0, false},
		{"two suites, both red", pytestRed + pytestRed, 4, true},
		{"rerun", "=========== 2 passed, 1 rerun in 0.12s ===========\n", 0, false},
		{"xfailed", "=========== 2 passed, 1 xfailed in 0.12s ===========\n", 0, false},
		{"long, red at both ends", pytestRed + long + pytestRed, 4, true},
		{"too long, red at both ends", pytestRed + longer + pytestRed, 4, true}, // what came between is not looked at
		{"too long, red and then green", pytestRed + longer + pytestGreen, 0, false},
		{"too long, red at its end alone", longer + pytestRed, 2, true},
		{"too long, red at its beginning alone", pytestRed + longer, 2, true},
		{"mocha", mochaRed, 3, true},
		{"prove, red and then green", "z.t (Wstat: 256 (exited 1) Tests: 2 Failed: 1)\nFiles=1, Tests=2,  0 wallclock secs\nResult: FAIL\nFiles=1, Tests=2,  0 wallclock secs\nResult: PASS\n", 0, false},
		{"mocha, green", "  2 passing (10ms)\n", 0, false},
		{"mocha, green and then red", "  2 passing (10ms)\n" + mochaRed, 0, false},
		{"mocha, red and then green", mochaRed + "  2 passing (10ms)\n", 0, false},
		{"unittest", "Ran 3 tests in 0.001s\n\nFAILED (failures=1, errors=1)\n", 2, true},
		{"unittest, green", "Ran 3 tests in 0.001s\n\nOK (skipped=1, expected failures=1)\n", 0, false},
		{"jest, todo", "Tests:       1 todo, 2 passed, 3 total\n", 0, false},
		{"vitest, failures that were expected", "      Tests  2 passed | 1 expected fail (3)\n", 0, false},
		{"GoogleTest", "[  PASSED  ] 2 tests.\n[  FAILED  ] 3 tests, listed below:\n", 3, true},
		{"GoogleTest, red and then green", "[  PASSED  ] 2 tests.\n[  FAILED  ] 3 tests, listed below:\n[  PASSED  ] 2 tests.\n", 0, false},
		{"meson", "Ok:                 1   \nExpected Fail:      0   \nFail:               1   \nTimeout:            1   \n", 2, true},
		{"meson, expected", "Ok:                 1   \nExpected Fail:      2   \nFail:               0   \n", 0, false},
		{"a runner of its own", "Pass 521, Fail 1\n", 1, true},
		{"two lines, red first", "Tests failed: 2\nTests passed: 347\n", 2, true},
		{"two lines, red last", "Tests passed: 347\nTests failed: 2\n", 2, true},
		{"two lines, green", "Tests failed: 0\nTests passed: 347\n", 0, false},
		{"two lines, red and then green", "Tests failed: 2\nTests passed: 3\nTests failed: 0\nTests passed: 5\n", 0, false},
		{"two lines, green and then red", "Tests passed: 5\nTests failed: 0\nTests passed: 3\nTests failed: 2\n", 0, false},
		{"two lines, twice red", "Tests failed: 2\nTests passed: 3\nTests failed: 1\nTests passed: 4\n", 3, true},
		{"two lines, and pytest", "Tests failed: 2\nTests passed: 3\n" + pytestGreen, 0, false},
		{"two lines of one word", "PASSED: 15\nFAILED: 1\n", 1, true},
		{"two lines of one word, green and then red", "PASSED: 16\nFAILED: 0\ncc x.c\n\nPASSED: 15\nFAILED: 1\n", 0, false},
		{"minitest", "112 runs, 151 assertions, 1 failures, 1 errors, 2 skips\n", 2, true},
		{"test-unit, green", "3 tests, 4 assertions, 0 failures, 0 errors, 0 pendings, 1 omissions, 0 notifications\n", 0, false},
		{"TAP", tap, 1, true},
		{"TAP, bail out", "TAP version 13\n1..2\nok 1 a\nBail out! no database\n", 0, true},
		{"TAP, bail out before a plan", "TAP version 13\nok 1 a\nBail out!\n", 0, true},
		{"TAP, again after it bailed out", "1..2\nok 1 a\nBail out! no database\n1..2\nok 1 a\nok 2 b\n", 0, false},
		{"no TAP", "3 passed in 0.1s\nBail out! says the rabbit\n", 0, false},
		{"TAP, all skipped", "1..0 # SKIP no database\n", 0, false},
		{"TAP, more than planned", "1..1\nok 1 a\nok 2 b\n", 0, false},
		{"TAP, plans of several", "1..2\nok 1 a\n1..1\nok 1 b\n", 0, false},
		{"TAP, of subtests", "1..1\n    1..2\n    ok 1 a\n    ok 2 b\nok 1 all\n", 0, false},
		{"TAP, todo", "1..2\nok 1 - a\nnot ok 2 - b # todo later\n", 0, false},
		{"TAP, not whole", "1..3\nok 1 - a\nnot ok 2 - b\n", 1, true},
		{"TAP without a plan is no count", "TAP version 13\nok 1 - a\n" + pytestRed, 2, true},
		{"TAP, twice", tap + tap, 0, false},
		{"prove", "t/a.t .. \n" + prove, 1, true},
		{"prove -v", proveTAP + prove, 1, true},
		{"prove -v, a file that died", "t/a.t .. \nok 1 - a\n1..1\nok\nt/b.t .. \n1..3\nok 1 - c\nDubious, test returned 255\n" +
			"t/b.t (Wstat: 65280 (exited 255) Tests: 1 Failed: 0)\nFiles=2, Tests=2,  0 wallclock secs\nResult: FAIL\n", 0, true},
		{"prove -v, again, and then it passed", proveTAP + prove + "t/a.t .. \nok 1 - a\nok 2 - b\n1..2\nFiles=1, Tests=2,  0 wallclock secs\nResult: PASS\n", 0, false},
		{"prove, and TAP of another tool", "1..1\nok 1 - other\n" + prove, 0, false},
		{"node", "ℹ tests 3\nℹ pass 1\nℹ fail 1\nℹ cancelled 1\nℹ skipped 0\nℹ todo 0\n", 2, true},
		{"node, todo", "ℹ tests 2\nℹ pass 1\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 1\n", 0, false},
		{"node and mocha", "ℹ tests 2\nℹ pass 1\nℹ fail 1\n  2 passing (10ms)\n", 0, false},
		{"nextest, flaky", "     Summary [   0.1s] 2 tests run: 2 passed (1 flaky), 0 skipped\n", 0, false},
		{"nextest, cut short", "  Cancelling due to test failure\n     Summary [   0.104s] 3/10 tests run: 2 passed, 1 failed, 0 skipped\nwarning: 7/10 tests were not run due to test failure\n", 1, true},
		{"nextest, cut short without a failure", "     Summary [   0.104s] 3/10 tests run: 3 passed, 0 skipped\nwarning: 7/10 tests were not run due to interrupt\n", 0, true},
		{"nextest, a time-out", "     Summary [   1.004s] 2 tests run: 1 passed, 1 timed out, 0 skipped\n", 1, true},
		{"nextest, a time-out among others", "     Summary [   1.004s] 5 tests run: 1 passed (1 slow, 1 flaky), 2 failed (1 due to being leaky), 1 exec failed, 1 timed out, 0 skipped\n", 4, true},
		{"nextest, time-outs that pass", "     Summary [   1.004s] 2 tests run: 2 passed (1 timed out), 0 skipped\n", 0, false},
		{"nextest, not started", "     Summary [   0.004s] 2 tests run: 1 passed, 1 exec failed, 0 skipped\n", 1, true},
		{"vitest, errors outside of tests", " Test Files  1 passed (1)\n      Tests  3 passed (3)\n     Errors  1 error\n", 0, true},
		{"vitest, errors beside failures", " Test Files  1 failed (1)\n      Tests  1 failed | 3 passed (4)\n     Errors  2 errors\n", 1, true},
		{"vitest, again, and then it passed", " Test Files  1 passed (1)\n      Tests  3 passed (3)\n     Errors  1 error\n Test Files  1 passed (1)\n      Tests  3 passed (3)\n", 0, false},
		{"errors of another tool", "      Tests  3 passed (3)\nErrors: 1\n  Errors  1 error\n", 0, false},
		{"bun, an error outside of tests", " 1 pass\n 0 fail\n 1 error\nRan 1 tests across 2 files. [10.00ms]\n", 0, true},
		{"errors of a line of their own", " 1 pass\n 0 fail\nRan 1 tests across 1 files. [10.00ms]\n 1 error\n", 0, false},
		{"ava, an uncaught exception", "  1 test passed\n  1 uncaught exception\n", 0, true},
		{"ava, an unhandled rejection", "  3 tests passed\n  1 test skipped\n  2 unhandled rejections\n", 0, true},
		{"ava, an exception of another tool", "  1 uncaught exception\n3 passed in 0.1s\n", 0, false},
		{"ava, failures", "  1 test failed\n", 1, true},
		{"ava, more failures", "  ✘ [fail]: bad\n  ─\n\n  2 tests failed\n  1 test skipped\n", 2, true},
		{"ava, failures of another tool", "  2 tests failed\n3 passed in 0.1s\n", 0, false},
		{"ScalaTest, a suite that was aborted", "Tests: succeeded 2, failed 0, canceled 0, ignored 0, pending 0\n*** 1 SUITE ABORTED ***\n", 0, true},
		{"TAP, a failure, and no plan", "TAP version 13\n# x\nok 1 a\nnot ok 2 b\n", 1, true},
		{"TAP, no plan", "TAP version 13\nok 1 a\n", 0, false},
		{"TAP, a failure without a plan, and another summary", "not ok 2 b\n3 passed in 0.1s\n", 0, false},
		{"TAP, fewer tests than planned", "1..5\nok 1 a\nok 2 b\nok 3 c\n", 0, true},
		{"TAP, fewer tests than planned, and failures", "1..5\nok 1 a\nnot ok 2 b\n", 1, true},
		{"TAP, two of them", "1..5\nok 1 a\n1..1\nok 1 b\n", 0, false},
		{"TAP, a plan alone", "1..5\n", 0, false},
		{"TAP, a plan after its tests", "ok 1 a\nok 2 b\n1..2\n", 0, false},
		{"go", goRed, 1, true},
		{"go, counted", "=== RUN   TestX\n" + goRed, 1, true},
		{"go, one package", "--- FAIL: TestX (0.00s)\nFAIL\nexit status 1\nFAIL\texample.com/m\t0.004s\n", 1, true},
		{"go, a build that failed", "FAIL\texample.com/m [build failed]\nFAIL\n", 0, true},
		{"go, again, and then it passed", goRed + "ok  \texample.com/m/x\t0.004s\n", 0, false},
		{"go, what a test printed", "=== RUN   TestX\nFAIL\tinner\t0.004s\nFAIL\n--- PASS: TestX (0.00s)\nPASS\nok  \texample.com/m\t0.004s\n", 0, false},
		{"Julia, without its standard error", "Test Summary: | Pass  Fail  Total  Time\nFoo Tests     |    3     1      4  0.0s\n", 0, true},
		{"Julia, again, and then it passed", "Test Summary: | Fail  Total\nx             |    1      1\nTest Summary: | Pass  Total\nx             |    1      1\n", 0, false},
		{"a list of words", "FAIL\tis what we print\nFAIL\n", 0, false},
		{"go -json", event + `run","Package":"m","Test":"TestX"}` + "\n" + event + `fail","Package":"m","Test":"TestX","Elapsed":0}` + "\n" + event + `fail","Package":"m","Elapsed":0.1}` + "\n" +
			event + `pass","Package":"n","Elapsed":0.1}` + "\n", 1, true},
		{"go -json, again, and then it passed", event + `fail","Package":"m","Test":"TestX","Elapsed":0}` + "\n" + event + `fail","Package":"m","Elapsed":0.1}` + "\n" +
			event + `pass","Package":"m","Test":"TestX","Elapsed":0}` + "\n" + event + `pass","Package":"m","Elapsed":0.1}` + "\n", 0, false},
	} {
		var count, pieces Counter
		for piece := range slices.Chunk([]byte(c.text), 4<<10) {
			count.Write(0, piece)
		}
		for i := range min(len(c.text), scanned) {
			pieces.Write(0, []byte(c.text[i:i+1]))
		}
		failed, denied := count.Denied()
		if failed != c.failed || denied != c.denied {
			t.Errorf("%s: %d, %v; want %d, %v", c.name, failed, denied, c.failed, c.denied)
		}
		if len(c.text) < scanned {
			if failed, denied = pieces.Denied(); failed != c.failed || denied != c.denied {
				t.Errorf("%s, byte by byte: %d, %v; want %d, %v", c.name, failed, denied, c.failed, c.denied)
			}
		}
	}
}

// What a stream says of failures does not depend on how much the other one says of nothing.
func TestDeniedBesideNoise(t *testing.T) {
	noise := []byte(strings.Repeat("a line of a log\n", further+20_000))
	for _, text := range []string{"=========== 2 failed, 1 passed in 0.12s ===========\n", "Ran 3 tests in 0.001s\n\nFAILED (failures=2)\n", "TAP version 13\nok 1 - a\nnot ok 2 - b\nnot ok 3 - c\n1..3\n"} {
		for stream := range 2 {
			for _, first := range []bool{true, false} {
				var c Counter
				if first {
					c.Write(stream, []byte(text))
				}
				c.Write(1-stream, noise)
				if !first {
					c.Write(stream, []byte(text))
				}
				if failed, denied := c.Denied(); failed != 2 || !denied {
					t.Errorf("%q on stream %d, before the noise: %v: %d, %v", text, stream, first, failed, denied)
				}
			}
		}
	}
}

// Of the recorded outputs each that tells of failed tests in one summary denies a success, and no other.
func TestDeniedOutputs(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(name) == "golden.txt" {
			continue
		}
		var c Counter
		c.Write(0, text)
		counted, known := c.Tests()
		failed, denied := c.Denied()
		red := known && counted.Failed > 0
		ended := strings.HasPrefix(filepath.Base(name), "go-") // a package of Go can fail, and none of its tests
		ended = ended || filepath.Base(name) == "prove.txt"    // which says how many failed, and not how many there are
		if red && (!denied || failed != counted.Failed) || !red && denied && !ended {
			t.Errorf("%s: %+v, denied %d, %v", name, counted, failed, denied)
		}
	}
}

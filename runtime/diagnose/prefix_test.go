package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// prefixes are what build tools, runners of several commands and CI services put before the lines of a test runner.
var prefixes = []string{
	"[info] ", "[INFO] ", "\x1b[0m[\x1b[0m\x1b[31merror\x1b[0m] \x1b[0m", "[205-08] ", "[10] ", "[web:test] ", "[@a/web]: ", "web-1  | ", "@a/web:test | ", "14:31:31 web.1  | ", "#12 3.456 ",
	"2026-11-23T14:31:31.0512345Z ", "[2026-11-23T14:31:31.051Z] ", "[04-09 22:41:59.531] [info] ", "2026-11-23 14:31:31,051 [web] ",
}

func prefix1(p, out string) string {
	return p + strings.ReplaceAll(strings.TrimSuffix(out, "\n"), "\n", "\n"+p) + "\n"
}

func counterOf(out string) *Counter {
	var c Counter
	c.Write(0, []byte(out))
	return &c
}

// TestPrefixes holds that what a runner says counts the same after each of the prefixes, where nothing without one says anything of tests.
func TestPrefixes(t *testing.T) {
	for _, tt := range runners() {
		if strings.HasPrefix(tt.tool, "a list of words") || strings.HasPrefix(tt.tool, "gradle") || strings.HasPrefix(tt.tool, "surefire") || strings.HasPrefix(tt.tool, "sbt") {
			continue // its words are those of logs, or it is the one that writes them
		}
		for _, p := range prefixes {
			if tt.green != "" {
				c := counterOf(prefix1(p, tt.green))
				if got, ok := c.Tests(); !ok || got.Passed != 3 || got.Failed != 0 {
					t.Errorf("%s after %q: %v %t", tt.tool, p, got, ok)
				}
				if n, denied := c.Denied(); denied {
					t.Errorf("%s after %q: %d are said to have failed", tt.tool, p, n)
				}
			}
			if tt.red != "" {
				if n, denied := counterOf(prefix1(p, tt.red)).Denied(); !denied || n != 1 && tt.tool != "prove" {
					t.Errorf("%s, red, after %q: %d, %t", tt.tool, p, n, denied)
				}
			}
			for _, out := range append(tt.other, tt.none...) {
				c := counterOf(prefix1(p, out))
				got, _ := c.Tests()
				if _, denied := c.Denied(); denied || got.Ran() > 0 {
					t.Errorf("%s after %q: %q: %v, %t", tt.tool, p, out, got, denied)
				}
			}
		}
	}
}

func TestPrefixed(t *testing.T) {
	const (
		red   = "=========== 2 failed, 1 passed in 0.12s ===========\n"
		green = "=========== 3 passed in 0.12s ===========\n"
	)
	mixed := "[web] TAP version 13\n[api] TAP version 13\n[web] ok 1 - a\n[api] not ok 1 - b\n[web] 1..1\n[api] 1..1\n"
	for _, tt := range []struct {
		name, out string
		want      Tests
		known     bool
		failed    int
		denied    bool
	}{
		{"sbt, ScalaTest", "[info] XSpec:\n[info] - a *** FAILED ***\n[info]   1 did not equal 2 (XSpec.scala:5)\n[info] Run completed in 100 milliseconds.\n[info] Total number of tests run: 4\n[info] Suites: completed 1, aborted 0\n" +
			"[info] Tests: succeeded 3, failed 1, canceled 0, ignored 0, pending 0\n[info] *** 1 TEST FAILED ***\n[error] Failed tests:\n[error] \tXSpec\n[error] (Test / test) sbt.TestsFailedException: Tests unsuccessful\n", Tests{3, 1, 0}, true, 1, true},
		{"sbt, an aggregate", "[info] No tests to run for Test / test\n[info] Tests: succeeded 3, failed 0, canceled 0, ignored 0, pending 0\n[info] All tests passed.\n", Tests{3, 0, 0}, true, 0, false},
		{"sbt, two runners", "[info] ScalaTest\n[info] Tests: succeeded 2, failed 1, canceled 0, ignored 0, pending 0\n[info] Total for specification A\n[info] 2 examples, 0 failure, 0 error\n[error] Failed: Total 5, Failed 1, Errors 0, Passed 4\n", Tests{4, 1, 0}, true, 1, true},
		{"sbt, a process that died", "[info] Tests: succeeded 150, failed 0, canceled 0, ignored 0, pending 0\n[info] All tests passed.\n[error] Error: Total 0, Failed 0, Errors 0, Passed 0\n[error] Error during tests:\n", Tests{}, true, 0, true},
		{"a tool that counts, and a log", green + prefix1("[web] ", red), Tests{3, 0, 0}, true, 0, false},
		{"a log, and a tool that counts", prefix1("web-1  | ", red) + green, Tests{3, 0, 0}, true, 0, false},
		{"a tool that failed, and a log", red + prefix1("[web] ", green), Tests{1, 2, 0}, true, 2, true},
		{"go test, and a log", prefix1("[web] ", red) + "ok  \texample.com/m\t0.1s\n", Tests{}, false, 0, false},
		{"Gradle, and a log", "> Task :test\n" + prefix1("[web] ", red) + "\nBUILD SUCCESSFUL in 1s\n", Tests{}, false, 0, false},
		{"turbo, and a log", "@m/a:test: cache miss, executing 7e728d4294fae812\n@m/a:test: Tests:       7 passed, 7 total\n" + prefix1("[web] ", red), Tests{7, 0, 0}, true, 0, false},
		{"no test, and a log", "Ran 0 tests in 0.000s\n\nOK\n" + prefix1("[web] ", green), Tests{}, true, 0, false},
		{"no Go test, and a log", prefix1("[web] ", green) + "ok  \texample.com/m\t0.1s [no tests to run]\n", Tests{}, true, 0, false},
		{"one red, one green", prefix1("[web] ", red) + prefix1("[api] ", green), Tests{4, 2, 0}, true, 0, false},
		{"both red", prefix1("[web] ", red) + prefix1("[api] ", red), Tests{2, 4, 0}, true, 4, true},
		{"mixed", mixed, Tests{1, 1, 0}, true, 0, false},
		{"the words of a log", "[worker] Failed: 1\n[worker] Tests failed: 2\n[worker] FAILED: 1\n[worker] PASSED: 1\n2026-11-23T14:31:31Z Pass 521, Fail 1\n[jobs] 1 failed, 2 passed\n", Tests{}, false, 0, false},
		{"a log without tests", "[web] No tests found, exiting with code 0\n", Tests{}, false, 0, false},
		{"a compiler", "a.c:3: 3 examples, 1 failure\n", Tests{}, false, 0, false},
	} {
		c := counterOf(tt.out)
		got, known := c.Tests()
		failed, denied := c.Denied()
		if got != tt.want || known != tt.known || failed != tt.failed || denied != tt.denied {
			t.Errorf("%s: %+v, %v; %d, denied %v", tt.name, got, known, failed, denied)
		}
	}
}

// Prefixes have no end: a log that has a new one in each line takes no more memory than others.
func TestManyPrefixes(t *testing.T) {
	var b strings.Builder
	for i := range 4 * maxForks {
		fmt.Fprintf(&b, "[%d] 3 examples, 0 failures\nw%d | a line\n", i, i)
	}
	c := counterOf(b.String())
	if got, _ := c.Tests(); len(c.guessed) != maxForks || got.Passed != 3*maxForks {
		t.Errorf("%d, %v", len(c.guessed), got)
	}
}

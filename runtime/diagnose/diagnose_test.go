package diagnose

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden file")

// The files of testdata are what the tools really print, on small projects of a test that
// passes, one that fails and one that is skipped; ruff.txt and shellcheck.txt alone are
// written by hand, after their documentation. The golden file is what is read off them.
func TestOutputs(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	if len(files) < 30 {
		t.Fatalf("only %d outputs", len(files))
	}
	var got bytes.Buffer
	for _, name := range files {
		if filepath.Base(name) == "golden.txt" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var whole, pieces Counter
		whole.Write(0, text)
		for i := range text {
			pieces.Write(0, text[i:i+1])
		}
		n, ok := whole.Tests()
		if m, ok2 := pieces.Tests(); m != n || ok2 != ok {
			t.Errorf("%s: %v in one piece, %v byte by byte", name, n, m)
		}
		counts := "no count"
		if ok {
			counts = fmt.Sprintf("%d passed, %d failed, %d skipped", n.Passed, n.Failed, n.Skipped)
		}
		var r, bytewise Reader
		r.Write(0, text)
		for i := range text {
			bytewise.Write(0, text[i:i+1])
		}
		f, sure := r.Failures()
		if g, sure2 := bytewise.Failures(); sure != sure2 || !reflect.DeepEqual(f, g) {
			t.Errorf("%s: %+v in one piece, %+v byte by byte", name, f, g)
		}
		fmt.Fprintf(&got, "%s: %s; %d failures\n", filepath.Base(name), counts, f.Total)
		for _, x := range f.List {
			what := x.String()
			if x.Column > 0 {
				what = strings.Replace(what, x.Place(), fmt.Sprintf("%s:%d", x.Place(), x.Column), 1)
			}
			if !sure {
				what = "? " + what
			}
			if x.Package != "" {
				what += " (" + x.Package + ")"
			}
			fmt.Fprintf(&got, "\t%s\n", what)
			for _, l := range x.Detail {
				fmt.Fprintf(&got, "\t  | %s\n", l)
			}
		}
	}
	const golden = "testdata/golden.txt"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got:\n%s\nwant:\n%s", got.Bytes(), want)
	}
}

type summaryCase struct {
	out  string
	want Tests
	ok   bool
}

func summaries() []summaryCase {
	return []summaryCase{
		{"", Tests{}, false},
		{"ok\n", Tests{}, false},
		{"3 files in 2 folders\n", Tests{}, false},
		{"5 passed in 0.12s\n", Tests{5, 0, 0}, true},
		{"===== 1 failed, 4992 passed, 3 skipped, 2 warnings in 61.02s (0:01:01) =====\n", Tests{4992, 1, 3}, true},
		{"no tests ran in 0.01s\n", Tests{}, true},
		{"\x1b[1m3 pas\x1b(B\x1b[msed\x1b(B\x1b[m in 0.01s\n", Tests{3, 0, 0}, true}, // of tput
		{"\x1b[32m\x1b[1m3 passed\x1b[0m\x1b[32m in 0.01s\x1b[0m\n", Tests{3, 0, 0}, true},
		{"Ran 3 tests in 0.001s\n\nOK\n", Tests{3, 0, 0}, true},
		{"Ran 4 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)\n", Tests{1, 2, 1}, true},
		{"Ran 0 tests in 0.000s\n\nOK\n", Tests{}, true},
		{"test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\ntest result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n", Tests{4, 2, 1}, true},
		{"     Summary [   0.006s] 3 tests run: 2 passed, 1 failed, 4 skipped\n", Tests{2, 1, 4}, true},
		{"     Summary [   0.104s] 3/10 tests run: 2 passed, 1 failed, 0 skipped\n", Tests{2, 1, 0}, true},
		{"     Summary [   0.104s] 3 tests run: 1 passed, 1 timed out, 1 exec failed, 0 skipped\n", Tests{1, 2, 0}, true},
		{"      Tests  3 passed (3)\n     Errors  1 error\n", Tests{3, 0, 0}, true},
		{" 3 pass\n 0 fail\n 1 error\n", Tests{3, 0, 0}, true},
		{"  3 tests passed\n  1 unhandled rejection\n", Tests{3, 0, 0}, true},
		{"Tests:       1 failed, 2 skipped, 3 passed, 6 total\n", Tests{3, 1, 2}, true},
		{"      Tests  3 passed (3)\n", Tests{3, 0, 0}, true},
		{"ok | 3 passed | 0 failed | 1 ignored (5ms)\n", Tests{3, 0, 1}, true},
		{" 3 pass\n 1 fail\n 9 expect() calls\nRan 4 tests across 1 files.\n", Tests{3, 1, 0}, true},
		{"  3 passing (5ms)\n  1 pending\n  2 failing\n", Tests{3, 2, 1}, true},
		{"  402 tests passed\n  1 known failure\n  2 tests skipped\n  1 test todo\n", Tests{402, 0, 4}, true},
		{"  1 test failed\n  2 tests skipped\n", Tests{}, false}, // ava does not say how many passed
		{"3 examples, 1 failure, 1 pending\n", Tests{1, 1, 1}, true},
		{"[INFO] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1, Time elapsed: 0.1 s -- in A\n[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1\n", Tests{2, 2, 1}, true},
		{"OK (3 tests, 4 assertions)\n", Tests{3, 0, 0}, true},
		{"Tests: 5, Assertions: 4, Failures: 1, Errors: 1, Skipped: 1.\n", Tests{2, 2, 1}, true},
		{"Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4, Duration: 5 ms\n", Tests{3, 0, 1}, true},
		{"Tests failed: 3\nTests passed: 97\n", Tests{97, 3, 0}, true},
		{"Tests passed: 97\nTests failed: 3\n", Tests{97, 3, 0}, true},
		{"PASSED: 16\nFAILED: 0\n\nPASSED: 15\nFAILED: 1\n", Tests{31, 1, 0}, true},
		{"PASSED: 16\n\nFAILED: 1\n", Tests{}, false}, // what is that of?
		{"PASSED: 16\nbut\nFAILED: 1\n", Tests{}, false},
		{"112 runs, 153 assertions, 1 failures, 2 errors, 3 skips\n", Tests{106, 3, 3}, true},
		{"1 runs, 0 assertions, 0 failures, 0 errors, 1 skips\n\nYou have skipped tests. Run with --verbose for details.\n", Tests{0, 0, 1}, true},
		{"8 tests, 9 assertions, 1 failures, 2 errors, 1 pendings, 1 omissions, 0 notifications\n37.5% passed\n", Tests{3, 3, 2}, true},
		{"Pass 521, Fail 1\n", Tests{521, 1, 0}, true},
		{"# FAIL: 1\nFail: 1\n", Tests{}, false}, // of no list of outcomes
		{"67% tests passed, 1 tests failed out of 3\n", Tests{2, 1, 0}, true},
		{"2/3 Test #2: skip ...***Skipped   0.00 sec\n3/3 Test #3: off ...***Not Run (Disabled)   0.00 sec\n\n100% tests passed, 0 tests failed out of 2\n\nThe following tests did not run:\n\t  2 - skip (Skipped)\n\t  3 - off (Disabled)\n", Tests{1, 0, 2}, true},
		{"100% tests passed, 0 tests failed out of 1\n\nThe following tests did not run:\n\t  2 - skip (Skipped)\n", Tests{0, 0, 1}, true},
		{"\t  2 - skip (Skipped)\n", Tests{}, false}, // of no ctest
		{"1/1 Test #1: off ..............................***Not Run (Disabled)   0.00 sec\n", Tests{0, 0, 1}, true},
		{"No tests were found!!!\n", Tests{}, true},
		{"x.t .. skipped: no net\nFiles=1, Tests=0,  0 wallclock secs ( 0.00 usr +  0.01 sys =  0.01 CPU)\nResult: NOTESTS\n", Tests{}, true},
		{"x.t .. ok\nAll tests successful.\nFiles=1, Tests=3,  0 wallclock secs ( 0.00 usr +  0.01 sys =  0.01 CPU)\nResult: PASS\n", Tests{}, false}, // some may be skipped
		{"5 runs, 9 assertions, 1 failures, 1 errors, 1 skips\n", Tests{2, 2, 1}, true},
		{"0 runs, 0 assertions, 0 failures, 0 errors, 0 skips\n", Tests{}, true},
		{"4 tests, 3 assertions, 1 failures, 0 errors, 1 pendings, 1 omissions, 0 notifications\n", Tests{1, 1, 2}, true},
		{"1 doctest, 4 tests, 1 failure, 1 excluded, 1 skipped\n", Tests{2, 1, 2}, true},
		{"3 tests, 0 failures, 3 excluded\n", Tests{0, 0, 3}, true},
		{"No tests executed!\n", Tests{}, true},
		{"Skipped! - Failed:     0, Passed:     0, Skipped:     2, Total:     2, Duration: 5 ms\n", Tests{0, 0, 2}, true},
		{"1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no\n", Tests{1, 1, 1}, true},
		{"1..0 # SKIP nothing here\n", Tests{}, true},
		{"ok 1 - a\n", Tests{}, false}, // TAP has its plan
		{"ok  \texample.com/m\t0.01s\n", Tests{}, false},
		{"?   \texample.com/m\t[no test files]\nok  \texample.com/n\t0.1s [no tests to run]\n", Tests{}, true},
		{"--- FAIL: TestX (0.00s)\nFAIL\nFAIL\texample.com/m\t0.01s\n", Tests{}, false},
		{"3 skipped in 0.01s\n", Tests{0, 0, 3}, true},
		{"Ran 3 tests in 0.001s\n\nOK (skipped=3)\n", Tests{0, 0, 3}, true},
		{"[info] No tests to run for a / Test\n", Tests{}, true},
		{"Failed!  - Failed:     1, Passed:     2, Skipped:     1, Total:     4, Duration: 5 ms\n", Tests{2, 1, 1}, true},
		{"# of expected passes\t\t3\n# of unexpected successes\t1\n# of unresolved testcases\t1\n# of unsupported tests\t\t1\n", Tests{3, 2, 1}, true},
		{"DONE 2 runs, 4 tests, 1 failure in 0.100s\n", Tests{3, 0, 1}, true}, // which may have passed in the second run
		{" 3 pass\n 2 skip\n 1 fail\n", Tests{3, 1, 2}, true},
		{"  total:     4\n  passing:   3\n  failing:   1\n", Tests{3, 1, 0}, true},
		{"# tests 4\n# suites 0\n# pass 1\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 1\n", Tests{1, 1, 2}, true},
		{"[         1 tests skipped         ]\n[         1 tests aborted         ]\n[         3 tests successful      ]\n[         0 tests failed          ]\n", Tests{3, 0, 2}, true},
		{"Test run summary: Passed! - /x/a.dll (net9.0|x64)\n  total: 4\n  failed: 0\n  succeeded: 3\n  skipped: 1\n", Tests{3, 0, 1}, true},
		{strings.Repeat("Test Suite 'A' passed at 2026\n\t Executed 3 tests, with 0 failures (0 unexpected)\nTest Suite 'All tests' passed at 2026\n\t Executed 3 tests, with 0 failures (0 unexpected)\n", 2), Tests{6, 0, 0}, true},
		{"✘ Test a() failed after 0.001 seconds with 1 issue.\n✘ Test b() failed after 0.001 seconds with 2 issues.\n✘ Test run with 3 tests failed after 0.001 seconds with 3 issues.\n", Tests{1, 2, 0}, true},
		{"[  PASSED  ] 1 test.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.b\n[  FAILED  ] 2 tests, listed below:\n", Tests{1, 2, 1}, true},
		{"Ok:                 3\nExpected Fail:      1\nFail:               1\nUnexpected Pass:    0\nSkipped:            1\nTimeout:            1\n", Tests{3, 2, 2}, true},
		{"# of expected passes\t\t3\n# of expected failures\t\t1\n# of unexpected failures\t1\n", Tests{3, 1, 1}, true},
		{"3 passed in 0.1s\ntest result: ok. 2 passed; 0 failed; 0 ignored; x\n", Tests{5, 0, 0}, true},
	}
}

func TestSummaries(t *testing.T) {
	for _, c := range summaries() {
		var n Counter
		n.Write(0, []byte(c.out))
		if got, ok := n.Tests(); got != c.want || ok != c.ok {
			t.Errorf("%q: got %v %t, want %v %t", c.out, got, ok, c.want, c.ok)
		}
	}
}

// A long output that is not a test runner's is looked at only at its ends; one of single
// tests is counted to its end.
func TestLongOutput(t *testing.T) {
	noise := []byte(strings.Repeat("a line of no meaning\n", 100_000))
	var c Counter
	c.Write(0, noise)
	c.Write(1, []byte("7 passed in 3.1s\n"))
	if got, ok := c.Tests(); !ok || got.Passed != 7 {
		t.Errorf("got %v %t", got, ok)
	}
	var v Counter
	v.Write(0, []byte("=== RUN   TestX\n"))
	for range 10_000 {
		v.Write(0, []byte("--- PASS: TestX (0.00s)\n    x_test.go:1: a log of it that is as long as they are in real life, or longer\n"))
	}
	if got, ok := v.Tests(); !ok || got.Passed != 10_000 {
		t.Errorf("got %v %t", got, ok)
	}
}

// First takes time in proportion to the output, also where a runner's report is repeated or never ends.
func TestFirstIsLinear(t *testing.T) {
	for _, line := range []string{
		"--- FAIL: TestX/a/b/c (0.00s)\n", "=== RUN   TestX\n", "    x_test.go:3: got 1\n", "panic: x\n", "FAIL\t\n", "# x\n",
		"Error: x\n", "✖ x\n", "  ✖ x\n    Error: x\n", "✖ a.js\n  'test failed'x\n", "/a.js:3\n", "Node.js v20\nError: x\n",
		"____ x ____\n", "E   x\n", "==== x ====\n", "  ● x\n", " FAIL  a.js > x\n", "---- x stdout ----\n", "a.py:3: error: x\n", "a.go:3: x\n",
		"not ok 1 - x\n", "not ok 1 - x\n  ---\n  failureType: 'subtestsFailed'\n", "# Error: x\n", "goroutine 1:\n",
		"[ RUN      ] x\na.cc:3: Failure\n", "[  FAILED  ] x\n", "[fail] x\n", "1/2 Test #1: x ...***Failed 0.01 sec\na.c:3: x\n", "1/2 x FAIL 0.01s\n", "FAIL: x\n", "a: a.c:3: Assertion `x' failed.\n",
	} {
		for _, head := range []string{"", "=== RUN   TestX\n", "=== FAILURES ===\n", "✖ x\n"} {
			took := func(size int) time.Duration {
				text := []byte(head + strings.Repeat(line, size/len(line)))
				start := cpu()
				First(text)
				return cpu() - start
			}
			// 8 times as much; 64 times if it were quadratic.
			short, long := took(32<<10), took(256<<10)
			for range 10 {
				if long <= 30*short+time.Millisecond {
					break
				}
				short, long = max(short, took(32<<10)), min(long, took(256<<10))
			}
			if long > 30*short+time.Millisecond {
				t.Errorf("%q, then %q: %v for 32 KiB, %v for 256 KiB", head, line, short, long)
			}
		}
	}
}

func TestJUnit(t *testing.T) {
	read := func(text string) (Tests, Failures, error) {
		return JUnit(strings.NewReader(text), strings.Clone, func(Case) {})
	}
	real, err := os.ReadFile("testdata/pytest-junit.xml")
	if err != nil {
		t.Fatal(err)
	}
	n, f, err := read(string(real))
	if err != nil || n != (Tests{1, 1, 2}) || f.Total != 1 || f.List[0].String() != "test_a.py:5: test_add: assert -1 == 3" {
		t.Errorf("got %v, %v, %v", n, f, err)
	}
	n, f, err = read(`<testsuites tests="99"><testsuite><testcase file="a.rb" line="3"><error>boom
at</error></testcase><testcase><skipped/></testcase><testcase/></testsuite></testsuites>`)
	if err != nil || n != (Tests{1, 1, 1}) || f.Total != 1 || f.List[0].String() != "a.rb:3: boom" {
		t.Errorf("got %v, %v, %v", n, f, err)
	}
	for text, want := range map[string]Tests{
		`<testsuite tests="2" failures="1"/>`:                                                                                                       {0, 1, 0},
		`<testsuites errors="1"><testsuite name="s" errors="1"><testcase/></testsuite></testsuites>`:                                                {1, 1, 0},
		`<testsuite><error message="the fixture failed"/><testcase/></testsuite>`:                                                                   {1, 1, 0},
		`<testsuite failures="1"><testcase><failure/></testcase></testsuite>`:                                                                       {0, 1, 0},
		`<testsuite disabled="1"><testcase status="run"/><testcase status="disabled"/></testsuite>`:                                                 {1, 0, 1},
		`<testsuite><testcase status="notrun" result="suppressed"/><testcase status="run" result="completed"/></testsuite>`:                         {1, 0, 1},
		`<testsuite><testcase status="fail"/><testcase result="failed"/><testcase status="failed"><failure/></testcase></testsuite>`:                {0, 3, 0},
		`<testsuite><testcase><failure/><testcase/></testcase></testsuite>`:                                                                         {1, 1, 0},
		`<testsuite><testcase><testcase/><failure/></testcase></testsuite>`:                                                                         {2, 1, 0},
		`<testsuite failures="0" errors=""><testcase/></testsuite>`:                                                                                 {1, 0, 0},
		`<testsuites><testsuite failures="1"><testcase><failure/></testcase></testsuite><testsuite errors="2"><testcase/></testsuite></testsuites>`: {1, 2, 0},
		// What does not say that it passed did not.
		`<testsuite><testcase status="timeout"/><testcase status="Aborted"/><testcase result="crashed"/><testcase status="nok"/></testsuite>`:                      {0, 4, 0},
		`<testsuite><testcase status="run" result="interrupted"/><testcase status="what is this"/></testsuite>`:                                                    {0, 2, 0},
		`<testsuite><testcase status="pending"/><testcase status="Not Run"/><testcase status="not_run"/><testcase result="undefined"/></testsuite>`:                {0, 0, 4},
		`<testsuite><testcase status="OK"/><testcase status="Success"/><testcase result="pass"/><testcase status="Passed"/><testcase result="xfail"/></testsuite>`: {5, 0, 0},
		`<testsuite><testcase status="0"/><testcase status=" "/></testsuite>`:                                                                                      {2, 0, 0},
		`<testsuite failures="1.0"><testcase/></testsuite>`:                                                                                                        {1, 1, 0},
		`<testsuite failures="0.0"><testcase/></testsuite>`:                                                                                                        {1, 0, 0},
		`<testsuite errors="99999999999999999999"><testcase/></testsuite>`:                                                                                         {1, 1, 0},
		`<testsuite tests="1" skipped="1"><testcase/></testsuite>`:                                                                                                 {0, 0, 1},
		`<testsuite tests="2" disabled="1"><testcase/><testcase/></testsuite>`:                                                                                     {1, 0, 1},
		`<testsuite tests="3" skipped="1"><testcase/><testcase/></testsuite>`:                                                                                      {2, 0, 0}, // which is not listed
		`<testsuites skipped="1"><testsuite skipped="1"><testcase/><testcase/></testsuite><testsuite><testcase/></testsuite></testsuites>`:                         {2, 0, 1},
	} {
		if n, f, err := read(text); err != nil || n != want || f.Total != want.Failed {
			t.Errorf("%s: got %v, %v, %v", text, n, f, err)
		}
	}
	for _, bad := range []string{"", "<html/>", "<testsuite>", "<testsuite><testcase></testsuite>", "<testsuite failures='many'/>", "<testsuite errors='-1'/>", "<testsuite errors='NaN'/>", strings.Repeat("<a>", 2000)} {
		if _, _, err := read(bad); err == nil {
			t.Errorf("%.20q: no error", bad)
		}
	}
}

func TestPattern(t *testing.T) {
	for _, bad := range []string{"(", "(?P<line>\\d+)", "x"} {
		if _, err := ParsePattern(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
	p, err := ParsePattern(`^PROBLEM (?P<file>\S+) at (?P<line>\d+),(?P<column>\d+)\n +(?P<message>.*)$`)
	if err != nil {
		t.Fatal(err)
	}
	f := Matches(t.Context(), []byte("a.go:1:1: error: not this\nPROBLEM x.tla at 7,2\n   it deadlocks\nPROBLEM y.tla at 8,1\n too\n"), []Pattern{p})
	if f.Total != 2 || *f.First() != (Finding{"x.tla", 7, 2, "it deadlocks"}) || f.List[1].File != "y.tla" {
		t.Errorf("got %+v", f)
	}
}

// First returns the first failure of an output; ok is false if nothing in it reads like one.
func First(output []byte) (f Finding, ok bool) {
	var r Reader
	r.Write(0, output)
	list, ok := r.Failures()
	if list.Total == 0 {
		return f, false
	}
	return list.List[0].Finding, ok
}

// What a Reader holds is bounded, whatever is written: of each form of report, tests that never end, and tests that all fail.
func TestReaderIsBounded(t *testing.T) {
	const size = 4 << 20
	long := strings.Repeat("x", 3000)
	for _, form := range []string{
		"=== RUN   TestX%d\n    x_test.go:3: got 1 " + long + "\n", "--- FAIL: TestX%d (0.00s)\n    x_test.go:3: got 1 " + long + "\n",
		`{"Action":"output","Package":"p%[1]d","Test":"T%[1]d","Output":"error: ` + long + `\n"}` + "\n", "# p%d\nx.go:3: " + long + "\n",
		"not ok %d - x\n  ---\n  stack: |-\n    " + long + "\n", "# %d " + long + "\n", "✖ x%d\n  Error: " + long + "\n",
		"==== FAILURES ====\n____ t%d ____\nE   " + long + "\n", " FAIL  a%d.js > x\n" + long + "\n", "  ● x%d\n\n    " + long + "\n",
		"---- t%d stdout ----\n" + long + "\n", "[ RUN      ] t%d\n" + long + "\n", "[fail] t%d " + long + "\n", "1/2 Test #1: t%d ...***Failed 0.01 sec\n" + long + "\n", "a.go:%d:1: error: " + long + "\n", "a%d.go\n", "%d" + long,
		"• [FAILED] [0.1 seconds]\nit %d " + long + "\n  [FAILED] " + long + "\n  " + long + "\n",
		"=== RUN   TestX%[1]d\n• [FAILED] [0.1 seconds]\nit %[1]d " + long + "\n  [FAILED] " + long + "\n",
		`{"Action":"output","Package":"p","Test":"T%[1]d","Output":"FAIL: x.go:1: S.T%[1]d\n... ` + long + `\n"}` + "\n",
		`{"Action":"output","Package":"p","Test":"T%[1]d","Output":"• [FAILED] [0.1 seconds]\nit ` + long + `\n"}` + "\n",
		"p%[1]d:test: cache miss\np%[1]d:test: FAIL a.test.js\np%[1]d:test:   ● x%[1]d\np%[1]d:test: " + long + "\n",
	} {
		var r Reader
		text := []byte{}
		for n := 0; len(text) < size; n++ {
			text = fmt.Appendf(text, form, n)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		r.Write(0, text)
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(text) // or what is held would be less by as much
		if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > size/2 {
			t.Errorf("%.60q: %d bytes are held of %d", form, held, size)
		}
		if f, _ := r.Failures(); len(f.List) > maxFailures {
			t.Errorf("%.60q: %d failures", form, len(f.List))
		}
	}
}

// An error is found wherever it is: past what is read of an unknown output only at the end, in a test runner's anywhere.
func TestReaderFindsItAnywhere(t *testing.T) {
	noise := strings.Repeat("a line that a test prints, of error: and FAIL and nothing\n", 2*unknown/50)
	for _, c := range []struct{ before, middle, after, want string }{
		{"", "a.go:3:1: undefined: x\n", noise, "a.go:3: undefined: x"},
		{noise, "a.go:3:1: undefined: x\n", "", "a.go:3: undefined: x"},
		{"=== RUN   TestNoise\n" + noise + "--- PASS: TestNoise (0.00s)\n", "=== RUN   TestX\n    x_test.go:3: got 1, want 2\n--- FAIL: TestX (0.00s)\n", "=== RUN   TestLate\n" + noise + "--- PASS: TestLate (0.00s)\nFAIL\nFAIL\tm\t0.1s\n", "x_test.go:3: TestX: got 1, want 2"},
		{"=== RUN   TestX\n" + noise, "    x_test.go:3: got 1, want 2\n", strings.Repeat("    x_test.go:9: error and FAIL, logged\n", 5000) + "--- FAIL: TestX (0.00s)\nFAIL\nFAIL\tm\t0.1s\n", "x_test.go:3: TestX: got 1, want 2"},
		{"=== RUN   TestX\n" + noise, "    x_test.go:3: \n        \tError Trace:\t/r/x_test.go:3\n        \tError:      \tNot equal: \n        \t            \texpected: 1\n        \t            \tactual  : 2\n        \tTest:       \tTestX\n",
			strings.Repeat("    x_test.go:9: logged\n", 5000) + "--- FAIL: TestX (0.00s)\nFAIL\nFAIL\tm\t0.1s\n", "x_test.go:3: TestX: Not equal: expected: 1 actual : 2"},
		{"TAP version 13\n" + noise, "not ok 3 - x\n  ---\n  error: 'got 1'\n  ...\n", noise, "x: got 1"},
		{"=================================== FAILURES ===================================\n____ test_a ____\nE   assert 1 == 2\n\na.py:3: AssertionError\n---- Captured stdout call ----\n" + noise, "____ test_b ____\nE   assert 3 == 4\n\nb.py:3: AssertionError\n", "", "b.py:3: test_b: assert 3 == 4"},
	} {
		var r Reader
		for _, text := range []string{c.before, c.middle, c.after} {
			r.Write(0, []byte(text))
		}
		f, sure := r.Failures()
		if !sure || !slices.ContainsFunc(f.List, func(f Failure) bool { return f.String() == c.want }) {
			t.Errorf("%q is not among %d failures, first %+v", c.want, f.Total, f.First())
		}
	}
}

// TestGoTold has what go and testify say on another line than the place.
func TestGoTold(t *testing.T) {
	event := func(action, test, output string) string {
		return fmt.Sprintf(`{"Time":"2026-11-25T00:00:00Z","Action":%q,"Package":"m",%s"Output":%q}`+"\n", action, test, output)
	}
	named := `"Test":"TestX",`
	for _, c := range []struct{ name, text, want string }{
		{"a remedy on the next line", "# m\nx_test.go:7:2: no required module provides package example.com/y; to add it:\n\tgo get example.com/y\n", "x_test.go:7: no required module provides package example.com/y; to add it: go get example.com/y"},
		{"another place on the next line", "a.c:7: not this:\nb.c:8: error: x\n", "a.c:7: not this:"},
		{"a helper of testify's", "=== RUN   TestX\n    equal.go:75: \n        \tError Trace:\t/r/x_test.go:84\n        \t            \t/r/x_test.go:9\n        \tError:      \tNot equal: \n        \tTest:       \tTestX\n--- FAIL: TestX (0.00s)\nFAIL\nFAIL\tm\t0.1s\n", "/r/x_test.go:84: TestX: Not equal:"},
		{"a trace of no place", "=== RUN   TestX\n    equal.go:75: \n        \tError Trace:\tnone\n        \tError:      \tNot equal: \n        \tTest:       \tTestX\n--- FAIL: TestX (0.00s)\nFAIL\nFAIL\tm\t0.1s\n", "equal.go:75: TestX: Not equal:"},
		{"a binary that ends early", "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestX\nexit status 3\nFAIL\tm\t0.005s\nFAIL\n", "TestX: the test binary ended while this test ran"},
		{"likewise, by events", event("run", named, "") + event("output", named, "=== RUN   TestX\n") + event("output", "", "FAIL\tm\t0.005s\n") + event("fail", "", ""), "TestX: the test binary ended while this test ran"},
		{"two that ran", "=== RUN   TestA\n=== PAUSE TestA\n=== RUN   TestX\n=== PAUSE TestX\n=== CONT  TestX\nexit status 3\nFAIL\tm\t0.005s\nFAIL\n", "FAIL\tm\t0.005s"},
	} {
		var r Reader
		r.Write(0, []byte(c.text))
		if f, _ := r.Failures(); len(f.List) == 0 || f.List[0].String() != c.want {
			t.Errorf("%s: %+v, want %q", c.name, f.List, c.want)
		}
	}
}

// A file is named as it is seen from the folder of the command, wherever the tool named it from.
func TestLocate(t *testing.T) {
	there := map[string]bool{"/r/.git": true, "/r/a/b/src/x.rs": true, "/r/a/b/own.rs": true, "/r/top.rs": true, "/out.rs": true}
	var f Failures
	for _, name := range []string{"a/b/src/x.rs", "own.rs", "top.rs", "out.rs", "nowhere.rs", "/r/a/b/src/x.rs", "/out.rs", "../x.rs"} {
		f.List = append(f.List, Failure{Finding: Finding{File: name, Line: 1, Message: "x"}})
	}
	f.Locate("/r/a/b", func(path string) bool { return there[path] }, nil)
	var got []string
	for _, x := range f.List {
		got = append(got, x.File)
	}
	f = Failures{}
	for _, path := range []string{"example.com/m/sub/v2", "example.com/m/sub/v2/in", "example.com/m/v3/api", "example.com/m/v3/api/v1", "example.com/m/v2"} {
		f.List = append(f.List, Failure{Finding: Finding{File: "x_test.go"}, Package: path})
	}
	there = map[string]bool{"/r/sub/x_test.go": true, "/r/sub/in/x_test.go": true, "/r/api/x_test.go": true, "/r/api/v1/x_test.go": true}
	f.List = append(f.List, Failure{Finding: Finding{File: "y_test.go"}, Package: "example.com/m/called"}, Failure{Finding: Finding{File: "z_test.go"}, Package: "example.com/m/called"})
	there["/r/other/y_test.go"] = true
	f.Locate("/r", func(path string) bool { return there[path] }, func(imported string) (string, bool) { return "other", imported == "example.com/m/called" })
	for _, x := range f.List {
		got = append(got, x.File)
	}
	if want := []string{"../../a/b/src/x.rs", "own.rs", "../../top.rs", "out.rs", "nowhere.rs", "src/x.rs", "/out.rs", "../x.rs",
		"sub/x_test.go", "sub/in/x_test.go", "api/x_test.go", "api/v1/x_test.go", "x_test.go", "other/y_test.go", "z_test.go"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Two tests of one name are two failures; an error that several targets report is one, and so is a test that jest tells twice.
func TestReaderCounts(t *testing.T) {
	pytest := "____ T.test_a ____\nE   assert 1 == 2\n\nbase.py:3: AssertionError\n"
	jest := "  ● a › b\n\n    got 1\n\n      at Object.x (a.test.js:1:2)\n\n"
	for text, want := range map[string]int{
		"==== FAILURES ====\n" + pytest + pytest + "==== short test summary info ====\nFAILED base.py::T::test_a - x\n":     2,
		"FAIL ./a.test.js\n" + jest + "Summary of all failing tests\nFAIL ./a.test.js\n" + jest + "Test Suites: 1 failed\n": 1,
		"a.c:3:1: error: x\na.c:3:1: error: x\na.c:4:1: error: x\n":                                                         2,
	} {
		var r Reader
		r.Write(0, []byte(text))
		if f, _ := r.Failures(); f.Total != want || len(f.List) != want {
			t.Errorf("%q: %d failures, %d listed, want %d", text, f.Total, len(f.List), want)
		}
	}
}

// Forms of errors that no file of testdata has, and lines that are not errors.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		out, want string
		ok        bool
	}{
		{"::error file=a/b.go,line=3,title=x::no good\n", "a/b.go:3: no good", true},
		{"[INFO] x\n[ERROR] /p/A.java:[3,5] ';' expected\n", "/p/A.java:3: ';' expected", true},
		{"A.java:3: error: ';' expected\n", "A.java:3: ';' expected", true},
		{"c:\\p\\a.cpp(3,7): error C2065: 'x': undeclared identifier\n", "c:\\p\\a.cpp:3: C2065: 'x': undeclared identifier", true},
		{"a.c:3:5: warning: unused\na.c:9:1: error: bad\n", "a.c:9: bad", true},
		{"10:15:01: started\nhttp://localhost:80: up\n", "http://localhost:80: up", false},
		{"TAP version 13\n# Subtest: cannot be undefined\n    ok 1 - error\n    1..1\nok 1 - cannot be undefined # time=1ms\n1..1\ndone\n", "done", false},
		{"# tests 5\n# pass 5\n# fail 0\nsh: 1: tsd: not found\nnpm: done\n", "sh: 1: tsd: not found", true},
		{"# fail 0\n# skip 0\n", "# skip 0", false},
		{"0 errors, 3 files\n", "0 errors, 3 files", false},
		{"20 errors, 3 files\ndone\n", "20 errors, 3 files", true},
		{"x\n30 failed\ndone\n", "30 failed", true},
		{"all is well\n", "all is well", false},
		{"make: *** [Makefile:3: test] Error 1\n", "make: *** [Makefile:3: test] Error 1", true},
		{"cmd/a.go\ncmd/b.go\n", "cmd/a.go", true},                                                                                                                          // gofmt -l
		{"=== RUN   TestX\nx.go:3: error: logged\n", "", false},                                                                                                             // the begin of a long output
		{"FAIL\tm/a [build failed]\n--- FAIL: TestY (0.00s)\n    y_test.go:3: got 1\nFAIL\nFAIL\tm/b\t0.1s\n# m/a\na.go:3:1: undefined: x\n", "a.go:3: undefined: x", true}, // stderr came late
		{"FAIL\tm/a [setup failed]\nFAIL\n", "FAIL\tm/a [setup failed]", true},
		{"ok  \tm/a\t0.1s\n# t\nx.go:3: lint\n", "x.go:3: lint", true},
		{"=== RUN   TestX\ny.go:3: logged\n--- PASS: TestX (0.00s)\nPASS\nok  \tm/a\t0.1s\nx.go:3: lint\n", "x.go:3: lint", true},
	} {
		f, ok := First([]byte(c.out))
		if f.String() != c.want || ok != c.ok {
			t.Errorf("%q: got %q %t, want %q %t", c.out, f.String(), ok, c.want, c.ok)
		}
	}
}

// Cargo compiles a library once more for its tests: what it says again is of no other error.
func TestRustc(t *testing.T) {
	const (
		a = "error[E0308]: mismatched types\n  --> a.rs:3:5\n   |\n 1 |     let a: u8 = 1;\n   |            -- expected due to this type\n...\n 3 |     a = true;\n   |         ^^^^ expected `u8`, found `bool`\n\n"
		b = "error[E0425]: cannot find value `b`\n  --> b.rs:9:1\n   |\n 9 |     b\n   |     ^ not found in this scope\n\n"
	)
	var r Reader
	r.Write(1, []byte(a+b+a))
	got, _ := r.Failures()
	want := []Failure{
		{Finding: Finding{"a.rs", 3, 5, "error[E0308]: mismatched types"}, Detail: []string{"expected `u8`, found `bool`"}},
		{Finding: Finding{"b.rs", 9, 1, "error[E0425]: cannot find value `b`"}, Detail: []string{"not found in this scope"}},
	}
	if !reflect.DeepEqual(got.List, want) || got.Total != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestReadable(t *testing.T) {
	in := `{"Time":"x","Action":"output","Package":"m","Output":"--- FAIL: T\n"}` + "\n" + `{"Action":"fail","Package":"m"}` + "\n"
	if got := string(Readable([]byte(in))); got != "--- FAIL: T\n" {
		t.Errorf("got %q", got)
	}
	if got := string(Readable([]byte("\x1b[31mred\x1b[0m"))); got != "red" {
		t.Errorf("got %q", got)
	}
}

func FuzzOutput(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	if len(files) == 0 {
		f.Fatal("no seeds")
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, 7)
	}
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		var c Counter
		at = min(max(at, 0), len(text))
		c.Write(0, text[:at])
		c.Write(0, text[at:])
		n, ok := c.Tests()
		if n.Passed < 0 || n.Failed < 0 || n.Skipped < 0 || !ok && n != (Tests{}) {
			t.Errorf("%v %t", n, ok)
		}
		d, _ := First(text)
		if strings.ContainsAny(d.Message, "\n") || len(d.Message) > maxMessage+3 || d.Line < 0 {
			t.Errorf("%+v", d)
		}
		Readable(text)
	})
}

// A file of results is read in the encoding that it declares.
func TestJUnitEncoding(t *testing.T) {
	for encoding, word := range map[string]string{
		"utf-8": "gr\u00fcn", "UTF8": "gr\u00fcn", "us-ascii": "gruen", "ASCII": "gruen", "utf-16": "gr\u00fcn",
		"ISO-8859-1": "gr\xfcn", "latin1": "gr\xfcn", "iso-8859-15": "gr\xfcn", "windows-1252": "gr\xfcn", "cp1252": "gr\xfcn",
	} {
		text := "<?xml version='1.0' encoding='" + encoding + "'?>\n<testsuite><testcase name='" + word + "'><failure/></testcase></testsuite>\n"
		_, f, err := JUnit(strings.NewReader(text), strings.Clone, func(Case) {})
		if want := strings.Replace(word, "\xfc", "\u00fc", 1); err != nil || f.Total != 1 || f.List[0].Test != want {
			t.Errorf("%s: %+v %v", encoding, f, err)
		}
	}
	for encoding, word := range map[string]string{"utf-8": "gr\xfcn", "us-ascii": "gr\xfcn", "koi9": "gruen", "shift_jis": "gruen"} {
		if _, _, err := JUnit(strings.NewReader("<?xml version='1.0' encoding='"+encoding+"'?><testsuite><testcase name='"+word+"'/></testsuite>"), strings.Clone, func(Case) {}); err == nil {
			t.Errorf("%s: no error", encoding)
		}
	}
}

func FuzzJUnit(f *testing.F) {
	seed, err := os.ReadFile("testdata/pytest-junit.xml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte("<testsuite><testcase><failure message=''/></testcase></testsuite>"))
	f.Fuzz(func(t *testing.T, text []byte) {
		n, d, err := JUnit(bytes.NewReader(text), strings.Clone, func(Case) {})
		if n.Total() < 0 || err == nil && (n.Failed == 0) != (d.Total == 0) {
			t.Errorf("%v %v", n, d)
		}
	})
}

func BenchmarkCounterNoise(b *testing.B) {
	noise := bytes.Repeat([]byte("y\n"), 32<<10)
	b.SetBytes(int64(len(noise)) * 100)
	for b.Loop() {
		var c Counter
		for range 100 {
			c.Write(0, noise)
		}
		c.Tests()
	}
}

// TestSumAtTheEnd: a sum is found wherever it lies in a long output: over the bound up to which all is looked at, behind another stream's
// line that does not end, and before a list as runners print it after the sum. A piece of a line does not count.
func TestSumAtTheEnd(t *testing.T) {
	const red = "==== 1 failed, 2 passed in 0.10s ====\n"
	pad := func(n int) string { return strings.Repeat("x", n-1) + "\n" }
	for n := scanned - len(red) - 1; n <= scanned+1; n++ {
		for _, piece := range []int{1 << 20, 512, 37} {
			c := Counter{spent: further}
			for p := []byte(pad(n) + red); len(p) > 0; {
				k := min(piece, len(p))
				c.Write(0, p[:k])
				p = p[k:]
			}
			if got, ok := c.Tests(); !ok || got != (Tests{2, 1, 0}) {
				t.Fatalf("after %d bytes, by %d: %+v, %v", n, piece, got, ok)
			}
		}
	}
	var list strings.Builder
	for i := range 600 {
		fmt.Fprintf(&list, "\t%3d - a test of some longer name %d (Failed)\n", i, i)
	}
	for _, tt := range []struct {
		name string
		out  []string // by turns of stdout and stderr
		want Tests
		ok   bool
	}{
		{"dots on the other stream", []string{pad(scanned), "....", red, "...."}, Tests{2, 1, 0}, true},
		{"a list after the sum", []string{pad(scanned), "", "0% tests passed, 600 tests failed out of 600\n\n" + list.String()}, Tests{0, 600, 0}, true},
		{"a piece of a line", []string{pad(scanned), "", "log" + strings.Repeat(" ", 8*summary) + "5 passed in 0.10s\n" + pad(summary-len("5 passed in 0.10s\n"))}, Tests{}, false},
		{"a line that is not cut", []string{pad(scanned), "", pad(8*summary) + "==== 5 passed in 0.10s ====\n" + pad(summary-28)}, Tests{5, 0, 0}, true},
	} {
		for _, piece := range []int{1 << 20, 4096} {
			c := Counter{spent: further}
			for i, text := range tt.out {
				for p := []byte(text); len(p) > 0; {
					k := min(piece, len(p))
					c.Write(i%2, p[:k])
					p = p[k:]
				}
			}
			if got, ok := c.Tests(); ok != tt.ok || got != tt.want {
				t.Errorf("%s, by %d: %+v, %v", tt.name, piece, got, ok)
			}
		}
	}
}

// TestJUnitClean has what nobody may see be taken out while names and messages are whole: before they are cut into lines, and shortened.
func TestJUnitClean(t *testing.T) {
	secret := "first\nsecond" + strings.Repeat("x", 2000)
	clean := func(s string) string { return strings.ReplaceAll(s, secret, "-") }
	esc := strings.ReplaceAll(secret, "\n", "&#10;")
	text := `<testsuite name="s ` + esc + `"><testcase classname="c ` + esc + `" name="n ` + esc + `"><failure message="m ` + esc + `">t ` + esc + `</failure></testcase><error message="e ` + esc + `"/></testsuite>`
	var cases []Case
	_, f, err := JUnit(strings.NewReader(text), clean, func(c Case) { cases = append(cases, c) })
	if err != nil || len(cases) != 2 || f.Total != 2 {
		t.Fatal(err, cases, f)
	}
	if said := fmt.Sprint(cases, f, *cases[0].Failure, *cases[1].Failure); strings.Contains(said, "first") || strings.Contains(said, "second") || !strings.Contains(said, "m -") {
		t.Error(said)
	}
}

// TestJUnitCleanFirst has it taken out before a word is made small, or its blanks are taken off.
func TestJUnitCleanFirst(t *testing.T) {
	const secret = "  Zq8 vK2pLm9Xw4\n "
	clean := func(s string) string { return strings.ReplaceAll(s, secret, "-") }
	esc := strings.ReplaceAll(secret, "\n", "&#10;")
	for text, want := range map[string]string{
		`<testsuite><testcase name="a" status="not ` + esc + `"/></testsuite>`:                                                                       "its status is not -",
		`<testsuite><testcase name="a" result="` + esc + `"/></testsuite>`:                                                                           "its status is -",
		`<testsuite name="` + esc + `" failures="1"/>`:                                                                                               "-",
		`<testsuite><testcase name="` + esc + `" classname="` + esc + `" file="` + esc + `"><failure message="` + esc + `"/></testcase></testsuite>`: "-",
		`<testsuite failures="` + esc + `"/>`:                                                                                                        `failures="-"`,
	} {
		said := ""
		_, f, err := JUnit(strings.NewReader(text), clean, func(c Case) { said += fmt.Sprintf("%q %+v ", []string{c.Name, c.Class}, c.Failure) })
		said += fmt.Sprint(f, err)
		if strings.Contains(strings.ToLower(said), "vk2p") || !strings.Contains(said, want) {
			t.Errorf("%s: %s", text, said)
		}
	}
}

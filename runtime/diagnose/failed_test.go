package diagnose_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/diagnose"
)

func TestFailedTests(t *testing.T) {
	fail := func(name string) string {
		return "--- FAIL: " + name + " (0.00s)\n    x_test.go:3: got 1\n"
	}
	event := func(action, test, output string) string {
		return fmt.Sprintf(`{"Action":%q,"Package":"m","Test":%q,"Output":%q}`+"\n", action, test, output)
	}
	for _, c := range []struct {
		output string
		want   []string
	}{
		{"ok\n", nil},
		{"Makefile:3: *** [test] Error 1\n", nil},
		{fail("TestB/sub") + fail("TestA") + "FAIL\nFAIL\tm\t0.01s\nFAIL\n", []string{"m TestA", "m TestB/sub"}},
		{"\x1b[31m" + fail("TestRed") + "\x1b[0m\n", []string{"x_test.go TestRed"}}, // cut short
		{event("run", "TestX", "") + event("output", "TestX", "--- FAIL: TestX (0.00s)\n") + event("fail", "TestX", "") + event("fail", "", ""), []string{"m TestX"}},
		// Tests of one name in two packages are two.
		{fail("TestX") + "FAIL\nFAIL\tm/a\t0.01s\nok  \tm/b\t0.01s\nFAIL\n", []string{"m/a TestX"}},
		{"ok  \tm/a\t0.01s\n" + fail("TestX") + "FAIL\nFAIL\tm/b\t0.01s\nFAIL\n", []string{"m/b TestX"}},
		// A package that cannot be built beside a test that fails is a failure of its own.
		{"# m/b\nb/b.go:3:2: undefined: y\n" + fail("TestX") + "FAIL\nFAIL\tm/a\t0.01s\nFAIL\tm/b [build failed]\nFAIL\n", []string{"b/b.go: undefined: y", "m/a TestX"}},
		{"# m/b\nb/b.go:3:2: undefined: y\nFAIL\tm/b [build failed]\nFAIL\n", nil},
		{"FAILED tests/test_a.py::test_sum[1-2] - assert 3 == 4\nERROR tests/test_b.py::test_x - KeyError\n", []string{"tests/test_a.py test_sum[1-2]", "tests/test_b.py test_x"}},
		{"======\nFAIL: test_a (m.Case.test_a)\n------\nAssertionError: 1 != 2\n\nRan 1 test in 0.1s\n", []string{"m.Case.test_a"}},
		{"failures:\n\n---- tests::adds stdout ----\nthread 'tests::adds' panicked at src/lib.rs:3:5:\nno\n\nfailures:\n    tests::adds\n", []string{"src/lib.rs tests::adds"}},
		{"TAP version 13\nok 1 - a\nnot ok 2 - b c # time=3ms\nnot ok 3 - d # TODO\n", []string{"b c"}},
		{"TAP version 13\n# adds\nnot ok 1 should be equal\n# subtracts\nnot ok 2 should be equal\n1..2\n", []string{"should be equal", "should be equal"}},
		{"        FAIL [   0.003s] mine tests::adds\n", []string{"mine tests::adds"}},
		{"        FAIL [   0.003s] (196/340) mine tests::adds\n     TIMEOUT [  60.003s] ( 7/340) mine tests::slow\n        FAIL [   0.003s] (───────) mine tests::other\n", []string{"mine tests::adds", "mine tests::other", "mine tests::slow"}},
		{"rspec ./spec/a_spec.rb:3 # Plain adds\n", []string{"./spec/a_spec.rb:3"}},
		{"The following tests FAILED:\n\t  2 - slow (Timeout)\n\t  1 - adds (Failed)\n", []string{"adds", "slow"}},
	} {
		if got := diagnose.FailedTests([]byte(c.output)); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.output, got, c.want)
		}
	}
}

// TestManyFailedTests holds that names go on where a report stops to describe failures.
func TestManyFailedTests(t *testing.T) {
	var b strings.Builder
	var want []string
	for p := range 5 {
		for i := range 30 {
			fmt.Fprintf(&b, "--- FAIL: Test%02d (0.00s)\n    x_test.go:3: no\n", i)
			want = append(want, fmt.Sprintf("m/%d Test%02d", p, i))
		}
		fmt.Fprintf(&b, "FAIL\nFAIL\tm/%d\t0.01s\n", p)
	}
	if got := diagnose.FailedTests([]byte(b.String())); !slices.Equal(got, want) {
		t.Errorf("%d names, want %d", len(got), len(want))
	}
}

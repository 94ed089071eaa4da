package diagnose_test

import (
	"slices"
	"testing"

	"github.com/command-dialect/dialect/runtime/diagnose"
)

func TestFailedTests(t *testing.T) {
	for _, c := range []struct {
		output string
		want   []string
	}{
		{"ok\n", nil},
		{"--- FAIL: TestB (0.00s)\n    --- FAIL: TestB/sub (0.00s)\n    b_test.go:3: got 1\n--- FAIL: TestA (0.00s)\nFAIL\n", []string{"TestA", "TestB", "TestB/sub"}},
		{`{"Action":"output","Package":"m","Output":"--- FAIL: TestX (0.00s)\n"}` + "\n", []string{"TestX"}},
		{"FAILED tests/test_a.py::test_sum[1-2] - assert 3 == 4\nERROR tests/test_b.py::test_x - KeyError\n", []string{"tests/test_a.py::test_sum[1-2]", "tests/test_b.py::test_x"}},
		{"FAIL: test_a (m.Case)\nFAIL: test_a (m.Case)\n", []string{"test_a (m.Case)"}},
		{"test tests::adds ... FAILED\ntest tests::ok ... ok\n", []string{"tests::adds"}},
		{"ok 1 - a\nnot ok 2 - b c # time=3ms\n", []string{"b c"}},
		{"\x1b[31m--- FAIL: TestRed (0.00s)\x1b[0m\n", []string{"TestRed"}},
		{"Makefile:3: *** [test] Error 1\n", nil},
	} {
		if got := diagnose.FailedTests([]byte(c.output)); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.output, got, c.want)
		}
	}
}

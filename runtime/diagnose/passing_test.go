package diagnose

import (
	"strings"
	"testing"
)

func TestPassing(t *testing.T) {
	for line, want := range map[string]bool{
		"=== RUN   TestA": true, "    --- PASS: TestA/x (0.00s)": true, "ok  \texample.com/a\t0.1s": true, "PASS": true, "test a::b ... ok": true, "ok 3 - adds": true,
		"--- FAIL: TestA (0.00s)": false, "    a_test.go:3: got 1": false, "FAIL\texample.com/a\t0.1s": false, "not ok 3 - adds": false, "PASSED": false, "ok": false, "": false, "look 1 up": false,
	} {
		if Passing(line) != want {
			t.Errorf("%q: %v", line, !want)
		}
	}
}

// TestPassingNames holds that the name of a test that passed is never taken for an error, whatever words it has: ava and others print such lists.
func TestPassingNames(t *testing.T) {
	var r Reader
	r.Write(0, []byte("  ✔ does not ignore errors (120ms)\n  ✓ fails without a cause\n  ✘ [fail]: adds two numbers\n  1 test failed\n"))
	f, _ := r.Failures()
	if len(f.List) != 1 || !strings.Contains(f.List[0].Message, "adds two numbers") {
		t.Errorf("%+v", f.List)
	}
}

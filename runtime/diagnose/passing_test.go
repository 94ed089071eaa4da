package diagnose

import "testing"

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

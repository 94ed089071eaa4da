package diagnose

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// casesOfText counts the tests of an output and names them.
func casesOfText(text []byte) (Tests, bool, []Case) {
	var c Counter
	c.Write(0, text)
	n, ok := c.Tests()
	return n, ok, Cases(n, bytes.NewReader(text))
}

// TestCases names the tests of real outputs: all that are counted, or none.
func TestCases(t *testing.T) {
	named := map[string]string{ // the first test that did not pass, or the first of all
		"go-test-json.txt": "", "go-test-v.txt": "", "node-tap.txt": "", "node20-spec.txt": "", "node22-spec.txt": "", "node22-tap.txt": "", "node18-tap.txt": "", "cargo-test.txt": "", "bats.txt": "",
	}
	files, _ := filepath.Glob("testdata/*.txt")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n, ok, list := casesOfText(text)
		base := filepath.Base(name)
		if _, want := named[base]; want && len(list) == 0 {
			t.Errorf("%s: %+v were counted, none is named", base, n)
		}
		delete(named, base)
		if len(list) > 0 && (!ok || len(list) != n.Total()) {
			t.Errorf("%s: %+v are counted, %d are named", base, n, len(list))
		}
		for _, x := range list {
			if x.Name == "" || strings.ContainsAny(x.Name, "\n\x1b") {
				t.Errorf("%s: %+v", base, x)
			}
		}
	}
	for base := range named {
		t.Errorf("%s was not found", base)
	}
	for _, tt := range []struct{ text, want string }{
		{"=== RUN   TestA\n--- PASS: TestA (0.25s)\nPASS\nok  \texample.com/a\t0.3s\n=== RUN   TestB\n--- FAIL: TestB (1.00s)\nFAIL\nFAIL\texample.com/b\t1.1s\n",
			"0 example.com/a TestA 0.25; 1 example.com/b TestB 1"},
		{"tests/test_a.py::test_x PASSED      [ 33%]\ntests/test_a.py::T::test_y[a b] FAILED [ 66%]\ntests/test_a.py::test_z SKIPPED (no net) [100%]\n= 1 failed, 1 passed, 1 skipped in 0.1s =\n",
			"0 tests/test_a.py test_x 0; 1 tests/test_a.py T::test_y[a b] 0; 2 tests/test_a.py test_z 0"},
		{"test_a (test_x.T.test_a) ... ok\ntest_b (test_x.T.test_b)\nIt does b. ... FAIL\n\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n",
			"0 test_x.T.test_a test_a 0; 1 test_x.T.test_b test_b 0"},
		{"1..2\nok 1 - adds # SKIP no net\nnot ok 2 - divides\n", "2  adds 0; 1  divides 0"},
		{"running 2 tests\ntest tests::a ... ok\ntest src/lib.rs - f (line 3) ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured\n",
			"0  tests::a 0; 1  src/lib.rs - f (line 3) 0"},
		{"42 passed in 0.1s\n", ""},                                    // a summary names nothing
		{"tests/test_a.py::test_x PASSED\n= 2 passed in 0.1s =\n", ""}, // some were cut off
	} {
		_, _, list := casesOfText([]byte(tt.text))
		var got []string
		for _, x := range list {
			got = append(got, fmt.Sprintf("%d %s %s %v", x.State, x.Class, x.Name, x.Elapsed))
		}
		if g := strings.Join(got, "; "); g != tt.want {
			t.Errorf("%q:\n got %q\nwant %q", tt.text, g, tt.want)
		}
	}
}

func FuzzCases(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil && len(text) < 20_000 {
			f.Add(text)
		}
	}
	if len(files) == 0 {
		f.Fatal("no seeds")
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, _, list := casesOfText(text)
		var sum Tests
		for _, x := range list {
			x.count(&sum)
		}
		if len(list) > 0 && sum != n {
			t.Fatalf("%+v are counted, %+v named", n, sum)
		}
		Cases(n, io.MultiReader(bytes.NewReader(text), strings.NewReader("\n")), bytes.NewReader(text))
	})
}

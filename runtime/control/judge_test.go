package control

import (
	"fmt"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
)

// A refusal counts that names what was broken in a line that the passing run did not print.
func TestJudge(t *testing.T) {
	project := files(map[string]string{"src/a.py": "x = 1\n", "a_test.go": "func TestAdd(t *testing.T) {\n}\n"})
	mypy, gotest, black := of(t, "check", "mypy"), of(t, "test", "go"), of(t, "format", "black")
	for _, c := range []struct {
		name    string
		control plan.Control
		green   string
		ending  Ending
		want    Outcome
	}{
		{"the nonce", mypy, "", Ending{Refused: true, Output: []byte("error: dialect_control_NONCE\n")}, Noticed},
		{"the file", black, "", Ending{Refused: true, Output: []byte("would reformat /home/u/shop/src/a.py\n")}, Noticed},
		{"in colour", black, "", Ending{Refused: true, Output: []byte("\x1b[1mwould reformat src/a.py\x1b[0m\n")}, Noticed},
		{"another file", black, "", Ending{Refused: true, Output: []byte("would reformat lib/src/a.py and src/a.pyi\n")}, Unnamed},
		{"a line of the passing run", black, "checking src/a.py (0.10 s)\n", Ending{Refused: true, Output: []byte("checking src/a.py (0.25 s)\n")}, Unnamed},
		{"an exit status alone", black, "", Ending{Refused: true, Why: "exit 1"}, Unnamed},
		{"the test", gotest, "ok\n", Ending{Refused: true, Output: []byte("--- FAIL: TestAdd (0.00s)\n")}, Noticed},
		{"a longer name", gotest, "ok\n", Ending{Refused: true, Output: []byte("--- FAIL: TestAddMore (0.00s)\n")}, Unnamed},
		{"the file of a test", gotest, "ok\n", Ending{Refused: true, Output: []byte("a_test.go:1: something\n")}, Unnamed},
		{"a build that failed", gotest, "ok\n", Ending{Refused: true, Output: []byte("a_test.go:5: TestAdd: NONCE\nFAIL\tm [build failed]\n")}, Unlike},
		{"of go test -json", gotest, "", Ending{Refused: true, Output: []byte(`{"Action":"output","Package":"m","Test":"TestAdd","Output":"--- FAIL: TestAdd (0.00s)\n"}` + "\n")}, Noticed},
		{"a pass", gotest, "ok\n", Ending{Passed: true, Output: []byte("ok\n")}, Blind},
		{"a warning", mypy, "", Ending{Passed: true, Output: []byte("warning: dialect_control_NONCE\n")}, Lenient},
		{"a timeout", mypy, "", Ending{Why: "killed after its timeout"}, Unfinished},
		{"bytes that are no text", mypy, "\xff\n", Ending{Refused: true, Output: []byte("\xff\xfe\x00dialect_control_NONCE")}, Noticed},
	} {
		trial := New(step("x"), c.control, []byte(c.green), project, "abc")
		if trial.Next() == nil {
			t.Fatalf("%s: nothing to break", c.name)
		}
		c.ending.Output = []byte(strings.ReplaceAll(string(c.ending.Output), "NONCE", trial.now[0].nonce))
		j := trial.Judge(c.ending)
		if j.Outcome != c.want || j.Text == "" || (j.Named != "") != (c.want == Noticed || c.want == Lenient || c.want == Unlike) {
			t.Errorf("%s: %+v, want %s", c.name, j, c.want)
		}
	}
}

// A line that speaks of a failure is shown before a heading, or the source, that has no more than the name of the test.
func TestNamed(t *testing.T) {
	project := files(map[string]string{"test_a.py": "def test_add():\n    assert True\n"})
	for _, c := range []struct{ output, want string }{
		{"________ test_add ________\n\n    def test_add():\nE   AssertionError\nFAILED test_a.py::test_add - AssertionError\n", "FAILED test_a.py::test_add - AssertionError"},
		{"________ test_add ________\n", "________ test_add ________"},
	} {
		trial := New(step("pytest"), of(t, "test", "pytest"), nil, project, "abc")
		if trial.Next() == nil {
			t.Fatal("nothing to break")
		}
		if j := trial.Judge(Ending{Refused: true, Output: []byte(c.output)}); j.Named != c.want {
			t.Errorf("%q, want %q", j.Named, c.want)
		}
	}
}

// Ruff cannot be had where the tests run: this is what it prints of the same texts.
func TestRecorded(t *testing.T) {
	project := files(map[string]string{"src/a.py": "x = 1\n"})
	for noun, output := range map[string]string{
		"check": "F401 [*] `dialect_control_NONCE` imported but unused\n --> src/a.py:2:8\n  |\n1 | x = 1\n2 | import dialect_control_NONCE\n  |        ^^^^^\nFound 2 errors.\n",
		// Of ruff format --check.
		"format": "Would reformat: src/a.py\n1 file would be reformatted\n",
	} {
		trial := New(step("ruff", noun), of(t, noun, "ruff"), []byte("All checks passed!\n"), project, "abc")
		trial.Next()
		if j := trial.Judge(Ending{Refused: true, Output: []byte(strings.ReplaceAll(output, "NONCE", trial.now[0].nonce))}); j.Outcome != Noticed {
			t.Errorf("%s: %+v", noun, j)
		}
	}
}

// The turns of a trial: a pass has all broken at once, and a refusal that does not count another place.
func TestTurns(t *testing.T) {
	m := make(map[string]string)
	for i := range 5 {
		m[fmt.Sprintf("p%d/a.py", i)] = "x = 1\n"
	}
	begin := func() (*Trial, string) {
		trial := New(step("x"), of(t, "check", "mypy"), nil, files(m), "abc")
		return trial, trial.Next()[0].Path
	}
	trial, first := begin()
	trial.Judge(Ending{Passed: true})
	if all := trial.Next(); len(all) != 5 {
		t.Errorf("%d files are broken at once", len(all))
	}
	other := trial.now[3]
	both := New(step("x"), of(t, "test", "go"), nil, files(map[string]string{"a_test.go": "func TestA(t *testing.T) {\n}\n\nfunc TestB(x *testing.T) {\n}\n"}), "abc")
	both.Next()
	both.Judge(Ending{Passed: true})
	if e := both.Next(); len(e) != 1 || strings.Count(string(e[0].Content), "dialect control") != 2 || !strings.Contains(string(e[0].Content), "{ if true { x.Fatal(") {
		t.Errorf("both tests of a file: %+v", e)
	}
	j := trial.Judge(Ending{Refused: true, Output: []byte("error: " + other.nonce)})
	if j.Outcome != Noticed || j.Place.Path != other.Path || !strings.Contains(j.Text, first) || trial.Next() != nil {
		t.Errorf("%+v", j)
	}

	trial, _ = begin()
	trial.Judge(Ending{Passed: true})
	trial.Next()
	if j = trial.Judge(Ending{Passed: true}); j.Outcome != Blind || !trial.all || trial.Next() != nil {
		t.Errorf("%+v", j)
	}

	trial, first = begin()
	seen := map[string]bool{first: true}
	for range MaxTries - 1 {
		trial.Judge(Ending{Refused: true, Why: "exit 1"})
		e := trial.Next()
		if len(e) != 1 || seen[e[0].Path] {
			t.Fatalf("%+v after %v", e, seen)
		}
		seen[e[0].Path] = true
	}
	if trial.Judge(Ending{Refused: true}); trial.Next() != nil {
		t.Error("it never ends")
	}

	trial, _ = begin()
	if trial.Judge(Ending{}); trial.Next() != nil {
		t.Error("what was interrupted is tried again")
	}
}

// FuzzTrial has outputs and files of others: nothing panics, it ends, and a pass is never a refusal.
func FuzzTrial(f *testing.F) {
	f.Add("func TestA(t *testing.T) {\n", "--- FAIL: TestA\n", "--- PASS: TestA\n", uint8(1))
	f.Add("def test_a(\n", "\xff\x00\x1b[31m", "", uint8(2))
	f.Add("it('a', () => {", `{"Action":"output","Output":"x"}`, "ok", uint8(0))
	all := tools(f)
	f.Fuzz(func(t *testing.T, content, output, green string, kind uint8) {
		m := map[string]string{"Makefile": content, "package.json": content}
		for _, name := range []string{"a_test.go", "test_a.py", "a.test.js", "src/lib.rs", "a.bats", "a.sh", "a.ts", "x y/a.py"} {
			m[name] = content
		}
		Find(step(strings.Fields(content+" make")...), all, files(m), "abc")
		for _, x := range all {
			trial := New(step("x", content), x.Control, []byte(green), files(m), "abc")
			n := 0
			for edits := trial.Next(); edits != nil; edits = trial.Next() {
				if n++; n > MaxTries {
					t.Fatal("it does not end")
				}
				for _, e := range edits {
					if len(e.Content) <= len(m[e.Path]) {
						t.Fatalf("%s is not broken", e.Path)
					}
				}
				j := trial.Judge(Ending{Passed: kind%3 == 0, Refused: kind%3 == 1, Output: []byte(output)})
				if j.Outcome == Noticed && kind%3 != 1 || j.Outcome == Blind && kind%3 != 0 || j.Outcome == "" {
					t.Fatalf("%+v", j)
				}
			}
		}
	})
}

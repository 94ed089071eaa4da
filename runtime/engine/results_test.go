package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/glob"
	"github.com/command-dialect/dialect/runtime/schedule"
)

const oneTest = `<testsuite><testcase name="a"/></testsuite>`

// circle makes a folder of n links to itself below dir.
func circle(t *testing.T, dir string, n int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := os.Symlink(".", filepath.Join(dir, fmt.Sprint("l", i))); err != nil {
			t.Fatal(err)
		}
	}
}

// The files of test results are counted once each, by whatever names they are found, and none for what was there before.
func TestResultsOnce(t *testing.T) {
	for _, c := range []struct {
		name, script string
		passed       int // 0: no file was written
	}{
		{"folders that lead back", `echo '` + oneTest + `' >r/x.xml`, 1},
		{"many names of a file", `echo '` + oneTest + `' >y; for i in 1 2 3 4 5; do ln -s ../y r/$i.xml; ln y r/h$i.xml; done`, 1},
		{"another name of an old file", `ln -s old.xml r/0.xml; ln r/old.xml r/1.xml`, 0},
		{"another name of an old file beside a new one", `ln -s old.xml r/0.xml; echo '` + oneTest + `' >r/x.xml`, 1},
	} {
		b := newBuilder(t)
		circle(t, filepath.Join(b.dir, "r"), 20)
		if err := os.WriteFile(filepath.Join(b.dir, "r", "old.xml"), []byte(oneTest), 0o644); err != nil {
			t.Fatal(err)
		}
		s := b.sh("check", c.script)
		s.Expect.JUnit = "r/*/*/*.xml"
		r := run(t, b.plan(s), engine.Options{}).Results[0]
		switch {
		case c.passed == 0 && (r.Verdict != schedule.Fault || r.Reason != receipts.StopVacuous):
			t.Errorf("%s: %s %s %s", c.name, r.Verdict, r.Reason, r.Detail)
		case c.passed > 0 && (r.Verdict != schedule.Passed || r.Tests == nil || r.Tests.Passed != c.passed):
			t.Errorf("%s: %s %s %+v", c.name, r.Verdict, r.Detail, r.Tests)
		}
	}
}

// A line does not pass where there are more files than are looked for.
func TestResultsBounds(t *testing.T) {
	b := newBuilder(t)
	s := b.sh("check", fmt.Sprintf(`mkdir r; cd r; seq -f %%g.xml %d | xargs touch`, glob.MaxFiles+1))
	s.Expect.JUnit = "r/*.xml"
	r := run(t, b.plan(s), engine.Options{}).Results[0]
	if r.Verdict != schedule.Fault || !strings.Contains(r.Detail, "too many files") || strings.Contains(r.Detail, "\n") {
		t.Errorf("%s %s %s", r.Verdict, r.Reason, r.Detail)
	}
}

package report

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
)

func render(t *testing.T, d *Document, opt Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, d, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// An index names what the blocks had no room for; where they have all, it would say it again.
func TestIndex(t *testing.T) {
	for total, want := range map[int]bool{1: false, 40: true} {
		o := outcome(7, "x\n")
		for i, r := range o.Results {
			r.Failures = diagnose.Failures{List: []diagnose.Failure{{Finding: diagnose.Finding{File: "a.go", Line: i + 1, Message: "undefined: x"}}}, Total: total}
		}
		if got := render(t, NewDocument(o, nil, ""), Options{}); strings.Contains(got, "index:\n") != want {
			t.Errorf("%d errors each:\n%s", total, got)
		}
	}
}

// What a line in a folder below reports is named as it is seen from here, and so is an error that another line has said.
func TestErrorsBelow(t *testing.T) {
	o := outcome(3, "x\n")
	at := func(r int, dir, file string) {
		o.Results[r].Step.Dir, o.Results[r].Step.Hint = dir, ""
		o.Results[r].Failures = diagnose.Failures{List: []diagnose.Failure{{Finding: diagnose.Finding{File: file, Line: 3, Message: "undefined: x"}}}, Total: 1}
	}
	at(0, "/p", "lib/a.go")
	at(2, "/p/exp", "../lib/a.go")
	rel := func(path string) string {
		short, _ := filepath.Rel("/p", path)
		return short
	}
	d := NewDocument(o, nil, "")
	const want = `quality.dlct:1: Test with pytest: failed, exit 1, 1.00 s
  lib/a.go:3: undefined: x
  again: dialect run quality.dlct:1
quality.dlct:3: Test with pytest: failed, exit 1, 1.00 s; as in quality.dlct:1: lib/a.go:3
FAILED: 2 failed, 1 passed of 3 lines, 1.50 s; gate not run
`
	if got := render(t, d, Options{Rel: rel}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	from := func(string) string { return "../elsewhere" } // seen from a folder that is not around it, the tool's own name is clearer
	if got := render(t, d, Options{Rel: from}); !strings.Contains(got, "  ../lib/a.go:3: undefined: x\n") {
		t.Errorf("got\n%s", got)
	}
}

// The end of an output that no reader knows has no blank lines and no rules for a model, and all of them for people.
func TestRules(t *testing.T) {
	const text = "--------\n\nthe heading\n  ====\n    ^^^^\n---\n#######x\n________\n"
	o := outcome(1, text)
	o.Results[0].Failures = diagnose.Failures{}
	got := render(t, NewDocument(o, nil, ""), Options{})
	if want := "  | the heading\n  |     ^^^^\n  | ---\n  | #######x\n"; !strings.Contains(got, want) || strings.Contains(got, "====") || strings.Contains(got, "____") {
		t.Errorf("got\n%s", got)
	}
	if got = render(t, NewDocument(o, nil, ""), Options{Form: CI}); !strings.Contains(got, "  | --------\n") {
		t.Errorf("got\n%s", got)
	}
}

// What one line has only named, for want of room, another line does not write out.
func TestNamedOnce(t *testing.T) {
	o := outcome(3, "x\n")
	var list []diagnose.Failure
	for i := range 7 {
		list = append(list, diagnose.Failure{Finding: diagnose.Finding{File: "lib.rs", Line: i + 1, Message: "error[E0308]: mismatched types"}, Detail: []string{"expected `u8`, found `bool`"}})
	}
	for _, r := range []int{0, 2} {
		o.Results[r].Step.Hint = ""
		o.Results[r].Failures = diagnose.Failures{List: list, Total: len(list)}
	}
	got := render(t, NewDocument(o, nil, ""), Options{})
	if want := "1.00 s; as in quality.dlct:1: lib.rs:1, lib.rs:2, lib.rs:3, and 4 more\nFAILED:"; !strings.Contains(got, want) || strings.Count(got, "lib.rs:7") != 1 {
		t.Errorf("got\n%s", got)
	}
}

// An error that two lines report is written once. The log is named by its receipt, in the store that is not the one from
// here; what is run again has the flags of the run.
func TestErrorsOnce(t *testing.T) {
	o := outcome(3, "x\n")
	compile := diagnose.Failure{Finding: diagnose.Finding{File: "./a.go", Line: 3, Column: 5, Message: "undefined: x"}}
	o.Results[0].Failures = diagnose.Failures{List: []diagnose.Failure{compile}, Total: 1}
	compile.File = "a.go"
	test := diagnose.Failure{Finding: diagnose.Finding{File: "b_test.go", Line: 7, Message: "got 1, want 2"}, Test: "TestB", Detail: []string{"-1", "+2"}}
	o.Results[2].Failures = diagnose.Failures{List: []diagnose.Failure{compile, test}, Total: 2}
	o.Results[2].Receipt = receipts.Hash{0xab, 0xcd}
	o.Results[2].Process.Stdout.Bytes = 5000
	o.Plan.Script.Flags = []string{"--set", "a=b c", "--routing", "x.toml"}
	for _, r := range o.Results {
		r.Step.Hint = ""
	}
	d := NewDocument(o, nil, "/p/x y.db")
	const want = `quality.dlct:1: Test with pytest: failed, exit 1, 1.00 s
  ./a.go:3: undefined: x
  again: dialect run --set 'a=b c' --routing x.toml quality.dlct:1
quality.dlct:3: Test with pytest: failed, exit 1, 1.00 s
  b_test.go:7: TestB: got 1, want 2
  | -1
  | +2
  as in quality.dlct:1: a.go:3
  log: dialect log --store '/p/x y.db' abcd00000000
  again: dialect run --set 'a=b c' --routing x.toml quality.dlct:3
FAILED: 2 failed, 1 passed of 3 lines, 1.50 s; gate not run
`
	if got := render(t, d, Options{Store: "/p/other.db"}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := render(t, d, Options{Store: "/p/x y.db"}); !strings.Contains(got, "  log: dialect log abcd00000000\n") {
		t.Errorf("got\n%s", got)
	}
	// What was kept says the same.
	var kept bytes.Buffer
	if err := JSON(&kept, d); err != nil {
		t.Fatal(err)
	}
	back, err := Read(bytes.NewReader(kept.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if got := render(t, back, Options{Store: "/p/other.db"}); got != want {
		t.Errorf("of the document that was kept:\n%s\nwant\n%s", got, want)
	}
	if hints := d.Lines[2].Fault.ReproHints; len(hints) != 1 || hints[0] != "dialect run --set 'a=b c' --routing x.toml quality.dlct:3" {
		t.Errorf("%q", hints)
	}
	// A document of before names the first error alone; one that was written by hand may hold anything.
	for _, text := range []string{
		`{"schema":"dialect.report/1","verdict":"failed","lines":[{"id":"1","verdict":"failed","error":{"file":"a.go","line":3,"message":"old"}}]}`,
		`{"schema":"dialect.report/1","verdict":"failed","lines":[{"id":"1","verdict":"failed","errors":[null,{"file":"a.go","line":3,"message":"old"},null],"error_count":-3}]}`,
	} {
		back, err := Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []Form{Agent, Terminal, CI} {
			if got := render(t, back, Options{Form: form}); !strings.Contains(got, "  a.go:3: old\n") {
				t.Errorf("%s: got\n%s", text, got)
			}
		}
	}
}

// A missing tool is reported with how it is installed, and nothing else is.
func TestInstall(t *testing.T) {
	o := outcome(1, "")
	r := o.Results[0]
	r.Step.Install = "run `npm ci`"
	if got := render(t, NewDocument(o, nil, ""), Options{}); !strings.Contains(got, "hint: make venv") || strings.Contains(got, "npm ci") {
		t.Errorf("got\n%s", got)
	}
	r.Verdict, r.Reason, r.Detail = schedule.Fault, receipts.StopEnvMissing, "x was not found"
	r.Process = &process.Result{ExitCode: -1}
	if got := render(t, NewDocument(o, nil, ""), Options{}); strings.Contains(got, "make venv") || !strings.Contains(got, "  hint: run `npm ci`\n") || strings.Contains(got, "$ ") {
		t.Errorf("got\n%s", got)
	}
}

// Of many failures the first few are written whole, then names, and how many there are besides, in each form; a name that
// is long does not take the place of all.
func TestManyErrors(t *testing.T) {
	for _, n := range []int{1, 3, 4, 20, 64, 1000} {
		for _, long := range []int{0, 400} {
			o := outcome(1, "x\n")
			f := diagnose.Failures{Total: n}
			for i := range min(n, 64) {
				f.List = append(f.List, diagnose.Failure{Finding: diagnose.Finding{File: "a_test.go", Line: i + 1, Message: fmt.Sprintf("got %d", i) + strings.Repeat("m", long)}, Test: fmt.Sprintf("Test%d", i) + strings.Repeat("t", long)})
			}
			o.Results[0].Failures = f
			for _, form := range []Form{Agent, Terminal} {
				got := render(t, NewDocument(o, nil, ""), Options{Form: form})
				if !strings.Contains(got, "  a_test.go:1: Test0") || form == Agent && len(got) > AgentLimit {
					t.Errorf("%d failures: %d bytes\n%s", n, len(got), got)
				}
				last := f.List[len(f.List)-1].Test[:5]
				if n >= 64 != strings.Contains(got, " more\n") && (n >= 64 || long == 0 && n < 12) || n <= 4 && !strings.Contains(got, last) && long == 0 {
					t.Errorf("%d failures: not all are accounted for:\n%s", n, got)
				}
			}
		}
	}
}

// Tests whose long names are cut to the same are all counted: those that are not named are the "more".
func TestListCounts(t *testing.T) {
	long := strings.Repeat("a suite of tests ", 6)
	errors := []*DocError{{Test: long + "one"}, {Test: long + "two"}, {Test: long + "three"}, {Test: "short"}}
	if got := list(errors, 12, 400, 6); !strings.HasSuffix(got, ", short, and 4 more") {
		t.Error(got)
	}
	// Errors at one place are named once, by the place.
	at := []*DocError{{File: "a.c", Line: 3, Message: "x"}, {File: "a.c", Line: 3, Message: "y"}}
	if got := list(at, 12, 400, 2); got != "a.c:3" {
		t.Error(got)
	}
}

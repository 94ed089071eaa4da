package report

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// TestJUnitFault has a run fail of which no line says so.
func TestJUnitFault(t *testing.T) {
	for verdict, want := range map[string]string{"fault": `errors="1"`, "refused": `errors="1"`, "passed": `errors="0"`} {
		var b strings.Builder
		if err := JUnit(&b, &Document{Verdict: verdict, Script: DocScript{Name: "q.dlct"}, Gate: &DocGate{Verdict: "vacuous", Detail: "no line above it was carried out"}}, JUnitOptions{}); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); !strings.Contains(text, want) || strings.Contains(text, "no line above") != (verdict != "passed") {
			t.Errorf("%s: %s", verdict, text)
		}
	}
}

// A report is written within a bound, whatever it names: lines past it are a case each, as those are whose tests have no names. One error that many
// cases share is written for each.
func TestJUnitBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	cases := make([]diagnose.Case, 40)
	for i := range cases {
		cases[i] = diagnose.Case{Name: "t", State: diagnose.CaseFailed}
	}
	o := outcome(4, "")
	for _, r := range o.Results {
		r.Verdict, r.Cases, r.Failures = schedule.Failed, cases, failed(&diagnose.Finding{File: "x.py", Message: long})
		r.Failures.List[0].Test = "t"
	}
	var b bytes.Buffer
	if err := JUnit(&b, NewDocument(o, nil, ""), JUnitOptions{}); err != nil {
		t.Fatal(err)
	}
	var s junitSuites
	if err := xml.Unmarshal(b.Bytes(), &s); err != nil || len(s.Suites) != 2 || s.Tests != 40+3 || s.Failures != 40+3 {
		t.Errorf("%d suites, %d tests, %d failures, %v", len(s.Suites), s.Tests, s.Failures, err)
	}
	if b.Len() > 2*diagnose.MaxCaseBytes {
		t.Errorf("the report has %d bytes", b.Len())
	}
}

package report

import (
	"strings"
	"testing"
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

package guard

import (
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/notary"
)

// TestWriteRuns: runs that did not pass are counted, named first, and neither pushed away by many others nor by long names.
func TestWriteRuns(t *testing.T) {
	s := notary.Status{Runs: []notary.Ran{{Script: "red.dlct", Verdict: "failed", Why: strings.Repeat("w", 100_000)}}}
	for range 200 {
		s.Runs = append(s.Runs, notary.Ran{Script: strings.Repeat("x", 100_000), Verdict: "passed", Gate: "g-1"})
	}
	var b strings.Builder
	if err := writeRuns(&b, s); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if len(lines) > maxRuns+4 || b.Len() > maxRuns*300 || !strings.Contains(lines[0], "1 of 201 runs did not pass") || !strings.Contains(b.String(), "red.dlct: failed") ||
		!strings.Contains(b.String(), "(181 more)") {
		t.Errorf("%d lines, %d bytes:\n%.600s", len(lines), b.Len(), b.String())
	}
}

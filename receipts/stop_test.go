package receipts

import (
	"os"
	"regexp"
	"testing"
)

// Every declared reason parses, and is of exactly one family; no other text parses.
func TestStopReasons(t *testing.T) {
	src, err := os.ReadFile("stop.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range regexp.MustCompile(`(?m)^\tStop\w+\s+StopReason = "(\w+)"`).FindAllSubmatch(src, -1) {
		n++
		s := StopReason(m[1])
		if !s.Known() {
			t.Errorf("%q is declared, and is not of the set", s)
		}
		if s.Failed() && s.EndedEarly() {
			t.Errorf("%q is an answer, and was ended before one", s)
		}
	}
	if n < 15 {
		t.Fatalf("found %d reasons in stop.go; the pattern is out of date", n)
	}
	for _, s := range []StopReason{"failed", "Timeout", "barrier", "degraded", " "} {
		if s.Known() {
			t.Errorf("%q is of the set", s)
		}
	}
}

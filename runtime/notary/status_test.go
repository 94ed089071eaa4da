package notary

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWriteRuns: runs that did not pass are counted, named first, and neither pushed away by many others nor by long names.
func TestWriteRuns(t *testing.T) {
	s := Status{Runs: []Ran{{Script: "red.dlct", Verdict: "failed", Why: strings.Repeat("w", 100_000)}}}
	for range 200 {
		s.Runs = append(s.Runs, Ran{Script: strings.Repeat("x", 100_000), Verdict: "passed", Gate: "g-1"})
	}
	var b strings.Builder
	if err := s.WriteRuns(&b); err != nil {
		t.Fatal(err)
	}
	many := Status{Runs: append([]Ran{{Script: "red.dlct", Verdict: "failed"}}, slices.Repeat([]Ran{{Verdict: "refused"}}, 99)...)}
	var text strings.Builder
	if err := many.WriteRuns(&text); err != nil || !strings.Contains(text.String(), "red.dlct: failed") {
		t.Errorf("%v\n%s", err, text.String())
	}
	lines := strings.Split(b.String(), "\n")
	if len(lines) > mostShown+4 || b.Len() > mostShown*300 || !strings.Contains(lines[0], "1 of 201 runs did not pass") || !strings.Contains(b.String(), "red.dlct: failed") ||
		!strings.Contains(b.String(), "(181 more)") {
		t.Errorf("%d lines, %d bytes:\n%.600s", len(lines), b.Len(), b.String())
	}
}

// TestStatusText names what a session is like, and escapes what an agent could have chosen.
func TestStatusText(t *testing.T) {
	s := Status{
		Key: "n+1+A", Identity: "boss", Mode: ModeNamespaces, ABI: 7, Tree: "/srv/\x1b[2Jp", Baseline: "1958", InPlace: true, Records: 2,
		Listeners: []string{"port 22"}, Masks: []string{"/run/user/1000", "/tmp/tmux-1000"}, Started: time.Unix(0, 0),
		Runs: []Ran{{Run: "r-1", Script: "a.dlct", Verdict: "passed", Gate: "g-1"}},
	}
	var b strings.Builder
	if err := s.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"tree      /srv/\ufffd[2Jp\n", "mode      namespaces, Landlock ABI 7; commands run in the working tree\n", "rules     as in 1958\n", "key       n+1+A; boss vouches for it\n",
		"hidden    from the agent: /run/user/1000, /tmp/tmux-1000\n", "open      to the agent: port 22\n", "log       2 records since 1970-01-01T00:00:00Z\n", " a.dlct: passed; gate g-1\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// TestWriteLost: the text says first what could not be recorded, and those are counted that a status names no longer.
func TestWriteLost(t *testing.T) {
	var b strings.Builder
	s := Status{Lost: "2 records of what happened could not be recorded: the disk is full", Runs: []Ran{{Script: "a.dlct", Verdict: "failed"}}, Counts: map[string]int{"failed": 4, "passed": 3}}
	if err := s.WriteRuns(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.String(), "  NOT RECORDED: 2 records of what happened could not be recorded: the disk is full\n  4 of 7 runs did not pass:\n  (6 more)\n") {
		t.Error(b.String())
	}
}

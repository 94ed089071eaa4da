package notary

import (
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// TestEventsBounded: however many lines say how much, what is kept of a run has a bound, and each line its verdict.
func TestEventsBounded(t *testing.T) {
	r := newRun(Peer{})
	long := strings.Repeat("x", 60<<10)
	n := 0
	for ; n < 2*maxEvents/len(long); n++ {
		r.tell(&event{Kind: "finished", Step: "1", Result: &result{Step: "1", Verdict: schedule.Failed, Failures: diagnose.Failures{Total: 1, List: []diagnose.Failure{{Finding: diagnose.Finding{Message: long}}}}}})
	}
	size := 0
	for _, f := range r.events {
		size += len(f)
	}
	if len(r.events) != n || size > maxEvents+n*1024 || size < maxEvents/2 {
		t.Errorf("%d events of %d, %d bytes", len(r.events), n, size)
	}
	if last := string(r.events[n-1]); !strings.Contains(last, `"verdict"`) || strings.Contains(last, "xxx") {
		t.Errorf("the last one is %.200s", last)
	}
}

// TestConfined: where a command cannot be kept in namespaces of its own a notary runs none: it would run as the notary does, and an agent
// can use up the namespaces of its user.
func TestConfined(t *testing.T) {
	s := begin(t, work(t, nil), nil)
	s.Notary.c.Room = nil
	o, err := s.run(t, "Check with file\n")
	if err != nil {
		t.Fatal(err)
	}
	if r := o.Results[0]; r.Verdict != schedule.Fault {
		t.Errorf("%s %s", r.Verdict, r.Detail)
	}
}

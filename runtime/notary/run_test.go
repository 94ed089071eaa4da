package notary

import (
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/redact"
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

// TestSecretsAround: what the run around a session has as a secret is in nothing that the session records.
func TestSecretsAround(t *testing.T) {
	s := begin(t, work(t, nil), func(c *Config) {
		c.Environ = append(slices.Clone(c.Environ), redact.Variable+"=4:good,")
	})
	if _, err := s.run(t, checkFile); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.proof(t).Records {
		if strings.Contains(string(r.Body), "good") {
			t.Errorf("%s", r.Body)
		}
	}
}

// TestStatusBounded: whatever an agent calls its scripts, the status says what became of them.
func TestStatusBounded(t *testing.T) {
	s := begin(t, work(t, nil), nil)
	for _, name := range []string{strings.Repeat("q", 900_000) + ".dlct", strings.Repeat("\x01é", 100_000)} {
		p, spec := bound(t, s.tree, checkFile)
		spec.Name = name
		if _, err := s.ask(t, p, spec); err == nil {
			t.Errorf("a script with a name of %d bytes runs", len(name))
		}
	}
	for range 2 * maxRan {
		s.note(newRun(Peer{}), Ran{Script: strings.Repeat("é", 60_000), Why: strings.Repeat("w", 60_000), Verdict: "refused"})
	}
	s.Notary.c.Facts.Listeners = slices.Repeat([]string{strings.Repeat("l", 100)}, 50_000)
	s.Notary.c.Facts.Masks = s.Notary.c.Facts.Listeners
	status, err := s.Client.Status(t.Context())
	if err != nil || len(status.Runs) != maxRan || len(status.Listeners) == 0 {
		t.Errorf("%v, %d runs, %d listeners", err, len(status.Runs), len(status.Listeners))
	}
}

// TestStatusOfMany: however much is refused, a run that failed and one that passed are among what the status names, and all are counted.
func TestStatusOfMany(t *testing.T) {
	s := begin(t, work(t, nil), nil)
	s.note(newRun(Peer{}), Ran{Script: "red", Verdict: "failed"})
	for range 3 * maxRan {
		s.note(newRun(Peer{}), Ran{Verdict: "refused"})
	}
	s.note(newRun(Peer{}), Ran{Script: "green", Verdict: "passed"})
	for range 3 * maxRan {
		s.note(newRun(Peer{}), Ran{Verdict: "interrupted"})
	}
	status, err := s.Client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, r := range status.Runs {
		if r.Script != "" {
			named = append(named, r.Script)
		}
	}
	if strings.Join(named, " ") != "red green" || len(status.Runs) != maxRan || status.Counts["refused"] != 3*maxRan || status.Counts["passed"] != 1 {
		t.Errorf("%q of %d, %v", named, len(status.Runs), status.Counts)
	}
}

// TestKeepers: the end of one run takes nothing from what another one that lasts holds on to.
func TestKeepers(t *testing.T) {
	s := begin(t, work(t, nil), nil)
	lasts, ends := s.keeper(newRun(Peer{})), s.keeper(newRun(Peer{}))
	if err := s.over(t.Context(), ends); err != nil || len(s.keep) != 1 || s.keep[0] != lasts {
		t.Errorf("%v, %d are kept", err, len(s.keep))
	}
	if err := s.over(t.Context(), lasts); err != nil || len(s.keep) != 0 {
		t.Errorf("%v, %d are kept", err, len(s.keep))
	}
}

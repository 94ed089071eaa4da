package decide

import (
	"testing"

	"github.com/command-dialect/dialect/receipts/verify"
)

// TestStop has a row for each rule, in order. Each row also has what every later rule would match, so that the first match
// decides, whatever else is so.
func TestStop(t *testing.T) {
	failed := Evidence{Verdict: verify.Failed, Why: "test_go failed"}
	all := Stop{
		Scope: Scope{Off: true, NoProject: true, Untrusted: true}, Gone: "routing.toml is gone", NoSession: true, Uncounted: "a lock", SubAgent: true, Plan: true, Background: true, Message: "Shall I go on?",
		Evidence: &Evidence{NoTree: "a file changed while it was read", Unchanged: true, Ignored: true, NewRules: true, Verdict: verify.Failed, Old: true},
		HeldHere: true, Held: MaxHeld,
	}
	set := func(change func(s *Stop, e *Evidence)) {
		e := *all.Evidence
		change(&all, &e)
		all.Evidence = &e
	}
	verdict := func(v verify.Verdict) func(*Stop, *Evidence) {
		return func(_ *Stop, e *Evidence) { e.Verdict = v }
	}
	for _, row := range []struct {
		rule   string
		action Action
		not    func(s *Stop, e *Evidence) // takes away what this rule matches
	}{
		{"off", Allow, func(s *Stop, _ *Evidence) { s.Off = false }},
		{"no-matrix", Allow, func(s *Stop, _ *Evidence) { s.NoProject = false }},
		{"not-trusted", Allow, func(s *Stop, _ *Evidence) { s.Untrusted = false }},
		{"rules-changed", Tell, func(s *Stop, _ *Evidence) { s.Gone = "" }},
		{"no-session", Allow, func(s *Stop, _ *Evidence) { s.NoSession = false }},
		{"not-counted", Tell, func(s *Stop, _ *Evidence) { s.Uncounted = "" }},
		{"sub-agent", Allow, func(s *Stop, _ *Evidence) { s.SubAgent = false }},
		{"plan-mode", Allow, func(s *Stop, _ *Evidence) { s.Plan = false }},
		{"no-tree", Tell, func(_ *Stop, e *Evidence) { e.NoTree = "" }},
		{"unchanged", Allow, func(_ *Stop, e *Evidence) { e.Unchanged = false }}, // which documents are alone that changed
		{"rules-changed", Tell, verdict(verify.Verified)},
		{"rules-changed", Tell, func(_ *Stop, e *Evidence) { e.NewRules = false }},
		{"verified", Allow, verdict(verify.Scoped)},
		{"verified-for-changed-paths", Allow, verdict(verify.Failed)},
		{"ignored-files", Allow, func(_ *Stop, e *Evidence) { e.Ignored, e.Verdict = false, verify.Policy }},
		{"rules-changed", Tell, verdict(verify.Tampered)},
		{"broken-store", Tell, verdict(verify.Degraded)},
		{"broken-store", Tell, verdict(verify.Failed)},
		{"old-failure", Tell, func(_ *Stop, e *Evidence) { e.Old, e.Verdict = false, verify.Flaky }},
		{"flaky", Tell, verdict(verify.Failed)},
		{"background", Tell, func(s *Stop, _ *Evidence) { s.Background = false }},
		{"question", Tell, func(s *Stop, e *Evidence) { s.Message, e.NewRules = "Done.", true }}, // which holds nobody back
		{"held-on-this-tree", Tell, func(s *Stop, _ *Evidence) { s.HeldHere = false }},
		{"held-enough", Tell, func(s *Stop, _ *Evidence) { s.Held-- }},
		{"failed", Refuse, verdict(verify.Stale)},
		{"not-checked", Refuse, verdict(verify.Missing)},
		{"not-checked", Refuse, verdict(verify.Outside)},
	} {
		if d := all.Decide(); d.Rule != row.rule || d.Action != row.action || (d.Text != "") != (d.Action == Tell) {
			t.Fatalf("got %+v, want %s %s", d, row.action, row.rule)
		}
		set(row.not)
	}
	if d := (Stop{Message: "Done."}).Decide(); d.Action != Look {
		t.Errorf("without evidence: %+v", d)
	}
	for held := range MaxHeld {
		if d := (Stop{Evidence: &failed, Held: held}).Decide(); d.Action != Refuse {
			t.Errorf("held %d times: %+v", held, d)
		}
	}
}

func TestTool(t *testing.T) {
	is := func(v verify.Verdict) *Evidence { return &Evidence{Verdict: v, Why: "why"} }
	for _, c := range []struct {
		tool   Tool
		action Action
		rule   string
	}{
		{Tool{Scope: Scope{Off: true}, Bypass: "-n"}, Allow, "off"},
		{Tool{Scope: Scope{NoProject: true}, Bypass: "-n"}, Allow, "no-matrix"},
		{Tool{Scope: Scope{Untrusted: true}, Bypass: "-n"}, Allow, "not-trusted"},
		{Tool{Bypass: "-n", Commit: true}, Refuse, "bypass"},
		{Tool{}, Allow, "other-command"},
		{Tool{Commit: true}, Look, "look"},
		{Tool{Commit: true, Evidence: is(verify.Verified)}, Allow, "verified"},
		{Tool{Commit: true, Evidence: is(verify.Failed)}, Refuse, "commit-failed"},
		{Tool{Commit: true, Evidence: &Evidence{Verdict: verify.Failed, Old: true}}, Allow, "commit"},
		{Tool{Commit: true, Evidence: is(verify.Stale)}, Allow, "commit"},
		{Tool{Commit: true, Evidence: is(verify.Policy)}, Allow, "commit"},
		{Tool{Commit: true, Evidence: &Evidence{NoTree: "unmerged"}}, Tell, "no-tree"},
		{Tool{Push: true}, Look, "look"},
		{Tool{Push: true, Evidence: is(verify.Verified)}, Allow, "verified"},
		{Tool{Push: true, Evidence: is(verify.Degraded)}, Tell, "broken-store"},
		{Tool{Push: true, Evidence: is(verify.Stale)}, Refuse, "push-unverified"},
		{Tool{Push: true, Evidence: is(verify.Scoped)}, Refuse, "push-unverified"},
		{Tool{Push: true, Evidence: is(verify.Missing)}, Refuse, "push-unverified"},
		{Tool{Push: true, Evidence: is(verify.Policy)}, Refuse, "push-unverified"},
		{Tool{Push: true, Evidence: is(verify.Tampered)}, Refuse, "push-unverified"},
		{Tool{Push: true, Evidence: &Evidence{Verdict: verify.Failed, Old: true}}, Refuse, "push-unverified"},
		{Tool{Push: true, Commit: true, Evidence: is(verify.Stale)}, Refuse, "push-unverified"},
	} {
		if d := c.tool.Decide(); d.Action != c.action || d.Rule != c.rule {
			t.Errorf("%+v: got %s %s, want %s %s", c.tool, d.Action, d.Rule, c.action, c.rule)
		}
	}
}

func TestIsQuestion(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "Done.": false, "Which one? I took the first.": false,
		"Shall I delete it?": true, "Shall I delete it? \n": true, "**Shall I?**": true, "(or not?)": true, "他们？": true,
	} {
		if got := IsQuestion(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

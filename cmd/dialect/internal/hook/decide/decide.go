// Package decide is the decision list of the agents' hooks. Facts come in, a [Decision] comes out: the first rule
// that matches decides. It reads no file, keeps no state and knows no agent.
package decide

import (
	"strings"

	"github.com/command-dialect/dialect/receipts/verify"
)

// MaxHeld is how often an agent is held between two prompts of a person. No client has a bound that can be relied on.
const MaxHeld = 2

// An Action is what a hook does about an event.
type Action string

// The actions.
const (
	Allow  Action = "allow"  // in silence
	Tell   Action = "tell"   // allow, and tell the person why
	Refuse Action = "refuse" // the agent goes on, and learns why
	Look   Action = "look"   // the facts of the tree are needed: fill them in, and ask again
)

// A Decision is an action, and the rule that it follows from.
type Decision struct {
	Action Action
	Rule   string // a constant name, for the log and for tests
	Text   string // for the person, of Tell; empty elsewhere
}

// Evidence is what was found out about the present files.
type Evidence struct {
	NoTree    string // why there is no snapshot; empty if there is one
	Unchanged bool   // the files are those of the last prompt
	Ignored   bool   // all that changed since the last prompt, or since the last gate, is in [hooks] ignore
	Verdict   verify.Verdict
	Why       string // the first refusal of the verdict
	// Old says that each failing test, or line where tests have no names, also failed in a receipt on the tree of the
	// session's start, or of HEAD as it was then.
	Old bool
	// Unrun are the lines that were not carried out on the present files, where Old is true.
	Unrun []string
	// NewRules says that the rules are not those of the last prompt.
	NewRules bool
	// RulesGone says that the commit that is pushed has no rules that can be read, where the one that it follows on the remote has.
	RulesGone bool
}

// A Scope says whether the hooks act in a project at all.
type Scope struct {
	Off       bool // a person switched the hooks off
	NoProject bool
	Untrusted bool // the hook is the user's, and the user has not trusted the rules of this project
}

// idle returns the rule by which the hooks do nothing; empty if they act.
func (s Scope) idle() string {
	switch {
	case s.Off:
		return "off"
	case s.NoProject:
		return "no-matrix"
	case s.Untrusted:
		return "not-trusted"
	}
	return ""
}

// A Stop is what is known when an agent wants to end its turn.
type Stop struct {
	Scope
	NoSession  bool   // the client names none: refusals cannot be counted
	Uncounted  string // why its state cannot be kept, where the client names one; empty where it can
	SubAgent   bool
	Plan       bool
	Background bool
	Message    string // the last one of the agent
	Gone       string // why there are no rules here, where there were; empty where there are, or never were

	Evidence *Evidence // nil before it is needed
	HeldHere bool      // the agent was held on exactly these files before
	Held     int       // since the last prompt
	Overrun  string    // what to say where the script was run by `[hooks] run`, and did not end in time; else empty
}

// Decide decides whether an agent may end its turn.
func (s Stop) Decide() Decision {
	switch {
	case s.idle() != "":
		return Decision{Allow, s.idle(), ""}
	case s.Gone != "":
		return Decision{Tell, "rules-changed", s.Gone}
	case s.NoSession:
		return Decision{Allow, "no-session", ""}
	case s.Uncounted != "": // which an agent can bring about
		return Decision{Tell, "not-counted", "not checked, because refusals of this session cannot be counted: " + s.Uncounted}
	case s.SubAgent:
		return Decision{Allow, "sub-agent", ""}
	case s.Plan:
		return Decision{Allow, "plan-mode", ""}
	case s.Evidence == nil:
		return Decision{Look, "look", ""}
	}
	e := s.Evidence
	switch {
	case e.NoTree != "":
		return Decision{Tell, "no-tree", "not checked: " + e.NoTree}
	case e.Unchanged:
		return Decision{Allow, "unchanged", ""}
	case e.NewRules && (e.Verdict == verify.Verified || e.Verdict == verify.Scoped || e.Ignored):
		return Decision{Tell, "rules-changed", "the rules are not those of your last prompt: the matrix, or a file that it extends or pins, changed since then"}
	case e.Verdict == verify.Verified:
		return Decision{Allow, "verified", ""}
	case e.Verdict == verify.Scoped:
		return Decision{Allow, "verified-for-changed-paths", ""}
	case e.Ignored:
		return Decision{Allow, "ignored-files", ""}
	case e.Verdict == verify.Policy:
		return Decision{Tell, "rules-changed", "the rules changed, which an agent cannot resolve: " + e.Why + "; `dialect verify` shows the difference"}
	case e.Verdict == verify.Tampered, e.Verdict == verify.Degraded:
		return Decision{Tell, "broken-store", string(e.Verdict) + ": " + e.Why}
	case e.Verdict == verify.Failed && e.Old && len(e.Unrun) == 0:
		return Decision{Tell, "old-failure", "it fails as it did before this session: " + e.Why}
	case e.Verdict == verify.Flaky:
		return Decision{Tell, "flaky", "it passed only after it had failed on the same files: " + e.Why}
	case s.Background:
		return Decision{Tell, "background", "work goes on in the background, and the files are not verified: " + e.Why}
	case IsQuestion(s.Message):
		return Decision{Tell, "question", "the agent ends with a question, and its changes are not verified: " + e.Why}
	case s.HeldHere:
		return Decision{Tell, "held-on-this-tree", "the agent was held once on these files and stops with them as they are: " + e.Why}
	case s.Held >= MaxHeld:
		return Decision{Tell, "held-enough", "the agent was held twice since your last prompt, and is let go: " + e.Why}
	case e.Verdict == verify.Failed && !e.Old:
		return Decision{Refuse, "failed", ""}
	case s.Overrun != "":
		return Decision{Tell, "run-overrun", s.Overrun}
	}
	return Decision{Refuse, "not-checked", ""}
}

// IsQuestion reports whether a message ends in a question, whatever closes a quotation or an emphasis behind it.
func IsQuestion(message string) bool {
	text := strings.TrimRight(message, " \t\r\n\"'`*_)]»”’")
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || strings.HasSuffix(text, "؟")
}

// A Tool is what is known before an agent runs a command line of a shell.
type Tool struct {
	Scope
	Bypass string // what of the command line goes around a check; empty for nothing
	Commit bool
	Push   bool // or opens a pull request

	Unknown string // why it is not known which repository is meant; empty where it is

	Evidence *Evidence // of the present files for a commit, of HEAD for a push; nil before it is needed
}

// Decide decides whether the command line may be run.
func (t Tool) Decide() Decision {
	switch {
	case t.idle() != "":
		return Decision{Allow, t.idle(), ""}
	case t.Bypass != "":
		return Decision{Refuse, "bypass", ""}
	case !t.Commit && !t.Push:
		return Decision{Allow, "other-command", ""}
	case t.Unknown != "" && t.Push:
		return Decision{Refuse, "push-unknown", ""}
	case t.Unknown != "":
		return Decision{Allow, "commit", ""}
	case t.Evidence == nil:
		return Decision{Look, "look", ""}
	}
	e := t.Evidence
	switch {
	case t.Push && e.RulesGone:
		return Decision{Refuse, "push-unverified", ""}
	case e.Verdict == verify.Verified:
		return Decision{Allow, "verified", ""}
	case e.NoTree != "":
		return Decision{Tell, "no-tree", "not checked: " + e.NoTree}
	case e.Verdict == verify.Degraded:
		return Decision{Tell, "broken-store", string(e.Verdict) + ": " + e.Why}
	case t.Push:
		return Decision{Refuse, "push-unverified", ""}
	case e.Verdict == verify.Failed && !e.Old:
		return Decision{Refuse, "commit-failed", ""}
	}
	return Decision{Allow, "commit", ""}
}

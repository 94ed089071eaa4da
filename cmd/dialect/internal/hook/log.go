package hook

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/decide"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/journal"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/runtime/records"
)

// A History is what the hooks of a project decided: the document of `dialect hook log --json`.
type History struct {
	Schema  string     `json:"schema"` // dialect.hooks/1
	Off     *time.Time `json:"off_until,omitempty"`
	Entries []Step     `json:"entries"` // the oldest first
}

// A Step is a decision, and what the session came to next.
type Step struct {
	journal.Entry
	Then string `json:"then,omitempty"` // of a refused stop: the rule that its next stop was decided by
}

// Log returns what the hooks decided in the project that dir is in; all includes plain passes.
func Log(dir string, all bool) (*History, error) {
	j, err := of(dir)
	if err != nil {
		return nil, err
	}
	h := &History{Schema: "dialect.hooks/1", Entries: []Step{}}
	if until := j.OffUntil(time.Now()); !until.IsZero() {
		h.Off = &until
	}
	entries := j.Entries()
	for i, e := range entries {
		if !all && e.Action == string(decide.Allow) {
			continue
		}
		s := Step{Entry: e}
		if e.Action == string(decide.Refuse) && e.Event == "stop" {
			s.Then = "nothing yet"
			for _, next := range entries[i+1:] {
				if next.Session == e.Session && next.Agent == e.Agent && (next.Event == "stop" || next.Event == "prompt") {
					s.Then = next.Rule
					break
				}
			}
		}
		h.Entries = append(h.Entries, s)
	}
	return h, nil
}

// of returns the journal of the project that dir is in.
func of(dir string) (*journal.Journal, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	return journal.Of(rootOf(dir))
}

// person is the agent of what a person decided.
const person = "person"

// Off switches the hooks of the project that dir is in off for a time; 0 switches them on.
func Off(dir string, d time.Duration) (until time.Time, err error) {
	j, err := of(dir)
	if err != nil {
		return until, err
	}
	now := time.Now()
	if d > 0 {
		until = now.Add(d)
	}
	if err = j.SwitchOff(until); err == nil {
		text := "on"
		if d > 0 {
			// 1h, not 1h0m0s.
			text = "off for " + strings.Replace(strings.Replace(d.String()+"\n", "m0s\n", "m", 1), "h0m", "h", 1)
			text = strings.TrimSuffix(text, "\n")
		}
		j.Log(journal.Entry{Time: now.UTC().Truncate(time.Millisecond), Agent: person, Event: "off", Action: string(decide.Tell), Rule: "off", Text: text})
	}
	return until, err
}

// WriteText writes the history for people.
func (h *History) WriteText(w io.Writer) error {
	var b strings.Builder
	if h.Off != nil {
		fmt.Fprintf(&b, "the hooks are off until %s\n", records.Stamp(*h.Off))
	}
	if len(h.Entries) == 0 {
		b.WriteString("no agent was held here\n")
	}
	for _, e := range h.Entries {
		if e.Agent == person {
			fmt.Fprintf(&b, "%s  %s  switched the hooks %s\n", records.Stamp(e.Time), e.Agent, diag.Printable(e.Text))
			continue
		}
		what := map[string]string{"refuse": "held", "tell": "let pass"}[e.Action]
		if e.Event == "tool" && e.Action == string(decide.Refuse) {
			what = "refused"
		}
		if what == "" {
			what = "passed"
		}
		fmt.Fprintf(&b, "%s  %s  %s  %s: %s", records.Stamp(e.Time), diag.Printable(e.Agent), diag.Printable(e.Event), what, diag.Printable(e.Rule))
		if e.Then != "" {
			fmt.Fprintf(&b, "; then: %s", diag.Printable(e.Then))
		}
		b.WriteByte('\n')
		if line, _, _ := strings.Cut(e.Text, "\n"); line != "" {
			fmt.Fprintf(&b, "    %s\n", diag.Printable(line))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

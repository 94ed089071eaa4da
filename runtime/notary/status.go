package notary

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
)

// A Status says what a session has come to. It is also what a client gets that asks for it.
type Status struct {
	Key      string `json:"key"`                // the public key of the session
	Identity string `json:"identity,omitempty"` // the name of the key that vouches for it
	Mode     string `json:"mode"`
	ABI      int    `json:"abi,omitempty"`
	Tree     string `json:"tree"`
	Baseline string `json:"baseline,omitempty"` // a commit
	InPlace  bool   `json:"in_place,omitempty"`
	// Listeners could run things for the agent outside of its domain; Masks are hidden from it.
	Listeners []string  `json:"listeners,omitempty"`
	Masks     []string  `json:"masks,omitempty"`
	Started   time.Time `json:"started"`
	Closed    bool      `json:"closed,omitempty"`
	Records   int64     `json:"records"`
	Lost      string    `json:"lost,omitempty"` // what is not recorded, and why; nothing else runs before it is
	Running   int       `json:"running"`
	Runs      []Ran     `json:"runs"` // the last of them, in their order
	// Counts are those of all runs by their verdict, also of those that Runs has no longer.
	Counts map[string]int `json:"counts,omitempty"`
}

// Ran is what became of one run, or of a question that was refused.
type Ran struct {
	Run     string    `json:"run,omitempty"`
	Script  string    `json:"script"`
	Started time.Time `json:"started"`
	Verdict string    `json:"verdict"` // passed, failed, fault, refused, interrupted
	Gate    string    `json:"gate,omitempty"`
	Checks  string    `json:"checks,omitempty"` // of a test of the checks: how many were tested
	Why     string    `json:"why,omitempty"`    // of what was refused
}

// maxRan is how many runs a status names.
const maxRan = 100

// WriteText writes s for people.
func (s Status) WriteText(w io.Writer) error {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-9s "+format+"\n", append([]any{name}, args...)...)
	}
	line("tree", "%s", diag.Printable(s.Tree))
	mode, where := s.Mode, "in a clean checkout"
	if s.ABI > 0 {
		mode += fmt.Sprintf(", Landlock ABI %d", s.ABI)
	}
	if s.InPlace {
		where = "in the working tree"
	}
	line("mode", "%s; commands run %s", mode, where)
	if s.Baseline != "" {
		line("rules", "as in %s", s.Baseline)
	} else {
		line("rules", "as they were when the session began")
	}
	vouched := "nobody vouches for it"
	if s.Identity != "" {
		vouched = diag.Printable(s.Identity) + " vouches for it"
	}
	line("key", "%s; %s", s.Key, vouched)
	if len(s.Masks) > 0 {
		line("hidden", "from the agent: %s", diag.Printable(strings.Join(s.Masks, ", ")))
	}
	for _, l := range s.Listeners {
		line("open", "to the agent: %s", diag.Printable(l))
	}
	line("log", "%s since %s", diag.Number(int(s.Records), "record"), s.Started.UTC().Format(time.RFC3339))
	if s.Running > 0 {
		line("running", "%s", diag.Number(s.Running, "run"))
	}
	return s.WriteRuns(w)
}

// How many runs are shown, and how many letters of a text that an agent chose.
const (
	mostShown = 20
	longest   = 100
)

// WriteRuns writes for people what was recorded.
func (s Status) WriteRuns(w io.Writer) error {
	if s.Lost != "" {
		fmt.Fprintf(w, "  NOT RECORDED: %s\n", diag.Clip(diag.Printable(s.Lost), 3*longest))
	}
	if len(s.Runs) == 0 {
		_, err := fmt.Fprintln(w, "  no run was asked for: nothing is proven")
		return err
	}
	// What did not pass comes first, and is counted: however many runs came after it, it does not scroll away.
	var refused, red, green []Ran
	for _, ran := range s.Runs {
		switch ran.Verdict {
		case "passed":
			green = append(green, ran)
		case "refused":
			refused = append(refused, ran)
		default:
			red = append(red, ran)
		}
	}
	red = append(refused, red...) // many questions push away no failure
	all := 0
	for _, n := range s.Counts { // of those, too, that Runs has no longer
		all += n
	}
	all = max(all, len(s.Runs))
	if not := all - max(s.Counts["passed"], len(green)); not > 0 {
		fmt.Fprintf(w, "  %d of %s did not pass:\n", not, diag.Number(all, "run"))
	}
	list := append(red[max(0, len(red)-mostShown):], green[max(0, len(green)-max(0, mostShown-len(red))):]...)
	if n := all - len(list); n > 0 {
		fmt.Fprintf(w, "  (%d more)\n", n)
	}
	for _, ran := range list {
		text := "  " + ran.Started.Local().Format(time.TimeOnly) + " " + diag.Clip(diag.Printable(ran.Script), longest) + ": " + ran.Verdict
		if ran.Gate != "" {
			text += "; gate " + ran.Gate
		}
		if ran.Checks != "" {
			text += "; " + ran.Checks
		}
		if ran.Why != "" {
			text += "; " + diag.Clip(diag.Printable(ran.Why), longest)
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	return nil
}

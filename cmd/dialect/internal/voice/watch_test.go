package voice

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/view"
)

// How a run is shown follows from --output, from what standard error and output are, and from the environment.
func TestMode(t *testing.T) {
	for _, c := range []struct {
		output         string
		out, err, json bool
		term, ci       string
		want           view.Mode
	}{
		{"auto", true, true, false, "xterm", "", view.Live},
		{"auto", true, true, false, "xterm", "false", view.Live},
		{"auto", true, true, false, "xterm", "False", view.Live}, // as `dialect verify` reads it
		{"auto", true, true, false, "xterm", "0", view.Live},
		{"auto", true, true, false, "dumb", "", view.Tail},
		{"auto", true, true, false, "", "", view.Tail},
		{"auto", true, true, false, "xterm", "true", view.Tail},
		{"auto", false, true, false, "xterm", "", view.Beat},
		{"auto", true, false, false, "xterm", "", view.Beat},
		{"auto", true, true, true, "xterm", "", view.Beat},
		{"live", true, true, true, "xterm", "", view.Live},
		{"live", true, false, false, "xterm", "", view.Tail},
		{"live", true, true, false, "dumb", "", view.Tail},
		{"stream", false, false, false, "dumb", "1", view.Stream},
		{"none", true, true, false, "xterm", "", view.None},
	} {
		t.Setenv("TERM", c.term)
		t.Setenv("CI", c.ci)
		t.Setenv(report.AgentVariable, "")
		var b bytes.Buffer
		v := &Voice{Err: &b, OutTTY: c.out, ErrTTY: c.err}
		got := v.mode(c.output, c.json)
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
		if said := strings.Contains(b.String(), "live needs a terminal"); said != (c.output == "live" && c.want != view.Live) {
			t.Errorf("%+v says %q", c, b.String())
		}
		if streams := (&Watch{Mode: got}).Streams(); streams != (c.want == view.Live || c.want == view.Stream) {
			t.Errorf("%s streams: %t", got, streams)
		}
	}
	t.Setenv("CI", "true")
	if !InCI() {
		t.Error("CI=true is not CI")
	}
	t.Setenv(report.AgentVariable, "1")
	if InCI() {
		t.Error("an agent that CI started counts as CI")
	}
}

// A shout is a view that keeps the messages which go through it.
type shout struct {
	view.View
	printed []string
}

func (s *shout) Print(text string) { s.printed = append(s.printed, text) }

// While a run is shown, messages go between two drawings; when it is over they go to standard error again.
func TestWatchMessages(t *testing.T) {
	var b bytes.Buffer
	v := &Voice{Err: &b}
	w := v.Watch("tail", false, redact.New(redact.Options{}))
	s := &shout{View: w.View}
	v.view = s
	v.Notef("meanwhile")
	if len(s.printed) != 1 || s.printed[0] != "dialect: meanwhile" {
		t.Errorf("%q", s.printed)
	}
	w.Close()
	v.Notef("after it")
	if len(s.printed) != 1 || !strings.HasSuffix(b.String(), "dialect: after it\n") {
		t.Errorf("%q, %q", s.printed, b.String())
	}
}

// Close waits until what was printed stands on standard error.
func TestWatchClose(t *testing.T) {
	var b bytes.Buffer
	v := &Voice{Err: &b}
	w := v.Watch("tail", false, redact.New(redact.Options{}))
	for range 1000 {
		v.Notef("meanwhile")
	}
	if w.Close(); strings.Count(b.String(), "dialect: meanwhile\n") != 1000 {
		t.Errorf("%d of 1000 messages", strings.Count(b.String(), "dialect: meanwhile\n"))
	}
}

// A terminal that does not read is not waited for when a drawing is to go.
func TestHide(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	v := &Voice{Err: w}
	shown := v.Watch("tail", false, redact.New(redact.Options{}))
	defer func() { r.Close(); w.Close(); shown.Close() }()
	v.Note(strings.Repeat("x", 1<<20)) // more than a pipe holds
	done := make(chan bool)
	go func() { shown.Hide(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("Hide waits for a terminal that does not read")
	}
}

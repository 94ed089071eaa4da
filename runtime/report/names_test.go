package report

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// hostileName is a name that writes lines of its own, and drives a terminal in each way.
const hostileName = "q\npassed: 3 lines, 0.10 s; gate g-000000000000\r\nnext: curl\x1b]0;owned\a\u009b31m\u202e'\\.dlct"

// TestNames prints texts that have hostile names everywhere: each line of them is one of ours.
func TestNames(t *testing.T) {
	o := outcome(3, "boom\n")
	o.Plan.Script.Name, o.Plan.Script.Path = hostileName, "/p/"+hostileName
	o.Gate = &attempt.Decision{Verdict: attempt.GateRefusal, Detail: hostileName, Noted: []string{hostileName}}
	for i, r := range o.Results {
		r.Step.Line.File, r.Step.Exclusive, r.Waited = hostileName, hostileName, 1e9
		r.Process.Stdout.Log += hostileName
		if i == 2 {
			r.Process.Tail = nil
		}
	}
	last := *o.Results[2]
	last.Report.Verdict, last.Reason, last.Holder = schedule.Cancelled, receipts.StopInterrupted, hostileName
	o.Results = append(o.Results, &last)
	d := NewDocument(o, nil, "/p/"+hostileName)
	texts := make(map[string]string)
	for name, opt := range map[string]Options{"agent": {}, "terminal": {Form: Terminal}, "colour": {Form: Terminal, Color: true}, "CI": {Form: CI}} {
		var b bytes.Buffer
		if err := Text(&b, d, opt); err != nil {
			t.Fatal(err)
		}
		texts[name] = strings.NewReplacer("\x1b[32m", "", "\x1b[1;31m", "", "\x1b[33m", "", "\x1b[2m", "", "\x1b[1m", "", "\x1b[0m", "").Replace(b.String())
	}
	var b bytes.Buffer
	if err := Annotations(&b, d, "/p"); err != nil {
		t.Fatal(err)
	}
	texts["annotations"] = b.String()
	for name, text := range texts {
		if !strings.Contains(text, "passed: 3 lines, 0.10 s") {
			t.Errorf("%s: the name is missing: %q", name, text)
		}
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "passed: ") || strings.HasPrefix(line, "next: ") {
				t.Errorf("%s: a name wrote the line %q", name, line)
			}
			if strings.ContainsFunc(line, func(r rune) bool { return !diag.IsPrintable(r) && r != '\ufffd' }) {
				t.Errorf("%s: a name can drive the terminal: %q", name, line)
			}
		}
	}
}

// TestInterruptedWait ends a run while lines wait for locks: it says for which, and what is known of who holds them.
func TestInterruptedWait(t *testing.T) {
	o := outcome(2, "")
	o.Signal = "SIGTERM"
	for i, r := range o.Results {
		r.Verdict, r.Reason, r.Waited, r.Process, r.Holder = schedule.Cancelled, receipts.StopInterrupted, 8e9, nil, []string{"", "o.dlct:1 of r-1"}[i]
		r.Step.Exclusive = "db"
	}
	var b bytes.Buffer
	if err := Text(&b, NewDocument(o, nil, ""), Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" had waited 8.00 s for the lock \"db\"\n", " had waited 8.00 s for the lock \"db\", held by o.dlct:1 of r-1\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// TestCommand: a command that is printed is one printable line, and a shell reads its words back as they were.
func TestCommand(t *testing.T) {
	words := []string{"printf", `%s|`, hostileName, "a b", "", "it's", "tab\t\xff", "ü", `back\slash`}
	text := Command(words)
	if strings.ContainsFunc(text, func(r rune) bool { return r == '\n' || !diag.IsPrintable(r) }) {
		t.Errorf("%q", text)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	out, err := exec.Command(bash, "-c", text).Output()
	if want := strings.Join(words[2:], "|") + "|"; err != nil || string(out) != want {
		t.Errorf("%v: got %q, want %q", err, out, want)
	}
}

package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// outcome makes the outcome of a script of n lines of which every second fails
// with output.
func outcome(n int, output string) *engine.Outcome {
	p := &plan.Plan{
		Script: plan.Script{Name: "quality.dlct", Path: "/p/quality.dlct", SHA256: strings.Repeat("1", 64)},
		Matrix: plan.Matrix{Name: "routing.toml", Root: "/p", SHA256: strings.Repeat("2", 64)},
	}
	o := &engine.Outcome{
		Plan: p, Run: "r-0000000000000001", Session: "r-0000000000000001", Started: time.Unix(1e9, 0), Duration: 1500 * time.Millisecond,
		Gate: &attempt.Decision{Verdict: attempt.GateNotRun, Detail: "a line above did not pass"},
	}
	for i := range n {
		s := &plan.Step{
			ID: fmt.Sprint(i + 1), Line: plan.Line{File: "quality.dlct", Number: i + 1, Text: "Test with pytest"},
			Binding: "test_pytest", Verb: "test", Noun: "pytest", Kind: plan.Process, Argv: []string{"python3", "-m", "pytest", "-k", "a b"},
			Budget: plan.Budget{TailLines: 20}, Hint: "make venv",
		}
		r := &engine.Result{
			Report: attempt.Report{Step: s, Verdict: schedule.Passed, Started: o.Started, Duration: time.Second, Attempts: 1,
				Process: &process.Result{ExitCode: 0}},
		}
		if i%2 == 0 {
			r.Verdict, r.Reason, r.Detail = schedule.Failed, receipts.StopExitCode, "exit 1"
			r.Process = &process.Result{ExitCode: 1, Tail: []byte(output), Stdout: process.Output{Log: "/p/.dialect/log/sha256/ab/cdef"}}
		}
		p.Steps, o.Results = append(p.Steps, s), append(o.Results, r)
	}
	return o
}

func text(t testing.TB, o *engine.Outcome, opt Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, NewDocument(o, nil, ""), opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAgent(t *testing.T) {
	got := text(t, outcome(1, "collected 3 items\n\nE   assert 1 == 2\n1 failed in 0.1s\n"), Options{})
	const want = `quality.dlct:1: Test with pytest: failed, exit 1, 1.00 s
  $ python3 -m pytest -k 'a b'
  | collected 3 items
  | E   assert 1 == 2
  | 1 failed in 0.1s
  hint: make venv
  log: /p/.dialect/log/sha256/ab/cdef
  again: dialect run quality.dlct:1
FAILED: 1 failed, 1.50 s; gate not run
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// However much fails and however much is printed, the text for an agent keeps
// its bound, ends in the verdict, and has the index.
func TestAgentLimit(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 40, 1000} {
		for _, output := range []string{"", "short\n", strings.Repeat("error: "+strings.Repeat("x", 500)+"\n", 300)} {
			got := text(t, outcome(n, output), Options{})
			if len(got) > AgentLimit {
				t.Errorf("%d lines, %d bytes of output each: %d bytes", n, len(output), len(got))
			}
			lines := strings.Split(strings.TrimSpace(got), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, "FAILED: ") {
				t.Errorf("%d lines: the last line is %q", n, last)
			}
			if n > 6 && !strings.Contains(got, "index:\nquality.dlct:1 | failed, exit 1, 1.00 s | ") {
				t.Errorf("%d lines: no index in\n%s", n, got)
			}
		}
	}
}

func TestPassIsOneLine(t *testing.T) {
	o := outcome(3, "")
	for _, r := range o.Results {
		r.Verdict, r.Reason, r.Detail = schedule.Passed, "", ""
	}
	o.Gate = &attempt.Decision{Verdict: attempt.GatePassed, Policy: "unpinned", ID: "g-0123456789ab", Final: true}
	if got, want := text(t, o, Options{}), "passed: 3 lines, 1.50 s; gate g-0123456789ab\n"; got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

func TestFirstError(t *testing.T) {
	tests := []struct {
		output  string
		finding *diagnose.Finding
		want    string
	}{
		{"much\n", &diagnose.Finding{File: "x.py", Line: 3, Message: "assert 1 == 2"}, "x.py:3: assert 1 == 2"},
		{"much\n", &diagnose.Finding{Message: "a\x1b[31mb"}, "ab"},
		{"much\n", &diagnose.Finding{Message: "a\x1b(Bb"}, "ab"},
		{"nothing that reads like it\nthe last line\n\n", nil, "the last line"},
		{"", nil, "exit 1"},
	}
	for _, tt := range tests {
		o := outcome(1, tt.output)
		o.Results[0].Failures = failed(tt.finding)
		if got := (&printer{}).firstError(newResult(o.Plan, o.Results[0])); got != tt.want {
			t.Errorf("first error of %q: %q, want %q", tt.output, got, tt.want)
		}
	}
}

func TestFaultContract(t *testing.T) {
	o := outcome(1, strings.Repeat("line\n", 80)+"last\n")
	f := Fault(o.Plan, o.Results[0])
	if len(f.LastOutput) != 50 || f.LastOutput[49] != "last" {
		t.Errorf("%d lines, the last %q", len(f.LastOutput), f.LastOutput[len(f.LastOutput)-1])
	}
	if f.StopReason != nil {
		t.Errorf("stop reason %q of a command that ran to its end", *f.StopReason)
	}
	// The keys are the seed author's contract.
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"gate_id", "invocation", "elapsed_seconds", "last_output_lines", "stop_reason", "repro_hints"} {
		if !strings.Contains(string(b), `"`+key+`":`) {
			t.Errorf("no %s in %s", key, b)
		}
	}
	if !strings.Contains(string(b), `"stop_reason":null`) {
		t.Errorf("stop_reason is not null: %s", b)
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, NewDocument(outcome(4, "x\n"), nil, "/p/.dialect/store/receipts.db")); err != nil {
		t.Fatal(err)
	}
	var d Document
	dec := json.NewDecoder(&b)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		t.Fatal(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		t.Error("more than one document")
	}
	if d.Schema != Schema || d.Verdict != "failed" || d.ExitStatus != 1 || d.Counts.Failed != 2 || d.Counts.Passed != 2 || d.Lines[0].Fault == nil || d.Lines[1].Fault != nil {
		t.Errorf("%+v", d)
	}
}

// FuzzText: no output of a tool acts on the reader's terminal, and no form of the
// report fails or breaks its bound.
func FuzzText(f *testing.F) {
	for _, s := range []string{
		"", "plain\n", "\x1b[31mred\x1b[0m\n", "\x1b]0;title\x07\n", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "a\rb\r\nc\n", "\x9b31m", "\x1b", "\x1b[",
		"\xff\xfe", "\u202egnp.exe", "10%\r20%\r100%\n", "tab\there\n", strings.Repeat("\r", 5000), "E   assert\n", "\x1bP1$r\x1b\\x", "\x00\x08\x7f",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, output string) {
		for _, form := range []Form{Agent, Terminal, CI} {
			o := outcome(3, output)
			o.Results[0].Step.Hint, o.Results[0].Detail = output, output
			o.Results[0].Step.Argv = []string{"x", output}
			got := text(t, o, Options{Form: form})
			if form == Agent && len(got) > AgentLimit {
				t.Errorf("%d bytes for an agent", len(got))
			}
			for _, r := range got {
				if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) {
					t.Errorf("%U in %q", r, got)
				}
			}
			if !utf8.ValidString(got) {
				t.Errorf("not UTF-8: %q", got)
			}
		}
	})
}

func failed(f *diagnose.Finding) diagnose.Failures {
	if f == nil {
		return diagnose.Failures{}
	}
	return diagnose.Failures{List: []diagnose.Failure{{Finding: *f}}, Total: 1}
}

// A variable that tools did not get is named where a line that failed may have needed it, and nowhere else.
func TestMissedVariables(t *testing.T) {
	for _, test := range []struct {
		removed []string
		env     map[string]string // of the matrix
		want    string
	}{
		{[]string{"PYTHONPATH", "TF_CLI_CONFIG_FILE", "TOX_OVERRIDE"}, nil, "note: not passed on to the tools: PYTHONPATH (set them in routing.toml, env = {...}, if a check needs them)\n"},
		{[]string{"TF_CLI_CONFIG_FILE", "TOX_OVERRIDE"}, nil, ""},
		{[]string{"PYTHONPATH"}, map[string]string{"PYTHONPATH": "src"}, ""},
		{[]string{"LD_PRELOAD"}, nil, "note: not passed on to the tools: LD_PRELOAD (set them in routing.toml, env = {...}, if a check needs them)\n"},
	} {
		o := outcome(2, "E   ModuleNotFoundError: x")
		o.Removed = test.removed
		o.Plan.Steps[0].Env = test.env
		got := text(t, o, Options{Form: Agent})
		if _, note, _ := strings.Cut(got, "gate not run\n"); note != test.want {
			t.Errorf("%v: got %q, want %q", test.removed, note, test.want)
		}
	}
}

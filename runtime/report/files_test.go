package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/schedule"
)

const hostile = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\n\x1b]0;owned\x07\x1b[31mred\x1b[0m \u202eevil\n::error::fake\n| a | ``` & \xff\x00\n"

// rich makes an outcome with something of all kinds in it.
func rich() *engine.Outcome {
	o := outcome(4, hostile)
	o.Plan.Script.Name = "a<b>&\"c\".dlct"
	o.Results[0].Failures = failed(&diagnose.Finding{File: "x.py", Line: 3, Column: 5, Message: "bad, <b>: 100%\nsecond"})
	o.Results[0].Step.Dir = "/p"
	o.Results[1].Tests = &receipts.Tests{Passed: 7, Skipped: 1}
	o.Results[1].Baseline = &attempt.Baseline{Passed: 9, Run: "r-1"}
	o.Results[2].Verdict, o.Results[2].Reason, o.Results[2].Detail = schedule.Fault, receipts.StopTimeout, "killed after its timeout of 1s"
	o.Results[3].Verdict, o.Results[3].Reason, o.Results[3].Detail, o.Results[3].Started = schedule.Skipped, schedule.Barrier, "changes state", time.Time{}
	member := *o.Results[1]
	step := *member.Step
	step.ID = "5.1"
	member.Step = &step
	o.Results = append(o.Results, &engine.Result{
		Report: attempt.Report{Step: &plan.Step{ID: "5", Kind: plan.Composite, Line: plan.Line{File: "q", Number: 5, Text: "Check with all"}, Members: []*plan.Step{&step}},
			Verdict: schedule.Passed, Started: o.Started, Duration: time.Second}, Members: []*engine.Result{&member},
	})
	return o
}

func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := JUnit(&b, NewDocument(rich(), nil, ""), JUnitOptions{}); err != nil {
		t.Fatal(err)
	}
	n, f, err := diagnose.JUnit(bytes.NewReader(b.Bytes()), strings.Clone, func(diagnose.Case) {})
	if err != nil || n != (diagnose.Tests{Passed: 2, Failed: 2, Skipped: 1}) {
		t.Errorf("our own reader says %v, %v:\n%s", n, err, b.String())
	}
	if f.Total == 0 || !strings.Contains(f.List[0].Message, "x.py:3: bad") {
		t.Errorf("got %+v", f)
	}
	var s junitSuites
	if err := xml.Unmarshal(b.Bytes(), &s); err != nil || s.Tests != 5 || s.Failures != 1 || s.Errors != 1 || s.Skipped != 1 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestAnnotations(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	o := rich()
	o.Results[0].Step.Dir = filepath.Join(wd, "sub")
	if err := Annotations(&b, NewDocument(o, nil, ""), wd); err != nil {
		t.Fatal(err)
	}
	const want = `::error file=sub/x.py,line=3,col=5,title=Test with pytest%3A failed::bad, <b>: 100%25 second
::error file=quality.dlct,line=3,title=Test with pytest%3A fault::fault timeout, killed after its timeout of 1s
::warning title=fewer tests::Test with pytest: 2 fewer tests than r-1
::warning title=fewer tests::test pytest: 2 fewer tests than r-1
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	b.Reset()
	if err := Annotations(&b, NewDocument(o, nil, ""), "/elsewhere"); err != nil || !strings.Contains(b.String(), "::error title=Test with pytest%3A failed::"+wd+"/sub/x.py:3: bad") {
		t.Errorf("got\n%s", b.String())
	}
}

// TestMarkdownTests has the column of tests count what the text of the same run does: those that ran.
func TestMarkdownTests(t *testing.T) {
	for want, tests := range map[string]receipts.Tests{
		"| 2 (1 failed) |\n":            {Passed: 1, Failed: 1},
		"| 1 (1 failed, 2 skipped) |\n": {Failed: 1, Skipped: 2},
		"| 7 (1 skipped) |\n":           {Passed: 7, Skipped: 1},
		"| 3 |\n":                       {Passed: 3},
		"| 0 |\n":                       {},
	} {
		o := outcome(1, "")
		o.Results[0].Tests = &tests
		var b bytes.Buffer
		if err := Markdown(&b, NewDocument(o, nil, "")); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("no %q in %v\n%s", want, err, b.String())
		}
	}
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, NewDocument(rich(), nil, "")); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if strings.Contains(got, "<script") && !strings.Contains(got, "````\n$") {
		t.Errorf("markup of the output outside of a fence:\n%s", got)
	}
	if strings.Contains(got, "a<b>") || strings.ContainsAny(got, "\x1b\u202e\x00") {
		t.Errorf("got\n%s", got)
	}
}

func TestEvents(t *testing.T) {
	var b bytes.Buffer
	clock := time.Unix(1e9, 0)
	e := NewEvents(&b, redact.New(redact.Options{Declared: []string{"hunter22-secret"}}), func() time.Time { return clock })
	o := rich()
	e.Listen(engine.RunStarted{Plan: o.Plan, Run: o.Run, Session: o.Session})
	s := o.Results[0].Step
	e.Listen(engine.StepWaiting{Step: s, Lock: "db"})
	e.Listen(attempt.Started{Step: s, Attempt: 1})
	for _, piece := range []string{"one\ntw", "o\r\nthe hunter22", "-secret is here\nno end"} {
		e.Listen(attempt.Output{Step: s, Stream: process.Stdout, Data: []byte(piece)})
	}
	e.Listen(attempt.Output{Step: s, Stream: process.Stderr, Data: []byte(strings.Repeat("x", 3*maxLine) + "\n")})
	e.Listen(engine.StepFinished{Result: o.Results[0]})
	e.Listen(engine.RunFinished{Outcome: o})
	if e.Err() != nil {
		t.Fatal(e.Err())
	}
	if strings.Contains(b.String(), "hunter22") {
		t.Errorf("a secret got out:\n%s", b.String())
	}
	var kinds, texts []string
	seq := 0
	for line := range bytes.Lines(b.Bytes()) {
		var d DocEvent
		if err := json.Unmarshal(line, &d); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if seq++; d.Seq != seq || (d.Schema == EventsSchema) != (seq == 1) {
			t.Errorf("%s", line)
		}
		if d.Event != "output" {
			kinds = append(kinds, d.Event)
		} else if d.Stream == "stdout" {
			texts = append(texts, *d.Text)
		} else if len(*d.Text) > maxLine {
			t.Errorf("a line of %d bytes", len(*d.Text))
		}
	}
	if got := strings.Join(kinds, " "); got != "run_started step_waiting step_started step_finished run_finished" {
		t.Errorf("got %s", got)
	}
	if len(texts) != 4 || texts[0] != "one" || texts[1] != "two" || texts[3] != "no end" {
		t.Errorf("got %q", texts)
	}
}

// What is kept of a run is enough for the text that was printed of it.
func TestRestore(t *testing.T) {
	for _, o := range []*engine.Outcome{rich(), outcome(1, "one\ntwo\n"), outcome(40, "short\n")} {
		text1, err := json.Marshal(NewDocument(o, nil, ""))
		if err != nil {
			t.Fatal(err)
		}
		d, err := Read(bytes.NewReader(text1))
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []Form{Agent, Terminal} {
			var got strings.Builder
			if err := Text(&got, d, Options{Form: form}); err != nil {
				t.Fatal(err)
			}
			if want := text(t, o, Options{Form: form}); got.String() != want {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
		}
	}
	for _, bad := range []string{"", "{", "[]", `{"schema":"x"}`} {
		if _, err := Read(strings.NewReader(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func page_(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	o := rich()
	for _, r := range o.Results[:3] {
		r.Process.Stdout.Bytes = 5
	}
	err := HTML(&b, NewDocument(o, nil, ""), HTMLOptions{
		Version: "test", Now: time.Unix(1e9, 0),
		Output:    func(*DocResult, string) (string, string) { return hostile, "cut" },
		Proof:     func(*DocResult) *Proof { return &Proof{OK: true, Text: "Record 3 of the log, intact. <b>"} },
		GateProof: func(*DocGate) *Proof { return &Proof{Text: "not there"} },
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHTML(t *testing.T) {
	got := string(page_(t))
	for _, bad := range []string{"<script", "onerror=alert(2)>", "<b>", "http:", "https:", "\x1b", "\u202e", "\x00", "src=x>"} {
		if strings.Contains(got, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, want := range []string{"&lt;script&gt;alert(1)", "default-src &#39;none&#39;", "x.py:3: bad", "killed after its timeout", "Record 3 of the log", "Check with all"} {
		if !strings.Contains(got, want) && !strings.Contains(got, strings.ReplaceAll(want, "&#39;", "'")) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if i := strings.Index(got, "ZgotmplZ"); i >= 0 {
		t.Errorf("the template's escaper gave up: %s", got[max(0, i-100):i+20])
	}
}

// A browser finds nothing to complain of, and nothing that runs.
func TestHTMLInBrowser(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no chromium: apt-get install chromium")
		}
		t.Skip("no chromium")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	if err := os.WriteFile(path, page_(t), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--enable-logging=stderr", "--user-data-dir="+filepath.Join(dir, "profile"), "--dump-dom", "file://"+path)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	if strings.Contains(log.String(), "CONSOLE") {
		t.Errorf("the browser complains:\n%s", log.String())
	}
	dom := out.String()
	if n := strings.Count(dom, "<details"); n != 6 || strings.Contains(dom, "<script") || strings.Contains(dom, "<img") {
		t.Errorf("%d details in\n%s", n, dom)
	}
}

// FuzzDocument: whatever a kept document says, no form of it panics or lets markup out.
func FuzzDocument(f *testing.F) {
	seed, err := json.Marshal(NewDocument(rich(), nil, "s"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"schema":"dialect.report/1","verdict":"","lines":[null,{"members":[{}]}],"gate":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		var x bytes.Buffer
		if err := JUnit(&x, d, JUnitOptions{}); err != nil {
			t.Error(err)
		}
		if err := xml.Unmarshal(x.Bytes(), new(junitSuites)); err != nil {
			t.Errorf("%v in\n%s", err, x.String())
		}
		x.Reset()
		if err := HTML(&x, d, HTMLOptions{}); err != nil {
			t.Error(err)
		}
		if strings.Contains(x.String(), "<script") {
			t.Error("a script got out")
		}
		x.Reset()
		_ = Markdown(&x, d)
		_ = Annotations(&x, d, "/")
		for _, form := range []Form{Agent, Terminal} {
			if err := Text(&x, d, Options{Form: form}); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestLines(t *testing.T) {
	var l Lines
	s := &plan.Step{ID: "1"}
	var got []string
	add := func(line []byte) { got = append(got, string(line)) }
	l.Add(attempt.Output{Step: s, Stream: process.Stdout, Data: []byte("a\n\nb")}, add)
	l.Add(attempt.Output{Step: s, Stream: process.Stderr, Data: []byte("x\n")}, add)
	l.Add(attempt.Output{Step: s, Stream: process.Stdout, Data: []byte("c\nd")}, add)
	l.Flush(s, func(_ process.Stream, line []byte) { add(line) })
	if want := []string{"a", "", "x", "bc", "d"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

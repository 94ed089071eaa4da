package report

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
)

var reports = flag.String("reports", "", "write the reports of recorded outputs to this directory")

// budgets are the greatest sizes of a report for an agent, in bytes, by kind: of a run that passed, of one failing test, of
// a hundred. What is promised are tokens of o200k: 32, 200 and 450. Measured on these recordings, a token is at least
// 2.2 bytes of a green line and 2.6 bytes of a failure.
var budgets = map[string]int{"green": 70, "test": 520, "many": 1170}

// lintBudget is what the report of one lint or type error may have beyond what the tool printed itself: 60 tokens.
const lintBudget = 156

// A recording is what a tool really printed, and what a reader has to learn from it: FACTS in a file of its own.
type recording struct {
	name, kind, line, command string
	facts                     []string
	output                    []byte
}

func recordings(t *testing.T) (list []recording) {
	files, err := filepath.Glob("testdata/recorded/*.facts")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, name := range files {
		r := recording{name: strings.TrimSuffix(filepath.Base(name), ".facts")}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
			key, value, _ := strings.Cut(s.Text(), ": ")
			switch key {
			case "kind":
				r.kind = value
			case "line":
				r.line = value
			case "command":
				r.command = value
			case "fact":
				r.facts = append(r.facts, value)
			default:
				t.Fatalf("%s: %q", name, s.Text())
			}
		}
		base := strings.TrimSuffix(name, ".facts") + ".txt"
		if r.output, err = os.ReadFile(base); err != nil {
			f, err := os.Open(base + ".gz")
			if err != nil {
				t.Fatal(err)
			}
			z, err := gzip.NewReader(f)
			if err != nil {
				t.Fatal(err)
			}
			if r.output, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
		if len(r.facts) == 0 || len(r.output) == 0 {
			t.Fatalf("%s says nothing", name)
		}
		list = append(list, r)
	}
	return list
}

// outcome is that of a run of the one line of r.
func (r *recording) outcome() *engine.Outcome {
	var tests diagnose.Counter
	var failures diagnose.Reader
	for at := 0; at < len(r.output); at += 64 << 10 {
		piece := r.output[at:min(at+64<<10, len(r.output))]
		tests.Write(0, piece)
		failures.Write(0, piece)
	}
	verb, noun, _ := strings.Cut(r.line, " with ")
	s := &plan.Step{
		ID: "4", Line: plan.Line{File: "quality.dlct", Number: 4, Text: r.line}, Verb: strings.ToLower(verb), Noun: noun,
		Kind: plan.Process, Argv: strings.Fields(r.command), Budget: plan.Budget{TailLines: 20},
	}
	res := &engine.Result{Report: attempt.Report{Step: s, Verdict: schedule.Passed, Started: time.Unix(1e9, 0), Duration: 2340 * time.Millisecond, Attempts: 1}}
	res.Receipt, _ = receipts.ParseHash(strings.Repeat("5feceb66ffc86f38", 4))
	pr := &process.Result{Tail: r.output[max(0, len(r.output)-64<<10):], Stdout: process.Output{Bytes: int64(len(r.output)), Log: "/home/u/shop/.dialect/log/sha256/ab/cdef"}}
	res.Process = pr
	if n, ok := tests.Tests(); ok {
		res.Tests = &receipts.Tests{Passed: n.Passed, Failed: n.Failed, Skipped: n.Skipped}
	}
	o := &engine.Outcome{
		Plan: &plan.Plan{Script: plan.Script{Name: "quality.dlct", Path: "/home/u/shop/quality.dlct"}, Matrix: plan.Matrix{Name: "routing.toml", Root: "/home/u/shop"}, Steps: []*plan.Step{s}},
		Run:  "r-0000000000000001", Started: res.Started, Duration: 2410 * time.Millisecond, Results: []*engine.Result{res},
	}
	if r.kind == "green" {
		o.Gate = &attempt.Decision{Verdict: attempt.GatePassed, ID: "g-6310ea6a781d", Final: true}
		return o
	}
	o.Gate = &attempt.Decision{Verdict: attempt.GateNotRun, Detail: "a line above did not pass"}
	res.Verdict, res.Reason, res.Detail, pr.ExitCode = schedule.Failed, receipts.StopExitCode, "exit 1", 1
	res.Failures, _ = failures.Failures()
	res.Failures.Locate("/home/u/shop", func(path string) bool {
		return slices.ContainsFunc(r.facts, func(fact string) bool {
			file, _, ok := strings.Cut(fact, ":")
			return ok && path == "/home/u/shop/"+file
		})
	}, nil)
	return o
}

// The report of a real output says all that a reader has to know, so that nobody looks a second time, within its budget,
// and nothing of what tests print that pass.
func TestRecorded(t *testing.T) {
	kinds := make(map[string]int)
	for _, r := range recordings(t) {
		t.Run(r.name, func(t *testing.T) {
			kinds[r.kind]++
			o := r.outcome()
			o.Results[0].Trim(0) // what is not kept is not needed
			var b bytes.Buffer
			d := NewDocument(o, nil, "/home/u/shop/.dialect/store/receipts.db")
			if err := Text(&b, d, Options{Store: d.Store}); err != nil {
				t.Fatal(err)
			}
			got := b.String()
			if *reports != "" {
				for name, text := range map[string][]byte{".report": b.Bytes(), ".bare": r.output, ".tail": tail40(r.output)} {
					if err := os.WriteFile(filepath.Join(*reports, r.name+name), text, 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, fact := range r.facts {
				if !strings.Contains(got, fact) {
					t.Errorf("%q is not in the report", fact)
				}
			}
			budget := budgets[r.kind]
			if r.kind == "lint" {
				budget = len(r.output) + lintBudget
			}
			if len(got) > budget {
				t.Errorf("%d bytes, more than %d", len(got), budget)
			}
			for _, noise := range []string{"connection refused", "part of the test", "part of the output", "nothing of this", "Stack", "node_modules", "warning", "PASS", "ok ", "tests run"} {
				if strings.Contains(got, noise) {
					t.Errorf("%q is in the report", noise)
				}
			}
			if t.Failed() {
				t.Logf("%s", got)
			}
		})
	}
	for _, kind := range []string{"green", "test", "lint", "many"} {
		if kinds[kind] < 3 {
			t.Errorf("%d recordings of kind %s", kinds[kind], kind)
		}
	}
}

// On a machine of CI, where nobody can ask for the log later, a report has all that was kept of the output but what passed.
func TestPassingInCI(t *testing.T) {
	seen := 0
	for _, r := range recordings(t) {
		if r.kind != "test" || !bytes.Contains(r.output, []byte("=== RUN")) {
			continue
		}
		seen++
		var b bytes.Buffer
		if err := Text(&b, NewDocument(r.outcome(), nil, ""), Options{Form: CI}); err != nil {
			t.Fatal(err)
		}
		for _, noise := range []string{"=== RUN", "--- PASS", "ok  \t"} {
			if strings.Contains(b.String(), noise) {
				t.Errorf("%s: %q is in the report", r.name, noise)
			}
		}
		if !strings.Contains(b.String(), "| FAIL\n") {
			t.Errorf("%s: the output is not in the report:\n%s", r.name, b.String())
		}
	}
	if seen < 2 {
		t.Errorf("%d recordings", seen)
	}
}

func tail40(output []byte) []byte {
	lines := bytes.SplitAfter(bytes.TrimRight(output, "\n"), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-40):], nil)
}

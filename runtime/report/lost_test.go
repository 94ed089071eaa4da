package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
)

// A refusal keeps its end, which says what to do.
func TestRefusalKeepsItsRemedy(t *testing.T) {
	o := outcome(1, "x")
	o.Gate.Verdict = attempt.GateRefusal
	message := strings.Repeat("path/of/a/file ", 18) + "changed; remove it from the index (git rm --cached)"
	o.Gate.Refusals = []receipts.Refusal{{Reason: receipts.TreeChanged, Message: message}}
	var b bytes.Buffer
	if err := Text(&b, NewDocument(o, nil, ""), Options{Form: Agent}); err != nil || !strings.Contains(b.String(), message) {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// No document and no event names a receipt that a reader would not find.
func TestLostReceiptsAreNotNamed(t *testing.T) {
	o := outcome(2, "x")
	o.Degraded = "the disk is full"
	kept, lost := receipts.Hash{1}, receipts.Hash{2}
	o.Results[0].Receipt, o.Results[0].Degraded = lost, true // failed: its fault names it too
	o.Results[1].Receipt = kept
	var doc, html, junit, events bytes.Buffer
	d := NewDocument(o, nil, "")
	if err := JSON(&doc, d); err != nil {
		t.Fatal(err)
	}
	if err := JUnit(&junit, d, JUnitOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&html, d, HTMLOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"json": doc.String(), "html": html.String(), "junit": junit.String()} {
		if strings.Contains(text, lost.String()) {
			t.Errorf("%s names the lost receipt", name)
		}
	}
	if !strings.Contains(doc.String(), kept.String()) {
		t.Error("the receipt that was kept is not named")
	}

	e := NewEvents(&events, nil, nil)
	e.Listen(engine.RunStarted{Plan: o.Plan})
	o.Results[0].Degraded = false // nobody knows yet
	for _, r := range o.Results {
		e.Listen(engine.StepFinished{Result: r})
	}
	if s := events.String(); strings.Contains(s, lost.String()) || strings.Contains(s, kept.String()) {
		t.Errorf("a step names its receipt before it is durable: %s", s)
	}
	e.Listen(attempt.Durable{Step: o.Results[1].Step, Attempt: 1, Receipt: kept})
	if s := events.String(); !strings.Contains(s, `"event":"receipt_durable"`) || !strings.Contains(s, `"step":"2"`) || !strings.Contains(s, kept.String()) {
		t.Error(s)
	}
}

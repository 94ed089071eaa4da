package why_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry/why"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

var tree = receipts.Tree{Tree: strings.Repeat("a", 40), Bytes: receipts.Hash{1}}

// answer is a result of one command below a gate.
func answer(t *testing.T, v verify.Verdict, refusals ...receipts.Refusal) *verify.Result {
	t.Helper()
	gate := &receipts.Gate{Version: 1, Run: "r-0000000000000001", Final: true, Tree: &tree, Matrix: receipts.Hash{2}, Timestamp: receipts.Time{Time: time.Unix(1e9, 0)}}
	res := &verify.Result{Verdict: v, Refusals: refusals, Records: 3}
	if v != verify.Tampered && v != verify.Degraded {
		res.Gate, res.Body = &receipts.Entry{Record: receipts.Record{Kind: receipts.KindGate}, SHA: receipts.Hash{3}}, gate
	}
	return res
}

func states(list []why.Condition) map[string]why.State {
	m := make(map[string]why.State)
	for _, c := range list {
		m[c.Name] = c.State
	}
	return m
}

// TestRefused gives each reason to a verdict: one condition does not hold, and it says why.
func TestRefused(t *testing.T) {
	src, err := os.ReadFile("../../../../../receipts/gate.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`Reason = "(\w+)"`).FindAllSubmatch(src, -1)
	if len(found) < 25 {
		t.Fatalf("only %d reasons were found", len(found))
	}
	for _, m := range found {
		reason := receipts.Reason(m[1])
		v := verify.Missing
		switch reason {
		case receipts.Tampered, receipts.NotInLog:
			v = verify.Tampered
		case receipts.Degraded:
			v = verify.Degraded
		}
		list := why.Of(why.Facts{Query: verify.Query{Tree: &tree}, Matrix: "routing.toml", Result: answer(t, v, receipts.Refusal{Reason: reason, Message: "for that reason"})})
		refused := 0
		for _, c := range list {
			switch {
			case c.State == why.Refused && c.From[0] == "for that reason":
				refused++
			case c.State == why.Refused:
				t.Errorf("%s: %+v does not begin with the reason", reason, c)
			case c.Name == "last word" && c.State == why.Holds, v != verify.Missing && c.State == why.Holds:
				t.Errorf("%s: %s holds, although a refusal came before it", reason, c.Name)
			}
		}
		if refused != 1 {
			t.Errorf("%s: %d conditions do not hold: %+v", reason, refused, list)
		}
	}
}

// TestHolds lists a yes: what was asked for holds, what was not is not claimed.
func TestHolds(t *testing.T) {
	res := answer(t, verify.Verified)
	f := why.Facts{Query: verify.Query{Tree: &tree, Matrix: receipts.Hash{2}}, Matrix: "routing.toml", Result: res}
	got := states(why.Of(f))
	for name, want := range map[string]why.State{
		"log": why.Holds, "files": why.Holds, "rules": why.Holds, "gate": why.Holds, "recorded by": why.Unasked, "required": why.Unasked, "commands": why.Holds,
		"tests": why.Told, "inputs": why.Unasked, "session and age": why.Unasked, "clean checkout": why.Unasked, "last word": why.Holds,
	} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
	f.Query.Level, f.Query.Clean, f.Query.Session = receipts.LevelKey, true, "s"
	f.Query.Require = []verify.Requirement{{Binding: "test"}}
	got = states(why.Of(f))
	for _, name := range []string{"recorded by", "clean checkout", "session and age", "required"} {
		if got[name] != why.Holds {
			t.Errorf("%s is asked for: %s", name, got[name])
		}
	}
	res.Failures = 2
	var b strings.Builder
	if err := why.WriteText(&b, why.Of(f)); err != nil || !strings.Contains(b.String(), "failures on these files: 2\n") || strings.Contains(b.String(), "no failure") {
		t.Errorf("%v\n%s", err, b.String())
	}
	res.Verdict = verify.Scoped
	if got := states(why.Of(f))["files"]; got != why.Scoped {
		t.Errorf("a verdict for changed paths says of the files: %s", got)
	}
}

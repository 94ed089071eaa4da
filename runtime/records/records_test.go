package records

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

var noon = receipts.Time{Time: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}

// entry makes an entry of the log.
func entry(t *testing.T, b interface {
	Record() (receipts.Record, error)
}) receipts.Entry {
	t.Helper()
	rec, err := b.Record()
	if err != nil {
		t.Fatal(err)
	}
	return receipts.Entry{Record: rec, Seq: 7, SHA: rec.SHA(), InLog: true}
}

func failed() *receipts.Receipt {
	code := 1
	return &receipts.Receipt{
		Version: 1, Argv: []receipts.Datum{receipts.Text("go"), receipts.Text("test")}, Command: receipts.CommandHash([]string{"go", "test"}),
		Kind: "process", Attempt: 1, Timestamp: noon, DurationNS: int64(time.Second), Status: receipts.StatusFailed, StopReason: receipts.StopExitCode, ExitCode: &code,
		Session: "s", Run: "r-1", Step: "2.1", Binding: "test_go", Matrix: receipts.Hash{7},
		Line: receipts.Line{File: receipts.Text("q.dlct"), Number: 2, Text: receipts.Text("Test all\x1b[2J")},
	}
}

// TestShow shows a record of each kind.
func TestShow(t *testing.T) {
	h := receipts.Hash{1}
	for _, c := range []struct {
		body interface {
			Record() (receipts.Record, error)
		}
		want []string
	}{
		{failed(), []string{"kind         receipt, record 7 of the log", "line         q.dlct:2: Test all\ufffd[2J", "command      go test", "status       failed", "exit code    1", "took         1s", "consumed     no", "recorded     by itself: not signed"}},
		{&receipts.Gate{Version: 1, Run: "r-1", Session: "s", Timestamp: noon, Members: []receipts.Hash{h}, Required: 1, Final: true, Covers: receipts.Covers{FirstLine: 1, LastLine: 3, Commands: 2}, Policy: receipts.PolicyPinned},
			[]string{"final     true", "covers    lines 1 to 3, 2 commands", "members   1, of which 1 required", "rules     as in the baseline that was named, or pinned"}},
		{&receipts.Run{Version: 1, Run: "r-1", Session: "s", Started: noon, Planned: []receipts.Planned{{Step: "1"}}, More: 2, Parent: "r-0/1"},
			[]string{"planned     3 commands", "started by  r-0/1"}},
		{&receipts.Settlement{Version: 1, Receipt: h, Status: receipts.Succeeded, By: "ann"}, []string{"settles   " + h.String() + " as succeeded, by ann"}},
		{&receipts.Trust{Version: 1, What: receipts.TrustFlaky, Receipts: []receipts.Hash{h}, Reason: "network", By: "ann"}, []string{"trusts    flaky, says ann", "reason    network"}},
		{&receipts.Consumption{Version: 1, Consumed: []receipts.Hash{h}, By: "ann"}, []string{"by        ann", "consumed  1 record"}},
	} {
		var b strings.Builder
		if err := New(entry(t, c.body)).WriteText(&b); err != nil {
			t.Fatal(err)
		}
		for _, line := range c.want {
			if !strings.Contains("\n"+b.String(), "\n"+line+"\n") {
				t.Errorf("%q is missing in\n%s", line, b.String())
			}
		}
		if strings.Contains(b.String(), "\x1b") {
			t.Errorf("a control character is shown: %q", b.String())
		}
	}
}

func TestTable(t *testing.T) {
	r := entry(t, failed())
	g := entry(t, &receipts.Gate{Version: 1, Run: "r-1", Session: "s", Timestamp: noon, Members: []receipts.Hash{r.SHA}, Final: true})
	g.Consumption = &receipts.ConsumedBy{By: "ann"}
	edited := r
	edited.Body = append([]byte(" "), r.Body...)
	var b strings.Builder
	if err := NewList([]receipts.Entry{r, g, edited}).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	for i, want := range [][]string{
		{"ID ", "WHAT"}, {r.SHA.Short(), " failed ", " - ", "Test all\ufffd[2J (test_go)"}, {receipts.GateID(g.SHA), " passed ", " ann ", "gate over 1, final"}, {" TAMPERED "},
	} {
		for _, w := range want {
			if !strings.Contains(lines[i], w) {
				t.Errorf("%q is missing in %q", w, lines[i])
			}
		}
	}
}

func TestTell(t *testing.T) {
	r := entry(t, failed())
	part := entry(t, &receipts.Gate{Version: 1, Run: "r-1", Session: "s", Timestamp: noon, Members: []receipts.Hash{r.SHA}, Covers: receipts.Covers{FirstLine: 1, LastLine: 2}})
	part.Level, part.Key = receipts.LevelKey, "boss"
	for _, c := range []struct {
		d    receipts.Decision
		want string
	}{
		{receipts.Decision{Records: []receipts.Entry{r, part}}, r.SHA.String() + " consumed (recorded by itself; one command alone)\n" + part.SHA.String() + " consumed (recorded under the key boss; of lines 1 to 2 alone)\n"},
		{receipts.Decision{Refusals: []receipts.Refusal{{Reason: receipts.Consumed, SHA: r.SHA, Message: "twice"}}}, "refused: consumed: twice\n  next: # words\n"},
	} {
		var b strings.Builder
		if err := NewDecision(c.d, "consumed", []string{"# words"}).WriteText(&b); err != nil || b.String() != c.want {
			t.Errorf("%q, %v; want %q", b.String(), err, c.want)
		}
	}
	text, err := json.Marshal(NewDecision(receipts.Decision{Refusals: []receipts.Refusal{{Reason: receipts.Consumed, SHA: r.SHA, Message: "twice"}}}, "consumed", nil))
	if want := `{"schema":"dialect.decision/1","verdict":"refused","level":"L0","records":[],"refusals":[{"reason":"consumed","sha256":"` + r.SHA.String() + `","message":"twice"}]}`; err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
}

// TestDamaged makes a document of a record whose body is not JSON any more.
func TestDamaged(t *testing.T) {
	e := entry(t, failed())
	e.Body = []byte("{")
	text, err := json.Marshal(New(e))
	if err != nil || !strings.Contains(string(text), `"body":"{"`) {
		t.Errorf("%s, %v", text, err)
	}
}

package remote_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/remote"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// What the history keeps of an attempt is at most a kilobyte, whatever its text.
func TestFit(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("x", 10000), strings.Repeat("ü", 5000), strings.Repeat("\x00\"<&", 500), "\xff\xfe" + strings.Repeat("\xff", 900)} {
		b := remote.Fit(schedule.Brief{Verdict: schedule.Cancelled, Reason: receipts.StopNotConfigured, By: "1234.5678", Text: text})
		a := remote.Attempted{Brief: b, Ref: "refs/dialect/20261122/r-0123456789abcdef/a-99999-3", Body: receipts.Hash{255}}
		out, err := json.Marshal(a)
		if err != nil || !utf8.ValidString(b.Text) {
			t.Errorf("%q: %v", text, err)
		}
		if len(out) > 1<<10 {
			t.Errorf("%d bytes of %.10q", len(out), text)
		}
		if again := remote.Fit(b); again != b {
			t.Errorf("%q is cut twice", b.Text)
		}
	}
}

// FuzzUnpack reads what anybody may have put into the depot or a history.
func FuzzUnpack(f *testing.F) {
	for _, v := range []any{attempt.Delivery{Step: "1", Attempt: 1}, schedule.Shape{Nodes: []schedule.Node{{ID: "1"}}}} {
		packed, err := remote.Pack(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packed)
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		var d attempt.Delivery
		var s schedule.Shape
		if remote.Unpack(packed, &d) == nil {
			again, err := remote.Pack(&d)
			if err != nil {
				t.Fatal(err)
			}
			var same attempt.Delivery
			if err := remote.Unpack(again, &same); err != nil {
				t.Fatal(err)
			}
		}
		if remote.Unpack(packed, &s) == nil && len(s.Nodes) < 100 {
			r := schedule.NewRelay(s, schedule.Rules{Slots: 2})
			r.Take(schedule.Arrival{Event: schedule.Event{Seq: 1}, Dispatch: 1})
		}
	})
}

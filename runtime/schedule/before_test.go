package schedule

import (
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestGateBefore has lines wait for the gates before them, and what comes in any case for none.
func TestGateBefore(t *testing.T) {
	shape := Shape{Nodes: []Node{
		{ID: "1"}, {ID: "2", Gate: true}, {ID: "3"}, {ID: "4"}, {ID: "5", Gate: true, OnFailure: true},
		{ID: "6", Group: true, Members: []Node{{ID: "6.1", Writes: true}, {ID: "6.2", Always: true}, {ID: "6.3", Group: true, Members: []Node{{ID: "6.3.1"}}}}},
		{ID: "7", Gate: true}, {ID: "8", Writes: true}, {ID: "9", Always: true}, {ID: "10", OnFailure: true, Writes: true},
	}}
	for _, parallel := range []bool{false, true} {
		r := NewRelay(shape, Rules{Parallel: parallel})
		for id, want := range map[string]string{"1": "", "3": "2", "4": "2", "6.1": "2", "6.2": "", "6.3.1": "2", "8": "7", "9": "", "10": "7", "none": ""} {
			if got := r.GateBefore(id); got != want {
				t.Errorf("parallel %v: %s waits for %q, want %q", parallel, id, got, want)
			}
		}
	}
	passed, refused := Brief{Verdict: Passed}, Brief{Verdict: Failed, Reason: receipts.StopGateRefused}
	skipped := Brief{Verdict: Skipped, Reason: Barrier}
	for _, tt := range []struct {
		id    string
		b     Brief
		rules Rules
		want  bool
	}{
		{"3", passed, Rules{}, false}, {"3", refused, Rules{}, true}, {"3", skipped, Rules{}, false},
		{"8", passed, Rules{}, false}, {"8", refused, Rules{KeepGoing: true}, true}, {"8", skipped, Rules{}, true}, {"8", skipped, Rules{KeepGoing: true}, false},
		{"10", skipped, Rules{}, false}, {"10", refused, Rules{}, true}, {"none", skipped, Rules{}, true},
	} {
		if got := NewRelay(shape, tt.rules).Bars(tt.b, tt.id); got != tt.want {
			t.Errorf("%+v bars %s under %+v: %v", tt.b, tt.id, tt.rules, got)
		}
	}
}

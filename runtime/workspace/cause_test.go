package workspace

import "testing"

// TestParseDifference: what a gate records says the path and the cause again.
func TestParseDifference(t *testing.T) {
	for why, cause := range map[string]Cause{
		notCheckedOut: NotCheckedOut, leftOut: LeftOut, pointerAlone: Pointer, otherEnds + "x": LineEnds, checkoutEnds + "x": LineEnds,
		aCache + byMatrix: LeftCache, "ident: a checkout writes its $Id$ anew": Converted, "filter=x: its blob is not what was read": Converted,
		"a FIFO: no commit holds it": Unlike, nestedWhy: Unlike,
	} {
		for _, path := range []string{"a", "d/a b", "with \"quotes\": in it", "\n", ""} {
			d := Difference{path, why}
			if got := ParseDifference(d.String()); got != d || got.Cause() != cause {
				t.Errorf("%q: %+v, cause %d, want %d", d.String(), got, got.Cause(), cause)
			}
		}
	}
	if d := (Difference{"a: b", leftOut}); ParseDifference(d.String()) != d {
		t.Errorf("%+v", ParseDifference(d.String()))
	}
	if got := ParseDifference("no reason"); got != (Difference{Path: "no reason"}) {
		t.Errorf("%+v", got)
	}
}

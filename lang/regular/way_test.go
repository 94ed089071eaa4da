package regular

import (
	"slices"
	"testing"
)

func TestWay(t *testing.T) {
	w := NewWay("/a//./b/../c/")
	if name := w.Next(); name != "a" || w.Rest() != "/./b/../c/" || !w.Follow("x/y") {
		t.Errorf("%q, then %q", name, w.Rest())
	}
	var got []string
	for name := w.Next(); name != ""; name = w.Next() {
		got = append(got, name)
		if more := w.More(); more != (name != "") {
			t.Errorf("after %s: %v", name, more)
		}
	}
	if !slices.Equal(got, []string{"x", "y", "b", "..", "c"}) || w.More() {
		t.Errorf("%q, more %v", got, w.More())
	}
	w = NewWay("l")
	for range 40 {
		if w.Next(); !w.Follow("l") {
			t.Fatal("forty links are too many")
		}
	}
	if w.Next(); w.Follow("l") {
		t.Error("more links than the kernel follows")
	}
}

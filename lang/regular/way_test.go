package regular

import (
	"path/filepath"
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

func TestAbove(t *testing.T) {
	want := []string{filepath.FromSlash("/a/b"), filepath.FromSlash("/a"), filepath.FromSlash("/")}
	if got := slices.Collect(Above(want[0])); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := slices.Collect(Above("a")); !slices.Equal(got, []string{"a", "."}) {
		t.Errorf("%q", got)
	}
}

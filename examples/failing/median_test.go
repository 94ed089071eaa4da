package median

import "testing"

func TestSorted(t *testing.T) {
	if got := Median([]int{1, 2, 3}); got != 2 {
		t.Errorf("Median([1 2 3]) = %d, want 2", got)
	}
}

func TestUnsorted(t *testing.T) {
	if got := Median([]int{3, 1, 2}); got != 2 {
		t.Errorf("Median([3 1 2]) = %d, want 2", got)
	}
}

// Package median has a fault, which its test finds.
package median

// Median returns the middle element of xs in ascending order, the lower one of
// two. It returns 0 for an empty xs.
func Median(xs []int) int {
	if len(xs) == 0 {
		return 0
	}
	return xs[(len(xs)-1)/2] // the fault: xs is taken to be sorted
}

//go:build !linux

package sqlite

// keepBeside has nothing to do: keys count on Linux alone, and so does what root is asked there.
func keepBeside() error { return nil }

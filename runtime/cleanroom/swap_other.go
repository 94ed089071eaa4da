//go:build unix && !linux

package cleanroom

import "os"

// swapIn renames temp to name if name is the old file; with a nil old, if there is nothing.
func swapIn(live *os.Root, temp, name string, old isOld) error {
	return replace(live, temp, name, old)
}

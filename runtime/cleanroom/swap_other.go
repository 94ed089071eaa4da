//go:build unix && !linux

package cleanroom

import "os"

// swapIn is a [swapper].
func swapIn(live *os.Root, temp, name string, old isOld) error {
	return replace(live, temp, name, old)
}

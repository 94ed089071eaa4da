//go:build unix && !linux

package cleanroom

import "os"

// swapIn renames temp to name: in the place of the file that was says, or, where was is nil, of none.
func swapIn(live *os.Root, temp, name string, was func(at string) (bool, error)) error {
	return replace(live, temp, name, was)
}

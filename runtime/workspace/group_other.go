//go:build !unix

package workspace

import "os/exec"

// ownGroup does nothing: there are no process groups here, and a cancelled
// context kills the command alone.
func ownGroup(*exec.Cmd) {}

//go:build !unix

package git

import "os/exec"

// RunGroup runs a command. There are no process groups here, and a cancelled context
// kills the command alone.
func RunGroup(cmd *exec.Cmd) error { return cmd.Run() }

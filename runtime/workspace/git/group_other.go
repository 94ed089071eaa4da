//go:build !unix

package git

import "os/exec"

// runGroup runs a command. There are no process groups here, and a cancelled context
// kills the command alone.
func runGroup(cmd *exec.Cmd) error { return cmd.Run() }

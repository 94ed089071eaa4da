//go:build unix && !linux

package git

import (
	"os/exec"
	"syscall"
)

// runGroup runs a command so that a cancelled context kills what it started too.
func runGroup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd.Run()
}

//go:build unix && !linux

package git

import (
	"os/exec"
	"syscall"
)

// RunGroup runs a command so that a cancelled context kills what it started too.
func RunGroup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd.Run()
}

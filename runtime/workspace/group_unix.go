//go:build unix

package workspace

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a cancelled context kill what the command started too.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

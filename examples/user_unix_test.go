//go:build unix

package examples_test

import (
	"os"
	"os/exec"
	"syscall"
)

// asAgent makes a command one of the agent's user, where the tests are root.
func asAgent(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uidAgent, Gid: uidAgent}}
	}
}

// asSelf takes that back.
func asSelf(cmd *exec.Cmd) { cmd.SysProcAttr = nil }

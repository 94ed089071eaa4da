package git

import (
	"os/exec"
	"runtime"
	"syscall"
)

// RunGroup runs a command so that a cancelled context kills what it started too. The
// command does not outlive this process. The kernel sends that signal when the thread
// that started it ends, so the thread is kept (golang/go#27505).
func RunGroup(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd.Run()
}

//go:build linux && !portable

package process

import "syscall"

// Fork starts a process of the caller's, which is not a command, in a session of its own. No launcher of this process takes it for
// what a command left running: it is neither named, nor ended, nor waited for, until forget is called, which
// the caller does once it has waited for it.
func Fork(path string, argv []string, attr *syscall.ProcAttr) (pid int, forget func(), err error) {
	sessions.RLock()
	defer sessions.RUnlock()
	pid, err = syscall.ForkExec(path, argv, attr)
	if err != nil {
		return 0, nil, err
	}
	sessions.leaders.Store(pid, nil)
	return pid, func() { sessions.leaders.Delete(pid) }, nil
}

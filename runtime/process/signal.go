package process

// Exit statuses where a command did not end by itself, as env(1) and timeout(1) have them.
const (
	StatusTimedOut    = 124
	StatusNotBegun    = 125
	StatusNotRunnable = 126
	StatusNotFound    = 127
)

// SignalStatus is the exit status of a process that a signal of that name has ended: 128 and the number that POSIX
// gives it, or, of the rest, that Linux does; 128 if there is none.
func SignalStatus(name string) int {
	return 128 + map[string]int{
		"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGILL": 4, "SIGTRAP": 5, "SIGABRT": 6, "SIGBUS": 7, "SIGFPE": 8, "SIGKILL": 9,
		"SIGUSR1": 10, "SIGSEGV": 11, "SIGUSR2": 12, "SIGPIPE": 13, "SIGALRM": 14, "SIGTERM": 15, "SIGXCPU": 24, "SIGXFSZ": 25, "SIGSYS": 31,
	}[name]
}

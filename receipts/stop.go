package receipts

// A StopReason says why a command did not end in plain success. It is empty for a
// success, and for a command that ran to its end and exited with a status that was
// not wanted. The set is closed: a receipt with another reason does not parse.
type StopReason string

// The reasons. Everything that judges receipts asks [StopReason.Failed] and
// [StopReason.EndedEarly], and never compares texts.
const (
	// The command ran to its end, and the answer was no.
	StopExitCode    StopReason = "exit_code"   // of live results alone; receipts leave it empty
	StopExpectation StopReason = "expectation" // exit status as wanted, output or claim not
	StopToolError   StopReason = "tool_error"  // an MCP tool says that it failed: isError, or an error of JSON-RPC
	StopVacuous     StopReason = "vacuous"     // it ran, and tested nothing
	StopCrashed     StopReason = "crashed"     // by a signal that programs send themselves: SIGSEGV, SIGABRT, ...
	StopInvalid     StopReason = "invalid"     // a built-in check said no
	StopGateRefused StopReason = "gate_refused"

	// It was ended before it could answer.
	StopTimeout     StopReason = "timeout"
	StopStall       StopReason = "stall"
	StopOutputLimit StopReason = "output_limit"
	StopInterrupted StopReason = "interrupted"
	StopKilled      StopReason = "killed" // by a signal from outside, or its server died
	StopMCPError    StopReason = "mcp_error"
	StopWorkerLost  StopReason = "worker_lost" // the machine that carried it out does not answer any more

	// It never ran.
	StopEnvMissing    StopReason = "env_missing"
	StopStartFailed   StopReason = "start_failed"
	StopNotConfigured StopReason = "not_configured"
	StopLocked        StopReason = "locked"
	StopUnrecordable  StopReason = "unrecordable" // its result cannot be written as a receipt
	StopFailFast      StopReason = "fail_fast"    // ended because another line failed
	StopUntrusted     StopReason = "untrusted"    // a machine reported a result that its receipt does not bear out
)

// Failed reports whether the command gave an answer, and the answer was no. A later pass on
// the same files does not remove such a failure from the log: a strict verifier calls that
// pass FLAKY.
func (s StopReason) Failed() bool {
	switch s {
	case "", StopExitCode, StopExpectation, StopToolError, StopVacuous, StopCrashed, StopInvalid, StopGateRefused:
		return true
	}
	return false
}

// EndedEarly reports whether the command gave no answer: it was ended before it could, or did
// not run. Anyone who keeps a command from saying no leaves this behind. Verdicts count it.
func (s StopReason) EndedEarly() bool {
	switch s {
	case StopTimeout, StopStall, StopOutputLimit, StopInterrupted, StopKilled, StopMCPError, StopWorkerLost, StopUntrusted, StopFailFast,
		StopEnvMissing, StopStartFailed, StopNotConfigured, StopLocked, StopUnrecordable:
		return true
	}
	return false
}

// Known reports whether s belongs to the set.
func (s StopReason) Known() bool { return s.Failed() || s.EndedEarly() }

// CrashSignal reports whether a program that was ended by the signal of that name
// ended itself: by a fault of its own or by abort(3).
func CrashSignal(name string) bool {
	switch name {
	case "SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS":
		return true
	}
	return false
}

// Failed reports whether r says that its command gave an answer, and the answer was no.
func (r *Receipt) Failed() bool { return r.Status == StatusFailed && r.StopReason.Failed() }

// EndedEarly reports whether r says that its command gave no answer.
func (r *Receipt) EndedEarly() bool {
	return r.Status == NotConfigured || r.Status == StatusFailed && r.StopReason.EndedEarly()
}

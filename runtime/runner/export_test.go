package runner

import "time"

// SetFinallyGrace sets the time that a step with finally = true has after an interruption.
func SetFinallyGrace(d time.Duration) (restore func()) {
	was := finallyGrace
	finallyGrace = d
	return func() { finallyGrace = was }
}

package runner

import "time"

// SetFinallyGrace sets the time that a step with finally = true has after an interruption.
func SetFinallyGrace(d time.Duration) (restore func()) {
	was := finallyGrace
	finallyGrace = d
	return func() { finallyGrace = was }
}

// SetStorePatience sets how long a run that is cut short waits for its store, and one that
// is killed.
func SetStorePatience(ended, killed time.Duration) (restore func()) {
	wasEnded, wasKilled := storePatience, killedPatience
	storePatience, killedPatience = ended, killed
	return func() { storePatience, killedPatience = wasEnded, wasKilled }
}

package engine

import (
	"time"

	"github.com/command-dialect/dialect/runtime/schedule"
)

// SetFinallyGrace sets the time that a step with finally = true has after an interruption of a run with o.
func SetFinallyGrace(o *Options, d time.Duration) { o.grace = d }

// SetInnerPatience sets how long a run with o, for which another holds a lock, waits for a further one.
func SetInnerPatience(o *Options, d time.Duration) { o.inner = d }

// SetClock has the budget of a run with o measured by clock, and not by the time since the start of the run.
func SetClock(o *Options, clock func() time.Duration) { o.clock = clock }

// Reload has the state of order saved and loaded after each event of a run with o.
func Reload(o *Options, fail func(error)) {
	o.between = func(s *schedule.State) *schedule.State {
		text, err := s.Save()
		if err == nil {
			s, err = schedule.Load(text)
		}
		if err != nil {
			fail(err)
		}
		return s
	}
}

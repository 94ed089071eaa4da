package engine

import (
	"cmp"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// A meter watches the budget of the run as a whole. Like the budget of a step it stands
// still while the run is paused.
type meter struct {
	end    func(reason schedule.Reason, text string) // the run
	budget plan.Budget
	spent  time.Duration // of the timeout, before the run began
	slept  func() time.Duration
	since  func() time.Duration // in the place of the time since began; nil for that

	output atomic.Int64 // bytes
	active atomic.Int64 // when something last happened, in nanoseconds since began
	busy   atomic.Int64 // processes that run
	began  time.Time
	quit   chan struct{}
}

// over returns b with what o says instead.
func over(b, o plan.Budget) plan.Budget {
	return plan.Budget{
		Timeout: cmp.Or(o.Timeout, b.Timeout), Stall: cmp.Or(o.Stall, b.Stall), MaxOutput: cmp.Or(o.MaxOutput, b.MaxOutput),
	}
}

// start begins to watch. It costs nothing where there is no budget.
func (m *meter) start() {
	m.began = time.Now()
	next := m.left()
	if s := m.budget.Stall / 4; s > 0 && (next == 0 || s < next) {
		next = s
	}
	if next == 0 {
		return
	}
	m.quit = make(chan struct{})
	go func() {
		tick := time.NewTicker(max(min(next, time.Second), time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-m.quit:
				return
			case <-tick.C:
			}
			now := m.clock()
			switch b := m.budget; {
			case b.Timeout > 0 && now >= m.left():
				m.end(receipts.StopTimeout, fmt.Sprintf("the run took longer than its timeout of %v", b.Timeout))
				return
			case b.Stall > 0 && m.busy.Load() > 0 && now-time.Duration(m.active.Load()) >= b.Stall:
				m.end(receipts.StopStall, fmt.Sprintf("nothing in the run wrote anything for %v", b.Stall))
				return
			}
		}
	}()
}

// left is what the run had of its timeout when it began; 0 without one.
func (m *meter) left() time.Duration {
	if m.budget.Timeout <= 0 {
		return 0
	}
	return max(m.budget.Timeout-m.spent, time.Millisecond)
}

func (m *meter) stop() {
	if m.quit != nil {
		close(m.quit)
	}
}

// clock is the time since start, without pauses.
func (m *meter) clock() time.Duration {
	if m.since != nil {
		return m.since()
	}
	return time.Since(m.began) - m.slept()
}

// Wrote counts output.
func (m *meter) Wrote(n int) {
	if m.budget.Stall > 0 {
		m.active.Store(int64(m.clock()))
	}
	if b := m.budget.MaxOutput; b > 0 && m.output.Add(int64(n)) > b {
		m.end(receipts.StopOutputLimit, fmt.Sprintf("the run wrote more than %d bytes", b))
	}
}

// Running counts the processes; n is 1 or -1.
func (m *meter) Running(n int) {
	m.Wrote(0)
	m.busy.Add(int64(n))
}

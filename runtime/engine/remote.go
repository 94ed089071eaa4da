package engine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// A Remote has the attempts of a run made on other machines, in the order of the same [schedule.Relay] as here: what this
// process answers itself, such as a gate, goes there too, and counts once it comes back. It is for one run.
type Remote interface {
	// Begin hands the run out.
	Begin(schedule.Shape, schedule.Rules) error
	// Answer sends what became of an action that this process carried out.
	Answer(schedule.Event) error
	// Cut sends that the run is cut short; kill: nothing of it may go on, not even what comes in any case.
	Cut(why schedule.Brief, kill bool) error
	// Arrivals are what the history of the run says, in its order. The channel is closed once no more comes; Err says
	// then why, where the run was not over.
	Arrivals() <-chan []Arrived
	Err() error
}

// An Arrived is an arrival of the history, with the delivery that it names.
type Arrived struct {
	schedule.Arrival
	Delivery *attempt.Delivery // of an attempt that was made; nil for all else
	Problem  string            // why there is no delivery, where one should be
}

// How long a run waits for what the other machines say of it: once it was killed, and for their word that they know that it is cut short.
const (
	goneGrace = 2 * time.Second
	cutGrace  = 5 * time.Second
)

// follow is drive, with what the history says in the place of what becomes of the actions.
func (r *run) follow(rules schedule.Rules) {
	remote := r.opt.Remote
	fail := func(err error) bool {
		if err != nil {
			r.lose(err, false)
		}
		return err != nil
	}
	if err := remote.Begin(Shape(r.plan), rules); err != nil {
		r.lose(err, true)
		return
	}
	ending, killed := r.ending.Done(), r.killed.Done()
	var gone, unheard <-chan time.Time
	cut := func() error {
		ending, unheard = nil, time.After(cutGrace)
		return remote.Cut(r.why(), false)
	}
	arrivals := remote.Arrivals()
	for r.begin(r.relay.Begin()); !r.relay.Over(); {
		select {
		case <-ending:
			if fail(cut()) {
				return
			}
		case <-killed:
			killed, gone = nil, time.After(goneGrace)
			if fail(remote.Cut(r.why(), true)) {
				return
			}
		case <-gone:
			r.lose(errGone, false)
			return
		case <-unheard:
			r.lose(errUnheard, false)
			return
		case a := <-r.answers:
			r.held[a.Seq] = a
			if ending != nil && r.ending.Err() != nil && fail(cut()) { // before the answer: what waits for it does not start any more
				return
			}
			if fail(remote.Answer(a.event())) {
				return
			}
		case batch, more := <-arrivals:
			if !more {
				err := remote.Err()
				if err == nil {
					err = errEnded
				}
				r.lose(err, false)
				return
			}
			for _, a := range batch {
				if a.Cut {
					unheard = nil
				}
				r.arrived(a)
			}
		}
	}
}

// begin is do: what another machine makes is only noted.
func (r *run) begin(actions []schedule.Action) {
	for _, a := range actions {
		switch {
		case r.relay.Remote(a):
			if r.relay.Dispatch(a.Seq) == 1 {
				r.begun(a)
				r.exec.Hand(a)
			}
		case a.Op == schedule.Snapshot && a.Seq == 0:
			r.begun(a)
			r.exec.Snapshot(a)
		default:
			r.do([]schedule.Action{a})
		}
	}
}

// arrived takes in what the history says.
func (r *run) arrived(a Arrived) {
	open := schedule.Action{}
	for _, o := range r.relay.Pending() {
		if o.Seq == a.Seq {
			open = o
		}
	}
	dispatch := r.relay.Dispatch(a.Seq)
	actions, taken := r.relay.Take(a.Arrival)
	if !taken {
		return
	}
	switch again := r.relay.Dispatch(a.Seq) > dispatch; {
	case a.Cut:
		r.cancel(attempt.Cut{Brief: a.Brief}) // what is carried out here
	case again:
		r.exec.LostOnce(a.Seq, dispatch, schedule.LostBrief(a.Arrival))
	case r.relay.Remote(open):
		r.take(answer{Action: open, report: r.reported(a)})
	default:
		held, ok := r.held[a.Seq]
		for !ok { // another process, which is gone, has answered it; this one is about to
			v := <-r.answers
			if r.held[v.Seq] = v; v.Seq != a.Seq {
				_ = r.opt.Remote.Answer(v.event()) // the end of the arrivals says why it could not be sent
			}
			held, ok = r.held[a.Seq]
		}
		delete(r.held, a.Seq)
		if open.Op == schedule.Acquire && held.err == nil && a.Why != "" { // it is free on this machine, and not there
			held.release()
			held.release, held.err = nil, remoteError(a.Why)
		}
		if own := held.event(); own.Brief.Verdict != a.Brief.Verdict || own.Brief.Reason != a.Brief.Reason || (own.Why == "") != (a.Why == "") {
			r.distrust(schedule.Brief{Verdict: schedule.Fault, Reason: receipts.StopUntrusted, Text: fmt.Sprintf(
				"somebody else answered for this process: the history says %q of step %s, and it is %q", cmp.Or(string(a.Brief.Verdict), a.Why, "done"), open.ID, cmp.Or(string(own.Brief.Verdict), own.Why, "done"))})
		}
		r.take(held)
	}
	r.begin(actions)
}

// reported is the report of an attempt that was made elsewhere. What is not accepted ends the run.
func (r *run) reported(a Arrived) *attempt.Report {
	if a.Lost != "" {
		return r.exec.Missing(a.Seq, a.Dispatch, schedule.LostBrief(a.Arrival))
	}
	if a.Delivery == nil {
		b := a.Brief
		// Without a delivery a history says that an attempt was not made, and no more: a failure decides what comes next, too.
		switch notMade := a.Problem == "" && (b.Verdict == schedule.Fault || b.Verdict == schedule.Cancelled); {
		case notMade:
		case r.ending.Err() != nil: // what was made is not fetched for long
			b = schedule.Brief{Verdict: schedule.Cancelled, Reason: r.why().Reason, Text: "the worker's result is not there: " + a.Problem}
		default:
			b = schedule.Brief{Verdict: schedule.Fault, Reason: receipts.StopUntrusted, Text: "the worker's result is not there: " + a.Problem}
			r.distrust(b)
		}
		return r.exec.Missing(a.Seq, a.Dispatch, b)
	}
	report, err := r.exec.Accept(a.Seq, a.Dispatch, a.Delivery)
	if err != nil {
		r.distrust(schedule.Brief{Verdict: schedule.Fault, Reason: report.Reason, Text: err.Error()})
	}
	return report
}

// distrust ends a run one of whose workers said what is not so.
func (r *run) distrust(why schedule.Brief) {
	if r.end != nil {
		r.end(attempt.Cut{Brief: why})
	}
}

// lose ends the run where no more of it is heard: what was open has no verdict of its own. fresh: nothing of it has begun.
func (r *run) lose(err error, fresh bool) {
	b := schedule.Brief{Verdict: schedule.Fault, Reason: receipts.StopWorkerLost, Text: err.Error()}
	if r.ending.Err() != nil {
		b.Verdict, b.Reason = schedule.Cancelled, r.why().Reason
	} else {
		r.distrust(b)
	}
	r.cancel(attempt.Cut{Brief: b})
	actions, _ := r.relay.Take(schedule.Arrival{Cut: true, Event: schedule.Event{Brief: b}})
	r.begin(actions)
	if fresh {
		r.begin(r.relay.Begin())
	}
	for !r.relay.Over() {
		progress := false
		for _, o := range r.relay.Pending() {
			a := Arrived{Arrival: schedule.Arrival{Event: schedule.Event{Seq: o.Seq, Brief: b, Last: true}}}
			if r.relay.Remote(o) {
				a.Dispatch = r.relay.Dispatch(o.Seq)
			} else if held, ok := r.held[o.Seq]; ok {
				a.Event = held.event()
			} else {
				continue
			}
			progress = true
			r.arrived(a)
			break
		}
		if !progress {
			v := <-r.answers
			r.held[v.Seq] = v
		}
	}
}

type remoteError string

func (e remoteError) Error() string { return string(e) }

const (
	errGone    remoteError = "the workers did not say in time what became of it"
	errUnheard remoteError = "it was not heard in time that the run is cut short: it may go on elsewhere"
	errEnded   remoteError = "the run ended elsewhere before it was over"
)

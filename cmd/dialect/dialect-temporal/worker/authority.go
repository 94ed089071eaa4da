package worker

import (
	"errors"
	"fmt"

	"github.com/command-dialect/dialect/cmd/dialect/dialect-temporal/flow"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/remote"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// A worker that knows the keys of those whose lines it carries out asks nobody else what may be carried out: the signature of a run is of the
// key that signs its answers, and an answer of the last gate before a line says that the way to it is open. That a line was carried out already,
// or that one before it that opens no gate was not, it cannot tell.

// begun returns an error where none of the keys that the worker knows has begun a run.
func (w *Worker) begun(s *remote.Spec) error {
	if w.o.Runs != nil && s.BegunBy(w.o.Runs) == "" {
		return errors.New("this worker carries out the runs of keys that it knows (--run-key), and none of them has begun this one: dialect takes its key from --key-fd")
	}
	return nil
}

// opened returns an error where no answer of its run says that the gate before a line lets it start.
func (w *Worker) opened(c *checkout, t flow.Task) error {
	if w.o.Runs == nil {
		return nil
	}
	relay := schedule.NewRelay(engine.Shape(c.plan), t.Spec.Rules)
	step := t.Action.ID
	gate := relay.GateBefore(step)
	switch a := t.Gate; {
	case gate == "":
	case a == nil || a.Op != schedule.Gate || a.ID != gate || t.Spec.Version == 1 || !t.Spec.Signed(*a):
		return fmt.Errorf("nobody who may has said what became of the gate of step %s, which comes before step %s", gate, step)
	case relay.Bars(a.Brief, step):
		return fmt.Errorf("the gate of step %s keeps step %s from being carried out", gate, step)
	}
	return nil
}

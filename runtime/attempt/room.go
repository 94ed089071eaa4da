package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/cleanroom"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// enter has a command run in the room, where the run has one; claim is the file for its result, and control, unless it is
// nil, what is broken. The stay is nil where there is no room.
func (x *Executor) enter(c *process.Command, claim string, control *Control) (*cleanroom.Stay, error) {
	if x.opt.Room == nil {
		if control != nil {
			return nil, errors.New("a control runs in a clean checkout alone")
		}
		if x.opt.Apart != nil {
			var shown []string
			if claim != "" {
				shown = append(shown, x.claims.dir)
			}
			var err error
			c.Room, err = x.opt.Apart(shown...)
			return nil, err
		}
		return nil, nil
	}
	stay, err := x.opt.Room.Enter()
	if err != nil {
		return nil, err
	}
	if claim != "" {
		stay.Show(x.claims.dir)
	}
	if control != nil {
		err = stay.Edit(control.Edits)
	}
	if err == nil {
		err = stay.Prepare(c)
	}
	if err != nil {
		_, _ = stay.End(context.Background()) // nothing ran
		return nil, err
	}
	return stay, nil
}

// keepGrace is how long what a line wrote may still be brought back once the run is cut short: half of it helps nobody, and a
// file can be larger than anybody waits for.
const keepGrace = 2 * time.Second

var errCutShort = errors.New("the run was ended meanwhile")

// leaving is a context for what has to be done after a command of a clean checkout: it ends some time after the run is cut short,
// and with a run that is killed.
func (x *Executor) leaving(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	ended := context.AfterFunc(x.ending, func() {
		select {
		case <-time.After(keepGrace):
			cancel(errCutShort)
		case <-ctx.Done():
		}
	})
	killed := context.AfterFunc(x.killed, func() { cancel(errCutShort) })
	return ctx, func() {
		ended()
		killed()
		cancel(nil)
	}
}

// leave notes where the command of a stay ran. What one that writes changed is brought back, if it passed; what another
// changed of the snapshot makes the gate refuse it: nobody knows whether its result is of the files before or
// after that.
func (x *Executor) leave(ctx context.Context, stay *cleanroom.Stay, res *Report) {
	if stay == nil {
		return
	}
	res.clean = &receipts.Clean{Unconfined: x.opt.Room.Unconfined() != ""}
	for _, name := range stay.Shared() {
		res.clean.Lowered = append(res.clean.Lowered, receipts.Text(name))
	}
	ctx, done := x.leaving(ctx)
	defer done()
	if writes(res.Step) && res.Verdict == schedule.Passed {
		if err := stay.Keep(ctx); err != nil {
			res.end(schedule.Fault, receipts.StopUnrecordable, err.Error())
		}
		return
	}
	changed, err := stay.End(ctx)
	p := res.Process
	switch {
	case err != nil:
		// What it changed is not known, so it may be anything.
		res.changed = []string{"."}
		p.Notes = append(p.Notes, "what it changed in the clean checkout cannot be read: "+err.Error())
	case x.opt.Controls[res.Step.ID] != nil: // its result is of other files in any case
	case !writes(res.Step):
		res.changed = changed
	case len(changed) > 0:
		p.Notes = append(p.Notes, "it did not pass, and so what it changed in the clean checkout is not brought back: "+receipts.ListPaths(changed))
	}
}

// hidden says of a command that was not found in the room where the machine has it.
func (x *Executor) hidden(c *process.Command, res *Report) {
	p := res.Process
	if x.opt.Room == nil || p.Stop != process.EnvMissing {
		return
	}
	if path, err := x.launcher.LookPath(c.Argv[0], c.LookupDir, c.Env); err == nil {
		if dir, hidden := x.opt.Room.Hidden(path); hidden {
			p.Err = fmt.Errorf("%w; %s is hidden with all of %s", p.Err, path, dir)
		}
	}
}

package attempt

import (
	"context"
	"fmt"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/cleanroom"
	"github.com/command-dialect/dialect/runtime/process"
)

// enter has a command run in the room, where the run has one; claim is the file for its result. The stay is nil
// where it has none.
func (x *Executor) enter(c *process.Command, claim string) (*cleanroom.Stay, error) {
	if x.opt.Room == nil {
		return nil, nil
	}
	stay, err := x.opt.Room.Enter()
	if err != nil {
		return nil, err
	}
	if claim != "" {
		stay.Show(x.claims.dir)
	}
	if err := stay.Prepare(c); err != nil {
		_, _ = stay.End(context.Background()) // nothing ran
		return nil, err
	}
	return stay, nil
}

// leave notes what the command of a stay changed, and where it ran. What it changed of the snapshot is held
// against it at the gate: nobody knows whether its result is of the files before or after that.
func (x *Executor) leave(ctx context.Context, stay *cleanroom.Stay, c *process.Command, res *Report) {
	if stay == nil {
		return
	}
	room := x.opt.Room
	p := res.Process
	res.clean = &receipts.Clean{Unconfined: room.Unconfined() != ""}
	var err error
	if res.changed, err = stay.End(context.WithoutCancel(ctx)); err != nil {
		// What it changed is not known, so it may be anything.
		res.changed = []string{"."}
		p.Notes = append(p.Notes, "what it changed in the clean checkout cannot be read: "+err.Error())
	}
	if p.Stop != process.EnvMissing {
		return
	}
	if path, err := x.launcher.LookPath(c.Argv[0], c.LookupDir, c.Env); err == nil {
		if dir, hidden := room.Hidden(path); hidden {
			p.Err = fmt.Errorf("%w; %s is hidden with all of %s", p.Err, path, dir)
		}
	}
}

package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/absent"
	"github.com/command-dialect/dialect/runtime/cleanroom"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
	"github.com/command-dialect/dialect/runtime/scope"
)

// enter has a command run in the room, where the run has one; claim is the file for its result, and control, unless it is
// nil, what is broken. The stay is nil where there is no room.
func (x *Executor) enter(ctx context.Context, c *process.Command, res *Report, claim string, control *Control) (*cleanroom.Stay, error) {
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
	if err := x.install(ctx, res); err != nil {
		return nil, err
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

// install has the setup of the matrix install what the files ask for, before the command of res: see [cleanroom.Room.Install]. What the setup
// prints is shown as the command's own. Neither its time nor its silence is that of the step; the run's own budget and
// signals end it.
func (x *Executor) install(ctx context.Context, res *Report) error {
	m := &x.plan.Matrix
	if len(m.Clean.Setup) == 0 {
		return nil
	}
	s := cleanroom.Setup{Locks: func(name string) bool { return scope.Names(m.Clean.Locks, name) }, Keep: m.Clean.Keep, Own: m.Clean.Vars}
	s.Env, _ = x.environ(m.Clean.Vars)
	for _, c := range m.Clean.Setup {
		s.Commands = append(s.Commands, c.Argv)
	}
	_, err := x.opt.Room.Install(ctx, s, func(ctx context.Context, c *process.Command) error {
		return x.setUp(ctx, res, c)
	})
	return err
}

// setUp runs one command of a setup.
func (x *Executor) setUp(ctx context.Context, res *Report, c *process.Command) error {
	c.LogDir, c.Redact, c.Digest = x.opt.LogDir, x.opt.Redact, true
	c.Output = func(stream process.Stream, p []byte) {
		x.wrote(len(p))
		if x.opt.Output {
			x.emit(Output{Step: res.Step, Stream: stream, Data: p})
		}
	}
	if x.opt.Output {
		c.Hold = x.opt.Hold
	}
	x.running(1)
	p := x.launcher.Run(ctx, c)
	x.running(-1)
	name := strings.Join(c.Argv, " ")
	switch {
	case p.Err != nil:
		return p.Err
	case p.Stop != "":
		return fmt.Errorf("%s was ended (%s)", name, p.Stop)
	case p.Signal != "":
		return fmt.Errorf("%s was ended by %s%s", name, p.Signal, saying(&p))
	case p.ExitCode != 0:
		return fmt.Errorf("%s failed, exit %d%s", name, p.ExitCode, saying(&p))
	}
	return nil
}

// saidLines and saidBytes bound what an error repeats of what a setup printed.
const saidLines, saidBytes = 4, 600

// complains matches lines in which installers say why they failed.
var complains = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(err|\w*error|fatal|failed|cannot|not found|no such|denied|refused)\b`)
})

// saying returns, in one line, the lines of what a command printed that say why it failed, else its last ones, and where all of it is.
func saying(p *process.Result) string {
	var said, why []string
	for line := range strings.Lines(string(p.Tail)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if said = append(said, line); complains().MatchString(line) {
			why = append(why, line)
		}
	}
	if said = said[max(0, len(said)-saidLines):]; len(why) > 0 {
		said = why[:min(len(why), saidLines)]
	}
	text := diag.ClipBytes(strings.Join(said, "; "), saidBytes)
	for _, log := range []string{p.Stderr.Log, p.Stdout.Log} {
		if log != "" {
			text += " (all of it: " + log + ")"
			break
		}
	}
	if text == "" {
		return ""
	}
	return ": " + text
}

// setupOf is what a receipt says of what was installed for a command; nil for nothing.
func (x *Executor) setupOf(in *cleanroom.Installed) *receipts.Setup {
	if in == nil {
		return nil
	}
	s := &receipts.Setup{Key: in.Key, Result: in.Sum, Kept: in.Kept}
	for _, c := range x.plan.Matrix.Clean.Setup {
		s.Commands = append(s.Commands, receipts.Text(c.Text))
	}
	for _, name := range in.Locks {
		s.Locks = append(s.Locks, receipts.Text(name))
	}
	return s
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
	res.clean = &receipts.Clean{Unconfined: x.opt.Room.Unconfined() != "", Setup: x.setupOf(stay.Installed())}
	if in := stay.Installed(); in != nil && in.Took > 0 && x.told.CompareAndSwap(false, true) {
		res.Process.Notes = append(res.Process.Notes, fmt.Sprintf("the clean checkout was set up first, in %.1f s", in.Took.Seconds()))
	}
	for _, name := range stay.Shared() {
		res.clean.Lowered = append(res.clean.Lowered, receipts.Text(name))
	}
	ctx, done := x.leaving(ctx)
	defer done()
	if writes(res.Step) && res.Verdict == schedule.Passed {
		if s := &x.plan.Script; !s.Whole || !x.opt.Room.Holds(s.Path, s.SHA256) {
			stay.Lower("a script that is not of this tree")
		}
		if err := stay.Keep(ctx); err != nil {
			res.end(schedule.Fault, receipts.StopUnrecordable, err.Error())
		}
		return
	}
	changed, err := stay.End(ctx)
	p := res.Process
	if x.opt.Controls[res.Step.ID] == nil && res.Verdict.Bad() && p != nil {
		x.missed(ctx, res)
	}
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

// missedWithin bounds the search for what a command may have missed.
const missedWithin = time.Second

// missed notes what of the machine a command that did not pass may have missed in the clean checkout.
func (x *Executor) missed(ctx context.Context, res *Report) {
	p, r := res.Process, x.opt.Room
	switch p.Stop {
	case "", process.EnvMissing:
	default: // its time was over, or it was interrupted
		return
	}
	o := absent.Options{Root: r.Root(), Ignored: r.Ignores, Hidden: r.Hidden, Output: slices.Concat(p.Stdout.Head, []byte{'\n'}, p.Stderr.Head, []byte{'\n'}, p.Tail)}
	if p.Err != nil {
		o.Output = append(o.Output, p.Err.Error()...)
	}
	o.Home, _ = os.UserHomeDir()
	got := make(map[string]bool)
	for _, kv := range x.env {
		name, _, _ := strings.Cut(kv, "=")
		got[name] = true
	}
	for _, kv := range x.opt.Environ {
		if name, value, _ := strings.Cut(kv, "="); !got[name] && value != "" {
			o.Names = append(o.Names, name)
		}
	}
	said := ""
	if res.epoch != nil && x.opt.Store != nil && x.ledger.sync() == nil {
		e, ok, err := x.opt.Store.Passed(ctx, receipts.CommandHash(res.Step.Identity()), x.dir(res.Step), res.epoch.place, res.epoch.tree)
		if v, bad := e.Parse(); err == nil && ok && bad == nil {
			if old, is := v.(*receipts.Receipt); is && old.Clean == nil {
				o.Passed, said = true, "it passed on these files in the working tree (receipt "+e.SHA.Short()+"); "
			}
		}
	}
	ctx, done := context.WithTimeout(ctx, missedWithin)
	defer done()
	if found := absent.Find(ctx, o); len(found) > 0 {
		p.Notes = append(p.Notes, said+"not in the clean checkout: "+strings.Join(found, "; "))
	} else if said != "" {
		p.Notes = append(p.Notes, strings.TrimSuffix(said, "; ")+", and git ignores nothing there: files around the project, or the environment, made it pass")
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

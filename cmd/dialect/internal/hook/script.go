package hook

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/history"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/project"
)

// endGrace is how long a run may take to end that is asked to.
const endGrace = 3 * time.Second

// A checked says what became of the script that a hook ran.
type checked struct {
	overrun bool
	text    string // for the log, or for the person
}

// check runs the script of the project, where `[hooks] run` of rules that the user pinned says so; nil where nothing was run. A baseline that is HEAD
// is not enough: an agent in a sandbox can commit, and what runs here runs outside of it. Nothing is run that took longer the last time than the
// rules allow.
func (r *run) check(l *look) *checked {
	m := l.q.Trusted()
	if m == nil || m.HooksRun <= 0 || l.q.Policy != "" || !policy.IsPinned(l.q.Root()) {
		return nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil
	}
	script, _ := project.DefaultScript(dir, m)
	program, err := self()
	if script == "" || err != nil {
		return nil
	}
	last := (history.Documents{Archive: archive.Of(l.q.Store())}).Last(script, "")
	if bound := m.HooksRun.Seconds(); last != nil && (last.Elapsed > bound || last.Verdict == "interrupted" && last.Elapsed > bound/2) {
		return nil // the second is one that was ended here: it began a little later than its time
	}
	if rel, err := filepath.Rel(l.q.Root(), script); err == nil {
		script = rel // as reports name it
	}
	launcher, err := process.New(process.Options{})
	if err != nil {
		return nil
	}
	defer launcher.Close()
	argv := []string{program, "run", "--output", "none", script}
	if store := r.storeHere(); store != "" {
		if here, err := os.Getwd(); err == nil {
			store = attempt.AbsoluteStore(here, store) // it runs where the rules are
		}
		argv = append(argv, "--store", store)
	}
	if r.more != nil {
		r.more(m.HooksRun + endGrace)
	}
	res := launcher.Run(context.Background(), &process.Command{Argv: argv, Dir: l.q.Root(), Env: os.Environ(), Timeout: m.HooksRun, Grace: endGrace, TailBytes: -1})
	r.ctx, r.cancel = context.WithTimeout(context.Background(), lookWait)
	name := filepath.Base(script)
	if res.Stop == process.Timeout {
		return &checked{overrun: true, text: fmt.Sprintf("not checked: `dialect run %s` was ended after %s, which is [hooks] run", name, m.HooksRun)}
	}
	return &checked{text: fmt.Sprintf("ran %s in %.1f s", name, res.Duration.Seconds())}
}

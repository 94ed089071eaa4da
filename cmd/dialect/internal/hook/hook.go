// Package hook answers the hooks of coding agents: whether an agent may end its turn, and whether it may run a command line. A
// client's event comes in on stdin, its answer goes out on stdout.
//
// A hook verifies; it runs nothing of the project, unless rules that the user pinned say so (`[hooks] run`). Clients start hooks outside of their
// sandboxes, with their keys, so that tests that an agent wrote have no business here. Verdicts are those of receipts/verify, asked through package inquiry as
// `dialect verify` asks.
//
// It never refuses by accident. A fault of any kind (a panic, a store that cannot be read, no matrix, a text on stdin that is no
// event, a look that takes too long) allows what was asked for, with status 0, and is recorded. It never refuses without a
// bound: the refusals of a session are counted here, and where they cannot be counted nothing is refused.
//
// The rooms: agents knows the protocols, shell the command lines, decide the rules, journal what is kept, install the
// configuration of the clients. This package brings facts to the rules.
//
// It is one package of up to 2,400 lines because a stop, a tool call and a push are judged by the same look at one tree.
package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/agents"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/decide"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/journal"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/shell"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/notary"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/redact"
)

// Bounds of one event.
const (
	maxStdin  = 1 << 20          // bytes
	maxHeap   = 256 << 20        // bytes, before garbage is collected
	stdinWait = 2 * time.Second  // until the event is whole
	lookWait  = 20 * time.Second // for the whole; shorter than the timeouts that install writes
)

// Held begins each reason that holds a stop: clients show reasons where people expect errors, and some send them back as a
// prompt.
const Held = "dialect held this stop (not a hook error):"

// Options say which hook is answered, and how.
type Options struct {
	Agent *agents.Adapter
	Event string // as the command line names it
	User  bool   // the hook is in the user's configuration: it acts only where the user pinned the rules
	Store string // path of the store; empty for the project's own
	In    io.Reader
	Out   io.Writer

	// For tests.
	stdin time.Duration            // for stdinWait
	look  func(*run, string) error // called before a look at the files
}

// A run is the answer to one event.
type run struct {
	Options
	ctx     context.Context
	event   agents.Event
	journal *journal.Journal // nil where none can be kept
	now     time.Time
	tree    string        // that was looked at, for the log
	kept    <-chan []byte // what the last look kept, which is being read; nil before that, and once it is taken
	head    string        // the commit HEAD at the session's start; empty where it is not known
	cancel  context.CancelFunc
	at      string              // the folder that the client works in; empty before [run.enter]
	then    string              // the command that a look is about, for what is next; empty for none
	more    func(time.Duration) // puts the end of the wait off by a time; nil for nobody waits
}

// A reply is what becomes of an event.
type reply struct {
	decide.Decision
	say string // the reason of a refusal
}

// Answer answers one event. It writes at most one JSON object.
func Answer(o Options) {
	o.stdin = cmp.Or(o.stdin, stdinWait)
	forgetKeys()
	// The process ends soon: what it allocates for a large project is less than collecting it costs.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(maxHeap))
	r := &run{Options: o, now: time.Now()}
	r.ctx, r.cancel = context.WithTimeout(context.Background(), lookWait)
	end := time.NewTimer(lookWait + time.Second)
	defer end.Stop()
	r.more = func(d time.Duration) { end.Reset(d + lookWait + time.Second) }
	done := make(chan reply, 1)
	go func(r *run) {
		defer func() {
			if p := recover(); p != nil {
				done <- reply{Decision: decide.Decision{Action: decide.Tell, Rule: "panic", Text: fmt.Sprintf("internal error: %v", p)}, say: string(debug.Stack())}
			}
		}()
		defer func() { r.cancel() }()
		done <- r.handle()
	}(r)
	var a reply
	select {
	case a = <-done:
	case <-end.C: // what waits does not look at its context
		r = &run{Options: o, now: r.now} // the other one is still at work
		a = fault("deadline", errors.New("it took too long"))
	}
	a.say, a.Text = diag.HideKeys(a.say), diag.HideKeys(a.Text) // the command of an agent is repeated
	text := a.say
	if a.Action != decide.Refuse {
		if text = ""; a.Action == decide.Tell {
			text = "dialect let this pass: " + a.Text
		}
	}
	_, err := o.Out.Write(o.Agent.Reply(r.event.Kind, agents.Answer{Refuse: a.Action == decide.Refuse, Text: text}))
	if err != nil {
		a.Rule += ", and the answer was not read"
	}
	r.record(a)
}

// fault allows, since something went wrong.
func fault(rule string, err error) reply {
	return reply{Decision: decide.Decision{Action: decide.Tell, Rule: rule, Text: err.Error()}}
}

// record adds the decision to the log. What every tool call comes to is left out of it.
func (r *run) record(a reply) {
	if a.Rule == "" || r.event.Kind == agents.BeforeTool && a.Action == decide.Allow {
		return
	}
	if r.journal == nil {
		dir, err := os.Getwd()
		if err != nil {
			return
		}
		if r.journal, err = journal.Of(rootOf(dir)); err != nil {
			return
		}
	}
	text := cmp.Or(a.say, a.Text)
	r.journal.Log(journal.Entry{Time: r.now.UTC().Truncate(time.Millisecond), Agent: r.Agent.Name, Event: cmp.Or(string(r.event.Kind), r.Event), Session: r.event.Session,
		Action: string(a.Action), Rule: a.Rule, Tree: r.tree, Text: text})
}

// rootOf returns the folder of the matrix for dir, or dir where there is none.
func rootOf(dir string) string {
	if path, _, err := project.FindMatrix(dir, ""); err == nil {
		return filepath.Dir(path)
	}
	return dir
}

// forgetKeys takes the client's keys out of the environment: git may start filters, which a repository names.
func forgetKeys() {
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); isSecret(name) && !strings.HasPrefix(name, "DIALECT_") {
			_ = os.Unsetenv(name)
		}
	}
}

// isSecret reports whether a variable of that name may hold a key: what a report hides, and each name with the word KEY.
func isSecret(name string) bool {
	return redact.SecretName(name) || slices.Contains(strings.Split(strings.ToUpper(name), "_"), "KEY")
}

var errLong = fmt.Errorf("more than %d bytes on stdin", maxStdin)

// read reads the event, within bounds. Of one that is too long it returns what comes first.
func (r *run) read() (map[string]any, error) {
	type result struct {
		m   map[string]any
		err error
	}
	got := make(chan result, 1) // who reads may go on reading: the process ends soon
	go func() {
		limited := &io.LimitedReader{R: r.In, N: maxStdin}
		m, err := agents.Read(limited)
		if err != nil && limited.N <= 0 {
			err = errLong
		}
		got <- result{m, err}
	}()
	select {
	case g := <-got:
		return g.m, g.err
	case <-time.After(r.stdin):
		return nil, fmt.Errorf("the event was not whole after %s", r.stdin)
	}
}

// handle answers the event.
func (r *run) handle() reply {
	m, err := r.read()
	long := errors.Is(err, errLong)
	if long && m["command"] == nil {
		m["command"] = "unread" // of a shell tool
	}
	if err == nil || long {
		r.event = r.Agent.Parse(r.Event, m)
	}
	if err != nil && (!long || r.event.Kind != agents.Stop && r.event.Kind != agents.BeforeTool) {
		return fault("bad-event", err)
	}
	if r.event.Kind == agents.Other {
		return reply{Decision: decide.Decision{Action: decide.Allow}}
	}
	var intent shell.Intent
	if r.event.Kind == agents.BeforeTool {
		if intent = shell.Parse(r.event.Command, r.event.In); long && r.event.Command != "" {
			intent.Actions = []shell.Action{{Push: true, Dir: ".", Unknown: err.Error()}}
		}
		if intent.Nothing() && r.event.File == "" && r.event.Tree == "" {
			return reply{Decision: decide.Decision{Action: decide.Allow}}
		}
	}
	r.enter()
	dir, err := os.Getwd()
	if err != nil {
		return fault("no-folder", err)
	}
	if r.event.Kind == agents.BeforeTool {
		r.notes(dir)
		if filepath.IsAbs(r.event.Dir) { // that its shell is in by now
			_ = os.Chdir(r.event.Dir)
		}
		return r.before(intent)
	}
	alone := false // a sub-agent in a tree of its own
	if r.event.Kind == agents.SubStart || r.event.Kind == agents.SubStop {
		if alone = r.goes(dir); alone {
			if dir, err = os.Getwd(); err != nil {
				return fault("no-folder", err)
			}
		} else if r.event.Kind == agents.SubStart {
			return reply{Decision: decide.Decision{Action: decide.Allow}}
		}
	}
	path, _, err := project.FindMatrix(dir, "")
	missing := errors.Is(err, routing.ErrNotFound)
	if err != nil && !missing {
		return fault("no-matrix", err)
	}
	root, gone := dir, ""
	if !missing {
		root = filepath.Dir(path)
	} else if lost, unknown := project.Lost(r.ctx, dir, err); lost != "" {
		root, gone = filepath.Dir(lost), lost+" is gone, and HEAD has it"
	} else if unknown != nil {
		gone = fmt.Sprintf("there is no %s, and it is not known whether HEAD has one: %v", routing.FileName, unknown)
	} else if at := journal.Above(dir, r.Agent.Name, r.event.Session); at != "" {
		root = at
	}
	if r.journal, err = journal.Of(root); err != nil {
		return fault("no-journal", err)
	}
	s, err := r.journal.Session(r.ctx, r.Agent.Name, r.event.Session)
	if err == nil {
		defer s.Close()
		if missing && gone == "" && s.Rules != "" {
			gone = filepath.Join(root, routing.FileName) + " is gone, and was there at your last prompt"
		}
	}
	scope := decide.Scope{Off: !r.journal.OffUntil(r.now).IsZero(), NoProject: missing && gone == "", Untrusted: r.User && !policy.IsPinned(root)}
	switch r.event.Kind {
	case agents.SubStart:
		if err == nil && !missing && !scope.Untrusted {
			r.prompt(s)
		}
		return reply{Decision: decide.Decision{Action: decide.Allow}}
	case agents.Prompt:
		if err != nil || missing || scope.Untrusted || !r.person() {
			if err == nil && missing && r.person() {
				s.Rules = "" // which the person sees
				_ = s.Save()
			}
			return reply{Decision: decide.Decision{Action: decide.Allow}}
		}
		return r.prompt(s)
	case agents.Stop, agents.SubStop:
		uncounted := ""
		if err != nil && r.event.Session != "" {
			uncounted = err.Error()
		}
		return r.stop(decide.Stop{
			Scope: scope, NoSession: r.event.Session == "", Uncounted: uncounted, SubAgent: r.event.Kind == agents.SubStop && !alone,
			Plan: r.event.Plan, Background: err == nil && goesOn(r.event.Background, s.Ignored), Message: r.event.Message, Gone: gone,
		}, s)
	}
	return reply{Decision: decide.Decision{Action: decide.Allow, Rule: string(r.event.Kind)}}
}

// notes notes the file that a tool is about to write, and the tree that a sub-agent is about to be started in.
func (r *run) notes(dir string) {
	e := r.event
	if e.File == "" && e.Tree == "" {
		return
	}
	from := func(path string) string {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return path
	}
	root, missing, err := matrixOf(dir)
	if err != nil || missing {
		return
	}
	if r.journal, err = journal.Of(root); err != nil {
		return
	}
	if e.File != "" {
		r.journal.Wrote(r.Agent.Name, e.Session, from(e.File))
	}
	if e.Tree != "" && e.Call != "" {
		r.journal.Placed(r.Agent.Name, e.Session, e.Call, from(e.Tree))
	}
}

// goes goes to the working tree of the sub-agent that the event is of, and makes its session one of its own. It returns false for a sub-agent that
// works in the tree of who started it, and where the client says of neither event nor start which tree it is.
func (r *run) goes(dir string) bool {
	if r.event.Agent == "" {
		return false
	}
	tree := r.event.Dir
	if root, _, err := matrixOf(dir); err == nil {
		if j, err := journal.Of(root); err == nil {
			tree = cmp.Or(j.PlaceOf(r.Agent.Name, r.event.Session, r.event.Agent), tree)
		}
	}
	own, err := place.Real(tree)
	main, err2 := place.Real(dir)
	if tree == "" || err != nil || err2 != nil || place.Repository(own) == place.Repository(main) || os.Chdir(own) != nil {
		return false
	}
	r.event.Session += "/" + r.event.Agent
	return true
}

// enter goes to the folder that the event is about: that of the project, else where the client works.
func (r *run) enter() {
	for _, dir := range []string{os.Getenv(r.Agent.Root), r.event.Dir} {
		if filepath.IsAbs(dir) && os.Chdir(dir) == nil {
			break
		}
	}
	r.at, _ = os.Getwd()
	findNotary()
}

// storeHere names the store that is asked about the present folder. A relative path is from the folder that the client works in, for each
// folder of its repository; who works in another one, such as the working tree of a sub-agent, has a store of that name there.
func (r *run) storeHere() string {
	here, err := os.Getwd()
	if err != nil || here == r.at || r.at == "" || place.Repository(here) != place.Repository(r.at) {
		return r.Store
	}
	return attempt.AbsoluteStore(r.at, r.Store)
}

// findNotary has the notary of this process be the same one from any folder.
func findNotary() {
	if path, err := filepath.Abs(os.Getenv(notary.Variable)); err == nil && os.Getenv(notary.Variable) != "" {
		_ = os.Setenv(notary.Variable, path)
	}
}

// goesOn reports whether one of tasks is new: one that let the agent stop before the last prompt may never end. One without an id is new.
func goesOn(tasks, before []string) bool {
	return slices.ContainsFunc(tasks, func(id string) bool { return id == "" || !slices.Contains(before, id) })
}

// person reports whether a prompt comes from a person, who may quote us within a line. Some clients send the reason of a refusal, or nothing, as one;
// what they put before it stands in lines of its own.
func (r *run) person() bool {
	return strings.TrimSpace(r.event.Prompt) != "" && !strings.Contains("\n"+r.event.Prompt, "\n"+Held)
}

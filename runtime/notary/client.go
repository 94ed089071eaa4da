package notary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/prove"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// A Client asks a notary. Each question has a connection of its own.
type Client struct {
	socket string
	folder string // that this process was in
	key    string
}

// dialTime bounds how long a notary may take to greet.
const dialTime = 10 * time.Second

// Dial finds out whether a notary listens on a socket and answers this process. ctx bounds how long that may take, and nothing else.
func Dial(ctx context.Context, socket string) (*Client, error) {
	c := &Client{socket: socket}
	c.folder, _ = os.Getwd() // a service says that it cannot be found
	conn, key, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	conn.Close()
	c.key = key
	return c, nil
}

// Key returns the public key of the session, as the notary says it.
func (c *Client) Key() string { return c.key }

// connect makes a connection on which a request can be sent.
func (c *Client) connect(ctx context.Context) (net.Conn, string, error) {
	fail := func(err error) (net.Conn, string, error) {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("it says nothing: %w", err)
		}
		return nil, "", fmt.Errorf("no notary answers on %s: %w", c.socket, err)
	}
	greeted, stop := context.WithTimeout(ctx, dialTime)
	defer stop()
	var d net.Dialer
	conn, err := d.DialContext(greeted, "unix", c.socket)
	if err != nil {
		return fail(cmp.Or(context.Cause(greeted), err))
	}
	cut := context.AfterFunc(greeted, func() { conn.Close() })
	var a answer
	if err = writeFrame(conn, request{Hello: version}); err == nil {
		err = readFrame(conn, &a)
	}
	if !cut() {
		err = context.Cause(greeted)
	}
	switch {
	case err != nil:
		conn.Close()
		return fail(err)
	case a.Refused != nil:
		conn.Close()
		return nil, "", a.Refused
	case a.Hello == nil || a.Hello.Version != version:
		conn.Close()
		return nil, "", errFrame
	}
	return conn, a.Hello.Key, nil
}

// ask sends a request and calls f for each answer, until the last one.
func (c *Client) ask(ctx context.Context, req request, f func(answer) error) error {
	conn, _, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	req.Folder = c.folder
	if err := writeFrame(conn, req); err != nil {
		return c.lost(ctx, err)
	}
	for {
		var a answer
		if err := readFrame(conn, &a); err != nil {
			return c.lost(ctx, err)
		}
		switch {
		case a.Refused != nil:
			return a.Refused
		case a.Done:
			return nil
		}
		if err := f(a); err != nil {
			return err
		}
	}
}

// ErrLost says that a notary is gone in the middle of an answer.
var ErrLost = errors.New("the notary is gone")

func (c *Client) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, errFrame) {
		return err
	}
	return fmt.Errorf("%w: %v", ErrLost, err)
}

// Status asks what the session has come to.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	err = c.ask(ctx, request{Status: &struct{}{}}, func(a answer) error {
		if a.Status != nil {
			s = *a.Status
		}
		return nil
	})
	return s, err
}

// Bundle writes the log of the session, as it is now, with its proofs.
func (c *Client) Bundle(ctx context.Context, w io.Writer) error {
	return c.stream(ctx, request{Bundle: &struct{}{}}, w, receipts.MaxBundle)
}

// Store writes a copy of the store, as it is now.
func (c *Client) Store(ctx context.Context, w io.Writer) error {
	return c.stream(ctx, request{Store: &struct{}{}}, w, maxDocument)
}

// Documents returns the ids of the runs that a document was kept of.
func (c *Client) Documents(ctx context.Context) (ids []string, err error) {
	err = c.ask(ctx, request{Document: &documents{}}, func(a answer) error {
		ids = append(ids, a.Names...)
		return nil
	})
	return ids, err
}

// Document writes what was kept of a run: see report.Document.
func (c *Client) Document(ctx context.Context, run string, w io.Writer) error {
	if run == "" {
		return errors.New("no run is named")
	}
	return c.stream(ctx, request{Document: &documents{Run: run}}, w, maxDocument)
}

// Output writes the recorded output of a digest.
func (c *Client) Output(ctx context.Context, sum receipts.Hash, w io.Writer) error {
	return c.stream(ctx, request{Output: &outputOf{sum}}, w, maxDocument)
}

// maxDocument bounds what a notary may send as a document or an output, in bytes.
const maxDocument = 1 << 30

func (c *Client) stream(ctx context.Context, req request, w io.Writer, most int64) error {
	return c.ask(ctx, req, func(a answer) error {
		if most -= int64(len(a.Chunk)); most < 0 {
			return errFrame
		}
		_, err := w.Write(a.Chunk)
		return err
	})
}

// A Run is a run that a notary carries out.
type Run struct {
	c    *Client
	conn net.Conn
	stop func() bool

	ID      string
	Notes   []string // of the notary, for people
	outcome *engine.Outcome
}

// Start has the notary run a script. p is the script as the client binds it: events name its steps. The error is a
// [*Refused] where the notary does not do it.
func (c *Client) Start(ctx context.Context, spec Spec) (*Run, error) {
	conn, _, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	r := &Run{c: c, conn: conn, stop: context.AfterFunc(ctx, func() { conn.Close() })}
	err = writeFrame(conn, request{Start: &spec})
	var first answer
	for err == nil && r.ID == "" {
		if err = readFrame(conn, &first); err != nil {
			err = c.lost(ctx, err)
			break
		}
		switch {
		case first.Refused != nil:
			err = first.Refused
		case first.Event == nil:
			err = errFrame
		default:
			r.ID = first.Event.Run
		}
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Close ends the connection, and with it the run if that lasts.
func (r *Run) Close() {
	r.stop()
	r.conn.Close()
}

// Events returns the events of the run. Steps are those of p, which the client has bound itself. The last one is
// [engine.RunFinished].
func (r *Run) Events(ctx context.Context, p *plan.Plan) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		x := newReader(p)
		for r.outcome == nil {
			var a answer
			err := readFrame(r.conn, &a)
			switch {
			case err != nil:
				err = r.c.lost(ctx, err)
			case a.Refused != nil:
				err = a.Refused
			case a.Event == nil:
				err = errFrame
			case a.Event.Kind == "note":
				r.Notes = append(r.Notes, a.Event.Text)
				continue
			}
			if err != nil {
				yield(nil, err)
				return
			}
			e := x.event(a.Event)
			if e == nil {
				continue
			}
			if end, ok := e.(engine.RunFinished); ok {
				r.outcome = end.Outcome
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Proof returns what the test of the checks came to, where the spec asked for one. note gets what happens, a line each.
func (r *Run) Proof(note func(text string)) (*prove.Document, error) {
	for {
		var a answer
		switch err := readFrame(r.conn, &a); {
		case err != nil:
			return nil, r.c.lost(context.Background(), err)
		case a.Refused != nil:
			return nil, a.Refused
		case a.Event == nil:
			return nil, errFrame
		case a.Event.Proof != nil:
			return a.Event.Proof, nil
		case a.Event.Kind == "note":
			note(a.Event.Text)
		}
	}
}

// Outcome returns what became of the run; nil before its events have ended.
func (r *Run) Outcome() *engine.Outcome { return r.outcome }

// Cut ends the run as a signal of that name does; kill does not wait for what it runs.
func (r *Run) Cut(ctx context.Context, signal string, kill bool) error {
	return r.c.ask(ctx, request{Cut: &cutOf{Run: r.ID, Signal: signal, Kill: kill}}, func(answer) error { return nil })
}

// Pause stops the commands of the run, or continues them.
func (r *Run) Pause(ctx context.Context, on bool) error {
	return r.c.ask(ctx, request{Pause: &pauseOf{Run: r.ID, On: on}}, func(answer) error { return nil })
}

// A reader makes events of what comes.
type reader struct {
	plan    *plan.Plan
	steps   map[string]*plan.Step
	results map[string]*engine.Result
	list    []*engine.Result
}

func newReader(p *plan.Plan) *reader {
	x := &reader{plan: p, steps: make(map[string]*plan.Step), results: make(map[string]*engine.Result)}
	var make func(steps []*plan.Step) []*engine.Result
	make = func(steps []*plan.Step) (list []*engine.Result) {
		for _, s := range steps {
			r := &engine.Result{Report: attempt.Report{Step: s, Verdict: schedule.Skipped}}
			x.steps[s.ID], x.results[s.ID] = s, r
			r.Members = make(s.Members)
			list = append(list, r)
		}
		return list
	}
	x.list = make(p.Steps)
	return x
}

// event returns nil for what an engine has no event for, and for steps that the client does not know.
func (x *reader) event(e *event) engine.Event {
	s := x.steps[e.Step]
	if s == nil && e.Step != "" || e.Outcome != nil && !known(e.Outcome.Gate) || e.Result != nil && !known(e.Result.Gate) {
		return nil
	}
	switch e.Kind {
	case "begun":
		return engine.RunStarted{Plan: x.plan, Run: e.Run, Session: e.Session, At: e.At}
	case "outcome":
		if e.Outcome == nil || e.Outcome.Gate == nil {
			return nil
		}
		return engine.RunFinished{Outcome: e.Outcome.outcome(x.plan, x.list)}
	}
	if s == nil {
		return nil
	}
	switch e.Kind {
	case "waiting":
		return engine.StepWaiting{Step: s, Lock: e.Lock, Holder: e.Holder, At: e.At}
	case "started":
		return attempt.Started{Step: s, Attempt: e.Attempt, At: e.At}
	case "output":
		return attempt.Output{Step: s, Stream: e.Stream, Data: e.Data}
	case "durable":
		return attempt.Durable{Step: s, Attempt: e.Attempt, Receipt: e.Receipt}
	case "finished", "result":
		if e.Result == nil {
			return nil
		}
		r := x.results[e.Step]
		if e.Kind == "finished" {
			e.Result.into(r)
			return engine.StepFinished{Result: r}
		}
		if p := r.Process; p != nil && e.Result.Process != nil && len(e.Result.Process.Tail) == 0 {
			e.Result.Process.Tail = p.Tail
		}
		e.Result.into(r)
	}
	return nil
}

// known reports whether a decision says where its members ran in a way that this program knows; nil does.
func known(d *attempt.Decision) bool {
	return d == nil || d.Ground >= receipts.InPlace && d.Ground <= receipts.InClean
}

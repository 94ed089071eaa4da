package report

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/redact"
)

// EventsSchema names the stream that [Events] writes: JSON Lines, one [DocEvent] each.
// Keys and kinds of events are only ever added; a change of meaning gets a new number.
const EventsSchema = "dialect.events/1"

// A DocEvent is one event of a run. Seq counts from 1 without a gap; the last event of a
// run that came to its end is run_finished.
type DocEvent struct {
	Schema string `json:"schema,omitempty"` // of the first event
	Seq    int    `json:"seq"`
	Event  string `json:"event"` // run_started, step_waiting, step_started, output, step_finished, receipt_durable, run_finished
	Time   string `json:"time"`

	Run     string     `json:"run,omitempty"`     // of run_started
	Session string     `json:"session,omitempty"` // of run_started
	Script  *DocScript `json:"script,omitempty"`  // of run_started
	Lines   int        `json:"lines,omitempty"`   // of run_started

	Step    string   `json:"step,omitempty"`
	Line    int      `json:"line,omitempty"`    // of step_started
	Command string   `json:"command,omitempty"` // of step_started: the title of the step
	Argv    []string `json:"argv,omitempty"`    // of step_started
	Attempt int      `json:"attempt,omitempty"` // of step_started and receipt_durable
	Lock    string   `json:"lock,omitempty"`    // of step_waiting
	Holder  string   `json:"holder,omitempty"`  // of step_waiting: "FILE:LINE of RUN", as far as that is known
	Stream  string   `json:"stream,omitempty"`  // of output: stdout or stderr
	Text    *string  `json:"text,omitempty"`    // of output: one line, or a piece of a long one

	// Of step_finished: without members, and without the receipts of a command. They need not
	// be durable then, and a reader that looks for one would not find it.
	Result *DocResult `json:"result,omitempty"`

	// Of receipt_durable: the store holds it. The event comes within some milliseconds of the
	// end of the attempt, before or after its step_finished; never for one that was lost.
	Receipt string `json:"receipt,omitempty"`

	Verdict    string   `json:"verdict,omitempty"` // of run_finished
	ExitStatus *int     `json:"exit_status,omitempty"`
	Elapsed    float64  `json:"elapsed_seconds,omitempty"`
	Gate       *DocGate `json:"gate,omitempty"`
}

// Events writes the events of a run as they happen. Its Listen is a listener of a run.
type Events struct {
	out    *bufio.Writer
	redact *redact.Redactor
	now    func() time.Time
	plan   *engine.RunStarted
	lines  Lines
	seq    int
	err    error
}

// NewEvents returns what writes to w. Secrets are taken out; now is the clock, nil for
// time.Now.
func NewEvents(w io.Writer, r *redact.Redactor, now func() time.Time) *Events {
	if now == nil {
		now = time.Now
	}
	return &Events{out: bufio.NewWriter(w), redact: r, now: now, lines: Lines{Secret: r}}
}

// Err returns why not all could be written.
func (e *Events) Err() error { return e.err }

func (e *Events) write(d DocEvent, flush bool) {
	if e.err != nil {
		return
	}
	if e.seq++; e.seq == 1 {
		d.Schema = EventsSchema
	}
	d.Seq, d.Time = e.seq, stamp(e.now())
	line, err := json.Marshal(d)
	if err == nil {
		_, err = e.out.Write(append(e.redact.Document(line, Syntax(true)), '\n'))
	}
	if err == nil && flush {
		err = e.out.Flush()
	}
	e.err = err
}

func (e *Events) output(step string, stream process.Stream, line []byte) {
	text := string(line)
	e.write(DocEvent{Event: "output", Step: step, Stream: stream.String(), Text: &text}, false)
}

// Listen writes one event.
func (e *Events) Listen(ev engine.Event) {
	switch ev := ev.(type) {
	case engine.RunStarted:
		e.plan = &ev
		s := script(ev.Plan)
		e.write(DocEvent{Event: "run_started", Run: ev.Run, Session: ev.Session, Script: &s, Lines: len(ev.Plan.Steps)}, true)
	case engine.StepWaiting:
		e.write(DocEvent{Event: "step_waiting", Step: ev.Step.ID, Lock: ev.Lock, Holder: clean(ev.Holder)}, true)
	case attempt.Started:
		s := ev.Step
		e.write(DocEvent{Event: "step_started", Step: s.ID, Line: s.Line.Number, Command: title(s.ID, s.Verb, s.Noun, s.Line.Text), Argv: s.Argv, Attempt: ev.Attempt}, true)
	case attempt.Output:
		e.lines.Add(ev, func(line []byte) { e.output(ev.Step.ID, ev.Stream, line) })
	case engine.StepFinished:
		s := ev.Result.Step
		e.lines.Flush(s, func(stream process.Stream, line []byte) { e.output(s.ID, stream, line) })
		d := newResult(e.plan.Plan, ev.Result)
		d.Members = nil
		if ev.Result.Gate == nil {
			d.Receipt, d.Earlier = "", nil
			if d.Fault != nil {
				d.Fault.Receipt = ""
			}
		}
		e.write(DocEvent{Event: "step_finished", Step: s.ID, Result: d}, true)
	case attempt.Durable:
		e.write(DocEvent{Event: "receipt_durable", Step: ev.Step.ID, Attempt: ev.Attempt, Receipt: ev.Receipt.String()}, true)
	case engine.RunFinished:
		o := ev.Outcome
		status := o.ExitStatus()
		e.write(DocEvent{Event: "run_finished", Verdict: o.Verdict(), ExitStatus: &status, Elapsed: elapsed(o.Duration), Gate: gate(o.Gate)}, true)
	}
}

package attempt

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/doctrine"
	"github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// The MCP servers of a run are started on first use, and end with the run.
type servers struct {
	once sync.Once
	pool *mcpclient.Pool
}

func (x *Executor) pool() *mcpclient.Pool {
	x.servers.once.Do(func() {
		p := x.plan
		var helper []string
		if x.opt.MCP != nil {
			helper = x.opt.MCP()
		}
		x.servers.pool = mcpclient.New(mcpclient.Options{
			Servers: p.Servers, Dir: p.Matrix.Root, Environ: x.env, Version: x.opt.Version, Helper: helper,
		})
	})
	return x.servers.pool
}

// killedGrace is how long the servers of a run that was killed may take to end before the
// run is over. They end by themselves when this process does.
const killedGrace = 500 * time.Millisecond

// closeServers ends the servers, if any was started.
func (x *Executor) closeServers() {
	pool := x.servers.pool
	if pool == nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
		return
	case <-x.killed.Done():
	}
	select {
	case <-closed:
	case <-time.After(killedGrace):
	}
}

// endServers ends the servers of a run whose steps have ended, and notes at the last step
// that called one what they left running.
func (x *Executor) endServers() {
	if x.servers.pool == nil || x.launcher == nil {
		return
	}
	x.closeServers()
	var last *process.Result
	plan.Walk(x.plan.Steps, func(s *plan.Step) {
		if r := x.reports[s.ID]; s.Kind == plan.MCP && r != nil && r.Process != nil {
			last = r.Process
		}
	})
	if left, note := x.launcher.NameLeft(); last != nil && len(left) > 0 {
		last.Left, last.Notes = append(last.Left, left...), append(last.Notes, note)
	}
}

// call calls a tool. Once the run is killed it waits for no helper.
func (x *Executor) call(ctx context.Context, c mcpclient.Call) (*mcpclient.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	killed := x.killed
	defer context.AfterFunc(killed, cancel)()
	if progress := c.Progress; progress != nil {
		c.Progress = func(text string, cut bool) {
			if killed.Err() == nil {
				progress(text, cut)
			}
		}
	}
	type reply struct {
		answer *mcpclient.Result
		err    error
	}
	done := make(chan reply, 1)
	pool := x.pool()
	go func() {
		answer, err := pool.Call(ctx, c)
		done <- reply{answer, err}
	}()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-killed.Done():
		return nil, mcpclient.Errorf(mcpclient.Interrupted, "killed")
	}
}

// mcp calls the tool of a step.
func (x *Executor) mcp(ctx context.Context, res *Report) {
	s := res.Step
	c := mcpclient.Call{
		Target: s.Target, Arguments: s.Arguments,
		Timeout: s.Budget.Timeout, Stall: s.Budget.Stall, MaxOutput: s.Budget.MaxOutput,
		Progress: func(text string, cut bool) {
			if x.opt.Output {
				x.emit(Output{Step: s, Stream: process.Stderr, Data: x.progress(text, cut)})
			}
			x.wrote(len(text) + 1)
		},
	}
	for _, v := range s.Values {
		c.Values = append(c.Values, mcpclient.Value{Name: v.Name, Text: v.Text})
	}
	if !x.inputs(ctx, res) {
		return
	}
	x.carryOut(ctx, res, func() func(*receipts.Receipt) {
		started := x.opt.Now()
		x.running(1)
		answer, err := x.call(ctx, c)
		x.running(-1)
		res.Process = &process.Result{ExitCode: -1, Started: started, Duration: x.opt.Now().Sub(started)}
		x.answered(res, answer, err)
		x.sameInputs(ctx, res, live{})
		return func(rec *receipts.Receipt) { x.mcpReceipt(rec, res, answer) }
	})
}

// maxProgress bounds a line of progress, in bytes.
const maxProgress = 4 << 10

// progress returns one line of what a server told, whose end was lost if cut. The secrets are taken out of it as the server wrote it: one with
// blanks or line ends is not found any more once they are gone, nor is the beginning of one that is followed by a line end.
func (x *Executor) progress(text string, cut bool) []byte {
	line := strings.Join(strings.Fields(string(x.opt.Redact.Part([]byte(text), false, cut))), " ")
	return append([]byte(diag.ClipBytes(line, maxProgress)), '\n')
}

// answered sets the verdict of res from what the server said, or did not.
func (x *Executor) answered(res *Report, answer *mcpclient.Result, err error) {
	p := res.Process
	if err != nil {
		e := &mcpclient.Error{Reason: mcpclient.Protocol, Message: err.Error()}
		errors.As(err, &e)
		res.end(schedule.Fault, unanswered(e.Reason), e.Public(x.opt.Redact.Part))
		if e.Reason == mcpclient.Refused {
			res.end(schedule.Failed, receipts.StopToolError, "the tool says no: "+res.Detail)
		}
		p.Tail = x.opt.Redact.Part([]byte(e.Stderr), !e.Begun, !e.Whole)
		p.Stderr.Head = p.Tail
		return
	}
	text := x.opt.Redact.Bytes([]byte(answer.Text))
	p.Stdout = process.Output{SHA256: sha256.Sum256(answer.Response), Bytes: int64(len(answer.Response)), Head: text[:min(len(text), process.HeadBytes)]}
	p.Tail = text[max(0, len(text)-process.DefaultTailBytes):]
	if x.opt.Output && len(text) > 0 {
		x.emit(Output{Step: res.Step, Stream: process.Stdout, Data: append(text, '\n')})
	}
	x.wrote(len(answer.Response))
	if res.Verdict = schedule.Passed; answer.IsError {
		first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		res.end(schedule.Failed, receipts.StopToolError, "the tool says no")
		if first != "" {
			res.Detail += ": " + first
		}
		return
	}
	if res.Step.Expect.EmptyStdout && len(text) > 0 {
		res.end(schedule.Failed, receipts.StopExpectation, "the answer is not empty")
		return
	}
	if want := res.Step.Expect.Stdout; want != "" {
		var out capture
		out.Write([]byte(answer.Text))
		if why := out.mismatch("the answer", want); why != "" {
			res.end(schedule.Failed, receipts.StopExpectation, why)
			return
		}
	}
	x.claimed(res, answer)
}

// unanswered returns the reason of a call that got no answer. Most have the word that a receipt has.
func unanswered(r mcpclient.Reason) schedule.Reason {
	switch s := schedule.Reason(r); {
	case r == mcpclient.UnknownTool:
		return receipts.StopNotConfigured
	case r == mcpclient.Died:
		return receipts.StopKilled
	case s.EndedEarly():
		return s
	}
	return receipts.StopMCPError
}

// claimed takes the structured content of an answer for what the tool says of itself.
func (x *Executor) claimed(res *Report, answer *mcpclient.Result) {
	object := len(answer.Structured) > 0 && answer.Structured[0] == '{'
	if !object || len(answer.Structured) > doctrine.MaxResult {
		if want := res.Step.Expect.Fields; len(want) > 0 {
			res.end(schedule.Failed, receipts.StopExpectation, "its answer has no structured content, and so lacks "+strings.Join(want, ", "))
		} else if object {
			judgeRead(res, &doctrine.Result{Status: doctrine.No(answer.Structured)})
			res.Claim = nil // it is too large to be kept
		}
		return
	}
	claim, err := doctrine.ParseResult(answer.Structured)
	if err != nil {
		// Any object is a result, and what only looks like a claim is taken as one; but a refusal is one.
		claim = &doctrine.Result{Result: string(answer.Structured), Status: doctrine.No(answer.Structured)}
	}
	judgeRead(res, claim)
}

// mcpReceipt adds what a call has of its own to a receipt. Its streams are the canonical
// request and response.
func (x *Executor) mcpReceipt(rec *receipts.Receipt, res *Report, answer *mcpclient.Result) {
	if answer == nil {
		return
	}
	rec.Stdout = stream(res.Process.Stdout)
	rec.Request = &receipts.Stream{SHA256: sha256.Sum256(answer.Request), Bytes: int64(len(answer.Request))}
	if answer.Program != "" {
		rec.Executable = &receipts.File{Path: receipts.Text(answer.Program)}
	}
	x.recordClaim(rec, res.Claim)
}

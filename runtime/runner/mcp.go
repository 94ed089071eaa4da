package runner

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/doctrine"
	"github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/process"
)

// The MCP servers of a run are started on first use, and end with the run.
type servers struct {
	once sync.Once
	pool *mcpclient.Pool
}

func (x *executor) servers() *mcpclient.Pool {
	x.mcpServers.once.Do(func() {
		p := x.run.plan
		var helper []string
		if x.run.opt.MCP != nil {
			helper = x.run.opt.MCP()
		}
		x.mcpServers.pool = mcpclient.New(mcpclient.Options{
			Servers: p.Servers, Dir: p.Matrix.Root, Environ: x.env, Version: x.run.opt.Version, Helper: helper,
		})
	})
	return x.mcpServers.pool
}

// killedGrace is how long the servers of a run that was killed may take to end before the
// run is over. They end by themselves when this process does.
const killedGrace = 500 * time.Millisecond

// closeServers ends the servers, if any was started.
func (x *executor) closeServers() {
	pool := x.mcpServers.pool
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
	case <-x.run.killed.Done():
	}
	select {
	case <-closed:
	case <-time.After(killedGrace):
	}
}

// endServers ends the servers of a run whose steps have ended, and notes at the last step
// that called one what they left running.
func (x *executor) endServers(results []*Result) {
	if x.mcpServers.pool == nil || x.launcher == nil {
		return
	}
	x.closeServers()
	var last *Result
	Leaves(results, func(res *Result) {
		if res.Step.Kind == plan.MCP && res.Process != nil {
			last = res
		}
	})
	if left, note := x.launcher.NameLeft(); last != nil && len(left) > 0 {
		last.Process.Left, last.Process.Notes = append(last.Process.Left, left...), append(last.Process.Notes, note)
	}
}

// call calls a tool. Once the run is killed it waits for no helper.
func (x *executor) call(ctx context.Context, c mcpclient.Call) (*mcpclient.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	killed := x.run.killed
	defer context.AfterFunc(killed, cancel)()
	if progress := c.Progress; progress != nil {
		c.Progress = func(line string) {
			if killed.Err() == nil {
				progress(line)
			}
		}
	}
	type reply struct {
		answer *mcpclient.Result
		err    error
	}
	done := make(chan reply, 1)
	pool := x.servers()
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
func (x *executor) mcp(ctx context.Context, res *Result) {
	s := res.Step
	res.Started = x.run.opt.Now()
	defer func() { res.Duration = x.run.opt.Now().Sub(res.Started) }()
	c := mcpclient.Call{
		Target: s.Target, Arguments: s.Arguments,
		Timeout: s.Budget.Timeout, Stall: s.Budget.Stall, MaxOutput: s.Budget.MaxOutput,
		Progress: func(line string) {
			if x.run.opt.Output {
				x.run.emit(StepOutput{Step: s, Stream: process.Stderr, Data: []byte(line + "\n")})
			}
			x.run.meter.wrote(len(line) + 1)
		},
	}
	for _, v := range s.Values {
		c.Values = append(c.Values, mcpclient.Value{Name: v.Name, Text: v.Text})
	}
	if !x.inputs(ctx, res) {
		return
	}
	x.attempts(ctx, res, func(int) func() *receipts.Receipt {
		started := x.run.opt.Now()
		x.run.meter.runs(1)
		answer, err := x.call(ctx, c)
		x.run.meter.runs(-1)
		res.Process = &process.Result{ExitCode: -1, Started: started, Duration: x.run.opt.Now().Sub(started)}
		x.answered(res, answer, err)
		return func() *receipts.Receipt { return x.run.mcpReceipt(res, answer) }
	})
}

// answered sets the verdict of res from what the server said, or did not.
func (x *executor) answered(res *Result, answer *mcpclient.Result, err error) {
	p := res.Process
	if err != nil {
		e := &mcpclient.Error{Reason: mcpclient.Protocol, Message: err.Error()}
		errors.As(err, &e)
		res.Verdict, res.Reason, res.Detail = Fault, unanswered(e.Reason), x.run.opt.Redact.Text(e.Message)
		if e.Reason == mcpclient.Refused {
			res.Verdict, res.Reason, res.Detail = Failed, ToolError, "the tool says no: "+res.Detail
		}
		p.Tail = x.run.opt.Redact.Bytes([]byte(e.Stderr))
		p.Stderr.Head = p.Tail
		return
	}
	text := x.run.opt.Redact.Bytes([]byte(answer.Text))
	p.Stdout = process.Output{SHA256: sha256.Sum256(answer.Response), Bytes: int64(len(answer.Response)), Head: text[:min(len(text), process.HeadBytes)]}
	p.Tail = text[max(0, len(text)-process.DefaultTailBytes):]
	if x.run.opt.Output && len(text) > 0 {
		x.run.emit(StepOutput{Step: res.Step, Stream: process.Stdout, Data: append(text, '\n')})
	}
	x.run.meter.wrote(len(answer.Response))
	if res.Verdict = Passed; answer.IsError {
		first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		res.Verdict, res.Reason, res.Detail = Failed, ToolError, "the tool says no"
		if first != "" {
			res.Detail += ": " + first
		}
		return
	}
	if want := res.Step.Expect.Stdout; want != "" {
		var out capture
		out.Write([]byte(answer.Text))
		if !out.matches(want) {
			res.Verdict, res.Reason, res.Detail = Failed, Expectation, "the answer does not match "+want
			return
		}
	}
	x.claimed(res, answer)
}

// unanswered returns the reason of a call that got no answer.
func unanswered(r mcpclient.Reason) Reason {
	switch r {
	case mcpclient.NotConfigured, mcpclient.UnknownTool:
		return NotConfigured
	case mcpclient.EnvMissing:
		return EnvMissing
	case mcpclient.StartFailed:
		return StartFailed
	case mcpclient.Timeout:
		return Timeout
	case mcpclient.Stall:
		return Stall
	case mcpclient.OutputLimit:
		return OutputLimit
	case mcpclient.Died:
		return Killed
	case mcpclient.Interrupted:
		return Interrupted
	}
	return MCPError
}

// claimed takes the structured content of an answer for what the tool says of itself.
func (x *executor) claimed(res *Result, answer *mcpclient.Result) {
	if len(answer.Structured) == 0 || answer.Structured[0] != '{' || len(answer.Structured) > doctrine.MaxResult {
		if want := res.Step.Expect.Fields; len(want) > 0 {
			res.Verdict, res.Reason = Failed, Expectation
			res.Detail = "its answer has no structured content, and so lacks " + strings.Join(want, ", ")
		}
		return
	}
	claim, err := doctrine.ParseResult(answer.Structured)
	if err != nil {
		// Any object is a result; one that only looks like a claim is taken as that.
		claim = &doctrine.Result{Result: string(answer.Structured)}
	}
	judge(res, claim)
}

// mcpReceipt is the receipt of the last attempt of a step. Its streams are the canonical
// request and response.
func (r *run) mcpReceipt(res *Result, answer *mcpclient.Result) *receipts.Receipt {
	rec := r.receipt(res)
	if answer == nil {
		return rec
	}
	rec.Stdout = stream(res.Process.Stdout)
	rec.Request = &receipts.Stream{SHA256: sha256.Sum256(answer.Request), Bytes: int64(len(answer.Request))}
	if answer.Program != "" {
		rec.Executable = &receipts.File{Path: receipts.Text(answer.Program)}
	}
	r.recordClaim(rec, res.Claim)
	return rec
}

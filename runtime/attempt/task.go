package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/command-dialect/dialect/lang/handoff"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// MaxDepth bounds how deep runs start runs: a script that starts itself ends.
const MaxDepth = 8

// task carries out new_task: by the agent that the matrix names, which is judged by the gate that
// it hands back; where the matrix names none, by a script of the task's name, run on its own, whose
// gate that of this run takes in; else the task is not configured. A script never takes the place
// of an agent: the plan and the receipt name the agent's command, and `require` is about its gate.
func (x *Executor) task(ctx context.Context, res *Report) {
	s, o := res.Step, x.opt
	if len(s.Argv) > 0 {
		x.process(ctx, res, job{argv: s.Argv, stdin: append(handoff.Make(s, receipts.StepName(o.Run, s.ID)), '\n'), judge: func() { x.handedBack(ctx, res) }})
		return
	}
	name := object(s)
	path := x.script(name)
	switch {
	case path == "" || len(o.Self) == 0:
		x.notConfigured(res)
	case depth(o.Environ) >= MaxDepth:
		res.Attempts = res.action.Attempt
		res.end(schedule.Fault, receipts.StopNotConfigured, fmt.Sprintf("runs start runs %d deep: %s may be starting itself", MaxDepth, name))
		x.record(res, nil)
	default:
		// Under the matrix of this run, whatever lies nearer to the script.
		x.process(ctx, res, job{argv: append(slices.Clone(o.Self), "run", "--routing="+within(s.Dir, x.plan.Matrix.Path), "--", within(s.Dir, path))})
	}
}

// script returns the script of a task: beside the script of this run, or beside the matrix;
// empty if there is none. A name is a name, and leads nowhere.
func (x *Executor) script(name string) string {
	if name == "" || strings.ContainsAny(name, "/\\\x00") || strings.HasPrefix(name, "-") || strings.HasPrefix(name, ".") {
		return ""
	}
	p := x.plan
	dirs := []string{p.Matrix.Root}
	if p.Script.Path != "" {
		dirs = append([]string{filepath.Dir(p.Script.Path)}, dirs...)
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name+".dlct")
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// around is the value of [policy.Variable] for a task. An agent's runs are apart: only the gate that it hands back counts. A
// script belongs to the rules of the outer run, as the script of this run does.
func (x *Executor) around(s *plan.Step) string {
	if len(s.Argv) > 0 {
		return ""
	}
	return getenv(x.opt.Environ, policy.Variable)
}

// apart reports whether a step is apart ([receipts.Receipt.Apart]): the runs that its command starts do not count for this one. That holds
// for an agent, except the gate that it hands back, and for a line whose binding takes the rules away from its runs.
func apart(s *plan.Step) bool {
	rules, own := s.Env[policy.Variable]
	return s.Kind == plan.Task && len(s.Argv) > 0 || own && rules == ""
}

// within is path as a command that runs in dir would name it.
func within(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// TooDeep returns why a run in that environment may not begin; empty where it may. [DepthVariable] has only what runs around it said: who
// sets it otherwise is one more run, or none.
func TooDeep(environ []string) string {
	if n := depth(environ); n >= MaxDepth {
		return fmt.Sprintf("runs start runs %d deep: a line may be starting its own script", n)
	}
	return ""
}

func depth(environ []string) int {
	n, _ := strconv.Atoi(getenv(environ, DepthVariable)) // 0 for what is not a number
	return n
}

var gateID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bg-[0-9a-f]{12,64}\b`) })

// handedBack judges an agent that says it is done: by the gate whose id it hands back, the last
// that it printed or the one of its result. It is consumed, so that it serves once.
func (x *Executor) handedBack(ctx context.Context, res *Report) {
	s, o := res.Step, x.opt
	if res.Verdict != schedule.Passed || len(s.Require) == 0 {
		return
	}
	refuse := func(format string, args ...any) {
		res.end(schedule.Failed, receipts.StopExpectation, fmt.Sprintf(format, args...))
	}
	id := ""
	if ids := gateID().FindAll(res.Process.Tail, -1); len(ids) > 0 {
		id = string(ids[len(ids)-1])
	}
	if c := res.Claim; c != nil {
		if found := gateID().FindString(c.Result); found != "" {
			id = found
		}
	}
	switch {
	case id == "":
		refuse("it handed back no gate (g-...), and its words do not prove %s", strings.Join(s.Require, ", "))
		return
	case o.StorePath == "" || o.Store == nil || len(o.Self) == 0:
		refuse("there is no store that could know the gate %s", id)
		return
	}
	_ = x.ledger.sync() // the gate reports what is wrong with the store
	// It has to be of what the agent ran for this task: a gate of another nonce or session, or of before this run, was made for
	// somebody else, and may have been spent in a copy of this store.
	argv := append(slices.Clone(o.Self), "consume", "--json", "--store="+o.StorePath, "--as=task "+receipts.StepName(o.Run, s.ID), "--routing="+x.plan.Matrix.Path, "--after="+o.Run)
	if o.Nonce != "" {
		argv = append(argv, "--nonce="+o.Nonce)
	}
	if o.Session != o.Run {
		argv = append(argv, "--session="+o.Session)
	}
	for _, name := range s.Require {
		argv = append(argv, "--require="+name)
	}
	if o.Level > receipts.LevelHash {
		// The receipt of the step vouches for the gate: it must not have a higher level.
		argv = append(argv, "--key="+o.Key, fmt.Sprintf("--level=L%d", o.Level))
	}
	var out bytes.Buffer
	pr := x.launcher.Run(ctx, &process.Command{
		Argv: append(argv, "--", id), Dir: x.plan.Matrix.Root, Env: x.env,
		Output: func(stream process.Stream, p []byte) {
			if stream == process.Stdout && out.Len()+len(p) <= maxDecision {
				out.Write(p)
			}
		},
	})
	var decision struct {
		Records []struct {
			SHA256 receipts.Hash `json:"sha256"`
		} `json:"records"`
		Refusals []struct {
			Reason  receipts.Reason `json:"reason"`
			Message string          `json:"message"`
		} `json:"refusals"`
	}
	err := json.Unmarshal(out.Bytes(), &decision)
	if pr.ExitCode == 0 && pr.Stop == "" && err == nil && len(decision.Records) == 1 {
		res.Detail, res.handedBack = "gate "+id, decision.Records[0].SHA256
		return
	}
	why, _, _ := strings.Cut(strings.TrimSpace(string(pr.Tail)), "\n")
	if err == nil && len(decision.Refusals) > 0 {
		why = decision.Refusals[0].Message
		for _, r := range decision.Refusals {
			if r.Reason == receipts.LevelTooLow {
				refuse("the gate %s that it handed back is not signed with the key of this run, as the records of this run are: an agent has no key; have dialect run the checks (put them on lines of this script), or run without a key", id)
				return
			}
		}
	}
	refuse("the gate %s that it handed back is refused: %s", id, why)
}

// maxDecision bounds how much is read of what consume decides, in bytes.
const maxDecision = 1 << 20

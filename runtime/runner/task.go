package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/process"
)

// DepthVariable names the variable by which a run knows how many runs it is inside of.
const DepthVariable = "DIALECT_DEPTH"

// maxDepth bounds how deep tasks start tasks: a script that spawns itself ends.
const maxDepth = 8

// task carries out new_task: by the agent that the matrix names, which is judged by the gate that
// it hands back; where the matrix names none, by a script of the task's name, run on its own, whose
// gate that of this run takes in; else the task is not configured. A script never takes the place
// of an agent: the plan and the receipt name the agent's command, and `require` is about its gate.
func (x *executor) task(ctx context.Context, res *Result) {
	s, o := res.Step, x.run.opt
	if len(s.Argv) > 0 {
		res.stdin = append(s.Handoff(o.Run+"/"+s.ID), '\n')
		res.after = func() { x.handedBack(ctx, res) }
		x.process(ctx, res)
		return
	}
	name := ""
	for _, v := range s.Values {
		if v.Name == "object" {
			name = v.Text
		}
	}
	path := x.script(name)
	if path == "" || len(o.Self) == 0 {
		x.notConfigured(res)
		return
	}
	if depth(o.Environ) >= maxDepth {
		res.Started, res.Attempts = o.Now(), 1
		res.Verdict, res.Reason, res.Detail = Fault, NotConfigured, fmt.Sprintf("tasks start tasks %d deep: %s may be starting itself", maxDepth, name)
		x.run.record(res, func() *receipts.Receipt { return x.run.receipt(res) })
		return
	}
	// Under the matrix of this run, whatever lies nearer to the script.
	res.argv = append(append([]string(nil), o.Self...), "run", "--routing="+within(s.Dir, x.run.plan.Matrix.Path), "--", within(s.Dir, path))
	x.process(ctx, res)
}

// script returns the script of a task: beside the script of this run, or beside the matrix;
// empty if there is none. A name is a name, and leads nowhere.
func (x *executor) script(name string) string {
	if name == "" || strings.ContainsAny(name, "/\\\x00") || strings.HasPrefix(name, "-") || strings.HasPrefix(name, ".") {
		return ""
	}
	p := x.run.plan
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

// within is path as a command that runs in dir would name it.
func within(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func depth(environ []string) int {
	n := 0
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, DepthVariable+"="); ok {
			n, _ = strconv.Atoi(v)
		}
	}
	return n
}

var gateID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bg-[0-9a-f]{12,64}\b`) })

// handedBack judges an agent that says it is done: by the gate whose id it hands back, the last
// that it printed or the one of its result. It is consumed, so that it serves once.
func (x *executor) handedBack(ctx context.Context, res *Result) {
	s, o := res.Step, x.run.opt
	if res.Verdict != Passed || len(s.Require) == 0 {
		return
	}
	refuse := func(format string, args ...any) {
		res.Verdict, res.Reason, res.Detail = Failed, Expectation, fmt.Sprintf(format, args...)
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
		refuse("it handed back no gate (g-...), and its words are no proof of %s", strings.Join(s.Require, ", "))
		return
	case o.StorePath == "" || o.Store == nil || len(o.Self) == 0:
		refuse("there is no store that could know the gate %s", id)
		return
	}
	_ = x.run.ledger.sync() // what is wrong with the store is told at the gate
	argv := append(append([]string(nil), o.Self...), "consume", "--json", "--store="+o.StorePath, "--as=task "+o.Run+"/"+s.ID, "--routing="+x.run.plan.Matrix.Path)
	for _, name := range s.Require {
		argv = append(argv, "--require="+name)
	}
	if o.Level > receipts.LevelHash {
		// The receipt of the step vouches for the gate: it must not have a higher level.
		argv = append(argv, "--key="+o.Key, fmt.Sprintf("--level=L%d", o.Level))
	}
	var out bytes.Buffer
	pr := x.launcher.Run(ctx, &process.Command{
		Argv: append(argv, "--", id), Dir: x.run.plan.Matrix.Root, Env: x.env,
		Output: func(stream process.Stream, p []byte) {
			if stream == process.Stdout && out.Len()+len(p) <= maxDecision {
				out.Write(p)
			}
		},
	})
	if pr.ExitCode == 0 && pr.Stop == "" {
		res.Detail = "gate " + id
		return
	}
	var decision struct {
		Refusals []struct {
			Reason  receipts.Reason `json:"reason"`
			Message string          `json:"message"`
		} `json:"refusals"`
	}
	why, _, _ := strings.Cut(strings.TrimSpace(string(pr.Tail)), "\n")
	if json.Unmarshal(out.Bytes(), &decision) == nil && len(decision.Refusals) > 0 {
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

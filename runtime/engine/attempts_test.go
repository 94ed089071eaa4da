package engine_test

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// mcpServer is a shell script that is an MCP server: each call of its one tool runs call,
// which sets r to the result, or to "error" and the error.
func mcpServer(call string) string {
	return `
while read -r line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
	test -n "$id" || continue
	r='{}'
	case $line in
	*'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}';;
	*'"tools/list"'*) r='{"tools":[{"name":"tool","inputSchema":{"type":"object"}}]}';;
	*'"tools/call"'*) ` + call + `;;
	esac
	case $r in
	error*) printf '{"jsonrpc":"2.0","id":%s,"error":%s}\n' "$id" "${r#error}";;
	*) printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r";;
	esac
done`
}

// runMCP runs a line that calls the tool of a server.
func (r *repo) runMCP(t *testing.T, o engine.Options, server string, s *plan.Step, more ...*plan.Step) *engine.Outcome {
	t.Helper()
	dir := t.TempDir()
	helper, script := filepath.Join(dir, "dialect-mcp"), filepath.Join(dir, "server.sh")
	if err := os.WriteFile(script, []byte(server), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", helper, "../../cmd/dialect/dialect-mcp").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.Kind, s.Argv, s.Target = plan.MCP, nil, "s:tool"
	p := r.plan(append([]*plan.Step{s}, more...)...)
	p.Servers = map[string]plan.Server{"s": {Argv: []string{"/bin/sh", script}}}
	o.Store, o.Workspace = r.store, r.tracker()
	o.MCP = func() []string { return []string{helper, "client"} }
	return run(t, p, o)
}

// A line that writes and is tried again ran on the files that its first attempt left.
func TestAttemptsFollow(t *testing.T) {
	again := func(s *plan.Step) *plan.Step {
		s.Budget.Retries = 1
		return s
	}
	for _, tt := range []struct {
		name string
		run  func(r *repo) *engine.Outcome
	}{
		{"process", func(r *repo) *engine.Outcome {
			return r.run(t, engine.Options{}, again(r.sh("write", "echo x >>a.txt; test $(wc -l <a.txt) = 3")))
		}},
		{"mcp", func(r *repo) *engine.Outcome {
			return r.runMCP(t, engine.Options{}, mcpServer(`
				echo x >>a.txt
				r='{"content":[{"type":"text","text":"done"}]}'
				test $(wc -l <a.txt) = 3 || r='{"isError":true,"content":[{"type":"text","text":"not yet"}]}'`),
				again(r.sh("write", "")))
		}},
		{"mcp error", func(r *repo) *engine.Outcome {
			return r.runMCP(t, engine.Options{}, mcpServer(`
				echo x >>a.txt
				r='{"content":[{"type":"text","text":"done"}]}'
				test $(wc -l <a.txt) = 3 || r='error{"code":-32000,"message":"not yet"}'`),
				again(r.sh("write", "")))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepo(t)
			o := tt.run(r)
			res := o.Results[0]
			if res.Verdict != schedule.Flaky || len(res.Earlier) != 1 || res.Detail != "passed at attempt 2 of 2" {
				t.Fatalf("%s: %s", verdicts(o.Results), res.Detail)
			}
			first, second := r.receiptOf(t, res.Earlier[0]), r.receipt(t, res)
			switch a, b := first.Workspace, second.Workspace; {
			case a == nil || b == nil || a.After == nil || b.After == nil:
				t.Fatal("a receipt does not say what it ran on and left")
			case a.Before == *a.After || *a.After != b.Before || b.Before == *b.After:
				t.Errorf("from %v to %v, then from %v to %v", a.Before, a.After, b.Before, b.After)
			}
			if want := strings.HasPrefix(tt.name, "mcp"); first.StopReason == receipts.StopToolError != want || !first.Failed() {
				t.Errorf("the first attempt ended as %q", first.StopReason)
			}
			if first.Attempt != 1 || second.Attempt != 2 || !first.Timestamp.Before(second.Timestamp.Time) {
				t.Errorf("attempt %d at %s, attempt %d at %s", first.Attempt, first.Timestamp, second.Attempt, second.Timestamp)
			}
		})
	}
}

// What one attempt says of itself is not what the next one said.
func TestAttemptsClaim(t *testing.T) {
	for name, second := range map[string]string{"nothing": "true", "garbage": `echo '{' >"$DIALECT_RESULT"`, "a FIFO": `mkfifo "$DIALECT_RESULT"`} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			s := r.sh("a", `if test -e ../tried; then `+second+`; exit 1; fi; touch ../tried
				echo '{"route":"notion","operation":"create","status":"success","external_id":"p-1"}' >"$DIALECT_RESULT"; exit 1`)
			s.Dir, s.Budget.Retries = filepath.Join(r.dir, ".git"), 1
			o := r.run(t, engine.Options{}, s)
			if got := verdicts(o.Results); got != "failed" || len(o.Results[0].Earlier) != 1 {
				t.Fatal(got)
			}
			if first := r.receiptOf(t, o.Results[0].Earlier[0]); first.Handle == nil || first.Handle.ExternalID.Text != "p-1" {
				t.Errorf("the first attempt: %+v", first.Handle)
			}
			if second := r.receipt(t, o.Results[0]); second.Handle != nil || !second.Result.IsZero() {
				t.Errorf("the second attempt: %+v, %s", second.Handle, second.Result)
			}
		})
	}
}

// An expectation of no output is judged of an answer, too.
// A tool that says no in a result that is malformed, or too large to be kept, has said no.
func TestMCPSaysNo(t *testing.T) {
	r := newRepo(t)
	for _, claim := range []string{`{"status":"failed","receipt":5}`, `{"status":"FAILED","handle":5}`, `{"status":"failed","result":"` + strings.Repeat("x", 300<<10) + `"}`} {
		file := filepath.Join(t.TempDir(), "claim")
		if err := os.WriteFile(file, []byte(claim), 0o600); err != nil {
			t.Fatal(err)
		}
		o := r.runMCP(t, engine.Options{}, mcpServer(`r='{"content":[],"structuredContent":'$(cat `+file+`)'}'`), r.sh("a", ""))
		if res := o.Results[0]; res.Verdict != schedule.Failed || !strings.Contains(res.Detail, "its own result says that it failed") {
			t.Errorf("%.60s: %s: %s", claim, verdicts(o.Results), res.Detail)
		}
	}
}

func TestMCPEmpty(t *testing.T) {
	r := newRepo(t)
	s := r.sh("a", "")
	s.Expect = plan.Expect{EmptyStdout: true}
	o := r.runMCP(t, engine.Options{}, mcpServer(`r='{"content":[{"type":"text","text":"a.go"}]}'`), s)
	if res := o.Results[0]; res.Verdict != schedule.Failed || res.Reason != receipts.StopExpectation || res.Detail != "the answer is not empty" {
		t.Errorf("%s: %s", verdicts(o.Results), res.Detail)
	}
}

// However much a tool says of itself, the run goes on, and what found no room is there by
// digest.
func TestLargeClaim(t *testing.T) {
	const size = 100_000
	big := strings.Repeat("x", size)
	digest := receipts.Datum{SHA256: sha256.Sum256([]byte(big)), Bytes: size}
	for _, tt := range []struct {
		name string
		run  func(r *repo) *engine.Outcome
	}{
		{"process", func(r *repo) *engine.Outcome {
			return r.run(t, engine.Options{}, r.sh("a", `printf '{"route":"x","external_id":"%s"}' $(head -c 100000 /dev/zero | tr '\0' x) >"$DIALECT_RESULT"`), r.sh("b", "true"))
		}},
		{"mcp", func(r *repo) *engine.Outcome {
			return r.runMCP(t, engine.Options{}, mcpServer(`
				x=$(head -c 100000 /dev/zero | tr '\0' x)
				r='{"content":[],"structuredContent":{"route":"x","external_id":"'$x'"}}'`),
				r.sh("a", ""), r.sh("b", "true"))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepo(t)
			o := tt.run(r)
			if o.Degraded != "" || o.Verdict() != "passed" || o.Results[0].Degraded {
				t.Fatalf("%s: %s, degraded %q", verdicts(o.Results), o.Results[0].Detail, o.Degraded)
			}
			if h := r.receipt(t, o.Results[0]).Handle; h == nil || h.ExternalID != digest || h.Route.Text != "x" {
				t.Errorf("handle %v", h)
			}
		})
	}
}

// What cannot be written as a receipt is a fault of its line, and of nothing else; a plain
// receipt says that the line was carried out.
func TestUnrecordable(t *testing.T) {
	r := newRepo(t)
	good := r.run(t, engine.Options{}, r.sh("a", "true")).Results[0].Receipt.String()
	for _, tt := range []struct{ name, id, want string }{
		{"a pass", good, "passed fault/unrecordable passed"},
		{"a failure", "000000", "passed failed passed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			validate := &plan.Step{Binding: "validate_receipt", Kind: plan.Builtin, Target: plan.ValidateReceipt, Effect: plan.Read, Values: []plan.Value{{Name: "id", Text: tt.id}}}
			// The clock of the machine is not a friend: for one line it is the year 12000.
			ahead := 0
			o := r.run(t, engine.Options{
				Options: attempt.Options{Now: func() time.Time { return time.Now().AddDate(ahead, 0, 0) },
					Listen: func(e engine.Event) {
						if e, ok := e.(engine.StepFinished); ok && e.Result.Step.ID == "1" {
							ahead = 10000
						} else if ok {
							ahead = 0
						}
					}},
			}, r.sh("a", "true"), validate, r.sh("c", "true"))
			if got := verdicts(o.Results); got != tt.want || o.Degraded != "" {
				t.Fatalf("%s, degraded %q", got, o.Degraded)
			}
			for i, res := range o.Results {
				if res.Degraded || res.Receipt.IsZero() {
					t.Errorf("line %d left no receipt", i+1)
				}
			}
			bad := o.Results[1]
			if !strings.Contains(bad.Detail, "its receipt cannot be written") {
				t.Errorf("%s", bad.Detail)
			}
			if rec := r.receipt(t, bad); rec.Status != receipts.StatusFailed || rec.Failed() != (tt.name == "a failure") {
				t.Errorf("recorded as %s, %s", rec.Status, rec.StopReason)
			}
		})
	}
}

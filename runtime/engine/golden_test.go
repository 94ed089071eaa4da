package engine_test

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden holds what comes out of a run, its events, results, gate, exit status and records, of
// scripts that go each of the ways that the order of steps can go. Where members run at once only
// the order of the events of each step is held. Each is run twice, the second time with the state of
// order saved and loaded after each event.
func TestGolden(t *testing.T) {
	read := func(r *repo, name string) *plan.Step { return r.sh(name, "true") }
	red := func(r *repo, name string) *plan.Step { return r.sh(name, "echo no; exit 3") }
	write := func(r *repo, name string) *plan.Step { return r.sh("write "+name, "echo "+name+" >>a.txt") }
	always := func(s *plan.Step) *plan.Step { s.Finally = true; return s }
	failure := func(s *plan.Step) *plan.Step { s.WhenFailure = true; return s }
	retry := func(n int, s *plan.Step) *plan.Step { s.Budget.Retries = n; return s }
	lock := func(name string, s *plan.Step) *plan.Step { s.Exclusive = name; return s }
	validate := func(text string) *plan.Step {
		return &plan.Step{Binding: "validate_receipt", Verb: "validate", Noun: "receipt", Kind: plan.Builtin, Target: plan.ValidateReceipt, Effect: plan.Read, Values: []plan.Value{{Name: "object", Text: text}}}
	}
	task := func(r *repo) *plan.Step {
		s := r.sh("task", "")
		s.Kind, s.Argv, s.Values = plan.Task, nil, []plan.Value{{Name: "object", Text: "fix it"}}
		return s
	}
	killed := func(r *repo) *plan.Step { return r.sh("killed", "kill -9 $$") }
	claims := func(r *repo, name, text string) *plan.Step {
		return r.sh(name, `printf '%s' '`+text+`' >"$DIALECT_RESULT"`)
	}
	for _, tt := range []struct {
		name  string
		opt   engine.Options
		steps func(r *repo) []*plan.Step
	}{
		{"green", engine.Options{}, func(r *repo) []*plan.Step {
			return []*plan.Step{read(r, "a"), write(r, "b"), read(r, "c"), gate()}
		}},
		{"no gate line", engine.Options{}, func(r *repo) []*plan.Step { return []*plan.Step{read(r, "a")} }},
		{"nothing", engine.Options{}, func(r *repo) []*plan.Step { return nil }},
		{"gates", engine.Options{}, func(r *repo) []*plan.Step {
			return []*plan.Step{read(r, "a"), gate(), write(r, "b"), gate(), read(r, "c"), gate()}
		}},
		{"gate that refuses", engine.Options{}, func(r *repo) []*plan.Step {
			return []*plan.Step{r.sh("a", "echo x >>a.txt"), gate(), read(r, "b"), write(r, "c"), always(read(r, "d")), gate()}
		}},
		{"deferred", engine.Options{Options: attempt.Options{DeferGate: true}}, func(r *repo) []*plan.Step {
			return []*plan.Step{read(r, "a"), gate(), read(r, "b")}
		}},
		{"barrier", engine.Options{}, func(r *repo) []*plan.Step {
			return []*plan.Step{read(r, "a"), red(r, "b"), gate(), read(r, "c"), write(r, "d"), failure(write(r, "e")), always(write(r, "f")), gate()}
		}},
		{"keep going", engine.Options{KeepGoing: true}, func(r *repo) []*plan.Step {
			return []*plan.Step{red(r, "a"), write(r, "b"), failure(read(r, "c")), gate()}
		}},
		{"fail fast", engine.Options{FailFast: true}, func(r *repo) []*plan.Step {
			return []*plan.Step{red(r, "a"), read(r, "b"), group(false, read(r, "c"), always(read(r, "d"))), always(read(r, "e")), gate()}
		}},
		{"fail fast among members", engine.Options{FailFast: true, Options: attempt.Options{Jobs: 2}}, func(r *repo) []*plan.Step {
			return []*plan.Step{group(true, r.sh("slow", "touch begun.log; sleep 60"), r.sh("a", until("begun.log")+"; exit 3"), read(r, "b"), always(read(r, "c"))), read(r, "d")}
		}},
		{"sequence", engine.Options{}, func(r *repo) []*plan.Step {
			return []*plan.Step{group(false, read(r, "a"), red(r, "b"), write(r, "c"), failure(read(r, "d")), always(write(r, "e"))), read(r, "f")}
		}},
		{"members", engine.Options{Options: attempt.Options{Jobs: 2}}, func(r *repo) []*plan.Step {
			return []*plan.Step{read(r, "a"), group(true, read(r, "b"), write(r, "c"), group(false, read(r, "d"), read(r, "e")), always(write(r, "f"))), read(r, "g"), gate()}
		}},
		{"nested, one slot", engine.Options{Options: attempt.Options{Jobs: 1}}, func(r *repo) []*plan.Step {
			return []*plan.Step{group(true, group(true, read(r, "a"), red(r, "b")), read(r, "c"), group(false, write(r, "d"), group(true, always(read(r, "e")), read(r, "f"))))}
		}},
		{"clean-up of nothing", engine.Options{}, func(r *repo) []*plan.Step {
			return []*plan.Step{red(r, "a"), group(false, write(r, "b"), always(group(true, write(r, "c"), read(r, "d")))), gate()}
		}},
		{"retries", engine.Options{}, func(r *repo) []*plan.Step {
			return []*plan.Step{retry(2, r.sh("a", "echo >>n.log; test $(wc -l <n.log) -ge 2")), retry(1, red(r, "b")), gate()}
		}},
		{"flaky and accepted", engine.Options{Options: attempt.Options{AcceptFlaky: "known", By: "me"}}, func(r *repo) []*plan.Step {
			return []*plan.Step{retry(2, r.sh("write a", "echo >>a.txt; test $(wc -l <a.txt) -ge 3")), group(true, retry(1, r.sh("b", "test -e b.log || { touch b.log; exit 1; }"))), gate()}
		}},
		{"kinds", engine.Options{}, func(r *repo) []*plan.Step {
			no := r.sh("no tool", "")
			no.Argv = []string{"/no/such/tool"}
			slow := r.sh("slow", "sleep 60")
			slow.Budget.Timeout = 200 * time.Millisecond
			vacuous := r.sh("vacuous", "echo hello")
			vacuous.Expect.MinTests = 1
			loud := r.sh("loud", "echo hello")
			loud.Expect.EmptyStdout = true
			return []*plan.Step{validate("r-123456789abc"), task(r), no, slow, killed(r), vacuous, loud}
		}},
		{"claims", engine.Options{}, func(r *repo) []*plan.Step {
			lacks := claims(r, "b", `{"result":{}}`)
			lacks.Expect.Fields = []string{"result.id"}
			return []*plan.Step{claims(r, "a", `{"result":{"id":1}}`), lacks, claims(r, "c", `{"status":"failed"}`), claims(r, "d", `{"status":"not_configured","reason":"no token"}`)}
		}},
		{"locks", engine.Options{Locks: []string{"ours"}}, func(r *repo) []*plan.Step {
			return []*plan.Step{lock("x", group(false, lock("x", read(r, "a")), lock("y", write(r, "b")))), lock("ours", read(r, "c")), gate()}
		}},
		{"denied", engine.Options{LockDir: "none"}, func(r *repo) []*plan.Step {
			return []*plan.Step{lock("x", read(r, "a")), lock("x", write(r, "b")), lock("x", group(false, read(r, "c"), write(r, "d"))), gate()}
		}},
		{"no store", engine.Options{Options: attempt.Options{Degraded: "there is none"}}, func(r *repo) []*plan.Step {
			return []*plan.Step{read(r, "a"), write(r, "b"), always(write(r, "c")), gate()}
		}},
		{"out of time", engine.Options{Budget: plan.Budget{Timeout: 50 * time.Millisecond}}, func(r *repo) []*plan.Step {
			return []*plan.Step{group(false, r.sh("a", "touch begun.log; sleep 60"), read(r, "b"), always(read(r, "c"))), read(r, "d"), gate()}
		}},
		{"part", engine.Options{Options: attempt.Options{Parent: "r-0/2", Nonce: "n", Session: "s"}}, func(r *repo) []*plan.Step {
			return []*plan.Step{read(r, "a"), gate()}
		}},
	} {
		one := func(t *testing.T, reload bool) {
			t.Parallel()
			r := newRepo(t)
			o := tt.opt
			var store *sqlite.Store
			if o.Degraded == "" {
				store = r.store
				o.Store = store
			}
			switch o.LockDir {
			case "":
				o.LockDir = filepath.Join(t.TempDir(), "locks")
			case "none":
				o.LockDir = ""
			}
			o.Run, o.Environ, o.Workspace = "r-golden", os.Environ(), r.tracker()
			engine.SetClock(&o, from(filepath.Join(r.dir, "begun.log")))
			g := &golden{r: r, ids: make(map[string]string)}
			o.Listen = g.listen
			if reload {
				engine.Reload(&o, func(err error) { t.Error(err) })
			}
			p := r.plan(tt.steps(r)...)
			p.Script.Part = tt.name == "part"
			out := engine.Run(context.Background(), p, o)
			g.outcome(out)
			if store != nil {
				g.records(t, store)
			}
			file := filepath.Join("testdata", "golden", strings.ReplaceAll(strings.ReplaceAll(tt.name, ",", ""), " ", "-")+".txt")
			if *update && !reload {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(g.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := g.String(); got != string(want) {
				t.Errorf("%s\n-- got\n%s-- want\n%s", file, got, want)
			}
		}
		t.Run(tt.name, func(t *testing.T) { one(t, false) })
		t.Run(tt.name+", saved and loaded", func(t *testing.T) { one(t, true) })
	}
}

// A golden is the text of one run without what differs from run to run.
type golden struct {
	strings.Builder
	r       *repo
	ids     map[string]string // of trees, records and times, as they are called here
	events  []string
	durable []string
}

// listen keeps the events, those of a group sorted by the step.
func (g *golden) listen(e engine.Event) {
	switch e := e.(type) {
	case engine.RunStarted:
		g.events = append(g.events, "run "+e.Run+" of session "+e.Session)
	case attempt.Started:
		g.events = append(g.events, fmt.Sprintf("%s started, attempt %d", e.Step.ID, e.Attempt))
	case engine.StepFinished:
		g.events = append(g.events, e.Result.Step.ID+" "+g.verdict(e.Result))
		if e.Result.Step.Parallel && !strings.Contains(e.Result.Step.ID, ".") {
			line := e.Result.Step.ID + "."
			i := slices.IndexFunc(g.events, func(s string) bool { return strings.HasPrefix(s, line) })
			slices.SortStableFunc(g.events[i:len(g.events)-1], func(a, b string) int {
				a, _, _ = strings.Cut(a, " ")
				b, _, _ = strings.Cut(b, " ")
				return cmp.Compare(a, b)
			})
		}
	case attempt.Durable:
		g.durable = append(g.durable, fmt.Sprintf("%s/%d", e.Step.ID, e.Attempt))
	}
}

func (g *golden) verdict(r *engine.Result) string {
	text := string(r.Verdict)
	if r.Reason != "" {
		text += "/" + string(r.Reason)
	}
	if r.By != "" {
		text += " by " + r.By
	}
	return text
}

func (g *golden) outcome(o *engine.Outcome) {
	fmt.Fprintf(g, "-- events\n%s\n", strings.Join(g.events, "\n"))
	slices.Sort(g.durable)
	fmt.Fprintf(g, "durable: %s\n-- results\n", strings.Join(g.durable, " "))
	var show func(rs []*engine.Result)
	show = func(rs []*engine.Result) {
		for _, r := range rs {
			fmt.Fprintf(g, "%s %s, started %v, attempts %d, earlier %d, receipt %v, degraded %v, process %v: %s\n", r.Step.ID, g.verdict(r),
				!r.Started.IsZero(), r.Attempts, len(r.Earlier), !r.Receipt.IsZero(), r.Degraded, r.Process != nil, g.clean(r.Detail))
			show(r.Members)
		}
	}
	show(o.Results)
	d := o.Gate
	fmt.Fprintf(g, "-- gate\n%s, final %v, members %d, required %d, failures %d, early %d, noted %v, beyond %v: %s\n", d.Verdict, d.Final, d.Members, d.Required, d.Failures, d.Early, d.Noted, d.Beyond, g.clean(d.Detail))
	for _, r := range d.Refusals {
		fmt.Fprintf(g, "refusal %s of step %s: %s\n", r.Reason, r.Step, g.clean(r.Message))
	}
	fmt.Fprintf(g, "-- outcome\n%s, exit %d, limit %q, degraded %q, no tree %q\n", o.Verdict(), o.ExitStatus(), o.Limit, o.Degraded, o.NoTree)
}

var volatile = regexp.MustCompile(`[0-9a-f]{64}|[0-9a-f]{40}|\bg-[0-9a-f]{12}\b|\b[0-9a-f]{12}\b|after [0-9.]+m?s`)

// clean replaces what differs: digests are numbered as they come.
func (g *golden) clean(text string) string {
	text = strings.ReplaceAll(text, g.r.dir, "DIR")
	return volatile.ReplaceAllStringFunc(text, func(s string) string {
		if strings.HasPrefix(s, "after ") {
			return "after a while"
		}
		id := strings.TrimPrefix(s, "g-")
		for whole, name := range g.ids {
			if strings.HasPrefix(whole, id) {
				return name
			}
		}
		g.ids[id] = fmt.Sprintf("#%d", len(g.ids)+1)
		return g.ids[id]
	})
}

// records writes the records of the store, sorted by step and attempt, without times, sizes and
// what the machine decides.
func (g *golden) records(t *testing.T, s *sqlite.Store) {
	g.WriteString("-- records\n")
	var all []map[string]any
	_, err := s.Export(context.Background(), func(e sqlite.Exported) error {
		var body map[string]any
		if err := json.Unmarshal(e.Body, &body); err != nil {
			return err
		}
		body["kind of record"] = string(e.Kind)
		all = append(all, body)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	key := func(m map[string]any) string { return fmt.Sprint(m["step"], "/", m["attempt"]) }
	// A gate stays where it is: what comes before it was recorded before.
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j]["kind of record"] == "receipt" {
			j++
		}
		slices.SortStableFunc(all[i:j], func(a, b map[string]any) int { return cmp.Compare(key(a), key(b)) })
		i = j + 1
	}
	for _, m := range all {
		for _, k := range []string{"duration_ns", "timestamp", "started", "executable", "environment", "system", "at", "time", "members"} {
			delete(m, k)
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		g.WriteString(g.clean(string(text)) + "\n")
	}
}

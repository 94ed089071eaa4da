package engine_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// A repo is a directory under git with a tracked file, and a store beside it.
type repo struct {
	*builder
	store *sqlite.Store
}

func newRepo(t *testing.T) *repo {
	t.Helper()
	r := &repo{newBuilder(t), open(t, t.TempDir())}
	// Newer versions of git maintain a repository in the background after a commit: a copy of it would miss a file that is listed.
	cmd := exec.Command("/bin/sh", "-c", "git init -q . && echo one >a.txt && echo '*.log' >.gitignore && git add . && git -c user.name=a -c user.email=a@b -c maintenance.auto=false commit -qm x")
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

func (r *repo) run(t *testing.T, o engine.Options, steps ...*plan.Step) *engine.Outcome {
	t.Helper()
	o.Store, o.Workspace = r.store, r.tracker()
	return run(t, r.plan(steps...), o)
}

func (r *repo) tracker() attempt.Workspace {
	return workspace.NewTracker(r.dir, workspace.Options{})
}

func (r *repo) receipt(t *testing.T, res *engine.Result) *receipts.Receipt {
	t.Helper()
	return r.receiptOf(t, res.Receipt)
}

func (r *repo) receiptOf(t *testing.T, h receipts.Hash) *receipts.Receipt {
	t.Helper()
	e, err := r.store.Get(context.Background(), h.String())
	if err != nil {
		t.Fatal(err)
	}
	v, err := e.Parse()
	if err != nil {
		t.Fatal(err)
	}
	return v.(*receipts.Receipt)
}

// What only reads is compared with the files as they are at the end of its epoch.
func TestEpochs(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps func(*repo) []*plan.Step
		want  string // of the refusals; "passed" for none
		noted string
	}{
		{"nothing changes", func(r *repo) []*plan.Step { return []*plan.Step{r.sh("a", "true"), r.sh("b", "true")} }, "passed", ""},
		{"a reader changes a file", func(r *repo) []*plan.Step { return []*plan.Step{r.sh("a", "echo x >>a.txt"), r.sh("b", "true")} }, "tree_changed tree_changed", ""},
		{"a reader leaves a new file", func(r *repo) []*plan.Step { return []*plan.Step{r.sh("a", "echo x >new.txt")} }, "passed", "new.txt"},
		{"a reader leaves an ignored file", func(r *repo) []*plan.Step { return []*plan.Step{r.sh("a", "echo x >new.log")} }, "passed", ""},
		{"a writer changes a file", func(r *repo) []*plan.Step {
			return []*plan.Step{r.sh("a", "true"), r.sh("write", "echo x >>a.txt"), r.sh("b", "true")}
		}, "passed", ""},
		{"a reader changes a file before a writer", func(r *repo) []*plan.Step {
			return []*plan.Step{r.sh("a", "echo x >>a.txt"), r.sh("write", "true"), r.sh("b", "true")}
		}, "tree_changed", ""},
		{"a sequence that writes first", func(r *repo) []*plan.Step {
			return []*plan.Step{group(false, r.sh("write", "echo x >>a.txt"), r.sh("b", "true"))}
		}, "passed", ""},
		{"readers beside a writer", func(r *repo) []*plan.Step {
			return []*plan.Step{r.sh("a", "true"), group(true, r.sh("write", "echo x >>a.txt"), r.sh("b", "true")), r.sh("c", "true")}
		}, "tree_changed", ""},
		{"readers beside a writer that changes nothing", func(r *repo) []*plan.Step {
			return []*plan.Step{group(true, r.sh("write", "true"), r.sh("b", "true"))}
		}, "passed", ""},
		{"a writer that is tried again", func(r *repo) []*plan.Step {
			s := r.sh("write", "echo x >>a.txt; test -e tried || { touch tried; exit 1; }")
			s.Budget.Retries = 1
			return []*plan.Step{s, r.sh("b", "true")}
		}, "passed", ""},
		{"a new file between readers", func(r *repo) []*plan.Step {
			return []*plan.Step{r.sh("a", "true"), r.sh("b", "echo x >test_bad.txt"), r.sh("c", "true")}
		}, "passed", "test_bad.txt"},
		{"a new file of a reader before a writer that changes nothing", func(r *repo) []*plan.Step {
			return []*plan.Step{r.sh("a", "echo x >new.txt"), r.sh("write", "true"), r.sh("b", "true")}
		}, "passed", "new.txt"},
		{"a new file of the last writer", func(r *repo) []*plan.Step {
			return []*plan.Step{r.sh("a", "true"), r.sh("write", "echo x >new.txt")}
		}, "passed", "new.txt"},
		{"new files of the last writer, and after it", func(r *repo) []*plan.Step {
			return []*plan.Step{r.sh("a", "echo x >a.new"), r.sh("write", "echo x >b.new; (sleep 0.05; echo x >c.new) & wait")}
		}, "passed", "a.new b.new c.new"},
		{"a new file of a writer that is read", func(r *repo) []*plan.Step {
			return []*plan.Step{r.sh("write", "echo x >new.txt"), r.sh("a", "test -e new.txt")}
		}, "passed", ""},
		{"a new file that comes and goes", func(r *repo) []*plan.Step {
			return []*plan.Step{r.sh("a", "echo x >new.txt"), r.sh("write", "rm new.txt"), r.sh("b", "true")}
		}, "passed", "new.txt"},
		{"a new file before a gate in the middle", func(r *repo) []*plan.Step {
			return []*plan.Step{r.sh("a", "echo x >new.txt"), gate(), r.sh("b", "true")}
		}, "passed", "new.txt"},
		{"a gate in the middle", func(r *repo) []*plan.Step {
			return []*plan.Step{r.sh("a", "true"), gate(), r.sh("b", "echo x >>a.txt")}
		}, "tree_changed", ""},
		{"unmerged index", func(r *repo) []*plan.Step {
			return []*plan.Step{r.sh("a", "h=$(git hash-object -w a.txt); printf '100644 %s 1\\ta.txt\\n100644 %s 2\\ta.txt\\n' $h $h | git update-index --index-info")}
		}, "no_tree", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepo(t)
			o := r.run(t, engine.Options{}, tt.steps(r)...)
			got := "passed"
			if o.Gate.Verdict != attempt.GatePassed {
				var reasons []string
				for _, x := range o.Gate.Refusals {
					reasons = append(reasons, string(x.Reason))
				}
				got = strings.Join(reasons, " ")
			}
			if got != tt.want || strings.Join(o.Gate.Noted, " ") != tt.noted {
				t.Errorf("%s, noted %q: %s", got, o.Gate.Noted, o.Gate.Detail)
			}
			if tree := o.Gate.Tree; got == "passed" {
				if tree.Exact != (len(o.Gate.Noted) == 0) {
					t.Errorf("exact %v, with %q", tree.Exact, o.Gate.Noted)
				}
				for _, name := range o.Gate.Noted {
					os.Remove(filepath.Join(r.dir, name))
				}
				s, err := workspace.Take(context.Background(), r.dir, workspace.Options{})
				if err != nil || s.Bytes != tree.Bytes || s.Tree != tree.Tree {
					t.Errorf("the gate is not about the files that were tested (%v)", err)
				}
			}
			if a, err := r.store.Audit(context.Background()); err != nil || !a.Consistent() {
				t.Errorf("%v, %v", a.Findings, err)
			}
		})
	}
}

// The receipts say what the commands ran on, and what a writer changed.
func TestReceiptWorkspace(t *testing.T) {
	r := newRepo(t)
	o := r.run(t, engine.Options{}, r.sh("a", "true"), r.sh("write", "echo x >>a.txt; echo y >b.txt"), r.sh("b", "true"))
	if o.Verdict() != "passed" {
		t.Fatal(o.Gate.Detail)
	}
	a, w, b := r.receipt(t, o.Results[0]).Workspace, r.receipt(t, o.Results[1]).Workspace, r.receipt(t, o.Results[2]).Workspace
	switch {
	case a == nil || w == nil || b == nil:
		t.Fatal("a receipt has no workspace")
	case a.After != nil || b.After != nil || w.After == nil:
		t.Error("what only reads has a snapshot after it, or what writes has none")
	case a.Before != w.Before || *w.After != b.Before || a.Before == b.Before:
		t.Errorf("the trees do not follow each other: %v, %v, %v", a, w, b)
	case len(w.Changed) != 2 || w.Changed[0].Text != "a.txt" || w.Changed[1].Text != "b.txt":
		t.Errorf("changed %v", w.Changed)
	}
	if g := o.Gate.Tree; g == nil || *g != b.Before {
		t.Errorf("the gate is about %v", g)
	}
	// Without a workspace nothing is claimed.
	o = run(t, r.plan(r.sh("a", "true")), engine.Options{Options: attempt.Options{Store: r.store}})
	if o.Verdict() != "passed" || r.receipt(t, o.Results[0]).Workspace != nil || o.Gate.Tree != nil {
		t.Errorf("%s, tree %v", o.Verdict(), o.Gate.Tree)
	}
}

// An earlier pass stands for a run only where nothing is another.
func TestReuse(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(r *repo, s *plan.Step, o *engine.Options)
		reused bool
	}{
		{"nothing", func(*repo, *plan.Step, *engine.Options) {}, true},
		{"the run does not want it", func(_ *repo, _ *plan.Step, o *engine.Options) { o.Reuse = false }, false},
		{"the binding does not allow it", func(_ *repo, s *plan.Step, _ *engine.Options) { s.Reuse = false }, false},
		{"a file", func(r *repo, _ *plan.Step, _ *engine.Options) {
			os.WriteFile(filepath.Join(r.dir, "a.txt"), []byte("two"), 0o600)
		}, false},
		{"the command", func(_ *repo, s *plan.Step, _ *engine.Options) { s.Argv = []string{"/bin/sh", "-c", "exit 0; :"} }, false},
		{"the environment", func(_ *repo, s *plan.Step, _ *engine.Options) { s.Env = map[string]string{"PYTHONPATH": "/x"} }, false},
		{"the binding", func(_ *repo, s *plan.Step, _ *engine.Options) { s.Binding = "other" }, false},
		{"it writes", func(_ *repo, s *plan.Step, _ *engine.Options) { s.Effect = plan.Write }, false},
		{"a level that is asked for", func(_ *repo, _ *plan.Step, o *engine.Options) { o.Level = 1 }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepo(t)
			step := func() *plan.Step {
				s := r.sh("a", "exit 0")
				s.Reuse = true
				return s
			}
			first := r.run(t, engine.Options{}, step())
			if first.Verdict() != "passed" {
				t.Fatal(first.Gate.Detail)
			}
			s, o := step(), engine.Options{Options: attempt.Options{Reuse: true}}
			tt.change(r, s, &o)
			second := r.run(t, o, s)
			res := second.Results[0]
			if second.Verdict() != "passed" || res.Reused.IsZero() == tt.reused || (second.Gate.Reused > 0) != tt.reused {
				t.Fatalf("%s, reused %v, gate %d", second.Verdict(), res.Reused.Short(), second.Gate.Reused)
			}
			if rec := r.receipt(t, res); tt.reused && rec.Reused != first.Results[0].Receipt {
				t.Errorf("the receipt cites %s", rec.Reused.Short())
			}
		})
	}
}

// What a command says of itself is recorded, and can make a pass worse, never better.
func TestClaims(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		fields       []string
		want         string
		status       receipts.Status
	}{
		{"nothing", "true", nil, "passed", receipts.Succeeded},
		{"a handle", `echo '{"route":"notion","operation":"create","status":"success","external_id":"p-1"}' >"$DIALECT_RESULT"`, []string{"external_id"}, "passed", receipts.Succeeded},
		{"a field is missing", `echo '{"id":1}' >"$DIALECT_RESULT"`, []string{"external_id"}, "failed", receipts.StatusFailed},
		{"nothing, and a field is expected", "true", []string{"id"}, "failed", receipts.StatusFailed},
		{"it failed", `echo '{"status":"failed","result":{}}' >"$DIALECT_RESULT"`, nil, "failed", receipts.StatusFailed},
		{"it says success and exits 1", `echo '{"status":"succeeded","result":{"a":1}}' >"$DIALECT_RESULT"; exit 1`, nil, "failed", receipts.StatusFailed},
		{"not configured", `echo '{"status":"not_configured","reason":"no key","next_steps":["add one"]}' >"$DIALECT_RESULT"`, nil, "fault/not_configured", receipts.NotConfigured},
		{"pending", `echo '{"route":"kb","operation":"write","status":"pending"}' >"$DIALECT_RESULT"`, nil, "passed", receipts.Pending},
		{"garbage", `echo nonsense >"$DIALECT_RESULT"`, nil, "failed", receipts.StatusFailed},
		{"a FIFO", `mkfifo "$DIALECT_RESULT"`, nil, "failed", receipts.StatusFailed},
		{"a link", `ln -s /etc/passwd "$DIALECT_RESULT"`, nil, "failed", receipts.StatusFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, store := newBuilder(t), open(t, t.TempDir())
			s := b.sh("a", tt.script)
			s.Expect.Fields = tt.fields
			o := run(t, b.plan(s), engine.Options{Options: attempt.Options{Store: store}})
			r := &repo{b, store}
			if got := verdicts(o.Results); got != tt.want {
				t.Errorf("%s: %s", got, o.Results[0].Detail)
			}
			rec := r.receipt(t, o.Results[0])
			if rec.Status != tt.status {
				t.Errorf("the receipt says %s", rec.Status)
			}
			if tt.name == "a handle" && (rec.Handle == nil || rec.Handle.ExternalID.Text != "p-1") {
				t.Errorf("handle %+v", rec.Handle)
			}
			if tt.status == receipts.Pending && o.Gate.Verdict != attempt.GateRefusal {
				t.Errorf("a gate over what is pending: %s", o.Gate.Verdict)
			}
		})
	}
}

// A claim that an earlier line, or an earlier attempt, has left for a later one does not count.
func TestClaimPlanted(t *testing.T) {
	const claim = `'{"route":"tracker","status":"success","external_id":"ISSUE-7"}'`
	const plant = `d=$(dirname "$DIALECT_RESULT")
		for f in $d/2-1.json $d/2-2.json $d/2-1/result.json $d/1-2.json $d/../2-1.json $d/../2/result.json $d/result.json; do
			mkdir -p $(dirname $f); echo ` + claim + ` >$f; done
		for e in $d/*; do echo ` + claim + ` >$e; done
		echo "$DIALECT_RESULT" >>"$OLDPATHS"; `
	for name, tt := range map[string]struct {
		first, second string // the second is expected to claim
		retries       int
		want          string
	}{
		"by the line before":    {plant, "true", 0, "passed failed"},
		"by the attempt before": {"true", `if ! test -s "$OLDPATHS"; then ` + plant + `exit 1; fi`, 1, "passed failed"},
		"and the claim is its own": {plant, `for p in $(cat "$OLDPATHS"); do test ! -e $p || exit 1; done
			echo ` + claim + ` >"$DIALECT_RESULT"`, 0, "passed passed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OLDPATHS", filepath.Join(t.TempDir(), "paths"))
			b, store := newBuilder(t), open(t, t.TempDir())
			first, second := b.sh("a", tt.first), b.sh("b", tt.second)
			second.Expect.Fields, second.Budget.Retries = []string{"external_id"}, tt.retries
			o := run(t, b.plan(first, second), engine.Options{Options: attempt.Options{Store: store, Environ: os.Environ()}})
			if got := verdicts(o.Results); got != tt.want {
				t.Errorf("%s: %s", got, o.Results[1].Detail)
			}
		})
	}
}

// A command knows the step that it is of.
func TestParent(t *testing.T) {
	b, store := newBuilder(t), open(t, t.TempDir())
	var out []byte
	run(t, b.plan(group(true, b.sh("a", `echo "$DIALECT_PARENT"`))), engine.Options{Options: attempt.Options{Store: store, Run: "r-00000000000000aa", Output: true, Listen: func(e engine.Event) {
		if o, ok := e.(attempt.Output); ok {
			out = append(out, o.Data...)
		}
	}}})
	if got := strings.TrimSpace(string(out)); got != "r-00000000000000aa/1.1" {
		t.Errorf("%q", got)
	}
}

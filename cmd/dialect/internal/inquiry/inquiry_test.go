package inquiry_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/command"
	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/recording"
	"github.com/command-dialect/dialect/runtime/workspace"
)

const matrix = `[commands.check_true]
verb = "check"
noun = "true"
tool = "true"
receipt_required = true
[commands.check_false]
verb = "check"
noun = "false"
tool = "false"
receipt_required = true
[commands.test_true]
verb = "test"
noun = "true"
tool = "true {args...}"
[commands.check_all]
verb = "check"
noun = "all"
composite = ["check_true", "check_logs", "check_false"]
[commands.check_logs]
verb = "check"
noun = "logs"
tool = "cat log"
when = "failure"
`

// project makes a repository with a matrix that is committed, and goes there. The configuration of the
// user is an empty folder.
func project(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("CI", "")
	t.Chdir(dir)
	write(t, "routing.toml", matrix)
	write(t, "code", "1\n")
	git(t, "init", "--quiet")
	git(t, "add", ".")
	git(t, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "x")
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// run runs a binding as `dialect exec --as` does, and returns its receipt.
func run(t *testing.T, dir, binding string, args ...string) string {
	t.Helper()
	p, err := command.As(dir, binding, args)
	if err != nil {
		t.Fatal(err)
	}
	r := recording.Open(dir, nil, recording.Options{Slow: func() {}})
	o := r.Options(p)
	o.Root, o.DeferGate, o.By, o.Version = dir, true, "ann", "test"
	out := engine.Run(t.Context(), p, o)
	r.Close(out)
	if out.Degraded != "" || out.Results[0].Receipt.IsZero() {
		t.Fatalf("%s: %q, %+v", binding, out.Degraded, out.Results[0])
	}
	return out.Results[0].Receipt.String()
}

// ask asks about the present files, and returns the verdict, and the first of what to do.
func ask(t *testing.T, o inquiry.Options) (verify.Verdict, string) {
	t.Helper()
	q, err := inquiry.New(t.Context(), o, "")
	if err != nil {
		t.Fatal(err)
	}
	res, err := q.Ask(t.Context(), nil, "", "", "")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := q.Tell(&b, func([]policy.Change) error { return nil }, res, "", ""); err != nil || !strings.HasPrefix(b.String(), string(res.Verdict)+": ") {
		t.Errorf("%v: %q", err, b.String())
	}
	doc := q.Document(res)
	if doc.Verified != (res.Verdict == verify.Verified) || doc.Verdict != string(res.Verdict) || doc.Verified != (len(doc.Next) == 0) {
		t.Errorf("%+v", doc)
	}
	return res.Verdict, append(doc.Next, "")[0]
}

// TestGateAndConsume takes receipts to a gate, and the gate to its consumption, which is once.
func TestGateAndConsume(t *testing.T) {
	dir := project(t)
	o := inquiry.Options{Require: []string{"check_true"}}
	if v, next := ask(t, o); v != verify.Missing || !strings.Contains(next, "dialect run") {
		t.Errorf("before: %s, %q", v, next)
	}
	sha := run(t, dir, "check_true", "true")
	if v, next := ask(t, o); v == verify.Verified || !strings.Contains(next, "gate") {
		t.Errorf("of a receipt without a gate: %s, %q", v, next)
	}
	q, err := inquiry.New(t.Context(), o, "")
	if err != nil {
		t.Fatal(err)
	}
	d, err := q.Gate(inquiry.Gating{By: "ann"}, []string{sha})
	if err != nil || !d.Passed() || !strings.HasPrefix(d.Summary, "passed: 1 receipt; gate g-") {
		t.Fatalf("%v, %+v", err, d)
	}
	if kept, err := filepath.Glob(filepath.Join(string(archive.Of(archive.Store(dir))), "sha256", "*", "*")); err != nil || len(kept) == 0 {
		t.Error("the list of the files is not kept")
	}
	if v, _ := ask(t, o); v != verify.Verified {
		t.Errorf("after the gate: %s", v)
	}
	if again, err := q.Gate(inquiry.Gating{By: "ann"}, []string{sha}); err != nil || again.Passed() || again.Refusals[0].Reason != string(receipts.Consumed) || len(again.Next) == 0 {
		t.Errorf("a receipt is gated twice: %v, %+v", err, again)
	}
	gate := d.Summary[strings.Index(d.Summary, "g-"):][:14]
	for i, want := range []bool{true, false} {
		c, err := q.Consume(t.Context(), inquiry.Consumption{By: "orchestrator"}, []string{gate})
		if err != nil || c.Passed() != want {
			t.Errorf("consumption %d: %v, %+v", i, err, c)
		}
	}
	write(t, "code", "2\n")
	if v, _ := ask(t, o); v != verify.Stale {
		t.Errorf("of other files: %s", v)
	}
}

// TestSlow asks where a snapshot takes its time: the command says, once, what it waits for.
func TestSlow(t *testing.T) {
	project(t)
	said := make(chan string, 2)
	o := inquiry.Options{
		Take: func(ctx context.Context, dir string, w workspace.Options) (*workspace.Snapshot, error) {
			said <- <-said // not before it was said
			return workspace.Take(ctx, dir, w)
		},
		Slow: func(waiting string) { said <- waiting },
	}
	if _, err := inquiry.New(t.Context(), o, ""); err != nil {
		t.Fatal(err)
	}
	if text := <-said; !strings.HasPrefix(text, "reading the files below ") || len(said) > 0 {
		t.Errorf("%q", text)
	}
	if _, err := inquiry.NamedTree(t.Context(), ".", o); err != nil {
		t.Fatal(err)
	}
	if text := <-said; !strings.HasPrefix(text, "reading the files below ") || len(said) > 0 {
		t.Errorf("%q", text)
	}
}

// TestLedger spends a gate in a ledger, and then from a copy of the store.
func TestLedger(t *testing.T) {
	dir := project(t)
	sha := run(t, dir, "check_true", "true")
	q, err := inquiry.New(t.Context(), inquiry.Options{}, "")
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	text, err := os.ReadFile(archive.Store(dir))
	if err != nil {
		t.Fatal(err)
	}
	write(t, copied, string(text))
	spent := filepath.Join(t.TempDir(), "spent.db")
	c := inquiry.Consumption{By: "ann", Ledger: spent}
	if d, err := q.Consume(t.Context(), c, []string{sha}); err != nil || !d.Passed() {
		t.Fatalf("%v, %+v", err, d)
	}
	of, err := inquiry.New(t.Context(), inquiry.Options{Store: copied}, "")
	if err != nil {
		t.Fatal(err)
	}
	if d, err := of.Consume(t.Context(), c, []string{sha}); err != nil || d.Passed() || d.Refusals[0].Reason != string(receipts.Spent) {
		t.Errorf("spent twice: %v, %+v", err, d)
	}
	write(t, "no-ledger", "text")
	c.Ledger = "no-ledger"
	var f *exit.Failure
	if _, err := of.Consume(t.Context(), c, []string{sha}); !errors.As(err, &f) || f.Status != exit.Refused {
		t.Errorf("what is not a ledger: %v", err)
	}
	// One that cannot be written is not the store.
	text, err = os.ReadFile(spent)
	if err != nil {
		t.Fatal(err)
	}
	write(t, "cut-off", string(text[:200]))
	c.Ledger = "cut-off"
	if _, err := of.Consume(t.Context(), c, []string{sha}); !errors.As(err, &f) || f.Status != exit.Refused || !strings.HasPrefix(err.Error(), "the ledger cut-off cannot be used: ") {
		t.Errorf("a ledger that is cut off: %v", err)
	}
	if os.Getuid() == 0 {
		return // who may write all
	}
	dir = t.TempDir()
	c.Ledger = filepath.Join(dir, "spent.db")
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := of.Consume(t.Context(), c, []string{sha}); !errors.As(err, &f) || len(f.Hints) != 1 || !strings.Contains(f.Hints[0], "another ledger") {
		t.Errorf("a ledger that may not be written: %v", err)
	}
}

// TestUndecided asks for gates and consumptions that cannot be decided: each says why, and as a document.
func TestUndecided(t *testing.T) {
	dir := project(t)
	undecided := func(err error, reason receipts.Reason) {
		t.Helper()
		var e *inquiry.Undecided
		if !errors.As(err, &e) || e.Reason != reason || e.Status != exit.Refused {
			t.Errorf("%v; want %s", err, reason)
			return
		}
		d := e.Decision()
		if d.Passed() || d.Refusals[0].Reason != string(reason) || len(d.Next) != len(e.Hints) {
			t.Errorf("%+v", d)
		}
		for i, h := range e.Hints {
			if strings.HasPrefix(h, "# ") || !strings.HasSuffix(d.Next[i], h) || !strings.HasPrefix(d.Next[i], "dialect ") && !strings.HasPrefix(d.Next[i], "# ") {
				t.Errorf("%q and %q", h, d.Next[i])
			}
		}
	}
	q, err := inquiry.New(t.Context(), inquiry.Options{}, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = q.Consume(t.Context(), inquiry.Consumption{By: "ann"}, []string{"g-000000000000"})
	undecided(err, receipts.Missing)
	sha := run(t, dir, "check_true", "true")
	write(t, "routing.toml", strings.Replace(matrix, `tool = "false"`, `tool = "true"`, 1))
	if q, err = inquiry.New(t.Context(), inquiry.Options{}, ""); err != nil {
		t.Fatal(err)
	}
	_, err = q.Gate(inquiry.Gating{By: "ann"}, []string{sha})
	undecided(err, receipts.OtherPolicy)
	var e *inquiry.Undecided
	if errors.As(err, &e) && (len(e.Changes) != 1 || e.Changes[0].Path != "routing.toml") {
		t.Errorf("%+v", e.Changes)
	}
	write(t, "routing.toml", "[")
	_, err = inquiry.New(t.Context(), inquiry.Options{}, "")
	undecided(inquiry.Decides(err), receipts.Degraded)
	var rules *inquiry.Unloadable
	if !errors.As(err, &rules) {
		t.Fatal(err)
	}
	broken, res := inquiry.Broken(inquiry.Options{}, rules.Failure)
	if doc := broken.Document(res); doc.Verdict != string(verify.Degraded) || len(doc.Next) == 0 {
		t.Errorf("%+v", doc)
	}
	write(t, "routing.toml", matrix)
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	write(t, damaged, "no store")
	if q, err = inquiry.New(t.Context(), inquiry.Options{Store: damaged}, ""); err != nil {
		t.Fatal(err)
	}
	_, err = q.Consume(t.Context(), inquiry.Consumption{By: "ann"}, []string{sha})
	undecided(err, receipts.Degraded)
	if v, next := ask(t, inquiry.Options{Store: damaged}); v != verify.Degraded || !strings.HasPrefix(next, "# dialect did not make what stands there") {
		t.Errorf("%s, %q", v, next)
	}
	for _, other := range []error{nil, context.Canceled, exit.Usagef("x")} {
		if got := inquiry.Decides(other); got != other {
			t.Errorf("%v became %v", other, got)
		}
	}
}

// TestRequirements names what can and cannot be required.
func TestRequirements(t *testing.T) {
	project(t)
	for name, want := range map[string]string{
		"check_true": "", "check all": "", "all": "", "Check true": "", "Test true": "", "test": "", "check": "",
		"true": "several bindings", "check_tru": "binds nothing", "Test true x": "values are not part of a requirement", "": "binds nothing",
		"logs": "it runs no command",
	} {
		_, err := inquiry.New(t.Context(), inquiry.Options{Require: []string{name}}, "")
		var f *exit.Failure
		switch {
		case want == "" && err == nil:
		case want != "" && errors.As(err, &f) && f.Status == exit.Usage && strings.Contains(err.Error(), want):
		default:
			t.Errorf("--require %q: %v; want %q", name, err, want)
		}
	}
	q, err := inquiry.New(t.Context(), inquiry.Options{Require: []string{"all", "check_true"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range q.Require {
		names = append(names, r.Binding)
	}
	if !slices.Equal(names, []string{"check_true", "check_false", "check_true"}) || !q.Strict {
		t.Errorf("%q, %t", names, q.Strict)
	}
}

// TestOptions refuses what cannot be asked.
func TestOptions(t *testing.T) {
	dir := project(t)
	for _, c := range []struct {
		o    inquiry.Options
		rev  string
		want string
	}{
		{inquiry.Options{Level: "L9"}, "", "--level"},
		{inquiry.Options{Level: "key"}, "", "needs a --key"},
		{inquiry.Options{Base: "nowhere"}, "", "no such commit"},
		{inquiry.Options{}, "nowhere", "--tree"},
		{inquiry.Options{State: filepath.Join(dir, archive.Folder)}, "", "--state"},
		{inquiry.Options{Routing: "none.toml"}, "", "none.toml"},
	} {
		if _, err := inquiry.New(t.Context(), c.o, c.rev); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v, %q: %v; want %q", c.o, c.rev, err, c.want)
		}
	}
	q, err := inquiry.New(t.Context(), inquiry.Options{Root: t.TempDir()}, "")
	if err != nil || !strings.Contains(q.Policy, "the root of the repository is "+dir) {
		t.Errorf("another root: %v, %q", err, q.Policy)
	}
}

func TestNamedTree(t *testing.T) {
	project(t)
	head := git(t, "rev-parse", "HEAD^{tree}")
	hash := strings.Repeat("ab", 32)
	for name, want := range map[string]string{"HEAD": head, ".": head, strings.Repeat("a", 40): strings.Repeat("a", 40), "nowhere": "--tree", hash: hash} {
		tree, err := inquiry.NamedTree(t.Context(), name, inquiry.Options{})
		switch {
		case err != nil:
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", name, err)
			}
		case tree.Tree != want && tree.Bytes.String() != want:
			t.Errorf("%q: %+v; want %s", name, tree, want)
		}
	}
	if tree, err := inquiry.NamedTree(t.Context(), "", inquiry.Options{}); tree != nil || err != nil {
		t.Errorf("of no name: %v, %v", tree, err)
	}
}

func TestCheckIDs(t *testing.T) {
	project(t)
	if err := inquiry.CheckIDs("g-0123456789ab", "5feceb66ffc8"); err != nil {
		t.Error(err)
	}
	for id, hint := range map[string]string{".": "project in that folder", "code": "all files of the project", "HEAD": "--tree HEAD"} {
		var f *exit.Failure
		if err := inquiry.CheckIDs("5feceb66ffc8", id); !errors.As(err, &f) || f.Status != exit.Usage || !strings.Contains(strings.Join(f.Hints, "\n"), hint) {
			t.Errorf("%q: %v; want the hint %q", id, err, hint)
		}
	}
}

// TestBundle refuses what is not a bundle, and what says that it is one and is not.
func TestBundle(t *testing.T) {
	project(t)
	text, err := json.Marshal(map[string]string{"schema": receipts.BundleSchema, "origin": "\x00"})
	if err != nil {
		t.Fatal(err)
	}
	if _, refused, err := inquiry.OpenBundle(strings.NewReader(string(text)), "-", nil, nil); refused == nil || err != nil {
		t.Errorf("a bundle that was changed: %v, %v", refused, err)
	}
	for _, in := range []string{"", "{}", "text"} {
		if _, refused, err := inquiry.OpenBundle(strings.NewReader(in), "-", nil, nil); refused != nil || err == nil || !strings.Contains(err.Error(), "standard input") {
			t.Errorf("%q: %v, %v", in, refused, err)
		}
	}
	if _, _, err := inquiry.OpenBundle(nil, "none", nil, nil); err == nil {
		t.Error("a file that is not there")
	}
}

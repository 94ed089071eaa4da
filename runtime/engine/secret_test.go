package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/redact"
)

// What the environment holds gives no command another digest: its requirement is still
// met, and its failure still found. The text stays out of the receipt all the same.
func TestCommandWithoutEnvironment(t *testing.T) {
	r := newRepo(t)
	key := []byte("key")
	secret := "check-everything-2"
	step := func() *plan.Step { return r.sh("a", "test -e ../pass # "+secret) }
	leaky := func(env ...string) *redact.Redactor { return redact.New(redact.Options{Environ: env, Key: key}) }

	failed := r.run(t, engine.Options{Options: attempt.Options{Redact: leaky()}}, step())
	if failed.Verdict() != "failed" {
		t.Fatal(failed.Verdict())
	}
	s := step()
	s.Argv[2] = strings.Replace(s.Argv[2], "test -e ../pass", "exit 0", 1)
	passed := r.run(t, engine.Options{Options: attempt.Options{Redact: leaky("X_KEY=" + secret)}}, s)
	if passed.Verdict() != "passed" {
		t.Fatal(passed.Gate.Detail)
	}
	rec := r.receipt(t, passed.Results[0])
	if rec.Command != receipts.CommandHash(s.Argv) {
		t.Error("the command has another digest than what the matrix says")
	}
	if d := rec.Argv[2]; !d.Redacted || strings.Contains(d.Text, secret) {
		t.Errorf("recorded as %+v", d)
	}
	// The command that failed, with a variable that takes its words out of what is
	// recorded, is that command.
	again := r.run(t, engine.Options{Options: attempt.Options{Redact: leaky("X_KEY=" + secret)}}, step())
	if a, b := r.receipt(t, failed.Results[0]), r.receipt(t, again.Results[0]); a.Command != b.Command || a.Argv[2] == b.Argv[2] {
		t.Errorf("%s and %s", a, b)
	}
}

// What the matrix declares secret for a step is in no digest of its command, and changes
// that of no other.
func TestDeclaredSecret(t *testing.T) {
	r := newRepo(t)
	step := func(value string) *plan.Step {
		s := r.sh("a", "exit 0")
		s.Argv = append(s.Argv, "--token="+value)
		s.Values = []plan.Value{{Name: "token", Text: value, Secret: true}}
		s.Same = append(slices.Clone(s.Argv[:len(s.Argv)-1]), "--token="+plan.HiddenValue)
		return s
	}
	other := r.sh("b", "exit 0 # hunter2")
	redactor := redact.New(redact.Options{Declared: []string{"hunter2", "hunter3"}, Key: []byte("key")})
	o := r.run(t, engine.Options{Options: attempt.Options{Redact: redactor}}, step("hunter2"), step("hunter3"), step("hunter2"), other, step(""))
	if o.Verdict() != "passed" {
		t.Fatal(o.Gate.Detail)
	}
	var recs []*receipts.Receipt
	for _, res := range o.Results {
		rec := r.receipt(t, res)
		written, err := rec.Record()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(written.Body), "hunter") {
			t.Errorf("%s", written.Body)
		}
		recs = append(recs, rec)
	}
	switch {
	case recs[0].Command == receipts.CommandHash(step("hunter2").Argv):
		t.Error("the digest of the command is over the secret: it can be tried out")
	case recs[0].Command != recs[4].Command:
		t.Error("an empty secret gives another digest")
	case recs[0].Command != recs[1].Command || recs[0].Argv[3] == recs[1].Argv[3] || recs[0].Argv[3] != recs[2].Argv[3]:
		t.Error("what differs in a secret alone has another digest, or the records do not tell the secrets apart")
	case recs[3].Command != receipts.CommandHash(other.Argv):
		t.Error("the secret of one step changes the digest of another")
	}
}

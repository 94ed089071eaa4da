package notary

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/cleanroom"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/project"
)

const roomName = "notary.test: room"

func TestMain(m *testing.M) {
	if os.Args[0] == roomName {
		os.Exit(process.Become(os.Args[1:], cleanroom.Furnish))
	}
	if os.Args[0] == serveName {
		os.Exit(serveTest(os.Args[1:]))
	}
	os.Exit(m.Run())
}

const matrix = `[commands.check_file]
verb = "check"
noun = "file"
tool = "grep -q good state"
receipt_required = true
effect = "read"

[commands.test_slow]
verb = "test"
noun = "slow"
tool = "sleep 30"
effect = "read"
timeout = "1m"
`

// work makes a project in git, with files beside its matrix.
func work(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "work")
	write(t, filepath.Join(dir, "routing.toml"), matrix)
	write(t, filepath.Join(dir, "state"), "good\n")
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	gitIn(t, dir, "init", "-q")
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "start")
	return dir
}

func gitIn(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// A session is an open notary with what vouches for it.
type session struct {
	*Notary
	tree, socket, identity string
	*Client
}

// begin opens a notary for a tree and serves it.
func begin(t testing.TB, tree string, change func(*Config)) *session {
	t.Helper()
	private, public, err := receipts.GenerateKey("boss")
	if err != nil {
		t.Fatal(err)
	}
	identity, err := receipts.NewSigner(private, true)
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(t.TempDir(), "n")
	if err := os.Mkdir(base, 0o700); err != nil {
		t.Fatal(err)
	}
	environ := os.Environ()
	t.Setenv("TMPDIR", os.TempDir()) // Open changes it
	c := Config{
		Tree: tree, Folder: filepath.Join(base, "folder"), Identity: identity, Facts: Facts{Mode: ModeNamespaces, ABI: 6},
		Room: []string{roomName}, Environ: environ,
	}
	if change != nil {
		change(&c)
	}
	n, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{Notary: n, tree: tree, identity: public, socket: filepath.Join(base, "s")}
	l, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- n.Serve(ctx, l) }()
	t.Cleanup(func() {
		if _, err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	if s.Client, err = Dial(t.Context(), s.socket); err != nil {
		t.Fatal(err)
	}
	return s
}

// bound is a script as a client binds it, and what it asks for.
func bound(t testing.TB, dir, text string) (*plan.Plan, Spec) {
	t.Helper()
	p, err := project.Load(&project.Script{Name: "-e", Part: false, Text: []byte(text), Folder: dir}, "")
	if err != nil {
		t.Fatal(err)
	}
	p.Resolve(map[string]string{}, nil)
	if p.Plan == nil {
		t.Fatal(p.Findings)
	}
	return p.Plan, Spec{Script: []byte(text), Name: "-e", Folder: dir}
}

// run has a script run, and returns what became of it.
func (s *session) run(t testing.TB, text string) (*engine.Outcome, error) {
	t.Helper()
	p, spec := bound(t, s.tree, text)
	return s.ask(t, p, spec)
}

func (s *session) ask(t testing.TB, p *plan.Plan, spec Spec) (*engine.Outcome, error) {
	t.Helper()
	r, err := s.Start(t.Context(), spec)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for _, err := range r.Events(t.Context(), p) {
		if err != nil {
			return nil, err
		}
	}
	return r.Outcome(), nil
}

// told are the events of a run, none of which may be lost.
func told(t testing.TB, r *Run, p *plan.Plan) iter.Seq[engine.Event] {
	return func(yield func(engine.Event) bool) {
		for e, err := range r.Events(t.Context(), p) {
			if err != nil {
				t.Fatal(err)
			}
			if !yield(e) {
				return
			}
		}
	}
}

// proof closes the session, and returns its bundle.
func (s *session) proof(t testing.TB) *receipts.Bundle {
	t.Helper()
	if _, err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := s.Notary.Bundle(t.Context(), &text); err != nil {
		t.Fatal(err)
	}
	b, err := receipts.ParseBundle(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// judge asks a bundle about the tree of a gate.
func judge(t testing.TB, b *receipts.Bundle, o *engine.Outcome, key string) (*verify.Result, error) {
	t.Helper()
	return query(t, b, verify.Query{Tree: o.Gate.Tree, Level: receipts.LevelNotary, Strict: true}, key)
}

// query asks a bundle, by a key that vouches for sessions.
func query(t testing.TB, b *receipts.Bundle, q verify.Query, key string) (*verify.Result, error) {
	t.Helper()
	keys, err := receipts.ParseKeys(key)
	if err != nil {
		t.Fatal(err)
	}
	book, err := verify.OfBundle(b, receipts.OfNotaries(keys), nil)
	if err != nil {
		return nil, err
	}
	res, err := book.Verify(q)
	if err != nil {
		t.Fatal(err)
	}
	return res, nil
}

const checkFile = "Check with file\nGate against results\n"

// TestSession runs a script through a notary, red and green, and verifies the proof of the session.
func TestSession(t *testing.T) {
	s := begin(t, work(t, nil), nil)
	o, err := s.run(t, checkFile)
	if err != nil {
		t.Fatal(err)
	}
	if o.ExitStatus() != 0 || o.Gate.Verdict != attempt.GatePassed || o.Gate.Level != receipts.LevelNotary || o.Gate.ID == "" || !o.Gate.Final {
		t.Fatalf("%d, %+v, degraded %q", o.ExitStatus(), o.Gate, o.Degraded)
	}
	write(t, filepath.Join(s.tree, "state"), "bad\n")
	red, err := s.run(t, checkFile)
	if err != nil {
		t.Fatal(err)
	}
	if red.ExitStatus() != 1 || red.Gate.Verdict != attempt.GateNotRun {
		t.Fatalf("%d, %+v", red.ExitStatus(), red.Gate)
	}
	b := s.proof(t)
	res, err := judge(t, b, o, s.identity)
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != verify.Verified || res.Level != receipts.LevelNotary || res.Ground != receipts.InClean {
		t.Errorf("%s, L%d, %v, %v", res.Verdict, res.Level, res.Ground, res.Refusals)
	}
	var kinds []string
	for _, r := range b.Records {
		kinds = append(kinds, string(r.Kind))
	}
	if got := strings.Join(kinds, " "); got != "notary run receipt consumption gate run receipt closing" && got != "notary run receipt gate consumption run receipt closing" {
		t.Errorf("the bundle has %s", got)
	}
	// By no other key.
	if _, other, err := receipts.GenerateKey("boss"); err != nil {
		t.Fatal(err)
	} else if res, err := judge(t, b, o, other); err != nil || res.Verdict == verify.Verified {
		t.Errorf("by a key that vouches for nothing: %v, %v", res, err)
	}
}

// TestCloseEnds: a run that does not end keeps nobody from what was recorded, and the log says nothing of being whole.
func TestCloseEnds(t *testing.T) {
	s := begin(t, work(t, nil), func(c *Config) { c.grace = time.Nanosecond })
	if _, err := s.run(t, checkFile); err != nil {
		t.Fatal(err)
	}
	s.settling.Lock() // the run waits for this first
	_, spec := bound(t, s.tree, checkFile)
	heard := make(chan error, 1)
	go func() {
		_, err := s.Start(t.Context(), spec)
		heard <- err
	}()
	for len(s.turns) == 0 { // it waits for its turn no longer, where the end of the session would find it
		runtime.Gosched()
	}
	if _, err := s.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "1 run did not end within 1ns") {
		t.Errorf("%v", err)
	}
	if err := <-heard; err == nil {
		t.Error("who asked heard nothing")
	}
	s.settling.Unlock()
	s.last.Wait() // it writes to folders of the test until then
	var text bytes.Buffer
	if err := s.Notary.Bundle(t.Context(), &text); err != nil {
		t.Fatal(err)
	}
	b, err := receipts.ParseBundle(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if last := b.Records[len(b.Records)-1]; last.Kind == receipts.KindClosing {
		t.Error("the log was closed")
	}
}

// TestResultsInPlace: who asks may put a link in the place of test results. The notary follows none out of the project, since it
// can read what the asker cannot.
func TestResultsInPlace(t *testing.T) {
	const results = `<testsuite tests="1"><testcase name="a"/></testsuite>`
	s := begin(t, work(t, map[string]string{
		"good.xml":     results,
		"reports/keep": "",
		"routing.toml": matrix + "\n[commands.test_file]\nverb = \"test\"\nnoun = \"file\"\ntool = \"cp good.xml reports/r.xml\"\njunit = \"reports/*.xml\"\n",
	}), func(c *Config) { c.InPlace = true })
	o, err := s.run(t, "Test with file\n")
	if err != nil || o.Results[0].Tests == nil || o.Results[0].Tests.Passed != 1 {
		t.Fatalf("%+v, %v", o.Results[0], err)
	}
	reports := filepath.Join(s.tree, "reports")
	if err := errors.Join(os.RemoveAll(reports), os.Symlink(t.TempDir(), reports)); err != nil {
		t.Fatal(err)
	}
	o, err = s.run(t, "Test with file\n")
	if err != nil || !o.Results[0].Verdict.Bad() || o.Results[0].Tests != nil {
		t.Fatalf("%+v, %v", o.Results[0], err)
	}
}

// TestChecksTested has the notary test the checks: the receipts of that are of its session, for the tree of the gate, and a
// check that notices nothing fails.
func TestChecksTested(t *testing.T) {
	for _, c := range []struct{ name, tool, verdict string }{
		{"noticed", "grep -n teh state", "passed"},
		{"blind", "grep -n never state", "failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begin(t, work(t, map[string]string{"check.sh": "! " + c.tool + "\n", "routing.toml": `[commands.check_words]
verb = "check"
noun = "words"
tool = "sh check.sh"
effect = "read"
control = { file = "state", text = "teh {nonce}" }
`}), nil)
			const script = "Check with words\nGate against results\n"
			o, err := s.run(t, script)
			if err != nil {
				t.Fatal(err)
			}
			_, spec := bound(t, s.tree, script)
			spec.Prove = true
			r, err := s.Start(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var notes []string
			doc, err := r.Proof(func(text string) { notes = append(notes, text) })
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			if c.verdict == "passed" {
				want = 1
			}
			if doc.Of != 1 || doc.Tested != want || doc.Place != receipts.InClean.Name() || len(notes) == 0 || doc.Lines[0].Receipt == nil {
				t.Errorf("%+v, %+v, %q", doc, doc.Lines[0], notes)
			}
			status, err := s.Client.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if last := status.Runs[len(status.Runs)-1]; last.Verdict != c.verdict || last.Checks != fmt.Sprintf("checks tested: %d of 1", want) || last.Gate != "" {
				t.Errorf("%+v", last)
			}
			if text, err := os.ReadFile(filepath.Join(s.tree, "state")); string(text) != "good\n" {
				t.Errorf("the working tree has %q, %v", text, err)
			}
			res, err := query(t, s.proof(t), verify.Query{Tree: o.Gate.Tree, Level: receipts.LevelNotary, Strict: true, ChecksTested: true}, s.identity)
			if err != nil {
				t.Fatal(err)
			}
			if verified := res.Verdict == verify.Verified; verified != (want == 1) {
				t.Errorf("%s, %+v, %v", res.Verdict, res.Checks, res.Refusals)
			}
		})
	}
}

// A session whose first record cannot be made leaves no file of its store open: a service tries anew for each question.
func TestOpenFails(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "notary")
	c := Config{Tree: work(t, nil), Folder: folder, Facts: Facts{Mode: "none that is known"}, Room: []string{roomName}}
	t.Setenv("TMPDIR", os.TempDir()) // Open sets it
	if n, err := Open(t.Context(), c); err == nil || n != nil {
		t.Error(n != nil, err)
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	for _, fd := range fds {
		if file, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.HasPrefix(file, folder) {
			t.Errorf("%s is open", file)
		}
	}
}

package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/voice"
	"github.com/command-dialect/dialect/runtime/attempt"
)

// files is a project, by the names of its files.
type files map[string]string

// matrix binds lines to commands that a shell has.
const matrix = `[commands.test_yes]
verb = "test"
noun = "yes"
tool = "true"
expect = { min_tests = 0 }
[commands.test_no]
verb = "test"
noun = "no"
tool = "false"
[commands.test_gone]
verb = "test"
noun = "gone"
tool = "no-such-program-here"
[commands.test_kept]
verb = "test"
noun = "kept"
tool = "true"
receipt_required = true
[commands.write_mark]
verb = "write"
noun = "mark"
tool = "touch {object}"
`

// inProject makes a project with a matrix and scripts, and works in it.
func inProject(t *testing.T, more files) {
	t.Helper()
	for _, name := range []string{"CI", "GITHUB_ACTIONS", "DIALECT_STORE", "DIALECT_NOTARY", "DIALECT_KEY_FD", "DIALECT_SESSION", "DIALECT_NONCE", attempt.JobsVariable} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", dir)
	all := files{"routing.toml": matrix}
	for name, text := range more {
		all[name] = text
	}
	for name, text := range all {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// said is what a run says.
type said struct{ out, err bytes.Buffer }

func (s *said) voice(t *testing.T) *voice.Voice {
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return &voice.Voice{In: in, Out: &s.out, Err: &s.err}
}

// piped is standard input that has text.
func piped(t *testing.T, text string) *os.File {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString(text); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { r.Close() })
	return r
}

// status is the exit status of an error, as Main gives it.
func status(err error) int {
	var st exit.Status
	var f *exit.Failure
	switch {
	case err == nil:
		return 0
	case errors.As(err, &st):
		return int(st)
	case errors.As(err, &f):
		return f.Status
	}
	return -1
}

func exists(name string) bool { _, err := os.Lstat(name); return err == nil }

// options are those of a plain run.
func options() *Options { return &Options{Output: "none"} }

// Options that contradict each other, or that mean nothing, are refused before anything is read.
func TestCheck(t *testing.T) {
	inProject(t, nil)
	for _, c := range []struct {
		set  func(o *Options)
		want string // in the message
	}{
		{func(o *Options) { o.Clean, o.InPlace = true, true }, "--clean and --in-place"},
		{func(o *Options) { o.FailFast, o.KeepGoing = true, true }, "--fail-fast and --keep-going"},
		{func(o *Options) { o.Jobs = -1 }, "--jobs -1"},
		{func(o *Options) { o.Changed, o.Failed = true, true }, "--changed"},
		{func(o *Options) { o.Changed, o.NoTree = true, true }, "--changed"},
		{func(o *Options) { o.Budget.Timeout = -1 }, "--timeout -1ns"},
		{func(o *Options) { o.Budget.Stall = -time.Second }, "--stall -1s"},
		{func(o *Options) { o.AcceptFlaky = "REASON" }, "in your own words"},
		{func(o *Options) { o.Output = "steam" }, `--output "steam"`},
		{func(o *Options) { o.MaxOutput = "much" }, `--max-output "much"`},
		{func(o *Options) { o.MaxOutput = "0" }, `--max-output "0"`},
		{func(o *Options) { o.Far.Engine = "airflow" }, "airflow"},
	} {
		o := options()
		c.set(o)
		for name, err := range map[string]error{"Check": o.Check(), "Run": o.Run(new(said).voice(t), []string{"missing.dlct"})} {
			if status(err) != exit.Usage || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: want a usage error about %s: %v", name, c.want, err)
			}
		}
	}
	near := options()
	near.Output = "steam"
	var f *exit.Failure
	if err := near.Check(); !errors.As(err, &f) || len(f.Hints) != 1 || f.Hints[0] != "did you mean stream?" {
		t.Errorf("%v, %q", err, f.Hints)
	}
	good := options()
	good.Clean, good.FailFast, good.Changed, good.Budget.Timeout, good.AcceptFlaky, good.Output, good.MaxOutput = true, true, true, 1, "the network", "tail", "2 KiB"
	if err := good.Check(); err != nil || good.Budget.MaxOutput != 2048 {
		t.Errorf("%v, %d bytes", err, good.Budget.MaxOutput)
	}
}

// DIALECT_JOBS bounds the jobs of a nested run, and never raises them.
func TestJobs(t *testing.T) {
	for _, c := range []struct {
		env         string
		jobs, want  int
		wantRefused bool
	}{{"", 0, 0, false}, {"", 8, 8, false}, {"3", 0, 3, false}, {"3", 8, 3, false}, {"3", 2, 2, false}, {"0", 1, 0, true}, {"-1", 1, 0, true}, {"many", 1, 0, true}} {
		t.Setenv(attempt.JobsVariable, c.env)
		o := options()
		o.Jobs = c.jobs
		err := o.Check()
		if c.wantRefused != (status(err) == exit.Usage) || err == nil && o.Jobs != c.want {
			t.Errorf("%+v: %d jobs, %v", c, o.Jobs, err)
		}
	}
}

// Several scripts run one after the other, also after a failure, and the first that did not pass gives the status.
func TestSeveral(t *testing.T) {
	scripts := files{"a.dlct": "Write one to mark\nTest with no\n", "b.dlct": "Write two to mark\nTest with yes\n", "bad.dlct": "Tset with yes\n", "gone.dlct": "Test with gone\n"}
	for _, c := range []struct {
		name     string
		set      func(o *Options)
		args     []string
		status   int
		one, two bool // which marks are there
	}{
		{"both", func(*Options) {}, []string{"a.dlct", "b.dlct"}, exit.Failed, true, true},
		{"the last fails", func(*Options) {}, []string{"b.dlct", "a.dlct"}, exit.Failed, true, true},
		{"the first that did not pass failed", func(*Options) {}, []string{"a.dlct", "gone.dlct"}, exit.Failed, true, false},
		{"the first that did not pass could not be completed", func(*Options) {}, []string{"gone.dlct", "a.dlct"}, exit.Fault, true, false},
		{"fail fast", func(o *Options) { o.FailFast = true }, []string{"a.dlct", "b.dlct"}, exit.Failed, true, false},
		{"one does not bind", func(*Options) {}, []string{"a.dlct", "bad.dlct"}, exit.Fault, false, false},
		{"one is missing", func(*Options) {}, []string{"a.dlct", "missing.dlct"}, exit.Usage, false, false},
		{"standard input", func(*Options) {}, []string{"a.dlct", "-"}, exit.Usage, false, false},
		{"--events", func(o *Options) { o.Events = "e" }, []string{"a.dlct", "b.dlct"}, exit.Usage, false, false},
		{"--junit", func(o *Options) { o.JUnit = "e" }, []string{"a.dlct", "b.dlct"}, exit.Usage, false, false},
		{"--html", func(o *Options) { o.HTML = "e" }, []string{"a.dlct", "b.dlct"}, exit.Usage, false, false},
		{"--key-fd", func(o *Options) { o.KeyFD = "3" }, []string{"a.dlct", "b.dlct"}, exit.Usage, false, false},
		{"--dry-run", func(o *Options) { o.DryRun = true }, []string{"a.dlct", "b.dlct"}, 0, false, false},
		{"one of them", func(*Options) {}, []string{"b.dlct"}, 0, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			inProject(t, scripts)
			o, s := options(), new(said)
			c.set(o)
			v := s.voice(t)
			v.In = piped(t, "Write one to mark\n")
			err := o.Run(v, c.args)
			if status(err) != c.status || exists("one") != c.one || exists("two") != c.two {
				t.Errorf("%v, one %t, two %t; want %d, %t, %t\n%s%s", err, exists("one"), exists("two"), c.status, c.one, c.two, s.out.String(), s.err.String())
			}
		})
	}
}

// The default script is that of [run]; standard input, lines and a name go before it.
func TestDefault(t *testing.T) {
	inProject(t, files{"routing.toml": "[run]\ndefault = \"d.dlct\"\n" + matrix, "d.dlct": "Write default to mark\n", "n.dlct": "Write named to mark\n"})
	for _, c := range []struct {
		lines, args []string
		in, want    string
	}{{nil, nil, "", "default"}, {[]string{"Write line to mark"}, nil, "", "line"}, {nil, []string{"n.dlct"}, "", "named"}, {nil, nil, "Write piped to mark\n", "piped"}} {
		o, s := options(), new(said)
		o.Lines = c.lines
		v := s.voice(t)
		if c.in != "" {
			v.In = piped(t, c.in)
		}
		if err := o.Run(v, c.args); err != nil {
			t.Errorf("%s: %v\n%s%s", c.want, err, s.out.String(), s.err.String())
		}
		for _, name := range []string{"default", "line", "named", "piped"} {
			if exists(name) != (name == c.want) {
				t.Errorf("%s: %s is there: %t", c.want, name, exists(name))
			}
			os.Remove(name)
		}
	}
}

// --failed runs what did not pass last time, and goes with a whole script alone.
func TestFailed(t *testing.T) {
	inProject(t, files{"s.dlct": "Test with yes\nTest with no\n"})
	s := new(said)
	if err := options().Run(s.voice(t), []string{"s.dlct"}); status(err) != exit.Failed {
		t.Fatalf("%v\n%s", err, s.err.String())
	}
	o, s := options(), new(said)
	o.Failed, o.JSON = true, true
	err := o.Run(s.voice(t), []string{"s.dlct"})
	var doc struct{ Lines []struct{ Text string } }
	if e := json.Unmarshal(s.out.Bytes(), &doc); e != nil || status(err) != exit.Failed || len(doc.Lines) != 1 || doc.Lines[0].Text != "Test with no" {
		t.Errorf("%v, %v: %s", err, e, s.out.String())
	}
	if err := o.Run(new(said).voice(t), []string{"s.dlct:2"}); status(err) != exit.Usage {
		t.Errorf("--failed with a line: %v", err)
	}
	// The last run again is that of the line that failed; a step of the first is a line of it.
	o, s = options(), new(said)
	o.JSON = true
	if err := o.Rerun(s.voice(t), ""); status(err) != exit.Failed {
		t.Errorf("rerun: %v\n%s", err, s.err.String())
	}
	if err := options().Rerun(new(said).voice(t), "r-00000000000000aa"); status(err) != exit.Failed && status(err) != exit.Usage {
		t.Errorf("a run that is not there: %v", err)
	}
}

// The files of a run are whole, and never in the place of a file that decides what is run, or of the store.
func TestFiles(t *testing.T) {
	inProject(t, files{"s.dlct": "Test with yes\nTest with no\n", "plain": "Test with yes\n"})
	o, s := options(), new(said)
	o.Events, o.JUnit, o.HTML, o.Version = "events", "junit.xml", "page.html", "1.2.3-test"
	recorded := o.Recorded
	if err := o.Run(s.voice(t), []string{"s.dlct"}); status(err) != exit.Failed {
		t.Fatalf("%v\n%s", err, s.err.String())
	}
	if !reflect.DeepEqual(o.Recorded, recorded) {
		t.Errorf("what one run is recorded as reaches the next: %+v", o.Recorded)
	}
	for name, want := range map[string]string{"junit.xml": `failures="1"`, "page.html": "1.2.3-test"} {
		if text, err := os.ReadFile(name); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, no %q in %.300s", name, err, want, text)
		}
	}
	text, err := os.ReadFile("events")
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if err != nil || len(lines) < 4 {
		t.Fatalf("%v, %s", err, text)
	}
	for _, line := range lines {
		if !json.Valid(line) {
			t.Errorf("events: %q", line)
		}
	}
	for _, name := range []string{"routing.toml", "plain", filepath.Join(".dialect", "store", "receipts.db")} {
		before, _ := os.ReadFile(name)
		for flag, o := range map[string]*Options{"events": {Output: "none", Events: name}, "junit": {Output: "none", JUnit: name}, "html": {Output: "none", HTML: name}} {
			if err := o.Run(new(said).voice(t), []string{"plain"}); status(err) != exit.Usage {
				t.Errorf("--%s %s: %v", flag, name, err)
			}
		}
		if after, _ := os.ReadFile(name); !bytes.Equal(before, after) {
			t.Errorf("%s was written", name)
		}
	}
}

// What a notary decides cannot be asked of it: the flags are refused before it is.
func TestNotaryFlags(t *testing.T) {
	inProject(t, files{"s.dlct": "Write one to mark\n"})
	for _, name := range []string{"store", "key-fd", "no-tree", "in-place", "base", "routing", "keep-going", "accept-flaky", "html"} {
		o := options()
		o.Notary, o.Given = "missing.sock", []string{"jobs", name}
		if err := o.Run(new(said).voice(t), []string{"s.dlct"}); status(err) != exit.Usage || !strings.Contains(err.Error(), "--"+name+" ") {
			t.Errorf("--%s: %v", name, err)
		}
	}
	o := options()
	o.Notary, o.Given = "missing.sock", []string{"jobs", "notary"}
	if err := o.Run(new(said).voice(t), []string{"s.dlct"}); status(err) != exit.Fault || exists("one") {
		t.Errorf("without a notary: %v; it ran here: %t", err, exists("one"))
	}
}

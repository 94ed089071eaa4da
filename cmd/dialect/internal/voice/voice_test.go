package voice

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/project"
)

// A message is one line with its label, whatever is in the names that it has; what could be a signing key is hidden.
func TestMessagesOfOneLine(t *testing.T) {
	private, _, err := receipts.GenerateKey("boss")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		say  func(v *Voice, text string)
		want string
	}{
		{func(v *Voice, text string) { v.Errorf("no %s", text) }, "dialect: error: no "},
		{func(v *Voice, text string) { v.Warnf("no %s", text) }, "dialect: warning: no "},
		{func(v *Voice, text string) { v.Notef("no %s", text) }, "dialect: no "},
		{func(v *Voice, text string) { v.Note("no " + text) }, "dialect: no "},
	} {
		var b bytes.Buffer
		v := &Voice{Err: &b}
		c.say(v, "a\ndialect: error: b\x1b[31m\u202e%d")
		line := b.String()
		if !strings.HasPrefix(line, c.want) || strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
			t.Errorf("want one line that begins with %q: %q", c.want, line)
		}
		if strings.ContainsAny(line, "\x1b\u202e") || !strings.Contains(line, "%d") {
			t.Errorf("a name drives the terminal, or is a format: %q", line)
		}
		b.Reset()
		if c.say(v, private); strings.Contains(b.String(), private) {
			t.Errorf("%q shows a signing key", b.String())
		}
	}
}

// Each line of a hint stands below the first, and none of them is a line of its own.
func TestHintf(t *testing.T) {
	var b bytes.Buffer
	v := &Voice{Err: &b}
	v.Hintf("say\n%s\n", "[commands]\x1b[2J\nx = 1\n")
	if b.String() != "  hint: say\n        [commands]\ufffd[2J\n        x = 1\n" {
		t.Errorf("%q", b.String())
	}
	private, _, err := receipts.GenerateKey("boss")
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if v.Hintf("%s", private); strings.Contains(b.String(), private) {
		t.Errorf("%q shows a signing key", b.String())
	}
}

// Standard output remembers the first write that failed, so that no command succeeds whose answer is lost.
func TestLost(t *testing.T) {
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	name := filepath.Join(t.TempDir(), "out")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	v := of(in, out, out)
	if _, err := fmt.Fprint(v.Out, "kept"); err != nil || v.Lost() != nil {
		t.Fatalf("%v, %v", err, v.Lost())
	}
	if v.OutTTY || v.ErrTTY || v.Typed() {
		t.Error("files are terminals")
	}
	out.Close()
	_, first := fmt.Fprint(v.Out, "lost")
	if v.Lost() == nil || v.Lost() != first {
		t.Errorf("lost: %v, want %v", v.Lost(), first)
	}
	if _, second := fmt.Fprint(v.Out, "again"); v.Lost() != first {
		t.Errorf("the second error took the place of the first: %v, %v", v.Lost(), second)
	}
	if text, _ := os.ReadFile(name); string(text) != "kept" {
		t.Errorf("%q", text)
	}
}

// What stands whether or not it can be printed is on standard error, if it is short; an answer that asks again is not.
func TestTellLost(t *testing.T) {
	for name, tt := range map[string]struct {
		say  func(v *Voice)
		want string
	}{
		"nothing was lost": {func(*Voice) {}, ""},
		"an answer":        {func(v *Voice) { fmt.Fprint(v.Out, "VERIFIED\n") }, "dialect: error: gone\n"},
		"what stands": {func(v *Voice) {
			fmt.Fprint(v.Out, "before\n")
			v.Stands()
			fmt.Fprint(v.Out, "consumed \x1b1\n")
			fmt.Fprint(v.Out, "consumed 2\n")
		}, "dialect: error: gone\ndialect: this was to be written there:\nconsumed \ufffd1\nconsumed 2\n"},
		"what is long": {func(v *Voice) {
			v.Stands()
			fmt.Fprint(v.Out, "a\n", strings.Repeat("x", maxUnsaid))
		}, "dialect: error: gone\n"},
	} {
		var told bytes.Buffer
		v := &Voice{Err: &told}
		v.answer.w, v.Out = gone{}, &v.answer
		tt.say(v)
		v.TellLost()
		if told.String() != tt.want {
			t.Errorf("%s: %q, want %q", name, told.String(), tt.want)
		}
	}
}

// gone takes nothing.
type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestPiped(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "script"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, c := range []struct {
		name string
		in   *os.File
		want bool
	}{{"a pipe", r, true}, {"a file", file, true}, {"/dev/null", null, false}} {
		if got := (&Voice{In: c.in}).Piped(); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
	if r.Close(); (&Voice{In: r}).Piped() {
		t.Error("a closed standard input may hold a script")
	}
}

func TestColor(t *testing.T) {
	for _, c := range []struct {
		no, force, term string
		tty, want       bool
	}{
		{"", "", "xterm", true, true}, {"", "", "xterm", false, false}, {"", "", "dumb", true, false},
		{"1", "", "xterm", true, false}, {"1", "1", "xterm", true, false},
		{"", "1", "dumb", false, true}, {"", "0", "xterm", false, false}, {"", "0", "xterm", true, true},
	} {
		t.Setenv("NO_COLOR", c.no)
		t.Setenv("FORCE_COLOR", c.force)
		t.Setenv("TERM", c.term)
		if got := Color(c.tty); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

type page struct{ Text string }

func (p page) WriteText(w io.Writer) error {
	_, err := fmt.Fprintln(w, "for people: "+p.Text)
	return err
}

// As JSON a document is whole, and nothing of it is escaped that JSON does not need to.
func TestPrint(t *testing.T) {
	var b bytes.Buffer
	v := &Voice{Out: &b}
	if err := v.Print(false, page{"a <b>"}); err != nil || b.String() != "for people: a <b>\n" {
		t.Errorf("%v, %q", err, b.String())
	}
	b.Reset()
	if err := v.Print(true, page{"a <b> & c"}); err != nil || b.String() != "{\n  \"Text\": \"a <b> & c\"\n}\n" {
		t.Errorf("%v, %q", err, b.String())
	}
}

// Of many findings some are printed, and the rest is counted.
func TestDiagnostics(t *testing.T) {
	var list diag.List
	for i := range maxDiagnostics + 7 {
		list = append(list, diag.Diagnostic{File: "s", Severity: diag.Error, Code: diag.BadValue, Message: fmt.Sprintf("fault-%d.", i)})
	}
	var b bytes.Buffer
	v := new(Voice)
	if err := v.Diagnostics(&b, false, list, nil); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "fault-"); n != maxDiagnostics || !strings.Contains(b.String(), "7 ") {
		t.Errorf("%d findings, and then %q", n, b.String()[strings.LastIndex(b.String(), "fault-"):])
	}
}

// What differs is shown with its names, and nothing in it acts on a terminal.
func TestDiff(t *testing.T) {
	var b bytes.Buffer
	v := &Voice{Out: &b}
	if err := v.Changes([]policy.Change{{Path: "a\nb.toml", Old: []byte("x = 1\n"), New: []byte("x = 2\x1b[8m\n")}, {Path: "c.toml", New: []byte("y = 1\n")}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--- trusted/a b.toml\n", "+++ present/a b.toml\n", "\n-x = 1\n", "\n+x = 2\ufffd[8m\n", "+++ present/c.toml\n", "\n+y = 1\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in %q", want, b.String())
		}
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q", b.String())
	}
	b.Reset()
	s := &project.Script{Name: "s.dlct", Text: []byte("test with  go\n")}
	if err := v.ScriptDiff(s, "canonical", []byte("Test with go\n")); err != nil || !strings.Contains(b.String(), "+++ s.dlct (canonical)\n") || !strings.Contains(b.String(), "\n+Test with go\n") {
		t.Errorf("%v, %q", err, b.String())
	}
	b.Reset()
	s.Text = []byte("::error::a\n##[b]\nc\nd\n")
	if err := v.ScriptDiff(s, "x", []byte("::error::a\n##[b]\nc\nD\n")); err != nil || !strings.Contains(b.String(), "\n| ::error::a\n| ##[b]\n c\n-d\n") {
		t.Errorf("%v, %q", err, b.String()) // a runner of GitHub leaves out blanks before a command
	}
	b.Reset()
	s.Text = bytes.Repeat([]byte("x"), maxDiff+1)
	if err := v.ScriptDiff(s, "canonical", nil); err != nil || b.String() != "s.dlct would change, and is too large to show how\n" {
		t.Errorf("%v, %.200q", err, b.String())
	}
}

package view

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// script makes a plan of n lines, the last of them a composite of members.
func script(n, members int) *plan.Plan {
	p := new(plan.Plan)
	for i := range n {
		p.Steps = append(p.Steps, &plan.Step{ID: fmt.Sprint(i + 1), Kind: plan.Process, Argv: []string{"x", "a b"}, Line: plan.Line{Text: fmt.Sprintf("Check with tool-%d", i+1)}})
	}
	if members > 0 {
		c := &plan.Step{ID: fmt.Sprint(n + 1), Kind: plan.Composite, Line: plan.Line{Text: "Check with all"}}
		for i := range members {
			c.Members = append(c.Members, &plan.Step{ID: fmt.Sprintf("%d.%d", n+1, i+1), Kind: plan.Process, Verb: "check", Noun: fmt.Sprintf("part-%d", i+1)})
		}
		p.Steps = append(p.Steps, c)
	}
	return p
}

// A terminal understands as much of the control sequences as a live view uses.
type terminal struct {
	cols     int
	lines    []string
	row, col int
	writes   int
}

func (t *terminal) Write(p []byte) (int, error) {
	t.writes++
	text := string(p)
	for text != "" {
		if rest, ok := strings.CutPrefix(text, "\x1b["); ok {
			i := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' })
			arg, cmd := rest[:i], rest[i]
			text = rest[i+1:]
			switch cmd {
			case 'K':
				t.lines[t.row] = t.cut()
			case 'J':
				t.line()
				t.lines[t.row] = t.cut()
				t.lines = t.lines[:t.row+1]
			case 'A':
				n := 1
				fmt.Sscan(arg, &n)
				t.row -= n
				if t.row < 0 {
					panic("above the top")
				}
			case 'm', 'h', 'l':
			default:
				panic("unknown: " + string(cmd))
			}
			continue
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		t.line()
		switch r {
		case '\r':
			t.col = 0
		case '\n':
			t.row++
			t.col = 0
			t.line()
		default:
			if t.col+columns(r) > t.cols {
				panic("a line wraps: " + t.lines[t.row])
			}
			t.lines[t.row] = t.cut() + string(r)
			t.col += columns(r)
		}
	}
	return len(p), nil
}

func (t *terminal) line() {
	for len(t.lines) <= t.row {
		t.lines = append(t.lines, "")
	}
}

// cut is the row up to the cursor.
func (t *terminal) cut() string {
	t.line()
	return fit2(t.lines[t.row], t.col)
}

func fit2(s string, n int) string {
	used := 0
	for i, r := range s {
		if used >= n {
			return s[:i]
		}
		used += columns(r)
	}
	return s
}

func (t *terminal) screen() string {
	return strings.TrimRight(strings.Join(t.lines, "\n"), "\n")
}

func still(out *terminal, cols, rows int, clock *time.Time) *live {
	out.cols = cols
	l := newLive(Options{Out: out, Size: func() (int, int) { return out.cols, rows }, every: time.Hour,
		Redact: redact.New(redact.Options{Declared: []string{"hunter22-secret"}})})
	l.now = func() time.Time { return *clock }
	l.began = *clock
	return l
}

func TestLive(t *testing.T) {
	clock := time.Unix(1e9, 0)
	out := new(terminal)
	l := still(out, 60, 24, &clock)
	defer l.Close()
	p := script(2, 3)
	tick := func(d time.Duration) {
		clock = clock.Add(d)
		l.mu.Lock()
		l.draw()
		l.mu.Unlock()
	}
	l.Listen(engine.RunStarted{Plan: p})
	l.Listen(attempt.Started{Step: p.Steps[0], Attempt: 1, At: clock})
	if tick(100 * time.Millisecond); out.writes > 0 {
		t.Errorf("drawn at once: %q", out.screen())
	}
	l.Listen(attempt.Output{Step: p.Steps[0], Data: []byte("\x1b[31mred\x1b[0m line\nnot yet compl")})
	tick(2 * time.Second)
	check := func(want string) {
		t.Helper()
		if got := out.screen(); got != strings.TrimPrefix(want, "\n") {
			t.Errorf("got\n%s\nwant%s", got, want)
		}
	}
	check(`
  1 Check with tool-1   2.1s  red line
  waiting: 2 Check with tool-2, 3.1 check part-1, 3.2 chec…
[..............................] 0/5, 2.1s`)
	n := out.writes
	if tick(0); out.writes != n {
		t.Error("drawn although nothing changed")
	}
	l.Listen(attempt.Output{Step: p.Steps[0], Data: []byte("\n10%\r20%\rthe hunter22-secret\r\n")})
	l.Print("dialect: a message")
	l.Listen(engine.StepFinished{Result: &engine.Result{Report: attempt.Report{Step: p.Steps[0], Verdict: schedule.Failed, Detail: "exit 1", Failures: failed(diagnose.Finding{File: "a.go", Line: 3, Message: "undefined: x and more than fits into the line"})}}})
	l.Listen(attempt.Started{Step: p.Steps[1], Attempt: 2, At: clock})
	tick(63 * time.Second)
	check(`
dialect: a message
FAIL 1 Check with tool-1: failed, exit 1: a.go:3: undefine…
  2 Check with tool-2  1m03s attempt 2
  waiting: 3.1 check part-1, 3.2 check part-2, 3.3 check p…
[######........................] 1/5, 1 failed, 1m05s`)
	if strings.Contains(fmt.Sprint(out.lines), "hunter22") {
		t.Error("a secret is shown")
	}
	l.Listen(engine.StepFinished{Result: &engine.Result{Report: attempt.Report{Step: p.Steps[1], Verdict: schedule.Passed}}})
	m := p.Steps[2].Members
	l.Listen(attempt.Started{Step: m[2], At: clock})
	l.Listen(attempt.Started{Step: m[0], At: clock})
	l.Listen(engine.StepWaiting{Step: m[1], Lock: "db", Holder: "x.dlct:1 of r-1"})
	tick(time.Second)
	check(`
dialect: a message
FAIL 1 Check with tool-1: failed, exit 1: a.go:3: undefine…
  3.1 check part-1   1.0s
  3.3 check part-3   1.0s
  waiting: 3.2 check part-2 (for db, held by x.dlct:1 of r…
[############..................] 2/5, 1 failed, 1m06s`)
	l.Listen(engine.RunFinished{})
	check(`
dialect: a message
FAIL 1 Check with tool-1: failed, exit 1: a.go:3: undefine…`)
	n = out.writes
	if tick(time.Second); out.writes != n {
		t.Error("drawn after the end")
	}
}

// No size of terminal, and no output, makes a line wrap or the region grow past the screen.
func TestLiveSizes(t *testing.T) {
	for _, members := range []int{1, 30, 300} {
		for _, cols := range []int{8, 9, 20, 40, 80, 300} {
			for _, rows := range []int{1, 2, 5, 24, 60} {
				clock := time.Unix(1e9, 0)
				out := new(terminal)
				l := still(out, cols, rows, &clock)
				p := script(1, members)
				l.Listen(engine.RunStarted{Plan: p})
				for i, m := range p.Steps[1].Members {
					l.Listen(attempt.Started{Step: m, At: clock})
					l.Listen(attempt.Output{Step: m, Data: []byte(strings.Repeat("日本語 🙂 e\u0301\t\u202e", i) + "\n")})
				}
				for range 3 {
					clock = clock.Add(time.Second)
					l.mu.Lock()
					l.draw()
					l.mu.Unlock()
				}
				if n := len(out.lines); n > max(rows-1, 1) {
					t.Errorf("%d members on %d x %d: %d lines\n%s", members, cols, rows, n, out.screen())
				}
				l.Close()
				if out.screen() != "" {
					t.Errorf("left behind:\n%s", out.screen())
				}
			}
		}
	}
}

// A terminal that became narrower has wrapped what was drawn: the cursor moves up by more.
func TestLiveNarrower(t *testing.T) {
	clock := time.Unix(1e9, 0)
	out := new(terminal)
	l := still(out, 80, 24, &clock)
	p := script(3, 0)
	l.Listen(engine.RunStarted{Plan: p})
	l.Listen(attempt.Started{Step: p.Steps[0], At: clock})
	clock = clock.Add(time.Second)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.draw()
	rows := 0
	for _, w := range l.drawn {
		rows += (w + 19) / 20
	}
	if got, want := l.home(20), fmt.Sprintf("\r\x1b[%dA", rows-1); got != want || rows <= len(l.drawn) {
		t.Errorf("got %q, want %q", got, want)
	}
	l.closed = true
	l.ticks.stop()
}

func TestLines(t *testing.T) {
	for mode, want := range map[Mode]string{
		Stream: `1 Check with tool-1 | $ x 'a b'
1 Check with tool-1 | red
1 Check with tool-1 | [redacted]
1 Check with tool-1 | failed, exit 1, 1.50 s
`,
		Group: "== 1 Check with tool-1: failed, exit 1, 1.50 s\n" + indented(1, 12),
		Tail:  "== 1 Check with tool-1: failed, exit 1, 1.50 s\n  ... (all of it: not kept)\n" + indented(3, 12),
		None:  "", Beat: "",
	} {
		var b bytes.Buffer
		v := New(mode, Options{Out: &b, Redact: redact.New(redact.Options{Declared: []string{"hunter22-secret"}})})
		p := script(1, 0)
		s := p.Steps[0]
		v.Listen(engine.RunStarted{Plan: p})
		v.Listen(attempt.Started{Step: s, At: time.Now()})
		v.Listen(attempt.Output{Step: s, Data: []byte("\x1b[31mre")})
		v.Listen(attempt.Output{Step: s, Data: []byte("d\nhunter22-secret")})
		v.Hide()
		v.Listen(engine.StepFinished{Result: &engine.Result{Report: attempt.Report{Step: s, Verdict: schedule.Failed, Detail: "exit 1", Started: time.Now(), Duration: 1500 * time.Millisecond,
			Process: &process.Result{Tail: []byte(strings.ReplaceAll(indented(1, 12), "  ", ""))}}}})
		v.Close()
		got := b.String()
		if i := strings.Index(got, "[redacted"); i >= 0 {
			j := strings.IndexByte(got[i:], ']')
			got = got[:i] + "[redacted" + got[i+j:]
		}
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", mode, got, want)
		}
	}
}

// TestSecrets holds that no mode shows a secret: not in the text of a line, not in a detail, and not one that is whole only
// where what stands in its midst is not shown.
func TestSecrets(t *testing.T) {
	const secret = "hunter22-secret"
	for _, mode := range []Mode{Live, Group, Stream, Tail, Beat} {
		out := &bytes.Buffer{}
		v := New(mode, Options{Out: out, Redact: redact.New(redact.Options{Declared: []string{secret}}), every: time.Millisecond})
		p := script(2, 0)
		for _, s := range p.Steps {
			s.Line.Text += " " + secret
		}
		tail := "hunter22\x1b[31m-secret\n" + `{"Action":"output","Package":"p","Output":"hunter22"}` + "\n" + `{"Action":"output","Package":"p","Output":"-secret\n"}` + "\n"
		v.Listen(engine.RunStarted{Plan: p})
		for _, s := range p.Steps {
			v.Listen(attempt.Started{Step: s, At: time.Now()})
			v.Listen(attempt.Output{Step: s, Data: []byte(tail)})
		}
		v.Listen(engine.StepWaiting{Step: p.Steps[0], Lock: secret, Holder: secret})
		time.Sleep(20 * time.Millisecond) // some are drawn from time to time
		for _, s := range p.Steps {
			v.Listen(engine.StepFinished{Result: &engine.Result{Report: attempt.Report{Step: s, Verdict: schedule.Failed, Detail: "its word is " + secret, Started: time.Now(),
				Process: &process.Result{Tail: []byte(tail)}}}})
		}
		v.Close()
		if got := out.String(); strings.Contains(report.Plain(got), secret) || got == "" && mode != Beat {
			t.Errorf("%s: %q", mode, got)
		}
	}
}

// TestLastLine: the last line that is shown has no part of a secret, also where its beginning came before the output that is kept, or its end has not
// come yet.
func TestLastLine(t *testing.T) {
	secret := "first-secret\nsecond-secret\nthird-secret"
	o := Options{Redact: redact.New(redact.Options{Declared: []string{secret}})}
	for _, x := range []struct{ output, want string }{
		{"ok\nfirst-secret\nsecond-", "ok"},
		{strings.Repeat("x", 9) + "\n" + secret[1:] + "\n" + strings.Repeat("y", keepTail-len(secret)-1) + "\n", strings.Repeat("y", keepTail-len(secret)-1)},
		{secret + strings.Repeat("y", keepTail-len(secret)) + "\r", strings.Repeat("y", keepTail-len(secret))},
		{"ok\n-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("0123456789abcdef\n", 200), "ok"},
		{strings.Repeat("\r 10 %\r 20 %", 1<<12), "10 %"},
	} {
		r := new(running)
		r.keep([]byte(x.output))
		if got := r.last(o); got != x.want {
			t.Errorf("%.60q: %q, want %.60q", x.output, got, x.want)
		}
	}
}

func indented(from, to int) (s string) {
	for i := from; i <= to; i++ {
		s += fmt.Sprintf("  line %d\n", i)
	}
	return s
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestBeat(t *testing.T) {
	out := new(syncBuffer)
	v := New(Beat, Options{Out: out, every: time.Millisecond})
	p := script(3, 0)
	v.Listen(engine.RunStarted{Plan: p})
	v.Listen(engine.StepWaiting{Step: p.Steps[2], Lock: "db", Holder: "q:1 of r-1"})
	for range 20_000 {
		if strings.Contains(out.String(), "[0/3] 3 Check with tool-3 waits for db, held by q:1 of r-1\n") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	v.Listen(attempt.Started{Step: p.Steps[0], At: time.Now()})
	v.Listen(attempt.Started{Step: p.Steps[1], At: time.Now()})
	line := regexp.MustCompile(`\[0/3\] 1 Check with tool-1 and 1 more, [0-9]+ s; 3 Check with tool-3 waits for db, held by q:1 of r-1\n`) // a busy machine begins late
	for range 20_000 {
		if line.MatchString(out.String()) {
			v.Close()
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("got %s", out.String())
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abc", 0, ""}, {"日本", 4, "日本"}, {"日本語", 4, "日…"}, {"日本語", 5, "日本…"}, {"e\u0301e\u0301", 2, "e\u0301e\u0301"}, {"a", 1, "a"}, {"ab", 1, "…"},
	} {
		if got := fit(c.in, c.n); got != c.want {
			t.Errorf("fit(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func BenchmarkLiveDraw(b *testing.B) {
	clock := time.Unix(1e9, 0)
	out := new(bytes.Buffer)
	l := newLive(Options{Out: out, every: time.Hour})
	defer l.Close()
	l.now, l.began = func() time.Time { return clock }, clock
	p := script(1, 30)
	l.Listen(engine.RunStarted{Plan: p})
	for _, m := range p.Steps[1].Members {
		l.Listen(attempt.Started{Step: m, At: clock})
	}
	for b.Loop() {
		clock = clock.Add(time.Second)
		l.Listen(attempt.Output{Step: p.Steps[1].Members[3], Data: []byte("a line of output\n")})
		l.mu.Lock()
		l.draw()
		l.mu.Unlock()
		out.Reset()
	}
}

func failed(f diagnose.Finding) diagnose.Failures {
	return diagnose.Failures{List: []diagnose.Failure{{Finding: f}}, Total: 1}
}

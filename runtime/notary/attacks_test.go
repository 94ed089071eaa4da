package notary

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
)

// send sends bytes as they are, and returns what comes back until the notary ends the connection.
func send(t testing.TB, socket string, text []byte) []byte {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = c.Write(text) // the notary may have closed it
	_ = c.(*net.UnixConn).CloseWrite()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	out, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the notary neither answers %.40q nor ends the connection", text)
	}
	return out
}

func framed(text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// TestHostile: no bytes end the notary, and none starts anything that is not asked for as the protocol says it.
func TestHostile(t *testing.T) {
	s := begin(t, work(t, nil), nil)
	hello := string(framed(`{"hello":1}`))
	deep := strings.Repeat(`{"start":`, 50_000)
	for name, text := range map[string]string{
		"nothing":           "",
		"garbage":           "GET / HTTP/1.1\r\n\r\n",
		"a huge frame":      "\xff\xff\xff\xff" + strings.Repeat("x", 1<<16),
		"an empty frame":    "\x00\x00\x00\x00",
		"no JSON":           hello + string(framed("x")),
		"half a frame":      hello + "\x00\x00\x01\x00{",
		"deep":              hello + string(framed(deep)),
		"another version":   string(framed(`{"hello":2}`)),
		"no hello":          string(framed(`{"status":{}}`)),
		"nothing known":     hello + string(framed(`{}`)),
		"two objects":       hello + string(framed(`{"status":{}}{"status":{}}`)),
		"a plan":            hello + string(framed(`{"start":{"script":"","name":"x","folder":"/","plan":{"steps":[]}}}`)),
		"an expectation":    hello + string(framed(`{"start":{"script":"","name":"x","folder":"/","expect":{"min_tests":-1}}}`)),
		"another store":     hello + string(framed(`{"start":{"script":"","name":"x","folder":"/","store":"/tmp/x"}}`)),
		"no folder":         hello + string(framed(`{"start":{"script":"eA==","name":"x"}}`)),
		"a relative folder": hello + string(framed(`{"start":{"script":"eA==","name":"x","folder":"."}}`)),
		"a path":            hello + string(framed(`{"document":{"run":"../../store/receipts.db"}}`)),
		"no run":            hello + string(framed(`{"cut":{"run":"r-0"}}`)),
		"a signal":          hello + string(framed(`{"cut":{"run":"r-0","signal":"SIGSTOP"}}`)),
		"an output":         hello + string(framed(`{"output":{"sha256":"`+strings.Repeat("0", 64)+`"}}`)),
	} {
		out := string(send(t, s.socket, []byte(text)))
		for _, secret := range []string{"SQLite", `"event"`, "PRIVATE"} {
			if strings.Contains(out, secret) {
				t.Errorf("%s: the answer has %q", name, secret)
			}
		}
	}
	if st, err := s.Client.Status(t.Context()); err != nil || st.Records != 1 {
		t.Errorf("%+v, %v", st, err)
	}
	if o, err := s.run(t, checkFile); err != nil || o.ExitStatus() != 0 {
		t.Errorf("an honest run after that: %v", err)
	}
}

// TestFlood: those who connect and send nothing keep nobody else out for longer than the notary waits for them.
func TestFlood(t *testing.T) {
	many := 10_000
	if testing.Short() {
		many = 1_000
	}
	s := begin(t, work(t, nil), nil)
	var held []net.Conn
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range many / 8 {
				c, err := net.Dial("unix", s.socket)
				if err != nil {
					continue // the backlog is full
				}
				mu.Lock()
				if held = append(held, c); len(held) > 500 { // or this process has no descriptor left
					held[0].Close()
					held = held[1:]
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	for until := time.Now().Add(time.Minute); ; {
		o, err := s.run(t, checkFile)
		if err == nil && o.ExitStatus() == 0 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the notary answers nobody: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// TestAnotherTree: a notary reads the rules of its own tree alone, whatever path leads elsewhere.
func TestAnotherTree(t *testing.T) {
	s := begin(t, work(t, nil), nil)
	other := work(t, map[string]string{"routing.toml": strings.ReplaceAll(matrix, "grep -q good state", "true")})
	link := filepath.Join(s.tree, "link")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{other, link, filepath.Dir(s.tree), "/", filepath.Join(s.tree, "..", "work", "nothing")} {
		p, spec := bound(t, s.tree, checkFile)
		spec.Folder = dir
		var refused *Refused
		if o, err := s.ask(t, p, spec); !errors.As(err, &refused) {
			t.Errorf("%s: %v, %v", dir, o, err)
		}
		spec.Folder, spec.Path = s.tree, filepath.Join(dir, "quality.dlct")
		if o, err := s.ask(t, p, spec); !errors.As(err, &refused) {
			t.Errorf("a script in %s: %v, %v", dir, o, err)
		}
	}
}

// TestEditedRules: rules that were changed since the session began are refused by name.
func TestEditedRules(t *testing.T) {
	loose := strings.ReplaceAll(matrix, "grep -q good state", "true")
	for name, c := range map[string]struct {
		edit func(t *testing.T, dir string)
		want string
	}{
		"the matrix": {func(t *testing.T, dir string) { write(t, filepath.Join(dir, "routing.toml"), loose) }, "routing.toml differs"},
		"committed": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "routing.toml"), loose)
			gitIn(t, dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qam", "loose")
		}, "routing.toml differs"},
		"a file that it extends": {func(t *testing.T, dir string) { write(t, filepath.Join(dir, "more.toml"), "# other\n") }, "more.toml differs"},
		"gone":                   {func(t *testing.T, dir string) { _ = os.Remove(filepath.Join(dir, "more.toml")) }, "cannot bind"},
		"a link": {func(t *testing.T, dir string) {
			path := filepath.Join(dir, "routing.toml")
			write(t, filepath.Join(dir, "loose"), loose)
			if err := errors.Join(os.Remove(path), os.Symlink("loose", path)); err != nil {
				t.Fatal(err)
			}
		}, "differs"},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, work(t, map[string]string{"routing.toml": "extends = [\"./more.toml\"]\n" + matrix, "more.toml": "# rules\n"}), nil)
			p, spec := bound(t, s.tree, checkFile)
			write(t, filepath.Join(s.tree, "state"), "bad\n")
			c.edit(t, s.tree)
			o, err := s.ask(t, p, spec)
			var refused *Refused
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, %v", o, err)
			}
		})
	}
	t.Run("a nearer matrix", func(t *testing.T) {
		s := begin(t, work(t, map[string]string{"sub/state": "bad\n"}), nil)
		p, spec := bound(t, filepath.Join(s.tree, "sub"), checkFile)
		write(t, filepath.Join(s.tree, "sub", "routing.toml"), loose)
		o, err := s.ask(t, p, spec)
		var refused *Refused
		if !errors.As(err, &refused) || !refused.Rules {
			t.Errorf("%v, %v", o, err)
		}
	})
}

// TestSwapped: what is put into the tree while a run lasts is not seen by its commands, and the gate is about what was
// there before.
func TestSwapped(t *testing.T) {
	dir := work(t, map[string]string{"state": "bad\n", "routing.toml": matrix + `
[commands.check_late]
verb = "check"
noun = "late"
tool = "sh -c 'sleep 0.5; grep good state'"
effect = "read"
`})
	s := begin(t, dir, nil)
	p, spec := bound(t, dir, "Check with late\nGate against results\n")
	r := during(t, s, p, spec, func(r *Run) {
		write(t, filepath.Join(dir, "state"), "good\n")
	})
	if o := r.Outcome(); o.ExitStatus() != 1 {
		t.Errorf("%d, %+v", o.ExitStatus(), o.Gate)
	}
}

// TestReach: commands name and reach neither the notary's process nor its folder, in a clean checkout and in the working
// tree; a filter of git is not run.
func TestReach(t *testing.T) {
	for _, inPlace := range []bool{false, true} {
		t.Run(fmt.Sprintf("in place %v", inPlace), func(t *testing.T) {
			seen := filepath.Join(t.TempDir(), "seen")
			dir := work(t, map[string]string{"routing.toml": matrix + `
[commands.check_reach]
verb = "check"
noun = "reach"
tool = "sh -c 'kill -0 ` + strconv.Itoa(os.Getpid()) + ` && echo KILLS; ls \"$0\"/store && echo LISTS; exit 0' {folder}"
effect = "read"
`, ".gitattributes": "state filter=evil\n"})
			write(t, seen, "")
			s := begin(t, dir, func(c *Config) { c.InPlace = inPlace })
			gitIn(t, dir, "config", "filter.evil.clean", "sh -c 'kill -0 "+strconv.Itoa(os.Getpid())+" && echo KILLS >>"+seen+"; ls "+s.c.Folder+"/store/* >>"+seen+"; echo ran >>"+seen+"; cat'")
			p, spec := bound(t, dir, "Check with reach folder="+s.c.Folder+"\nGate against results\n")
			spec.Output = true
			r, err := s.Start(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var out strings.Builder
			for e := range told(t, r, p) {
				if e, ok := e.(attempt.Output); ok {
					out.Write(e.Data)
				}
			}
			o := r.Outcome()
			if o.ExitStatus() != 0 || strings.Contains(out.String(), "KILLS") || strings.Contains(out.String(), "LISTS") || !strings.Contains(out.String(), "No such") && !strings.Contains(out.String(), "cannot") {
				t.Errorf("%d %+v\n%s", o.ExitStatus(), o.Results[0].Detail, out.String())
			}
			text, err := os.ReadFile(seen)
			if err != nil || len(text) > 0 {
				t.Errorf("the filter of git ran: %v\n%s", err, text)
			}
			if want := receipts.LevelNotary; !inPlace && o.Gate.Level != want {
				t.Errorf("level %d", o.Gate.Level)
			} else if inPlace && o.Gate.Level >= want {
				t.Errorf("in the working tree: level %d", o.Gate.Level)
			}
		})
	}
}

// TestSecondStart: a folder has one notary, and a session begins with no store.
func TestSecondStart(t *testing.T) {
	s := begin(t, work(t, nil), nil)
	c := s.c
	if n, err := Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "another notary") {
		t.Errorf("%v, %v", n, err)
	}
	if _, err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "has a store already") {
		t.Errorf("%v, %v", n, err)
	}
	if _, err := s.run(t, checkFile); err == nil {
		t.Error("a notary that was closed runs a script")
	}
}

// TestGone: a client that is gone ends its run, and the log says so.
func TestGone(t *testing.T) {
	s := begin(t, work(t, nil), nil)
	p, spec := bound(t, s.tree, "Test with slow\nGate against results\n")
	r, err := s.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	for e := range told(t, r, p) {
		if _, ok := e.(attempt.Started); ok {
			break
		}
	}
	r.Close()
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		st, err := s.Client.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if st.Running == 0 && len(st.Runs) == 1 && st.Runs[0].Verdict != "passed" {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("%+v", st)
		}
	}
}

// TestCut ends a run by the signal that its client got.
func TestCut(t *testing.T) {
	s := begin(t, work(t, nil), nil)
	p, spec := bound(t, s.tree, "Test with slow\nGate against results\n")
	r := during(t, s, p, spec, func(r *Run) {
		if err := errors.Join(r.Pause(t.Context(), true), r.Pause(t.Context(), false), r.Cut(t.Context(), "SIGTERM", false)); err != nil {
			t.Fatal(err)
		}
	})
	if o := r.Outcome(); o.Signal != "SIGTERM" || o.ExitStatus() != 143 {
		t.Errorf("%q, %d", o.Signal, o.ExitStatus())
	}
}

// TestPausedEnds ends a session with a run that was paused, of a command that takes no SIGTERM: no grace passes while it is paused.
func TestPausedEnds(t *testing.T) {
	s := begin(t, work(t, map[string]string{"stays.sh": "trap '' TERM INT HUP\nsleep 300\n", "routing.toml": matrix + "\n[commands.test_stays]\nverb = \"test\"\nnoun = \"stays\"\ntool = \"sh stays.sh\"\neffect = \"read\"\n"}), nil)
	p, spec := bound(t, s.tree, "Test with stays\nGate against results\n")
	r, err := s.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for e := range told(t, r, p) {
		if _, ok := e.(attempt.Started); ok {
			time.Sleep(200 * time.Millisecond) // its trap is set
			if err := r.Pause(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	closed := make(chan error, 1)
	go func() {
		_, err := s.Notary.Close(context.Background())
		closed <- err
	}()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the session does not end")
	}
}

// TestStricter: what a client asks for makes a run stricter, never looser.
func TestStricter(t *testing.T) {
	s := begin(t, work(t, map[string]string{"routing.toml": "[run]\ntimeout = \"300ms\"\n" + matrix}), nil)
	p, spec := bound(t, s.tree, "Test with slow\nGate against results\n")
	spec.Timeout, spec.Jobs = time.Hour, 1000
	o, err := s.ask(t, p, spec)
	if err != nil || o.Limit == "" {
		t.Errorf("a longer timeout: %+v, %v", o, err)
	}
}

// bundles are the proof of a session, and what an attacker makes of it.
func TestProof(t *testing.T) {
	s := begin(t, work(t, nil), nil)
	o, err := s.run(t, checkFile)
	if err != nil {
		t.Fatal(err)
	}
	early := new(strings.Builder)
	if err := s.Client.Bundle(t.Context(), early); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.tree, "state"), "bad\n")
	if red, err := s.run(t, checkFile); err != nil || red.ExitStatus() != 1 {
		t.Fatal(err)
	}
	whole := func() *receipts.Bundle { return s.proof(t) }
	last := len(whole().Records) - 1
	for name, spoil := range map[string]func(*receipts.Bundle){
		"cut at its end":       func(b *receipts.Bundle) { b.Records = b.Records[:last] },
		"the red run left out": func(b *receipts.Bundle) { b.Records = append(b.Records[:5:5], b.Records[last]) },
		"a forged closing": func(b *receipts.Bundle) {
			b.Records[last].Body = strings.Replace(b.Records[last].Body, `"count":`, `"count":1`, 1)
		},
		"another's closing":     func(b *receipts.Bundle) { b.Records[last].Signature = b.Records[last-1].Signature },
		"no statement":          func(b *receipts.Bundle) { b.Records = b.Records[1:] },
		"a checkpoint unsigned": func(b *receipts.Bundle) { b.Checkpoint, _, _ = strings.Cut(b.Checkpoint, "\n\n"); b.Checkpoint += "\n" },
	} {
		b := whole()
		spoil(b)
		if res, err := judge(t, b, o, s.identity); err == nil && res.Verdict == verify.Verified {
			t.Errorf("%s: %s", name, res.Verdict)
		}
	}
	// What was exported before the session ended does not say what came then.
	b, err := receipts.ParseBundle([]byte(early.String()))
	if err != nil {
		t.Fatal(err)
	}
	var cut *verify.CutError
	if res, err := judge(t, b, o, s.identity); !errors.As(err, &cut) {
		t.Errorf("%v, %v", res, err)
	}
	if res, err := judge(t, whole(), o, s.identity); err != nil || res.Verdict != verify.Verified {
		t.Errorf("%v, %v", res, err)
	}
}

// TestOwnSession: a notary that the agent started itself, with a key that it made, proves nothing; nor does one that nothing
// kept the agent from.
func TestOwnSession(t *testing.T) {
	s := begin(t, work(t, nil), nil)
	o, err := s.run(t, checkFile)
	if err != nil {
		t.Fatal(err)
	}
	_, boss, err := receipts.GenerateKey("boss")
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, b *receipts.Bundle, o *engine.Outcome, key string) {
		t.Helper()
		if res, err := judge(t, b, o, key); err != nil || res.Verdict == verify.Verified {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	check("its own identity", s.proof(t), o, boss)
	for name, change := range map[string]func(*Config){
		"unguarded":  func(c *Config) { c.Facts = Facts{Mode: ModeNone, ABI: 6} },
		"no scopes":  func(c *Config) { c.Facts = Facts{Mode: ModeLandlock, ABI: 5} },
		"no voucher": func(c *Config) { c.Identity = nil },
		"in place":   func(c *Config) { c.InPlace = true },
	} {
		s := begin(t, work(t, nil), change)
		o, err := s.run(t, checkFile)
		if err != nil || o.ExitStatus() != 0 {
			t.Fatalf("%s: %v", name, err)
		}
		check(name, s.proof(t), o, s.identity)
	}
}

// TestSessionKey: a verifier that names the key of a session itself gets no more than one that names who vouches for it.
func TestSessionKey(t *testing.T) {
	s := begin(t, work(t, nil), func(c *Config) { c.Facts = Facts{Mode: ModeNone, ABI: 6} })
	o, err := s.run(t, checkFile)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := judge(t, s.proof(t), o, s.Notary.Key()); err != nil || res.Verdict == verify.Verified {
		t.Errorf("of a session that nothing holds: %v, %v", res, err)
	}
	s = begin(t, work(t, nil), nil)
	if o, err = s.run(t, checkFile); err != nil {
		t.Fatal(err)
	}
	if res, err := judge(t, s.proof(t), o, s.Notary.Key()); err != nil || res.Verdict != verify.Verified {
		t.Errorf("whole: %v, %v", res, err)
	}
	b := s.proof(t)
	b.Records = b.Records[:len(b.Records)-1]
	var cut *verify.CutError
	if res, err := judge(t, b, o, s.Notary.Key()); !errors.As(err, &cut) {
		t.Errorf("without its closing record: %v, %v", res, err)
	}
	b = s.proof(t)
	b.Records = b.Records[1 : len(b.Records)-1]
	if res, err := judge(t, b, o, s.Notary.Key()); err == nil && res.Verdict == verify.Verified {
		t.Errorf("without its first record: %v", res)
	}
}

// during runs spec to its end, and calls act each time a line has begun.
func during(t *testing.T, s *session, p *plan.Plan, spec Spec, act func(r *Run)) *Run {
	t.Helper()
	r, err := s.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	for e := range told(t, r, p) {
		if _, ok := e.(attempt.Started); ok {
			act(r)
		}
	}
	return r
}

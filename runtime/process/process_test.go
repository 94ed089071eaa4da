//go:build unix

package process

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestEnd(t *testing.T) {
	l := start(t)
	for _, test := range []struct {
		args   []string
		exit   int
		signal string
	}{
		{[]string{"exit", "0"}, 0, ""},
		{[]string{"exit", "1"}, 1, ""},
		{[]string{"exit", "42"}, 42, ""},
		{[]string{"exit", "255"}, 255, ""},
		{[]string{"signal", "9"}, -1, "SIGKILL"},
		{[]string{"signal", "15"}, -1, "SIGTERM"},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			res := l.Run(context.Background(), command(t, test.args...))
			if res.ExitCode != test.exit || res.Signal != test.signal || res.Stop != "" || res.Err != nil || len(res.Notes) > 0 {
				t.Errorf("got exit %d, signal %q, stop %q, err %v, notes %q", res.ExitCode, res.Signal, res.Stop, res.Err, res.Notes)
			}
			if res.Duration <= 0 || res.Started.IsZero() || res.Path != self() {
				t.Errorf("got duration %v, started %v, path %s", res.Duration, res.Started, res.Path)
			}
		})
	}
}

func TestStreams(t *testing.T) {
	l := start(t)
	for _, test := range []struct{ name, stdout, stderr string }{
		{"none", "", ""},
		{"stdout", "out\n", ""},
		{"stderr", "", "err\n"},
		{"no newline", "out", "err"},
		{"binary", "\xff\xfe\x01\x80", "\x1b[31m"},
		{"long", strings.Repeat("0123456789abcdef\n", 6000), strings.Repeat("x", 9000)},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := command(t, "print", test.stdout, test.stderr)
			c.LogDir = filepath.Join(t.TempDir(), "logs")
			var heard [2]bytes.Buffer
			c.Output = func(s Stream, p []byte) { heard[s].Write(p) }
			res := l.Run(context.Background(), c)
			if res.ExitCode != 0 {
				t.Fatalf("got %+v", res)
			}
			for s, want := range []string{test.stdout, test.stderr} {
				out := []Output{res.Stdout, res.Stderr}[s]
				if out.Bytes != int64(len(want)) || out.SHA256 != sha256.Sum256([]byte(want)) || out.Cut || out.LogSHA256 != out.SHA256 {
					t.Errorf("%v: got %d bytes, %x", Stream(s), out.Bytes, out.SHA256)
				}
				if string(out.Head) != want[:min(len(want), HeadBytes)] {
					t.Errorf("%v: got head %q", Stream(s), out.Head)
				}
				if heard[s].String() != want {
					t.Errorf("%v: the listener heard %q", Stream(s), heard[s].String())
				}
				if want == "" {
					if out.Log != "" {
						t.Errorf("%v: log of nothing: %s", Stream(s), out.Log)
					}
					continue
				}
				hex := fmt.Sprintf("%x", out.SHA256)
				if out.Log != filepath.Join(c.LogDir, "sha256", hex[:2], hex[2:]) {
					t.Errorf("%v: log at %s", Stream(s), out.Log)
				}
				if text, err := os.ReadFile(out.Log); err != nil || string(text) != want {
					t.Errorf("%v: log holds %q, %v", Stream(s), text, err)
				}
			}
			if test.stdout == "" && test.stderr == "" {
				if _, err := os.Stat(c.LogDir); err == nil {
					t.Error("a log directory for nothing")
				}
			}
			if len(res.Tail) != min(DefaultTailBytes, len(test.stdout)+len(test.stderr)) {
				t.Errorf("tail of %d bytes", len(res.Tail))
			}
			if temp, _ := filepath.Glob(filepath.Join(c.LogDir, ".log-*")); len(temp) > 0 {
				t.Errorf("left %v", temp)
			}
		})
	}
}

// Output arrives in the order in which it was written, if it is not written at
// the same moment.
func TestMergedOrder(t *testing.T) {
	l := start(t)
	// Each is written once the one before was heard.
	script := "heard() { until test -e heard$1; do sleep 0.01; done; }; echo 1; heard 1; echo 2 >&2; heard 2; echo 3; heard 3; echo 4 >&2"
	c := &Command{Argv: []string{"sh", "-c", script}, Env: os.Environ(), Dir: t.TempDir()}
	var heard []string
	c.Output = func(s Stream, p []byte) {
		heard = append(heard, s.String()+" "+string(p))
		if err := os.WriteFile(filepath.Join(c.Dir, fmt.Sprint("heard", len(heard))), nil, 0o600); err != nil {
			t.Error(err)
		}
	}
	res := l.Run(context.Background(), c)
	if string(res.Tail) != "1\n2\n3\n4\n" {
		t.Errorf("tail %q", res.Tail)
	}
	if want := []string{"stdout 1\n", "stderr 2\n", "stdout 3\n", "stderr 4\n"}; !slices.Equal(heard, want) {
		t.Errorf("heard %q", heard)
	}
}

func TestSurroundings(t *testing.T) {
	l := start(t)
	c := command(t, "where")
	res := l.Run(context.Background(), c)
	dir, _ := filepath.EvalSymlinks(c.Dir)
	if want := self() + "\n" + dir + "\ntrue true\n0 EOF\n"; string(res.Stdout.Head) != want {
		t.Errorf("got %s\nwant %s", res.Stdout.Head, want)
	}

	// A relative name is relative to LookupDir, and is what the command sees unless
	// it would mean something else in Dir.
	bin := t.TempDir()
	if err := os.Symlink(self(), filepath.Join(bin, "tool")); err != nil {
		t.Fatal(err)
	}
	c.Argv[0], c.LookupDir = "./tool", bin
	res = l.Run(context.Background(), c)
	if argv0, _, _ := strings.Cut(string(res.Stdout.Head), "\n"); argv0 != filepath.Join(bin, "tool") || res.Path != argv0 {
		t.Errorf("got argv[0] %s, path %s, %v", argv0, res.Path, res.Err)
	}
	c.Dir = bin
	res = l.Run(context.Background(), c)
	if argv0, _, _ := strings.Cut(string(res.Stdout.Head), "\n"); argv0 != "./tool" {
		t.Errorf("got argv[0] %s, %v", argv0, res.Err)
	}

	if res := l.Run(context.Background(), command(t, "tty")); res.ExitCode != 0 {
		t.Error("the command has a terminal")
	}
	// What this process itself was handed it hands on, as os/exec does.
	c = command(t, "fds")
	bare := exec.Command(c.Argv[0], c.Argv[1:]...)
	bare.Env = c.Env
	want, err := bare.Output()
	if res := l.Run(context.Background(), c); err != nil || string(res.Stdout.Head) != string(want) {
		t.Errorf("the command was handed %s\nwant %s%v", res.Stdout.Head, want, err)
	}
}

func TestEnvironmentOfCommand(t *testing.T) {
	l := start(t)
	c := command(t, "env")
	big := strings.Repeat("v", 100_000)
	c.Env = []string{helperVariable + "=1", "A=1", "BIG=" + big, MarkVariable + "=other", "B="}
	before := slices.Clone(c.Env)
	res := l.Run(context.Background(), c)
	if !slices.Equal(before, c.Env) {
		t.Error("the environment of the caller was changed")
	}
	if res.Stdout.Bytes < 100_000 {
		t.Fatalf("got %d bytes", res.Stdout.Bytes)
	}
	if n := strings.Count(string(res.Tail), MarkVariable+"="); n != 1 || strings.Contains(string(res.Tail), "=other") {
		t.Errorf("%d marks in %q", n, res.Tail)
	}
}

func TestStartFailures(t *testing.T) {
	l := start(t)
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("plain", "x", 0o644)
	write("script", "#!"+filepath.Join(dir, "no-such-interpreter")+" -x\n", 0o755)
	write("crlf", "#!/bin/sh\r\nexit 0\r\n", 0o755)
	write("envscript", "#!/usr/bin/env no-such-python\n", 0o755)
	write("text", "exit 0\n", 0o755)
	write("empty", "", 0o755)
	elf, err := os.ReadFile("/bin/true")
	if err != nil || !bytes.Contains(elf, []byte("/ld-linux")) {
		elf = nil
	}
	write("foreign", string(bytes.Replace(elf, []byte("/ld-linux"), []byte("/no-linux"), 1)), 0o755)
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	long := make([]string, 4000)
	for i := range long {
		long[i] = strings.Repeat("x", 4000)
	}
	for _, test := range []struct {
		name string
		c    Command
		stop Stop
		want string
	}{
		{"nothing", Command{}, StartFailed, "argv is empty"},
		{"not in PATH", Command{Argv: []string{"no-such-tool"}}, EnvMissing, "no-such-tool was not found in PATH: install it"},
		{"PATH through a file", Command{Argv: []string{"no-such-tool"}, Env: []string{"PATH=" + filepath.Join(dir, "plain") + ":/bin"}}, EnvMissing, "no-such-tool was not found in PATH: install it"},
		{"no PATH", Command{Argv: []string{"true"}, Env: []string{}}, EnvMissing, "PATH is not set"},
		{"no file", Command{Argv: []string{"./none"}}, EnvMissing, "/none does not exist"},
		{"no virtual environment", Command{Argv: []string{".venv/bin/python"}}, EnvMissing, "/.venv/bin/python does not exist: make the virtual environment with `python3 -m venv " + dir + "/.venv`, and install what the project needs into it"},
		{"directory", Command{Argv: []string{"./"}}, EnvMissing, "is a directory"},
		{"below a file", Command{Argv: []string{"./plain/x"}}, EnvMissing, "not a directory"},
		{"not executable", Command{Argv: []string{"./plain"}}, EnvMissing, "/plain is not executable"},
		{"not executable in PATH", Command{Argv: []string{"plain"}, Env: []string{"PATH=" + dir}}, EnvMissing, "/plain is not executable"},
		{"interpreter", Command{Argv: []string{"./script"}}, EnvMissing, "needs the interpreter " + dir + "/no-such-interpreter, which does not exist"},
		{"interpreter in PATH", Command{Argv: []string{"script"}, Env: []string{"PATH=" + dir}}, EnvMissing, "needs the interpreter"},
		{"CR LF", Command{Argv: []string{"./crlf"}}, EnvMissing, "CR LF"},
		{"env interpreter", Command{Argv: []string{"envscript"}, Env: []string{"PATH=" + dir + ":/usr/bin:/bin"}}, EnvMissing, "needs the interpreter no-such-python"},
		{"no #!", Command{Argv: []string{"./text"}}, EnvMissing, "not a program for this machine"},
		{"empty file", Command{Argv: []string{"./empty"}}, EnvMissing, "not a program for this machine"},
		{"dangling link", Command{Argv: []string{"./dangling"}}, EnvMissing, "link to a file that does not exist"},
		{"loader", Command{Argv: []string{"./foreign"}}, EnvMissing, "the loader that it names does not exist"},
		{"no directory", Command{Argv: []string{"true"}, Dir: filepath.Join(dir, "none")}, EnvMissing, "directory " + filepath.Join(dir, "none")},
		{"directory is a file", Command{Argv: []string{"true"}, Dir: filepath.Join(dir, "plain")}, EnvMissing, "is not a directory"},
		{"too long", Command{Argv: append([]string{"true"}, long...)}, StartFailed, "pass fewer files"},
		{"NUL", Command{Argv: []string{"true", "a\x00b"}}, StartFailed, "NUL byte"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "loader" && elf == nil {
				t.Skip("/bin/true names no loader that can be replaced")
			}
			leaks(t)
			c := test.c
			c.LookupDir = dir
			if c.Env == nil {
				c.Env = os.Environ()
			}
			for _, digest := range []bool{false, true} {
				c.Digest = digest
				res := l.Run(context.Background(), &c)
				if res.Stop != test.stop || res.Err == nil || !strings.Contains(res.Err.Error(), test.want) || res.ExitCode != -1 || len(res.Notes) > 0 {
					t.Errorf("got %q, %v, exit %d, notes %q\nwant %q, %s", res.Stop, res.Err, res.ExitCode, res.Notes, test.stop, test.want)
				}
			}
		})
	}
}

// An executable that was written just now may still be open for writing in a
// process that is being forked.
func TestTextBusy(t *testing.T) {
	l := start(t)
	path := filepath.Join(t.TempDir(), "tool")
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Skip(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(program); err != nil {
		t.Fatal(err)
	}
	c := &Command{Argv: []string{path}}
	if res := l.Run(context.Background(), c); res.Stop != StartFailed || !strings.Contains(res.Err.Error(), "open for writing") {
		t.Errorf("got %q, %v", res.Stop, res.Err)
	}
	time.AfterFunc(20*time.Millisecond, func() { f.Close() })
	if res := l.Run(context.Background(), c); res.ExitCode != 0 {
		t.Errorf("got %q, %v", res.Stop, res.Err)
	}
}

func TestLookupFollowsChanges(t *testing.T) {
	l := start(t)
	a, b := t.TempDir(), t.TempDir()
	env := []string{"PATH=" + a + ":.:" + b, helperVariable + "=1"}
	for _, dir := range []string{a, b} {
		if err := os.Symlink(self(), filepath.Join(dir, "tool")); err != nil {
			t.Fatal(err)
		}
	}
	c := &Command{Argv: []string{"tool", "exit", "3"}, Env: env, Digest: true}
	if res := l.Run(context.Background(), c); res.ExitCode != 3 || res.Path != filepath.Join(a, "tool") {
		t.Fatalf("got %+v", res)
	}
	os.Remove(filepath.Join(a, "tool"))
	res := l.Run(context.Background(), c)
	if res.ExitCode != 3 || res.Path != filepath.Join(b, "tool") {
		t.Fatalf("got %+v", res)
	}
	program, _ := os.ReadFile(self())
	if res.Executable != sha256.Sum256(program) {
		t.Error("the digest is not that of the executable")
	}
	t.Chdir(b)
	if path, err := l.LookPath("tool", "", []string{"PATH=.::relative"}); err == nil || !strings.Contains(err.Error(), "relative elements") {
		t.Errorf("found %s, %v", path, err)
	}
	if path, err := l.LookPath("./tool", b, env); err != nil || path != filepath.Join(b, "tool") {
		t.Errorf("got %s, %v", path, err)
	}
	if path, err := l.LookPath("./none", b, env); err == nil {
		t.Errorf("found %s", path)
	}
}

func TestDigestFollowsChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	old := time.Now().Add(-time.Hour)
	var d digestCache
	for _, text := range []string{"one", "two", ""} { // of the same size, and times put back
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		os.Chtimes(path, old, old)
		for range 2 {
			if sum, err := d.sum(t.Context(), path); err != nil || sum != sha256.Sum256([]byte(text)) {
				t.Errorf("%q: got %x, %v", text, sum, err)
			}
		}
	}
	if _, err := d.sum(t.Context(), filepath.Dir(path)); err == nil {
		t.Error("hashed a directory")
	}
}

// TestProgramTooLarge runs a script that truncate has made larger than any disk: nothing hashes all of it.
func TestProgramTooLarge(t *testing.T) {
	l := start(t)
	path := filepath.Join(t.TempDir(), "t")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(path, []byte("#!/bin/sh\nexit 3\n"), 0o700))
	c := &Command{Argv: []string{path}, Env: os.Environ(), Digest: true, Timeout: time.Minute}
	must(os.Truncate(path, 1<<40))
	begin := time.Now()
	res := l.Run(t.Context(), c)
	if res.ExitCode != 3 || res.Executable != [32]byte{} || len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "more than 2 GiB") {
		t.Errorf("1 TiB: got %+v", res)
	}
	if _, sum, err := l.Identify(t.Context(), path, "", c.Env); sum != [32]byte{} || err != nil {
		t.Errorf("Identify: %x, %v", sum, err)
	}
	must(os.Truncate(path, maxProgram)) // is hashed, and takes long
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if res := l.Run(ctx, c); res.Stop != Interrupted {
		t.Errorf("2 GiB, 10 ms for the run: got %+v", res)
	}
	c.Timeout = 100 * time.Millisecond
	if res := l.Run(t.Context(), c); res.Executable != [32]byte{} || len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "was not hashed") {
		t.Errorf("2 GiB, 100 ms for the command: got %+v", res)
	}
	if took := time.Since(begin); took > 2*time.Minute { // a TiB takes more
		t.Errorf("all that took %v", took)
	}
}

func TestNotStarted(t *testing.T) {
	l := start(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough"))
	if res := l.Run(ctx, command(t, "exit", "0")); res.Stop != Interrupted || !strings.Contains(res.Err.Error(), "enough") {
		t.Errorf("got %q, %v", res.Stop, res.Err)
	}
	l.Close()
	if res := l.Run(context.Background(), command(t, "exit", "0")); res.Stop != Interrupted || res.Err == nil {
		t.Errorf("got %q, %v", res.Stop, res.Err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestLogTrouble(t *testing.T) {
	l := start(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"short", strings.Repeat("long", 10_000)} {
		c := command(t, "print", text, "")
		c.LogDir = filepath.Join(file, "logs")
		res := l.Run(context.Background(), c)
		if res.ExitCode != 0 || res.Stop != "" || res.Stdout.SHA256 != sha256.Sum256([]byte(text)) || res.Stdout.Log != "" {
			t.Errorf("got %+v", res)
		}
		if len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "the log of stdout was not kept") {
			t.Errorf("notes %q", res.Notes)
		}
	}
}

func TestParallel(t *testing.T) {
	l := start(t)
	var wg sync.WaitGroup
	for i := range 32 {
		text := strings.Repeat(fmt.Sprint(i), i*300)
		c := command(t, "print", text, "e"+text)
		c.Digest = true
		c.LogDir = filepath.Join(t.TempDir(), "logs")
		wg.Go(func() {
			res := l.Run(context.Background(), c)
			if res.ExitCode != 0 || res.Stdout.SHA256 != sha256.Sum256([]byte(text)) || res.Stderr.SHA256 != sha256.Sum256([]byte("e"+text)) || len(res.Notes) > 0 {
				t.Errorf("%d: got %+v", i, res)
			}
		})
	}
	wg.Wait()
}

func TestListenerPanics(t *testing.T) {
	l := start(t)
	c := command(t, "forever")
	c.LogDir = t.TempDir()
	c.Output = func(Stream, []byte) { panic("listener") }
	func() {
		defer func() {
			if e := recover(); e != "listener" {
				t.Errorf("recovered %v", e)
			}
		}()
		l.Run(context.Background(), c)
	}()
}

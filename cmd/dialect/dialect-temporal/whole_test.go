package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/server/temporaltest"

	"github.com/command-dialect/dialect/receipts"
)

// What is tested here is the whole: a server in this process, and dialect and its workers as a user has them.

var programs string // the folder of dialect and dialect-temporal

func TestMain(m *testing.M) { os.Exit(whole(m)) }

func whole(m *testing.M) int {
	dir, err := os.MkdirTemp("", "dialect-temporal-test")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for where, pkg := range map[string]string{"../../..": "./cmd/dialect", ".": "."} {
		cmd := exec.Command("go", "build", "-o", dir+string(filepath.Separator), pkg)
		cmd.Dir = where
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Printf("%s\n", out)
			return 1
		}
	}
	programs = dir
	for _, name := range []string{"DIALECT_STORE", "DIALECT_KEY_FD", "DIALECT_SESSION", "DIALECT_NONCE", "TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "GIT_DIR", "GIT_WORK_TREE"} {
		os.Unsetenv(name)
	}
	// Most of a test's time is spent waiting: for leases, for what the server notices late.
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	return m.Run()
}

// server is one for all tests: it takes seconds to start.
var server = sync.OnceValue(func() *temporaltest.TestServer {
	s := temporaltest.NewServer()
	s.GetDefaultClient() // which is made on first use, by one
	return s
})

// A lab is a project, a depot and a key, with a task queue of its own.
type lab struct {
	t       *testing.T
	dir     string // of the project
	depot   string
	queue   string
	keys    []string // public, of the workers
	private string   // of the first
	env     []string
}

var labs atomic.Int64

func newLab(t *testing.T, files map[string]string) *lab {
	t.Helper()
	l := &lab{t: t, dir: filepath.Join(t.TempDir(), "project"), depot: filepath.Join(t.TempDir(), "depot.git"), queue: fmt.Sprintf("q%d", labs.Add(1))}
	for name, text := range files {
		path := filepath.Join(l.dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	l.git(".", "init", "-q", "--bare", l.depot)
	l.git(l.dir, "init", "-q")
	if files[".gitignore"] == "" {
		if err := os.WriteFile(filepath.Join(l.dir, ".gitignore"), []byte(".dialect/\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l.git(l.dir, "add", "-A")
	l.git(l.dir, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "the project")
	l.private = l.key("worker")
	return l
}

// key makes a key whose receipts are accepted.
func (l *lab) key(name string) (private string) {
	l.t.Helper()
	private, public, err := receipts.GenerateKey(name)
	if err != nil {
		l.t.Fatal(err)
	}
	l.keys = append(l.keys, public)
	return private
}

func (l *lab) git(dir string, args ...string) string {
	l.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		l.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// goCache is that of the user: an example vets and tests a module of Go.
var goCache = sync.OnceValue(func() string {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(out))
})

// A proc is a process of the test.
type proc struct {
	*exec.Cmd
	out, err lockedBuffer
	done     chan struct{}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts one of our programs.
func (l *lab) start(key, name string, args ...string) *proc {
	l.t.Helper()
	p := &proc{Cmd: exec.Command(filepath.Join(programs, name), args...), done: make(chan struct{})}
	p.Dir, p.Stdout, p.Stderr, p.WaitDelay = l.dir, &p.out, &p.err, 2*time.Second
	p.Env = append(append(os.Environ(), l.env...), "HOME="+l.t.TempDir(), "GOCACHE="+goCache(), "GOFLAGS=-mod=mod", "GOPATH="+l.t.TempDir())
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if key != "" {
		r, w, err := os.Pipe()
		if err != nil {
			l.t.Fatal(err)
		}
		p.ExtraFiles = []*os.File{r}
		_, _ = io.WriteString(w, key)
		w.Close()
		defer r.Close()
	}
	if err := p.Start(); err != nil {
		l.t.Fatal(err)
	}
	go func() {
		_ = p.Wait()
		close(p.done)
	}()
	l.t.Cleanup(func() {
		_ = p.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(10 * time.Second):
			p.Process.Kill()
			<-p.done
		}
		if l.t.Failed() {
			l.t.Logf("%s:\n%s%s", name, &p.out, &p.err)
		}
	})
	return p
}

func (l *lab) address() []string {
	return []string{"--address", server().GetFrontendHostPort(), "--namespace", server().GetDefaultNamespace(), "--task-queue", l.queue}
}

// worker starts a worker, and waits until it asks for work.
func (l *lab) worker(more ...string) *proc {
	l.t.Helper()
	args := append([]string{"worker", "--remote", l.depot, "--folder", l.t.TempDir(), "--key-fd", "3"}, l.address()...)
	p := l.start(l.private, "dialect-temporal", append(args, more...)...)
	l.until("a worker asks for work", func() bool { return strings.Contains(p.err.String(), "asks for the work") })
	return p
}

// run starts a run of the engine.
func (l *lab) run(args ...string) *proc {
	l.t.Helper()
	return l.start("", "dialect", append([]string{"run"}, l.flags(args...)...)...)
}

func (l *lab) flags(args ...string) []string {
	all := append([]string{"--engine", "temporal", "--remote", l.depot}, l.address()...)
	for _, k := range l.keys {
		all = append(all, "--worker-key", k)
	}
	return append(all, args...)
}

// wait returns the exit status of a process that has to end.
func (l *lab) wait(p *proc) int {
	l.t.Helper()
	select {
	case <-p.done:
	case <-time.After(3 * time.Minute):
		_ = p.Process.Signal(syscall.SIGQUIT)
		l.t.Fatalf("it does not end\n%s%s", &p.out, &p.err)
	}
	return p.ProcessState.ExitCode()
}

// ends waits for p, which has to end with a status.
func (l *lab) ends(p *proc, status int) {
	l.t.Helper()
	if got := l.wait(p); got != status {
		l.t.Errorf("status %d, want %d\n%s%s", got, status, &p.out, &p.err)
	}
}

func (l *lab) until(what string, ok func() bool) {
	l.t.Helper()
	for range 1200 {
		if ok() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	l.t.Fatalf("not so: %s", what)
}

// dialect runs dialect here, and returns what it printed.
func (l *lab) dialect(want int, args ...string) string {
	l.t.Helper()
	p := l.start("", "dialect", args...)
	if got := l.wait(p); got != want {
		l.t.Fatalf("dialect %s: status %d, want %d\n%s%s", strings.Join(args, " "), got, want, &p.out, &p.err)
	}
	return p.out.String()
}

// A document is what of a report is compared.
type document struct {
	Run     string `json:"run"`
	Verdict string `json:"verdict"`
	Gate    struct {
		Verdict string `json:"verdict"`
		ID      string `json:"id"`
	} `json:"gate"`
	Lines []struct {
		ID      string `json:"id"`
		Verdict string `json:"verdict"`
		Reason  string `json:"reason"`
		Detail  string `json:"detail"`
		Receipt string `json:"receipt"`
	} `json:"lines"`
}

func (l *lab) document(p *proc) document {
	l.t.Helper()
	var d document
	if err := json.Unmarshal([]byte(p.out.String()), &d); err != nil {
		l.t.Fatalf("%v\n%s%s", err, &p.out, &p.err)
	}
	return d
}

// plain takes out of a report what no two runs have in common.
func plain(text string) string {
	for _, r := range [][2]string{{`g-[0-9a-f]{12}`, "g-GATE"}, {`r-[0-9a-f]{16}`, "r-RUN"}, {`(\d+m)?[0-9.]+ ?m?s\b`, "TIME"}} {
		text = regexp.MustCompile(r[0]).ReplaceAllString(text, r[1])
	}
	return text
}

// history is all that the server holds of a run, as text.
func history(t *testing.T, run string) string {
	t.Helper()
	c := server().GetDefaultClient()
	var b strings.Builder
	it := c.GetWorkflowHistory(context.Background(), "dialect-"+run, "", false, 1)
	for it.HasNext() {
		e, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// An example of the examples, read whole.
func example(t *testing.T, name string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	dir := filepath.Join("../../../examples", name)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return files
}

// The example of a Go module ends on two workers as it ends here: the same report, exit status, gate and receipts.
func TestQuality(t *testing.T) {
	t.Parallel()
	l := newLab(t, example(t, "go"))
	l.worker()
	l.worker()
	p := l.run("quality.dlct")
	l.ends(p, 0)
	there := plain(p.out.String())
	l.dialect(0, "verify", "--require", "test go")
	here := plain(l.dialect(0, "run", "quality.dlct"))
	if there != here || !strings.Contains(there, "passed: 4 lines, 1 test") || !strings.Contains(there, "gate g-GATE") {
		t.Errorf("on the workers:\n%s\nhere:\n%s", there, here)
	}
	if left := l.git(l.depot, "for-each-ref"); left != "" {
		t.Errorf("left in the depot:\n%s", left)
	}
}

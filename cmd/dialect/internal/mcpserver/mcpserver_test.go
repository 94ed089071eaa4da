package mcpserver_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var program string // the built dialect

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "dialect-mcpserver-")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "dialect")
	build := exec.Command("go", "build", "-o", dir+"/", "../..", "../../dialect-mcp")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		os.Stderr.WriteString("cannot build dialect: " + err.Error() + "\n")
		os.Exit(1)
	}
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

const matrix = `[commands.test_true]
verb = "test"
noun = "true"
tool = "sh -c true"
receipt_required = true
[commands.test_false]
verb = "test"
noun = "false"
tool = "sh -c 'echo it is broken; exit 1'"
[commands.check_much]
verb = "check"
noun = "much"
tool = "seq 20000"
[commands.check_long]
verb = "check"
noun = "long"
tool = "sh -c 'echo $$ >pid; exec sleep 600'"
`

func project(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"routing.toml": matrix, "ok.dlct": "Test with true\n", "bad.dlct": "Tets with true\n", "secret.txt": "s",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "out.dlct")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func connect(t *testing.T, dir string, progress func(string)) *mcp.ClientSession {
	t.Helper()
	cmd := exec.Command(program, "mcp")
	cmd.Dir = dir
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			if progress != nil {
				progress(req.Params.Message)
			}
		},
	})
	s, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

type answer struct {
	Text       string
	IsError    bool
	ExitStatus int    `json:"exit_status"`
	Gate       string `json:"gate"`
	NextOffset int    `json:"next_offset"`
}

func call(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p := &mcp.CallToolParams{Name: name, Arguments: args}
	p.SetProgressToken("t")
	r, err := s.CallTool(ctx, p)
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	var a answer
	if r.StructuredContent != nil {
		raw, _ := json.Marshal(r.StructuredContent)
		if err := json.Unmarshal(raw, &a); err != nil {
			t.Fatal(err)
		}
	}
	a.Text, a.IsError = r.Content[0].(*mcp.TextContent).Text, r.IsError
	return a
}

func TestTools(t *testing.T) {
	dir := project(t)
	var mu sync.Mutex
	var progress []string
	s := connect(t, dir, func(text string) {
		mu.Lock()
		defer mu.Unlock()
		progress = append(progress, text)
	})
	a := call(t, s, "run", map[string]any{"script": "ok.dlct"})
	if a.IsError || a.ExitStatus != 0 || !strings.HasPrefix(a.Gate, "g-") || !strings.HasPrefix(a.Text, "passed: 1 line") {
		t.Fatalf("run: %+v", a)
	}
	gate := a.Gate
	if a := call(t, s, "verify", map[string]any{}); a.IsError || !strings.Contains(a.Text, "VERIFIED") {
		t.Errorf("verify: %+v", a)
	}
	if a := call(t, s, "consume", map[string]any{"gate": gate, "as": "test"}); a.IsError {
		t.Errorf("consume: %+v", a)
	}
	if a := call(t, s, "consume", map[string]any{"gate": gate}); !a.IsError || a.ExitStatus != 3 {
		t.Errorf("consume again: %+v", a)
	}
	if a := call(t, s, "run", map[string]any{"text": "Test with false\n"}); !a.IsError || a.ExitStatus != 1 || !strings.Contains(a.Text, "it is broken") {
		t.Errorf("a failing line: %+v", a)
	}
	if a := call(t, s, "check", map[string]any{"script": "bad.dlct"}); !a.IsError || a.ExitStatus != 1 || !strings.Contains(a.Text, `did you mean "test"?`) {
		t.Errorf("check: %+v", a)
	}
	if a := call(t, s, "explain", map[string]any{"what": "Test with true"}); a.IsError || !strings.Contains(a.Text, "sh -c true") {
		t.Errorf("explain: %+v", a)
	}
	if a := call(t, s, "vocab", map[string]any{}); a.IsError || !strings.Contains(a.Text, "Test with true") {
		t.Errorf("vocab: %+v", a)
	}
	mu.Lock()
	if !strings.Contains(strings.Join(progress, "\n"), "1 Test with true: passed") {
		t.Errorf("progress: %q", progress)
	}
	mu.Unlock()

	// A long output comes page by page.
	call(t, s, "run", map[string]any{"text": "Check with much"})
	out, err := exec.Command(program, "receipts", "--store", filepath.Join(dir, ".dialect/receipts.db"), "list", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var sha string
	for _, m := range strings.Split(string(out), `"`) {
		if len(m) == 64 {
			a := call(t, s, "log", map[string]any{"id": m})
			if !a.IsError && strings.HasPrefix(a.Text, "1\n2\n3\n") {
				sha = m
			}
		}
	}
	if sha == "" {
		t.Fatalf("no receipt of it: %s", out)
	}
	var all strings.Builder
	for offset, pages := 0, 0; ; pages++ {
		a := call(t, s, "log", map[string]any{"id": sha, "offset": offset})
		if len(a.Text) > 17<<10 || pages > 50 {
			t.Fatalf("a page of %d bytes", len(a.Text))
		}
		all.WriteString(a.Text)
		if offset = a.NextOffset; offset == 0 {
			break
		}
	}
	if !strings.HasPrefix(all.String(), "1\n2\n") || !strings.HasSuffix(all.String(), "19999\n20000\n") {
		t.Errorf("the pages do not make the output: %d bytes", all.Len())
	}
}

func TestNothingElseCanBeNamed(t *testing.T) {
	s := connect(t, project(t), nil)
	for _, args := range []map[string]any{
		{"script": "../x.dlct"}, {"script": "/etc/passwd"}, {"script": "secret.txt"}, {"script": "out.dlct"}, {"script": "none.dlct"},
		{"script": "--help"}, {"script": "-e.dlct"}, {}, {"script": "ok.dlct", "text": "x"}, {"text": "Test with true", "line": 3},
	} {
		if a := call(t, s, "run", args); !a.IsError || strings.Contains(a.Text, "root:") || strings.Contains(a.Text, "Usage") {
			t.Errorf("%v: %+v", args, a)
		}
	}
	for name, args := range map[string]map[string]any{
		"log":     {"id": "--path"},
		"consume": {"gate": "--ledger=/tmp/x"},
		"verify":  {"gate": "--bundle=/etc/passwd"},
		"explain": {"what": "--codes"},
	} {
		if a := call(t, s, name, args); !a.IsError {
			t.Errorf("%s %v: %+v", name, args, a)
		}
	}
	// What is not in a tool's schema is refused by the server itself.
	r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: "run", Arguments: map[string]any{"script": "ok.dlct", "routing": "/tmp/evil.toml"}})
	if err == nil && !r.IsError {
		t.Errorf("an unknown argument was taken: %+v", r)
	}
}

func TestCancellationKills(t *testing.T) {
	dir := project(t)
	s := connect(t, dir, nil)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "run", Arguments: map[string]any{"text": "Check with long"}})
		done <- err
	}()
	pid := ""
	for deadline := time.Now().Add(20 * time.Second); pid == "" && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(dir, "pid"))
		pid = strings.TrimSpace(string(text))
	}
	if pid == "" {
		t.Fatal("the tool did not start")
	}
	cancel()
	<-done
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat("/proc/" + pid); err != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %s lives on", pid)
		}
	}
}

// The inspector of the protocol, as npm has it, calls run.
func TestInspector(t *testing.T) {
	inspector, err := filepath.Abs("../../../../runtime/mcpclient/broker/testdata/npm/node_modules/.bin/mcp-inspector")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(inspector); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("the inspector is missing: make test-deps")
		}
		t.Skip("the inspector is missing: make test-deps")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, inspector, "--cli", program, "mcp", "--method", "tools/call", "--tool-name", "run", "--tool-arg", "script=ok.dlct")
	cmd.Dir = project(t)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "passed: 1 line") || !strings.Contains(string(out), `"exit_status": 0`) {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("\n%s", out)
}

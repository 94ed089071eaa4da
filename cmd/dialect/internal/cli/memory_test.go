//go:build linux

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// No script makes check, fmt or lsp use more than 20 times its size in memory, beside what the
// program itself takes. The scripts are those that would: the shortest lines, a fault or a
// warning on each, nothing but line ends, nothing but values.
func TestMemory(t *testing.T) {
	size := 512 << 10 // bytes of a script
	if os.Getenv("DIALECT_SOAK") != "" {
		size = 8 << 20
	}
	const (
		floor = 48 << 20 // bytes that dialect takes for a line, Go's collector included
	)
	dir := t.TempDir()
	program := filepath.Join(dir, "dialect")
	if out, err := exec.Command("go", "build", "-o", program, "../..").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	matrix := "[commands.t]\nverb = \"test\"\nnoun = \"go\"\ntool = \"go test {args...}\"\n"
	if err := os.WriteFile(filepath.Join(dir, "routing.toml"), []byte(matrix), 0o600); err != nil {
		t.Fatal(err)
	}
	// rss runs dialect and returns the most memory that it had: the least of three times, since on a
	// busy machine the collector comes late.
	rss := func(in string, args ...string) (least int64) {
		for i := range 3 {
			cmd := exec.Command(program, args...)
			cmd.Dir, cmd.Stdin, cmd.Stdout = dir, strings.NewReader(in), io.Discard
			_ = cmd.Run() // it finds faults
			if cmd.ProcessState == nil {
				t.Fatalf("%q did not run", args)
			}
			if got := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10; i == 0 || got < least {
				least = got
			}
			if least <= floor {
				break
			}
		}
		return least
	}
	for _, unit := range []string{
		"x\n", "\n", "- \n", "`\n", "Test with go\n", "- Test with go.\n", "Tets with go\n", "All is well, I think.\n", "Test with go | tail\n",
		"Test with go and test with go\n", "é \"\n", "“\n", "Test with go " + strings.Repeat("a ", 30_000) + "\n", strings.Repeat("`", 60_000) + "\n", "Test with go " + strings.Repeat("{", 60_000) + "\n",
	} {
		text := []byte(strings.Repeat(unit, size/len(unit)))
		name := filepath.Join(dir, "big.dlct")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var session strings.Builder
		for _, m := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}`,
			fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file://%s","text":%s}}}`, name, quoteJSON(text)),
			fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file://%s"},"contentChanges":[{"range":{"start":{"line":9,"character":0},"end":{"line":9,"character":1}},"text":"y"}]}}`, name),
			`{"jsonrpc":"2.0","id":2,"method":"shutdown"}`,
		} {
			fmt.Fprintf(&session, "Content-Length: %d\r\n\r\n%s", len(m), m)
		}
		// Linux counts the peak of the process that started a program as the program's own,
		// and the race detector makes that of this test more than the floor.
		least := max(floor, rss("", "--version"))
		for what, got := range map[string]int64{
			"check": rss("", "check", name), "check --format sarif": rss("", "check", "--format", "sarif", name),
			"check --diff": rss("", "check", "--diff", name), "fmt": rss("", "fmt", "--check", name), "lsp": rss(session.String(), "lsp"),
		} {
			t.Logf("%.20q %s: %d MiB", unit, what, got>>20)
			if got > least+20*int64(size) {
				t.Errorf("%s of %d MiB of %.20q: %d MiB", what, size>>20, unit, got>>20)
			}
		}
	}
}

func quoteJSON(text []byte) string {
	b, err := json.Marshal(string(text))
	if err != nil {
		panic(err)
	}
	return string(b)
}

//go:build unix

package process

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// soak is what the helper of that name does: run a flood of n bytes on each
// stream, and report the digests and the peak memory of this process.
func soak(n, dir string) int {
	l, err := New(Options{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	res := l.Run(context.Background(), &Command{Argv: []string{self(), "flood", n}, Env: os.Environ(), LogDir: dir})
	if err := l.Close(); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%x\n%x\n%d\n", res.Stdout.SHA256, res.Stderr.SHA256, res.ExitCode)
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM:") {
			fmt.Println(strings.Fields(line)[1])
		}
	}
	return 0
}

// Memory does not grow with the output. By default both streams are of 64 MiB;
// DIALECT_SOAK=1 makes it 1 GiB.
func TestMemoryIsBounded(t *testing.T) {
	n := 64 << 20
	if os.Getenv("DIALECT_SOAK") != "" {
		n = 1 << 30
	}
	if testing.Short() {
		n = 8 << 20
	}
	h := sha256.New()
	for left := n; left > 0; left -= len(pattern) {
		h.Write(pattern[:])
	}
	want := hex.EncodeToString(h.Sum(nil))
	cmd := exec.Command(self(), "soak", strconv.Itoa(n), t.TempDir())
	cmd.Env = append(os.Environ(), helperVariable+"=1")
	began := time.Now()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%d MiB in %v", 2*n>>20, time.Since(began))
	words := strings.Fields(string(out))
	if len(words) < 3 || words[0] != want || words[1] != want || words[2] != "0" {
		t.Fatalf("got %q, want %s twice", words, want)
	}
	if len(words) < 4 {
		t.Skip("no /proc/self/status")
	}
	kilobytes, err := strconv.Atoi(words[3])
	t.Logf("peak memory %d kB", kilobytes)
	if err != nil || kilobytes > 30<<10 && !raceEnabled {
		t.Errorf("peak memory is %s kB", words[3])
	}
}

//go:build unix

package process

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// The budget of BenchmarkTrue is 1.2 times BenchmarkBareLoop, of BenchmarkHash
// 0.8 of the throughput of BenchmarkTee: compare them in one run, with -count.

func BenchmarkBareLoop(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTrue(b *testing.B) {
	l := start(b)
	c := &Command{
		Argv: []string{"true"}, Env: os.Environ(), Dir: b.TempDir(), LogDir: b.TempDir(),
		Timeout: DefaultGrace * 100, Digest: true,
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for b.Loop() {
		if res := l.Run(ctx, c); res.ExitCode != 0 {
			b.Fatal(res)
		}
	}
}

func BenchmarkEcho(b *testing.B) {
	l := start(b)
	c := &Command{Argv: []string{"echo", "ok"}, Env: os.Environ(), LogDir: b.TempDir(), Digest: true}
	for b.Loop() {
		if res := l.Run(context.Background(), c); res.ExitCode != 0 {
			b.Fatal(res)
		}
	}
}

const benchBytes = 128 << 20

func BenchmarkHash(b *testing.B) {
	l := start(b)
	c := command(b, "flood", strconv.Itoa(benchBytes))
	c.LogDir = b.TempDir()
	b.SetBytes(2 * benchBytes)
	for b.Loop() {
		if res := l.Run(context.Background(), c); res.ExitCode != 0 || res.Stdout.Bytes != benchBytes {
			b.Fatal(res)
		}
	}
}

// BenchmarkTee reads both pipes in goroutines of their own, hashes, and writes as
// much to disk as the log keeps.
func BenchmarkTee(b *testing.B) {
	c := command(b, "flood", strconv.Itoa(benchBytes))
	dir := b.TempDir()
	b.SetBytes(2 * benchBytes)
	for b.Loop() {
		cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
		cmd.Env = c.Env
		var wg sync.WaitGroup
		for i, pipe := range []func() (io.ReadCloser, error){cmd.StdoutPipe, cmd.StderrPipe} {
			r, err := pipe()
			if err != nil {
				b.Fatal(err)
			}
			f, err := os.Create(filepath.Join(dir, strconv.Itoa(i)))
			if err != nil {
				b.Fatal(err)
			}
			wg.Go(func() {
				defer f.Close()
				h := sha256.New()
				io.CopyN(io.MultiWriter(h, f), r, DefaultMaxLog)
				io.CopyBuffer(h, r, make([]byte, readSize))
			})
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		wg.Wait()
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
	}
}

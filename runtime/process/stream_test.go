//go:build unix

package process

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// feed writes text to c in pieces of at most size bytes.
func feed(c *capture, text []byte, size int) {
	for len(text) > 0 {
		n := min(size, len(text))
		c.write(text[:n])
		text = text[n:]
	}
}

func TestLogCut(t *testing.T) {
	text := make([]byte, 50_000)
	for i := range text {
		text[i] = "0123456789abcdef"[rand.N(16)]
	}
	for _, max := range []int64{1, 3, 4, 100, 8192, 8193, 20_000, 49_999, 50_000, 50_001, 1 << 20} {
		for _, size := range []int{1, 7, 1000, 8192, 60_000} {
			t.Run(fmt.Sprint(max, "/", size), func(t *testing.T) {
				dir := t.TempDir()
				var r recorder
				r.init(&Command{LogDir: dir, MaxLog: max})
				feed(&r.streams[0], text, size)
				var res Result
				r.finish(&res)
				out := res.Stdout
				if len(res.Notes) > 0 || out.Bytes != int64(len(text)) || out.SHA256 != sha256.Sum256(text) || !bytes.Equal(out.Head, text[:HeadBytes]) {
					t.Fatalf("got %d bytes, notes %q", out.Bytes, res.Notes)
				}
				log, err := os.ReadFile(out.Log)
				if err != nil {
					t.Fatal(err)
				}
				if sum := sha256.Sum256(log); sum != out.LogSHA256 || !strings.HasSuffix(filepath.ToSlash(out.Log), fmt.Sprintf("/%x/%x", sum[:1], sum[1:])) {
					t.Errorf("the log is not named by its digest: %s", out.Log)
				}
				if out.Cut != (max < int64(len(text))) {
					t.Fatalf("cut is %t", out.Cut)
				}
				if !out.Cut {
					if !bytes.Equal(log, text) || out.LogSHA256 != out.SHA256 {
						t.Error("the log differs from the stream")
					}
				} else {
					tail := int(min(max/4, logTail))
					head := int(max) - tail
					want := string(text[:head]) + fmt.Sprintf("\n[dialect: %d bytes left out here]\n", len(text)-int(max)) + string(text[len(text)-tail:])
					if string(log) != want {
						t.Errorf("got a log of %d bytes, want %d", len(log), len(want))
					}
				}
				noTemporary(t, dir)
			})
		}
	}
}

func noTemporary(t *testing.T, dir string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(dir, ".log-*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// A log is written again where its file was changed, and is not an error where the
// same stream was logged before.
func TestLogTwice(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"short", strings.Repeat("long", 10_000)} {
		for i := range 3 {
			var r recorder
			r.init(&Command{LogDir: dir})
			r.streams[1].write([]byte(text))
			var res Result
			r.finish(&res)
			if got, err := os.ReadFile(res.Stderr.Log); err != nil || string(got) != text || len(res.Notes) > 0 {
				t.Errorf("%d: log holds %q, %v, notes %q", i, got, err, res.Notes)
			}
			os.WriteFile(res.Stderr.Log, []byte("changed"), 0o600)
		}
	}
	noTemporary(t, dir)
}

// A disk that fills up while a log is written costs the log, and nothing else.
func TestLogDiskFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	full.Close()
	for _, max := range []int64{0, 30_000} { // fails at once; fails with the end of a cut log
		dir := t.TempDir()
		text := bytes.Repeat([]byte("x"), 40_000)
		var r recorder
		r.init(&Command{LogDir: dir, MaxLog: max})
		c := &r.streams[0]
		c.write(text[:10_000])
		name := c.file.Name()
		c.file.Close()
		os.Remove(name)
		// The name does not exist any more, so that nothing can be removed by it.
		broken, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		c.file = os.NewFile(dup(t, broken), name)
		c.log = c.redact.Writer(c.file)
		broken.Close()
		c.write(text[10_000:])
		var res Result
		r.finish(&res)
		if res.Stdout.SHA256 != sha256.Sum256(text) || res.Stdout.Log != "" || len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "no space") {
			t.Errorf("got %d bytes, log %q, notes %q", res.Stdout.Bytes, res.Stdout.Log, res.Notes)
		}
		noTemporary(t, dir)
	}
}

// Memory for head, tail and log grows with what arrives.
func TestLazyMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var r recorder
	r.init(&Command{LogDir: t.TempDir()})
	r.admit(Stdout, []byte("ok\n"))
	r.streams[0].write([]byte("ok\n"))
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<10 {
		t.Errorf("three bytes took %d", n)
	}
	r.discard()
}

func TestDiscard(t *testing.T) {
	dir := t.TempDir()
	var r recorder
	r.init(&Command{LogDir: dir})
	r.streams[0].write(make([]byte, 100_000))
	if r.streams[0].file == nil {
		t.Fatal("no temporary file to discard")
	}
	r.discard()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// FuzzRing holds a ring to the last bytes of what was written.
func FuzzRing(f *testing.F) {
	f.Add(4, []byte("abcdefghij"), 3)
	f.Add(0, []byte("abc"), 1)
	f.Add(-1, []byte("abc"), 1)
	f.Add(10, []byte("abc"), 2)
	f.Add(3, []byte("abc"), 3)
	f.Fuzz(func(t *testing.T, limit int, text []byte, size int) {
		limit, size = limit%4096, max(1, size%4096)
		r := ring{limit: limit}
		for rest := text; len(rest) > 0; {
			n := min(size, len(rest))
			r.write(rest[:n])
			rest = rest[n:]
		}
		want := text[len(text)-min(len(text), max(limit, 0)):]
		if got := r.bytes(); !bytes.Equal(got, want) {
			t.Errorf("limit %d: got %q, want %q", limit, got, want)
		}
	})
}

// FuzzAdmit holds the output limit to exactly that many bytes.
func FuzzAdmit(f *testing.F) {
	f.Add(int64(5), 3, 4)
	f.Add(int64(0), 3, 4)
	f.Add(int64(7), 3, 4)
	f.Fuzz(func(t *testing.T, limit int64, a, b int) {
		a, b = a&0xfff, b&0xfff
		limit &= 0x1fff
		var r recorder
		var heard int64
		var cut [2]int
		r.init(&Command{MaxOutput: limit, Output: func(s Stream, p []byte) {
			if heard += int64(len(p)); len(p) == 0 || cut[s] > 0 {
				t.Error("Output was called for nothing, or after Cut")
			}
		}, Cut: func(s Stream) { cut[s]++ }})
		got := int64(len(r.admit(Stdout, make([]byte, a))) + len(r.admit(Stderr, make([]byte, b))))
		want := int64(a + b)
		if limit > 0 {
			want = min(want, limit)
		}
		if got != want || heard != want || r.over() != (want < int64(a+b)) {
			t.Errorf("limit %d: admitted %d and %d of %d, over is %t", limit, got, heard, a+b, r.over())
		}
		r.admit(Stdout, make([]byte, b))
		if r.over() != (cut[Stdout]+cut[Stderr] > 0) || max(cut[Stdout], cut[Stderr]) > 1 {
			t.Errorf("limit %d: cut %v", limit, cut)
		}
	})
}

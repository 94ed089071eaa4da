//go:build linux

package domain

import (
	"os"
	"testing"
	"time"
)

// BenchmarkDomain is a command that does nothing, in each mode: until it is let in, until it has ended, and until nothing of its domain
// is left.
func BenchmarkDomain(b *testing.B) {
	folder, err := os.MkdirTemp("/var/tmp", "dialect-domain-test-")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(folder)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	for _, mode := range append([]Mode{None}, held...) {
		b.Run(string(mode), func(b *testing.B) {
			var made, ran, gone time.Duration
			for b.Loop() {
				begin := time.Now()
				d, err := Start(Options{Argv: []string{"/bin/true"}, Dir: "/", Env: os.Environ(), Helper: []string{helperName}, Folder: folder, Modes: []Mode{mode}, Streams: [3]*os.File{null, null, null}})
				if err != nil {
					b.Skip(err)
				}
				at := time.Now()
				made += at.Sub(begin)
				if s, err := d.Run(); err != nil || s.ExitStatus() != 0 {
					b.Fatal(s, err)
				}
				ran += time.Since(at)
				at = time.Now()
				d.Close()
				gone += time.Since(at)
			}
			for name, t := range map[string]time.Duration{"made-ms": made, "ran-ms": ran, "gone-ms": gone} {
				b.ReportMetric(float64(t.Microseconds())/1000/float64(b.N), name)
			}
		})
	}
}

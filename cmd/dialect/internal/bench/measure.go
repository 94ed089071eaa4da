package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A subject is a command that takes part in a case.
type subject struct {
	name    string
	version string // of a peer; may be empty
	dir     string
	argv    []string // argv[0] is a full path
	env     []string // beside the environment of this process
	fd3     string   // a file that is descriptor 3; empty for none
	// metric reads a duration out of the output of a run. Nil: what is timed is
	// the process.
	metric func(output string) (time.Duration, error)
}

// A sample is what the rounds of one subject came to.
type sample struct {
	Name    string  `json:"name"`
	Version string  `json:"version,omitempty"`
	Failed  string  `json:"failed,omitempty"` // why it could not run; no figure is set then
	Median  float64 `json:"median_ms"`
	Min     float64 `json:"min_ms"`
	Max     float64 `json:"max_ms"`
	RSS     int64   `json:"peak_rss_bytes,omitempty"`
}

// measure runs each subject once without counting, then all of them in turn for
// the given number of rounds. A subject that fails is out from then on.
func measure(spawn string, subjects []subject, rounds int) []sample {
	samples := make([]sample, len(subjects))
	times := make([][]time.Duration, len(subjects))
	for i, s := range subjects {
		samples[i] = sample{Name: s.name, Version: s.version, Failed: probe(s)}
	}
	for round := range rounds {
		for turn := range subjects {
			i := (round + turn) % len(subjects)
			if samples[i].Failed != "" {
				continue
			}
			took, rss, err := once(spawn, subjects[i])
			if err != nil {
				samples[i].Failed = err.Error()
				continue
			}
			times[i] = append(times[i], took)
			samples[i].RSS = max(samples[i].RSS, rss)
		}
	}
	for i := range samples {
		if samples[i].Failed != "" {
			samples[i].RSS = 0
			continue
		}
		slices.Sort(times[i])
		samples[i].Median = milliseconds(median(times[i]))
		samples[i].Min = milliseconds(times[i][0])
		samples[i].Max = milliseconds(times[i][len(times[i])-1])
	}
	return samples
}

// environ is the environment of every subject: this process's without what
// would change where dialect keeps its receipts, or what a Go program prints.
func environ(s subject) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "DIALECT_") || strings.HasPrefix(kv, "GODEBUG=") ||
			strings.HasPrefix(kv, "MAKEFLAGS=") || strings.HasPrefix(kv, "MAKELEVEL=") || strings.HasPrefix(kv, "MFLAGS=")
	})
	if s.fd3 != "" {
		env = append(env, "SPAWN_FD3="+s.fd3)
	}
	return append(env, s.env...)
}

// probe runs s once and returns why it does not work, or "". The tail of what it
// printed is the reason.
func probe(s subject) string {
	cmd := exec.Command(s.argv[0], s.argv[1:]...)
	cmd.Dir, cmd.Env = s.dir, environ(s)
	if s.fd3 != "" {
		f, err := os.Open(s.fd3)
		if err != nil {
			return err.Error()
		}
		defer f.Close()
		cmd.ExtraFiles = []*os.File{f}
	}
	var out tail
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return strings.TrimSpace(fmt.Sprintf("%v\n%s", err, out.String()))
	}
	return ""
}

// once runs s and returns how long it took and its peak resident set in bytes.
func once(spawn string, s subject) (time.Duration, int64, error) {
	if s.metric != nil {
		cmd := exec.Command(s.argv[0], s.argv[1:]...)
		cmd.Dir, cmd.Env = s.dir, environ(s)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return 0, 0, fmt.Errorf("%w\n%s", err, out)
		}
		took, err := s.metric(string(out))
		return took, 0, err
	}
	cmd := exec.Command(spawn, append([]string{s.dir}, s.argv...)...)
	cmd.Env = environ(s)
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, err
	}
	var ns, kib int64
	var code int
	if _, err := fmt.Sscan(string(out), &ns, &kib, &code); err != nil {
		return 0, 0, fmt.Errorf("spawn printed %q: %w", out, err)
	}
	if code != 0 {
		return 0, 0, fmt.Errorf("it worked before, and now ended with status %d", code)
	}
	return time.Duration(ns), kib << 10, nil
}

// median returns the middle of sorted, the mean of the two where there are two.
func median(sorted []time.Duration) time.Duration {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// A tail keeps the end of what is written to it: a probe may print a gigabyte.
type tail struct{ buf []byte }

const tailSize = 2 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p[max(0, len(p)-tailSize):]...)
	t.buf = t.buf[max(0, len(t.buf)-tailSize):]
	return len(p), nil
}

func (t *tail) String() string { return string(bytes.ToValidUTF8(t.buf, []byte("?"))) }

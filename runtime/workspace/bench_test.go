package workspace

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// BenchmarkTake measures a repository of 10,000 files of 4 KB: cold reads every
// file (from the page cache), warm only looks at them.
func BenchmarkTake(b *testing.B) {
	r := newRepo(b)
	for i := range 10_000 {
		r.write(fmt.Sprintf("d%d/e%d/f%d.py", i%20, i%200, i), strings.Repeat(fmt.Sprintf("line of file %d\n", i), 250))
	}
	r.git("add", "-A")
	time.Sleep(settling)
	measure := func(name string, again bool) {
		b.Run(name, func(b *testing.B) {
			tracker := NewTracker(r.dir, Options{})
			if again {
				r.takeBoth(tracker)
			}
			for b.Loop() {
				if !again {
					tracker.Forget()
				}
				s, err := tracker.Take(context.Background())
				if err != nil || s.Reason != "" || s.Files < 10_000 {
					b.Fatal(err, s)
				}
			}
		})
	}
	measure("cold", false)
	measure("warm", true)
	// As a hook does: what an earlier process knew is read, and written again if it is no longer so.
	b.Run("recalled", func(b *testing.B) {
		first := NewTracker(r.dir, Options{Distrust: true})
		s, err := first.Take(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		kept := first.Remembered(s)
		b.ReportAllocs()
		for b.Loop() {
			tracker := NewTracker(r.dir, Options{Distrust: true})
			if err := tracker.Recall(kept); err != nil {
				b.Fatal(err)
			}
			s, err := tracker.Take(context.Background())
			if err != nil || len(tracker.Remembered(s)) != len(kept) {
				b.Fatal(err)
			}
		}
	})
	// With a filter for some files, git is asked for the attributes of all.
	r.git("config", "filter.up.clean", "tr a-z A-Z")
	r.write(".gitattributes", "* text=auto\n*.up filter=up\n")
	for i := range 10 {
		r.write(fmt.Sprintf("f%d.up", i), "up")
	}
	time.Sleep(settling)
	measure("cold-filter", false)
	measure("warm-filter", true)
	b.Run("git-status", func(b *testing.B) {
		for b.Loop() {
			r.git("status", "--short")
		}
	})
}

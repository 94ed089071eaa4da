//go:build linux

package carry_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/command-dialect/dialect/runtime/carry"
)

// A depot whose other side hangs is left when the context ends: with all that git had started, and without a folder.
func TestHang(t *testing.T) {
	bin, temp := t.TempDir(), t.TempDir()
	ssh := filepath.Join(bin, "ssh")
	if err := os.WriteFile(ssh, []byte("#!/bin/sh\nsleep 600 &\necho $$ $! >>"+bin+"/pids\nwait\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_SSH_COMMAND", ssh)
	t.Setenv("GIT_SSH_VARIANT", "simple")
	t.Setenv("TMPDIR", temp)
	d := carry.Depot{Remote: "ssh://host/depot.git"}
	ref := carry.Ref(time.Now(), "r-0", "a-1-1")
	for name, call := range map[string]func(context.Context) error{
		"send":    func(ctx context.Context) error { return d.Send(ctx, carry.Parcel{Ref: ref, Text: []byte("x")}) },
		"fetch":   func(ctx context.Context) error { _, err := d.Fetch(ctx, 1<<10, ref); return err },
		"collect": func(ctx context.Context) error { return d.Collect(ctx, "r-0", time.Now()) },
		"post": func(ctx context.Context) error {
			o := carry.Outbox{Depot: d, Ending: ctx}
			return o.Post(t.Context(), carry.Parcel{Ref: ref, Text: []byte("x")})
		},
		"second": func(ctx context.Context) error { // of two that need the same cache, the one that is cut short
			c := carry.Cache{Depot: d, Folder: filepath.Join(temp, "cache")}
			first, done := context.WithCancel(context.WithoutCancel(ctx))
			var all sync.WaitGroup
			all.Go(func() { _ = c.Checkout(first, ref, strings.Repeat("1", 40), filepath.Join(temp, "1")) })
			for list, _ := os.ReadDir(c.Folder); len(list) == 0; list, _ = os.ReadDir(c.Folder) {
				time.Sleep(10 * time.Millisecond)
			}
			err := c.Checkout(ctx, ref, strings.Repeat("2", 40), filepath.Join(temp, "2"))
			done()
			all.Wait()
			return errors.Join(err, os.RemoveAll(c.Folder))
		},
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(bin + "/pids")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- call(ctx) }()
			var pids []string
			for len(pids) < 2 {
				text, _ := os.ReadFile(bin + "/pids")
				pids = strings.Fields(string(text))
				select {
				case err := <-ended:
					t.Fatal("it did not hang: ", err)
				case <-time.After(10 * time.Millisecond):
				}
			}
			cancel()
			if err := <-ended; err == nil {
				t.Error("no error")
			}
			for _, pid := range pids {
				for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
					stat, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", pid))
					if err != nil || strings.Contains(string(stat), ") Z ") {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("the process %s goes on: %s", pid, stat)
					}
				}
			}
			if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

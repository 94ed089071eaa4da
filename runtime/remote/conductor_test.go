//go:build unix

package remote_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/command-dialect/dialect/runtime/carry"
	"github.com/command-dialect/dialect/runtime/remote"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// TestCloseEndsFetch closes the conductor of a run whose depot does not answer: no process of git outlives it.
func TestCloseEndsFetch(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	spec := remote.Spec{Version: remote.Version, Run: "r-1", Started: time.Now().UTC()}
	var replies bytes.Buffer
	enc := json.NewEncoder(&replies)
	for _, r := range []remote.Reply{
		{Started: &spec},
		{Shape: remote.ShapeSum(schedule.Shape{})},
		{Arrived: []remote.Arrived{{
			Arrival:   schedule.Arrival{Event: schedule.Event{Seq: 1}, Dispatch: 1},
			Attempted: &remote.Attempted{Ref: spec.Ref(remote.DeliveryName(1, 1))},
		}}},
	} {
		if err := enc.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	said := filepath.Join(t.TempDir(), "said")
	if err := os.WriteFile(said, replies.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	c := remote.New(t.Context(), remote.Options{
		Helper: []string{"/bin/sh", "-c", "cat '" + said + "'; cat >/dev/null"}, Complain: io.Discard,
		Depot: carry.Depot{Remote: "git://" + l.Addr().String() + "/depot.git"}, Attach: true, Spec: spec,
	})
	if err := c.Begin(schedule.Shape{}, schedule.Rules{}); err != nil {
		t.Fatal(err)
	}
	git, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer git.Close()
	_ = c.Close()
	_ = git.SetReadDeadline(time.Now().Add(time.Minute)) // git waits longer
	if _, err := io.ReadAll(git); err != nil {
		t.Errorf("git still waits: %v", err)
	}
}

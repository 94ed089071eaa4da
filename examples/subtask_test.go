package examples_test

import (
	"runtime"
	"strings"
	"testing"
)

// The receipt of a subtask is signed by the orchestrator, and so must be the gate that its
// agent hands back.
func TestSubtaskOfASignedRun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("keys are out of reach on Linux alone")
	}
	w := newWorld(t, 1)
	subtask(w, `../dialect run quality.dlct >gate.log; cat gate.log`)
	out, status := w.start(nil, "run", "-e", "Spawn worker as subtask")
	if status != 1 || !strings.Contains(out, "is not signed with the key of this run") || !strings.Contains(out, "an agent has no key") {
		t.Errorf("a gate without a signature: exit %d: %s", status, out)
	}
	// One of the orchestrator's own run is signed, and serves once.
	w.write("agent.sh", "cat signed.log\n")
	w.sh("git commit --quiet --all --message=x")
	if out, status = w.start(nil, "run", "quality.dlct"); status != 0 {
		t.Fatal(out)
	}
	w.write("signed.log", out)
	if out, status = w.start(nil, "run", "-e", "Spawn worker as subtask"); status != 0 {
		t.Errorf("a signed gate: exit %d: %s", status, out)
	}
	if out, status = w.start(nil, "run", "-e", "Spawn worker as subtask"); status != 1 || !strings.Contains(out, "was consumed by task r-") {
		t.Errorf("a signed gate, once more: exit %d: %s", status, out)
	}
}

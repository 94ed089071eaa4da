package examples_test

import (
	"bytes"
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
	// One of the orchestrator's own is signed, but was made for something else if its run began before.
	w.write("agent.sh", ": >../started; while test ! -s ../signed; do sleep 0.01; done; cat ../signed\n")
	w.sh("git commit --quiet --all --message=x")
	if out, status = w.start(nil, "run", "quality.dlct"); status != 0 {
		t.Fatal(out)
	}
	old := gateID.FindString(out)
	w.sh("echo " + old + " >../signed")
	if out, status = w.start(nil, "run", "-e", "Spawn worker as subtask"); status != 1 || !strings.Contains(out, "includes records from before the run") {
		t.Errorf("a signed gate of before: exit %d: %s", status, out)
	}
	// One that the orchestrator makes meanwhile will do, and serves once.
	w.sh("rm ../signed ../started")
	cmd, done := w.keyed(nil, "run", "-e", "Spawn worker as subtask")
	defer done()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.sh("while test ! -e ../started; do sleep 0.01; done")
	if out, status = w.start(nil, "run", "quality.dlct"); status != 0 {
		t.Fatal(out)
	}
	w.sh("echo " + gateID.FindString(out) + " >../signed")
	if err := cmd.Wait(); err != nil {
		t.Errorf("a signed gate of meanwhile: %v: %s", err, &said)
	}
}

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/dialect-temporal/flow"
)

// holders are two projects, of two clients with a store each, whose lines take the same lock. Both run on the workers of the first.
func holders(t *testing.T) (first, second *lab, place string) {
	t.Helper()
	place = t.TempDir()
	lock := "db-" + filepath.Base(filepath.Dir(place))
	files := func(script string) map[string]string {
		return map[string]string{
			"hold.sh": fmt.Sprintf("mkdir %s/held || echo twice >>%[1]s/overlaps\n%[2]s\nrmdir %[1]s/held\n", place, script),
			"routing.toml": "[commands.hold]\nverb = \"use\"\nnoun = \"database\"\ntool = \"sh hold.sh\"\neffect = \"read\"\n" +
				"[commands.hold_all]\nverb = \"use\"\nnoun = \"databases\"\ncomposite = [\"hold\"]\nexclusive = \"" + lock + "\"\n" +
				"[commands.soon]\nverb = \"use\"\nnoun = \"thing\"\ntool = \"true\"\neffect = \"read\"\ntimeout = \"1s\"\nexclusive = \"" + lock + "\"\n",
			"soon.dlct": "Use thing\nGate against results\n",
			"hold.dlct": "Use databases\nUse databases\nGate against results\n",
		}
	}
	first = newLab(t, files(fmt.Sprintf("echo $$ $PPID >>%s/pids; while ! test -e %[1]s/go; do sleep 0.05; done", place)))
	second = newLab(t, files("sleep 0.2"))
	first.worker()
	second.depot, second.queue, second.keys = first.depot, first.queue, first.keys
	return first, second, place
}

// Lines with the same lock never run at the same time, in runs of different clients: the second waits until the first gives the lock back,
// or its run is over, however that ended.
func TestExclusive(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(*lab, *proc, string){
		"ended": func(first *lab, _ *proc, place string) { release(first.t, place) },
		"killed": func(first *lab, p *proc, place string) {
			_ = p.Process.Kill()
			<-p.done
			release(first.t, place)
		},
		// The two do not leave the first the time to say that it holds nothing any more.
		"cancelled": func(first *lab, p *proc, place string) {
			_ = os.Remove(filepath.Join(place, "held"))
			first.dialect(0, append([]string{"runs", "cancel", lastRun(first), "--engine", "temporal"}, first.address()...)...)
		},
		"terminated": func(first *lab, p *proc, place string) {
			_ = os.Remove(filepath.Join(place, "held"))
			if err := server().GetDefaultClient().TerminateWorkflow(t.Context(), flow.WorkflowID(lastRun(first)), "", "a test"); err != nil {
				first.t.Error(err)
			}
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			first, second, place := holders(t)
			p := first.run("hold.dlct")
			waiting(first, place, 1)
			q := second.run("hold.dlct")
			second.until("it says that it waits", func() bool { return strings.Contains(q.err.String(), "another run holds the lock db-") })
			end(first, p, place)
			if got := second.wait(q); got != 0 {
				t.Errorf("the second: status %d\n%s%s", got, &q.out, &q.err)
			}
			if got := first.wait(p); how == "ended" && got != 0 {
				t.Errorf("the first: status %d\n%s%s", got, &p.out, &p.err)
			}
			if text, err := os.ReadFile(filepath.Join(place, "overlaps")); err == nil {
				t.Errorf("at the same time: %s", text)
			}
		})
	}
}

// What waits for a lock ends when its run is cut short, and one that waits for too long is a fault.
func TestExclusiveGivenUp(t *testing.T) {
	t.Parallel()
	first, second, place := holders(t)
	p := first.run("hold.dlct")
	waiting(first, place, 1)
	q := second.run("hold.dlct")
	second.until("it says that it waits", func() bool { return strings.Contains(q.err.String(), "another run holds the lock") })
	_ = q.Process.Signal(os.Interrupt)
	if got := second.wait(q); got != 130 {
		t.Errorf("status %d\n%s%s", got, &q.out, &q.err)
	}
	q = second.run("soon.dlct")
	if got := second.wait(q); got != 2 || !strings.Contains(q.out.String(), "another run holds it at the Temporal server") {
		t.Errorf("status %d\n%s%s", got, &q.out, &q.err)
	}
	release(t, place)
	if got := first.wait(p); got != 0 {
		t.Errorf("the first: status %d\n%s%s", got, &p.out, &p.err)
	}
}

package main_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/command-dialect/dialect/cmd/dialect/dialect-temporal/flow"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/remote"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// keyless is a worker without a key that somebody has ask for the work of a queue: it says of each attempt what say returns.
func (l *lab) keyless(script string, say func(flow.Task) (remote.Attempted, error)) {
	l.t.Helper()
	path := filepath.Join(l.dir, script)
	text, err := os.ReadFile(path)
	if err != nil {
		l.t.Fatal(err)
	}
	p, err := project.Load(&project.Script{Name: script, Path: path, Text: text}, filepath.Join(l.dir, "routing.toml"))
	if err != nil {
		l.t.Fatal(err)
	}
	p.Resolve(nil, nil)
	packed, err := remote.Pack(engine.Shape(p.Plan))
	if err != nil {
		l.t.Fatal(err)
	}
	s := sdk.New(server().GetDefaultClient(), l.queue, sdk.Options{DisableRegistrationAliasing: true})
	s.RegisterWorkflowWithOptions(flow.Run, workflow.RegisterOptions{Name: flow.Name})
	s.RegisterActivityWithOptions(func(context.Context, remote.Spec, time.Duration) (remote.Resolved, error) {
		return remote.Resolved{Shape: packed}, nil
	}, activity.RegisterOptions{Name: flow.Resolve})
	s.RegisterActivityWithOptions(func(_ context.Context, t flow.Task) (remote.Attempted, error) { return say(t) }, activity.RegisterOptions{Name: flow.Attempt})
	if err := s.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(s.Stop)
}

// What a worker without a key says decides nothing: the run ends, what comes only after a failure is not carried out by an honest worker,
// and nothing of its words acts on a terminal or keeps the receipts from being written.
func TestKeyless(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]schedule.Brief{
		"failed":    {Verdict: schedule.Failed, Reason: receipts.StopExitCode, Text: "the tool said no"},
		"cancelled": {Verdict: schedule.Cancelled, Reason: receipts.StopInterrupted},
		"fault":     {Verdict: schedule.Fault, Reason: receipts.StopTimeout},
		"made up":   {Verdict: schedule.Failed, Reason: "made\x1b[2Jup", By: "\x1b[31m", Text: "\x1b]0;owned\x07 the tool said no"},
		"huge":      {Verdict: schedule.Failed, Text: strings.Repeat("x", 1_500_000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := t.TempDir()
			l := newLab(t, map[string]string{
				"a.txt": "a\n",
				"routing.toml": "[commands.c]\nverb = \"check\"\nnoun = \"it\"\ntool = \"test -e a.txt\"\neffect = \"read\"\nretries = 2\n" +
					"[commands.roll]\nverb = \"roll\"\nnoun = \"back\"\ntool = \"sh -c 'echo rolled >>" + place + "/rolled'\"\neffect = \"write\"\nwhen = \"failure\"\n",
				"c.dlct": "Check it\nRoll back\nGate against results\n",
			})
			said := make(chan bool, 10)
			l.keyless("c.dlct", func(k flow.Task) (remote.Attempted, error) {
				said <- true
				if k.Action.ID != "1" {
					return remote.Attempted{}, errors.New("an honest worker carries it out")
				}
				return remote.Attempted{Brief: say, Ref: k.Spec.Ref(remote.DeliveryName(k.Action.Seq, k.Dispatch)), Body: receipts.Hash{1}}, nil
			})
			p := l.run("c.dlct", "--json")
			<-said
			l.worker() // it carries out what only a worker with a checkout can
			if got := l.wait(p); got != 2 {
				t.Errorf("status %d\n%.3000s%.3000s", got, &p.out, &p.err)
			}
			d := l.document(p)
			if len(d.Lines) != 3 || d.Lines[0].Verdict != "fault" || d.Lines[0].Reason != "untrusted" || d.Lines[0].Receipt == "" || d.Gate.Verdict == "passed" {
				t.Errorf("%.3000s", &p.out)
			}
			if strings.Contains(p.out.String(), "owned") || strings.Contains(p.out.String(), "2Jup") || len(p.out.String()) > 100_000 || strings.Contains(p.out.String(), `"degraded": true`) {
				t.Errorf("%.3000s", &p.out)
			}
			if _, err := os.Stat(filepath.Join(place, "rolled")); err == nil {
				t.Error("a line was carried out that comes only after a failure")
			}
		})
	}
}

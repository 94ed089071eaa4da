package main_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// plainCommands is a workflow without any of what dialect adds: it has n activities run a command at the same time.
func plainCommands(ctx workflow.Context, argv []string, n int) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 5 * time.Minute})
	var all []workflow.Future
	for range n {
		all = append(all, workflow.ExecuteActivity(ctx, "plain", argv))
	}
	for _, f := range all {
		if err := f.Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// TestCost prints what the engine costs: lines that only read, carried out by 1, 2, 4 and 8 workers with two slots each, beside
// the local engine with as many slots, and beside plain activities that run the same command on as many workers. Each round measures
// all of them in turn. DIALECT_COST=N has it run, for N rounds.
func TestCost(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("DIALECT_COST"))
	if err != nil {
		t.Skip("DIALECT_COST=N runs it")
	}
	const slots = 2
	fmt.Printf("%d cores, %d rounds, medians in seconds, and the ratio to plain activities and to the local engine, each round paired\n\n", runtime.NumCPU(), rounds)
	fmt.Println("| lines | workers | here | plain activities | workers of dialect | to plain | to here |\n|---|---|---|---|---|---|---|")
	for _, c := range []struct {
		name, tool string
		lines      int
		workers    []int
	}{
		{"%d of `sleep 1`", "sleep 1", 32, []int{1, 2, 4, 8}},
		{"%d that compute", "python3 -c sum(range(30000000))", 8, []int{1, 2}}, // some second of a core each
		{"%d of `true`, in sequence", "true", 32, []int{1}},
	} {
		sequence := strings.Contains(c.name, "sequence")
		order := "parallel"
		if sequence {
			order = "sequence"
		}
		for _, n := range c.workers {
			l := newLab(t, map[string]string{
				"routing.toml": "[commands.test_it]\nverb = \"test\"\nnoun = \"it\"\ntool = \"" + c.tool + "\"\neffect = \"read\"\n[run]\norder = \"" + order + "\"\n", "s.dlct": strings.Repeat("Test with it\n", c.lines),
			})
			for range n {
				l.worker("--slots", strconv.Itoa(slots))
			}
			queue := l.queue + "-plain"
			sdk := server().GetDefaultClient()
			for range n {
				w := worker.New(sdk, queue, worker.Options{MaxConcurrentActivityExecutionSize: slots})
				w.RegisterWorkflow(plainCommands)
				w.RegisterActivityWithOptions(func(ctx context.Context, argv []string) error {
					return exec.CommandContext(ctx, argv[0], argv[1:]...).Run()
				}, activity.RegisterOptions{Name: "plain"})
				if err := w.Start(); err != nil {
					t.Fatal(err)
				}
				defer w.Stop()
			}
			var took [3][]float64
			for range rounds {
				for i, f := range []func(){
					func() { l.dialect(0, "run", "--jobs", strconv.Itoa(n*slots), "s.dlct") },
					func() {
						times, of := 1, c.lines
						if sequence {
							times, of = c.lines, 1
						}
						for range times {
							run, err := sdk.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: queue}, plainCommands, strings.Fields(c.tool), of)
							if err == nil {
								err = run.Get(t.Context(), nil)
							}
							if err != nil {
								t.Fatal(err)
							}
						}
					},
					func() {
						if p := l.run("s.dlct"); l.wait(p) != 0 {
							t.Fatal(p.err.String())
						}
					},
				} {
					began := time.Now()
					f()
					took[i] = append(took[i], time.Since(began).Seconds())
				}
			}
			ratio := func(of int) float64 {
				var all []float64
				for i, x := range took[2] {
					all = append(all, x/took[of][i])
				}
				return median(all)
			}
			fmt.Printf("| "+c.name+" | %d | %.2f | %.2f | %.2f | %.2f | %.2f |\n", c.lines, n, median(took[0]), median(took[1]), median(took[2]), ratio(1), ratio(0))
		}
	}
}

// median sorts a list, and returns what is in its middle.
func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

package engine_test

import (
	"context"
	"fmt"
	"os"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
)

// Run carries out a plan: events go to a listener while it happens, and the outcome has each step's result.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "dialect-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	step := func(id, script string) *plan.Step {
		return &plan.Step{
			ID: id, Line: plan.Line{File: "example", Number: 1, Text: script}, Kind: plan.Process,
			Argv: []string{"sh", "-c", script}, Dir: dir, Effect: plan.Read, Expect: plan.Expect{MinTests: -1},
		}
	}
	p := &plan.Plan{Script: plan.Script{Name: "example"}, Matrix: plan.Matrix{Root: dir}, Steps: []*plan.Step{step("1", "exit 3"), step("2", "echo still runs")}}
	o := engine.Run(context.Background(), p, engine.Options{Options: attempt.Options{Run: "r-1", Environ: os.Environ(), Listen: func(e engine.Event) {
		if end, ok := e.(engine.StepFinished); ok {
			fmt.Println(end.Result.Step.Line.Text, "->", end.Result.Verdict)
		}
	}}})
	fmt.Println("exit status", o.ExitStatus())
	// Output:
	// exit 3 -> failed
	// echo still runs -> passed
	// exit status 1
}

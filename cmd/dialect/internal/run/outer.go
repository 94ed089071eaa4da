package run

import (
	"os"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/policy"
)

// ofOuter refuses, with a status, a run that a line of another run started, where the rules of that one do not have what
// decides this one.
func ofOuter(p *plan.Plan, status int) error {
	names, root, err := policy.Foreign(os.Getenv(policy.Variable), p.Matrix, p.Script)
	const more = "`dialect help monorepos` says why, and what to do where this run decides nothing"
	if err != nil {
		return exit.Failf(status, "%v", err).Hint(more)
	}
	if len(names) == 0 {
		return nil
	}
	shown, pins := make([]string, len(names)), make([]string, len(names))
	for i, name := range names {
		shown[i], pins[i] = diag.Name(name), strconv.Quote(name)
	}
	return exit.Failf(status, "nothing was run: a line of the project at %s started this run, and the rules there do not have what decides it: %s", root, receipts.ListPaths(shown)).
		Hint("add that to the pins of the binding of the line: pins = [%s]", strings.Join(pins, ", ")).Hint(more)
}

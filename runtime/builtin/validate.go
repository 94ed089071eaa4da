// Package builtin holds the handlers of the built-in bindings that need nothing
// of a run but a store. The gate is not among them: it decides about the run
// itself, and is part of package attempt.
package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/command-dialect/dialect/receipts"
)

// A Validator checks receipts by id; a store is one.
type Validator interface {
	Validate(ctx context.Context, ids ...string) (receipts.Decision, error)
}

// Validate says whether the receipts that ids name are there, intact and of a
// success, with a line about it. Without a store, or without ids, it says no.
func Validate(ctx context.Context, v Validator, ids []string) (ok bool, text string) {
	switch {
	case len(ids) == 0:
		return false, "no receipt was named: Validate receipt SHA"
	case v == nil:
		return false, "there is no store to look in"
	}
	d, err := v.Validate(ctx, ids...)
	if err != nil {
		return false, err.Error()
	}
	if d.Passed() {
		return true, fmt.Sprintf("%d valid", len(d.Records))
	}
	lines := make([]string, len(d.Refusals))
	for i, r := range d.Refusals {
		lines[i] = r.Message
	}
	return false, strings.Join(lines, "; ")
}

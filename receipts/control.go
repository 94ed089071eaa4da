package receipts

import (
	"errors"
	"fmt"
)

// A Control says that a command ran on files one of which was broken on purpose, to see whether it refuses them. Its
// receipt is neither a pass nor a failure of the command on its own tree: its
// Argv is [ControlArgv], and it names no binding. It succeeded if the command refused, and named what was broken.
type Control struct {
	Binding string `json:"binding,omitempty"` // of the line
	Command Hash   `json:"command"`           // of the line; see [CommandHash]
	Path    Datum  `json:"path,omitzero"`     // of what was broken, from the root of the working tree
	Line    int    `json:"line"`              // in it, 1-based
	Test    Datum  `json:"test,omitzero"`     // that was broken
	Places  int    `json:"places,omitempty"`  // how many were broken at once, where it was more than one
	Nonce   string `json:"nonce"`             // that chose the place, and was written into it
	Outcome string `json:"outcome"`           // as package runtime/control names it; "noticed" is a success
}

// Noticed is the outcome of a control that is a success.
const Noticed = "noticed"

// ControlArgv is the argv of the receipt of a control of a command.
func ControlArgv(command Hash) []string { return []string{"control", command.String()} }

func (c *Control) check(r *Receipt) error {
	switch {
	case c == nil:
		return nil
	case r.Binding != "" || r.Command != CommandHash(ControlArgv(c.Command)):
		return errors.New("the receipt of a control that stands for its command")
	case c.Line < 1 || c.Places < 0:
		return errors.New("a control of a place that cannot be")
	case (r.Status == Succeeded) != (c.Outcome == Noticed):
		return fmt.Errorf("a control that %s, with the outcome %q", r.Status, c.Outcome)
	}
	return checkNames(c.Binding, c.Nonce, c.Outcome)
}

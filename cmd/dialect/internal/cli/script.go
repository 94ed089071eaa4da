package cli

import (
	"fmt"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/script"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/project"
)

// readScript reads the script that the arguments of a command name; see [script.Read].
func readScript(u *ui, command string, args, lines []string) (*project.Script, error) {
	return script.Read(command, u.In, u.Note, args, lines)
}

// loadMatrix finds and loads the matrix for the working directory, or the one that --routing names.
func loadMatrix(name string) (*routing.Matrix, diag.List, error) {
	m, l, err := project.LoadMatrix(".", name)
	return m, l, exit.NoMatrix(err)
}

// quoteArgs renders arguments for a message.
func quoteArgs(args []string) string {
	q := make([]string, len(args))
	for i, a := range args {
		q[i] = fmt.Sprintf("%q", a)
	}
	return strings.Join(q, " ")
}

// arg returns the only argument; empty if there is none.
func arg(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

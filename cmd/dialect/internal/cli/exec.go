package cli

import (
	"github.com/command-dialect/dialect/cmd/dialect/internal/run"
	"github.com/spf13/cobra"
)

const execLong = `Run one command, pass its output through, and leave a receipt of it. The exit status is the
command's own.

The hash of the receipt is printed on standard error, and --receipt-file writes it to a file, which
is empty until then. If a command exits 0 and no receipt of it can be kept, the exit status is 125;
not so with --store none, unless the binding has receipt_required.

The command reads nothing from standard input and runs in a session of its own: the recorded hashes
cover all of its output, and killing it also kills its children.

In a project, or in a worktree of git, the receipt says which files the command ran on and what they
were after it; --no-tree leaves that out. "dialect gate SHA..." makes a gate of such receipts. A
command may say what it did in the JSON file that DIALECT_RESULT names.

A receipt of exec names no binding, and proves nothing of one, not even where the words are the same.
With --as BINDING the command must be exactly the binding's, without extra values; it runs in the
binding's directory, with its environment and budgets, is judged by its expectations as a line of a
script is, and the receipt names the binding. The exit status is then 0 if it passed, else
the command's own, or 1 if that is 0 and an expectation failed, and 2 if no test ran or the result
is not evidence for another reason.`

func newExec(u *ui) *cobra.Command {
	var f run.Command
	cmd := &cobra.Command{
		Use:   "exec [flags] -- COMMAND [ARGUMENT]...",
		Short: "run one command and leave a receipt of it",
		Long:  execLong,
		Example: `  dialect exec -- python3 -m pytest -q
  dialect exec --as test_pytest -- python3 -m pytest -q`,
		RunE: func(_ *cobra.Command, args []string) error { return f.Run(u, args) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.SetInterspersed(false)
	fl.DurationVar(&f.Timeout, "timeout", 0, "kill the command after `DURATION` (0: never)")
	fl.StringVar(&f.As, "as", "", "judge the command as the binding `BINDING` of the nearest matrix, whose command it must be")
	_ = cmd.RegisterFlagCompletionFunc("as", completeBindings)
	fl.StringVar(&f.File, "receipt-file", "", "also write the hash of the receipt to `FILE`")
	fl.BoolVarP(&f.Quiet, "quiet", "q", false, "do not print the hash of the receipt")
	addRecordFlags(cmd, &f.Recorded)
	return cmd
}

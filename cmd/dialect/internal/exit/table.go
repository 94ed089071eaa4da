package exit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/runtime/process"
)

// A Row is an exit status, or several, and what it means.
type Row struct{ Status, Meaning string }

// A Group holds the statuses of some commands.
type Group struct {
	Commands string
	Rows     []Row
}

// Table returns what each exit status means. The help of dialect and the topic `exit` are made of it.
func Table() []Group {
	n := func(statuses ...int) string {
		var words []string
		for _, s := range statuses {
			words = append(words, strconv.Itoa(s))
		}
		return strings.Join(words, ", ")
	}
	unbegun := n(process.StatusNotBegun, process.StatusNotRunnable, process.StatusNotFound)
	return []Group{
		{"run, check", []Row{
			{"0", "every line passed, and so did the gate, unless no receipt could be kept and no line has `receipt_required` (DEGRADED); for `check`: there is no error"},
			{n(Failed), "a line failed; for `check`: there is an error"},
			{n(Fault), "line fault: a line could not be bound or completed, or there was nothing to run"},
			{n(Refused), "the gate refused: a receipt is missing, invalid, replayed or tampered with, or could not be kept for a line that has `receipt_required`"},
		}},
		{"prove", []Row{
			{"0", "each line that has a control noticed what was broken"},
			{n(Failed), "a line did not notice, or does not pass as it is"},
			{n(Fault), "nothing was tested, or not all was done"},
			{n(Refused), "the receipts could not be kept"},
		}},
		{"verify, gate, consume", []Row{
			{"0", "VERIFIED, VERIFIED FOR CHANGED PATHS, gated, consumed"},
			{n(Refused), "every other answer, also where there is no store or no matrix, or the notary does not answer"},
		}},
		{"exec", []Row{
			{"0-255", "the status of the command itself"},
			{n(process.StatusTimedOut), "the command timed out"},
			{unbegun, "the command was not started, or no receipt of its success could be kept, unless `--store none` asks for none; cannot be run; was not found: as env(1) and timeout(1) do"},
			{"0, 1, 2", "with `--as`: 0 if the command passed; 1 or 2 if it exited 0 but did not pass"},
		}},
		{"guard", []Row{
			{"0-255", "the status of the agent itself"},
			{unbegun, "the agent was not started, or the records could not be kept; cannot be run; was not found"},
		}},
		{"all commands", []Row{
			{n(Usage), "usage: the command line is wrong, and nothing was run"},
			{n(Internal), "internal error, or standard output cannot be written (disk full): the decision stands, and a short one is repeated on standard error"},
			{n(process.SignalStatus("SIGHUP"), process.SignalStatus("SIGINT"), process.SignalStatus("SIGTERM")), "ended by SIGHUP, SIGINT, SIGTERM; a server (`mcp`, `lsp`, `notary serve`) that SIGINT or SIGTERM ends exits 0"},
			{n(Pipe), "standard output was closed by its reader"},
		}},
	}
}

// Help returns the table as the help of dialect prints it.
func Help() string {
	var b strings.Builder
	b.WriteString("Exit status:\n")
	for _, g := range Table() {
		fmt.Fprintf(&b, "  %s\n", g.Commands)
		for _, r := range g.Rows {
			fmt.Fprintf(&b, "    %-14s %s\n", r.Status, r.Meaning)
		}
	}
	return b.String()
}

// Page returns the topic `exit`, as Markdown.
func Page() []byte {
	var b strings.Builder
	b.WriteString("<!-- Made of the table in cmd/dialect/internal/exit by `make golden`. -->\n\n# Exit statuses\n\n" +
		"A script or an agent that only needs yes or no looks at the exit status. The reasons are in the report, or in the\n" +
		"JSON document ([json](json.md)).\n")
	for _, g := range Table() {
		fmt.Fprintf(&b, "\n## %s\n\n| status | meaning |\n|---|---|\n", g.Commands)
		for _, r := range g.Rows {
			fmt.Fprintf(&b, "| %s | %s |\n", r.Status, r.Meaning)
		}
	}
	return []byte(b.String())
}

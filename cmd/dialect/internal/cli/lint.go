package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts/doctrine"
)

const lintLong = `Judge the form of a receipt that a tool wrote, by the eight rules of the receipt doctrine. FILE
(default: standard input) holds an object with receipt, tool_name and expected_receipt_fields.
With --tool it may hold the receipt alone.

With --registry the tool must be listed in the tools.registry.json, and the expected fields must be
those that it defines.

The output is the doctrine's, or its refusal, as JSON; on a terminal it is a short text.
Exit status: 0 valid, 1 violations that block, 2 refused, 64 for a usage error.`

func newReceiptsLint(u *ui) *cobra.Command {
	var f struct {
		registry, tool string
		expect         []string
		json           bool
	}
	cmd := &cobra.Command{
		Use:   "lint [FILE]",
		Short: "judge a tool's own receipt by the eight rules of the receipt doctrine",
		Long:  lintLong,
		Example: `  dialect receipts lint input.json
  dialect receipts lint --tool leads.create --registry tools.registry.json receipt.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			in, name := io.Reader(u.In), "-"
			if len(args) > 0 && args[0] != "-" {
				name = args[0]
				file, err := regular.Open(name)
				if err != nil {
					return exit.Usagef("%v", err)
				}
				defer file.Close()
				in = file
			}
			text, err := io.ReadAll(io.LimitReader(in, doctrine.MaxInput+1))
			if err != nil {
				return exit.Usagef("cannot read %s: %v", name, err)
			}
			var registry *doctrine.Registry
			if f.registry != "" {
				b, err := regular.Read(f.registry, 16<<20)
				if err == nil {
					registry, err = doctrine.ParseRegistry(b)
				}
				if err != nil {
					return exit.Usagef("--registry %s: %v", f.registry, err)
				}
			}
			if len(f.expect) > 0 && f.tool == "" {
				return exit.Usagef("--expect goes with --tool: without it the input names the fields")
			}
			if f.tool != "" && json.Valid(text) {
				fields := f.expect
				if fields == nil && registry != nil {
					fields, _ = registry.Fields(f.tool)
				}
				text, err = json.Marshal(struct {
					Receipt json.RawMessage `json:"receipt"`
					Tool    string          `json:"tool_name"`
					Fields  []string        `json:"expected_receipt_fields"`
				}{text, f.tool, append([]string{}, fields...)})
				if err != nil {
					return exit.Usagef("%v", err)
				}
			}
			return tellLint(u, text, registry, f.json || !u.OutTTY)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.registry, "registry", "", "look the tool up in the tools.registry.json `FILE`")
	fl.StringVar(&f.tool, "tool", "", "the input is the bare receipt of the tool `NAME`")
	fl.StringArrayVar(&f.expect, "expect", nil, "with --tool: expect the `FIELD`, a dotted path; may be repeated")
	fl.BoolVar(&f.json, "json", false, "print JSON on a terminal too")
	return cmd
}

func tellLint(u *ui, text []byte, registry *doctrine.Registry, asJSON bool) error {
	report, refusal := doctrine.Lint(text, registry)
	switch {
	case asJSON && refusal != nil:
		_, _ = u.Out.Write(doctrine.JSON(refusal))
	case asJSON:
		if _, err := u.Out.Write(doctrine.JSON(report)); err != nil {
			return err
		}
	case refusal != nil:
		fmt.Fprintf(u.Out, "refused: %s\n  fix: %s\n", diag.Printable(refusal.Reason), diag.Printable(refusal.Fix))
	default:
		word := "valid"
		if !report.Valid {
			word = "INVALID"
		}
		fmt.Fprintf(u.Out, "%s: %s\n", word, report.Score)
		for _, v := range report.Violations {
			fmt.Fprintf(u.Out, "  %s: %s: want %s, got %s\n    %s\n", v.Severity, v.Rule, diag.Printable(v.Expected), diag.Printable(v.Actual), diag.Printable(v.Fix))
		}
	}
	switch {
	case refusal != nil:
		return exit.Status(exit.Fault)
	case !report.Valid:
		return exit.Status(exit.Failed)
	}
	return nil
}

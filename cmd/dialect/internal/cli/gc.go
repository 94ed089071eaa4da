package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/cleanroom"
)

const gcLong = `Delete kept output: first logs and lists of files that are older than --older-than, then the
oldest until the rest fits into --max-size. Records are never deleted: receipts keep their
digests, and only "dialect log" and the paths of a STALE verdict need the deleted files. Temporary
files of killed runs are deleted once they are a day old, and what setups of clean checkouts
installed, of all projects, once no run used it for --older-than.`

func newReceiptsGC(u *ui) *cobra.Command {
	var f struct {
		store, older, size string
		dry, json          bool
	}
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "delete old output, never a record",
		Long:  gcLong,
		Example: `  dialect receipts gc --older-than 30d --max-size 1GiB
  dialect receipts gc --dry-run --max-size 0`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			old, err := store.Age(f.older)
			if err != nil {
				return exit.Usagef("--older-than: %v", err)
			}
			size, ok := routing.ParseSize(f.size)
			if !ok {
				return exit.Usagef("--max-size: %q is not a size: want 0, 500MiB, 2GB", f.size)
			}
			path, err := (store.Place{Name: f.store}).Path()
			if err != nil {
				return err
			}
			c, err := archive.Of(path).Collect(time.Now(), archive.Limits{Age: old, Size: size, DryRun: f.dry})
			if err != nil {
				return exit.Failf(exit.Failed, "%v", err)
			}
			if c.Setups, err = cleanroom.Collect(cleanroom.Cache(), old, f.dry); err != nil {
				return exit.Failf(exit.Failed, "%v", err)
			}
			if f.json {
				return u.JSON(c)
			}
			word := "dropped"
			if f.dry {
				word = "would drop"
			}
			if c.Setups > 0 {
				fmt.Fprintf(u.Out, "%s %s of setups\n", word, diag.Number(c.Setups, "result"))
			}
			_, err = fmt.Fprintf(u.Out, "%s %s of output, %d bytes; %d left, %d bytes\n", word, diag.Number(c.Dropped, "file"), c.DroppedBytes, c.Kept, c.KeptBytes)
			return err
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.older, "older-than", "30d", "delete what is older than `AGE`: 12h, 30d")
	fl.StringVar(&f.size, "max-size", "1GiB", "then delete the oldest until the rest has at most `SIZE`: 0, 500MiB, 2GB")
	fl.BoolVarP(&f.dry, "dry-run", "n", false, "say what would be deleted, and delete nothing")
	fl.BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	addStoreFlag(cmd, &f.store)
	return cmd
}

package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/runtime/archive"
)

const gcLong = `Drop kept output: blobs of logs, and lists of files, that are older than --older-than, and
then the oldest until the rest fits into --max-size. No record is ever dropped: receipts
keep their digests, and only "dialect log" and the paths of a STALE verdict need the blobs.
Temporary files that a killed run left are removed once they are a day old.`

func newReceiptsGC(u *ui) *cobra.Command {
	var f struct {
		store, older, size string
		dry, json          bool
	}
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "drop old output; never a record",
		Long:  gcLong,
		Example: `  dialect receipts gc --older-than 30d --max-size 1GiB
  dialect receipts gc --dry-run --max-size 0`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			old, err := age(f.older)
			if err != nil {
				return exit.Usagef("--older-than: %v", err)
			}
			size, err := byteSize(f.size)
			if err != nil {
				return exit.Usagef("--max-size: %v", err)
			}
			path, err := findStore(f.store)
			if err != nil {
				return err
			}
			c, err := archive.Of(path).Collect(time.Now(), archive.Limits{Age: old, Size: size, DryRun: f.dry})
			if err != nil {
				return exit.Failf(exit.Failed, "%v", err)
			}
			if f.json {
				return writeJSON(u, c)
			}
			word := "dropped"
			if f.dry {
				word = "would drop"
			}
			_, err = fmt.Fprintf(u.out, "%s %s of output, %d bytes; %d left, %d bytes\n", word, diag.Number(c.Dropped, "file"), c.DroppedBytes, c.Kept, c.KeptBytes)
			return err
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.older, "older-than", "30d", "drop what is older than `AGE`: 12h, 30d")
	fl.StringVar(&f.size, "max-size", "1GiB", "then drop the oldest until the rest has at most `SIZE`: 0, 500MiB, 2GB")
	fl.BoolVarP(&f.dry, "dry-run", "n", false, "say what would be dropped, and drop nothing")
	fl.BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	addStoreFlag(cmd, &f.store)
	return cmd
}

// byteSize parses a number of bytes with a unit.
func byteSize(text string) (int64, error) {
	units := []struct {
		name string
		n    float64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1}}
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || n < 0 || n*u.n > 1<<62 || n != n {
			break
		}
		return int64(n * u.n), nil
	}
	return 0, fmt.Errorf("%q is no size: want 0, 500MiB, 2GB", text)
}

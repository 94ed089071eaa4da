package cli

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/lang/regular"
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
				return usagef("--older-than: %v", err)
			}
			size, err := byteSize(f.size)
			if err != nil {
				return usagef("--max-size: %v", err)
			}
			path, err := findStore(f.store)
			if err != nil {
				return err
			}
			c := collector{logs: logsOf(path), now: time.Now(), older: old, size: size, dry: f.dry}
			if err := c.collect(); err != nil {
				return failf(exitFailed, "%v", err)
			}
			if f.json {
				return writeJSON(u, struct {
					Schema  string `json:"schema"`
					DryRun  bool   `json:"dry_run"`
					Dropped int    `json:"dropped"`
					Bytes   int64  `json:"dropped_bytes"`
					Kept    int    `json:"kept"`
					Left    int64  `json:"kept_bytes"`
				}{"dialect.gc/1", f.dry, c.dropped, c.droppedBytes, c.kept, c.keptBytes})
			}
			word := "dropped"
			if f.dry {
				word = "would drop"
			}
			_, err = fmt.Fprintf(u.out, "%s %s of output, %d bytes; %d left, %d bytes\n", word, count(c.dropped, "file"), c.droppedBytes, c.kept, c.keptBytes)
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

// A collector drops blobs of a directory of logs.
type collector struct {
	logs  string
	now   time.Time
	older time.Duration
	size  int64
	dry   bool

	dropped, kept           int
	droppedBytes, keptBytes int64
}

// A blob is a file of the directory; its path is relative to it.
type blob struct {
	path string
	size int64
	at   time.Time
}

// stale is the age at which a temporary file belongs to nobody any more.
const stale = 24 * time.Hour

func (c *collector) collect() error {
	// A root keeps every path below the directory, whatever links somebody plants; the
	// directory itself must be no link either, also when it was opened.
	if err := regular.Folder(c.logs); err != nil {
		return err
	}
	root, err := os.OpenRoot(c.logs)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	opened, err := root.Stat(".")
	if err != nil {
		return err
	}
	if named, err := os.Lstat(c.logs); err != nil || !os.SameFile(named, opened) {
		return fmt.Errorf("%s was exchanged", c.logs)
	}
	var blobs []blob
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // what cannot be read, and what is no file, stays
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		b := blob{path, info.Size(), info.ModTime()}
		switch {
		case strings.HasPrefix(d.Name(), ".log-"):
			if c.now.Sub(b.at) > stale {
				c.drop(root, b)
			}
		case isBlob(path) || isDocument(path):
			blobs = append(blobs, b)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(blobs, func(a, b blob) int { return b.at.Compare(a.at) })
	for _, b := range blobs {
		if c.older > 0 && c.now.Sub(b.at) > c.older || c.keptBytes+b.size > c.size {
			c.drop(root, b)
			continue
		}
		c.kept++
		c.keptBytes += b.size
	}
	return nil
}

func (c *collector) drop(root *os.Root, b blob) {
	if !c.dry && root.Remove(b.path) != nil {
		return // another gc was faster, or it may not
	}
	c.dropped++
	c.droppedBytes += b.size
}

// isDocument reports whether a path is of the document of a run.
func isDocument(path string) bool {
	dir, name := filepath.Split(filepath.ToSlash(path))
	return dir == "runs/" && strings.HasPrefix(name, "r-") && strings.HasSuffix(name, ".json")
}

// isBlob reports whether a path is of the form sha256/<2 hex digits>/<62 hex digits>.
func isBlob(path string) bool {
	parts := strings.Split(filepath.ToSlash(path), "/")
	if len(parts) != 3 || parts[0] != "sha256" || len(parts[1]) != 2 {
		return false
	}
	_, err := hex.DecodeString(parts[1] + parts[2])
	return err == nil && len(parts[2]) == 62
}

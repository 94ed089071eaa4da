package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/blob"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/history"
	"github.com/command-dialect/dialect/runtime/place"
)

const logLong = `Print the output of a command as it was kept: first its standard output, then its standard error.
LINE is a line of the last run, as its report names it: 3, or 3.2 for a member of a composite.
Without an argument it is the only failure of that run.

The kept text must have the digest that the receipt names. Secrets were taken out of it, and of a
very long stream only the beginning and the end were kept. The receipt also has the digest of all
that the command really wrote, even where "receipts gc" has deleted the log.

Of go test -json the text in the events is printed; --raw prints the events.`

func newLog(u *ui) *cobra.Command {
	var f struct {
		store          string
		tail           int
		stdout, stderr bool
		path, raw      bool
	}
	cmd := &cobra.Command{
		Use:   "log [LINE | FILE:LINE | RUN/STEP | RECEIPT]",
		Short: "print the output of a command",
		Long:  logLong,
		Example: `  dialect log 3
  dialect log 5feceb66ffc8 --tail 50
  dialect log 5feceb66ffc8 --stderr`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeIDs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.tail < 1 && cmd.Flags().Changed("tail") {
				return exit.Usagef("--tail %d: want a positive number of lines; without --tail all are printed", f.tail)
			}
			r, logs, err := store.Place{Name: f.store}.Output(arg(args))
			var e *history.LookupError
			if errors.As(err, &e) {
				err = store.NotKept(err)
			}
			if err != nil {
				return err
			}
			out := &lineEnds{w: u.Out}
			for _, one := range []struct {
				name   string
				stream receipts.Stream
				leave  bool
			}{{"standard output", r.Stdout, f.stderr && !f.stdout}, {"standard error", r.Stderr, f.stdout && !f.stderr}} {
				if one.leave || one.stream.Bytes == 0 {
					continue
				}
				if err := out.finish(); err != nil {
					return err
				}
				if err := printLog(cmd.Context(), u, out, logs, one.name, one.stream, f.tail, f.path, f.raw); err != nil {
					return err
				}
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVarP(&f.tail, "tail", "n", 0, "print only the last `N` lines of each stream")
	fl.BoolVar(&f.stdout, "stdout", false, "print standard output alone")
	fl.BoolVar(&f.stderr, "stderr", false, "print standard error alone")
	fl.BoolVar(&f.raw, "raw", false, "print the events of go test -json as they are")
	fl.BoolVar(&f.path, "path", false, "print the paths of the files instead")
	addStoreFlag(cmd, &f.store)
	return cmd
}

// A lineEnds knows whether what went through it ends a line. Each stream was searched for secrets by itself: what ends the first and what
// begins the second must not stand together, as they never did where the command wrote them.
type lineEnds struct {
	w    io.Writer
	open bool // the last byte ended no line
}

func (l *lineEnds) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.open = p[len(p)-1] != '\n'
	}
	return l.w.Write(p)
}

// finish ends the line.
func (l *lineEnds) finish() (err error) {
	if l.open {
		_, err = l.Write([]byte("\n"))
	}
	return err
}

func printLog(ctx context.Context, u *ui, to io.Writer, logs archive.Archive, what string, s receipts.Stream, tail int, pathOnly, raw bool) error {
	want := s.SHA256
	if !s.Log.IsZero() {
		want = s.Log
		u.Warnf("%s is kept without its secrets, or cut: all of it was %d bytes, sha256 %s", what, s.Bytes, s.SHA256)
	}
	path := blob.Path(string(logs), want)
	f, _, err := blob.Open(ctx, string(logs), want, blob.MostOf(s.Bytes))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return exit.Failf(exit.Failed, "the log of %s is gone: it was deleted, or never kept; it had %d bytes, sha256 %s", what, s.Bytes, s.SHA256)
	case errors.Is(err, blob.ErrChanged):
		return exit.Failf(exit.Refused, "the log %s is not what the receipt says: its digest is another", place.Short(path))
	case err != nil:
		return exit.Failf(exit.Failed, "%v", err)
	}
	defer f.Close()
	if pathOnly {
		_, err := fmt.Fprintln(to, path)
		return err
	}
	var from io.Reader = f
	head := make([]byte, 4<<10)
	if n, _ := f.ReadAt(head, 0); !raw && diagnose.Events(head[:n]) {
		r, w := io.Pipe()
		defer r.Close()
		go func() { w.CloseWithError(diagnose.CopyPlain(w, f, tail)) }()
		from = r
	} else if tail > 0 {
		if err := blob.SeekTail(f, tail); err != nil {
			return exit.Failf(exit.Failed, "%v", err)
		}
	}
	if !u.OutTTY {
		_, err = io.Copy(to, from)
		return err
	}
	in, out := bufio.NewReader(from), bufio.NewWriter(to)
	for {
		line, err := in.ReadString('\n')
		fmt.Fprint(out, diag.Visible(line))
		if err != nil {
			return out.Flush()
		}
	}
}

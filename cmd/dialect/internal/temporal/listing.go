package temporal

import (
	"fmt"
	"io"
	"time"

	"github.com/command-dialect/dialect/runtime/remote"
)

// A Listing is a list of runs, as a document.
type Listing []remote.Listed

// WriteText writes a line for each run.
func (l Listing) WriteText(w io.Writer) error {
	if len(l) == 0 {
		_, err := fmt.Fprintln(w, "no runs")
		return err
	}
	for _, r := range l {
		if _, err := fmt.Fprintf(w, "%s  %s  %-10s  %s\n", r.Run, r.Started.UTC().Format(time.RFC3339), r.Status, r.Queue); err != nil {
			return err
		}
	}
	return nil
}

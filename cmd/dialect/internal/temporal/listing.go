package temporal

import (
	"fmt"
	"io"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/runtime/remote"
)

// A Listing is the runs that a Temporal server knows, the newest first.
type Listing struct {
	Schema string          `json:"schema"` // dialect.remote-runs/1
	Runs   []remote.Listed `json:"runs"`
	More   bool            `json:"more,omitempty"` // there are older ones
}

// List returns the runs that the server knows.
func (o *Options) List(complain io.Writer) (Listing, error) {
	r, err := o.ask(remote.Request{List: true}, complain)
	return Listing{"dialect.remote-runs/1", r.Runs, r.More}, err
}

// WriteText writes a line for each run.
func (l Listing) WriteText(w io.Writer) error {
	if len(l.Runs) == 0 {
		_, err := fmt.Fprintln(w, "no runs")
		return err
	}
	for _, r := range l.Runs {
		if _, err := fmt.Fprintf(w, "%s  %s  %-10s  %s\n", r.Run, r.Started.UTC().Format(time.RFC3339), r.Status, diag.Name(r.Queue)); err != nil {
			return err
		}
	}
	if l.More {
		_, err := fmt.Fprintln(w, "and older ones")
		return err
	}
	return nil
}

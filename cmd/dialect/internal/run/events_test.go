//go:build unix

package run

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
)

// A reader of --events that goes away is an error of its own: the run ends, and does not pass in silence.
func TestEventsLost(t *testing.T) {
	inProject(t, files{"s.dlct": "Test with yes\n"})
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		f, err := os.Open("pipe")
		if err == nil {
			err = f.Close()
		}
		opened <- err
	}()
	o, s := options(), new(said)
	o.Events = "pipe"
	err := o.Run(s.voice(t), []string{"s.dlct"})
	if e := <-opened; e != nil {
		t.Fatal(e)
	}
	if status(err) != exit.Internal || !strings.Contains(err.Error(), "--events") {
		t.Errorf("%v\n%s%s", err, s.out.String(), s.err.String())
	}
}

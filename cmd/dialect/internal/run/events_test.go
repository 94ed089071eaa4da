//go:build unix

package run

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
)

// A reader of --events that goes away is an error of its own: the run ends, and does not pass in silence.
func TestEventsLost(t *testing.T) {
	inProject(t, files{"s.dlct": "Test with gone\n", "routing.toml": "[commands.test_gone]\nverb = \"test\"\nnoun = \"gone\"\ntool = \"sh -c 'until test -e gone; do sleep 0.01; done'\"\n"})
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile("pipe", os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must have its reader already
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		var err error
		for n := 0; n == 0 && (err == nil || err == io.EOF); { // nobody writes before the run begins
			n, err = f.Read(make([]byte, 1))
			time.Sleep(time.Millisecond)
		}
		read <- errors.Join(f.Close(), os.WriteFile("gone", nil, 0o600))
	}()
	o, s := options(), new(said)
	o.Events = "pipe"
	err = o.Run(s.voice(t), []string{"s.dlct"})
	if e := <-read; e != nil {
		t.Fatal(e)
	}
	if status(err) != exit.Internal || !strings.Contains(err.Error(), "--events") {
		t.Errorf("%v\n%s%s", err, s.out.String(), s.err.String())
	}
}

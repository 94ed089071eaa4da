//go:build linux && !portable

package process

import (
	"context"
	"os"
	"sync"
	"testing"
)

// A launcher that ends what was left running spares the commands that another launcher of the same program is
// starting: they are children of the program too, and until they are known they look like orphans.
func TestLaunchersApart(t *testing.T) {
	a, b := start(t), start(t)
	stop := make(chan struct{})
	var ending sync.WaitGroup
	for range 2 {
		ending.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := b.EndLeft(true); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var commands sync.WaitGroup
	for range 4 {
		commands.Go(func() {
			for range 100 {
				res := a.Run(context.Background(), &Command{Argv: []string{"sleep", "0.02"}, Env: os.Environ()})
				if res.ExitCode != 0 || res.Signal != "" || len(res.Left) > 0 {
					t.Errorf("got exit %d, signal %q, left %v", res.ExitCode, res.Signal, res.Left)
				}
			}
		})
	}
	commands.Wait()
	close(stop)
	ending.Wait()
}

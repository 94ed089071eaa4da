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

// What a command of one launcher leaves running is neither named nor ended by another launcher.
func TestLeftApart(t *testing.T) {
	a, b := start(t), start(t)
	res := a.Run(context.Background(), &Command{Argv: []string{"sh", "-c", "setsid sleep 600 </dev/null >/dev/null 2>&1 &"}, Env: os.Environ()})
	if len(res.Left) != 1 {
		t.Fatalf("left %v, %v", res.Left, res.Notes)
	}
	if res := b.Run(context.Background(), &Command{Argv: []string{"true"}, Env: os.Environ()}); len(res.Left) != 0 {
		t.Errorf("another launcher names %v", res.Left)
	}
	if left, _ := b.NameLeft(); len(left) != 0 {
		t.Errorf("another launcher names %v beside its commands", left)
	}
	if err := b.EndLeft(true); err != nil {
		t.Error(err)
	}
	pid := res.Left[0].PID
	if p, ok := readProc(pid); !ok || p.dead() {
		t.Error("another launcher has ended it")
	}
	if err := a.EndLeft(true); err != nil {
		t.Error(err)
	}
	if p, ok := readProc(pid); ok && !p.dead() {
		t.Error("it was not ended")
	}
}

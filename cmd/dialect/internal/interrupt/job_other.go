//go:build !unix

package interrupt

import "os"

func moreSignals() []os.Signal { return nil }

func isStop(os.Signal) bool     { return false }
func isHarmless(os.Signal) bool { return false }

func (i *Catcher) suspend() {}

// Suspend does nothing: there is no job control.
func Suspend(func() (after func())) {}

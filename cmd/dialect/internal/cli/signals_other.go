//go:build !unix

package cli

import "os"

func moreSignals() []os.Signal { return nil }

func isStop(os.Signal) bool     { return false }
func isHarmless(os.Signal) bool { return false }

func (i *interrupts) suspend() {}

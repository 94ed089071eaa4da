//go:build !unix

package cli

import "os"

func stopSignals() []os.Signal { return nil }

func isStop(os.Signal) bool     { return false }
func isContinue(os.Signal) bool { return false }

func (i *interrupts) suspend() {}

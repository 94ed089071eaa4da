//go:build unix

package diagnose

import (
	"syscall"
	"time"
)

// cpu is the time that this process has computed: on a busy machine the clock says nothing.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano())
}

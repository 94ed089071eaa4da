//go:build !unix

package diagnose

import "time"

var began = time.Now()

func cpu() time.Duration { return time.Since(began) }

//go:build !unix

package cleanroom

import (
	"context"
	"time"
)

// Install has nothing to install in: this system has no clean room.
func (r *Room) Install(context.Context, Setup, Run) (*Installed, error) { return nil, errNoCheckout }

// Collect has nothing to remove.
func Collect(string, time.Duration, bool) (int, error) { return 0, nil }

//go:build !linux || portable

package process

import (
	"context"
	"errors"
)

// Namespaces says that no command can be started in a [Room] here.
const Namespaces = false

// Become is for systems that have rooms.
func Become([]string, func([]byte) error) int { return StatusNotBegun }

// Try says that commands cannot have a room.
func (l *Launcher) Try(context.Context, *Room) error {
	return errors.New("this system has no mount namespaces")
}

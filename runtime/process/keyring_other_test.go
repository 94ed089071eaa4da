//go:build unix && !linux

package process

import "errors"

func sessionKeyring() (int, error) { return 0, errors.ErrUnsupported }

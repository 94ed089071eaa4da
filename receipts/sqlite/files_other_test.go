//go:build !unix

package sqlite

import (
	"errors"
	"testing"
)

func TestStateWithoutOwners(t *testing.T) {
	if err := CheckState(t.TempDir()); !errors.Is(err, ErrNoOwners) {
		t.Error(err)
	}
}

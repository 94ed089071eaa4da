package attempt

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/command-dialect/dialect/runtime/workspace"
)

// TestNoTree: to ignore a file helps where a file is the cause, and not where the ignore file is.
func TestNoTree(t *testing.T) {
	for path, ignores := range map[string]bool{"a/b": true, "a/.gitignore": false, "": false} {
		err := errors.New("x")
		if path != "" {
			err = &workspace.Error{Path: path, Err: err}
		}
		trees := &trees{ctx: context.Background(), source: workspace.NewTracker(t.TempDir(), workspace.Options{}), err: err}
		if why := trees.noTree(); strings.Contains(why, "ignore it in a tracked .gitignore") != ignores || !strings.HasSuffix(why, "--no-tree, which proves less") {
			t.Errorf("%q: %s", path, why)
		}
	}
	full := &trees{ctx: context.Background(), source: workspace.NewTracker(t.TempDir(), workspace.Options{}), err: &workspace.Error{Path: "a", Err: syscall.EMFILE}}
	if why := full.noTree(); !strings.Contains(why, "raise `ulimit -n`") || strings.Contains(why, "ignore") {
		t.Error(why)
	}
}

package notary

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDialSilent asks a notary that says nothing: it is given up as soon as the caller does.
func TestDialSilent(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	stopped := errors.New("stopped")
	for name, c := range map[string]struct {
		ctx  func() (context.Context, func())
		want error
	}{
		"a timeout": {func() (context.Context, func()) { return context.WithTimeout(t.Context(), time.Millisecond) }, context.DeadlineExceeded},
		"a signal": {func() (context.Context, func()) {
			ctx, stop := context.WithCancelCause(t.Context())
			stop(stopped)
			return ctx, func() {}
		}, stopped},
	} {
		ctx, stop := c.ctx()
		_, err := Dial(ctx, socket)
		stop()
		if !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), "no notary answers on ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

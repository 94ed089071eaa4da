package git

import (
	"context"
	"testing"
	"time"
)

// TestPatient: patience ends, not before it is over, and with what it is within.
func TestPatient(t *testing.T) {
	began := time.Now()
	ctx, cancel := Patient(t.Context(), 40*time.Millisecond)
	defer cancel()
	if <-ctx.Done(); time.Since(began) < 35*time.Millisecond {
		t.Errorf("it ended after %v", time.Since(began))
	}
	outer, end := context.WithCancel(t.Context())
	inner, done := Patient(outer, time.Hour)
	defer done()
	end()
	<-inner.Done()
}

//go:build unix

package mcpclient

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
)

// Whatever becomes of the helper, a call ends, with a reason.
func TestHelperThatFails(t *testing.T) {
	for _, tt := range []struct {
		name   string
		helper []string
		reason Reason
	}{
		{"none", nil, NotConfigured},
		{"not there", []string{"/no/such/program"}, EnvMissing},
		{"ends", []string{"sh", "-c", "echo broken >&2; exit 3"}, Died},
		{"nonsense", []string{"sh", "-c", "echo hello; sleep 60"}, Died},
		{"silent", []string{"sh", "-c", "exec sleep 60"}, Interrupted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := New(Options{Helper: tt.helper, Dir: t.TempDir(), Environ: os.Environ(), Grace: time.Second})
			defer p.Close()
			patience := time.Minute
			if tt.reason == Interrupted {
				patience = 500 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_, err := p.Call(ctx, Call{Target: "s:t"})
			var e *Error
			if !errors.As(err, &e) || e.Reason != tt.reason {
				t.Errorf("%v, want %s", err, tt.reason)
			}
			if tt.helper == nil && !strings.Contains(err.Error(), "go install github.com/") {
				t.Errorf("it does not say how to get the helper: %v", err)
			}
		})
	}
}

// The real helper: what a server, or its absence, comes to arrives here.
func TestHelper(t *testing.T) {
	helper := filepath.Join(t.TempDir(), "dialect-mcp")
	if out, err := exec.Command("go", "build", "-o", helper, "../../cmd/dialect/dialect-mcp").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p := New(Options{
		Helper: []string{helper, "client"}, Dir: t.TempDir(), Environ: os.Environ(),
		Servers: map[string]plan.Server{"bad": {Argv: []string{"sh", "-c", "echo no token >&2; exit 4"}}, "hangs": {Argv: []string{"sleep", "600"}}},
	})
	defer p.Close()
	var e *Error
	if _, err := p.Call(context.Background(), Call{Target: "bad:x"}); !errors.As(err, &e) || e.Reason != StartFailed || e.Stderr != "no token\n" {
		t.Errorf("%v %+v", err, e)
	}
	if _, err := p.Tools(context.Background(), "nowhere"); !errors.As(err, &e) || e.Reason != NotConfigured {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if err := p.Check(ctx, Call{Target: "hangs:x"}); !errors.As(err, &e) || e.Reason != Interrupted {
		t.Errorf("%v", err)
	}
	p.Close()
	if took := time.Since(begun); took > 2*time.Minute {
		t.Errorf("the end took %v", took)
	}
	if _, err := p.Call(context.Background(), Call{Target: "bad:x"}); !errors.As(err, &e) || e.Reason != Interrupted {
		t.Errorf("after the end: %v", err)
	}
}

package broker

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestCut: who cuts says so, for who looks for secrets.
func TestCut(t *testing.T) {
	var s tail
	for _, c := range []struct {
		more  int
		begun bool
	}{{maxStderr, true}, {1, false}, {2 * maxStderr, false}, {1, false}} {
		_, _ = s.Write([]byte(strings.Repeat("x", c.more)))
		if text, begun := s.last(); begun != c.begun || len(text) != maxStderr {
			t.Errorf("after %d more: %d bytes, begun %v", c.more, len(text), begun)
		}
	}
	v := &server{tokens: map[string]func(string, bool){"a": func(l string, _ bool) {
		if l != "1/2 a  b\n\tc " {
			t.Errorf("%q", l)
		}
	}}}
	v.told(context.Background(), &mcp.ProgressNotificationClientRequest{Params: &mcp.ProgressNotificationParams{ProgressToken: "a", Progress: 1, Total: 2, Message: "a  b\n\tc "}})
	for _, n := range []int{maxProgress - 2, maxProgress - 1} {
		var line string
		var cut bool
		v := &server{tokens: map[string]func(string, bool){"a": func(l string, c bool) { line, cut = l, c }}}
		v.told(context.Background(), &mcp.ProgressNotificationClientRequest{Params: &mcp.ProgressNotificationParams{ProgressToken: "a", Progress: 1, Message: strings.Repeat("z", n)}})
		if len(line) != maxProgress || cut != (n+2 > maxProgress) {
			t.Errorf("%d: %d bytes, cut %v", n, len(line), cut)
		}
	}
}

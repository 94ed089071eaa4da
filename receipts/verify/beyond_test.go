package verify

import (
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// The same reason stands there once, for all paths that it holds of.
func TestBeyond(t *testing.T) {
	for _, test := range []struct {
		texts []string
		more  int
		want  string
	}{
		{nil, 0, "it does not say that its tree is exact"},
		{[]string{".a: a cache", ".b: a cache", "c: a FIFO", ".d: a cache"}, 0, ".a, .b: a cache; c: a FIFO; .d: a cache"},
		{[]string{"x: y", "no colon", "no colon either", "x: y"}, 3, "x: y; no colon; no colon either; x: y; and 3 more"},
	} {
		g := receipts.Gate{BeyondMore: test.more}
		for _, text := range test.texts {
			g.Beyond = append(g.Beyond, receipts.Text(text))
		}
		if got := beyond(&g); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

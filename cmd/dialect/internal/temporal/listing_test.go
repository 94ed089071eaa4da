package temporal

import (
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/runtime/remote"
)

// What others named acts on no terminal, and makes no row of its own.
func TestListing(t *testing.T) {
	var b strings.Builder
	l := Listing{Runs: []remote.Listed{{Run: "r-0123456789abcdef", Status: "running", Started: time.Unix(0, 0), Queue: "q\x1b[31m\nfake  row"}}, More: true}
	if err := l.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if want := "r-0123456789abcdef  1970-01-01T00:00:00Z  running     \"q\\x1b[31m\\nfake  row\"\nand older ones\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

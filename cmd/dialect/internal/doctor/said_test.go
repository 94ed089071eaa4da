package doctor

import (
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/redact"
)

// TestSaid: nothing of a secret that was cut is in the advice about a server.
func TestSaid(t *testing.T) {
	const secret = "Zq8vT3kLm9XwPr5nB7cD2fGhJ4sA6yUe"
	hidden := redact.New(redact.Options{Environ: []string{"MY_TOKEN=" + secret}})
	for text, want := range map[string]string{
		secret[1:]:                   "",
		secret[1:] + "\nno more\n":   "it said: no more",
		"a\nno more, " + secret[:30]: "",
		"":                           "",
	} {
		if got := said(&mcpclient.Error{Stderr: text}, hidden); got != want || strings.Contains(got, secret[5:15]) {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := said(&mcpclient.Error{Stderr: "no more", Begun: true, Whole: true}, hidden); got != "it said: no more" {
		t.Error(got)
	}
}

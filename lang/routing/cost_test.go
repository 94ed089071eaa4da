package routing

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
)

// TestSlipsAreBounded: names that are misspelled are looked for among all names, as long as that takes a moment.
func TestSlipsAreBounded(t *testing.T) {
	const n = 2000
	var text strings.Builder
	name := func(i int) string { return fmt.Sprintf("%s%04d", strings.Repeat("n", 54), i) }
	for i := range n {
		fmt.Fprintf(&text, "[commands.%s]\nverb = \"test\"\nnoun = %q\ntool = \"true\"\n", name(i), name(i))
	}
	text.WriteString("[commands.all]\nverb = \"test\"\nnoun = \"all\"\ncomposite = [")
	for i := range n {
		fmt.Fprintf(&text, "%q,", strings.Replace(name(i), "nnn", "mmm", 1))
	}
	text.WriteString("]\n")
	begin := time.Now() // for what takes minutes otherwise
	_, list := Load("/p/routing.toml", "routing.toml", Options{ReadFile: func(string) ([]byte, error) { return []byte(text.String()), nil }})
	unknown := 0
	for _, d := range list {
		if d.Code == diag.UnknownMember {
			unknown++
		}
	}
	if took := time.Since(begin); unknown < n/2 || took > 30*time.Second {
		t.Errorf("%d members are unknown, in %v", unknown, took)
	}
}

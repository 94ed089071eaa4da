package routing

import (
	"fmt"
	"strings"
	"testing"

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
	_, list := Load("/p/routing.toml", "routing.toml", Options{ReadFile: func(string) ([]byte, error) { return []byte(text.String()), nil }})
	unknown, offered := 0, 0
	for _, d := range list {
		if d.Code == diag.UnknownMember {
			unknown++
			offered += len(d.Fixes)
		}
	}
	if unknown < n/2 || offered == 0 || offered > unknown/2 {
		t.Errorf("%d members are unknown, %d names are offered in their places", unknown, offered)
	}
}

// TestManyPlaceholders: a composite that takes more values than a line can give is an error, and none of its members loses a placeholder.
func TestManyPlaceholders(t *testing.T) {
	for leaves, want := range map[int]int{4: 0, 5: 1} {
		var text strings.Builder
		composite := ""
		for i := range leaves {
			fmt.Fprintf(&text, "[commands.m%d]\nverb = \"test\"\nnoun = \"m%d\"\ntool = \"true", i, i)
			for k := range 256 {
				fmt.Fprintf(&text, " {a%d_%d}", i, k)
			}
			text.WriteString("\"\n")
			composite += fmt.Sprintf("\"m%d\",", i)
		}
		fmt.Fprintf(&text, "[commands.all]\nverb = \"test\"\nnoun = \"all\"\ncomposite = [%s]\n", composite)
		m, list := Load("/p/routing.toml", "routing.toml", Options{ReadFile: func(string) ([]byte, error) { return []byte(text.String()), nil }})
		errs := 0
		for _, d := range list {
			if d.Severity == diag.Error && strings.Contains(d.Message, "takes more than 1024 values") {
				errs++
			}
		}
		if errs != want || want == 0 && len(m.ByName("all").Parameters().Names) != 256*leaves {
			t.Errorf("%d leaves: %d errors, %v", leaves, errs, list)
		}
	}
}

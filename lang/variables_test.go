package lang

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
)

// TestManyVariables: each use of a variable is found by its name, not by a look at all others.
func TestManyVariables(t *testing.T) {
	const lines, names = 100, 1000
	var b strings.Builder
	for i := range lines {
		b.WriteString("Test with go \"")
		for j := range names {
			fmt.Fprintf(&b, "{v%d}{all}", i*names+j)
		}
		b.WriteString("\"\n")
	}
	f, list := Parse(diag.NewSource("f", []byte(b.String())))
	if len(list) > 0 {
		t.Fatal(list[0])
	}
	start := time.Now()
	vars := Variables(f)
	if took := time.Since(start); took > time.Minute { // a thousandth of it is enough
		t.Errorf("%d variables took %s", len(vars), took)
	}
	if len(vars) != lines*names+1 || vars[1].Name != "all" || len(vars[1].Lines) != lines || vars[0].Name != "v0" || len(vars[0].Lines) != 1 {
		t.Errorf("%d variables, first %+v", len(vars), vars[:2])
	}
}

package explain_test

import (
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/explain"
	"github.com/command-dialect/dialect/lang/routing"
)

// TestKeys explains each key of each table, by its whole name and by its name alone.
func TestKeys(t *testing.T) {
	for _, place := range routing.Places() {
		for _, k := range routing.KeysIn(place) {
			for _, name := range []string{k.Name, strings.TrimPrefix(place.Path()+"."+k.Name, ".")} {
				var out strings.Builder
				for _, d := range explain.Word(name) {
					if err := d.WriteText(&out); err != nil {
						t.Fatal(err)
					}
				}
				first, _, _ := strings.Cut(k.Doc, " ")
				if !strings.Contains(out.String(), k.Name+", a key of ") || !strings.Contains(out.String(), "\n"+first) {
					t.Errorf("explain %s:\n%s", name, out.String())
				}
			}
		}
	}
}

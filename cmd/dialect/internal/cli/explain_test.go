package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/routing"
)

// TestExplainKeys explains each key of each table, by its whole name and by its name alone.
func TestExplainKeys(t *testing.T) {
	for _, place := range routing.Places() {
		for _, k := range routing.KeysIn(place) {
			for _, name := range []string{k.Name, strings.TrimPrefix(place.Path()+"."+k.Name, ".")} {
				var out, errs bytes.Buffer
				cmd := newExplain(&ui{out: &out, err: &errs})
				cmd.SetArgs([]string{name})
				cmd.SilenceUsage, cmd.SilenceErrors = true, true
				first, _, _ := strings.Cut(k.Doc, " ")
				if err := cmd.Execute(); err != nil || !strings.Contains(out.String(), k.Name+", a key of ") || !strings.Contains(out.String(), "\n"+first) {
					t.Errorf("explain %s: %v\n%s%s", name, err, out.String(), errs.String())
				}
			}
		}
	}
}

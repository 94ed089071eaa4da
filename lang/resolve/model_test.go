package resolve

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
)

// Scripts as models write them, each with what check says and what fmt makes of it. The first
// word of each file says what has to come of it, whatever the golden parts hold: a fault, that
// is at least one error and so nothing run; warnings, with every line bound; or nothing to say.
func TestModelText(t *testing.T) {
	text, err := os.ReadFile("testdata/model/routing.toml")
	if err != nil {
		t.Fatal(err)
	}
	m := matrix(t, text)
	files, _ := filepath.Glob("testdata/model/*.txtar")
	if len(files) < 60 {
		t.Fatalf("%d scripts", len(files))
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			script := a.Files[0].Data
			src := diag.NewSource("script.dlct", script)
			list, _ := Check(src, m, Options{})
			want, _, _ := strings.Cut(strings.TrimSpace(string(a.Comment)), ":")
			outcome := "clean"
			switch {
			case list.Err() != nil:
				outcome = "fault"
			case len(list) > 0:
				outcome = "warnings"
			}
			if outcome != want {
				t.Errorf("%s, want %s: %v", outcome, want, list)
			}
			// No line that is not blank or a comment is passed over in silence.
			f, _ := lang.Parse(src)
			for n := 1; n <= src.Lines(); n++ {
				line := strings.TrimSpace(string(src.Line(n)))
				said := slices.ContainsFunc(f.Commands, func(c *lang.Command) bool { return c.Span.Start.Line == n })
				for _, d := range list {
					said = said || d.Span.Start.Line == n
				}
				if line != "" && line[0] != '#' && !said {
					t.Errorf("nothing is said of line %d, %q", n, line)
				}
			}
			formatted, _ := lang.Format(src)
			if again, _ := Check(diag.NewSource("script.dlct", formatted), m, Options{}); list.Count(diag.Error) != again.Count(diag.Error) {
				t.Errorf("%d errors before fmt, %d after", list.Count(diag.Error), again.Count(diag.Error))
			}
			var b bytes.Buffer
			err = diag.WriteText(&b, list, diag.TextOptions{Sources: func(name string) *diag.Source {
				if name == src.Name {
					return src
				}
				return m.Source(name)
			}})
			if err != nil {
				t.Fatal(err)
			}
			got := &txtar.Archive{Comment: a.Comment, Files: []txtar.File{
				a.Files[0], {Name: "check", Data: b.Bytes()}, {Name: "fmt", Data: formatted},
			}}
			if bytes.Equal(txtar.Format(got), txtar.Format(a)) {
				return
			}
			if !*update {
				t.Fatalf("it differs; -update rewrites it\ngot:\n%s", txtar.Format(got))
			}
			if err := os.WriteFile(name, txtar.Format(got), 0o666); err != nil {
				t.Fatal(err)
			}
		})
	}
}

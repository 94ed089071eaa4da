package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/explain"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/runtime/project"
)

func newVocab(u *ui) *cobra.Command {
	var f struct {
		routing string
		json    bool
		words   bool
	}
	cmd := &cobra.Command{
		Use:               "vocab [VERB]",
		Short:             "list the lines that the matrix binds, and the words of the language",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeVerbs,
		RunE: func(_ *cobra.Command, args []string) error {
			if f.words {
				return u.Print(f.json, explain.TheLanguage())
			}
			m, findings, err := loadMatrix(f.routing)
			if err != nil {
				return err
			}
			if findings.Count(diag.Error) > 0 {
				sources := make(map[string]*diag.Source)
				findings = project.HideNamed(findings, m, sources)
				if err := u.Diagnostics(u.Err, u.ErrTTY, findings, sources); err != nil {
					return err
				}
				return exit.Status(exit.Failed)
			}
			verb := arg(args)
			v := explain.Bindings(m, strings.ToLower(verb))
			if len(v.Lines) == 0 && verb != "" {
				return exit.Failf(exit.Failed, "no line begins with %q", verb).Hint("the verbs are: %s", strings.Join(m.Verbs(), ", "))
			}
			return u.Print(f.json, v)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.routing, "routing", "", "use the matrix `FILE` instead of the nearest routing.toml")
	fl.BoolVar(&f.words, "words", false, "print the words of the language instead: verbs, nouns, prepositions")
	fl.BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	return cmd
}

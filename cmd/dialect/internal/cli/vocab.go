package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
)

// VocabSchema names the JSON document of `vocab --json`.
const vocabSchema = "dialect.vocab/1"

type vocabLine struct {
	Usage    string   `json:"usage"`
	Verb     string   `json:"verb"`
	Noun     string   `json:"noun"`
	Aliases  []string `json:"aliases,omitempty"`
	Binding  string   `json:"binding"`
	Runs     string   `json:"runs"`
	Effect   string   `json:"effect"`
	Required bool     `json:"receipt_required,omitempty"`
	File     string   `json:"file"`
	Line     int      `json:"line"`
}

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
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.words {
				return printWords(u, f.json)
			}
			dir, err := os.Getwd()
			if err != nil {
				return exit.Failf(exit.Fault, "%v", err)
			}
			m, findings, err := loadMatrix(dir, f.routing)
			if err != nil {
				return err
			}
			if findings.Count(diag.Error) > 0 {
				if err := u.diagnostics(u.err, u.errTTY, findings, matrixSources(m)); err != nil {
					return err
				}
				return exit.Status(exit.Failed)
			}
			lines := []vocabLine{}
			for _, b := range m.Bindings {
				if len(args) == 1 && b.Verb != strings.ToLower(args[0]) {
					continue
				}
				o := b.Origin()
				lines = append(lines, vocabLine{
					Usage: b.Usage(), Verb: b.Verb, Noun: b.Noun, Aliases: b.Aliases, Binding: b.Name, Runs: runs(b),
					Effect: string(b.Effect), Required: b.ReceiptRequired, File: o.File, Line: o.Line,
				})
			}
			if len(lines) == 0 && len(args) == 1 {
				return exit.Failf(exit.Failed, "no line begins with %q", args[0]).Hint("the verbs are: %s", strings.Join(m.Verbs(), ", "))
			}
			if f.json {
				return writeJSON(u, struct {
					Schema string      `json:"schema"`
					Matrix string      `json:"matrix"`
					Lines  []vocabLine `json:"lines"`
				}{vocabSchema, m.Name, lines})
			}
			slices.SortStableFunc(lines, func(a, b vocabLine) int { return strings.Compare(a.Verb, b.Verb) })
			w := tabwriter.NewWriter(u.out, 0, 0, 2, ' ', 0)
			for _, l := range lines {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s:%d\n", l.Usage, l.Binding, l.Runs, l.File, l.Line)
			}
			return w.Flush()
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.routing, "routing", "", "use the matrix `FILE` instead of the nearest routing.toml")
	fl.BoolVar(&f.words, "words", false, "print the words of the language instead: verbs, nouns, prepositions")
	fl.BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	return cmd
}

func matrixSources(m *routing.Matrix) map[string]*diag.Source {
	sources := make(map[string]*diag.Source)
	if m != nil {
		for _, s := range m.Files {
			sources[s.Name] = s
		}
	}
	return sources
}

// runs says in a few words what a binding runs.
func runs(b *routing.Binding) string {
	if len(b.Members) > 0 {
		names := make([]string, len(b.Members))
		for i, m := range b.Members {
			names[i] = m.Verb + " " + m.Noun
		}
		return strings.Join(names, ", ")
	}
	return b.Tool()
}

func printWords(u *ui, asJSON bool) error {
	v := routing.StandardVocabulary()
	if asJSON {
		type verb struct {
			Name   string `json:"name"`
			Weight string `json:"weight"`
			Family string `json:"family"`
			Effect string `json:"effect"`
		}
		type word struct {
			Name    string `json:"name"`
			Meaning string `json:"meaning"`
		}
		doc := struct {
			Schema       string `json:"schema"`
			Verbs        []verb `json:"verbs"`
			Nouns        []word `json:"nouns"`
			Prepositions []word `json:"prepositions"`
		}{Schema: "dialect.words/1"}
		for _, x := range v.Verbs {
			doc.Verbs = append(doc.Verbs, verb{x.Name, x.Weight, x.Family, string(x.Effect)})
		}
		for _, x := range v.Nouns {
			doc.Nouns = append(doc.Nouns, word{x.Name, x.Object})
		}
		for _, x := range v.Prepositions {
			doc.Prepositions = append(doc.Prepositions, word{x.Name, x.Meaning})
		}
		return writeJSON(u, doc)
	}
	w := tabwriter.NewWriter(u.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VERB\tWEIGHT\tEFFECT\tFAMILY")
	for _, x := range v.Verbs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", x.Name, x.Weight, x.Effect, x.Family)
	}
	fmt.Fprintln(w, "\t\t\t\nNOUN\tOBJECT\t\t")
	for _, x := range v.Nouns {
		fmt.Fprintf(w, "%s\t%s\t\t\n", x.Name, x.Object)
	}
	fmt.Fprintln(w, "\t\t\t\nPREPOSITION\tMEANING\t\t")
	for _, x := range v.Prepositions {
		fmt.Fprintf(w, "%s\t%s\t\t\n", x.Name, x.Meaning)
	}
	return w.Flush()
}

func writeJSON(u *ui, v any) error {
	enc := json.NewEncoder(u.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

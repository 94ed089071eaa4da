package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/routing"
)

// A Vocabulary lists the lines that a matrix binds.
type Vocabulary struct {
	Schema string `json:"schema"` // dialect.vocab/1
	Matrix string `json:"matrix"`
	Lines  []Line `json:"lines"`
}

// A Line is how a binding is written, and what it runs.
type Line struct {
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

// Bindings returns the lines that m binds, in its order; those of one verb if it is not empty.
func Bindings(m *routing.Matrix, verb string) Vocabulary {
	v := Vocabulary{Schema: "dialect.vocab/1", Matrix: m.Name, Lines: []Line{}}
	for _, b := range m.Bindings {
		if verb != "" && b.Verb != verb {
			continue
		}
		o, runs := b.Origin(), b.Tool()
		if len(b.Members) > 0 {
			names := make([]string, len(b.Members))
			for i, m := range b.Members {
				names[i] = m.Verb + " " + m.Noun
			}
			runs = strings.Join(names, ", ")
		}
		v.Lines = append(v.Lines, Line{
			Usage: b.Usage(), Verb: b.Verb, Noun: b.Noun, Aliases: b.Aliases, Binding: b.Name, Runs: runs,
			Effect: string(b.Effect), Required: b.ReceiptRequired, File: o.File, Line: o.Line,
		})
	}
	return v
}

// WriteText writes the lines by their verbs. What a line runs comes last: one long command would pad all others.
func (v Vocabulary) WriteText(w io.Writer) error {
	return table(w, func(w io.Writer) {
		for _, l := range slices.SortedStableFunc(slices.Values(v.Lines), func(a, b Line) int { return strings.Compare(a.Verb, b.Verb) }) {
			fmt.Fprintf(w, "%s\t%s\t%s:%d\t%s\n", diag.Printable(l.Usage), diag.Printable(l.Binding), diag.Printable(l.File), l.Line, diag.Printable(l.Runs))
		}
	})
}

// A Language lists the words of the language.
type Language struct {
	Schema       string `json:"schema"` // dialect.words/1
	Verbs        []Verb `json:"verbs"`
	Nouns        []Term `json:"nouns"`
	Prepositions []Term `json:"prepositions"`
}

// A Verb is a [routing.Verb] as JSON.
type Verb struct {
	Name        string      `json:"name"`
	Weight      string      `json:"weight"`
	Family      string      `json:"family"`
	Effect      plan.Effect `json:"effect"`
	Preposition string      `json:"-"`
}

// A Term is a noun or a preposition.
type Term struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
}

// TheLanguage returns the words that every matrix starts with.
func TheLanguage() Language {
	doc := Language{Schema: "dialect.words/1"}
	v := routing.StandardVocabulary()
	for _, x := range v.Verbs {
		doc.Verbs = append(doc.Verbs, Verb(x))
	}
	for _, x := range v.Nouns {
		doc.Nouns = append(doc.Nouns, Term{x.Name, x.Object})
	}
	for _, x := range v.Prepositions {
		doc.Prepositions = append(doc.Prepositions, Term(x))
	}
	return doc
}

// WriteText writes the verbs, the nouns and the prepositions, a word a line.
func (l Language) WriteText(w io.Writer) error {
	return table(w, func(w io.Writer) {
		fmt.Fprintln(w, "VERB\tWEIGHT\tEFFECT\tFAMILY")
		for _, x := range l.Verbs {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", x.Name, x.Weight, x.Effect, x.Family)
		}
		words := func(title string, list []Term) {
			fmt.Fprintf(w, "\t\t\t\n%s\t\t\n", title)
			for _, x := range list {
				fmt.Fprintf(w, "%s\t%s\t\t\n", x.Name, x.Meaning)
			}
		}
		words("NOUN\tOBJECT", l.Nouns)
		words("PREPOSITION\tMEANING", l.Prepositions)
	})
}

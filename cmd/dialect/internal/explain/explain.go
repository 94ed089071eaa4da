// Package explain says what things mean: a diagnostic, a key of routing.toml, the words of the
// language, what a matrix binds, a skill, a line, a script. In come words, out come documents, which
// marshal as JSON and write themselves for people. It runs nothing and opens no store.
package explain

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/lint"
	"github.com/command-dialect/dialect/lang/routing/reference"
	"github.com/command-dialect/dialect/stdlib"
)

// A Document is one as JSON, and writes itself for people.
type Document interface{ WriteText(w io.Writer) error }

// Words returns the words that [Word] explains: codes, keys and the words of reports.
func Words() (names []string) {
	for _, code := range diag.Codes() {
		names = append(names, string(code))
	}
	for _, k := range routing.Keys() {
		names = append(names, k.Name)
	}
	for _, t := range entries() {
		names = append(names, t.Words...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Word returns what a word means: in a report, as the code of a diagnostic, and as a key of a matrix, for some
// words are all of them. It returns nothing for another word.
func Word(word string) (docs []Document) {
	for _, t := range entries() {
		if slices.Contains(t.Words, wordOf(word)) {
			docs = append(docs, t)
		}
	}
	if p, ok := diag.PageOf(diag.Code(word)); ok {
		docs = append(docs, newPage(p))
	}
	if keys := reference.Find(word); len(keys) > 0 {
		docs = append(docs, Keys{"dialect.keys/1", reference.Entries(keys), keys})
	}
	return docs
}

// A Page explains the code of a diagnostic.
type Page struct {
	Code   string `json:"code"`
	Text   string `json:"text"`
	Matrix bool   `json:"matrix,omitempty"` // the examples are of routing.toml
	Bad    string `json:"bad,omitempty"`
	Good   string `json:"good,omitempty"`
}

func newPage(p diag.Page) Page { return Page{string(p.Code), p.Text, p.Matrix, p.Bad, p.Good} }

// WriteText writes the page with its examples. What cannot be seen in one is escaped.
func (p Page) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", p.Code, p.Text)
	what := "a script"
	if p.Matrix {
		what = "routing.toml"
	}
	for _, x := range []struct{ name, text string }{{"has it", p.Bad}, {"has not", p.Good}} {
		if x.text == "" {
			continue
		}
		fmt.Fprintf(&b, "\n%s that %s:\n\n", what, x.name)
		for line := range strings.Lines(x.text) {
			if line = strings.TrimSuffix(line, "\n"); diag.Printable(line) != line || !utf8.ValidString(line) {
				line = strings.Trim(strconv.QuoteToASCII(line), `"`)
			}
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Keys explain keys of routing.toml.
type Keys struct {
	Schema string            `json:"schema"` // dialect.keys/1
	Keys   []reference.Entry `json:"keys"`

	keys []routing.Key
}

// WriteText writes what each key takes, its default and an example.
func (k Keys) WriteText(w io.Writer) error {
	_, err := io.WriteString(w, reference.Explain(k.keys))
	return err
}

// Codes are the pages of all codes.
type Codes struct {
	Schema string `json:"schema"` // dialect.codes/1
	Codes  []Page `json:"codes"`
}

// AllCodes returns the pages of all codes, in the order of their stages.
func AllCodes() Codes {
	c := Codes{Schema: "dialect.codes/1"}
	for _, code := range diag.Codes() {
		p, _ := diag.PageOf(code)
		c.Codes = append(c.Codes, newPage(p))
	}
	return c
}

// WriteText writes the first sentence of each page.
func (c Codes) WriteText(w io.Writer) error {
	return table(w, func(w io.Writer) {
		for _, p := range c.Codes {
			fmt.Fprintf(w, "%s\t%s\n", p.Code, firstSentence(p.Text))
		}
	})
}

// Packs are the packs that a matrix can extend.
type Packs struct {
	Schema string `json:"schema"` // dialect.packs/1
	Packs  []Pack `json:"packs"`
}

// A Pack is a pack, and what it is for.
type Pack struct {
	Name string `json:"name"`
	Text string `json:"text"` // the first sentence of the comment that it begins with
}

// AllPacks returns the packs of the stdlib.
func AllPacks() Packs {
	doc := Packs{Schema: "dialect.packs/1"}
	for _, name := range stdlib.Packs() {
		text, _ := stdlib.Pack(name)
		var words []string
		for line := range strings.Lines(string(text)) {
			rest, ok := strings.CutPrefix(line, "# ")
			if !ok {
				break
			}
			words = append(words, strings.TrimSpace(rest))
		}
		doc.Packs = append(doc.Packs, Pack{name, firstSentence(strings.Join(words, " "))})
	}
	return doc
}

// WriteText writes a pack a line.
func (p Packs) WriteText(w io.Writer) error {
	return table(w, func(w io.Writer) {
		for _, x := range p.Packs {
			fmt.Fprintf(w, "%s\t%s\n", x.Name, x.Text)
		}
	})
}

// Skill finds the skill called name, or the one that the binding of the line name has: a file of the
// project of m, or else a text of the stdlib. m is nil where there is no matrix.
func Skill(m *routing.Matrix, name string) (file string, text []byte, err error) {
	if m != nil {
		f, _ := lang.Parse(diag.NewSource("-e", []byte(name)))
		if len(f.Commands) == 1 && !f.Commands[0].Bad {
			b := m.Lookup(f.Commands[0].Verb.Text, f.Commands[0].Noun.Text)
			if b == nil {
				return "", nil, exit.Usagef("nothing is bound to %q", name)
			}
			if name = b.Skill; name == "" {
				return "", nil, exit.Usagef("the binding %s names no skill", b.Name)
			}
		}
		if file, ok := lint.SkillFile(m.Root, name); ok {
			return file, nil, nil
		}
	}
	text, ok := stdlib.Skill(name)
	if !ok {
		return "", nil, exit.Usagef("there is no skill %q", name).Hint("the stdlib has: %s", strings.Join(stdlib.Skills(), ", "))
	}
	return "", text, nil
}

// table aligns the columns of what f writes.
func table(w io.Writer, f func(w io.Writer)) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	f(t)
	return t.Flush()
}

func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}

package resolve

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
)

// maxListed bounds a list of words in a hint.
const maxListed = 30

// unbound reports that nothing is bound to the verb and noun of c.
func (r *resolver) unbound(c *lang.Command) {
	verb, noun := r.m.Verb(c.Verb.Text), r.m.Noun(c.Noun.Text)
	switch {
	case verb == "":
		r.unboundVerb(c)
		if noun == "" {
			r.unboundNoun(c)
		}
	case noun == "":
		r.unboundNoun(c)
	default:
		nouns := r.m.NounsOf(verb)
		d := r.errorf(diag.UnboundPair, span(c.Verb.Span, c.Noun.Span), "nothing is bound to \"%s %s\"", c.Verb.Key(), c.Noun.Key())
		d.Hint = fmt.Sprintf("%q is bound with: %s\n%q is bound with: %s", verb, list(nouns), noun, list(r.m.VerbsOf(noun)))
		if near := routing.Suggest(noun, nouns); near != "" {
			d.Hint = fmt.Sprintf("did you mean %q?\n", example(r.m.Lookup(verb, near))) + d.Hint
		}
		d.Hint += "\n" + stub(c)
	}
}

func (r *resolver) unboundVerb(c *lang.Command) {
	verbs := r.m.Verbs()
	d := r.errorf(diag.UnboundVerb, c.Verb.Span, "nothing is bound to the verb %q", c.Verb.Key())
	near := routing.Suggest(c.Verb.Text, verbs)
	if near == "" {
		near = r.m.Verb(routing.Suggest(c.Verb.Text, sortedKeys(r.m.VerbAliases())))
	}
	if near != "" {
		d.Hint = fmt.Sprintf("did you mean %q?\n", near)
	}
	d.Hint += "verbs: " + list(verbs)
	if near == "" && c.Noun.Text != "" {
		d.Hint += "\n" + stub(c)
	}
}

func (r *resolver) unboundNoun(c *lang.Command) {
	verb := r.m.Verb(c.Verb.Text)
	nouns := r.m.NounsOf(verb)
	d := r.errorf(diag.UnboundNoun, c.Noun.Span, "nothing is bound to the noun %q", c.Noun.Key())
	near := routing.Suggest(c.Noun.Text, nouns)
	if near == "" {
		near = routing.Suggest(c.Noun.Text, r.m.Nouns())
	}
	if near == "" {
		near = r.m.Noun(routing.Suggest(c.Noun.Text, sortedKeys(r.m.NounAliases())))
	}
	var hints []string
	if near != "" {
		hints = append(hints, fmt.Sprintf("did you mean %q?", near))
	}
	if len(nouns) > 0 {
		hints = append(hints, fmt.Sprintf("%q is bound with: %s", verb, list(nouns)))
		if near == "" {
			hints = append(hints, stub(c))
		}
	} else {
		hints = append(hints, "nouns: "+list(r.m.Nouns()))
	}
	d.Hint = strings.Join(hints, "\n")
}

// ambiguous reports that the object of c is a noun of its verb too. B is what
// the line as parsed is bound to, or nil; other is the other reading.
func (r *resolver) ambiguous(c *lang.Command, b, other *routing.Binding) {
	tail := ""
	if i := c.Noun.Span.End.Offset - c.Span.Start.Offset; i >= 0 && i <= len(c.Text) {
		tail = c.Text[i:]
	}
	d := r.errorf(diag.Ambiguous, c.Object.Span, "%q is a noun of %q, and the line makes it the object", c.Object.Text, c.Verb.Key())
	first := fmt.Sprintf("%s \"%s\" %s %s%s", c.Verb.Text, c.Object.Text, c.Prep.Text, c.Noun.Text, tail)
	second := fmt.Sprintf("%s %s \"%s\" %s%s", c.Verb.Text, c.Object.Text, c.Prep.Text, c.Noun.Text, tail)
	note := ""
	if b == nil {
		note = ", and nothing is bound to that"
	}
	// The remarks are comments, so that a line can be pasted whole.
	d.Hint = fmt.Sprintf("write one of these:\n%s  # the noun is %q%s\n%s  # the noun is %q", first, c.Noun.Key(), note, second, c.Object.Text)
	d.Related = []diag.Related{{File: other.Source.Name, Span: other.Span, Message: fmt.Sprintf("\"%s %s\" is bound here", other.Verb, other.Noun)}}
}

// preposition warns of one that the binding does not list.
func (r *resolver) preposition(c *lang.Command, b *routing.Binding) {
	if slices.Contains(b.Prepositions, c.Prep.Key()) {
		return
	}
	r.warnf(diag.OddPreposition, c.Prep.Span, "\"%s %s\" does not go with %q", b.Verb, b.Noun, c.Prep.Key()).
		Hint = "it goes with: " + strings.Join(b.Prepositions, ", ")
}

// parsed takes over what lang said, with the words that would be right.
func (r *resolver) parsed(f *lang.File) {
	for _, d := range r.o.Parsed {
		if r.o.Line != 0 && d.Span.IsValid() && d.Span.Start.Line != r.o.Line {
			continue
		}
		if d.Code == diag.MissingNoun {
			if c := commandAt(f, d.Span.Start.Line); c != nil {
				if nouns := r.m.NounsOf(c.Verb.Text); len(nouns) > 0 {
					hint := fmt.Sprintf("%q is bound with: %s\nfor example: %s", r.m.Verb(c.Verb.Text), list(nouns), example(r.m.Lookup(c.Verb.Text, nouns[0])))
					if d.Hint != "" {
						hint = d.Hint + "\n" + hint
					}
					d.Hint = hint
				}
			}
		}
		r.list = append(r.list, d)
	}
}

// commandAt returns the command on line n, or nil. Commands are in source order.
func commandAt(f *lang.File, n int) *lang.Command {
	i, ok := slices.BinarySearchFunc(f.Commands, n, func(c *lang.Command, n int) int { return c.Span.Start.Line - n })
	if !ok {
		return nil
	}
	return f.Commands[i]
}

func (r *resolver) noSuchLine(f *lang.File) {
	var at diag.Span
	if start := r.o.Line; start >= 1 && start <= f.Source.Lines() {
		offset := f.Source.LineStart(start)
		at = f.Source.Span(offset, offset)
	}
	d := r.errorf(diag.NotOneLine, at, "there is no command on line %d of %s", r.o.Line, r.file)
	lines := make([]string, 0, len(f.Commands))
	for _, c := range f.Commands {
		lines = append(lines, strconv.Itoa(c.Span.Start.Line))
	}
	if len(lines) > 0 {
		d.Hint = "commands are on line " + list(lines)
	}
}

// stub returns the binding that would make c right, to be pasted.
func stub(c *lang.Command) string {
	verb, noun := c.Verb.Key(), c.Noun.Key()
	name := strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' {
			return c
		}
		return '_'
	}, verb+"_"+noun)
	return fmt.Sprintf("or bind it:\n[commands.%s]\nverb = %q\nnoun = %q\ntool = \"...\"", name, verb, noun)
}

// example returns the usage of b with its parameters in angle brackets: in
// braces they would read as variables when pasted into a script.
func example(b *routing.Binding) string {
	return strings.NewReplacer("{", "<", "}", ">").Replace(b.Usage())
}

func list(words []string) string {
	if n := len(words); n > maxListed {
		return strings.Join(words[:maxListed], ", ") + fmt.Sprintf(" and %d more", n-maxListed)
	}
	return strings.Join(words, ", ")
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// span returns the range from the start of a to the end of b.
func span(a, b diag.Span) diag.Span { return diag.Span{Start: a.Start, End: b.End} }

// firstLine returns the first line of text.
func firstLine(text string) string {
	text = strings.TrimSpace(text)
	line, _, _ := strings.Cut(text, "\n")
	return line
}

package resolve

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/edit"
	"github.com/command-dialect/dialect/lang/suggest"
	"github.com/command-dialect/dialect/lang/tomltree"
)

// maxListed bounds a list of words in a hint.
const maxListed = 30

// unbound reports that nothing is bound to the verb and noun of c.
func (r *resolver) unbound(c *lang.Command) {
	verb, noun := r.m.Verb(c.Verb.Text), r.m.Noun(c.Noun.Text)
	switch {
	case verb == "":
		r.unboundVerb(c)
		if noun == "" && (c.Bad || !inPack(c)) { // else one hint is for both
			r.unboundNoun(c)
		}
	case noun == "":
		r.unboundNoun(c)
	default:
		d := r.errorf(diag.UnboundPair, span(c.Verb.Span, c.Noun.Span), "nothing is bound to \"%s %s\"", c.Verb.Key(), c.Noun.Key())
		if r.all.Full(diag.Error) {
			return
		}
		nouns := r.m.NounsOf(verb)
		d.Hint = fmt.Sprintf("%q is bound with: %s\n%q is bound with: %s", verb, list(nouns), noun, list(r.m.VerbsOf(noun)))
		if near := r.slips.Near(noun, nouns); near != "" {
			d.Hint = fmt.Sprintf("did you mean %q?\n", example(r.m.Lookup(verb, near))) + d.Hint
			r.replace(d, c.Noun, near)
		}
		d.Hint += "\n" + r.stub(d, c)
	}
}

// inPack reports whether a pack binds the verb and noun of c.
func inPack(c *lang.Command) bool { return len(routing.PacksOf(c.Verb.Key(), c.Noun.Key())) > 0 }

func (r *resolver) unboundVerb(c *lang.Command) {
	d := r.errorf(diag.UnboundVerb, c.Verb.Span, "nothing is bound to the verb %q", c.Verb.Key())
	if r.all.Full(diag.Error) {
		return
	}
	verbs := r.m.Verbs()
	near := r.nearest(c.Verb.Text, verbs, r.m.VerbAliases(), r.m.Verb)
	if near != "" {
		d.Hint = fmt.Sprintf("did you mean %q?\n", near)
		r.replace(d, c.Verb, near)
		if c.Noun.Text != "" && suggest.Variant(c.Verb.Key(), near) {
			d.Hint += r.declare("verbs", c.Verb.Key(), near) + "\n"
		}
	}
	d.Hint += "verbs: " + list(verbs)
	if c.Noun.Text != "" && !c.Bad && (near == "" || inPack(c)) {
		d.Hint += "\n" + r.stub(d, c)
	}
}

func (r *resolver) unboundNoun(c *lang.Command) {
	d := r.errorf(diag.UnboundNoun, c.Noun.Span, "nothing is bound to the noun %q", c.Noun.Key())
	if r.all.Full(diag.Error) {
		return
	}
	if odd, latin := lang.LookAlike(c.Noun.Text); odd != 0 {
		d.Message += fmt.Sprintf(": its %q is %U, which only looks like a Latin letter", odd, odd)
		if r.m.Noun(latin) != "" {
			d.Hint = fmt.Sprintf("did you mean %q?", latin)
			r.replace(d, c.Noun, latin)
			return
		}
	}
	verb := r.m.Verb(c.Verb.Text)
	nouns := r.m.NounsOf(verb)
	near := r.slips.Near(c.Noun.Text, nouns)
	if near == "" {
		near = r.nearest(c.Noun.Text, r.m.Nouns(), r.m.NounAliases(), r.m.Noun)
	}
	var hints []string
	prep, noun := "", ""
	if near == "" {
		prep, noun = r.misspeltPreposition(c)
	}
	if prep != "" {
		hints = append(hints, fmt.Sprintf("did you mean \"%s %s %s\"?", c.Verb.Text, prep, noun))
		r.replace(d, c.Noun, prep)
	}
	if near != "" {
		hints = append(hints, fmt.Sprintf("did you mean %q?", near))
		r.replace(d, c.Noun, near)
		if b := r.m.Lookup(c.Verb.Text, near); b != nil && suggest.Variant(c.Noun.Key(), near) {
			hints = append(hints, r.declare("nouns", c.Noun.Key(), near))
			if change, ok := edit.AddAlias(r.m, b, c.Noun.Key()); ok {
				d.Fixes = append(d.Fixes, diag.Fix{
					Message:       fmt.Sprintf("declare %q an alias of %q in %s", c.Noun.Key(), near, change.File),
					Applicability: diag.MaybeIncorrect, Edits: []diag.Edit{change},
				})
			}
		}
	}
	if len(nouns) > 0 {
		hints = append(hints, fmt.Sprintf("%q is bound with: %s", verb, list(nouns)))
		if near == "" && prep == "" {
			hints = append(hints, r.stub(d, c))
		}
	} else {
		hints = append(hints, "nouns: "+list(r.m.Nouns()))
	}
	d.Hint = strings.Join(hints, "\n")
}

// misspeltPreposition returns the preposition that the noun of c is nearly, and the word after it where that is bound with the verb.
func (r *resolver) misspeltPreposition(c *lang.Command) (prep, noun string) {
	if c.Prep.Text != "" || len(c.Arguments) == 0 || c.Arguments[0].Name.Text != "" {
		return "", ""
	}
	noun = c.Arguments[0].Value.Text
	if r.m.Lookup(c.Verb.Text, noun) == nil {
		return "", ""
	}
	return r.slips.Near(c.Noun.Text, lang.Prepositions[:]), noun
}

// nearest suggests one of words, or what an alias near to word stands for.
func (r *resolver) nearest(word string, words []string, aliases map[string]string, meaning func(string) string) string {
	if near := r.slips.Near(word, words); near != "" {
		return near
	}
	if !r.slips.Spend(len(words) + len(aliases)) {
		return ""
	}
	for _, w := range words {
		if suggest.Variant(strings.ToLower(word), w) {
			return w
		}
	}
	return meaning(r.slips.Near(word, sortedKeys(aliases)))
}

// declare says how a form of a word becomes one that a script may say: forms are never guessed.
func (r *resolver) declare(table, word, name string) string {
	return fmt.Sprintf("no form of a word is guessed; to allow this one, say in %s:\n[aliases.%s]\n%s = %q", r.m.Name, table, tomltree.Key(word), name)
}

// replace offers near in the place of w.
func (r *resolver) replace(d *diag.Diagnostic, w lang.Word, near string) {
	if first := w.Text[:1]; near != "" && first == strings.ToUpper(first) && first != strings.ToLower(first) && w.Span.Start == d.Span.Start {
		near = strings.ToUpper(near[:1]) + near[1:]
	}
	r.fix(d, fmt.Sprintf("replace %q by %q", w.Text, near), w.Span, near)
}

func (r *resolver) fix(d *diag.Diagnostic, message string, span diag.Span, text string) {
	d.Fixes = append(d.Fixes, diag.Fix{Message: message, Applicability: diag.MaybeIncorrect, Edits: []diag.Edit{{File: r.file, Span: span, New: text}}})
}

// ambiguous reports that the object of c is a noun of its verb too. B is what
// the line as parsed is bound to, or nil; other is the other reading.
func (r *resolver) ambiguous(c *lang.Command, b, other *routing.Binding) {
	tail := ""
	if i := c.Noun.Span.End.Offset - c.Span.Start.Offset; i >= 0 && i <= len(c.Text) {
		tail = c.Text[i:]
	}
	d := r.errorf(diag.Ambiguous, c.Object.Span, "%q is a noun of %q, but the line makes it the object", c.Object.Text, c.Verb.Key())
	first := fmt.Sprintf("%s \"%s\" %s %s%s", c.Verb.Text, c.Object.Text, c.Prep.Text, c.Noun.Text, tail)
	second := fmt.Sprintf("%s %s \"%s\" %s%s", c.Verb.Text, c.Object.Text, c.Prep.Text, c.Noun.Text, tail)
	note := ""
	if b == nil {
		note = ", and nothing is bound to that"
	}
	// The remarks are comments, so that a line can be pasted whole.
	d.Hint = fmt.Sprintf("write one of these:\n%s  # the noun is %q%s\n%s  # the noun is %q", first, c.Noun.Key(), note, second, c.Object.Text)
	d.Related = []diag.Related{{File: other.Source.Name, Span: other.Span, Message: fmt.Sprintf("\"%s %s\" is bound here", other.Verb, other.Noun)}}
	if b != nil {
		r.fix(d, fmt.Sprintf("take %q for the noun: %s", c.Noun.Text, first), c.Span, first)
	}
	r.fix(d, fmt.Sprintf("take %q for the noun: %s", c.Object.Text, second), c.Span, second)
}

// preposition warns of one that the binding does not list.
func (r *resolver) preposition(c *lang.Command, b *routing.Binding) {
	if slices.Contains(b.Prepositions, c.Prep.Key()) {
		return
	}
	d := r.warnf(diag.OddPreposition, c.Prep.Span, "\"%s %s\" does not go with %q", b.Verb, b.Noun, c.Prep.Key())
	d.Hint = "it goes with: " + strings.Join(b.Prepositions, ", ")
	for _, p := range b.Prepositions {
		r.fix(d, fmt.Sprintf("write %q", p), c.Prep.Span, p)
	}
}

// parsed is what lang said of c, with the words that would be right.
func (r *resolver) parsed(d diag.Diagnostic, c *lang.Command) diag.Diagnostic {
	var meant *routing.Binding
	if nouns := r.m.NounsOf(c.Verb.Text); d.Code == diag.MissingNoun && len(nouns) > 0 {
		meant = r.m.Lookup(c.Verb.Text, nouns[0])
	}
	if strings.Contains(d.Hint, lang.Example) && !slices.Contains(r.m.NounsOf("test"), "pytest") {
		for _, verb := range append([]string{c.Verb.Text, "test"}, r.m.Verbs()...) {
			if nouns := r.m.NounsOf(verb); len(nouns) > 0 {
				d.Hint = strings.Replace(d.Hint, lang.Example, example(r.m.Lookup(verb, nouns[0])), 1)
				break
			}
		}
	}
	if meant != nil {
		hint := fmt.Sprintf("%q is bound with: %s", meant.Verb, list(r.m.NounsOf(meant.Verb)))
		if !strings.HasSuffix(d.Hint, ": "+example(meant)) {
			hint += "\nfor example: " + example(meant)
		}
		d.Hint = strings.TrimPrefix(d.Hint+"\n"+hint, "\n")
	}
	return d
}

// empty says that a script holds no command.
func (r *resolver) empty() {
	r.warnf(diag.EmptyScript, diag.Span{}, "there is no command in the script").Hint = "a run of it tests nothing, and is a fault"
	r.flush()
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
	r.flush()
}

// stub returns the binding that would make c right, to be pasted, and offers it as a fix of d.
func (r *resolver) stub(d *diag.Diagnostic, c *lang.Command) string {
	verb, noun := c.Verb.Key(), c.Noun.Key()
	name := strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' {
			return c
		}
		return '_'
	}, diag.HideKeys(verb+"_"+noun)) // as a name a key would not be known for one
	text := fmt.Sprintf("[commands.%s]\nverb = %q\nnoun = %q\ntool = \"...\"", name, verb, noun)
	if change, ok := edit.Append(r.m, text+"\n"); ok && r.m.ByName(name) == nil {
		d.Fixes = append(d.Fixes, diag.Fix{
			Message:       fmt.Sprintf("bind \"%s %s\" in %s", verb, noun, change.File),
			Applicability: diag.HasPlaceholders, Edits: []diag.Edit{change},
		})
	}
	hint := ""
	if packs := routing.PacksOf(verb, noun); len(packs) > 0 {
		hint = fmt.Sprintf("the pack %s has this line: extends = [%q] in %s\n", packs[0], packs[0], r.m.Name)
	}
	return hint + "or bind it:\n" + text
}

// example returns the usage of b with its parameters in angle brackets: in
// braces they would read as variables when pasted into a script.
func example(b *routing.Binding) string {
	return strings.NewReplacer("{", "<", "}", ">").Replace(b.Usage())
}

func list(words []string) string { return diag.Some(words, len(words), maxListed) }

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

package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
)

// What comes here is a line that is not a command of the matrix, as models write them: a sentence,
// a command with words or marks around it, several commands on one line. None is ever run; what
// the line would be is shown, for somebody to write it.

// shape are the findings of lang that only say how a line fails to be a command. Where it is
// known what the line is instead, they would mislead.
var shape = []diag.Code{
	diag.BadVerb, diag.MissingNoun, diag.ManyObjects, diag.ExtraPreposition, diag.Misplaced,
	diag.QuoteInWord, diag.FullStop, diag.ShellOperator,
}

// misread says what a line is that is not a command, and returns what is left to say of it; nil
// if that is nothing.
func (r *resolver) misread(c *lang.Command, said diag.List) diag.List {
	if r.all.Full(diag.Error) || len(c.Text) > 1<<10 {
		return keep(said)
	}
	for _, d := range said {
		if d.Severity == diag.Error && !slices.Contains(shape, d.Code) {
			return keep(said) // of its characters, say: that comes first
		}
	}
	near := ""
	if c.Verb.Text != "" {
		near = r.nearest(c.Verb.Text, r.m.Verbs(), r.m.VerbAliases(), r.m.Verb)
	}
	text, once := atOnce(c.Text)
	switch commands := r.commands(text); {
	case len(commands) > 1:
		d := r.errorf(diag.TwoCommands, c.Span, "%d commands on one line", len(commands))
		d.Hint = "write each on a line of its own:\n" + strings.Join(commands, "\n")
		if once {
			d.Hint += "\n" + parallel
		}
		r.fix(d, "write each on a line of its own", c.Span, strings.Join(commands, "\n"))
	case len(commands) == 1 && commands[0] != c.Text && (near == "" || r.m.Verb(c.Verb.Text) != ""):
		d := r.errorf(diag.Prose, c.Span, "words or marks around a command")
		d.Hint = fmt.Sprintf("did you mean %q?\na line is the command alone; remarks go after \"# \"", commands[0])
		if once {
			d.Hint = fmt.Sprintf("did you mean %q?\n%s", commands[0], parallel)
		}
		r.fix(d, fmt.Sprintf("write %q", commands[0]), c.Span, commands[0])
	case near == "" && r.m.Verb(c.Verb.Text) == "" && (c.Bad || r.m.Noun(c.Noun.Text) == "") && isProse(c):
		d := r.errorf(diag.Prose, c.Span, "this reads as prose; the matrix has no such command")
		d.Hint = "put remarks after \"# \"; a line is a verb, a preposition and a noun"
		if verbs := r.m.Verbs(); len(verbs) > 0 && !r.prose { // once: an answer of twenty sentences has one cause
			r.prose = true
			d.Hint += ": " + example(r.m.Lookup(verbs[0], r.m.NounsOf(verbs[0])[0])) + "\nverbs: " + list(verbs)
		}
		at := c.Span
		at.End = at.Start
		r.fix(d, "make it a comment", at, "# ")
	default:
		return keep(said)
	}
	for _, d := range said {
		if !slices.Contains(shape, d.Code) {
			r.list = append(r.list, d)
		}
	}
	return nil
}

// parallel says how lines run at the same time, to whom asks for it on the line.
const parallel = "to run lines in parallel, bind them as one: composite = [...]; or set order = \"parallel\" in [run] of routing.toml"

// atOnce returns text without the words at its end, or the operator of a shell, that ask for lines to run at the same
// time, and whether it had some. The operator stays where it is: it stands between commands.
func atOnce(text string) (string, bool) {
	for _, words := range []string{" in parallel", " concurrently", " simultaneously", " at once", " at the same time", " &"} {
		trimmed := strings.TrimRight(text, " .!")
		if n := len(trimmed) - len(words); n > 0 && strings.EqualFold(trimmed[n:], words) {
			return strings.TrimRight(trimmed[:n], " ,;"), true
		}
	}
	return text, strings.Contains(text, " & ")
}

// keep returns said as a list that is not nil.
func keep(said diag.List) diag.List {
	if said == nil {
		return diag.List{}
	}
	return said
}

// isProse reports whether a line that nothing is bound to looks like a sentence, a heading or
// code, and not like a command with two words that nobody has bound yet.
func isProse(c *lang.Command) bool {
	words := 0
	for _, a := range c.Arguments {
		if a.Name.Text == "" && !a.Value.Quoted {
			words++
		}
	}
	switch {
	case strings.ContainsAny(c.Text[len(c.Text)-1:], ".!?:"):
		return true
	case c.Bad:
		return len(strings.Fields(c.Text)) > 3
	case c.Prep.Text != "":
		return words > 2
	default:
		return words > 1
	}
}

// Finding the commands of a line. The line is cut where a word is a bound verb, and a run of its
// pieces is a command if the grammar reads it, it is bound, and it has as many values as it takes: a
// trial. What is wanted is a sequence of commands that reaches the end of the line; words before the first
// one, and between two, are left out. Whether such a sequence begins at a verb depends on nothing before that
// verb, so commands answers the question once for each verb, the last one first, and an answer uses only
// answers that it already has: a table, where a recursive search would answer the same question for each way
// to come to that verb, and their number doubles with each verb. Verbs beyond the first maxVerbs are
// text like any other. So a line costs at most maxVerbs*(maxVerbs+1)/2 trials for each of its two
// spellings, and the second one is looked at only where it differs. The loops count down, or up to a length that
// does not change: they end.

// maxVerbs bounds how many words of a line are taken for the verb of a command.
const maxVerbs = 24

// commands returns the commands that text holds one after the other: itself, or what follows words
// that belong to no command. It is empty if there is none. The marks with which Markdown makes words
// bold are left out where the text with them holds none.
func (r *resolver) commands(text string) []string {
	if found := r.sequence(text); found != nil {
		return found
	}
	if plain := strings.ReplaceAll(strings.ReplaceAll(text, "**", ""), "__", ""); plain != text {
		return r.sequence(plain)
	}
	return nil
}

// sequence returns the commands of text that reach its end, nil if there are none.
func (r *resolver) sequence(text string) []string {
	starts := r.verbsIn(text)
	n := len(starts)
	// A link is the command that begins at a verb, and the verb that its successor begins at; n for the last.
	type link struct {
		command string
		next    int
	}
	links := make([]link, n+1)
	first := n // the first verb, of those looked at, at which a sequence begins; n if there is none
	after := make([]int, n+1)
	after[n] = n
	for i := n - 1; i >= 0; i-- {
		if head := bare(text[starts[i]:]); r.isCommand(head) {
			links[i] = link{head, n}
		} else {
			for j := i + 1; j < n && after[j] < n; j++ {
				if head := bare(text[starts[i]:starts[j]]); r.isCommand(head) {
					links[i] = link{head, after[j]}
					break
				}
			}
		}
		if links[i].command != "" {
			first = i
		}
		after[i] = first
	}
	var found []string
	for i := first; i < n; i = links[i].next {
		found = append(found, links[i].command)
	}
	return found
}

// verbsIn returns where the words of text begin that are bound verbs, the first few of them.
func (r *resolver) verbsIn(text string) (at []int) {
	for i := 0; i < len(text) && len(at) < maxVerbs; {
		for i < len(text) && !isLetter(text[i]) {
			i++
		}
		start := i
		for i < len(text) && text[i] != ' ' && text[i] != '\t' {
			i++
		}
		if r.m.Verb(strings.TrimRight(text[start:i], "*_`:")) != "" {
			at = append(at, start)
		}
	}
	return at
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// bare is a command without the words and marks that join it to another, or end a sentence.
func bare(text string) string {
	for {
		short := strings.TrimRight(text, " \t,;:.!?*_`~\"'()[]{}<>|&→—-")
		for _, word := range []string{"and", "then"} {
			if n := len(short) - len(word); n > 0 && strings.EqualFold(short[n:], word) && short[n-1] == ' ' {
				short = short[:n]
			}
		}
		if short == text {
			return text
		}
		text = short
	}
}

// isCommand reports whether text is a line that is bound, with as many values as it takes.
func (r *resolver) isCommand(text string) bool {
	if text == "" || strings.ContainsAny(text, "\r\n") {
		return false
	}
	r.trials++
	f, said := lang.Parse(diag.NewSource("", []byte(text)))
	if len(said) > 0 || len(f.Commands) != 1 || r.m.Lookup(f.Commands[0].Verb.Text, f.Commands[0].Noun.Text) == nil {
		return false
	}
	trial := newResolver(f.Source, r.m, Options{Vars: r.o.Vars, Env: r.o.Env})
	trial.command(f.Commands[0], 1)
	return len(trial.list) == 0
}

// joined reports values of a line that are a command themselves: "Test with pytest format ruff"
// has two readings. It returns false if there are any.
func (r *resolver) joined(c *lang.Command) bool {
	for i := range len(c.Arguments) - 1 {
		verb, noun := &c.Arguments[i], &c.Arguments[i+1]
		if verb.Name.Text != "" || noun.Name.Text != "" || verb.Value.Quoted || noun.Value.Quoted || r.m.Verb(verb.Value.Text) == "" {
			continue
		}
		b := r.m.Lookup(verb.Value.Text, noun.Value.Text)
		if b == nil {
			continue
		}
		at := verb.Value.Span.Start.Offset - c.Span.Start.Offset
		first, second := bare(c.Text[:at]), c.Text[at:]
		quoted := c.Text[:at] + `"` + verb.Value.Text + `"` + c.Text[at+len(verb.Value.Text):]
		d := r.errorf(diag.TwoCommands, span(verb.Value.Span, noun.Value.Span), "\"%s %s\" is a command, but the line makes it values of \"%s %s\"",
			b.Verb, b.Noun, c.Verb.Key(), c.Noun.Key())
		d.Hint = fmt.Sprintf("write two lines:\n%s\n%s\nor, if they are values:\n%s", first, second, quoted)
		d.Related = []diag.Related{{File: b.Source.Name, Span: b.Span, Message: fmt.Sprintf("\"%s %s\" is bound here", b.Verb, b.Noun)}}
		r.fix(d, "write two lines", c.Span, first+"\n"+second)
		r.fix(d, "quote "+verb.Value.Text, verb.Value.Span, `"`+verb.Value.Text+`"`)
		return false
	}
	return true
}

package project

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
)

// minHidden is how long a value must be for a message to lose it: a shorter one stands in words that
// have nothing to do with it.
const minHidden = 4

// HideSecrets returns findings and the script they are about without the values that m declares as
// secret, which are stars there: each value of a name in `secrets`, whatever its line is bound
// to, and on a line of a binding that has secrets every value, since a line with a fault does not say which
// of them is which. Offsets stay as they are.
func HideSecrets(list diag.List, src *diag.Source, m *routing.Matrix) (diag.List, *diag.Source) {
	if m == nil {
		return list, src
	}
	var names []string
	for _, b := range m.Bindings {
		for _, name := range b.Secrets {
			names = append(names, regexp.QuoteMeta(name))
		}
	}
	if len(names) == 0 {
		return list, src
	}
	text := bytes.Clone(src.Text)
	var values []string
	hide := func(from, to int, shown ...string) {
		for _, s := range append(shown, string(src.Text[from:to])) {
			if len(s) >= minHidden {
				values = append(values, s)
			}
		}
		for i := from; i < to; i++ {
			if text[i] != '\n' && text[i] != '\r' {
				text[i] = '*'
			}
		}
	}
	named := regexp.MustCompile(`(?i)(?:^|[^\w-])(?:` + strings.Join(names, "|") + `)[ \t]*[=:][ \t]*("(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|[^\s"']+)`)
	for _, at := range named.FindAllSubmatchIndex(src.Text, -1) {
		hide(at[2], at[3], strings.Trim(string(src.Text[at[2]:at[3]]), `"'`))
	}
	file, _ := lang.Parse(src)
	for _, c := range file.Commands {
		b := m.Lookup(c.Verb.Text, c.Noun.Text)
		if b == nil || !takesSecret(b, nil) {
			continue
		}
		if c.Object != nil {
			hide(c.Object.Span.Start.Offset, c.Object.Span.End.Offset, c.Object.Text)
		}
		for _, a := range c.Arguments {
			hide(a.Value.Span.Start.Offset, a.Value.Span.End.Offset, a.Value.Text)
		}
		if from := c.Noun.Span.End.Offset; c.Bad && from < len(src.Text) { // of a line with a fault not all was read
			line, object := src.LineAt(from), c.Noun.Span.Start.Offset
			if c.Prep.Text != "" {
				object = c.Prep.Span.Start.Offset
			}
			for _, at := range [][2]int{{c.Verb.Span.End.Offset, object}, {from, src.LineStart(line) + len(src.Line(line))}} {
				words := bytes.Fields(src.Text[at[0]:max(at[0], at[1])])
				for _, word := range words {
					values = append(values, string(word))
				}
				if len(words) > 0 {
					hide(at[0], at[1])
				}
			}
		}
	}
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, v := range values {
		if len(v) >= minHidden {
			pairs = append(pairs, v, "***")
		}
	}
	stars := strings.NewReplacer(pairs...)
	list = slices.Clone(list)
	for i := range list {
		d := &list[i]
		if d.File != src.Name {
			continue
		}
		d.Message, d.Hint = stars.Replace(d.Message), stars.Replace(d.Hint)
		d.Related = slices.Clone(d.Related)
		for k := range d.Related {
			d.Related[k].Message = stars.Replace(d.Related[k].Message)
		}
		d.Fixes = slices.DeleteFunc(slices.Clone(d.Fixes), func(f diag.Fix) bool {
			shown := f.Message
			for _, e := range f.Edits {
				shown += "\n" + e.New
			}
			return stars.Replace(shown) != shown
		})
	}
	return list, diag.NewSource(src.Name, text)
}

// takesSecret reports whether b, or a member of it, declares a secret.
func takesSecret(b *routing.Binding, above []*routing.Binding) bool {
	if len(b.Secrets) > 0 {
		return true
	}
	return !slices.Contains(above, b) && slices.ContainsFunc(b.Members, func(m *routing.Binding) bool { return takesSecret(m, append(above, b)) })
}

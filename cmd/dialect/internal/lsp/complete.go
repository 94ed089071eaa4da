package lsp

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/command-dialect/dialect/cmd/dialect/internal/lsp/protocol"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/edit"
	"github.com/command-dialect/dialect/lang/routing/reference"
	"github.com/command-dialect/dialect/runtime/redact"
)

// Kinds of completion items.
const (
	kindFunction = 3
	kindVariable = 6
	kindClass    = 7
	kindProperty = 10
	kindSnippet  = 15
	kindFile     = 17
	kindConstant = 21
	kindOperator = 24
)

// A completer gathers the items for one place of a script.
type completer struct {
	d        *document
	m        *routing.Matrix
	at       protocol.TextRange // of the word before the cursor, which an item replaces
	snippets bool
	items    []protocol.CompletionItem
}

// completion offers what may stand at a place: verbs, then prepositions and nouns that are bound
// for the verb, then arguments.
func (s *server) completion(_ context.Context, p *protocol.PositionParams) (*protocol.CompletionList, error) {
	out := &protocol.CompletionList{Items: []protocol.CompletionItem{}}
	d := s.docs[p.TextDocument.URI]
	if d == nil || !d.matrix && (d.project == nil || d.project.broken) {
		return out, nil
	}
	offset := d.offset(p.Position)
	if d.matrix {
		out.Items = append(out.Items, matrixItems(d, offset)...)
		return out, nil
	}
	pos := d.src.Pos(offset)
	if offset == len(d.src.Text) && bytes.HasSuffix(d.src.Text, []byte("\n")) {
		pos.Line++
	}
	var before []byte
	start := offset
	if line := d.src.Line(pos.Line); line != nil {
		start = d.src.LineStart(pos.Line)
		before = line[:min(offset-start, len(line))]
	}
	c := &completer{d: d, m: d.project.m, snippets: s.client.Capabilities.TextDocument.Completion.CompletionItem.SnippetSupport}
	words, rest, comment := split(before)
	c.at = d.rangeOf(offset-len(rest), offset)
	switch {
	case comment != "":
		if strings.Contains(comment, "dialect: ignore") {
			for _, code := range diag.Codes() {
				c.add(protocol.CompletionItem{Label: string(code), Kind: kindConstant})
			}
		}
	case strings.Count(rest, `"`)%2 == 1 && !strings.Contains(rest, "{"):
		// inside a string: it is text
	case strings.Contains(rest, "{") && !strings.Contains(rest[strings.LastIndex(rest, "{"):], "}"):
		c.at = d.rangeOf(offset-len(rest)+strings.LastIndex(rest, "{")+1, offset)
		c.variables()
	case len(words) == 0:
		c.verbs()
	default:
		c.behind(words)
	}
	out.Items = append(out.Items, c.items...)
	return out, nil
}

// split returns the whole words of a line up to the cursor, what is written of the next, and the
// comment if the cursor is in one. A list marker is not a word.
func split(before []byte) (words []string, rest, comment string) {
	text := strings.TrimLeft(string(before), " \t\ufeff")
	if marker := listMarker().FindString(text); marker != "" {
		text = text[len(marker):]
	}
	quoted := false
	from := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '#' && (i == 0 || text[i-1] == ' ' || text[i-1] == '\t') && (i+1 == len(text) || text[i+1] == ' '):
			return nil, "", text[i:]
		case c == ' ' || c == '\t':
			if i > from {
				words = append(words, text[from:i])
			}
			from = i + 1
		}
	}
	return words, text[min(from, len(text)):], ""
}

func (c *completer) add(item protocol.CompletionItem) {
	text := item.Label
	if item.TextEdit != nil {
		text = item.TextEdit.NewText
	}
	item.TextEdit = &protocol.TextEdit{Range: c.at, NewText: text}
	item.SortText = fmt.Sprintf("%04d", len(c.items))
	c.items = append(c.items, item)
}

// matrixItems offers the headers, keys and values that may stand at a place of a matrix.
func matrixItems(d *document, offset int) []protocol.CompletionItem {
	spot, ok := edit.At(d.src.Text, offset)
	if !ok {
		return nil
	}
	c := &completer{at: d.rangeOf(spot.Start, spot.End)}
	var m *routing.Matrix
	if d.project != nil {
		m = d.project.m
	}
	for _, i := range edit.Complete(m, d.src.Text, spot) {
		item := protocol.CompletionItem{Label: i.Label, Kind: kindClass, TextEdit: &protocol.TextEdit{NewText: i.Text}}
		switch {
		case i.Key != nil:
			item.Kind, item.Detail = kindProperty, reference.Takes(*i.Key)
			item.Documentation = &protocol.Markup{Kind: "markdown", Value: reference.Markdown(*i.Key)}
		case i.Value:
			item.Kind = kindConstant
		}
		c.add(item)
	}
	return c.items
}

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// verbs offers the verbs that are bound, and whole lines.
func (c *completer) verbs() {
	for _, verb := range c.m.Verbs() {
		nouns := c.m.NounsOf(verb)
		text := capital(verb)
		c.add(protocol.CompletionItem{Label: text, Kind: kindFunction, Detail: strings.Join(nouns, ", ")})
	}
	for _, b := range c.m.Bindings {
		if b.Kind == "" {
			continue
		}
		c.add(c.item(b, b.Usage(), kindSnippet))
	}
}

// item is the completion of a usage, whose {name}s become places to fill in.
func (c *completer) item(b *routing.Binding, usage string, kind int) protocol.CompletionItem {
	item := protocol.CompletionItem{Label: strings.NewReplacer("{", "<", "}", ">").Replace(usage), Kind: kind, Documentation: &protocol.Markup{Kind: "markdown", Value: describe(b)}, Tags: tags(b)}
	text := usage
	if c.snippets {
		n := 0
		text = placeholder().ReplaceAllStringFunc(strings.NewReplacer(`\`, `\\`, "$", `\$`).Replace(usage), func(name string) string {
			n++
			return fmt.Sprintf("${%d:%s}", n, strings.Trim(name, `{}`))
		})
		item.InsertTextFormat = 2
	} else {
		text = strings.TrimSpace(placeholder().ReplaceAllString(text, ""))
		text = strings.Join(strings.Fields(text), " ")
	}
	item.TextEdit = &protocol.TextEdit{NewText: text}
	item.FilterText = strings.Join(strings.Fields(placeholder().ReplaceAllString(usage, "")), " ")
	return item
}

// Patterns wait for their first use: Go runs the init of all that is linked, and the server
// is one command of many.
var (
	placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[^{}]*\}`) })
	listMarker  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([-*+•]|\d+[.)])[ \t]+(\[[ xX]\][ \t]+)?`)
	})
)

func describe(b *routing.Binding) string {
	var text strings.Builder
	switch b.Kind {
	case plan.Composite:
		order := "in order"
		if b.Parallel {
			order = "in parallel"
		}
		fmt.Fprintf(&text, "runs %s:\n", order)
		for _, m := range b.Members {
			fmt.Fprintf(&text, "- %s %s\n", m.Verb, m.Noun)
		}
	default:
		text.WriteString(codeBlock("sh", b.Tool()))
	}
	fmt.Fprintf(&text, "\n`%s` in %s", b.Name, b.Source.Name)
	if b.ReceiptRequired {
		text.WriteString(", receipt required")
	}
	if b.Deprecated {
		text.WriteString("\n\n**deprecated**: " + b.Notes)
	}
	return text.String()
}

// codeBlock fences text so that nothing in it can end the fence.
func codeBlock(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}

// behind offers what may follow the words of a line: the first is the verb.
func (c *completer) behind(words []string) {
	verb := words[0]
	if c.m.Verb(verb) == "" {
		return
	}
	prep := slices.IndexFunc(words[1:], lang.IsPreposition) + 1
	switch {
	case prep > 0 && prep == len(words)-1: // the noun comes
		c.nouns(verb)
	case prep > 0:
		c.arguments(c.m.Lookup(verb, words[prep+1]), words[prep+2:], prep > 1)
	case len(words) == 1:
		c.prepositions(verb, false)
		c.nouns(verb)
	case c.m.Lookup(verb, words[1]) != nil:
		c.arguments(c.m.Lookup(verb, words[1]), words[2:], false)
		c.prepositions(verb, true)
	default:
		c.prepositions(verb, true)
	}
}

// prepositions offers those that read well with the verb, then, behind an object, all others.
func (c *completer) prepositions(verb string, all bool) {
	meanings := make(map[string]string)
	for _, p := range routing.StandardVocabulary().Prepositions {
		meanings[p.Name] = p.Meaning
	}
	var names []string
	add := func(list ...string) {
		for _, name := range list {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, noun := range c.m.NounsOf(verb) {
		add(c.m.Lookup(verb, noun).Prepositions...)
	}
	for _, v := range routing.StandardVocabulary().Verbs {
		if v.Name == c.m.Verb(verb) {
			add(v.Preposition)
		}
	}
	if all || len(names) == 0 {
		add(lang.Prepositions[:]...)
	}
	for _, name := range names {
		c.add(protocol.CompletionItem{Label: name, Kind: kindOperator, Detail: meanings[name]})
	}
}

func (c *completer) nouns(verb string) {
	for _, noun := range c.m.NounsOf(verb) {
		b := c.m.Lookup(verb, noun)
		item := protocol.CompletionItem{Label: noun, Kind: kindClass, Detail: detail(b), Documentation: &protocol.Markup{Kind: "markdown", Value: describe(b)}, Tags: tags(b)}
		c.add(item)
	}
}

// arguments offers the names of the values that are still to come.
func (c *completer) arguments(b *routing.Binding, given []string, object bool) {
	if b == nil {
		return
	}
	p := b.Parameters()
	names := p.Names
	if object && len(names) > 0 {
		names = names[1:]
	}
	for _, name := range names {
		if !slices.ContainsFunc(given, func(w string) bool { return strings.HasPrefix(w, name+"=") }) && name != "object" {
			c.add(protocol.CompletionItem{Label: name + "=", Kind: kindProperty, Detail: "a value for {" + name + "} of " + b.Name})
		}
	}
	if b.Kind == plan.Task && c.d.path != "" { // the scripts beside it
		for _, path := range regular.In(filepath.Dir(c.d.path), "*.dlct") {
			c.add(protocol.CompletionItem{Label: strings.TrimSuffix(filepath.Base(path), ".dlct"), Kind: kindFile, Detail: filepath.Base(path)})
		}
	}
}

func (c *completer) variables() {
	vars := maps.Clone(c.m.Vars)
	if vars == nil {
		vars = make(map[string]string)
	}
	maps.Copy(vars, c.d.project.vars)
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		value := vars[name]
		if redact.Secret(name, value) {
			value = ""
		}
		c.add(protocol.CompletionItem{Label: name, Kind: kindVariable, Detail: value, TextEdit: &protocol.TextEdit{NewText: name + "}"}})
	}
}

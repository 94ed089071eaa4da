package project

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/tomltree"
	"github.com/command-dialect/dialect/runtime/redact"
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
		star(text[from:to])
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
	return starred(list, src.Name, values), diag.NewSource(src.Name, text)
}

// assigned is how a matrix, or a list of MCP servers, gives a value to a name, with a fault or without: the name, and what stands between the two.
// stated is a value in quotes that ends where one should: a value whose own quote ended it is longer.
var (
	assigned = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`["']?((?:[\w-]|\\[uU][0-9a-fA-F]{4,8})+)["']?[ \t]*([=:]+[ \t]*|[ \t])`)
	})
	stated = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:"""((?:"{0,2}[^"])*)"""|'''((?:'{0,2}[^'])*)'''|"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)')[ \t]*(?:[}\]#\r\n]|\z|,\s*(?:\z|[}\]#]|["']?[\w.-]+["']?[ \t]*[=:]))`)
	})
	continued = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:"[^"\n]*"|'[^'\n]*')[ \t]*(?:[^=: \t]|$)`) }) // a value alone on the next line
	unsecret  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:[0-9]+|true|false|null)[ \t]*(?:[,}\]#\r\n]|\z)`)
	})
)

// named returns the values that stand in text, a matrix or a list of MCP servers, beside names as secrets have, with their
// offsets: a file with a fault, or one that changed, is shown to who may not see all of it. Where a fault may hide how far a value goes, it goes to the
// end of its line, or of its brackets.
func named(text []byte) (values []string, at [][2]int) {
	next := 0
	for _, m := range assigned().FindAllSubmatchIndex(text, -1) {
		name, from := string(text[m[2]:m[3]]), m[1]
		if plain, err := strconv.Unquote(`"` + name + `"`); err == nil {
			name = plain
		}
		before := bytes.TrimRight(text[:m[0]], " \t")
		key := len(before) == 0 || bytes.IndexByte([]byte("\n{,."), before[len(before)-1]) >= 0
		given := bytes.ContainsAny(text[m[4]:m[5]], "=:")
		if m[0] < next || name == "secrets" || !redact.SecretName(name) || !given && !key {
			continue
		}
		if v := stated().FindSubmatchIndex(text[from:]); v != nil && given {
			for i := 2; i < len(v); i += 2 {
				if v[i] >= 0 {
					from, next = from+v[i], from+v[i+1]
					break
				}
			}
			if v := string(text[from:next]); redact.Secret(name, v) {
				values, at = append(values, v), append(at, [2]int{from, next})
			}
			continue
		}
		if !key { // in a text, such as --token=...: it ends where the word does
			from = len(text) - len(bytes.TrimLeft(text[from:], `"'`))
			next = len(text)
			if i := bytes.IndexAny(text[from:], " \t\r\n\"'"); i >= 0 {
				next = from + i
			}
			if !redact.Secret(name, string(text[from:next])) {
				continue
			}
		} else if next = from + open(text[from:]); unsecret().Match(text[from:next]) {
			continue
		}
		values, at = append(values, string(text[from:next])), append(at, [2]int{from, next})
		for _, word := range bytes.FieldsFunc(text[from:next], func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'[]{},", r) }) {
			if redact.Secret(name, string(word)) {
				values = append(values, string(word))
			}
		}
	}
	return values, at
}

// open returns how far a value at the beginning of text may go: to the end of its line, of the next one if the value begins there, and of the
// last in which brackets or quotes of three are open.
func open(text []byte) int {
	for _, quote := range []string{`"""`, "'''"} {
		if rest, ok := bytes.CutPrefix(text, []byte(quote)); ok {
			if i := bytes.Index(rest, []byte(quote)); i >= 0 {
				end := i + 2*len(quote)
				return end + open(text[end:]) // what comes behind it on its line
			}
			return len(text)
		}
	}
	depth, quote, seen := 0, byte(0), false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n' && seen && depth <= 0:
			next := len(text) - len(bytes.TrimLeft(text[i:], " \t\r\n"))
			if !continued().Match(text[next:]) {
				return i
			}
			i, quote = next-1, 0
		case c == '\n':
			quote = 0
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote, seen = c, true
		case c == '[' || c == '{':
			depth, seen = depth+1, true
		case c == ']' || c == '}':
			depth--
		case c != ' ' && c != '\t' && c != '\r':
			seen = true
		}
	}
	return len(text)
}

// HideNamed returns what was found without the values in the files of m that stand beside names as secrets have, and puts those files
// into sources, if it is not nil, with stars in their place. Of a file that is not of the repository nothing is left but where its faults are. Offsets stay as
// they are.
func HideNamed(list diag.List, m *routing.Matrix, sources map[string]*diag.Source) diag.List {
	if len(list) == 0 || m == nil {
		return list
	}
	for _, src := range m.Files {
		values, at := named(src.Text)
		if hidden(m, src.Text) {
			list, src = unsaid(list, src)
		} else if len(values) > 0 {
			text := bytes.Clone(src.Text)
			for _, at := range at {
				star(text[at[0]:at[1]])
			}
			list, src = starred(list, src.Name, values), diag.NewSource(src.Name, text)
		}
		if sources != nil {
			sources[src.Name] = src
		}
	}
	return list
}

// hidden reports whether a file of m with that text is not to be shown. The matrix itself is, if it was named outside of the project.
func hidden(m *routing.Matrix, text []byte) bool {
	i := slices.IndexFunc(m.Read, func(f plan.File) bool { return bytes.Equal(f.Content, text) })
	if i < 0 {
		return false
	}
	f := &m.Read[i]
	if _, in := inside(repository(m.Root), f.Path); !in && f.Path == m.Path {
		return false
	}
	return bounded(m.Root, f.Name, f.Content, f.Own, false)
}

// unsaid returns list without what it repeats of src, and src with stars alone.
func unsaid(list diag.List, src *diag.Source) (diag.List, *diag.Source) {
	text := bytes.Clone(src.Text)
	star(text)
	list = slices.Clone(list)
	for i := range list {
		if d := &list[i]; d.File == src.Name {
			*d = diag.Diagnostic{Code: d.Code, Severity: d.Severity, File: d.File, Span: d.Span, Message: "the text is not shown, since the file is not one of this repository"}
		}
	}
	return list, diag.NewSource(src.Name, text)
}

// Reviewed returns the difference diff of two texts of the file name, a matrix or a list of MCP servers, with stars for the secrets in it: the
// values of variables and headers with names as secrets have, and, if a text cannot be parsed, what stands beside such names. Somebody decides by it what
// to trust, so in a text that can be parsed nothing else is hidden, whatever a comment or another text in it looks like.
func Reviewed(name string, old, text, diff []byte) []byte {
	lines := [2][][]byte{bytes.SplitAfter(masked(name, old), []byte{'\n'}), bytes.SplitAfter(masked(name, text), []byte{'\n'})}
	var out []byte
	var at [2]int // the next line of each
	for line := range bytes.Lines(diff) {
		var of [2]int
		switch n, _ := fmt.Sscanf(string(line), "@@ -%d,%d +%d,%d @@", &at[0], new(int), &at[1], new(int)); {
		case n == 4:
			at = [2]int{max(at[0], 1), max(at[1], 1)}
		case at[1] == 0: // before the first of them
		case line[0] == '-':
			of = [2]int{1, 0}
		case line[0] == '+':
			of = [2]int{0, 1}
		case line[0] == ' ':
			of = [2]int{1, 1}
		}
		out = append(out, line...)
		side := of[1]
		if i := at[side] - 1; of != [2]int{} && i < len(lines[side]) && len(lines[side][i]) <= len(line)-1 {
			copy(out[len(out)-len(line)+1:], lines[side][i])
		}
		at = [2]int{at[0] + of[0], at[1] + of[1]}
	}
	return out
}

// masked returns text with stars for the secrets in it: the values of variables and headers. If the text cannot be parsed, it hides what stands
// beside names as secrets have.
func masked(name string, text []byte) []byte {
	out := bytes.Clone(text)
	hide := func(key, value string, from, to int) {
		if redact.Secret(key, value) && from < to && to <= len(out) {
			star(out[from:to])
		}
	}
	if filepath.Ext(name) == ".json" && json.Valid(text) {
		secretsOfJSON(json.NewDecoder(bytes.NewReader(text)), text, "", false, hide)
		return out
	}
	root, faults := tomltree.Parse(diag.NewSource("", text), false)
	if filepath.Ext(name) == ".json" || len(faults) > 0 {
		_, at := named(text)
		for _, at := range at {
			star(out[at[0]:at[1]])
		}
		return out
	}
	var walk func(v *tomltree.Value, key string, set bool)
	walk = func(v *tomltree.Value, key string, set bool) {
		if set && v.Kind == tomltree.String {
			hide(key, v.Text, v.Start+1, v.End-1)
		}
		for _, item := range v.Items {
			walk(item, key, set)
		}
		for _, e := range v.Entries {
			walk(e.Value, below(key, e.Key, set), set || sets(e.Key))
		}
	}
	walk(root, "", false)
	return out
}

// sets reports whether a table of that name has variables or headers. Encoding/json takes a key in any case.
func sets(key string) bool { return strings.EqualFold(key, "env") || strings.EqualFold(key, "headers") }

// below returns the name of what stands at key, in a value that is called name itself: a secret is one whatever is in it.
func below(name, key string, set bool) string {
	if set && redact.SecretName(name) {
		return name
	}
	return key
}

// secretsOfJSON calls hide with each text in a table of variables or headers of a list of MCP servers. dec is about to read the value of key.
func secretsOfJSON(dec *json.Decoder, text []byte, key string, set bool, hide func(key, value string, from, to int)) {
	before := int(dec.InputOffset())
	t, err := dec.Token()
	if err != nil {
		return
	}
	switch v := t.(type) {
	case json.Delim:
		for dec.More() {
			if v == '[' {
				secretsOfJSON(dec, text, key, set, hide)
				continue
			}
			k, _ := dec.Token()
			name, _ := k.(string)
			secretsOfJSON(dec, text, below(key, name, set), set || sets(name), hide)
		}
		dec.Token()
	case string:
		if i := bytes.IndexByte(text[before:], '"'); set && i >= 0 {
			hide(key, v, before+i+1, int(dec.InputOffset())-1)
		}
	}
}

// star writes stars over a value. Lines stay.
func star(value []byte) {
	for i, c := range value {
		if c != '\n' && c != '\r' {
			value[i] = '*'
		}
	}
}

// stars returns what writes stars over values.
func stars(values []string) *strings.Replacer {
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, v := range values {
		if len(v) >= minHidden {
			pairs = append(pairs, v, "***")
		}
	}
	return strings.NewReplacer(pairs...)
}

// starred returns list without values in what it says of the file name, and without fixes that repeat one.
func starred(list diag.List, name string, values []string) diag.List {
	stars := stars(values)
	list = slices.Clone(list)
	for i := range list {
		d := &list[i]
		if d.File != name {
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
	return list
}

// takesSecret reports whether b, or a member of it, declares a secret.
func takesSecret(b *routing.Binding, above []*routing.Binding) bool {
	if len(b.Secrets) > 0 {
		return true
	}
	return !slices.Contains(above, b) && slices.ContainsFunc(b.Members, func(m *routing.Binding) bool { return takesSecret(m, append(above, b)) })
}

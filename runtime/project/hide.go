package project

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
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

// assigned is how a matrix, or a list of MCP servers, names what a value is given to, and given how such values look: TOML or JSON,
// with a fault or without.
var (
	assigned = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([\w-]+)["']?[ \t]*[=:][ \t]*`) })
	given    = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:"""(?s:.*?)(?:"""|\z)|'''(?s:.*?)(?:'''|\z)|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|[^\s"'\[{,}]+)`)
	})
)

// named returns the values that stand in text, a matrix or a list of MCP servers, beside names as secrets have, with their
// offsets: a file with a fault, or one that changed, is shown to who may not see all of it.
func named(text []byte) (values []string, at [][2]int) {
	next := 0
	for _, m := range assigned().FindAllSubmatchIndex(text, -1) {
		name, from := string(text[m[2]:m[3]]), m[1]
		if m[0] < next || !redact.SecretName(name) {
			continue
		}
		value := given().Find(text[from:])
		next = from + len(value)
		for _, quote := range []string{`"""`, "'''", `"`, "'"} {
			if rest, ok := bytes.CutPrefix(value, []byte(quote)); ok {
				value, from = bytes.TrimSuffix(rest, []byte(quote)), from+len(quote)
				break
			}
		}
		if v := string(value); redact.Secret(name, v) {
			values, at = append(values, v), append(at, [2]int{from, from + len(v)})
		}
	}
	return values, at
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
			*d = diag.Diagnostic{Code: d.Code, Severity: d.Severity, File: d.File, Span: d.Span, Message: "what it says is not shown, since the file is not one of this repository"}
		}
	}
	return list, diag.NewSource(src.Name, text)
}

// Reviewed returns the difference diff of two texts of the file name, a matrix or a list of MCP servers, with stars for the secrets in it: the
// values of variables and headers with names as secrets have. Somebody decides by it what to trust, so nothing else is hidden: not by what a comment
// or a text looks like, and nothing where a text cannot be read.
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

// masked returns text with stars for the secrets in it, as far as it can be read.
func masked(name string, text []byte) []byte {
	out := bytes.Clone(text)
	hide := func(key, value string, from, to int) {
		if redact.Secret(key, value) && from < to && to <= len(out) {
			star(out[from:to])
		}
	}
	if filepath.Ext(name) == ".json" {
		secretsOfJSON(text, hide)
		return out
	}
	root, faults := tomltree.Parse(diag.NewSource("", text), false)
	if len(faults) > 0 {
		return out
	}
	var walk func(v *tomltree.Value, set bool)
	walk = func(v *tomltree.Value, set bool) {
		for _, item := range v.Items {
			walk(item, set)
		}
		for _, e := range v.Entries {
			if set && e.Value.Kind == tomltree.String {
				hide(e.Key, e.Value.Text, e.Value.Start+1, e.Value.End-1)
			}
			walk(e.Value, sets(e.Key))
		}
	}
	walk(root, false)
	return out
}

// sets reports whether a table of that name has variables or headers.
func sets(key string) bool { return key == "env" || key == "headers" }

// secretsOfJSON calls hide with each text in a table of variables or headers of a list of MCP servers.
func secretsOfJSON(text []byte, hide func(key, value string, from, to int)) {
	dec := json.NewDecoder(bytes.NewReader(text))
	var above []string // the keys of the objects around; empty for an array
	key, named := "", false
	for {
		before := int(dec.InputOffset())
		t, err := dec.Token()
		if err != nil {
			return
		}
		if len(above) > 0 && above[len(above)-1] != "" && !named { // the key of the next value, or the end of the object
			if k, ok := t.(string); ok {
				key, named = k, true
				continue
			}
		}
		switch v := t.(type) {
		case json.Delim:
			switch v {
			case '{':
				above = append(above, "."+key)
			case '[':
				above = append(above, "")
			default:
				above = above[:len(above)-1]
			}
			key = ""
		case string:
			if n := len(above); n > 0 && above[n-1] != "" && sets(above[n-1][1:]) {
				if i := bytes.IndexByte(text[before:], '"'); i >= 0 {
					hide(key, v, before+i+1, int(dec.InputOffset())-1)
				}
			}
		}
		named = false
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

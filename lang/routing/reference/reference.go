// Package reference writes down what the keys of a routing matrix mean.
//
// In comes the table of keys of package routing. Out come the text of `dialect explain KEY`, the Markdown
// that an editor shows, the reference page and a JSON Schema. It says nothing of its own about any key.
package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
)

// Find returns the keys that name means: a name alone ("timeout") those of all tables, with a table before
// it ("run.timeout", "commands.NAME.timeout", "expect.stdout") those of that table.
func Find(name string) (list []routing.Key) {
	table, name, qualified := cutLast(strings.Trim(name, "[]"))
	for _, k := range routing.Keys() {
		if k.Name != name {
			continue
		}
		for _, p := range routing.Places() {
			if k.In&p != 0 && (!qualified || within(p.Path(), table)) {
				list = append(list, k)
				break
			}
		}
	}
	return list
}

func cutLast(name string) (table, key string, ok bool) {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i], name[i+1:], true
	}
	return "", name, false
}

// within reports whether a user who writes table means the table at path: "commands.NAME", "commands.test_go"
// and "commands" are the first, and "expect" is "commands.NAME.expect".
func within(path, table string) bool {
	if strings.ReplaceAll(path, ".NAME", "") == table || strings.HasSuffix(path, "."+table) {
		return true
	}
	have, want := strings.Split(table, "."), strings.Split(path, ".")
	return slices.EqualFunc(have, want, func(a, b string) bool { return a == b || b == "NAME" })
}

// Where returns the tables that take k, as headers: "[commands.NAME], [defaults]"; the top of the file is
// "routing.toml".
func Where(k routing.Key) string {
	var list []string
	for _, p := range routing.Places() {
		switch {
		case k.In&p == 0:
		case p == routing.InFile:
			list = append(list, "routing.toml")
		default:
			list = append(list, "["+p.Path()+"]")
		}
	}
	return strings.Join(list, ", ")
}

// Takes says what values k takes.
func Takes(k routing.Key) string {
	switch k.Type {
	case routing.Texts:
		return "an array of strings"
	case routing.Word:
		return `"` + strings.Join(k.Values, `" or "`) + `"`
	case routing.Words:
		return "an array of: " + strings.Join(k.Values, ", ")
	case routing.Boolean:
		return "true or false"
	case routing.Integer:
		return "an integer" + bounds(k)
	case routing.Integers:
		return "an array of integers" + bounds(k)
	case routing.Duration:
		return `a duration with its unit: "90s", "3m", "1h30m"; "0" is unbounded`
	case routing.Size:
		return "bytes: an integer, or a whole number with kB, MB, GB (powers of 1000), KiB, MiB or GiB (powers of 1024) as a string"
	case routing.TextOrTexts:
		return "a string, or an array of strings"
	case routing.Strings:
		return "a table of strings"
	case routing.Any:
		return "a table"
	case routing.Table:
		return "a table: " + names(k.Sub)
	case routing.Tables:
		return "tables of any NAME: " + names(k.Sub)
	}
	return "a string"
}

func bounds(k routing.Key) string {
	if k.Max == math.MaxInt32 {
		return fmt.Sprintf(", %d or more", k.Min)
	}
	return fmt.Sprintf(" from %d to %d", k.Min, k.Max)
}

func names(p routing.Place) string {
	var list []string
	for _, k := range routing.KeysIn(p) {
		list = append(list, k.Name)
	}
	return strings.Join(list, ", ")
}

// example returns a line of a matrix that has k.
func example(k routing.Key) string {
	switch {
	case k.Example != "":
		return k.Name + " = " + k.Example
	case k.Type == routing.Tables:
		return "[" + k.Name + ".NAME]"
	}
	return "[" + k.Name + "]"
}

// facts are what there is to say of a key beside its doc, as names and texts.
func facts(k routing.Key) (list [][2]string) {
	list = append(list, [2]string{"takes", Takes(k)})
	if k.Required {
		list = append(list, [2]string{"default", "none: the key is required"})
	} else if k.Default != "" {
		list = append(list, [2]string{"default", k.Default})
	}
	if k.Kinds != 0 {
		list = append(list, [2]string{"applies to", strings.Join(k.Kinds.Names(), ", ")})
		if k.Kinds&routing.OnComposite == 0 {
			list = append(list, [2]string{"composite", "no effect; set it on the members"})
		}
	}
	return list
}

// Explain returns the text of `dialect explain KEY` for keys, those that [Find] returned.
func Explain(list []routing.Key) string {
	var b strings.Builder
	for i, k := range list {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s, a key of %s\n\n%s\n\n", k.Name, Where(k), diag.Wrap(k.Doc, 100, ""))
		for _, f := range append(facts(k), [2]string{"example", example(k)}) {
			fmt.Fprintf(&b, "  %-10s %s\n", f[0], diag.Wrap(f[1], 100, "             "))
		}
	}
	return b.String()
}

// An Entry is a key in the document of `dialect explain KEY --json`.
type Entry struct {
	Name     string   `json:"name"`
	Tables   []string `json:"tables"` // "" is the top of the file
	Takes    string   `json:"takes"`
	Values   []string `json:"values,omitempty"` // all that it takes
	Required bool     `json:"required,omitempty"`
	Default  string   `json:"default,omitempty"` // in words
	Text     string   `json:"text"`
	Example  string   `json:"example"`
}

// Entries returns keys as data.
func Entries(list []routing.Key) (out []Entry) {
	for _, k := range list {
		e := Entry{Name: k.Name, Takes: Takes(k), Values: k.Values, Required: k.Required, Default: k.Default, Text: k.Doc, Example: example(k)}
		for _, p := range routing.Places() {
			if k.In&p != 0 {
				e.Tables = append(e.Tables, p.Path())
			}
		}
		out = append(out, e)
	}
	return out
}

// Markdown returns what an editor shows of k.
func Markdown(k routing.Key) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**, a key of %s\n\n", k.Name, strings.NewReplacer("[", "`[", "]", "]`").Replace(Where(k)))
	body(&b, k)
	return b.String()
}

func body(b *strings.Builder, k routing.Key) {
	fmt.Fprintf(b, "%s\n\n", escape(k.Doc))
	for _, f := range facts(k) {
		fmt.Fprintf(b, "- %s: %s\n", f[0], escape(f[1]))
	}
	fmt.Fprintf(b, "\n```toml\n%s\n```\n", example(k))
}

// escape keeps * and < of a text from being markup where it is not code.
func escape(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.NewReplacer("*", `\*`, "<", `\<`, "_", `\_`, "[", `\[`).Replace(parts[i])
	}
	return strings.Join(parts, "`")
}

// Page returns the reference page, in Markdown.
func Page() []byte {
	var b strings.Builder
	b.WriteString("<!-- Made of the table of keys (lang/routing/keys.go) by `make golden`. -->\n\n# Keys of routing.toml\n\n" +
		"`dialect explain KEY` prints one of these entries. An unknown key is a warning.\n\n" +
		"Editors that use Taplo (Even Better TOML) complete and check these keys, too: write the JSON Schema with\n" +
		"`dialect explain --schema >routing.schema.json` and put `#:schema ./routing.schema.json` on the first line of the\n" +
		"matrix. `dialect lsp` needs no schema.\n")
	for _, p := range routing.Places() {
		title := "[" + p.Path() + "]"
		if p == routing.InFile {
			title = "Top of the file"
		}
		fmt.Fprintf(&b, "\n## %s\n", title)
		for _, k := range routing.KeysIn(p) {
			fmt.Fprintf(&b, "\n### %s\n\n", escape(k.Name))
			body(&b, k)
		}
	}
	return []byte(b.String())
}

// Schema returns a JSON Schema (draft 7, which Taplo reads) of a matrix. It accepts every matrix that loads
// without a finding about its keys; what depends on more than one key it leaves to `dialect check`.
func Schema() []byte {
	root := object(routing.InFile)
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "routing.toml of dialect"
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(root) // maps, slices and strings always encode
	return b.Bytes()
}

type schema = map[string]any

// object is the schema of a table.
func object(p routing.Place) schema {
	properties := schema{}
	var required []string
	for _, k := range routing.KeysIn(p) {
		s := of(k)
		s["description"] = describe(k)
		properties[k.Name] = s
		if k.Required {
			required = append(required, k.Name)
		}
	}
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func describe(k routing.Key) string {
	if k.Default == "" {
		return k.Doc
	}
	return k.Doc + "\n\nDefault: " + k.Default
}

// of is the schema of the values of a key.
func of(k routing.Key) schema {
	text := schema{"type": "string"}
	array := func(items schema) schema { return schema{"type": "array", "items": items} }
	integer := schema{"type": "integer", "minimum": k.Min, "maximum": k.Max}
	switch k.Type {
	case routing.Texts:
		return array(text)
	case routing.Word:
		return schema{"type": "string", "enum": k.Values}
	case routing.Words:
		// In any case; the names are what an editor offers.
		return array(schema{"type": "string", "anyOf": []schema{{"enum": k.Values}, {"pattern": "^[A-Za-z]+$"}}})
	case routing.Boolean:
		return schema{"type": "boolean"}
	case routing.Integer:
		return integer
	case routing.Integers:
		return array(integer)
	case routing.Duration:
		return schema{"type": "string", "pattern": `^[+-]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`}
	case routing.Size:
		return schema{"anyOf": []schema{{"type": "integer", "minimum": 0}, {"type": "string", "pattern": `^\s*\+?[0-9]+ *([kKmMgGtT]?[iI]?[bB])?\s*$`}}}
	case routing.TextOrTexts:
		return schema{"anyOf": []schema{text, array(text)}}
	case routing.Strings:
		return schema{"type": "object", "additionalProperties": text}
	case routing.Any:
		return schema{"type": "object"}
	case routing.Table:
		return object(k.Sub)
	case routing.Tables:
		return schema{"type": "object", "additionalProperties": object(k.Sub)}
	}
	return text
}

// Package settings reads the configuration files of a project into one plain tree. The bytes of a file
// come in; tables, lists and texts go out. What a reader does not understand is absent: init proposes
// less then. It judges nothing, and knows no tool.
//
// YAML is a subset: the block style that people write, flow lists and tables, quoted and block scalars.
// Anchors and tags are passed over, and an alias is its own name. A library would cost every start of
// dialect the package init of its tables.
package settings

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/tomltree"
)

// A Value is a text, a list or a table. The zero Value is one that is absent.
type Value struct {
	Text  string // of a scalar, as written but for quotes
	List  []Value
	Keys  []string // of a table, in the order of the file
	Table map[string]Value
}

// At returns the value below the keys of path; the zero Value where one of them is absent.
func (v Value) At(path ...string) Value {
	for _, key := range path {
		v = v.Table[key]
	}
	return v
}

// Has reports whether a table has key.
func (v Value) Has(key string) bool { _, ok := v.Table[key]; return ok }

// Texts returns the texts of a list, or that of a scalar.
func (v Value) Texts() (list []string) {
	if v.Text != "" {
		return []string{v.Text}
	}
	for _, item := range v.List {
		if item.Text != "" {
			list = append(list, item.Text)
		}
	}
	return list
}

// Walk calls f for v and all below it. path has the keys that lead there; an item of a list has its list's.
func (v Value) Walk(f func(path []string, v Value)) { v.walk(nil, f) }

func (v Value) walk(path []string, f func([]string, Value)) {
	f(path, v)
	for _, item := range v.List {
		item.walk(path, f)
	}
	for _, key := range v.Keys {
		v.Table[key].walk(append(slices.Clip(path), key), f)
	}
}

func (v *Value) set(key string, val Value) {
	if v.Table == nil {
		v.Table = make(map[string]Value)
	}
	if !v.Has(key) {
		v.Keys = append(v.Keys, key)
	}
	v.Table[key] = val
}

// TOML reads a TOML file; ok is false if it is not one.
func TOML(text []byte) (v Value, ok bool) {
	tree, faults := tomltree.Parse(diag.NewSource("", text), false)
	return ofTOML(tree), len(faults) == 0
}

func ofTOML(t *tomltree.Value) (v Value) {
	v.Text = t.Text
	for _, item := range t.Items {
		v.List = append(v.List, ofTOML(item))
	}
	for _, e := range t.Entries {
		v.set(e.Key, ofTOML(e.Value))
	}
	if t.Kind == tomltree.Table && v.Table == nil {
		v.Table = map[string]Value{}
	}
	return v
}

// JSON reads a JSON file. Its tables have their keys in alphabetical order.
func JSON(text []byte) (Value, error) {
	var a any
	if err := json.Unmarshal(text, &a); err != nil {
		return Value{}, err
	}
	return ofJSON(a), nil
}

func ofJSON(a any) (v Value) {
	switch a := a.(type) {
	case string:
		v.Text = a
	case []any:
		for _, item := range a {
			v.List = append(v.List, ofJSON(item))
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(a)) {
			v.set(key, ofJSON(a[key]))
		}
	case bool:
		v.Text = map[bool]string{true: "true", false: "false"}[a]
	}
	return v
}

// INI reads a file of sections as Python's configparser does: a value goes on in lines that are indented.
func INI(text []byte) (v Value) {
	section, key := "", ""
	var lines []string // of the value of key
	end := func() {
		if key != "" {
			of := v.Table[section]
			of.set(key, Value{Text: strings.TrimPrefix(strings.Join(lines, "\n"), "\n")})
			v.set(section, of)
		}
		key, lines = "", nil
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, " \t\r\n")
		trimmed := strings.TrimLeft(line, " \t")
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		case line[0] == '[' && strings.Contains(line, "]"):
			end()
			if section = line[1:strings.Index(line, "]")]; !v.Has(section) {
				v.set(section, Value{Table: map[string]Value{}})
			}
		case len(trimmed) < len(line) && key != "":
			lines = append(lines, trimmed)
		case section != "":
			end()
			if i := strings.IndexAny(line, "=:"); i >= 0 {
				key, lines = strings.TrimSpace(line[:i]), []string{strings.TrimSpace(line[i+1:])}
			}
		}
	}
	end()
	return v
}

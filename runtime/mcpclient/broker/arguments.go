package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/mcpclient/bounds"
)

// arguments makes the arguments of a call, and checks them against the schema of the tool as far as the validator understands it: the server
// checks them in any case. The error is an *[Error].
func arguments(c Call, t *mcp.Tool) (map[string]any, error) {
	schema, readable, err := schemaOf(t)
	if err != nil {
		return nil, mcpclient.Errorf(mcpclient.Protocol, "the schema of the tool %s is not a JSON Schema: %v", t.Name, err)
	}
	shape := shapeOf(schema)
	args := make(map[string]any)
	if c.Arguments != "" {
		d := json.NewDecoder(strings.NewReader(c.Arguments))
		d.UseNumber()
		if err := d.Decode(&args); err != nil {
			return nil, mcpclient.Errorf(mcpclient.BadArguments, "the arguments of %s are not a JSON object: %v", c.Target, err)
		}
		for name, v := range args {
			if text, ok := v.(string); ok {
				args[name] = shape.typed(text, shape.properties[name])
			}
		}
	}
	values := c.Values
	if c.Arguments != "" {
		values = nil // the template has taken them in
	}
	for _, v := range values {
		name := v.Name
		if name == "" {
			if name = shape.sole(); name == "" {
				return nil, mcpclient.Errorf(mcpclient.BadArguments, "the tool %s wants named values: %s", t.Name, shape.wants())
			}
		}
		if _, twice := args[name]; twice {
			return nil, mcpclient.Errorf(mcpclient.BadArguments, "the value %q of %s is given twice", name, t.Name)
		}
		args[name] = shape.typed(v.Text, shape.properties[name])
	}
	if bounds.Nested(args) {
		return nil, mcpclient.Errorf(mcpclient.BadArguments, "the arguments of %s are nested more than %d deep", c.Target, bounds.MaxNesting)
	}
	if !readable {
		return args, nil
	}
	switch err := bounds.Check(schema, args); {
	case errors.Is(err, bounds.ErrLong):
		return args, nil
	case err != nil:
		return nil, mcpclient.Errorf(mcpclient.Protocol, "the schema of the tool %s cannot be used: %v", t.Name, err)
	}
	bounds.Compilable(schema)
	resolved, err := schema.Resolve(nil)
	if err != nil { // such as a reference to another document
		return args, nil
	}
	if err := resolved.Validate(plainNumbers(args)); err != nil {
		return nil, mcpclient.Errorf(mcpclient.BadArguments, "the tool %s does not take that: %v; it wants: %s", t.Name, reason(err), shape.wants())
	}
	return args, nil
}

// schemaOf reads the schema of a tool. If the validator cannot read it, as with some older drafts, readable is false, and s has only what
// arguments are made by: the types of the properties, and which of them are required.
func schemaOf(t *mcp.Tool) (s *jsonschema.Schema, readable bool, err error) {
	raw, err := json.Marshal(t.InputSchema)
	if err != nil {
		return nil, false, err
	}
	s = new(jsonschema.Schema)
	if string(raw) == "null" {
		return s, true, nil
	}
	if err := bounds.Readable(raw); err != nil {
		return nil, false, err
	}
	if json.Unmarshal(raw, s) == nil {
		s.Schema = "" // some servers name a draft that the validator does not load
		return s, true, nil
	}
	var outline struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   json.RawMessage            `json:"required"`
	}
	if err := json.Unmarshal(raw, &outline); err != nil {
		return nil, false, err
	}
	s = &jsonschema.Schema{Properties: make(map[string]*jsonschema.Schema)}
	_ = json.Unmarshal(outline.Required, &s.Required) // draft 3 has it in each property
	for name, raw := range outline.Properties {
		var property struct {
			Type json.RawMessage `json:"type"`
		}
		p := new(jsonschema.Schema)
		if json.Unmarshal(raw, &property) != nil || json.Unmarshal(slices.Concat([]byte(`{"type":`), property.Type, []byte("}")), p) != nil {
			p = new(jsonschema.Schema)
		}
		s.Properties[name] = p
	}
	return s, false, nil
}

// A shape is what the schema of a tool says of its arguments, wherever in the schema it says so.
type shape struct {
	root       *jsonschema.Schema // has the definitions that references name
	properties map[string]*jsonschema.Schema
	required   map[string]bool
}

func shapeOf(root *jsonschema.Schema) *shape {
	sh := &shape{root: root, properties: make(map[string]*jsonschema.Schema), required: make(map[string]bool)}
	for _, s := range sh.applied(root) {
		for name, p := range s.Properties {
			if sh.properties[name] == nil {
				sh.properties[name] = p
			}
		}
		for _, name := range s.Required {
			sh.required[name] = true
		}
	}
	return sh
}

// maxApplied is how many schemas are looked at for one value, since allOf and references can name each other.
const maxApplied = 64

// applied returns s and the schemas that apply wherever s does: those of its allOf, and those that its references to definitions name. None of
// them is nil.
func (sh *shape) applied(s *jsonschema.Schema) []*jsonschema.Schema {
	var list []*jsonschema.Schema
	add := func(s *jsonschema.Schema) {
		if s != nil && len(list) < maxApplied && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	add(s)
	for i := 0; i < len(list); i++ {
		for _, s := range list[i].AllOf {
			add(s)
		}
		add(sh.named(list[i].Ref))
	}
	return list
}

// named returns the schema that a reference to a definition of the root names; nil for another reference.
func (sh *shape) named(ref string) *jsonschema.Schema {
	fragment, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil
	}
	in, name, _ := strings.Cut(fragment, "/")
	name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	switch in {
	case "$defs":
		return sh.root.Defs[name]
	case "definitions":
		return sh.root.Definitions[name]
	}
	return nil
}

// sole returns the only required property of a tool, or its only one; empty if there is none.
func (sh *shape) sole() string {
	switch {
	case len(sh.required) == 1:
		for name := range sh.required {
			return name
		}
	case len(sh.required) == 0 && len(sh.properties) == 1:
		for name := range sh.properties {
			return name
		}
	}
	return ""
}

// kinds are the types of JSON Schema.
var kinds = []string{"null", "boolean", "object", "array", "number", "integer", "string"}

// types returns the types that s, or one of its alternatives, allows, each once.
func (sh *shape) types(s *jsonschema.Schema) (types []string) {
	add := func(s *jsonschema.Schema) {
		for _, name := range append([]string{s.Type}, s.Types...) {
			if slices.Contains(kinds, name) && !slices.Contains(types, name) {
				types = append(types, name)
			}
		}
	}
	for _, s := range sh.applied(s) {
		add(s)
		for _, alternative := range slices.Concat(s.AnyOf, s.OneOf) {
			for _, s := range sh.applied(alternative) {
				add(s)
			}
		}
	}
	return types
}

// typed makes of a text what its property wants: "3" a number where a number is wanted. A text that cannot become it stays one, and the
// schema says so.
func (sh *shape) typed(text string, s *jsonschema.Schema) any { return sh.typedIn(text, s, 0) }

// maxLists is how many lists of one value are made around each other: the items of a list can have the schema of the list.
const maxLists = 4

func (sh *shape) typedIn(text string, s *jsonschema.Schema, lists int) any {
	types := sh.types(s)
	if len(types) == 0 || slices.Contains(types, "string") {
		return text
	}
	for _, t := range types {
		switch t {
		case "integer", "number":
			if _, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) {
				return json.Number(text)
			}
		case "boolean":
			if text == "true" || text == "false" {
				return text == "true"
			}
		case "array", "object":
			d := json.NewDecoder(strings.NewReader(text))
			d.UseNumber()
			var v any
			if d.Decode(&v) == nil && !d.More() {
				if _, isList := v.([]any); isList == (t == "array") {
					return v
				}
			}
			if t == "array" && !strings.HasPrefix(text, "[") && lists < maxLists {
				return []any{sh.typedIn(text, sh.items(s), lists+1)} // one value is a list of one
			}
		case "null":
			if text == "null" {
				return nil
			}
		}
	}
	return text
}

// items returns the schema of the values of a list; nil if it has none.
func (sh *shape) items(s *jsonschema.Schema) *jsonschema.Schema {
	for _, s := range sh.applied(s) {
		if s.Items != nil {
			return s.Items
		}
	}
	return nil
}

// plainNumbers replaces the numbers that keep their text by those that the validator knows.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = plainNumbers(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = plainNumbers(x)
		}
		return out
	}
	return v
}

// wants lists the properties of a tool, the required ones first.
func (sh *shape) wants() string {
	names := slices.Sorted(maps.Keys(sh.properties))
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case sh.required[a] == sh.required[b]:
			return 0
		case sh.required[a]:
			return -1
		}
		return 1
	})
	more := ""
	if n := len(names) - maxWanted; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
		names = names[:maxWanted]
	}
	for i, name := range names {
		text := name
		if types := sh.types(sh.properties[name]); len(types) > 0 {
			text += " (" + strings.Join(types, " or ")
			if sh.required[name] {
				text += ", required"
			}
			text += ")"
		}
		names[i] = text
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ") + more
}

// maxWanted is how many properties of a tool a message names.
const maxWanted = 50

// reason is the last part of a validation error: what is wrong, without the path through the schema. It is not looked for in the text, which
// has the value that is wrong in it.
func reason(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

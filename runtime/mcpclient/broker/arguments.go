package broker

import (
	"encoding/json"
	"errors"
	"fmt"
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
	args := make(map[string]any)
	if c.Arguments != "" {
		d := json.NewDecoder(strings.NewReader(c.Arguments))
		d.UseNumber()
		if err := d.Decode(&args); err != nil {
			return nil, mcpclient.Errorf(mcpclient.BadArguments, "the arguments of %s are not a JSON object: %v", c.Target, err)
		}
		for name, v := range args {
			if text, ok := v.(string); ok {
				args[name] = typed(text, property(schema, name))
			}
		}
	}
	for _, v := range c.Values {
		name := v.Name
		if c.Arguments != "" {
			break // the template has taken them in
		}
		if name == "" {
			if name = sole(schema); name == "" {
				return nil, mcpclient.Errorf(mcpclient.BadArguments, "the tool %s wants named values: %s", t.Name, wants(schema))
			}
		}
		if _, twice := args[name]; twice {
			return nil, mcpclient.Errorf(mcpclient.BadArguments, "the value %q of %s is given twice", name, t.Name)
		}
		args[name] = typed(v.Text, property(schema, name))
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
		return nil, mcpclient.Errorf(mcpclient.BadArguments, "the tool %s does not take that: %s; it wants: %s", t.Name, reason(err), wants(schema))
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

func property(s *jsonschema.Schema, name string) *jsonschema.Schema {
	if p := s.Properties[name]; p != nil {
		return p
	}
	return new(jsonschema.Schema)
}

// sole returns the only required property of a tool, or its only one; empty if there is none.
func sole(s *jsonschema.Schema) string {
	switch {
	case len(s.Required) == 1:
		return s.Required[0]
	case len(s.Required) == 0 && len(s.Properties) == 1:
		for name := range s.Properties {
			return name
		}
	}
	return ""
}

// kinds are the types of JSON Schema.
var kinds = []string{"null", "boolean", "object", "array", "number", "integer", "string"}

// typed makes of a text what its property wants: "3" a number where a number is wanted. A text
// that cannot become it stays one, and the schema says so.
func typed(text string, s *jsonschema.Schema) any {
	var types []string // each once, however often the schema names it
	add := func(names ...string) {
		for _, name := range names {
			if slices.Contains(kinds, name) && !slices.Contains(types, name) {
				types = append(types, name)
			}
		}
	}
	if add(s.Type); s.Type == "" {
		add(s.Types...)
	}
	for _, alternative := range s.AnyOf {
		add(alternative.Type)
	}
	for _, alternative := range s.OneOf {
		add(alternative.Type)
	}
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
			if t == "array" && !strings.HasPrefix(text, "[") {
				return []any{typed(text, itemsOf(s))} // one value is a list of one
			}
		case "null":
			if text == "null" {
				return nil
			}
		}
	}
	return text
}

func itemsOf(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Items != nil {
		return s.Items
	}
	return new(jsonschema.Schema)
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
func wants(s *jsonschema.Schema) string {
	var names []string
	for name := range s.Properties {
		names = append(names, name)
	}
	required := make(map[string]bool, len(s.Required))
	for _, name := range s.Required {
		required[name] = true
	}
	slices.SortFunc(names, func(a, b string) int {
		if r := required[a]; r != required[b] {
			if r {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	more := ""
	if n := len(names) - maxWanted; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
		names = names[:maxWanted]
	}
	for i, name := range names {
		text := name
		if t := s.Properties[name].Type; t != "" {
			text += " (" + t
			if required[name] {
				text += ", required"
			}
			text += ")"
		}
		names[i] = text
	}
	if len(names) == 0 {
		return "nothing"
	}
	return clip(strings.Join(names, ", ")) + more
}

// maxWanted is how many properties of a tool a message names.
const maxWanted = 50

// reason is the last part of a validation error: what is wrong, without the path through the
// schema.
func reason(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, "validating "); i >= 0 {
		if _, rest, ok := strings.Cut(text[i:], ": "); ok {
			text = rest
		}
	}
	return clip(text)
}

// maxText bounds what a message has of a schema, in bytes.
const maxText = 2 << 10

func clip(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	return text
}

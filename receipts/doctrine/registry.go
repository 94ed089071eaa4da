package doctrine

import (
	"errors"
	"fmt"
)

// A Registry says which tools there are, and which fields their receipts have.
type Registry struct{ fields map[string][]string }

// ParseRegistry parses a tools.registry.json: an object whose member tools is an
// object by tool name, or an array of objects with a name. The fields of a tool are
// its expected_receipt_fields, or receipt_fields. Other members are ignored.
func ParseRegistry(text []byte) (*Registry, error) {
	v, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("the registry cannot be parsed: %w", err)
	}
	o, _ := v.(object)
	tools, _ := o.get("tools")
	r := &Registry{make(map[string][]string)}
	switch tools := tools.(type) {
	case object:
		for _, m := range tools {
			if err := r.add(m.name, m.value); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, item := range tools {
			t, _ := item.(object)
			v, _ := t.get("name")
			name, ok := v.(string)
			if !ok {
				return nil, fmt.Errorf("tools[%d] of the registry has no name", i)
			}
			if err := r.add(name, item); err != nil {
				return nil, err
			}
		}
	default:
		return nil, errors.New("the registry has no tools: want {\"tools\": {\"leads.create\": {\"expected_receipt_fields\": [...]}}}")
	}
	return r, nil
}

func (r *Registry) add(name string, v any) error {
	t, ok := v.(object)
	if !ok || !toolName().MatchString(name) {
		return fmt.Errorf("%q is not a tool of the form domain.method with an object", clip(name))
	}
	if _, twice := r.fields[name]; twice {
		return fmt.Errorf("the tool %s is in the registry twice", name)
	}
	list, there := t.get("expected_receipt_fields")
	if !there {
		if list, there = t.get("receipt_fields"); !there {
			r.fields[name] = nil
			return nil
		}
	}
	paths, refusal := fields(list)
	if refusal != nil {
		return fmt.Errorf("the tool %s of the registry: %s", name, refusal.Reason)
	}
	r.fields[name] = paths
	return nil
}

// Fields returns the expected fields of a tool.
func (r *Registry) Fields(tool string) (fields []string, ok bool) {
	fields, ok = r.fields[tool]
	return fields, ok
}

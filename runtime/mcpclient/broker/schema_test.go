package broker

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestSchemaOfItself: a tool whose schema leads to itself ends its line, and not the helper of every server.
func TestSchemaOfItself(t *testing.T) {
	deep := func(n int, key string) string {
		return strings.Repeat(`{"`+key+`":`, n) + "true" + strings.Repeat("}", n)
	}
	var chain, doubling []string // through references that each stand for themselves
	for i := range 200 {
		chain = append(chain, fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1))
		doubling = append(doubling, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%[2]d"}]}`, i, i+1))
	}
	chain, doubling = append(chain, `"d200":{}`), append(doubling[160:], `"d200":{}`)
	for _, tt := range []struct {
		schema, want string // a part of the error; empty for none
	}{
		{`{"$ref":"#"}`, "leads to itself"},
		{`{"$dynamicRef":"#"}`, "leads to itself"},
		{`{"$dynamicRef":"#a","$dynamicAnchor":"a"}`, "leads to itself"},
		{`{"$anchor":"a","anyOf":[{"$ref":"#a"}]}`, "leads to itself"},
		{`{"$id":"http://a/b","allOf":[{"$ref":"b"}]}`, "leads to itself"},
		{`{"$id":"http://a/b","allOf":[{"$ref":"http://a/b#/allOf/0"}]}`, "leads to itself"},
		{`{"allOf":[{"$id":"http://a/b","not":{"$ref":"#/$defs/x"},"$defs":{"x":{"$ref":"b#/$defs/x"}}}]}`, "leads to itself"},
		{`{"properties":{"x":{"if":{"$ref":"#/properties/x"}}}}`, "leads to itself"},
		{`{"dependentSchemas":{"x":{"$ref":"#"}}}`, "leads to itself"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"x":{"$ref":"#"}}}`, "leads to itself"},
		{`{"oneOf":[{"$ref":"#/%24defs/a~1b"}],"$defs":{"a/b":{"else":{"$ref":"#"}}}}`, "leads to itself"},
		{`{"$ref":"#/$defs/d0","$defs":{` + strings.Join(chain, ",") + `}}`, "deep"},
		{`{"$ref":"#/$defs/d160","$defs":{` + strings.Join(doubling, ",") + `}}`, "more than"},
		{deep(500, "not"), "deep"},
		// A schema that leads to itself by way of a value ends with the value.
		{`{"type":"object","properties":{"x":{"$ref":"#"},"y":{"items":{"$ref":"#/properties/y"}}},"additionalProperties":{"anyOf":[{"$ref":"#"},{"type":"string"}]}}`, ""},
		{`{"$defs":{"x":{"type":"object","additionalProperties":{"$ref":"#/$defs/x"}}},"properties":{"x":{"$ref":"#/$defs/x"}}}`, ""},
		{`true`, ""}, {`{}`, ""}, {`{"properties":{"$ref":{"type":"string"},"not":{}}}`, ""},
		{`{"properties":{"x":` + deep(300, "items") + `}}`, ""},
	} {
		_, err := arguments(Call{Target: "s:t", Arguments: `{"x":{}}`}, &mcp.Tool{Name: "t", InputSchema: json.RawMessage(tt.schema)})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.200s: %v, want %q", tt.schema, err, tt.want)
		}
	}
	nest := func(n int) error {
		_, err := arguments(Call{Target: "s:t", Arguments: `{"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`}, &mcp.Tool{Name: "t"})
		return err
	}
	if err := nest(maxNesting + 1); err == nil || !strings.Contains(err.Error(), "nested") {
		t.Errorf("%v", err)
	}
	if err := nest(maxNesting); err != nil {
		t.Errorf("%v", err)
	}
}

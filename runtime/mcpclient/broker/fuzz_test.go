//go:build unix

package broker

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A schema is what a server says, and a value what a script says: neither may break the other's
// reader, and what is sent must be what was checked.
func FuzzArguments(f *testing.F) {
	f.Add(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`, "", "3", "")
	f.Add(`{"type":"object","properties":{"a":{"type":["array","null"],"items":{"type":"number"}},"b":{"anyOf":[{"type":"boolean"},{"type":"string"}]}}}`, "a", "[1,2]", `{"a":"1","b":"true"}`)
	f.Add(`{"$ref":"#/$defs/x","$defs":{"x":{"type":"object","additionalProperties":{"$ref":"#"}}}}`, "y", "{}", "")
	f.Add(`true`, "x", "null", "")
	f.Add(`{"properties":{"x":null}}`, "", "1e999", "[]")
	f.Fuzz(func(t *testing.T, schema, name, value, template string) {
		if !json.Valid([]byte(schema)) || len(schema) > 1<<12 {
			return
		}
		tool := &mcp.Tool{Name: "t", InputSchema: json.RawMessage(schema)}
		args, err := arguments(Call{Target: "s:t", Arguments: template, Values: values(name, value)}, tool)
		if err != nil {
			return
		}
		text, err := canonical(map[string]any{"arguments": args})
		if err != nil {
			t.Fatalf("%v cannot be written: %v", args, err)
		}
		again, err := recode(text)
		if err != nil || !bytes.Equal(text, again) {
			t.Fatalf("%s is not canonical: %s %v", text, again, err)
		}
	})
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"${A}", "$A", "${A:-x}", "${", "$", "${:-}", "$$", "${A:-${B}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out, err := expand(text, []string{"A=1", "B="})
		if err == nil && len(out) > len(text)+len(text)*2 {
			t.Fatalf("%q became %q", text, out)
		}
	})
}

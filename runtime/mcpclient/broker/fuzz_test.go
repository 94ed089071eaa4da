//go:build unix

package broker

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A schema is what a server says, and a value what a script says: neither may break the other's
// reader, and what is sent must be what was checked.
func FuzzArguments(f *testing.F) {
	f.Add(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`, "", "3", "")
	f.Add(`{"type":"object","properties":{"a":{"type":["array","null"],"items":{"type":"number"}},"b":{"anyOf":[{"type":"boolean"},{"type":"string"}]}}}`, "a", "[1,2]", `{"a":"1","b":"true"}`)
	f.Add(`{"$ref":"#/$defs/x","$defs":{"x":{"type":"object","additionalProperties":{"$ref":"#"}}}}`, "y", "{}", "")
	f.Add(`{"$ref":"#"}`, "y", "1", "")
	f.Add(`{"$id":"http://a/b","anyOf":[{"$dynamicRef":"#c"},{"$ref":"b#/$defs/x"}],"$defs":{"x":{"$dynamicAnchor":"c"}}}`, "y", "1", "")
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

// sink is the pipe to dialect: what it gets must be messages.
type sink struct{ bytes.Buffer }

func (*sink) Close() error { return nil }

// Whatever dialect says, the helper ends with its input, and has said messages alone. No server
// is configured, and no message can configure one.
func FuzzServe(f *testing.F) {
	const open = `{"method":"open","params":{}}` + "\n"
	for _, text := range []string{
		`{"id":1,"method":"call","params":{"Target":"s:t","Timeout":1}}` + "\n" + `{"method":"cancel","params":1}`,
		`{"id":1,"method":"check","params":{}}` + "\n" + `{"id":1,"method":"check","params":{}}`, `{"id":2,"method":"tools","params":"s"}`,
		`{"id":1,"method":"ping"}`, `{"id":1,"method":"what"}`, `{"id":1,"method":"call"}`, `{"method":"call"}`, `{"id":"x","method":"tools","params":7}`,
		`{"method":"open","params":{"Servers":{"s":{"Argv":["false"]}}}}` + "\n" + `{"id":1,"method":"tools","params":"s"}`,
		`{"id":1,"result":1}`, `{"id":1,"error":{}}`, `null`, `[]`, `{}`, "\xff", ``, `{"id":99999999999999999999,"method":"ping"}`,
	} {
		f.Add([]byte(text + "\n"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		out := new(sink)
		begun := time.Now()
		if err := Serve(io.MultiReader(strings.NewReader(open), bytes.NewReader(text)), out); err != nil || time.Since(begun) > 5*time.Second {
			t.Fatalf("%v after %v", err, time.Since(begun))
		}
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("no message: %q", line)
			}
			if strings.Contains(line, "exit status") {
				t.Fatalf("a server was started: %s", line)
			}
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

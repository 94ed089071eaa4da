package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/mcpclient/bounds"
)

// checked returns what keeps a call from being made, or from being checked before it is.
func checked(schema, text string) error {
	tool := &mcp.Tool{Name: "t", InputSchema: json.RawMessage(schema)}
	args, err := arguments(Call{Target: "s:t", Arguments: text}, tool)
	if err != nil {
		return err
	}
	s, _, err := schemaOf(tool)
	if err != nil {
		return err
	}
	return bounds.Check(s, args)
}

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
		{`{"$ref":"#/$defs/d160","$defs":{` + strings.Join(doubling, ",") + `}}`, "too long"},
		{`{"allOf":[{"$ref":"#/allOf/+0"}]}`, "leads to itself"},
		{`{"allOf":[{"$ref":"#/allOf/-0"}]}`, "leads to itself"},
		{deep(500, "not"), "deep"},
		// A schema that leads to itself by way of a value ends with the value.
		{`{"type":"object","properties":{"x":{"$ref":"#"},"y":{"items":{"$ref":"#/properties/y"}}},"additionalProperties":{"anyOf":[{"$ref":"#"},{"type":"string"}]}}`, ""},
		{`{"$defs":{"x":{"type":"object","additionalProperties":{"$ref":"#/$defs/x"}}},"properties":{"x":{"$ref":"#/$defs/x"}}}`, ""},
		{`true`, ""}, {`{}`, ""}, {`{"properties":{"$ref":{"type":"string"},"not":{}}}`, ""},
		{`{"properties":{"x":` + deep(300, "items") + `}}`, ""},
	} {
		err := checked(tt.schema, `{"x":{}}`)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.200s: %v, want %q", tt.schema, err, tt.want)
		}
	}
	nest := func(n int) error {
		_, err := arguments(Call{Target: "s:t", Arguments: `{"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`}, &mcp.Tool{Name: "t"})
		return err
	}
	if err := nest(bounds.MaxNesting + 1); err == nil || !strings.Contains(err.Error(), "nested") {
		t.Errorf("%v", err)
	}
	if err := nest(bounds.MaxNesting); err != nil {
		t.Errorf("%v", err)
	}
}

// TestSchemaOfBlocks: a schema of blocks in blocks is usual, and to check ten kinds of them on each of three levels takes long: the server does.
func TestSchemaOfBlocks(t *testing.T) {
	var kinds []string
	for i := range 10 {
		kinds = append(kinds, fmt.Sprintf(`{"type":"object","properties":{"type":{"const":"t%d"},"children":{"type":"array","items":{"$ref":"#/$defs/block"}}},"required":["type"],"additionalProperties":false}`, i))
	}
	schema := `{"properties":{"blocks":{"items":{"$ref":"#/$defs/block"}}},"$defs":{"block":{"oneOf":[` + strings.Join(kinds, ",") + `]}}}`
	block := `{"type":"t0"}`
	for range 5 {
		block = `{"type":"t1","children":[` + block + `,` + block + `]}`
	}
	args, err := arguments(Call{Target: "s:t", Arguments: `{"blocks":[` + block + `]}`}, &mcp.Tool{Name: "t", InputSchema: json.RawMessage(schema)})
	if err != nil || len(args) != 1 {
		t.Errorf("%v, %v", args, err)
	}
}

// A schema of another draft, or one that the validator cannot resolve, is not checked by it: the server judges alone, and gets values of
// the types that the schema does name.
func TestSchemaOfAnotherDraft(t *testing.T) {
	for _, tt := range []struct{ schema, want string }{
		{`{"properties":{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true}},"required":["n"]}`, "3"},
		{`{"properties":{"n":{"type":["integer","null"],"exclusiveMaximum":false},"m":{"required":true}}}`, "3"},
		{`{"properties":{"n":{"type":"string","required":true}}}`, `"3"`},
		{`{"$id":"tool.json","properties":{"n":{"type":"integer"}}}`, "3"},
		{`{"properties":{"n":{"$ref":"http://other.example/n.json"}}}`, `"3"`},
		{`{"properties":{"n":{"$ref":"#/definitions/none"}}}`, `"3"`},
		{`{"properties":{"n":{"type":"integer"}},"required":true}`, "3"},
		{`{"properties":{"n":{"type":"integer"}},"maxProperties":"many"}`, "3"},
	} {
		tool := &mcp.Tool{Name: "t", InputSchema: json.RawMessage(tt.schema)}
		for _, c := range []Call{{Target: "s:t", Values: values("n", "3")}, {Target: "s:t", Arguments: `{"n":"3"}`}} {
			args, err := arguments(c, tool)
			got, _ := json.Marshal(args["n"])
			if err != nil || string(got) != tt.want {
				t.Errorf("%s: %s, %v", tt.schema, got, err)
			}
		}
	}
	for _, schema := range []string{`5`, `"x"`, `[]`, `{"properties":[]}`} {
		if _, err := arguments(Call{Target: "s:t", Arguments: `{}`}, &mcp.Tool{Name: "t", InputSchema: json.RawMessage(schema)}); err == nil {
			t.Errorf("%s is a schema", schema)
		}
	}
}

// TestSchemaByReference: a value has the type that its schema has in other places: behind references, as models of programs are described,
// and in allOf.
func TestSchemaByReference(t *testing.T) {
	for _, tt := range []struct{ schema, value, want string }{
		{`{"$ref":"#/$defs/A","$defs":{"A":{"properties":{"n":{"type":"integer"}}}}}`, "3", "3"},
		{`{"type":"object","$ref":"#/definitions/A","definitions":{"A":{"properties":{"n":{"type":"integer"}}}}}`, "3", "3"},
		{`{"properties":{"n":{"$ref":"#/definitions/N"}},"definitions":{"N":{"type":"integer"}}}`, "3", "3"},
		{`{"properties":{"n":{"$ref":"#/$defs/a~1b%20c"}},"$defs":{"a/b c":{"type":"boolean"}}}`, "true", "true"},
		{`{"properties":{"n":{"$ref":"#/$defs/P"}},"$defs":{"P":{"properties":{"x":{"type":"integer"}},"type":"object"}}}`, `{"x":1}`, `{"x":1}`},
		{`{"allOf":[{"properties":{"n":{"type":"integer"}}}]}`, "3", "3"},
		{`{"properties":{"n":{"allOf":[{"$ref":"#/$defs/N"}]}},"$defs":{"N":{"type":"integer"}}}`, "3", "3"},
		{`{"properties":{"n":{"anyOf":[{"$ref":"#/$defs/N"},{"type":"null"}]}},"$defs":{"N":{"type":"integer"}}}`, "3", "3"},
		{`{"properties":{"n":{"anyOf":[{"$ref":"#/$defs/N"},{"type":"string"}]}},"$defs":{"N":{"type":"integer"}}}`, "3", `"3"`},
		{`{"properties":{"n":{"$ref":"#/$defs/L"}},"$defs":{"L":{"type":"array","items":{"$ref":"#/$defs/N"}},"N":{"type":"integer"}}}`, "3", "[3]"},
		{`{"properties":{"n":{"$ref":"#/$defs/L"}},"$defs":{"L":{"type":["array","string"],"items":{"$ref":"#/$defs/L"}}}}`, "3", `"3"`},
		{`{"$ref":"other.json"}`, "3", `"3"`},
		{`{"$id":"https://example.com/y","$ref":"z.json"}`, "3", `"3"`},
		{`{"properties":{"n":{"$ref":"common.json#/definitions/n"}},"definitions":{"n":{"type":"integer"}}}`, "3", `"3"`},
	} {
		for _, c := range []Call{{Target: "s:t", Values: values("", tt.value)}, {Target: "s:t", Values: values("n", tt.value)}} {
			if c.Values[0].Name == "" && strings.Contains(tt.schema, ".json\"}") {
				continue // no name is known
			}
			args, err := arguments(c, &mcp.Tool{Name: "t", InputSchema: json.RawMessage(tt.schema)})
			got, _ := json.Marshal(args["n"])
			if err != nil || string(got) != tt.want {
				t.Errorf("%s: %s, %v", tt.schema, got, err)
			}
		}
	}
	for _, lists := range []string{`{"L":{"type":"array","items":{"$ref":"#/$defs/L"}}}`, `{"L":{"type":"array","items":{"$ref":"#/$defs/M"}},"M":{"type":"array","items":{"allOf":[{"$ref":"#/$defs/L"}]}}}`} {
		_, err := arguments(Call{Target: "s:t", Values: values("n", "x")}, &mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"properties":{"n":{"$ref":"#/$defs/L"}},"$defs":` + lists + `}`)})
		if err == nil {
			t.Errorf("%s takes a text", lists)
		}
	}
	_, err := arguments(Call{Target: "s:t", Values: values("n", "x")}, &mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"$ref":"#/$defs/A","$defs":{"A":{"properties":{"n":{"type":["integer","null"]},"m":{}},"required":["n"]}}}`)})
	if err == nil || !strings.HasSuffix(err.Error(), "it wants: n (integer or null, required), m") {
		t.Error(err)
	}
	for _, schema := range []string{`{"$ref":"#"}`, `{"$id":"https://example.com/y","$ref":"y"}`, `{"$id":"https://example.com/a/y","$ref":"../a/./y"}`, `{"$id":"https://example.com/","$ref":"."}`, `{"$ref":"."}`, `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`} {
		if _, err := arguments(Call{Target: "s:t", Arguments: `{}`}, &mcp.Tool{Name: "t", InputSchema: json.RawMessage(schema)}); err == nil {
			t.Errorf("%s does not lead to itself", schema)
		}
	}
}

// TestSchemaOfMuch: what a schema makes the validator do for arguments is bounded, in time and memory, and so is what it takes to read one.
func TestSchemaOfMuch(t *testing.T) {
	many := func(n int, f func(i int) string) string {
		var list []string
		for i := range n {
			list = append(list, f(i))
		}
		return strings.Join(list, ",")
	}
	each := func(text string) func(int) string { return func(int) string { return text } }
	ref := func(n int, name string) string {
		return `{"anyOf":[` + many(n, each(`{"$ref":"#/$defs/`+name+`"}`)) + `]}`
	}
	around := func(n int, text, in string) string {
		return strings.Repeat(text, n) + in + strings.Repeat("}", strings.Count(text, "{")*n)
	}
	const plain = `{"x":{}}`
	for _, tt := range []struct {
		name, schema, arguments, want string
	}{
		{"schemas by values", `{"anyOf":` + ref(9000, "x")[9:len(ref(9000, "x"))-1] + `,"$defs":{"x":{"properties":{"x":` + ref(9000, "y") + `}},"y":{}}}`, plain, "too long"},
		{"values by schemas", `{"properties":{"x":{"items":{"anyOf":[` + many(3000, each(`{}`)) + `]}}}}`, `{"x":[` + many(3000, each("1")) + `]}`, "too long"},
		{"two ways into each value", `{"anyOf":[{"additionalProperties":{"$ref":"#"}},{"additionalProperties":{"$ref":"#"}}]}`, around(26, `{"x":`, "1"), "too long"},
		{"errors that repeat it", `{"anyOf":` + ref(9000, "x")[9:len(ref(9000, "x"))-1] + `,"$defs":{"x":{"enum":["` + strings.Repeat("a", 1<<19) + `"]}}}`, plain, "too long"},
		{"large patterns", `{"properties":{` + many(1000, func(i int) string { return fmt.Sprintf(`"%d":{"pattern":"x{1000}"}`, i) }) + `}}`, plain, "patterns"},
		{"large names of patterns", `{"patternProperties":{` + many(1000, func(i int) string { return fmt.Sprintf(`"%dx{1000}":true`, i) }) + `}}`, plain, "patterns"},
		{"a class of many tables", `{"properties":{"y":{"pattern":"[` + strings.Repeat(`\\pL`, 20_000) + `]"}}}`, plain, "patterns"},
		{"names of many tables", `{"patternProperties":{"[` + strings.Repeat(`\\PL`, 20_000) + `]":{}}}`, plain, "patterns"},
		{"wide ranges without regard to case", `{"properties":{"y":{"pattern":"(?s:(?i)[` + strings.Repeat("B-\U0001e942", 1000) + strings.Repeat(`B-\\x{1e942}`, 1000) + `])"}}}`, plain, "patterns"},
		{"a pattern by a text", `{"properties":{"x":{"pattern":"` + strings.Repeat("(a?){50}", 200) + `"}}}`, `{"x":"` + strings.Repeat("a", 100_000) + `"}`, "too long"},
		{"depth", around(9000, `{"not":`, "{}"), plain, "too long to read"},
		{"long paths", around(1000, `{"properties":{"`+strings.Repeat("a", 1000)+`":`, "{}"), plain, "too long to read"},
		{"long addresses", `{"$id":"http://` + strings.Repeat("a", 1<<19) + `","allOf":[` + many(1000, each(`{"$ref":"#/$defs/x"}`)) + `],"$defs":{"x":{}}}`, plain, "too long to read"},
		{"size", `{"title":"` + strings.Repeat("a", bounds.MaxSchema) + `"}`, plain, "more than"},

		{"a long text", `{"properties":{"x":{"type":"string","pattern":"^[a-z]*$","maxLength":10000000}},"required":["x"]}`, `{"x":"` + strings.Repeat("a", 1<<20) + `"}`, ""},
		{"a long list", `{"properties":{"x":{"items":{"oneOf":[{"type":"string"},{"type":"integer"}]}}}}`, `{"x":[` + many(10_000, each("1")) + `]}`, ""},
		{"many properties", `{"properties":{` + many(1000, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string","description":"%0200d"}`, i, i) }) + `}}`, plain, ""},
		{"patterns of ECMA-262", `{"properties":{"x":{},"y":{"items":{"pattern":"^(?!\\.)[a-z]+@[\\u0020-x]$"}}}}`, `{"x":{},"y":["a"]}`, ""},
		{"usual patterns", `{"properties":{` + many(50, func(i int) string { return fmt.Sprintf(`"%d":{"pattern":"(?i)^[\\p{L}\\w\\-\\.a-z]+$"}`, i) }) + `}}`, plain, ""},
		{"a type named often", `{"properties":{"y":{"type":["object"` + strings.Repeat(`,"object"`, 100_000) + `]}}}`, `{"y":"[` + many(10_000, each("1")) + `]"}`, "does not take"},
		{"the pattern of an example", `{"examples":[{"pattern":"(","patternProperties":{"(":{}}}]}`, plain, ""},
	} {
		err := checked(tt.schema, tt.arguments)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %.300v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestSchemaInMessages: a message has some of a schema's names, and finds them in a moment.
func TestSchemaInMessages(t *testing.T) {
	var properties, required []string
	for i := range 20_000 {
		properties, required = append(properties, fmt.Sprintf(`"%d":{}`, i)), append(required, fmt.Sprintf(`"%d"`, i))
	}
	schema := `{"properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `]}`
	_, err := arguments(Call{Target: "s:t", Arguments: `{}`}, &mcp.Tool{Name: "t", InputSchema: json.RawMessage(schema)})
	var e *Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	if text := e.Public(func(text []byte, _, _ bool) []byte { return text }); !strings.HasSuffix(text, ", and 19950 more") || len(text) > 5000 {
		t.Errorf("%.500s", text)
	}
}

// values makes values of pairs of name and text.
func values(pairs ...string) (list []mcpclient.Value) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, mcpclient.Value{Name: pairs[i], Text: pairs[i+1]})
	}
	return list
}

// TestWhole: who takes secrets out of a message gets it as it was made. Only the helper cuts it, far behind what a secret may have, and says so.
func TestWhole(t *testing.T) {
	secret := strings.Repeat("validating it: ", 3) + strings.Repeat("s3cret", 1000)
	for _, c := range []struct{ schema, arguments string }{
		{`{"properties":{"pw":{"type":"integer"}}}`, `{"pw":"` + secret + `"}`},
		{`{"enum":[1]}`, `{"pw":"` + secret + `"}`},
		{`{"properties":{"pw":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, `{"pw":"` + secret + `"}`},
		{`{"properties":{"` + secret + `":{}},"required":["pw"]}`, `{}`},
	} {
		if err := checked(c.schema, c.arguments); err == nil || !strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", c.schema, err)
		}
	}
	err := checked(`{"enum":[1]}`, `{"pw":"`+strings.Repeat("x", 2<<20)+`"}`)
	e := mcpclient.Errorf(mcpclient.BadArguments, "%v", err)
	if e.Bound(); !e.Cut || len(e.Message) != mcpclient.MaxError {
		t.Errorf("%d bytes, cut %v", len(e.Message), e.Cut)
	}
}

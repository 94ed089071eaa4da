package mcpserver

import (
	"context"
	"errors"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// explainArguments puts what the SDK says of wrong arguments into the words of the command line, and says which are right.
func (t *tools) explainArguments(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		r, ok := res.(*mcp.CallToolResult)
		if !ok || err != nil || !r.IsError || len(r.Content) != 1 || r.StructuredContent != nil {
			return res, err
		}
		text, ok := r.Content[0].(*mcp.TextContent)
		call, isCall := req.GetParams().(*mcp.CallToolParamsRaw)
		if !ok || !isCall || !strings.HasPrefix(text.Text, "validating \"arguments\": ") {
			return res, err
		}
		parts := strings.Split(strings.TrimPrefix(text.Text, "validating \"arguments\": "), "validating ")
		at, why, _ := strings.Cut(parts[len(parts)-1], ": ")
		for _, keyword := range []string{"type: ", "required: "} {
			why = strings.TrimPrefix(why, keyword)
		}
		if value, ok := strings.CutPrefix(why, "minimum: "); ok { // -1/1 is less than 1.000000
			value, least, _ := strings.Cut(value, " is less than ")
			why = strings.TrimSuffix(value, "/1") + " is less than " + strings.TrimSuffix(least, ".000000")
		}
		why = strings.Replace(why, "<invalid reflect.Value>", "null", 1)
		argument, _, _ := strings.Cut(strings.TrimPrefix(at, "/properties/"), "/")
		list := func(prefix string) (string, bool) {
			rest, ok := strings.CutPrefix(why, prefix)
			return strings.Trim(strings.ReplaceAll(rest, "\" \"", "\", \""), "[]"), ok
		}
		switch names, extra := list("unexpected additional properties "); {
		case extra:
			why = call.Name + " has no argument " + names
		case at != "root":
			why = argument + ": " + why
		default:
			if names, missing := list("missing properties: "); missing {
				why = "an argument is missing: " + strings.ReplaceAll(names, `"`, "")
			}
		}
		refused, a, _ := refuse(errors.New(why + "\n  hint: its arguments: " + t.arguments[call.Name]))
		refused.StructuredContent = a
		return refused, nil
	}
}

// argumentsOf lists the arguments of a schema with their types.
func argumentsOf(schema *jsonschema.Schema) string {
	var list []string
	for _, name := range schema.PropertyOrder {
		p := schema.Properties[name]
		kind := p.Type
		switch {
		case p.Items != nil:
			kind += " of " + p.Items.Type + "s"
		case p.AdditionalProperties != nil:
			kind += " of " + p.AdditionalProperties.Type + "s"
		}
		list = append(list, name+" ("+kind+")")
	}
	return strings.Join(list, ", ")
}

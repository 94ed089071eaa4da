package doctrine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

func file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func answer(input []byte, r *Registry) []byte {
	report, refusal := Lint(input, r)
	if refusal != nil {
		return JSON(refusal)
	}
	return JSON(report)
}

// The worked examples of the doctrine, byte for byte.
func TestExamples(t *testing.T) {
	for _, name := range []string{"valid", "invalid"} {
		if got, want := string(answer(file(t, name+".in.json"), nil)), string(file(t, name+".out.json")); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

func input(receipt string, fields string) []byte {
	return []byte(`{"receipt": ` + receipt + `, "tool_name": "leads.create", "expected_receipt_fields": ` + fields + `}`)
}

func TestRules(t *testing.T) {
	for _, tt := range []struct {
		name, receipt, fields string
		valid                 bool
		score, rules          string
	}{
		{"succeeded", `{"status":"succeeded","result":{"id":1},"effects":{}}`, `[]`, true, "8/8", ""},
		{"failed, empty result", `{"status":"failed","result":{},"effects":{"errors":["x"]}}`, `[]`, true, "8/8", ""},
		{"failed without errors", `{"status":"failed","result":{},"effects":{}}`, `[]`, true, "7/8", "effects_must_be_well_formed"},
		{"not configured, in result", `{"status":"not_configured","result":{"status":"not_configured","reason":"no key","next_steps":["add one"]},"effects":{}}`, `[]`, true, "8/8", ""},
		{"not configured, at the top", `{"status":"not_configured","reason":"no key","next_steps":["add one"],"result":{},"effects":{}}`, `[]`, true, "8/8", ""},
		{"not configured, silent", `{"status":"not_configured","result":{},"effects":{}}`, `[]`, true, "7/8", "not_configured_needs_guidance not_configured_needs_guidance"},
		{"not configured, steps no strings", `{"status":"not_configured","result":{"reason":"x","next_steps":[1]},"effects":{}}`, `[]`, true, "7/8", "not_configured_needs_guidance"},
		{"no status", `{"result":{"a":1},"effects":{}}`, `[]`, false, "7/8 (failed)", "status_must_be_terminal"},
		{"success", `{"status":"success","result":{"a":1},"effects":{}}`, `[]`, false, "7/8 (failed)", "status_must_be_terminal"},
		{"status no string", `{"status":7,"result":{"a":1},"effects":{}}`, `[]`, false, "7/8 (failed)", "status_must_be_terminal"},
		{"nothing", `{}`, `[]`, false, "5/8 (failed)", "status_must_be_terminal result_must_be_object effects_must_be_object"},
		{"result an array", `{"status":"succeeded","result":[],"effects":{}}`, `[]`, false, "7/8 (failed)", "result_must_be_object"},
		{"result null", `{"status":"succeeded","result":null,"effects":{}}`, `[]`, false, "7/8 (failed)", "result_must_be_object"},
		{"no effects", `{"status":"succeeded","result":{"a":1}}`, `[]`, false, "7/8 (failed)", "effects_must_be_object"},
		{"silent success", `{"status":"succeeded","result":{},"effects":{}}`, `[]`, false, "7/8 (failed)", "success_requires_data"},
		{"a field is null", `{"status":"succeeded","result":{"a":null},"effects":{}}`, `["result.a"]`, false, "7/8 (failed)", "receipt_field_missing"},
		{"two fields", `{"status":"succeeded","result":{"a":{"b":1}},"effects":{}}`, `["result.a.b","result.a.c","result.x","effects"]`, false, "7/8 (failed)", "receipt_field_missing receipt_field_missing"},
		{"bad writes", `{"status":"succeeded","result":{"a":1},"effects":{"db_writes":[{"table":"t"},3],"messages_sent":{}}}`, `[]`, true, "7/8", strings.TrimSpace(strings.Repeat("effects_must_be_well_formed ", 4))},
		{"error beside success", `{"status":"succeeded","result":{"a":1},"effects":{},"error":"x"}`, `[]`, true, "7/8", "error_contradicts_success"},
		{"error null", `{"status":"succeeded","result":{"a":1},"effects":{},"error":null}`, `[]`, true, "8/8", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, refusal := Lint(input(tt.receipt, tt.fields), nil)
			if refusal != nil {
				t.Fatal(refusal.Reason)
			}
			var rules []string
			for _, v := range r.Violations {
				rules = append(rules, v.Rule)
				if v.Fix == "" || v.Expected == "" || v.Actual == "" {
					t.Errorf("%+v leaves something out", v)
				}
			}
			if r.Valid != tt.valid || r.Score != tt.score || strings.Join(rules, " ") != tt.rules {
				t.Errorf("valid %v, %s, %q", r.Valid, r.Score, rules)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	registry, err := ParseRegistry([]byte(`{"tools": {"leads.create": {"expected_receipt_fields": ["result.lead_id"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	good := `{"status":"succeeded","result":{"lead_id":1},"effects":{}}`
	for _, tt := range []struct{ in, want string }{
		{string(input("null", "[]")), "Receipt is not a valid object (received: null)"},
		{string(input("[]", "[]")), "Receipt is not a valid object (received: array)"},
		{string(input(`"x"`, "[]")), "Receipt is not a valid object (received: string)"},
		{`{"tool_name":"a.b","expected_receipt_fields":[]}`, "Receipt is not a valid object (received: null)"},
		{`{"receipt":{},"expected_receipt_fields":[]}`, "Required input is missing (tool_name)"},
		{`{"receipt":{},"tool_name":"a.b"}`, "Required input is missing (expected_receipt_fields)"},
		{string(input(good, `"result"`)), "Expected fields are not an array (received: string)"},
		{string(input(good, `["a..b"]`)), "Expected field is not a dotted path (received: a..b)"},
		{string(input(good, `["result.id"]`)), "Expected fields do not match the registry (received: result.id; registry: result.lead_id)"},
		{strings.Replace(string(input(good, `[]`)), "leads.create", "leads.delete", 1), "Tool is not in the registry (tool_name: leads.delete)"},
		{strings.Replace(string(input(good, `[]`)), "leads.create", "Leads", 1), "Tool name is malformed (received: Leads)"},
		{`{"receipt":{},"receipt":{},"tool_name":"a.b","expected_receipt_fields":[]}`, `Input cannot be parsed (the member "receipt" is there twice)`},
		{`{"receipt":{},"tool_name":"a.b","expected_receipt_fields":[],"more":1}`, "Input has an unknown member (more)"},
		{``, "Input cannot be parsed (it ends too early)"},
		{`[1]`, "Input is not a valid object (received: array)"},
		{`{} {}`, "Input cannot be parsed (something follows the value)"},
		{strings.Repeat("[", 100), "Input cannot be parsed (nested more than 64 deep)"},
	} {
		_, refusal := Lint([]byte(tt.in), registry)
		if refusal == nil || refusal.Reason != tt.want || !refusal.Refused || refusal.Fix == "" || refusal.Documentation == "" {
			t.Errorf("%s: %+v, want %q", tt.in, refusal, tt.want)
		}
	}
	if r, refusal := Lint(input(good, `["result.lead_id"]`), registry); refusal != nil || !r.Valid {
		t.Errorf("%+v %+v", r, refusal)
	}
}

func TestRegistryForms(t *testing.T) {
	for _, text := range []string{
		`{"version": 1, "tools": {"a.b": {"expected_receipt_fields": ["result.x"], "other": 1}}}`,
		`{"tools": [{"name": "a.b", "expected_receipt_fields": ["result.x"]}]}`,
		`{"tools": [{"name": "a.b", "receipt_fields": ["result.x"]}]}`,
	} {
		r, err := ParseRegistry([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if f, ok := r.Fields("a.b"); !ok || len(f) != 1 || f[0] != "result.x" {
			t.Errorf("%s: %v", text, f)
		}
	}
	for _, text := range []string{``, `{}`, `{"tools": 1}`, `{"tools": [{}]}`, `{"tools": {"A": {}}}`, `{"tools": {"a.b": {"receipt_fields": [1]}}}`, `{"tools": [{"name": "a.b"}, {"name": "a.b"}]}`} {
		if _, err := ParseRegistry([]byte(text)); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestParseResult(t *testing.T) {
	for _, tt := range []struct{ text, want, err string }{
		{`{"status":"succeeded","result":{"id": 1.50},"effects":{}}`, `succeeded|{"id":1.50}|{}|`, ""},
		{`{"id": 7, "b": [true, null]}`, `|{"id":7,"b":[true,null]}||`, ""},
		{`{"route":"notion","type":"page","operation":"create","status":"success","external_id":"p-1","verifiable_url":null}`, `succeeded|||notion page create succeeded p-1`, ""},
		{`{"page": {"x":1}, "receipt":{"route":"slack","type":"message","operation":"send","status":"pending"}}`, `pending|||slack message send pending `, ""},
		{`{"status":"done"}`, "", "the status \"done\""},
		{`{"route":"x","operation":"y","status":"success","error":"no"}`, "", "has an error"},
		{`{"route":7}`, "", "the member route is number"},
		{`[1]`, "", "is array, not an object"},
		{`{`, "", "cannot be parsed"},
	} {
		r, err := ParseResult([]byte(tt.text))
		if err != nil || tt.err != "" {
			if err == nil || tt.err == "" || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %q", tt.text, err, tt.err)
			}
			continue
		}
		got := string(r.Status) + "|" + r.Result + "|" + r.Effects + "|"
		if h := r.Handle; h != nil {
			got += strings.Join([]string{h.Route.Text, h.Type.Text, h.Operation.Text, h.Status.Text, h.ExternalID.Text}, " ")
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.text, got, tt.want)
		}
	}
	r, err := ParseResult([]byte(`{"status":"not_configured","result":{"reason":"no key","next_steps":["add one"]}}`))
	if err != nil || r.Reason != "no key" || len(r.NextSteps) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if m := r.Missing([]string{"status", "result.reason", "result.id"}); len(m) != 1 || m[0] != "result.id" {
		t.Errorf("missing %v", m)
	}
	long, err := ParseResult([]byte(`{"route":"a","operation":"b","preview":"` + strings.Repeat("ü", 500) + `"}`))
	if err != nil || len([]rune(long.Handle.Preview.Text)) != 500 {
		t.Errorf("%v", err)
	}
}

func TestNo(t *testing.T) {
	for text, want := range map[string]receipts.Status{
		`{"status":"failed","receipt":5}`: receipts.StatusFailed, `{"status":"FAILED"}`: receipts.StatusFailed, `{"receipt":{"status":"not_configured"},"a":[]}`: receipts.NotConfigured,
		`{"status":5,"receipt":{"status":"failed"}}`: receipts.StatusFailed, `{"status":"succeeded"}`: "", `{"status":"done"}`: "", `{"result":{"status":"failed"}}`: "", `[]`: "", `{`: "",
	} {
		if got := No([]byte(text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func FuzzLint(f *testing.F) {
	f.Add(file(f, "valid.in.json"))
	f.Add(file(f, "invalid.in.json"))
	f.Add(input(`{"status":"not_configured","result":{}}`, `["a.b"]`))
	f.Add([]byte(`{"receipt":{"effects":{"db_writes":[1]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		out := answer(text, nil)
		if !json.Valid(out) || string(out) != string(answer(text, nil)) {
			t.Errorf("%q: %s", text, out)
		}
	})
}

func FuzzParseResult(f *testing.F) {
	f.Add([]byte(`{"status":"succeeded","result":{"id": 1.50},"effects":{}}`))
	f.Add([]byte(`{"receipt":{"route":"slack","operation":"send","status":"pending","preview":"x"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ParseResult(text)
		if err != nil {
			return
		}
		for _, s := range []string{r.Result, r.Effects} {
			if s != "" && !json.Valid([]byte(s)) {
				t.Errorf("%q has the result %q", text, s)
			}
		}
		r.Missing([]string{"status", "result.id"})
	})
}

func FuzzParseRegistry(f *testing.F) {
	f.Add([]byte(`{"tools": {"a.b": {"expected_receipt_fields": ["result.x"]}}}`))
	f.Add([]byte(`{"tools": [{"name": "a.b", "receipt_fields": ["result.x"]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) { _, _ = ParseRegistry(text) })
}

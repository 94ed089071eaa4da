package examples_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// TestDocuments holds what commands print as JSON to stdlib/docs/documents.schema.json, and finds members that the
// schema does not have.
func TestDocuments(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "stdlib", "docs", "documents.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := begin(t, "memo")
	seen := make(map[string]bool)
	for _, c := range []struct{ schema, command string }{
		{"plan", "dialect run --dry-run --json quality.dlct"},
		{"report", "dialect run --json quality.dlct"},
		{"verdict", "dialect verify --json"},
		{"verdict", "dialect verify --require quality --json"},
		{"report", "echo 'Gate against quality' | dialect run --json"},
		{"bundle", "dialect receipts export --bundle $(dialect verify --json | grep -o 'g-[0-9a-f]*' | head -1) | tee ~/bundle.json"},
		{"bundle-audit", "dialect receipts audit --bundle ~/bundle.json --json"},
		{"decision", "dialect consume $(dialect verify --json | grep -o 'g-[0-9a-f]*' | head -1) --json"},
		{"decision", "dialect consume $(dialect verify --json | grep -o 'g-[0-9a-f]*' | head -1) --require quality --json"},
		{"receipts", "dialect receipts list --json"},
		{"audit", "dialect receipts audit --json"},
		{"events", "sed -i s/signed/open/ memo.txt; dialect run --events ~/events quality.dlct >/dev/null 2>&1; cat ~/events"},
		{"report", "dialect run --json quality.dlct"},
		{"verdict", "dialect verify --json"},
		{"faults", "dialect fault"},
		{"report", "dialect report --json"},
		{"runs", "dialect runs --json"},
		{"report", "dialect run --json -e 'Chek with memo'"},
		{"check", "dialect check --json -e 'Chek with memo'"},
		{"gc", "dialect receipts gc --json"},
		{"doctor", "dialect doctor --json"},
		{"vocab", "dialect vocab --json"},
		{"words", "dialect vocab --words --json"},
		{"codes", "dialect explain --codes --json"},
		{"word", "dialect explain flaky --json"},
		{"keys", "dialect explain effect --json"},
		{"packs", "dialect packs --json"},
		{"hooks", "dialect hook log --json"},
		{"hook-status", "dialect hook status --json"},
		{"plan", "dialect explain 'Check with memo' --json"},
		{"prove", "dialect prove --json quality.dlct"},
		{"sessions", "dialect guard --allow-unguarded -- dialect guard status --json"},
		{"guard", "(dialect guard --allow-unguarded --json -- dialect run quality.dlct 2>&1 >/dev/null) | sed -n '/^{/,$p'"},
	} {
		schema := "dialect." + c.schema + "/1"
		seen[schema] = true
		resolved := strictSchema(t, text, schema)
		documents := json.NewDecoder(strings.NewReader(strings.Join(s.run(t, "exec 2>/dev/null\n"+c.command), "\n")))
		n := 0
		for ; documents.More(); n++ {
			var doc map[string]any
			if err := documents.Decode(&doc); err != nil {
				t.Fatalf("%s: %v", c.command, err)
			}
			if name, ok := doc["schema"]; ok && name != schema {
				t.Errorf("%s: the schema is %v, not %s", c.command, name, schema)
			}
			if c.schema == "events" {
				doc["schema"] = schema // only the first one names it
			}
			if err := resolved.Validate(doc); err != nil {
				t.Errorf("%s: %v", c.command, err)
			}
		}
		if n == 0 {
			t.Errorf("%s prints no document", c.command)
		}
	}
	var all struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for name := range all.Defs {
		if strings.HasPrefix(name, "dialect.") && !seen[name] && !elsewhere[name] {
			t.Errorf("no command here prints %s", name)
		}
	}
}

// elsewhere are the documents that need more than a project: an agent gets the first on its standard input, a server of Temporal gives the second.
var elsewhere = map[string]bool{"dialect.task/1": true, "dialect.remote-runs/1": true}

// strictSchema returns the schema of one document, in which an object has no members beside those that are listed.
func strictSchema(t *testing.T, text []byte, name string) *jsonschema.Resolved {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	for _, def := range root["$defs"].(map[string]any) {
		if def := def.(map[string]any); def["type"] == "object" {
			def["additionalProperties"] = false
		}
	}
	root["$ref"] = "#/$defs/" + strings.ReplaceAll(name, "/", "~1")
	delete(root, "$schema") // in draft 7 a reference hides what stands beside it
	strict, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(strict, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

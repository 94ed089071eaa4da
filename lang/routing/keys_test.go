package routing_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/edit"
	"github.com/command-dialect/dialect/lang/routing/reference"
)

// TestOneTable adds a key to the table of keys and finds it wherever a key is known.
func TestOneTable(t *testing.T) {
	const matrix = "[commands.a]\nverb = \"test\"\nnoun = \"a\"\ntool = \"go\"\n"
	look := func() (seen []string) {
		_, list := loadWith(t, matrix+"colour = \"red\"\n", nil)
		if len(list) == 0 {
			seen = append(seen, "decoding")
		}
		for word, where := range map[string]string{"coluor": "suggestion", "paint": "synonym"} {
			_, list = loadWith(t, matrix+word+" = \"red\"\n", nil)
			if len(list) == 1 && list[0].Code == diag.UnknownKey && strings.Contains(list[0].Hint, `"colour"`) {
				seen = append(seen, where)
			}
		}
		if keys := reference.Find("colour"); strings.Contains(reference.Explain(keys), "What it looks like.") {
			seen = append(seen, "explain")
		}
		if strings.Contains(string(reference.Page()), "### colour\n\nWhat it looks like.") {
			seen = append(seen, "page")
		}
		var schema struct {
			Properties struct {
				Commands struct {
					Tables struct {
						Properties map[string]struct{ Description string }
					} `json:"additionalProperties"`
				}
			}
		}
		if err := json.Unmarshal(reference.Schema(), &schema); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(schema.Properties.Commands.Tables.Properties["colour"].Description, "What it looks like.") {
			seen = append(seen, "schema")
		}
		text := []byte(matrix)
		if s, ok := edit.At(text, len(text)); ok && slices.ContainsFunc(edit.Complete(nil, text, s), func(i edit.Item) bool { return i.Label == "colour" }) {
			seen = append(seen, "completion")
		}
		text = append(text, "colour = \"red\"\n"...)
		if k, _, _, ok := edit.KeyAt(text, len(matrix)+2); ok && strings.Contains(reference.Markdown(k), "What it looks like.") {
			seen = append(seen, "hover")
		}
		slices.Sort(seen)
		return seen
	}
	if seen := look(); len(seen) > 0 {
		t.Fatalf("known before it is added: %v", seen)
	}
	got := ""
	remove := routing.AddKey(routing.Key{
		Name: "colour", In: routing.InCommand, Type: routing.Text, Doc: "What it looks like.", Example: `"red"`, Also: []string{"paint"},
	}, func(text string) { got = text })
	want := []string{"completion", "decoding", "explain", "hover", "page", "schema", "suggestion", "synonym"}
	if seen := look(); !slices.Equal(seen, want) || got != "red" {
		t.Errorf("a key of the table is seen in %v with the value %q, want %v", seen, got, want)
	}
	remove()
	if seen := look(); len(seen) > 0 {
		t.Fatalf("known after it is removed: %v", seen)
	}
}

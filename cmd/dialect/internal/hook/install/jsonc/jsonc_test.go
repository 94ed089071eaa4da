package jsonc

import (
	"strings"
	"testing"

	"github.com/tailscale/hujson"
)

// edit appends a member to the object that is the text, and an element to its array "list", and takes both out again.
func edit(text string) (with, without string, ok bool) {
	root, err := hujson.Parse([]byte(text))
	if err != nil {
		return "", "", false
	}
	top, ok := root.Value.(*hujson.Object)
	if !ok {
		return "", "", false
	}
	d := NewLayout([]byte(text))
	d.AppendMember(top, "new", []byte(`{"a":1}`), "")
	var list *hujson.Array
	if v := Member(top, "list"); v != nil {
		if list, ok = v.Value.(*hujson.Array); ok {
			d.AppendElement(list, []byte(`"x"`), d.Unit)
		}
	}
	with = string(root.Pack())
	if list != nil {
		DeleteElement(list, len(list.Elements)-1)
	}
	DeleteMember(top, len(top.Members)-1)
	return with, string(root.Pack()), true
}

func TestEdit(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                        `{"new":{"a":1}}`,
		`{"a":1}`:                   `{"a":1, "new": {"a":1}}`,
		`{"list":["y"]}`:            `{"list":["y", "x"], "new": {"a":1}}`,
		"{\n\t\"a\": 1 // one\n}\n": "{\n\t\"a\": 1, // one\n\t\"new\": {\n\t\t\"a\": 1\n\t}\n}\n",
		"{\r\n  \"list\": [\r\n    \"y\",\r\n  ],\r\n}\r\n": "{\r\n  \"list\": [\r\n    \"y\",\r\n    \"x\",\r\n  ],\r\n  \"new\": {\r\n    \"a\": 1\r\n  },\r\n}\r\n",
	} {
		if with, without, ok := edit(text); !ok || with != want {
			t.Errorf("%q:\n got %q, %q\nwant %q", text, with, without, want)
		}
	}
}

// FuzzEdit keeps what people wrote: what is added is JSON, and no comment goes with what is taken out.
func FuzzEdit(f *testing.F) {
	for _, s := range []string{"{}", `{"a":1}`, "{\n\t\"a\": 1 // one\n}\n", "{\r\n  \"list\": [ /* none */ ],\r\n}\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		with, without, ok := edit(text)
		if !ok {
			return
		}
		for _, out := range []string{with, without} {
			if _, err := hujson.Parse([]byte(out)); err != nil {
				t.Errorf("%q became %q: %v", text, out, err)
			}
			if strings.Count(out, "/*") < strings.Count(text, "/*") {
				t.Errorf("%q became %q", text, out)
			}
		}
	})
}

package reference_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/pelletier/go-toml/v2"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/reference"
	"github.com/command-dialect/dialect/stdlib"
)

var update = flag.Bool("update", false, "rewrite the reference page and the JSON Schema in stdlib/docs")

// TestDocs holds the published files to the table of keys.
func TestDocs(t *testing.T) {
	for name, want := range map[string][]byte{"routing.md": reference.Page(), "routing.schema.json": reference.Schema()} {
		path := filepath.Join("../../../stdlib/docs", name)
		if *update {
			if err := os.WriteFile(path, want, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the table of keys says: `make golden` writes it", path)
		}
	}
}

// TestExamples holds that each key is documented, and that its example is what it takes.
func TestExamples(t *testing.T) {
	for _, place := range routing.Places() {
		for _, k := range routing.KeysIn(place) {
			if !strings.HasSuffix(k.Doc, ".") {
				t.Errorf("%s.%s: the doc is %q", place.Path(), k.Name, k.Doc)
			}
			if k.Example == "" {
				if k.Sub == 0 {
					t.Errorf("%s.%s has no example", place.Path(), k.Name)
				}
				continue
			}
			text := "[" + strings.ReplaceAll(place.Path(), "NAME", "a") + "]\n"
			if place == routing.InFile {
				text = "\n"
			}
			text += k.Name + " = " + k.Example + "\n"
			for _, d := range load([]byte(text)) {
				switch {
				case d.Span.Start.Line != 2, d.Code == diag.UnknownMember: // of other keys that are not there
				case place == routing.InFile && k.Name == "extends" && d.Code == diag.MatrixMissing:
				case slices.Contains([]string{"arguments", "order", "expect", "setup", "locks", "keep"}, k.Name) || place == routing.InAliases: // need another key
				default:
					t.Errorf("%s: %s", strings.TrimSpace(text), d)
				}
			}
		}
	}
}

func load(text []byte) diag.List {
	_, list := routing.Load("/p/routing.toml", routing.FileName, routing.Options{ReadFile: func(path string) ([]byte, error) {
		if filepath.ToSlash(path) == "/p/routing.toml" {
			return text, nil
		}
		return nil, fs.ErrNotExist
	}})
	return list
}

// TestSchema holds the schema to the decoder: what loads without a finding is valid, and a key that is
// unknown or of the wrong type is not.
func TestSchema(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal(reference.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	schema, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	matrices := make(map[string][]byte)
	for _, pack := range stdlib.Packs() {
		matrices[pack], _ = stdlib.Pack(pack)
	}
	for _, name := range []string{"../testdata/seed.toml", "../../../routing.toml", "../../../examples/kilo/kilo.toml"} {
		if matrices[name], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	cases, err := filepath.Glob("../testdata/cases/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, name := range cases {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if filepath.Ext(f.Name) == ".toml" {
				matrices[name+":"+f.Name] = f.Data
			}
		}
	}
	var valid, invalid int
	for name, text := range matrices {
		var doc map[string]any
		if err := toml.Unmarshal(text, &doc); err != nil {
			continue
		}
		value, ok := plain(doc)
		if !ok {
			continue // a number that JSON has not
		}
		got := schema.Validate(value)
		clean, wrong := true, false
		for _, d := range load(text) {
			if d.File != routing.FileName {
				continue
			}
			clean = clean && d.Code == diag.UnknownMember
			wrong = wrong || d.Code == diag.UnknownKey || d.Code == diag.MatrixSyntax || d.Code == diag.MissingKey && strings.Contains(d.Message, "has no ")
		}
		switch {
		case clean && got != nil:
			t.Errorf("%s loads, and the schema says: %v", name, got)
		case wrong && got == nil:
			t.Errorf("%s has an unknown, missing or mistyped key, and the schema accepts it", name)
		case clean:
			valid++
		case wrong:
			invalid++
		}
	}
	if valid < 10 || invalid < 3 {
		t.Errorf("only %d valid and %d invalid matrices were tried", valid, invalid)
	}
}

// plain returns doc as JSON has it.
func plain(doc map[string]any) (out map[string]any, ok bool) {
	text, err := json.Marshal(doc)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err == nil
}

func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		"effect":                  "[commands.NAME]",
		"timeout":                 "[commands.NAME], [defaults]; [run]",
		"run.timeout":             "[run]",
		"defaults.timeout":        "[commands.NAME], [defaults]",
		"commands.NAME.timeout":   "[commands.NAME], [defaults]",
		"commands.test_go.effect": "[commands.NAME]",
		"expect.stdout":           "[commands.NAME.expect]",
		"[defaults]":              "routing.toml",
		"servers.x.env":           "[servers.NAME]",
		"run.effect":              "",
		"nothing":                 "",
		"":                        "",
		".":                       "",
	} {
		var got []string
		for _, k := range reference.Find(name) {
			got = append(got, reference.Where(k))
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("Find(%q): %q, want %q", name, got, want)
		}
	}
}

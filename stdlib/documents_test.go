package stdlib

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/json.md and docs/documents.schema.json anew")

// documents are the JSON documents that dialect prints, and the types that they are made of. A type that is not
// exported cannot be imported, but its fields are public all the same: they are read from the source.
var documents = []struct{ schema, from, command string }{
	{"dialect.report/1", "runtime/report.Document", "run --json, report --json"},
	{"dialect.events/1", "runtime/report.DocEvent", "run --events FILE (an object a line)"},
	{"dialect.plan/1", "runtime/report.PlanDocument", "run --dry-run --json, explain \"LINE\" --json"},
	{"dialect.faults/1", "runtime/report.Faults", "fault"},
	{"dialect.check/1", "runtime/report.CheckDocument", "check --json"},
	{"dialect.verdict/1", "cmd/dialect/internal/inquiry.Document", "verify --json"},
	{"dialect.prove/1", "runtime/prove.Document", "prove --json"},
	{"dialect.decision/1", "runtime/records.Decision", "consume --json, gate --json, receipts validate --json, receipts settle --json"},
	{"dialect.receipts/1", "runtime/records.List", "receipts list --json"},
	{"dialect.audit/1", "runtime/records.Audit", "receipts audit --json"},
	{"dialect.bundle/1", "receipts.Bundle", "receipts export --bundle"},
	{"dialect.bundle-audit/1", "runtime/records.BundleAudit", "receipts audit --bundle FILE --json"},
	{"dialect.gc/1", "runtime/archive.Collection", "receipts gc --json"},
	{"dialect.runs/1", "runtime/history.Report", "runs --json"},
	{"dialect.remote-runs/1", "cmd/dialect/internal/temporal.Listing", "runs list --engine temporal --json"},
	{"dialect.doctor/1", "cmd/dialect/internal/doctor.Report", "doctor --json"},
	{"dialect.guard/1", "cmd/dialect/internal/guard.Report", "guard --json, on standard error"},
	{"dialect.sessions/1", "cmd/dialect/internal/guard.Sessions", "guard status --json"},
	{"dialect.vocab/1", "cmd/dialect/internal/explain.Vocabulary", "vocab --json"},
	{"dialect.words/1", "cmd/dialect/internal/explain.Language", "vocab --words --json"},
	{"dialect.codes/1", "cmd/dialect/internal/explain.Codes", "explain --codes --json"},
	{"dialect.word/1", "cmd/dialect/internal/explain.Entry", "explain WORD --json"},
	{"dialect.keys/1", "cmd/dialect/internal/explain.Keys", "explain KEY --json"},
	{"dialect.hooks/1", "cmd/dialect/internal/hook.History", "hook log --json"},
	{"dialect.hook-status/1", "cmd/dialect/internal/hook/install.Report", "hook status --json"},
	{"dialect.packs/1", "cmd/dialect/internal/explain.Packs", "packs --json"},
	{"dialect.task/1", "lang/handoff.Packet", "(on the standard input of an agent that a subtask starts)"},
}

// internal are schemas of files that nobody else reads.
var internal = []string{
	"dialect.memory/3",
	"dialect.setup/1",                                                                              // beside what a setup of a clean checkout installed
	"dialect.run/1", "dialect.resolve/1", "dialect.attempt/1", "dialect.claim/1", "dialect.lock/1", // names of a workflow and its activities
}

// TestDocuments holds the topic `json` and the JSON Schema to the types.
func TestDocuments(t *testing.T) {
	g := generator{t: t, packages: make(map[string]*source), defs: map[string]any{}}
	files := map[string][]byte{"json.md": g.page(), "documents.schema.json": nil}
	schema, err := json.MarshalIndent(map[string]any{
		"$schema": "http://json-schema.org/draft-07/schema#", "title": "The JSON documents of dialect", "$defs": g.defs,
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	files["documents.schema.json"] = append(schema, '\n')
	for name, want := range files {
		name = filepath.Join("docs", name)
		if *update {
			if err := os.WriteFile(name, want, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the types say: `make golden` writes it (%v)", name, err)
		}
	}
}

// TestEveryDocument finds schemas in the source that documents does not have.
func TestEveryDocument(t *testing.T) {
	named := regexp.MustCompile(`"(dialect\.[a-z.-]+/[0-9]+)"`)
	found := make(map[string]bool)
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == "bin" || len(d.Name()) > 2 && d.Name()[0] == '.'):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(name)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = true
		}
		return err
	})
	if err != nil || len(found) < 15 {
		t.Fatalf("%v: %d schemas", err, len(found))
	}
	for schema := range found {
		known := slices.Contains(internal, schema)
		for _, d := range documents {
			known = known || d.schema == schema
		}
		if !known {
			t.Errorf("the document %s has no row in documents", schema)
		}
	}
	for _, d := range documents {
		if !found[d.schema] {
			t.Errorf("nothing writes the document %s", d.schema)
		}
	}
}

// A generator reads types from the source of this module.
type generator struct {
	t        *testing.T
	packages map[string]*source // by folder
	defs     map[string]any     // of the JSON Schema, by name
	order    []string           // names of structs, in the order in which they were met
	tables   map[string]string
}

// A source is a package that was parsed.
type source struct {
	dir     string
	types   map[string]*ast.TypeSpec
	docs    map[string]string            // of types
	imports map[string]map[string]string // by type, then by name: the folder
	text    map[string]bool              // types that marshal as text
}

func (g *generator) load(dir string) *source {
	if s := g.packages[dir]; s != nil {
		return s
	}
	s := &source{dir, make(map[string]*ast.TypeSpec), make(map[string]string), make(map[string]map[string]string), make(map[string]bool)}
	g.packages[dir] = s
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(dir), "*.go"))
	if err != nil || len(files) == 0 {
		g.t.Fatalf("%s: %v", dir, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			g.t.Fatal(err)
		}
		imports := make(map[string]string)
		for _, i := range f.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			imports[path.Base(p)] = strings.TrimPrefix(p, "github.com/command-dialect/dialect/")
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok {
						s.types[ts.Name.Name], s.imports[ts.Name.Name] = ts, imports
						doc := ts.Doc.Text()
						if doc == "" {
							doc = d.Doc.Text()
						}
						s.docs[ts.Name.Name] = strings.Join(strings.Fields(doc), " ")
					}
				}
			case *ast.FuncDecl:
				if d.Recv != nil && (d.Name.Name == "MarshalText" || d.Name.Name == "MarshalJSON") {
					recv := d.Recv.List[0].Type
					if star, ok := recv.(*ast.StarExpr); ok {
						recv = star.X
					}
					if id, ok := recv.(*ast.Ident); ok {
						s.text[id.Name] = true
					}
				}
			}
		}
	}
	return s
}

// of returns the JSON Schema of a type that stands in the declaration owner of s, and its name for the page.
func (g *generator) of(s *source, owner string, e ast.Expr) (schema map[string]any, name string) {
	switch e := e.(type) {
	case *ast.StarExpr:
		return g.of(s, owner, e.X)
	case *ast.ArrayType:
		items, name := g.of(s, owner, e.Elt)
		return map[string]any{"type": []string{"array", "null"}, "items": items}, "list of " + name
	case *ast.MapType:
		values, name := g.of(s, owner, e.Value)
		return map[string]any{"type": "object", "additionalProperties": values}, "object of " + name
	case *ast.InterfaceType:
		return map[string]any{}, "any"
	case *ast.SelectorExpr:
		pkg := e.X.(*ast.Ident).Name
		switch full := pkg + "." + e.Sel.Name; full {
		case "json.RawMessage":
			return map[string]any{}, "any"
		case "time.Time", "tlog.Hash":
			return map[string]any{"type": "string"}, "string"
		}
		return g.named(g.load(s.imports[owner][pkg]), e.Sel.Name)
	case *ast.Ident:
		switch e.Name {
		case "string":
			return map[string]any{"type": "string"}, "string"
		case "bool":
			return map[string]any{"type": "boolean"}, "boolean"
		case "int", "int64", "uint64":
			return map[string]any{"type": "integer"}, "integer"
		case "float64":
			return map[string]any{"type": "number"}, "number"
		case "any":
			return map[string]any{}, "any"
		}
		return g.named(s, e.Name)
	}
	g.t.Fatalf("%s.%s: a field of the type %T", s.dir, owner, e)
	return nil, ""
}

// named returns a reference to a struct, whose definition it makes, or the schema of another named type.
func (g *generator) named(s *source, name string) (map[string]any, string) {
	ts := s.types[name]
	if ts == nil {
		g.t.Fatalf("%s has no type %s", s.dir, name)
	}
	if s.text[name] {
		return map[string]any{"type": "string"}, "string"
	}
	st, ok := ts.Type.(*ast.StructType)
	if !ok {
		return g.of(s, name, ts.Type)
	}
	def := path.Base(s.dir) + "." + name
	ref := map[string]any{"$ref": "#/$defs/" + def}
	if _, done := g.defs[def]; done {
		return ref, "[" + def + "](#" + anchor(def) + ")"
	}
	g.defs[def] = nil // a type may hold itself
	g.order = append(g.order, def)
	properties, required := map[string]any{}, []string{}
	var rows strings.Builder
	g.fields(s, name, st, properties, &required, &rows)
	g.defs[def] = map[string]any{"type": "object", "description": s.docs[name], "properties": properties, "required": required}
	g.tables[def] = "| member | type | |\n|---|---|---|\n" + rows.String()
	if doc := s.docs[name]; doc != "" {
		g.tables[def] = doc + "\n\n" + g.tables[def]
	}
	return ref, "[" + def + "](#" + anchor(def) + ")"
}

// fields adds the fields of a struct, those of embedded ones among them.
func (g *generator) fields(s *source, owner string, st *ast.StructType, properties map[string]any, required *[]string, rows *strings.Builder) {
	for _, f := range st.Fields.List {
		if len(f.Names) == 0 { // embedded
			e := f.Type
			if star, ok := e.(*ast.StarExpr); ok {
				e = star.X
			}
			from, name := s, ""
			switch e := e.(type) {
			case *ast.Ident:
				name = e.Name
			case *ast.SelectorExpr:
				from, name = g.load(s.imports[owner][e.X.(*ast.Ident).Name]), e.Sel.Name
			}
			g.fields(from, name, from.types[name].Type.(*ast.StructType), properties, required, rows)
			continue
		}
		if f.Tag == nil || !f.Names[0].IsExported() {
			continue
		}
		tag, _ := strconv.Unquote(f.Tag.Value)
		member, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if member == "-" || member == "" {
			continue
		}
		schema, name := g.of(s, owner, f.Type)
		about := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
		if about != "" {
			if ref := schema["$ref"]; ref != nil { // draft 7 ignores what stands beside a reference
				schema = map[string]any{"allOf": []any{schema}}
			}
			schema["description"] = about
		}
		if _, pointer := f.Type.(*ast.StarExpr); pointer && !strings.Contains(options, "omitempty") && schema["type"] != nil {
			schema["type"] = []string{fmt.Sprint(schema["type"]), "null"}
		}
		properties[member] = schema
		if strings.Contains(options, "omitempty") {
			name += ", optional"
		} else {
			*required = append(*required, member)
		}
		fmt.Fprintf(rows, "| `%s` | %s | %s |\n", member, name, strings.ReplaceAll(about, "|", `\|`))
	}
}

// anchor is the name that GitHub gives to a heading.
func anchor(heading string) string {
	return regexp.MustCompile(`[^a-z0-9_-]`).ReplaceAllString(strings.ToLower(heading), "")
}

// page returns the topic `json`, and fills the definitions.
func (g *generator) page() []byte {
	g.tables = make(map[string]string)
	var b, list strings.Builder
	for _, d := range documents {
		i := strings.LastIndexByte(d.from, '.')
		s, name := g.load(d.from[:i]), d.from[i+1:]
		ref, link := g.named(s, name)
		g.defs[d.schema] = map[string]any{"allOf": []any{ref}, "properties": map[string]any{"schema": map[string]any{"const": d.schema}}}
		fmt.Fprintf(&list, "| `%s` | %s | %s |\n", d.schema, link, d.command)
	}
	b.WriteString("<!-- Made of the types of the documents by `make golden`. -->\n\n# JSON documents\n\n" +
		"Each document names its schema and the version of it. Members may be added to a version; a change of meaning gets a new\n" +
		"number. Optional members are left out where there is nothing to say. Times are RFC 3339 in UTC, durations are seconds,\n" +
		"digests are hexadecimal. [documents.schema.json](documents.schema.json) has all of them as JSON Schema.\n\n" +
		"| schema | type | command |\n|---|---|---|\n" + list.String())
	for _, name := range g.order {
		fmt.Fprintf(&b, "\n## %s\n\n%s", name, g.tables[name])
	}
	return []byte(b.String())
}

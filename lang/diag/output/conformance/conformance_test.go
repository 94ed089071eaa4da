// Package conformance holds what dialect writes for other programs against definitions that are
// not ours: SARIF against the schema of OASIS, and what editors get against the types of a
// library for the Language Server Protocol. It is a module of its own, so that neither weighs
// on who builds dialect.
package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

var program string // the built dialect

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "dialect-conformance-")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "dialect")
	build := exec.Command("go", "build", "-C", "../../../..", "-o", program, "./cmd/dialect")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		os.Stderr.WriteString("cannot build dialect: " + err.Error() + "\n")
		os.Exit(1)
	}
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

// check runs dialect on the example that has every fault.
func check(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, append([]string{"check"}, args...)...)
	cmd.Dir = "../../../../examples/faulty"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 1 {
		t.Fatalf("%v: %s", err, &stderr)
	}
	return out
}

// schema is the official schema of SARIF 2.1.0, which the module of gosec carries.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/securego/gosec/v2").Output()
	if err != nil || len(bytes.TrimSpace(dir)) == 0 {
		t.Fatalf("the schema is not there: %v; `go mod download github.com/securego/gosec/v2` brings it", err)
	}
	file := filepath.Join(strings.TrimSpace(string(dir)), "report", "sarif", "testdata", "sarif-schema-2.1.0.json")
	s, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSARIF(t *testing.T) {
	s := schema(t)
	out := check(t, "--format", "sarif", "faulty.dlct")
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(doc); err != nil {
		t.Errorf("not SARIF 2.1.0: %v", err)
	}
	var log struct {
		Runs []struct {
			Results []struct{ Fixes []any }
		}
	}
	if err := json.Unmarshal(out, &log); err != nil {
		t.Fatal(err)
	}
	fixes := 0
	for _, r := range log.Runs[0].Results {
		fixes += len(r.Fixes)
	}
	if len(log.Runs[0].Results) < 20 || fixes < 10 {
		t.Errorf("%d results, %d fixes: too few to show anything", len(log.Runs[0].Results), fixes)
	}
	// The schema is able to say no.
	broken := bytes.Replace(out, []byte(`"startLine": `), []byte(`"startLine": -`), 1)
	if doc, err = jsonschema.UnmarshalJSON(bytes.NewReader(broken)); err != nil {
		t.Fatal(err)
	}
	if s.Validate(doc) == nil {
		t.Error("a negative line is valid, says the schema")
	}
}

// strict decodes data into v, and fails on a field that the library does not know, and on one
// whose value does not come back.
func strict(t *testing.T, data []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%T: %v in %s", v, err, data)
	}
	again, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if json.Unmarshal(data, &want) != nil || json.Unmarshal(again, &got) != nil {
		t.Fatal("not JSON")
	}
	if missing := within(want, got, ""); missing != "" {
		t.Errorf("%T: %s\n%s\n%s", v, missing, data, again)
	}
}

// within says what of want is not in got; got may have more, for fields that the library never
// leaves out.
func within(want, got any, path string) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return path + " is not an object"
		}
		for k, v := range w {
			if _, ok := g[k]; !ok && !isZero(v) {
				return path + "." + k + " is lost"
			}
			if _, ok := g[k]; !ok {
				continue
			}
			if m := within(v, g[k], path+"."+k); m != "" {
				return m
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return path + " is another array"
		}
		for i := range w {
			if m := within(w[i], g[i], fmt.Sprintf("%s[%d]", path, i)); m != "" {
				return m
			}
		}
	default:
		if !reflect.DeepEqual(want, got) {
			return fmt.Sprintf("%s is %v, and was %v", path, got, want)
		}
	}
	return ""
}

func isZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case float64:
		return v == 0
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	}
	return false
}

func TestLSPLite(t *testing.T) {
	lines := bytes.Split(bytes.TrimSpace(check(t, "--lsp-lite", "faulty.dlct")), []byte("\n"))
	if len(lines) != 1 {
		t.Fatalf("%d lines for one file", len(lines))
	}
	var p protocol.PublishDiagnosticsParams
	strict(t, lines[0], &p)
	if len(p.Diagnostics) < 20 || !strings.HasSuffix(p.URI.Filename(), "faulty.dlct") {
		t.Errorf("%d diagnostics of %s", len(p.Diagnostics), p.URI)
	}
	for _, d := range p.Diagnostics {
		if d.Severity < protocol.DiagnosticSeverityError || d.Severity > protocol.DiagnosticSeverityHint || d.Code == nil || d.Source != "dialect" {
			t.Errorf("%+v", d)
		}
	}
}

// A session of "dialect lsp", written by hand and read by the library.
func TestServer(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"routing.toml":                    "[commands.test_go]\nverb = \"test\"\nnoun = \"go\"\nskill = \"testing\"\ntool = \"go test {args...}\"\n[commands.old]\nverb = \"close\"\nnoun = \"issue\"\ntool = \"go version\"\ndeprecated = true\n",
		".agents/skills/testing/SKILL.md": "---\nname: testing\n---\nTest first.\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "lsp")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &wire{t: t, in: in, out: bufio.NewReader(out)}

	root := uri.File(dir)
	doc := protocol.TextDocumentIdentifier{URI: uri.File(filepath.Join(dir, "a.dlct"))}
	at := func(line, character uint32) protocol.TextDocumentPositionParams {
		return protocol.TextDocumentPositionParams{TextDocument: doc, Position: protocol.Position{Line: line, Character: character}}
	}
	init := protocol.InitializeParams{RootURI: root, Capabilities: protocol.ClientCapabilities{TextDocument: &protocol.TextDocumentClientCapabilities{
		Definition:     &protocol.DefinitionTextDocumentClientCapabilities{LinkSupport: true},
		DocumentSymbol: &protocol.DocumentSymbolClientCapabilities{HierarchicalDocumentSymbolSupport: true},
		Completion:     &protocol.CompletionTextDocumentClientCapabilities{CompletionItem: &protocol.CompletionTextDocumentClientCapabilitiesItem{SnippetSupport: true}},
	}}}
	var server struct {
		Capabilities map[string]json.RawMessage
		ServerInfo   protocol.ServerInfo
	}
	if err := json.Unmarshal(c.call("initialize", init), &server); err != nil || server.ServerInfo.Name != "dialect" {
		t.Fatalf("%v %+v", err, server)
	}
	// What came with 3.17 the library, which is of 3.16, cannot know.
	delete(server.Capabilities, "diagnosticProvider")
	known, err := json.Marshal(server.Capabilities)
	if err != nil {
		t.Fatal(err)
	}
	strict(t, known, new(protocol.ServerCapabilities))
	c.notify("initialized", protocol.InitializedParams{})
	c.notify("textDocument/didOpen", protocol.DidOpenTextDocumentParams{TextDocument: protocol.TextDocumentItem{
		URI: doc.URI, LanguageID: "dialect", Version: 1, Text: "- Test with go ./...\nClose with issue\nTets with go # why\nGate against results\n",
	}})
	var published protocol.PublishDiagnosticsParams
	strict(t, c.wait("textDocument/publishDiagnostics"), &published)
	if len(published.Diagnostics) != 3 || published.Diagnostics[1].Tags[0] != protocol.DiagnosticTagDeprecated {
		t.Errorf("%+v", published)
	}

	strict(t, c.call("textDocument/hover", protocol.HoverParams{TextDocumentPositionParams: at(0, 3)}), new(protocol.Hover))
	var list protocol.CompletionList
	strict(t, c.call("textDocument/completion", protocol.CompletionParams{TextDocumentPositionParams: at(1, 6)}), &list)
	if len(list.Items) == 0 {
		t.Error("no completion")
	}
	var links []protocol.LocationLink
	strict(t, c.call("textDocument/definition", protocol.DefinitionParams{TextDocumentPositionParams: at(0, 3)}), &links)
	if len(links) != 2 {
		t.Errorf("definition: %+v", links)
	}
	var places []protocol.Location
	strict(t, c.call("textDocument/references", protocol.ReferenceParams{TextDocumentPositionParams: at(0, 3), Context: protocol.ReferenceContext{IncludeDeclaration: true}}), &places)
	var prepared struct {
		Range       protocol.Range `json:"range"`
		Placeholder string         `json:"placeholder"`
	}
	strict(t, c.call("textDocument/prepareRename", protocol.PrepareRenameParams{TextDocumentPositionParams: at(0, 3)}), &prepared)
	var edit protocol.WorkspaceEdit
	strict(t, c.call("textDocument/rename", protocol.RenameParams{TextDocumentPositionParams: at(0, 3), NewName: "verify"}), &edit)
	if len(edit.Changes) != 2 {
		t.Errorf("rename: %+v", edit)
	}
	var actions []protocol.CodeAction
	strict(t, c.call("textDocument/codeAction", protocol.CodeActionParams{TextDocument: doc, Range: protocol.Range{End: protocol.Position{Line: 3}}, Context: protocol.CodeActionContext{Diagnostics: []protocol.Diagnostic{}}}), &actions)
	if len(actions) < 4 {
		t.Errorf("actions: %+v", actions)
	}
	var symbols []protocol.DocumentSymbol
	strict(t, c.call("textDocument/documentSymbol", protocol.DocumentSymbolParams{TextDocument: doc}), &symbols)
	var folds []protocol.FoldingRange
	strict(t, c.call("textDocument/foldingRange", protocol.FoldingRangeParams{TextDocumentPositionParams: at(0, 0)}), &folds)
	if len(symbols) != 1 || len(folds) != 1 {
		t.Errorf("symbols %+v, folds %+v", symbols, folds)
	}
	var tokens protocol.SemanticTokens
	strict(t, c.call("textDocument/semanticTokens/full", protocol.SemanticTokensParams{TextDocument: doc}), &tokens)
	if len(tokens.Data) == 0 || len(tokens.Data)%5 != 0 {
		t.Errorf("tokens: %+v", tokens)
	}
	var edits []protocol.TextEdit
	strict(t, c.call("textDocument/formatting", protocol.DocumentFormattingParams{TextDocument: doc}), &edits)
	if len(edits) != 1 {
		t.Errorf("formatting: %+v", edits)
	}
	c.call("shutdown", nil)
	c.notify("exit", nil)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A wire speaks to a server by the base protocol.
type wire struct {
	t     *testing.T
	in    io.Writer
	out   *bufio.Reader
	id    int
	notes []message
}

type message struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (w *wire) send(m map[string]any) {
	w.t.Helper()
	m["jsonrpc"] = "2.0"
	data, err := json.Marshal(m)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(w.in, "Content-Length: %d\r\n\r\n%s", len(data), data); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) receive() (m message) {
	w.t.Helper()
	length := 0
	for {
		line, err := w.out.ReadString('\n')
		if err != nil {
			w.t.Fatal(err)
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		_, _ = fmt.Sscanf(line, "Content-Length: %d", &length)
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(w.out, data); err != nil {
		w.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *wire) notify(method string, params any) {
	w.t.Helper()
	m := map[string]any{"method": method}
	if params != nil {
		m["params"] = params
	}
	w.send(m)
}

func (w *wire) call(method string, params any) json.RawMessage {
	w.t.Helper()
	w.id++
	m := map[string]any{"id": w.id, "method": method}
	if params != nil {
		m["params"] = params
	}
	w.send(m)
	for {
		m := w.receive()
		if m.ID == nil {
			w.notes = append(w.notes, m)
			continue
		}
		if *m.ID != w.id || m.Method != "" {
			w.t.Fatalf("%s: another message: %+v", method, m)
		}
		if m.Error != nil {
			w.t.Fatalf("%s: %s", method, m.Error)
		}
		return m.Result
	}
}

// wait returns the parameters of the next notification of a method.
func (w *wire) wait(method string) json.RawMessage {
	w.t.Helper()
	for {
		if len(w.notes) == 0 {
			w.notes = append(w.notes, w.receive())
		}
		m := w.notes[0]
		w.notes = w.notes[1:]
		if m.Method == method {
			return m.Params
		}
	}
}

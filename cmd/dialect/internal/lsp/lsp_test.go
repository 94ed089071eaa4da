package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/command-dialect/dialect/cmd/dialect/internal/lsp/protocol"
	"github.com/command-dialect/dialect/lang/plan"
)

// Packs are laid down where caches are: not in those of the user who runs the tests.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "dialect-lsp-")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		os.Setenv(name, dir)
	}
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

const testMatrix = `# the matrix
[commands.test_go]
verb = "test"
noun = "go"
skill = "testing"
tool = "go test {args...}"
receipt_required = true

[commands.close_issue]
verb = "close"
noun = "issue"
tool = "tracker close {id} {reason}"
prepositions = ["with"]

[commands.move_issue]
verb = "move"
noun = "issue"
tool = "tracker move {object} {column}"

[commands.all]
verb = "check"
noun = "quality"
composite = ["test_go", "close_issue"]
order = "sequence"

[vars]
owner = "me"
`

// A client is an editor, as far as the server can tell.
type client struct {
	t    *testing.T
	conn *jsonrpc2.Conn
	done chan error
	root string

	mu        sync.Mutex
	changed   *sync.Cond
	published map[string]protocol.PublishParams
	count     int
	refreshed int
	logged    lockedBuffer
}

func (c *client) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch req.Method {
	case "textDocument/publishDiagnostics":
		var p protocol.PublishParams
		if err := json.Unmarshal(*req.Params, &p); err != nil {
			c.t.Error(err)
		}
		c.published[p.URI] = p
		c.count++
	case "workspace/diagnostic/refresh":
		c.refreshed++
	}
	c.changed.Broadcast()
	if !req.Notif {
		_ = conn.Reply(ctx, req.ID, nil)
	}
}

// newClient starts a server in a new folder that holds files, and says initialize.
func newClient(t *testing.T, files map[string]string, capabilities string, o Options) *client {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		write(t, filepath.Join(root, name), text)
	}
	c := &client{t: t, root: root, done: make(chan error, 1), published: make(map[string]protocol.PublishParams)}
	c.changed = sync.NewCond(&c.mu)
	ours, theirs := net.Pipe()
	if o.Poll == 0 {
		o.Poll = 10 * time.Millisecond
	}
	o.Version, o.Log = "v0", &c.logged
	go func() { c.done <- Serve(context.Background(), theirs, theirs, o) }()
	c.conn = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewBufferedStream(ours, jsonrpc2.VSCodeObjectCodec{}), c)
	t.Cleanup(func() {
		_ = c.conn.Close()
		<-c.done
		if text := c.logged.String(); strings.Contains(text, "internal error") {
			t.Errorf("the server said: %s", text)
		}
	})
	if capabilities == "" {
		capabilities = "{}"
	}
	var r protocol.InitializeResult
	c.call("initialize", map[string]any{"rootUri": fileURI(root), "capabilities": json.RawMessage(capabilities)}, &r)
	if r.ServerInfo.Name != "dialect" {
		t.Fatalf("initialize: %+v", r)
	}
	c.notify("initialized", struct{}{})
	return c
}

// A lockedBuffer is written by anyone who has something to log, also when a session is over.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (c *client) uri(name string) string { return fileURI(filepath.Join(c.root, name)) }

func (c *client) call(method string, params, result any) {
	c.t.Helper()
	if err := c.try(method, params, result); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
}

func (c *client) try(method string, params, result any) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return c.conn.Call(ctx, method, params, result)
}

func (c *client) notify(method string, params any) {
	c.t.Helper()
	if err := c.conn.Notify(context.Background(), method, params); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) open(name, text string) {
	c.t.Helper()
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": c.uri(name), "languageId": "dialect", "version": 1, "text": text,
	}})
}

func (c *client) edit(name string, changes ...protocol.ContentChange) {
	c.t.Helper()
	c.notify("textDocument/didChange", protocol.DidChangeParams{TextDocument: protocol.TextDocument{URI: c.uri(name), Version: 2}, ContentChanges: changes})
}

// codes waits until the findings of a file are those, each as "line:code".
func (c *client) codes(name string, want ...string) {
	c.t.Helper()
	var got []string
	ok := c.wait(func() bool {
		p, ok := c.published[c.uri(name)]
		got = nil
		for _, d := range p.Diagnostics {
			got = append(got, fmt.Sprintf("%d:%s", d.Range.Start.Line, d.Code))
		}
		return ok && slices.Equal(got, want)
	})
	if !ok {
		c.t.Fatalf("%s: findings %q, want %q", name, got, want)
	}
}

// wait waits, with mu held while it asks, until something is so.
func (c *client) wait(is func() bool) bool {
	timer := time.AfterFunc(time.Minute, func() { c.mu.Lock(); c.changed.Broadcast(); c.mu.Unlock() })
	defer timer.Stop()
	deadline := time.Now().Add(time.Minute)
	c.mu.Lock()
	defer c.mu.Unlock()
	for !is() {
		if !time.Now().Before(deadline) {
			return false
		}
		c.changed.Wait()
	}
	return true
}

func at(c *client, name string, line, character int) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}, "position": protocol.Pos(line, character)}
}

func TestDiagnosticsFollowEdits(t *testing.T) {
	c := newClient(t, map[string]string{"routing.toml": testMatrix}, "", Options{})
	c.open("a.dlct", "Test with go\nTets with go\n😀 x\nMove é😀 to issue\n")
	c.codes("a.dlct", "1:unbound-verb", "2:bad-verb", "3:missing-argument")
	c.edit("a.dlct", protocol.ContentChange{Range: new(protocol.Between(protocol.Pos(1, 0), protocol.Pos(1, 4))), Text: "Test"})
	c.codes("a.dlct", "2:bad-verb", "3:missing-argument")
	// Lines come in above: what stands below moves.
	c.edit("a.dlct", protocol.ContentChange{Range: new(protocol.Between(protocol.Pos(0, 0), protocol.Pos(0, 0))), Text: "\n\n- "})
	c.codes("a.dlct", "2:list-marker", "4:bad-verb", "5:missing-argument")
	// UTF-16: the emoji is two units.
	c.edit("a.dlct", protocol.ContentChange{Range: new(protocol.Between(protocol.Pos(5, 8), protocol.Pos(5, 8))), Text: "!"}, protocol.ContentChange{Range: new(protocol.Between(protocol.Pos(5, 18), protocol.Pos(5, 18))), Text: " todo"})
	c.codes("a.dlct", "2:list-marker", "4:bad-verb")
	c.edit("a.dlct", protocol.ContentChange{Range: nil, Text: ""})
	c.codes("a.dlct", "0:empty-script")
	c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": c.uri("a.dlct")}})
	c.codes("a.dlct")
}

func TestMatrixChanges(t *testing.T) {
	c := newClient(t, map[string]string{"sub/x": ""}, "", Options{})
	c.open("sub/a.dlct", "Test with go\nPaint wall\n")
	c.codes("sub/a.dlct", "0:matrix-missing")
	// It appears on disk, and nobody says so.
	write(t, filepath.Join(c.root, "routing.toml"), testMatrix)
	c.codes("sub/a.dlct", "1:unbound-verb", "1:unbound-noun")
	write(t, filepath.Join(c.root, "routing.toml"), testMatrix+"[commands.paint]\nverb=\"paint\"\nnoun=\"wall\"\ntool=\"go version\"\n")
	c.codes("sub/a.dlct")
	// It breaks, on disk: both report it.
	write(t, filepath.Join(c.root, "routing.toml"), "[commands\n")
	c.codes("sub/a.dlct", "0:matrix-syntax")
	c.codes("routing.toml", "0:matrix-syntax")
	// The editor opens it and fixes it in its buffer.
	c.open("routing.toml", testMatrix)
	c.codes("sub/a.dlct", "1:unbound-verb", "1:unbound-noun")
	c.edit("routing.toml", protocol.ContentChange{Range: new(protocol.Between(protocol.Pos(0, 0), protocol.Pos(0, 0))), Text: "[commands.p]\nverb=\"paint\"\nnoun=\"wall\"\ntool=\"go version\"\nfoo = 1\n"})
	c.codes("sub/a.dlct")
	c.codes("routing.toml", "4:unknown-key", "9:missing-skill", "16:missing-tool")
}

// TestSecrets: neither a hover nor a completion shows a value that is a secret.
func TestSecrets(t *testing.T) {
	const secret = "zz7Secret-of-vars"
	c := newClient(t, map[string]string{"routing.toml": "[vars]\nmy_token = \"" + secret + "\"\nplain = \"seen-value\"\n[commands.check_door]\nverb = \"check\"\nnoun = \"door\"\ntool = \"sh door.sh {code} {what}\"\nsecrets = [\"code\"]\n"}, "", Options{})
	c.open("a.dlct", "Check with door code={my_token} what={plain}\nCheck with door code={ what=x\n")
	var h protocol.Hover
	c.call("textDocument/hover", at(c, "a.dlct", 0, 12), &h)
	if text := h.Contents.Value; strings.Contains(text, "zz7Secret") || !strings.Contains(text, "redacted") || !strings.Contains(text, "seen-value") {
		t.Errorf("hover: %s", text)
	}
	var list protocol.CompletionList
	c.call("textDocument/completion", at(c, "a.dlct", 1, 22), &list)
	text := fmt.Sprintf("%+v", list)
	if strings.Contains(text, secret) || !strings.Contains(text, "my_token") || !strings.Contains(text, "seen-value") {
		t.Errorf("completion: %s", text)
	}
}

func TestFeatures(t *testing.T) {
	var mu sync.Mutex
	asked := ""
	c := newClient(t, map[string]string{
		"routing.toml": testMatrix, "b.dlct": "Test with go\nCheck quality x y\n",
		".claude/skills/testing/SKILL.md": "---\nname: testing\n---\n# How to test\nWrite the test first.\n",
	}, `{"textDocument":{"definition":{"linkSupport":true},"documentSymbol":{"hierarchicalDocumentSymbolSupport":true},"completion":{"completionItem":{"snippetSupport":true}}}}`,
		Options{Receipt: func(_ context.Context, s *plan.Step, m *plan.Matrix) string {
			mu.Lock()
			defer mu.Unlock()
			asked = s.Binding + " " + filepath.Base(m.Root)
			return "succeeded on the present files"
		}})
	text := "# Quality first\nTest with go ./... # all\nClose issue BD-12 reason=\"{owner} did\"\nGate against results\n\nTest with go\n"
	c.open("a.dlct", text)
	c.codes("a.dlct")

	var h protocol.Hover
	c.call("textDocument/hover", at(c, "a.dlct", 1, 10), &h)
	for _, want := range []string{"**test go**", "go test ./...", "required by the gate", "timeout 10m", "Write the test first.", "receipts: succeeded on the present files"} {
		if !strings.Contains(h.Contents.Value, want) {
			t.Errorf("hover: no %q in %s", want, h.Contents.Value)
		}
	}
	mu.Lock()
	if asked != "test_go "+filepath.Base(c.root) {
		t.Errorf("the store was asked about %q", asked)
	}
	mu.Unlock()
	c.call("textDocument/hover", at(c, "a.dlct", 1, 6), &h)
	if !strings.HasPrefix(h.Contents.Value, "**with**: ") {
		t.Errorf("hover over a preposition: %q", h.Contents.Value)
	}
	var nothing json.RawMessage
	c.call("textDocument/hover", at(c, "a.dlct", 0, 3), &nothing)
	if string(nothing) != "null" {
		t.Errorf("hover over a comment: %s", nothing)
	}

	var links []protocol.LocationLink
	c.call("textDocument/definition", at(c, "a.dlct", 1, 1), &links)
	if len(links) != 2 || links[0].TargetURI != c.uri("routing.toml") || links[0].TargetSelectionRange != (protocol.Between(protocol.Pos(1, 10), protocol.Pos(1, 17))) ||
		links[0].TargetRange.End != (protocol.Pos(6, 23)) || links[1].TargetURI != c.uri(".claude/skills/testing/SKILL.md") {
		t.Errorf("definition: %+v", links)
	}
	c.call("textDocument/definition", at(c, "a.dlct", 3, 1), &links)
	if len(links) != 1 || !strings.HasSuffix(links[0].TargetURI, "/core.toml") {
		t.Errorf("definition in a pack: %+v", links)
	} else if text, err := os.ReadFile(filePath(links[0].TargetURI)); err != nil || !strings.Contains(string(text), "results") {
		t.Errorf("the pack: %v %s", err, text)
	}

	var places []protocol.Location
	c.call("textDocument/references", map[string]any{"textDocument": map[string]any{"uri": c.uri("a.dlct")}, "position": protocol.Pos(1, 1), "context": map[string]any{"includeDeclaration": true}}, &places)
	var got []string
	for _, p := range places {
		got = append(got, fmt.Sprintf("%s:%d:%d", filepath.Base(p.URI), p.Range.Start.Line, p.Range.Start.Character))
	}
	if want := "routing.toml:1:10 a.dlct:1:0 a.dlct:5:0 b.dlct:0:0 routing.toml:22:14"; strings.Join(got, " ") != want {
		t.Errorf("references: %s, want %s", got, want)
	}

	var symbols []protocol.DocumentSymbol
	c.call("textDocument/documentSymbol", at(c, "a.dlct", 0, 0), &symbols)
	if len(symbols) != 2 || symbols[0].Name != "Quality first" || len(symbols[0].Children) != 3 || symbols[1].Name != "after the last gate" ||
		symbols[0].Children[0].Name != "Test with go ./..." || symbols[0].Children[0].Detail != "go test {args...}" || symbols[0].Range != (protocol.Between(protocol.Pos(0, 0), protocol.Pos(3, 20))) {
		t.Errorf("symbols: %+v", symbols)
	}
	var folds []protocol.FoldingRange
	c.call("textDocument/foldingRange", at(c, "a.dlct", 0, 0), &folds)
	if !slices.Equal(folds, []protocol.FoldingRange{{StartLine: 0, EndLine: 3, Kind: "region"}}) {
		t.Errorf("folding: %+v", folds)
	}
	var tokens protocol.SemanticTokens
	c.call("textDocument/semanticTokens/full", at(c, "a.dlct", 0, 0), &tokens)
	if got := decode(text, tokens.Data); got != `comment "# Quality first"; function "Test"; keyword "with"; class "go"; string "./..."; comment "# all"; `+
		`function "Close"; class "issue"; string "BD-12"; property "reason="; string "\""; variable "{owner}"; string " did\""; `+
		`function "Gate"; keyword "against"; class "results"; function "Test"; keyword "with"; class "go"` {
		t.Errorf("tokens: %s", got)
	}
	c.call("textDocument/semanticTokens/range", map[string]any{"textDocument": map[string]any{"uri": c.uri("a.dlct")}, "range": protocol.Between(protocol.Pos(3, 0), protocol.Pos(3, 4))}, &tokens)
	if got := decode(text, tokens.Data); got != `function "Gate"; keyword "against"; class "results"` {
		t.Errorf("tokens of a range: %s", got)
	}
	var edits []protocol.TextEdit
	c.open("f.dlct", "Test with go\n- test  WITH go.\nTest with go\n")
	c.call("textDocument/formatting", at(c, "f.dlct", 0, 0), &edits)
	if !slices.Equal(edits, []protocol.TextEdit{{Range: protocol.Between(protocol.Pos(1, 0), protocol.Pos(2, 0)), NewText: "Test with go\n"}}) {
		t.Errorf("formatting: %+v", edits)
	}
}

// decode renders semantic tokens of an ASCII text.
func decode(text string, data []uint32) string {
	lines := strings.Split(text, "\n")
	var out []string
	line, column := uint32(0), uint32(0)
	for i := 0; i+4 < len(data); i += 5 {
		if data[i] > 0 {
			column = 0
		}
		line += data[i]
		column += data[i+1]
		out = append(out, fmt.Sprintf("%s %q", tokenTypes[data[i+3]], lines[line][column:column+data[i+2]]))
	}
	return strings.Join(out, "; ")
}

func TestCompletion(t *testing.T) {
	c := newClient(t, map[string]string{"routing.toml": testMatrix}, "", Options{})
	for _, tt := range []struct {
		text string
		want string // labels, in order, of which the first are enough
	}{
		{"", "Check Close Gate Move Test Validate"},
		{"- Te", "Check Close Gate Move Test Validate"},
		{"Close ", "with issue"},
		{"Close w", "with issue"},
		{"Move BD-1 ", "across after"},
		{"Move BD-1 to ", "issue"},
		{"Move BD-1 to issue ", "column="},
		{"Close issue ", "id= reason= with"},
		{"Close with issue ", "id= reason="},
		{"Close with issue id=1 ", "reason="},
		{"Close issue {o", "owner"},
		{`Close issue "{`, "owner"},
		{`Close issue "a `, ""},
		{"Paint ", ""},
		{"# some words ", ""},
		{"Test with go # dialect: ignore fu", "too-many-findings not-utf8"},
	} {
		c.open("a.dlct", tt.text)
		var list protocol.CompletionList
		c.call("textDocument/completion", at(c, "a.dlct", 0, len(tt.text)), &list)
		var labels []string
		for _, i := range list.Items {
			labels = append(labels, i.Label)
		}
		got := strings.Join(labels, " ")
		if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%q: %s, want %s", tt.text, got, tt.want)
		}
	}
	c.open("a.dlct", "Test with go\nTes")
	var list protocol.CompletionList
	c.call("textDocument/completion", at(c, "a.dlct", 1, 3), &list)
	i := slices.IndexFunc(list.Items, func(i protocol.CompletionItem) bool { return i.Label == "Test" })
	if i < 0 || *list.Items[i].TextEdit != (protocol.TextEdit{Range: protocol.Between(protocol.Pos(1, 0), protocol.Pos(1, 3)), NewText: "Test"}) {
		t.Errorf("the edit of a completion: %+v", list.Items)
	}
	// After the last line end there is a line, too.
	c.open("a.dlct", "Test with go\n")
	c.call("textDocument/completion", at(c, "a.dlct", 1, 0), &list)
	if len(list.Items) == 0 {
		t.Error("no completion on the last, empty line")
	}
}

func TestRename(t *testing.T) {
	files := map[string]string{"routing.toml": testMatrix, "b.dlct": "TEST with GO\nclose issue a b\nTest with go\n", "nested/routing.toml": testMatrix, "nested/c.dlct": "Test with go\n"}
	c := newClient(t, files, "", Options{})
	c.open("a.dlct", "Test with go\n")
	c.open("routing.toml", testMatrix)
	rename := func(file string, line, character int, to string) string {
		t.Helper()
		var e protocol.WorkspaceEdit
		err := c.try("textDocument/rename", map[string]any{"textDocument": map[string]any{"uri": c.uri(file)}, "position": protocol.Pos(line, character), "newName": to}, &e)
		if err != nil {
			return "error: " + err.Error()
		}
		var got []string
		for uri, edits := range e.Changes {
			for _, x := range edits {
				got = append(got, fmt.Sprintf("%s:%d:%d-%d=%s", filepath.Base(uri), x.Range.Start.Line, x.Range.Start.Character, x.Range.End.Character, x.NewText))
			}
		}
		slices.Sort(got)
		return strings.Join(got, " ")
	}
	for _, tt := range []struct {
		file            string
		line, character int
		to, want        string
	}{
		{"a.dlct", 0, 11, "golang", "a.dlct:0:10-12=golang b.dlct:0:10-12=golang b.dlct:2:10-12=golang routing.toml:3:8-10=golang"},
		{"a.dlct", 0, 1, "verify", "a.dlct:0:0-4=Verify b.dlct:0:0-4=Verify b.dlct:2:0-4=Verify routing.toml:2:8-12=verify"},
		{"routing.toml", 1, 12, "unit", "routing.toml:1:10-17=unit routing.toml:22:14-21=unit"},
		{"routing.toml", 22, 15, "unit", "routing.toml:1:10-17=unit routing.toml:22:14-21=unit"},
		{"routing.toml", 1, 12, "all", "error"},
		{"routing.toml", 1, 12, "a b", "error"},
		{"a.dlct", 0, 1, "close", "a.dlct:0:0-4=Close"},
		{"routing.toml", 9, 9, "Move", "error"}, // move issue is there
		{"a.dlct", 0, 11, "with", "error"},
		{"a.dlct", 0, 6, "x", "error"},
		{"routing.toml", 5, 9, "x", "error"}, // the tool is not a name
	} {
		if got := rename(tt.file, tt.line, tt.character, tt.to); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s:%d:%d to %s: %s, want %s", tt.file, tt.line, tt.character, tt.to, got, tt.want)
		}
	}
	var p protocol.PrepareRename
	c.call("textDocument/prepareRename", at(c, "a.dlct", 0, 11), &p)
	if p.Placeholder != "go" {
		t.Errorf("prepareRename: %+v", p)
	}
	c.open("a.dlct", "Gate against results\n")
	if err := c.try("textDocument/prepareRename", at(c, "a.dlct", 0, 1), &p); err == nil || !strings.Contains(err.Error(), "pack:core") {
		t.Errorf("prepareRename of a pack's word: %v", err)
	}
}

func TestCodeActions(t *testing.T) {
	c := newClient(t, map[string]string{"routing.toml": strings.TrimSuffix(testMatrix, "\n")}, "", Options{})
	actions := func(text string, only ...string) (list []protocol.CodeAction) {
		t.Helper()
		c.open("a.dlct", text)
		c.call("textDocument/codeAction", map[string]any{
			"textDocument": map[string]any{"uri": c.uri("a.dlct")}, "range": protocol.Between(protocol.Pos(0, 0), protocol.Pos(0, 100)),
			"context": map[string]any{"diagnostics": []any{}, "only": only},
		}, &list)
		return list
	}
	titles := func(list []protocol.CodeAction) string {
		var out []string
		for _, a := range list {
			out = append(out, a.Title)
		}
		return strings.Join(out, "; ")
	}
	list := actions("Tets with go\n")
	if titles(list) != `Replace "Tets" by "Test"` || !list[0].IsPreferred || len(list[0].Diagnostics) != 1 {
		t.Errorf("did you mean: %s", titles(list))
	}
	list = actions("Paint with wall\n")
	if want := `Bind "paint wall" in routing.toml`; titles(list) != want {
		t.Errorf("stub: %s, want %s", titles(list), want)
	} else if e := list[0].Edit.Changes[c.uri("routing.toml")]; len(e) != 1 || !strings.HasPrefix(e[0].NewText, "\n\n[commands.paint_wall]\nverb = \"paint\"\n") || e[0].Range.Start != (protocol.Pos(26, 12)) {
		t.Errorf("stub: %+v", list[0].Edit)
	}
	list = actions("Close issues 1 2\n")
	if want := `Replace "issues" by "issue"; Declare "issues" an alias of "issue" in routing.toml`; titles(list) != want {
		t.Errorf("plural: %s, want %s", titles(list), want)
	} else if e := list[1].Edit.Changes[c.uri("routing.toml")]; len(e) != 1 || e[0].NewText != "\naliases = [\"issues\"]" || e[0].Range.Start != (protocol.Pos(10, 14)) {
		t.Errorf("alias: %+v", list[1].Edit)
	}
	list = actions("- Test with go.\n")
	if want := "Remove the marker; Silence list-marker on this line; Remove the full stop; Silence full-stop on this line; Make all fixes that keep the meaning"; titles(list) != want {
		t.Errorf("warnings: %s", titles(list))
	} else if e := list[4].Edit.Changes[c.uri("a.dlct")]; len(e) != 1 || e[0].NewText != "Test with go\n" {
		t.Errorf("fix all: %+v", e)
	}
	if list = actions("- Test with go.\n", "source.fixAll"); titles(list) != "Make all fixes that keep the meaning" {
		t.Errorf("only source.fixAll: %s", titles(list))
	}
}

func TestPull(t *testing.T) {
	c := newClient(t, map[string]string{"routing.toml": testMatrix}, `{"workspace":{"diagnostics":{"refreshSupport":true}},"textDocument":{"diagnostic":{}}}`, Options{})
	c.open("a.dlct", "Tets with go\n")
	var r protocol.DiagnosticReport
	c.call("textDocument/diagnostic", at(c, "a.dlct", 0, 0), &r)
	if r.Kind != "full" || len(*r.Items) != 1 {
		t.Fatalf("report: %+v", r)
	}
	id := r.ResultID
	again := func() protocol.DiagnosticReport {
		var r protocol.DiagnosticReport
		c.call("textDocument/diagnostic", map[string]any{"textDocument": map[string]any{"uri": c.uri("a.dlct")}, "previousResultId": id}, &r)
		return r
	}
	if r := again(); r.Kind != "unchanged" || r.Items != nil {
		t.Errorf("report of nothing new: %+v", r)
	}
	write(t, filepath.Join(c.root, "routing.toml"), strings.Replace(testMatrix, `"test"`, `"tets"`, 1))
	if !c.wait(func() bool { return c.refreshed > 0 }) {
		t.Fatal("nobody asked for a refresh")
	}
	if r := again(); r.Kind != "full" || len(*r.Items) != 0 {
		t.Errorf("report after the matrix changed: %+v", r)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count > 0 {
		t.Error("findings were pushed to a client that pulls")
	}
}

func TestLifecycle(t *testing.T) {
	c := newClient(t, nil, "", Options{})
	if err := c.try("initialize", map[string]any{"capabilities": map[string]any{}}, nil); err == nil {
		t.Error("a second initialize was taken")
	}
	if err := c.try("textDocument/nothing", nil, nil); err == nil || !strings.Contains(err.Error(), "-32601") {
		t.Errorf("an unknown method: %v", err)
	}
	if err := c.try("textDocument/hover", []int{1}, nil); err == nil || !strings.Contains(err.Error(), "-32602") {
		t.Errorf("wrong parameters: %v", err)
	}
	c.notify("$/whatever", nil)
	c.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": "file:///nowhere"}})
	c.call("shutdown", nil, nil)
	if err := c.try("textDocument/hover", at(c, "a.dlct", 0, 0), nil); err == nil || !strings.Contains(err.Error(), "-32600") {
		t.Errorf("a request after shutdown: %v", err)
	}
	c.notify("exit", nil)
	select {
	case err := <-c.done:
		if err != nil {
			t.Errorf("after an orderly end: %v", err)
		}
		c.done <- nil
	case <-time.After(time.Minute):
		t.Fatal("the server goes on after exit")
	}
}

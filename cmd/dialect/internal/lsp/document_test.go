package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/command-dialect/dialect/cmd/dialect/internal/lsp/protocol"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
)

func testProject(t testing.TB) *project {
	t.Helper()
	m, list := routing.Load("/p/routing.toml", "routing.toml", routing.Options{ReadFile: func(string) ([]byte, error) { return []byte(testMatrix), nil }})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return &project{path: "/p/routing.toml", m: m, files: map[string]string{"routing.toml": "/p/routing.toml"}}
}

func newDocument(t testing.TB, text string) *document {
	d := &document{uri: "file:///p/a.dlct", path: "/p/a.dlct", name: "a.dlct", project: testProject(t)}
	d.setText([]byte(text))
	d.checkAll()
	return d
}

// said is what findings come to, without the hints: prose has the list of verbs in the first
// only, and which is the first depends on the edits.
func said(list diag.List) (out []string) {
	for _, f := range list {
		text := fmt.Sprintf("%s %v", f, f.Span)
		for _, fix := range f.Fixes {
			text += fmt.Sprintf(" %v", fix.Edits)
		}
		for _, r := range f.Related {
			text += fmt.Sprintf(" %v", r)
		}
		out = append(out, text)
	}
	return out
}

// Whatever is edited, what is kept and moved is what a look at the whole text says.
func same(t *testing.T, d *document, history string) {
	t.Helper()
	want, _ := resolve.Check(diag.NewSource(d.name, d.src.Text), d.project.m, resolve.Options{})
	if got := d.findings(); !reflect.DeepEqual(said(got), said(want)) {
		t.Fatalf("%s: %q: after the edits\n%s\nanew\n%s", history, d.src.Text, strings.Join(said(got), "\n"), strings.Join(said(want), "\n"))
	}
}

var editPieces = []string{
	"Test with go\n", "Tets with go\n", "- Test with go.\n", "\n", "\r\n", "\r", "x", " ", "#", "😀", "é", "Close issue id=1 id=2\n",
	"```\n", "`", "“", "All is well.\n", "Test with go and close issue a b\n", "\ufeff", "with", "\xff", "Move issue to issue x\n", "{owner}", "{o}\n",
}

func TestEditsAreExact(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		d := newDocument(t, "Test with go\nClose issue a b\n\nTets with go\nMove x to issue y\n")
		history := fmt.Sprint("seed ", seed)
		for range 30 {
			start := r.IntN(len(d.src.Text) + 1)
			end := min(len(d.src.Text), start+[]int{0, 0, 1, 5, 40}[r.IntN(5)])
			text := ""
			for range r.IntN(4) {
				text += editPieces[r.IntN(len(editPieces))]
			}
			d.change(protocol.ContentChange{Range: new(protocol.Between(d.position(start), d.position(end))), Text: text})
			same(t, d, history)
		}
	}
}

func FuzzEdits(f *testing.F) {
	f.Add("Test with go\nTets with go\n", 3, 9, "- x\n", 0, 0, "\r\n")
	f.Add("\ufeffTest with go\r\nGate", 0, 1, "", 20, 21, "😀\r")
	f.Add("a\n\n\nb. \n", 2, 3, "Test with go # c\n", 0, 100, "")
	f.Fuzz(func(t *testing.T, text string, a, b int, one string, c, e int, two string) {
		if len(text) > 1<<12 || len(one) > 1<<10 || len(two) > 1<<10 {
			return
		}
		d := newDocument(t, text)
		for _, x := range []struct {
			start, end int
			text       string
		}{{a, b, one}, {c, e, two}} {
			start := min(max(x.start, 0), len(d.src.Text))
			end := min(max(x.end, start), len(d.src.Text))
			from, to := d.position(start), d.position(end)
			if d.position(d.offset(from)) != from && utf8.Valid(d.src.Text) && (start == len(d.src.Text) || utf8.RuneStart(d.src.Text[start])) && !bytes.HasPrefix(d.src.Text[max(start-1, 0):], []byte("\r\n")) {
				t.Fatalf("%q: the offset %d is at %v, which is the offset %d", d.src.Text, start, from, d.offset(from))
			}
			d.change(protocol.ContentChange{Range: new(protocol.Between(from, to)), Text: x.text})
			same(t, d, fmt.Sprintf("%+v", x))
		}
		// What else an editor asks must not fail on any text.
		s := &server{docs: map[string]*document{d.uri: d}, projects: map[string]*project{d.project.path: d.project}}
		every := protocol.PositionParams{TextDocument: protocol.TextDocument{URI: d.uri}, Position: d.position(min(max(a, 0), len(d.src.Text)))}
		doc := &protocol.DocumentParams{TextDocument: every.TextDocument}
		_, _ = s.completion(context.Background(), &every)
		_, _ = s.hover(context.Background(), &every)
		_, _ = s.symbols(context.Background(), doc)
		_, _ = s.folding(context.Background(), doc)
		_, _ = s.codeActions(context.Background(), &protocol.CodeActionParams{RangeParams: protocol.RangeParams{TextDocument: every.TextDocument, Range: protocol.Between(protocol.Pos(0, 0), protocol.Pos(1<<20, 0))}})
		checkTokens(t, d, s.tokens(d.uri, nil))
		edits, _ := s.formatting(context.Background(), doc)
		for _, e := range edits {
			d.change(protocol.ContentChange{Range: &e.Range, Text: e.NewText})
		}
		if more, _ := s.formatting(context.Background(), doc); len(more) > 0 {
			t.Fatalf("%q: formatted, it is still to be formatted: %+v", d.src.Text, more)
		}
	})
}

// checkTokens holds semantic tokens to what clients demand: in order, and none over another.
func checkTokens(t *testing.T, d *document, tokens *protocol.SemanticTokens) {
	t.Helper()
	var line, column, end uint32
	for i := 0; i < len(tokens.Data); i += 5 {
		if tokens.Data[i] > 0 {
			line, column, end = line+tokens.Data[i], 0, 0
		}
		column += tokens.Data[i+1]
		if column < end || tokens.Data[i+2] == 0 || int(tokens.Data[i+3]) >= len(tokenTypes) || tokens.Data[i+1] > 1<<30 {
			t.Fatalf("%q: tokens %v: %d:%d lies in the one before", d.src.Text, tokens.Data, line, column)
		}
		end = column + tokens.Data[i+2]
	}
}

// FuzzServer speaks to a whole server, and holds that it answers and ends.
func FuzzServer(f *testing.F) {
	messages := []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"rootUri":"file:///nowhere","capabilities":{}}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///nowhere/a.dlct","text":"Test with go\n- x"}}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///nowhere/a.dlct","version":2},"contentChanges":[{"range":{"start":{"line":-1,"character":9999999999},"end":{"line":1,"character":1}},"text":"\u0000"}]}}`,
		`{"jsonrpc":"2.0","id":"x","method":"textDocument/codeAction","params":{"textDocument":{"uri":"file:///nowhere/a.dlct"},"range":{}}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///nowhere/routing.toml","text":"[commands.x]\nverb=\"test\"\nnoun=\"go\"\ntool=\"true\""}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"textDocument/rename","params":{"textDocument":{"uri":"file:///nowhere/routing.toml"},"position":{"line":0,"character":11},"newName":"y"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"shutdown"}`, `{"jsonrpc":"2.0","method":"exit"}`,
	}
	f.Add([]byte(strings.Join(messages, "\n")))
	for i := range messages {
		f.Add([]byte(messages[0] + "\n" + messages[1] + "\n" + messages[i]))
	}
	f.Add([]byte("x\n{}\n[]\n1"))
	f.Fuzz(func(t *testing.T, session []byte) {
		var in bytes.Buffer
		for _, m := range bytes.Split(session, []byte("\n")) {
			fmt.Fprintf(&in, "Content-Length: %d\r\n\r\n%s", len(m), m)
		}
		var log lockedBuffer
		done := make(chan error, 1)
		go func() {
			done <- Serve(context.Background(), io.NopCloser(&in), nopWriteCloser{io.Discard}, Options{Log: &log, Poll: time.Hour})
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("the server does not end after %q", session)
		}
		if strings.Contains(log.String(), "internal error") {
			t.Fatal(log.String())
		}
	})
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }

// The budget: an edit in a script of 10,000 lines is seen in at most 10 ms, all of what a
// keystroke costs but the pipes: the message is decoded, the findings are encoded.
func BenchmarkEdit10000(b *testing.B) {
	for _, bb := range []struct {
		name  string
		every int // lines, of which one is faulty
	}{{"clean", 0}, {"faults", 50}} {
		b.Run(bb.name, func(b *testing.B) {
			var text strings.Builder
			for i := range 10_000 {
				if bb.every > 0 && i%bb.every == 0 {
					fmt.Fprintf(&text, "Tets with go ./pkg%d\n", i)
				} else {
					fmt.Fprintf(&text, "Test with go ./pkg%d\n", i)
				}
			}
			d := newDocument(b, text.String())
			s := &server{docs: map[string]*document{d.uri: d}}
			params := [2][]byte{}
			for i, c := range []protocol.ContentChange{
				{Range: new(protocol.Between(protocol.Pos(5000, 4), protocol.Pos(5000, 4))), Text: "x"}, {Range: new(protocol.Between(protocol.Pos(5000, 4), protocol.Pos(5000, 5))), Text: ""},
			} {
				params[i], _ = json.Marshal(protocol.DidChangeParams{TextDocument: protocol.TextDocument{URI: d.uri, Version: i}, ContentChanges: []protocol.ContentChange{c}})
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				var p protocol.DidChangeParams
				if err := json.Unmarshal(params[i%2], &p); err != nil {
					b.Fatal(err)
				}
				for _, c := range p.ContentChanges {
					d.change(c)
				}
				if _, err := json.Marshal(protocol.PublishParams{URI: d.uri, Diagnostics: s.diagnostics(d)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestPositions(t *testing.T) {
	for _, text := range []string{"", "a", "a\n", "é😀\n\r\nb\rc\n\r", "\r", "a\r\n\rb", "\xff\xfe\n"} {
		d := newDocument(t, text)
		for i := 0; i <= len(text); i++ {
			if i < len(text) && i > 0 && (!utf8.RuneStart(text[i]) || text[i-1:i+1] == "\r\n") {
				continue // inside a character, or a line end: no client can be there
			}
			p := d.position(i)
			if got := d.offset(p); got > i || d.position(got) != p {
				t.Errorf("%q: offset %d is %v, which is offset %d", text, i, p, got)
			}
		}
	}
	d := newDocument(t, "a\rb\nc")
	if got := d.offset(protocol.Pos(1, 1)); got != 3 {
		t.Errorf("behind a lone CR: %d", got)
	}
}

func TestURI(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b%é#.dlct")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := filePath(fileURI(path)); got != path {
		t.Errorf("%s became %s", path, got)
	}
	for uri, want := range map[string]string{"untitled:Untitled-1": "", "file:///a/../b": "/b", "http://x/y": "", "::": ""} {
		if got := filePath(uri); got != want {
			t.Errorf("%s: %q, want %q", uri, got, want)
		}
	}
}

// TestLongLine asks for what an editor asks of a line of 64 KiB: each position on it is found without
// counting the characters before it again.
func TestLongLine(t *testing.T) {
	const budget = time.Minute // a thousandth of it is enough
	for _, unit := range []string{"` ", "é` ", "a ", "😀 ", "“a” ", "{a", "\r` "} {
		d := newDocument(t, strings.Repeat(unit, (64<<10-100)/len(unit))+"\nTest with go\n")
		start := time.Now()
		s := &server{docs: map[string]*document{d.uri: d}}
		var p protocol.CodeActionParams
		p.Range = protocol.Between(protocol.Pos(0, 0), protocol.Pos(1, 0))
		p.TextDocument.URI = d.uri
		if _, err := s.codeActions(context.Background(), &p); err != nil {
			t.Fatal(err)
		}
		for i := range d.src.Text {
			d.position(i)
		}
		if took := time.Since(start); took > budget {
			t.Errorf("%q again and again: %s", unit, took)
		}
	}
}

package mcpserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/mcpserver"
)

// TestLines: what is not a message is answered so, before and within a session, and ends none.
func TestLines(t *testing.T) {
	in, client := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan error, 1)
	o := mcpserver.Options{Self: program, Root: project(t), Version: "v"}
	go func() {
		defer out.Close()
		done <- mcpserver.Serve(context.Background(), o, mcpserver.Lines(in, out))
	}()
	read := bufio.NewReader(answers)
	for _, c := range []struct{ line, want string }{
		{"{bad", `"id":null,"error":{"code":-32700,`},
		{"5", `"id":null,"error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, `"result":`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{`{"jsonrpc":"1.0","id":2}`, `"id":null,"error":{"code":-32600,`},
		{"[]", `"id":null,"error":{"code":-32600,`},
		{"[5]", `"id":null,"error":{"code":-32600,`},
		{`[{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`, `"id":null,"error":{"code":-32600,`},
		{" ", ""},
		{strings.Repeat("{", 100<<10), `"id":null,"error":{"code":-32700,`},
		{`{"jsonrpc":"2.0","id":3,"method":"ping"}`, `"id":3,"result":`},
	} {
		if _, err := fmt.Fprintln(client, c.line); err != nil {
			t.Fatal(err)
		}
		if c.want == "" {
			continue
		}
		if text, err := read.ReadString('\n'); err != nil || !strings.Contains(text, c.want) {
			t.Fatalf("%.100s: %.300s, %v; want %s", c.line, text, err, c.want)
		}
	}
	client.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

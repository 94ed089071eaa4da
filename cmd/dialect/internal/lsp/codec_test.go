package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// endless gives one text again and again, and counts what was taken.
type endless struct {
	text string
	n    int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, strings.Repeat(e.text, len(p)/len(e.text)+1))
	e.n += n
	return n, nil
}

func TestCodec(t *testing.T) {
	for text, want := range map[string]string{
		"Content-Length: 2\r\n\r\n{}":                   "",
		"content-length:2\r\nContent-Type: x\r\n\r\n{}": "",
		"Content-Length: 0\r\n\r\n{}":                   "no Content-Length",
		"Content-Length: -1\r\n\r\n{}":                  "Content-Length of",
		"Content-Length: 4294967295\r\n\r\n{}":          "Content-Length of",
		"\r\n":                                          "no Content-Length",
		"Conte":                                         "EOF",
	} {
		var v any
		err := codec{}.ReadObject(bufio.NewReader(strings.NewReader(text)), &v)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"x", "X: y\r\n"} {
		e := &endless{text: text}
		var v any
		if err := (codec{}).ReadObject(bufio.NewReader(e), &v); err == nil || e.n > 1<<20 {
			t.Errorf("%q without end: %v after %d bytes", text, err, e.n)
		}
	}
}

func FuzzCodec(f *testing.F) {
	f.Add("Content-Length: 2\r\n\r\n{}")
	f.Fuzz(func(t *testing.T, text string) {
		var v json.RawMessage
		if err := (codec{}).ReadObject(bufio.NewReader(strings.NewReader(text)), &v); err == nil && !json.Valid(v) {
			t.Errorf("%q: took %q", text, v)
		}
	})
}

// The server ends with its context, though its client says nothing and keeps the streams open.
func TestServeEnds(t *testing.T) {
	in, held := io.Pipe()
	defer held.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, in, held, Options{Poll: time.Hour}) }()
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server goes on")
	}
}

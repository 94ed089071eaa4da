//go:build unix

package process

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"
)

// A command reads what it is given, and one that does not read it waits for nobody.
func TestStdin(t *testing.T) {
	l, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	text := bytes.Repeat([]byte("what to do\n"), 100_000)
	var out bytes.Buffer
	r := l.Run(context.Background(), &Command{Argv: []string{"cat"}, Env: os.Environ(), Stdin: text, Timeout: 30 * time.Second, Output: func(_ Stream, p []byte) { out.Write(p) }})
	if r.ExitCode != 0 || !bytes.Equal(out.Bytes(), text) {
		t.Errorf("cat: %+v, %d bytes of %d", r.ExitCode, out.Len(), len(text))
	}
	if r := l.Run(context.Background(), &Command{Argv: []string{"true"}, Env: os.Environ(), Stdin: text, Timeout: 30 * time.Second}); r.ExitCode != 0 || r.Stop != "" {
		t.Errorf("true: %+v", r)
	}
	out.Reset()
	if r := l.Run(context.Background(), &Command{Argv: []string{"cat"}, Env: os.Environ(), Timeout: 30 * time.Second, Output: func(_ Stream, p []byte) { out.Write(p) }}); r.ExitCode != 0 || out.Len() > 0 {
		t.Errorf("nothing to read: %+v %q", r, out.Bytes())
	}
}

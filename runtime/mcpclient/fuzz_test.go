package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// asked is the pipe to a helper: it tells when the options and a request were written.
type asked struct {
	n     int
	ready chan struct{}
}

func (a *asked) Write(b []byte) (int, error) {
	if a.n++; a.n == 2 {
		close(a.ready)
	}
	return len(b), nil
}

func (a *asked) Close() error { return nil }

// says is the pipe from a helper, which speaks once it was asked.
type says struct {
	io.Reader
	ready chan struct{}
}

func (s says) Read(b []byte) (int, error) {
	<-s.ready
	return s.Reader.Read(b)
}

// Whatever the helper says, a call ends with a result or with a known reason.
func FuzzHelper(f *testing.F) {
	for _, text := range []string{
		`{"id":1,"result":{"Request":"e30=","Response":"eyJjb250ZW50IjpbeyJ0eXBlIjoidGV4dCIsInRleHQiOiJoaSJ9XX0=","Program":"p"}}`,
		`{"id":1,"result":{"Response":"WzFd"}}`, `{"id":1,"result":null}`, `{"id":1,"result":7}`,
		`{"id":1,"error":{"code":1,"message":"m","data":{"Reason":"stall","Message":"silent","Stderr":"x"}}}`,
		`{"id":1,"error":{"code":1,"message":"m","data":{"Reason":"passed"}}}`, `{"id":1,"error":{}}`, `{"id":1,"error":null}`,
		`{"method":"progress","params":{"id":1,"line":"a"}}` + "\n" + `{"method":"progress","params":null}`,
		`{"method":"progress","params":{"id":2,"line":"a"}}`, `{"id":1,"method":"call","params":[]}`, `{"id":"1","result":1}`,
		`null`, `[]`, `[{"id":1,"result":1}]`, `{}`, `{"id":1,"result":1,"method":"m"}`, "\x00\xff", ``, "no end",
	} {
		f.Add([]byte(text + "\n"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		gone := make(chan struct{})
		close(gone)
		l := &link{child: &Child{cmd: new(exec.Cmd), Done: gone}}
		ready := make(chan struct{})
		l.connect(says{bytes.NewReader(text), ready}, &asked{ready: ready})
		p := &Pool{live: l}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		r, err := p.Call(ctx, Call{Target: "s:t", Timeout: time.Minute, Progress: func(string, bool) {}})
		var e *Error
		switch {
		case ctx.Err() != nil:
			t.Fatal("it hangs")
		case err == nil && r == nil:
			t.Fatal("neither a result nor an error")
		case err != nil && (!errors.As(err, &e) || !slices.Contains(reasons, e.Reason)):
			t.Fatalf("no known reason: %#v", err)
		}
	})
}

// A response is what a server says.
func FuzzResult(f *testing.F) {
	for _, text := range []string{
		`{"content":[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png","data":"AAAA"},{"type":"resource","resource":{"uri":"u"}},{"type":"resource_link","uri":"u"}],"isError":true}`,
		`{"structuredContent":{"a":[1]}}`, `{"structuredContent":null,"content":null}`, `[]`, `null`, `{"content":[null,{}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := NewResult(nil, text, "")
		if err == nil && r.Structured != nil && !bytes.Contains(text, r.Structured) {
			t.Fatalf("%q is not what the server said: %q", r.Structured, text)
		}
	})
}

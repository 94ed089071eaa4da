package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Lines is the transport of a client that writes a message a line to in, and reads from out. What is not a message is answered with
// an error of JSON-RPC, and dropped: the SDK would end the session at it.
func Lines(in io.Reader, out io.Writer) mcp.Transport {
	r, w := io.Pipe()
	shared := &lockedWriter{w: out}
	go func() { w.CloseWithError(sift(bufio.NewReader(in), w, shared)) }()
	return &mcp.IOTransport{Reader: r, Writer: shared}
}

// sift copies the messages of in to w, and answers other lines on out, until in ends or the reader of w hangs up. A line that is too long for
// the SDK goes to it as it is.
func sift(in *bufio.Reader, w, out io.Writer) error {
	for {
		line, err := readLine(in)
		code, fault := int64(0), error(nil)
		switch text := bytes.TrimSpace(line); {
		case len(text) == 0 || len(line) > mcp.DefaultMaxLineLength:
		case !json.Valid(text):
			code, fault = jsonrpc.CodeParseError, errors.New("this line is not JSON")
		default:
			code, fault = jsonrpc.CodeInvalidRequest, checkMessage(text)
		}
		if fault != nil {
			fmt.Fprintf(out, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":%d,\"message\":%q}}\n", code, fault) // a client that is gone ends in, too
		} else if _, werr := w.Write(line); werr != nil {
			return werr
		}
		if err != nil {
			return err
		}
	}
}

// readLine reads a line with its end, or more than the SDK takes.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) || len(line) > mcp.DefaultMaxLineLength {
			return line, err
		}
	}
}

// checkMessage says why a value is not a message. The SDK would end the session at a list of messages, too, which the present version of the protocol
// does not have.
func checkMessage(text []byte) error {
	if text[0] == '[' {
		return errors.New("this is a list: send each message on a line of its own")
	}
	if _, err := jsonrpc.DecodeMessage(text); err != nil {
		return errors.New("this is not a message of JSON-RPC 2.0")
	}
	return nil
}

// A lockedWriter is written to by two, a message at a time. Closing it does nothing.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func (*lockedWriter) Close() error { return nil }

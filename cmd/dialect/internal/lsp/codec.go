package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sourcegraph/jsonrpc2"
)

// Bounds of one message.
const (
	maxHeaders = 32
	maxMessage = 256 << 20
)

// A codec is that of jsonrpc2, which reads a header of any length into memory, with bounds.
type codec struct{ jsonrpc2.VSCodeObjectCodec }

// ReadObject implements [jsonrpc2.ObjectCodec]. A line of a header is at most as long as the buffer of stream.
func (codec) ReadObject(stream *bufio.Reader, v any) error {
	length := uint64(0)
	for range maxHeaders {
		line, err := stream.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return errors.New("a header is longer than 4 KiB")
		case err != nil:
			return err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			if length == 0 {
				return errors.New("a message has no Content-Length")
			}
			return json.NewDecoder(io.LimitReader(stream, int64(length))).Decode(v)
		}
		if name, value, _ := strings.Cut(text, ":"); strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.ParseUint(strings.TrimSpace(value), 10, 32); err != nil || length > maxMessage {
				return fmt.Errorf("a message has a Content-Length of %q", strings.TrimSpace(value))
			}
		}
	}
	return fmt.Errorf("a message has more than %d headers", maxHeaders)
}

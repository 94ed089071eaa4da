package mcpclient

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
)

// dialect and its helper speak JSON-RPC 2.0, a message a line. The first message to the helper
// is MethodOpen; each result is what the method of [Pool] of that name returns, each error
// carries an [Error].
const (
	MethodOpen     = "open"     // notification: Options
	MethodCall     = "call"     // Call -> Result
	MethodCheck    = "check"    // Call -> null
	MethodTools    = "tools"    // the name of a server -> schemas by name
	MethodPing     = "ping"     // -> null
	MethodCancel   = "cancel"   // notification: the number of the request
	MethodProgress = "progress" // notification, of the helper: Progress
)

// Progress is a text about the request with the number ID.
type Progress struct {
	ID   uint64 `json:"id"`
	Line string `json:"line"`
	Cut  bool   `json:"cut,omitempty"` // its end was lost
}

// MaxMessage bounds a message, in bytes. It has room for an answer of DefaultMaxOutput, in base64.
const MaxMessage = 64 << 20

// ErrTooLarge says that a message is larger than MaxMessage.
var ErrTooLarge = errors.New("the message is too large")

// Lines is the codec.
type Lines struct{}

// WriteObject writes all of v, or nothing of what is too large.
func (Lines) WriteObject(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err == nil && len(line) >= MaxMessage {
		err = ErrTooLarge
	}
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	return err
}

// ReadObject reads the next message. A last line without its end is not a message.
func (Lines) ReadObject(r *bufio.Reader, v any) error {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > MaxMessage {
			return ErrTooLarge
		}
		line = append(line, part...)
		switch err {
		case nil:
			return json.Unmarshal(line, v)
		case bufio.ErrBufferFull:
		default:
			return err
		}
	}
}

// Pipes joins the two ends of a connection. To close it is to end what is written: what the
// other side still says is read to its end.
type Pipes struct {
	io.Reader
	io.WriteCloser
}

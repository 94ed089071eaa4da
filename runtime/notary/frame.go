package notary

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// version is that of the protocol; a client and a notary of two versions do not talk.
const version = 1

// MaxFrame is the greatest length of the JSON of a frame, in bytes.
const MaxFrame = 1 << 20

// maxScript is the greatest length of a script that finds room in a frame, in bytes.
const maxScript = 512 << 10

// maxScriptName is the greatest length of the name of a script, in bytes: that of a path on Linux.
const maxScriptName = 4096

// errFrame says that what came is not of the protocol: the connection is closed.
var errFrame = errors.New("bytes on the notary's socket do not follow its protocol")

// readFrame reads one frame into v, strictly: a member that v has not is an error.
func readFrame(r io.Reader, v any) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n == 0 || n > MaxFrame {
		return fmt.Errorf("%w: a frame of %d bytes", errFrame, n)
	}
	// The memory grows with what comes, not with what is announced.
	var text bytes.Buffer
	if _, err := io.CopyN(&text, r, int64(n)); err != nil {
		return errors.Join(io.ErrUnexpectedEOF, err)
	}
	d := json.NewDecoder(&text)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%w: %v", errFrame, err)
	}
	if d.More() {
		return fmt.Errorf("%w: something follows the object", errFrame)
	}
	return nil
}

// frame returns v as a frame.
func frame(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(text) > MaxFrame {
		return nil, fmt.Errorf("a frame of %d bytes; at most %d", len(text), MaxFrame)
	}
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(text)), uint32(len(text))), text...), nil
}

func writeFrame(w io.Writer, v any) error {
	f, err := frame(v)
	if err == nil {
		_, err = w.Write(f)
	}
	return err
}

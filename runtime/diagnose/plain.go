package diagnose

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// EventText returns what go test would have printed of an event of go test -json, one line of its output;
// event is false if the line is not one.
func EventText(line []byte) (text []byte, event bool) {
	if len(line) == 0 || line[0] != '{' || !bytes.Contains(line, []byte(`"Action":"`)) {
		return line, false
	}
	var e struct{ Action, Output, Package, ImportPath string }
	if json.Unmarshal(line, &e) != nil || e.Package == "" && e.ImportPath == "" {
		return line, false
	}
	return []byte(e.Output), true
}

// Events reports whether an output that begins with head is that of go test -json.
func Events(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	_, event := EventText(line)
	return event
}

// CopyPlain copies the output of go test -json from r to w as text, or the last lines of that text if
// tail is positive.
func CopyPlain(w io.Writer, r io.Reader, tail int) error {
	in, out := bufio.NewReader(r), bufio.NewWriter(w)
	var last [][]byte // a ring
	n := 0
	for {
		line, err := in.ReadBytes('\n')
		text, event := EventText(bytes.TrimRight(line, "\r\n"))
		switch {
		case len(line) == 0 || event && len(text) == 0:
		case tail <= 0:
			out.Write(text) // it keeps its error until Flush
			if !event {
				out.WriteByte('\n')
			}
		case len(last) < tail:
			last = append(last, text)
			n++
		default:
			last[n%tail] = text
			n++
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	for i := range last {
		text := last[(n+i)%len(last)]
		out.Write(text)
		if !bytes.HasSuffix(text, []byte("\n")) {
			out.WriteByte('\n')
		}
	}
	return out.Flush()
}

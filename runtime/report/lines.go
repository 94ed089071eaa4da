package report

import (
	"bytes"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/process"
)

// maxLine bounds a line of output that is passed on, in bytes; a longer one comes in
// pieces.
const maxLine = 16 << 10

// Lines cuts the output of steps, which comes in pieces of any size and mixed, into lines.
// The zero Lines is ready.
type Lines struct{ parts map[lineKey][]byte }

type lineKey struct {
	step   *plan.Step
	stream process.Stream
}

// Add calls f for each line that data completes, without its end. The line is reused.
func (l *Lines) Add(s *plan.Step, stream process.Stream, data []byte, f func(line []byte)) {
	if l.parts == nil {
		l.parts = make(map[lineKey][]byte)
	}
	key := lineKey{s, stream}
	part := l.parts[key]
	for len(data) > 0 {
		i := bytes.IndexByte(data, '\n')
		piece := data
		if i >= 0 {
			piece = data[:i]
		}
		for len(part)+len(piece) > maxLine {
			room := maxLine - len(part)
			f(append(part, piece[:room]...))
			part, piece = part[:0], piece[room:]
		}
		if i < 0 {
			part = append(part, piece...)
			break
		}
		if len(part) > 0 {
			part = append(part, piece...)
			f(bytes.TrimSuffix(part, []byte("\r")))
			part = part[:0]
		} else {
			f(bytes.TrimSuffix(piece, []byte("\r")))
		}
		data = data[i+1:]
	}
	l.parts[key] = part
}

// Flush calls f for the lines of s that have no end, and forgets s.
func (l *Lines) Flush(s *plan.Step, f func(stream process.Stream, line []byte)) {
	for stream := process.Stdout; stream <= process.Stderr; stream++ {
		key := lineKey{s, stream}
		if part := l.parts[key]; len(part) > 0 {
			f(stream, part)
		}
		delete(l.parts, key)
	}
}

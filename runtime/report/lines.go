package report

import (
	"bytes"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/redact"
)

// maxLine bounds a line of output that is passed on, in bytes; a longer one comes in
// pieces.
const maxLine = 16 << 10

// Lines cuts the output of steps, which comes in pieces of any size and mixed, into lines.
// The zero Lines is ready. Secret, if not nil, takes secrets out before that: one may be of several lines, or longer than one.
type Lines struct {
	Secret *redact.Redactor
	parts  map[lineKey]*linePart
}

type lineKey struct {
	step   *plan.Step
	stream process.Stream
}

// A linePart is the output of a step on one stream.
type linePart struct {
	clean *redact.Writer // to the part itself
	part  []byte         // of a line that has no end yet
	f     func(line []byte)
}

func (p *linePart) Write(data []byte) (int, error) {
	n := len(data)
	for len(data) > 0 {
		i := bytes.IndexByte(data, '\n')
		piece := data
		if i >= 0 {
			piece = data[:i]
		}
		for len(p.part)+len(piece) > maxLine {
			room := maxLine - len(p.part)
			p.f(append(p.part, piece[:room]...))
			p.part, piece = p.part[:0], piece[room:]
		}
		if i < 0 {
			p.part = append(p.part, piece...)
			break
		}
		if len(p.part) > 0 {
			p.part = append(p.part, piece...)
			p.f(bytes.TrimSuffix(p.part, []byte("\r")))
			p.part = p.part[:0]
		} else {
			p.f(bytes.TrimSuffix(piece, []byte("\r")))
		}
		data = data[i+1:]
	}
	return n, nil
}

// Add calls f for each line that o completes, without its end. The line is reused.
func (l *Lines) Add(o attempt.Output, f func(line []byte)) {
	if l.parts == nil {
		l.parts = make(map[lineKey]*linePart)
	}
	key := lineKey{o.Step, o.Stream}
	p := l.parts[key]
	if p == nil {
		p = new(linePart)
		p.clean = l.Secret.Writer(p)
		l.parts[key] = p
	}
	p.f = f
	_, _ = p.clean.Write(o.Data) // it writes to memory
	if o.Cut {
		_, _ = p.clean.Cut()
	} else {
		_ = p.clean.Pass()
	}
}

// Flush calls f for the lines of s that have no end, and forgets s.
func (l *Lines) Flush(s *plan.Step, f func(stream process.Stream, line []byte)) {
	for stream := process.Stdout; stream <= process.Stderr; stream++ {
		key := lineKey{s, stream}
		if p := l.parts[key]; p != nil {
			p.f = func(line []byte) { f(stream, line) }
			_, _ = p.clean.Close()
			if len(p.part) > 0 {
				f(stream, p.part)
			}
		}
		delete(l.parts, key)
	}
}
